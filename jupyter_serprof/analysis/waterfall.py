"""The waterfall: every nanosecond of the wall time gets exactly one owner, segment by segment.

The innermost span of the caller owns an instant. While that span only waits, the active stage of
another lane that is furthest along the road owns it: work before waits, and before collections and
imports, which interrupt a stage and are nowhere on the road; else the wait itself. A collection
stops the Python of all threads of its process. What nobody explains is unaccounted: never spread,
always drawn. Of several computations each has rows: what a stage owned in each stays apart.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

from jupyter_serprof.analysis.spans import (
    SpanEdge,
    calls_of,
    depths,
    fewer_pieces,
    nearest,
    number,
    outermost,
    total,
    walk,
)
from jupyter_serprof.model import Row, Span, Stage, Trace, Waterfall, stages_of
from jupyter_serprof.model.stages import RECORDING


class Segment(NamedTuple):
    """A piece of time with one owner (an index of the caller's choice), or that competes for it."""

    start: int
    end: int
    owner: int


def owned(intervals: Sequence[Segment], rank: Callable[[Segment], Any]) -> list[Segment]:
    """Return non-overlapping segments in order; at each instant the active highest rank owns.

    ``rank`` returns something comparable. Neighbours with one owner are merged. O(n log n).
    """
    # From here on a small number is a high rank: numbers make a fast heap.
    ranked = sorted(intervals, key=rank, reverse=True)
    waiting = sorted(range(len(ranked)), key=lambda at: -ranked[at].start)
    segments: list[Segment] = []
    active: list[int] = []
    for low, high in pairwise(sorted({edge for i in ranked for edge in (i.start, i.end)})):
        while waiting and ranked[waiting[-1]].start <= low:
            heapq.heappush(active, waiting.pop())
        while active and ranked[active[0]].end <= low:
            heapq.heappop(active)
        if active:
            _append(segments, Segment(low, high, ranked[active[0]].owner))
    return segments


def _append(segments: list[Segment], segment: Segment) -> None:
    if segments and segments[-1].end == segment.start and segments[-1].owner == segment.owner:
        segments[-1] = Segment(segments[-1].start, segment.end, segment.owner)
    else:
        segments.append(segment)


def overlay(segment: Segment, above: Sequence[Segment], first: int) -> Iterator[Segment]:
    """Cut a segment where others lie above it: theirs where they are, its own where they are not.

    ``above``: Non-overlapping segments in order.
    ``first``: Index of the first one of them that may reach into the segment.
    """
    at = segment.start
    for index in range(first, len(above)):
        other = above[index]
        if other.start >= segment.end:
            break
        low, high = max(other.start, at), min(other.end, segment.end)
        if low < high:
            if at < low:
                yield Segment(at, low, segment.owner)
            yield Segment(low, high, other.owner)
            at = high
    if at < segment.end:
        yield Segment(at, segment.end, segment.owner)


#: Of one row; of all rows, of which a name for each step of a loop makes thousands.
_PIECES, _ALL_PIECES = 64, 20_000

#: What a row stands for: the index of a group (None: there are none) and the key of a stage.
_RowKey = tuple[int | None, str]


@dataclass(slots=True)
class _Tally:
    """What is added up for one stage."""

    spans: list[int] = field(default_factory=list)
    owned: list[Segment] = field(default_factory=list)
    busy_by_lane: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)


