"""Segments: who owns each instant, when intervals nest or overlap."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple


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


def owned(intervals: Sequence[Interval], rank: Callable[[Interval], Any]) -> list[Segment]:
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

    Parameters
    ----------
    above
        Non-overlapping segments in order.
    first
        Index of the first one of them that may reach into the segment.
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


def merged(segments: Iterable[Segment], limit: int) -> tuple[tuple[int, int], ...]:
    """Return (start, length) in order, touching ones as one, at most `limit` (small gaps close)."""
    spans: list[list[int]] = []
    for segment in segments:
        if spans and spans[-1][1] == segment.start:
            spans[-1][1] = segment.end
        else:
            spans.append([segment.start, segment.end])
    return tuple((start, end - start) for start, end in _closed(spans, limit))


def _closed(spans: list[list[int]], limit: int) -> list[list[int]]:
    """Close the smallest gaps, the first of equal ones, until so many pieces are left."""
    gaps = sorted(range(1, len(spans)), key=lambda at: spans[at][0] - spans[at - 1][1])
    closing = set(gaps[: max(0, len(spans) - limit)])
    kept: list[list[int]] = []
    for at, (start, end) in enumerate(spans):
        if at in closing:
            kept[-1][1] = end
        else:
            kept.append([start, end])
    return kept
