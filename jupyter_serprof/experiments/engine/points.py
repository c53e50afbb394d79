"""From the trace of a run to its point in a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.ranking import ranked_of, with_ranking
from jupyter_serprof.analysis.sizes.crossovers import crossovers_of, with_break_even
from jupyter_serprof.analysis.sizes.lines import fits_of
from jupyter_serprof.experiments.engine.words import sweep_findings
from jupyter_serprof.model import Limits, Point, Quality, Summary, Sweep, Trace
from jupyter_serprof.model.times import middle_run


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
