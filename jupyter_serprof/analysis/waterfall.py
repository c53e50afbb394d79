"""The waterfall: every nanosecond of the caller's wall time gets exactly one owner.

The innermost span of the caller owns an instant. While that span only waits, the active stage of
another lane that is furthest along the road owns it, else the wait itself. What nobody explains is
unaccounted: never spread, always drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jupyter_serprof.analysis.segments import Interval, Segment, merged, overlay, owned
from jupyter_serprof.model import Row, Span, Trace, Waterfall, stage

_PIECES = 64


@dataclass(slots=True)
class _Tally:
    """What is added up for one stage."""

    owned: list[Segment] = field(default_factory=list)
    busy_by_lane: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    spans: list[int] = field(default_factory=list)


def partition(trace: Trace) -> Waterfall:
    """Return the rows of a trace; with the unaccounted time they add up to its wall time."""
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    caller = trace.lanes[0].key if trace.lanes else ""
    by_lane: dict[str, list[Interval]] = defaultdict(list)
    for index, span in enumerate(trace.spans):
        tallies[span.stage].spans.append(index)
        clipped = Interval(max(0, span.start_ns), min(trace.wall_ns, span.end_ns), index)
        if clipped.start < clipped.end:
            by_lane[span.lane].append(clipped)
    segments = {lane: _innermost(intervals, trace.spans) for lane, intervals in by_lane.items()}
    for lane, pieces in segments.items():
        for piece in pieces:
            tallies[trace.spans[piece.owner].stage].busy_by_lane[lane] += piece.end - piece.start
    others = [piece for lane, pieces in segments.items() if lane != caller for piece in pieces]
    for piece in _shared(segments.get(caller, []), others, trace.spans):
        tallies[trace.spans[piece.owner].stage].owned.append(piece)
    rows = tuple(_row(key, tally, trace.spans) for key, tally in tallies.items())
    ordered = tuple(sorted(rows, key=lambda row: (stage(row.stage).order, row.stage)))
    return Waterfall(ordered, trace.wall_ns - sum(row.self_ns for row in ordered))


def _innermost(intervals: Sequence[Interval], spans: Sequence[Span]) -> list[Segment]:
    """Of calls that nest, the one that began last is innermost; equal ones by their length."""
    depth = _Depths(spans)
    return owned(intervals, lambda i: (spans[i.owner].start_ns, depth[i.owner], i.owner))


class _Depths:
    """Depth of a span in its tree, on demand."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans

    def __getitem__(self, index: int) -> int:
        depth = 0
        while (index := self._spans[index].parent) >= 0 and depth <= len(self._spans):
            depth += 1
        return depth


def _shared(
    caller: Sequence[Segment], others: Sequence[Segment], spans: Sequence[Span]
) -> Iterable[Segment]:
    """Give the caller's waits to what happened elsewhere meanwhile."""
    remote = owned(
        [Interval(*segment) for segment in others],
        lambda i: (stage(spans[i.owner].stage).order, -i.owner),
    )
    starts = [segment.start for segment in remote]
    for segment in caller:
        if stage(spans[segment.owner].stage).waits:
            first = max(0, bisect_right(starts, segment.start) - 1)
            yield from overlay(segment, remote, first)
        else:
            yield segment


def _row(key: str, tally: _Tally, spans: Sequence[Span]) -> Row:
    pieces = sorted(tally.owned)
    lane = max(tally.busy_by_lane, key=lambda name: tally.busy_by_lane[name], default="")
    mine = [spans[index] for index in tally.spans]
    carried = [span for span in mine if not _is_inside_same(span, spans)]
    start = pieces[0].start if pieces else max(0, min(span.start_ns for span in mine))
    return Row(
        stage=key,
        lane=lane or mine[0].lane,
        start_ns=start,
        self_ns=sum(piece.end - piece.start for piece in pieces),
        busy_ns=sum(tally.busy_by_lane.values()),
        size_bytes=_sum(span.size_bytes for span in carried),
        count=sum(1 for span in mine if span.parent < 0 or spans[span.parent].stage != key),
        copied_bytes=_sum(_number(span, "copied_bytes") for span in carried),
        minor_faults=_own_faults(tally.spans, spans),
        pieces=merged(pieces, _PIECES),
    )


def _is_inside_same(span: Span, spans: Sequence[Span]) -> bool:
    """A call of the same stage around it has counted these bytes already."""
    index = span.parent
    while index >= 0:
        above = spans[index]
        if above.stage == span.stage and above.size_bytes is not None:
            return True
        index = above.parent
    return False


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _number(span: Span, key: str) -> int | None:
    value = span.details.get(key) if span.details else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _own_faults(indices: Sequence[int], spans: Sequence[Span]) -> int | None:
    """Faults of the stage's spans without those counted by spans inside them."""
    mine = [index for index in indices if _number(spans[index], "minor_faults") is not None]
    if not mine:
        return None
    total = sum(_number(spans[index], "minor_faults") or 0 for index in mine)
    return max(0, total - _faults_inside(set(mine), spans))


def _faults_inside(mine: set[int], spans: Sequence[Span]) -> int:
    """Sum the faults of counting spans whose nearest counting ancestor is one of `mine`."""
    total = 0
    for span in spans:
        faults = _number(span, "minor_faults")
        if faults:
            above = span.parent
            while above >= 0 and _number(spans[above], "minor_faults") is None:
                above = spans[above].parent
            total += faults if above in mine else 0
    return total