def partition(trace: Trace) -> Waterfall:
    """Return the rows of a trace; with the unaccounted time they add up to its wall time."""
    spans = trace.spans
    tallies: dict[_RowKey, _Tally] = defaultdict(_Tally)
    edges = [max(0, group.start_ns) for group in trace.groups]
    keys = [(_group_at(edges, span.start_ns), span.stage) for span in spans]
    for index, key in enumerate(keys):
        tallies[key].spans.append(index)
    visits = tuple(walk(spans))
    _measure(tallies, keys, spans, visits)
    _own(tallies, trace, visits, edges)
    most = max(1, min(_PIECES, _ALL_PIECES // max(1, len(tallies))))
    rows = (_row(key, tally, trace, most) for key, tally in tallies.items())
    known = stages_of(trace)
    ordered = tuple(
        sorted(rows, key=lambda row: (row.group or 0, known[row.stage].order, row.stage))
    )
    rest_ns = trace.wall_ns - sum(row.self_ns for row in ordered)
    ordered, rest_ns = _without_recording(ordered, rest_ns, spans)
    return Waterfall(ordered, rest_ns)


def _without_recording(
    rows: Sequence[Row], rest_ns: int, spans: Sequence[Span]
) -> tuple[tuple[Row, ...], int]:
    taken = (spans[-1].details or {}).get("taken_ns") if spans else None
    if not isinstance(taken, Mapping):
        return tuple(rows), rest_ns
    left = Counter[str](dict(taken))
    left_ns = rest_ns - min(rest_ns, left[""])
    # Where the user's code was sampled, it is a stage.
    left["python.code"] += left[""] - (rest_ns - left_ns)
    made = []
    for row in rows:
        own_ns = min(row.self_ns, left[row.stage])
        left[row.stage] -= own_ns
        made.append(replace(row, self_ns=row.self_ns - own_ns))
    took = rest_ns - left_ns + sum(row.self_ns for row in rows) - sum(row.self_ns for row in made)
    at = next(at for at, row in enumerate(made) if row.stage == RECORDING)
    # It is everywhere.
    whole = ((0, spans[-1].start_ns),)
    took += made[at].self_ns  # in workers
    made[at] = replace(made[at], start_ns=0, self_ns=took, busy_ns=took, pieces=whole)
    return tuple(made), left_ns


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

    steps = [stages[span.stage] for span in trace.spans]
    _stop(segments, trace, steps)
    for lane, pieces in segments.items():
        for piece in _cut(pieces, edges):
            if trace.spans[piece.owner].lane == lane:
                tally(piece).busy_by_lane[lane] += piece.end - piece.start
    others = [piece for lane, pieces in segments.items() if lane != caller for piece in pieces]
    # How far along the road each is; what interrupts stages is nowhere on it.
    far = [(not one.waits, -1 if one.key in ("gc", "import") else one.order) for one in steps]
    remote = owned(others, lambda piece: (*far[piece.owner], -piece.owner))
    shared = _overlaid(segments.get(caller, []), remote, lambda at: steps[at].waits)
    for piece in _cut(shared, edges):
        tally(piece).owned.append(piece)


def _stop(segments: dict[str, list[Segment]], trace: Trace, steps: Sequence[Stage]) -> None:
    """Give what a collection stopped of the Python in the caller's process to it."""
    here = {lane.key for lane in trace.lanes if lane.process == 0} & segments.keys()
    every = ((trace.spans[one.owner], one) for own in segments.values() for one in own)
    found = ((span, one) for span, one in every if span.stage == "gc")
    runs = sorted(o for s, o in found if s.lane in here or (s.details or {}).get("is_kernel"))
    for lane in here if runs else ():
        given = _overlaid(segments[lane], runs, lambda at: steps[at].family in {"build", "pickle"})
        segments[lane] = list(given)


def _cut(segments: Iterable[Segment], edges: Sequence[int]) -> Iterator[Segment]:
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
    by_lane: dict[str, list[Segment]] = defaultdict(list)
    for index, span in enumerate(spans):
        clipped = Segment(max(0, span.start_ns), min(trace.wall_ns, span.end_ns), index)
        if clipped.start < clipped.end:
            by_lane[span.lane].append(clipped)

    def rank(interval: Segment) -> tuple[int, ...]:
        span, index = spans[interval.owner], interval.owner
        return (span.start_ns, depth[index], -span.duration_ns, index)

    return {lane: owned(intervals, rank) for lane, intervals in by_lane.items()}


def _overlaid(
    segments: Iterable[Segment], above: Sequence[Segment], gives_way: Callable[[int], bool]
) -> Iterator[Segment]:
    starts = [segment.start for segment in above]
    for segment in segments:
        if gives_way(segment.owner):
            yield from overlay(segment, above, max(0, bisect_right(starts, segment.start) - 1))
        else:
            yield segment


def _measure(
    tallies: Mapping[_RowKey, _Tally],
    keys: Sequence[_RowKey],
    spans: Sequence[Span],
    visits: Sequence[SpanEdge],
) -> None:
    """Add up bytes and faults; bytes are counted already by a call of the same stage around it."""
    for index, size in outermost(spans, visits, lambda span: span.size_bytes):
        tallies[keys[index]].sizes.append(size)
    for index, copied in outermost(spans, visits, lambda span: number(span, "copied_bytes")):
        tallies[keys[index]].copied.append(copied)
    # Without those that a call inside has counted too.
    around = nearest(spans, visits, lambda span: number(span, "minor_faults") is not None)
    for index, span in enumerate(spans):
        if (faults := number(span, "minor_faults")) is not None:
            tallies[keys[index]].faults.append(faults)
            if (above := around[index]) >= 0:
                tallies[keys[above]].faults.append(-faults)


def _row(key: _RowKey, tally: _Tally, trace: Trace, most: int) -> Row:
    group, name = key
    spans, pieces = trace.spans, sorted(tally.owned)
    mine = [spans[index] for index in tally.spans]
    lane = max(tally.busy_by_lane, key=lambda name: tally.busy_by_lane[name], default="")
    first_ns = min((span.start_ns for span in mine), default=0)
    return Row(
        stage=name,
        lane=lane or next((span.lane for span in mine), ""),
        start_ns=pieces[0].start if pieces else min(trace.wall_ns, max(0, first_ns)),
        self_ns=sum(piece.end - piece.start for piece in pieces),
        busy_ns=sum(tally.busy_by_lane.values()),
        size_bytes=total(tally.sizes),
        count=sum(
            calls_of(span)
            for span in mine
            if not 0 <= span.parent < len(spans) or spans[span.parent].stage != name
        ),
        copied_bytes=total(tally.copied),
        minor_faults=max(0, sum(tally.faults)) if tally.faults else None,
        pieces=fewer_pieces(((one.start, one.end - one.start) for one in pieces), most),
        group=group,
    )
