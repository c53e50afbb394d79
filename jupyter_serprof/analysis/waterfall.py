"""The waterfall: every nanosecond of the caller's wall time gets exactly one owner.

The innermost span of the caller owns an instant. While that span only waits, the active stage of
another lane that is furthest along the road owns it: work before waits, and before collections and
imports, which interrupt a stage and are nowhere on the road; else the wait itself. What nobody
explains is unaccounted: never spread, always drawn. Of several computations each has rows of its
own: what a stage owned before, in and after them stays apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jupyter_serprof.analysis.outline import outline_of
from jupyter_serprof.analysis.segments import Interval, Segment, merged, overlay, owned
from jupyter_serprof.analysis.spans import SpanEdge, depths, nearest, number, outermost, walk
from jupyter_serprof.model import Row, Span, Stage, Trace, Waterfall, stages_of

_PIECES = 64
_OVERLAYS = ("gc", "import")

#: What a row stands for: the index of a group (None: there are none) and the key of a stage.
_RowKey = tuple[int | None, str]


@dataclass(slots=True)
class _Tally:
    """What is added up for one stage; None: nobody saw any."""

    spans: list[int] = field(default_factory=list)
    owned: list[Segment] = field(default_factory=list)
    busy_by_lane: Counter[str] = field(default_factory=Counter)
    size_bytes: int | None = None
    copied_bytes: int | None = None
    minor_faults: int | None = None


def partition(trace: Trace) -> Waterfall:
    """Return the rows of a trace; with the unaccounted time they add up to its wall time."""
    spans = trace.spans
    tallies: dict[_RowKey, _Tally] = defaultdict(_Tally)
    edges = [max(0, group.start_ns) for group in trace.groups]
    keys = [(_group_at(edges, span.start_ns), span.stage) for span in spans]
    for index, key in enumerate(keys):
        tallies[key].spans.append(index)
    visits = tuple(walk(spans))
    _carry(tallies, keys, spans, visits)
    _count_faults(tallies, keys, spans, visits)
    _own(tallies, trace, visits, edges)
    rows = (_row(key, tally, trace) for key, tally in tallies.items())
    known = stages_of(trace)
    ordered = tuple(
        sorted(rows, key=lambda row: (row.group or 0, known[row.stage].order, row.stage))
    )
    rest_ns = trace.wall_ns - sum(row.self_ns for row in ordered)
    return Waterfall(ordered, rest_ns, outline_of(ordered, trace))


def _group_at(edges: Sequence[int], at: int) -> int | None:
    return max(0, bisect_right(edges, at) - 1) if edges else None


def _own(
    tallies: dict[_RowKey, _Tally], trace: Trace, visits: Sequence[SpanEdge], edges: Sequence[int]
) -> None:
    """Give each instant of a lane to its innermost span, and those of the caller to a stage."""
    caller = trace.lanes[0].key if trace.lanes else ""
    segments = _innermost(trace, depths(trace.spans, visits))
    stages = stages_of(trace)

    def tally(piece: Segment) -> _Tally:
        return tallies[_group_at(edges, piece.start), trace.spans[piece.owner].stage]

    for lane, pieces in segments.items():
        for piece in _cut(pieces, edges):
            tally(piece).busy_by_lane[lane] += piece.end - piece.start
    others = [piece for lane, pieces in segments.items() if lane != caller for piece in pieces]
    for piece in _cut(_shared(segments.get(caller, []), others, trace.spans, stages), edges):
        tally(piece).owned.append(piece)


def _cut(segments: Iterable[Segment], edges: Sequence[int]) -> Iterator[Segment]:
    """Cut segments where a group begins."""
    for start, end, owner in segments:
        at = start
        for edge in edges[bisect_right(edges, start) : bisect_left(edges, end)]:
            if at < edge:
                yield Segment(at, edge, owner)
            at = max(at, edge)
        yield Segment(at, end, owner)


def _innermost(trace: Trace, depth: Sequence[int]) -> dict[str, list[Segment]]:
    """Of calls that nest, the one that began last is innermost; of equal ones, the shorter."""
    spans = trace.spans
    by_lane: dict[str, list[Interval]] = defaultdict(list)
    for index, span in enumerate(spans):
        clipped = Interval(max(0, span.start_ns), min(trace.wall_ns, span.end_ns), index)
        if clipped.start < clipped.end:
            by_lane[span.lane].append(clipped)

    def rank(interval: Interval) -> tuple[int, ...]:
        span, index = spans[interval.owner], interval.owner
        return (span.start_ns, depth[index], -span.duration_ns, index)

    return {lane: owned(intervals, rank) for lane, intervals in by_lane.items()}


def _rank(remote: Stage) -> tuple[bool, int]:
    """Return how far along the road a remote stage is; what interrupts stages is nowhere on it."""
    return not remote.waits, -1 if remote.key in _OVERLAYS else remote.order


def _shared(
    caller: Sequence[Segment],
    others: Sequence[Segment],
    spans: Sequence[Span],
    stages: Mapping[str, Stage],
) -> Iterator[Segment]:
    """Give the caller's waits to what happened elsewhere meanwhile."""
    remote = owned(
        [Interval(*segment) for segment in others],
        lambda i: (*_rank(stages[spans[i.owner].stage]), -i.owner),
    )
    starts = [segment.start for segment in remote]
    for segment in caller:
        if stages[spans[segment.owner].stage].waits:
            first = max(0, bisect_right(starts, segment.start) - 1)
            yield from overlay(segment, remote, first)
        else:
            yield segment


