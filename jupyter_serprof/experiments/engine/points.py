"""The run of a sweep as a point and as a lean trace: a sweep has a hundred of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.ranking import ranked_of, with_ranking
from jupyter_serprof.analysis.sizes.crossovers import crossovers_of, with_break_even
from jupyter_serprof.analysis.sizes.lines import fits_of
from jupyter_serprof.analysis.waterfall import Segment, merged
from jupyter_serprof.experiments.engine.words import sweep_findings
from jupyter_serprof.model import Limits, Point, Quality, Span, Summary, Sweep, Trace
from jupyter_serprof.model.sweep import middle_run


def point_of(key: str, size: int | None, number: int, trace: Trace) -> Point:
    """Return the point of one run; the first run (number 0) is the cold one."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    faults = [row.minor_faults for row in rows if row.minor_faults is not None]
    moved = written(trace)
    return Point(
        variant=key,
        size_bytes=size,
        repeat=number,
        cold=number == 0,
        wall_ns=trace.wall_ns,
        moved_bytes=moved["total_bytes"],
        stages={row.stage: row.self_ns for row in rows},
        minor_faults=sum(faults) if faults else None,
    )


def written(trace: Trace) -> dict[str, int | None]:
    """Sum what was written: in-band, out-of-band and, with Ray's envelope, in all."""
    details = [span.details for span in trace.spans if span.details]
    written = [
        s.details for s in trace.spans if s.stage in ("pickle.dumps", "ray.pickle") and s.details
    ]
    in_band = _total(written, "in_band_bytes")
    out_of_band = _total(written, "out_of_band_bytes")
    total = _total(details, "total_bytes")
    if total is None and in_band is not None:
        total = in_band + (out_of_band or 0)
    if in_band is None and total is not None:
        in_band, out_of_band = total, 0
    buffers = _total(written, "buffers")
    return {
        "in_band_bytes": in_band,
        "out_of_band_bytes": out_of_band,
        "buffers": buffers or 0,
        "total_bytes": total,
    }


def _total(details: Sequence[object], key: str) -> int | None:
    values = [entry[key] for entry in details if key in entry]  # type: ignore[index, operator]
    return sum(values) if values else None


def finished(
    sweep: Sweep,
    summarize: Callable[[Sweep], Summary],
    *,
    holdout_bytes: int | None = None,
) -> Sweep:
    """Add lines, crossovers, findings and summary; leave out of the traces what is said for all.

    ``holdout_bytes`` is for the lines, see `fits_of`.
    """
    sweep = with_ranking(with_break_even(sweep))
    found = replace(
        sweep,
        fits=fits_of(sweep.points, holdout_bytes=holdout_bytes),
        crossovers=crossovers_of(sweep.points, ranked_of(sweep.variants)),
        findings=sweep_findings(sweep),
    )
    traces = tuple(replace(entry, trace=lean(entry.trace)) for entry in found.traces)
    return replace(found, summary=summarize(found), traces=traces)


def lean(trace: Trace) -> Trace:
    """Leave out what the sweep says once for all of its traces."""
    plain = tuple(replace(entry, note="") for entry in trace.stages)
    brief = replace(trace.summary, facts=()) if trace.summary else None
    return replace(
        trace,
        stages=plain,
        summary=brief,
        findings=(),
        environment={},
        limits=Limits(),
        quality=Quality(),
    )


def median_trace(traces: Sequence[Trace]) -> Trace | None:
    """Return the run whose wall time is that of all of them; None without runs."""
    return middle_run(traces, lambda trace: trace.wall_ns) if traces else None


def stopped_text(error: BaseException, count: int, asked: int | None) -> str:
    """Say that the warm runs ended early, and how many there are."""
    is_interrupt = isinstance(error, KeyboardInterrupt | GeneratorExit)
    why = "interrupted" if is_interrupt else type(error).__name__
    return f"{why} after {count} warm runs{f' of {asked}' if asked else ''}; that run is left out"


#: The longest ones; the waterfall is stored, so no total changes.
_MOST_SPANS = 12
#: Of one row: garbage collection cuts it into hundreds.
_MOST_PIECES = 8
#: Of a row of a graph: it has one for each batch of tasks.
_MOST_OF_GRAPHS = 12
_DIGITS = 4

Piece = tuple[int, int]


def leaner(trace: Trace) -> Trace:
    """Return a recording with its waterfall, its longest spans, and nothing that says no more."""
    waterfall, summary = trace.waterfall, trace.summary
    if waterfall:
        rows = tuple(replace(row, pieces=fewer(row.pieces)) for row in waterfall.rows)
        waterfall = replace(waterfall, rows=rows)
    if summary:
        strict, total = (
            None if share is None else round(share, _DIGITS)
            for share in (summary.strict_share, summary.total_share)
        )
        summary = replace(summary, strict_share=strict, total_share=total)
    return replace(
        trace, spans=longest(trace.spans), waterfall=waterfall, summary=summary, producer=""
    )


def thinned(trace: Trace, most: int) -> Trace:
    """Keep the longest spans of an analysed trace: its rows, tables and findings stay exact.

    Findings point at no span any more: a sweep has many traces.
    """
    waterfall = trace.waterfall
    if waterfall:
        rows = tuple(
            replace(row, pieces=fewer(row.pieces, _MOST_OF_GRAPHS)) for row in waterfall.rows
        )
        trace = replace(trace, waterfall=replace(waterfall, rows=rows))
    if len(trace.spans) <= most:
        return trace
    findings = tuple(replace(finding, spans=()) for finding in trace.findings)
    return replace(trace, spans=longest(trace.spans, most), findings=findings)


def fewer(pieces: Sequence[Piece], most: int = _MOST_PIECES) -> tuple[Piece, ...]:
    """Return at most so many pieces (start, duration): the smallest gaps between them close."""
    return merged((Segment(start, start + length, 0) for start, length in pieces), most)


def longest(spans: Sequence[Span], most: int = _MOST_SPANS) -> tuple[Span, ...]:
    """Return the longest spans in their order; each points at the nearest one around it."""
    if len(spans) <= most:
        return tuple(spans)
    by_length = sorted(range(len(spans)), key=lambda at: -spans[at].duration_ns)
    kept = sorted(by_length[:most])
    places = {old: new for new, old in enumerate(kept)}

    def around(parent: int) -> int:
        while parent >= 0 and parent not in places:
            parent = spans[parent].parent
        return places.get(parent, -1)

    return tuple(spans[at]._replace(parent=around(spans[at].parent)) for at in kept)
