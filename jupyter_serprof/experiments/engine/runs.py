"""The runs of a cell: as points, the median one, and as thin traces, of which there are many."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.spans import fewer_pieces, longest, number, total
from jupyter_serprof.model import Point, Span, SweepTrace, Trace
from jupyter_serprof.model.sweep import middle_run

#: They come when they come, and belong to no run.
_BACKGROUND = ("gc", "import", "recording")


@dataclass(slots=True, kw_only=True)
class Runs:
    """The runs of one cell: of one variant at one size, the first one cold.

    ``parameter``: The size as it was asked for; of no meaning where there is one size.
    ``failed``, ``skipped``: Why there are no further runs; empty otherwise.
    """

    key: str
    parameter: float = 0.0
    size_bytes: int | None = None
    points: list[Point] = field(default_factory=list)
    cold: Trace | None = None
    warm: list[Trace] = field(default_factory=list)
    failed: str = ""
    skipped: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it takes further runs."""
        return not self.failed and not self.skipped

    def close(self, reason: str) -> None:
        """Take no further runs."""
        count = len(self.points) - 1
        self.skipped = reason if count < 0 else f"{count} warm runs only: {reason}"

    def take(self, trace: Trace, **told: int | None) -> None:
        """Take the trace of a run, the first one cold; ``told`` is what else its point says."""
        point = point_of(self.key, self.size_bytes, len(self.points), trace)
        self.points.append(replace(point, parameter=self.parameter, **told))  # type: ignore[arg-type]
        if self.cold is None:
            self.cold = self.kept(trace)
        else:
            self.warm.append(self.kept(trace))

    def kept(self, trace: Trace) -> Trace:
        """Return what is kept of a recording: all of it."""
        return trace

    @property
    def shown(self) -> tuple[SweepTrace, ...]:
        """The cold recording, and the warm one in the middle."""
        return shown_runs(self.key, self.size_bytes, self.cold, self.warm)


def point_of(key: str, size: int | None, number: int, trace: Trace) -> Point:
    """Return the point of one run; the first run (number 0) is the cold one."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    faults = [row.minor_faults for row in rows if row.minor_faults is not None]
    stages: Counter[str] = Counter()
    for row in rows:  # each computation of a run has rows of its own
        stages[row.stage] += row.self_ns
    return Point(
        variant=key,
        size_bytes=size,
        repeat=number,
        cold=number == 0,
        wall_ns=trace.wall_ns,
        moved_bytes=bytes_written(trace)["total_bytes"],
        stages=dict(stages),
        minor_faults=sum(faults) if faults else None,
    )


def bytes_written(trace: Trace) -> dict[str, int | None]:
    """Sum what was written: in-band, out-of-band and, with Ray's envelope, in all."""
    written = [span for span in trace.spans if span.stage in ("pickle.dumps", "ray.pickle")]
    in_band, out_of_band, buffers = (
        total(number(span, key) for span in written)
        for key in ("in_band_bytes", "out_of_band_bytes", "buffers")
    )
    in_all = total(number(span, "total_bytes") for span in trace.spans)
    if in_all is None and in_band is not None:
        in_all = in_band + (out_of_band or 0)
    if in_band is None and in_all is not None:
        in_band, out_of_band = in_all, 0
    return {
        "in_band_bytes": in_band,
        "out_of_band_bytes": out_of_band,
        "buffers": buffers or 0,
        "total_bytes": in_all,
    }


def median_trace(traces: Sequence[Trace]) -> Trace | None:
    """Return the run whose wall time is that of all of them; None without runs."""
    return middle_run(traces, lambda trace: trace.wall_ns) if traces else None


def shown_runs(
    key: str, size: int | None, cold: Trace | None, warm: Sequence[Trace]
) -> tuple[SweepTrace, ...]:
    """Return the runs that a document shows: the cold one, and the median of the warm ones."""
    shown = (True, cold), (False, median_trace(warm))
    return tuple(SweepTrace(key, size, is_cold, trace) for is_cold, trace in shown if trace)


