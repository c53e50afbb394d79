"""One variant at one size: its runs, cold and warm, and how many of them one recording holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from jupyter_serprof.analysis import analyse
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.runs import Runs, point_of, shown_runs, thin_trace
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.model import Point, Span, SweepTrace, Trace
from jupyter_serprof.model.sweep import middle_run
from jupyter_serprof.model.trace import Scalar

#: They come when they come, and belong to no run.
_BACKGROUND = ("gc", "import")


def one_of(trace: Trace, loops: int) -> Trace | None:
    """Return the run in the middle as a trace of its own; None where runs are not told apart.

    Parameters
    ----------
    trace
        A recording of equal runs, one after the other on one thread.
    loops
        How many.

    Notes
    -----
    A run reaches from the end of the last span of the run before to the end of its own last span;
    so the first run, which has none before it, is never chosen, and what a run does after its last
    span is counted to the next one, which does the same.
    """
    ends = _ends(trace.spans, loops)
    windows = list(pairwise(ends))
    if not windows:
        return None
    low, high = middle_run(windows, lambda window: window[1] - window[0])
    kept = [
        at for at, span in enumerate(trace.spans) if span.start_ns >= low and span.end_ns <= high
    ]
    places = {old: new for new, old in enumerate(kept)}
    spans = tuple(
        trace.spans[at]._replace(
            start_ns=trace.spans[at].start_ns - low,
            parent=places.get(trace.spans[at].parent, -1),
        )
        for at in kept
    )
    alone = replace(trace, wall_ns=high - low, spans=spans, waterfall=None, findings=())
    return analyse(alone, trace.limits)


def _ends(spans: tuple[Span, ...], loops: int) -> list[int]:
    """Return the end of each run; none where the spans do not fall into so many equal groups."""
    roots = sorted(
        (span for span in spans if span.parent < 0 and span.stage not in _BACKGROUND),
        key=lambda span: span.end_ns,
    )
    each, rest = divmod(len(roots), loops)
    if not each or rest or len({span.lane for span in roots}) != 1:
        return []
    groups = [roots[at : at + each] for at in range(0, len(roots), each)]
    stages = [[span.stage for span in group] for group in groups]
    if any(group != stages[0] for group in stages):
        return []
    return [group[-1].end_ns for group in groups]


#: A shorter run is measured several times in one recording, which lasts about so long in all.
_SHORT_NS = 1_000_000
_RECORDING_NS = 2_000_000
_MOST_LOOPS = 200
_IMPORTS = "import"
#: What is kept of a recording: a sweep has a hundred. The waterfall is stored, so no total changes.
_MOST_SPANS, _MOST_PIECES, _DIGITS = 12, 8, 4


@dataclass(slots=True, kw_only=True)
class Cell(Runs):
    """What was measured of one variant at one size; warm recordings are of a single run.

    Attributes
    ----------
    loops
        Runs in one recording; None until the first warm run told.
    checked
        What came back from the first run.
    """

    loops: int | None = None
    checked: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, Scalar] = field(default_factory=dict)

    def run(self, transport: Transport, value: object, *, detail: bool) -> tuple[Trace, object]:
        """Run once more: cold the first time; then one alone, which tells how many fit together.

        Returns
        -------
        (Trace, object)
            The recording of a single run, or of the last ones, and what came back.
        """
        __tracebackhide__ = True
        loops = self.loops or 1
        trace, result = recorded(transport, value, loops, detail=detail)
        alone: Trace | None = trace
        if self.points and self.loops is None:
            loops = loops_for(trace.wall_ns)
            if loops > 1:
                del result
                trace, result = recorded(transport, value, loops, detail=detail)
            # One alone finds cold caches: more of the others may fit together.
            self.loops = max(loops, loops_for(trace.wall_ns // loops))
        if loops > 1:
            # A run among others is what the point tells of.
            alone = one_of(trace, loops) or (None if self.warm else alone)
        if self.points and alone:
            self.warm.append(kept_trace(alone))
        self.cold = self.cold or kept_trace(trace)
        self.facts = transport.facts()
        self.points.append(self._point(trace, loops))
        return trace, result

    def take_first(self, trace: Trace) -> None:
        """Take a recording that was made already for the cold run."""
        self.cold = kept_trace(trace)
        self.points.append(self._point(trace, 1))

    def _point(self, trace: Trace, loops: int) -> Point:
        point = point_of(self.key, self.size_bytes, len(self.points), trace)
        point = replace(point, parameter=self.parameter)
        point = divided(point, loops) if loops > 1 else point
        moved = self.facts.get("total_bytes")
        return replace(point, moved_bytes=moved) if isinstance(moved, int) else point

    def settle(self, size_bytes: int | None) -> None:
        """Take the size, where only the first run told it."""
        self.size_bytes = size_bytes
        self.points = [replace(point, size_bytes=size_bytes) for point in self.points]

    def close_as_double(self, reason: str) -> None:
        """Forget what was measured: another cell has the same place."""
        self.points.clear()
        self.cold, self.skipped = None, reason

    @property
    def shown(self) -> tuple[SweepTrace, ...]:
        """The cold recording, and the warm one in the middle."""
        return shown_runs(self.key, self.size_bytes, self.cold, self.warm)


def kept_trace(trace: Trace) -> Trace:
    """Return a recording with its waterfall, its longest spans, and nothing that says no more."""
    summary = trace.summary
    if summary:
        strict, total = (
            None if share is None else round(share, _DIGITS)
            for share in (summary.strict_share, summary.total_share)
        )
        summary = replace(summary, strict_share=strict, total_share=total)
    kept = thin_trace(trace, spans=_MOST_SPANS, pieces=_MOST_PIECES)
    return replace(kept, summary=summary, producer="")


def recorded(
    transport: Transport, value: object, loops: int, *, detail: bool
) -> tuple[Trace, object]:
    """Record so many round trips in a row; return the recording and the last result."""
    __tracebackhide__ = True
    recording = Recording(transport.title, detail=detail)
    result: object = None
    try:
        with recording:
            if loops == 1:
                result = transport.round_trip(value)
            else:
                for _ in range(loops):
                    result = transport.round_trip(value)
    except BaseException:
        # Ctrl-C may come before the first line of what leaves the block.
        recording.stop(KeyboardInterrupt)
        raise
    return recording.trace, result


def loops_for(wall_ns: int) -> int:
    """Return how many runs of this length one recording should hold."""
    if wall_ns >= _SHORT_NS:
        return 1
    return min(_MOST_LOOPS, math.ceil(_RECORDING_NS / max(1, wall_ns)))


def divided(point: Point, loops: int) -> Point:
    """Return the point of one of several equal runs; whole numbers, rounded down."""
    return replace(
        point,
        wall_ns=point.wall_ns // loops,
        moved_bytes=None if point.moved_bytes is None else point.moved_bytes // loops,
        minor_faults=None if point.minor_faults is None else point.minor_faults // loops,
        stages={key: self_ns // loops for key, self_ns in point.stages.items()},
        loops=loops,
    )


def without_imports_s(trace: Trace, took_s: float) -> float:
    """Return what a run would have taken without the imports that only the first one needs."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    imports_ns = sum(row.self_ns for row in rows if row.stage == _IMPORTS)
    return max(0.0, took_s - imports_ns / 1e9)