def _carry(
    tallies: Mapping[_RowKey, _Tally],
    keys: Sequence[_RowKey],
    spans: Sequence[Span],
    visits: Sequence[SpanEdge],
) -> None:
    """Add up bytes; a call of the same stage around a call has counted its bytes already."""
    for index, size in outermost(spans, visits, lambda span: span.size_bytes):
        tally = tallies[keys[index]]
        tally.size_bytes = (tally.size_bytes or 0) + size
    for index, copied in outermost(spans, visits, lambda span: number(span, "copied_bytes")):
        tally = tallies[keys[index]]
        tally.copied_bytes = (tally.copied_bytes or 0) + copied


def _count_faults(
    tallies: Mapping[_RowKey, _Tally],
    keys: Sequence[_RowKey],
    spans: Sequence[Span],
    visits: Sequence[SpanEdge],
) -> None:
    """Add up faults, without those that a call inside has counted too."""
    around = nearest(spans, visits, lambda span: number(span, "minor_faults") is not None)
    for index, span in enumerate(spans):
        if (faults := number(span, "minor_faults")) is not None:
            tally = tallies[keys[index]]
            tally.minor_faults = (tally.minor_faults or 0) + faults
            if (above := around[index]) >= 0:
                outer = tallies[keys[above]]
                outer.minor_faults = (outer.minor_faults or 0) - faults


def _row(key: _RowKey, tally: _Tally, trace: Trace) -> Row:
    group, name = key
    spans, pieces = trace.spans, sorted(tally.owned)
    mine = [spans[index] for index in tally.spans]
    lane = max(tally.busy_by_lane, key=lambda name: tally.busy_by_lane[name], default="")
    first_ns = min((span.start_ns for span in mine), default=0)
    faults = tally.minor_faults
    return Row(
        stage=name,
        lane=lane or mine[0].lane,
        start_ns=pieces[0].start if pieces else min(trace.wall_ns, max(0, first_ns)),
        self_ns=sum(piece.end - piece.start for piece in pieces),
        busy_ns=sum(tally.busy_by_lane.values()),
        size_bytes=tally.size_bytes,
        count=sum(1 for span in mine if _stage_around(span, spans) != name),
        copied_bytes=tally.copied_bytes,
        minor_faults=None if faults is None else max(0, faults),
        pieces=merged(pieces, _PIECES),
        group=group,
    )


def _stage_around(span: Span, spans: Sequence[Span]) -> str | None:
    return spans[span.parent].stage if 0 <= span.parent < len(spans) else None