def thin_trace(trace: Trace, *, spans: int, pieces: int) -> Trace:
    """Return an analysed trace with its longest spans; its rows, tables and findings stay exact."""
    # Findings point at none any more where some are left out. A row of the waterfall keeps so many
    # pieces at most: garbage collection cuts one into hundreds.
    if trace.waterfall:
        rows = (
            replace(row, pieces=fewer_pieces(row.pieces, pieces)) for row in trace.waterfall.rows
        )
        trace = replace(trace, waterfall=replace(trace.waterfall, rows=tuple(rows)))
    if len(trace.spans) <= spans:
        return trace
    findings = tuple(replace(finding, spans=()) for finding in trace.findings)
    return replace(trace, spans=longest(trace.spans, spans)[0], findings=findings)


def one_of(trace: Trace, loops: int, bare_ns: float = math.inf) -> Trace | None:
    """Return the run in the middle as a trace of its own; None where runs are not told apart.

    ``trace`` is a recording of equal runs, one after the other on one thread; ``bare_ns`` is what
    one takes that is not recorded: writing a run of a microsecond down takes eight.

    A run reaches from the end of the last span of the run before to the end of its own last span;
    so the first run, which has none before it, is never chosen, and what a run does after its last
    span is counted to the next one, which does the same. Without spans it is the mean run.
    """
    own = (span for span in trace.spans if span.parent < 0 and span.stage not in _BACKGROUND)
    roots = sorted(own, key=lambda span: span.end_ns)
    if not roots:
        return analyse(_cut(trace, trace.wall_ns // loops), trace.limits)
    windows = list(pairwise(_ends(roots, loops)))
    if not windows:
        return None
    low, high = middle_run(windows, lambda window: window[1] - window[0])
    kept = [
        at
        for at, span in enumerate(trace.spans)
        if span.start_ns >= low and span.end_ns <= high and span.stage != "recording"
    ]
    places = {old: new for new, old in enumerate(kept)}
    spans = tuple(
        trace.spans[at]._replace(
            start_ns=trace.spans[at].start_ns - low, parent=places.get(trace.spans[at].parent, -1)
        )
        for at in kept
    )
    return analyse(_cut(trace, *_closer(spans, high - low, bare_ns)), trace.limits)


def _closer(spans: tuple[Span, ...], wall_ns: int, bare_ns: float) -> tuple[int, tuple[Span, ...]]:
    """Make a recorded run of one thread as short as a bare one: its gaps, then what is left."""
    busy_ns = sum(span.duration_ns for span in spans if span.parent < 0)
    bare_ns = min(wall_ns, bare_ns)
    gap = max(0.0, bare_ns - busy_ns) / max(1, wall_ns - busy_ns)
    rest = min(1.0, bare_ns / max(1, busy_ns))
    moved, shifts, end_ns = 0.0, list[float](), 0
    for span in spans:
        if span.parent < 0:
            moved += (span.start_ns - end_ns) * (1 - gap)
            end_ns = span.end_ns
        shifts.append(moved if span.parent < 0 else shifts[span.parent])
    closer = (
        span._replace(
            start_ns=round((span.start_ns - by) * rest), duration_ns=round(span.duration_ns * rest)
        )
        for span, by in zip(spans, shifts, strict=True)
    )
    return round(bare_ns), tuple(closer)


def _cut(trace: Trace, wall_ns: int, spans: tuple[Span, ...] = ()) -> Trace:
    return replace(trace, wall_ns=wall_ns, spans=spans, waterfall=None, findings=())


def _ends(roots: Sequence[Span], loops: int) -> list[int]:
    """Return the end of each run; none where the spans do not fall into ``loops`` equal groups."""
    each, rest = divmod(len(roots), loops)
    if not each or rest or len({span.lane for span in roots}) != 1:
        return []
    groups = [roots[at : at + each] for at in range(0, len(roots), each)]
    stages = [[span.stage for span in group] for group in groups]
    if any(group != stages[0] for group in stages):
        return []
    return [group[-1].end_ns for group in groups]
