"""One run out of a recording of several equal ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import Span, Trace
from jupyter_serprof.model.times import middle_run

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
