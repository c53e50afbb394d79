"""Segments: who owns each instant, when intervals nest or overlap."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple


class Segment(NamedTuple):
    """A piece of time with one owner (an index of the caller's choice)."""

    start: int
    end: int
    owner: int


class Interval(NamedTuple):
    """A piece of time that competes for ownership; the highest rank wins."""

    start: int
    end: int
    owner: int


def owned(intervals: Sequence[Interval], rank: Callable[[Interval], object]) -> list[Segment]:
    """Return non-overlapping segments in order; at each instant the active highest rank owns.

    ``rank`` returns something comparable. Neighbours with one owner are merged. O(n log n).
    """
    ordered = sorted(intervals, key=lambda interval: interval.start)
    edges = sorted({edge for i in ordered for edge in (i.start, i.end)})
    segments: list[Segment] = []
    active: list[tuple[object, int, Interval]] = []
    position = 0
    for low, high in pairwise(edges):
        while position < len(ordered) and ordered[position].start <= low:
            interval = ordered[position]
            heapq.heappush(active, (_Reversed(rank(interval)), position, interval))
            position += 1
        while active and active[0][2].end <= low:
            heapq.heappop(active)
        if active:
            _append(segments, Segment(low, high, active[0][2].owner))
    return segments


class _Reversed:
    """Turns the smallest-first heap around."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)  # type: ignore[operator]  # ranks are comparable


def _append(segments: list[Segment], segment: Segment) -> None:
    if segments and segments[-1].end == segment.start and segments[-1].owner == segment.owner:
        segments[-1] = Segment(segments[-1].start, segment.end, segment.owner)
    else:
        segments.append(segment)


def overlay(segment: Segment, above: Sequence[Segment], first: int) -> Iterator[Segment]:
    """Cut a segment where others lie above it: theirs where they are, its own where they are not.

    Parameters
    ----------
    above
        Non-overlapping segments in order.
    first
        Index of the first one of them that may reach into the segment.
    """
    at = segment.start
    for other in above[first:]:
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


def merged(segments: Iterable[Segment], limit: int) -> tuple[tuple[int, int], ...]:
    """Return (start, length) in order, touching ones as one, at most `limit` (small gaps close)."""
    spans: list[list[int]] = []
    for segment in segments:
        if spans and spans[-1][1] == segment.start:
            spans[-1][1] = segment.end
        else:
            spans.append([segment.start, segment.end])
    if len(spans) > limit:
        gaps = sorted(after[0] - before[1] for before, after in pairwise(spans))
        spans = _closed(spans, gaps[len(spans) - limit - 1], limit)
    return tuple((start, end - start) for start, end in spans)


def _closed(spans: list[list[int]], widest_gap: int, limit: int) -> list[list[int]]:
    kept = [spans[0][:]]
    surplus = len(spans) - limit
    for start, end in spans[1:]:
        if surplus > 0 and start - kept[-1][1] <= widest_gap:
            kept[-1][1] = end
            surplus -= 1
        else:
            kept.append([start, end])
    return kept
