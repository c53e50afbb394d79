"""Segments: one owner for each instant, laying one list over another, and merging for a picture."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_serprof.analysis.spans import fewer_pieces, longest
from jupyter_serprof.analysis.waterfall import Segment, overlay, owned
from jupyter_serprof.testing import make_trace

END = 30
MAIN = "client/main"
times = st.integers(0, END)


@st.composite
def interval_lists(draw: st.DrawFn) -> list[Segment]:
    """Draw intervals that overlap, nest, touch or are empty; the owner is their position."""
    edges = draw(st.lists(st.tuples(times, times).map(sorted), max_size=8))
    return [Segment(low, high, owner) for owner, (low, high) in enumerate(edges)]


@st.composite
def segment_lists(draw: st.DrawFn) -> list[Segment]:
    """Draw segments in order that do not overlap, some of them touching."""
    edges = sorted(draw(st.sets(times, max_size=12)))
    kept = [pair for pair in pairwise(edges) if draw(st.booleans())]
    return [Segment(low, high, 100 + owner) for owner, (low, high) in enumerate(kept)]


class CountedList(list[Segment]):
    """Segments that count how many of them were looked at."""

    looked_at = 0

    def __getitem__(self, index: object) -> object:  # type: ignore[override]  # it only counts
        found: object = super().__getitem__(index)  # type: ignore[call-overload]  # passed on
        self.looked_at += len(found) if isinstance(found, list) else 1
        return found

    def __iter__(self) -> Iterator[Segment]:
        for segment in super().__iter__():
            self.looked_at += 1
            yield segment


def instants(segments: Iterable[Segment]) -> dict[int, int]:
    """Return the owner of each nanosecond."""
    return {at: s.owner for s in segments for at in range(s.start, s.end)}


def is_in_order(segments: Sequence[Segment]) -> bool:
    """Whether no segment is empty and none begins before the one before it ended."""
    return all(s.start < s.end for s in segments) and all(
        a.end <= b.start for a, b in pairwise(segments)
    )


@given(interval_lists(), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_at_each_instant_the_highest_rank_that_is_active_owns(
    intervals: list[Segment], ranks: list[int]
) -> None:
    """Nobody owns an instant at which nobody is active; there are as many as changes of owner."""
    best: dict[int, Segment] = {}
    for interval in sorted(intervals, key=lambda i: (ranks[i.owner], i.owner)):
        best |= dict.fromkeys(range(interval.start, interval.end), interval)

    segments = owned(intervals, lambda i: (ranks[i.owner], i.owner))

    assert instants(segments) == {at: interval.owner for at, interval in best.items()}
    assert is_in_order(segments)
    assert not any(a.end == b.start and a.owner == b.owner for a, b in pairwise(segments))


@given(times, times, segment_lists())
def test_an_overlay_shows_what_lies_above_and_else_the_segment_itself(
    start: int, end: int, above: list[Segment]
) -> None:
    """The pieces fill the segment, to the nanosecond, and nothing outside of it."""
    low, high = sorted((start, end))
    theirs = instants(above)
    expected = {at: theirs.get(at, 0) for at in range(low, high)}

    pieces = list(overlay(Segment(low, high, 0), above, 0))

    assert instants(pieces) == expected
    assert is_in_order(pieces)


@pytest.mark.parametrize("size", [1_000, 10_000])
def test_an_overlay_looks_only_at_the_segments_that_it_meets(size: int) -> None:
    """Many waits over many tasks cost the sum of both, not their product."""
    above = CountedList(Segment(10 * i, 10 * i + 5, i) for i in range(size))

    pieces = list(overlay(Segment(5_000, 5_012, -1), above, 500))

    assert [piece.owner for piece in pieces] == [500, -1, 501]
    assert above.looked_at <= 4


def pieces_of(segments: list[Segment]) -> list[tuple[int, int]]:
    return [(one.start, one.end - one.start) for one in segments]


@given(segment_lists(), st.integers(1, 6))
@example([Segment(0, 1, 0), Segment(6, 7, 1), Segment(12, 13, 2), Segment(14, 15, 3)], 2)
def test_of_the_gaps_the_smallest_close(segments: list[Segment], limit: int) -> None:
    """What a picture loses above the limit is as little as possible, and nothing below it."""
    # However few pieces are allowed, no owned instant is lost and the ends stay.
    before = set(instants(segments))
    exact = fewer_pieces(pieces_of(segments), 64)
    gaps = sorted(b - (a + length) for (a, length), (b, _) in pairwise(exact))
    least = sum(gaps[: max(0, len(exact) - limit)])

    pieces = fewer_pieces(pieces_of(segments), limit)

    after = {at for start, length in pieces for at in range(start, start + length)}
    covered, owned_ns = (sum(length for _, length in found) for found in (pieces, exact))
    assert covered - owned_ns == least
    assert owned_ns == len(before)
    assert len(pieces) <= limit
    assert before <= after
    assert all(a + length < b for (a, length), (b, _) in pairwise(pieces))
    assert not segments or (min(after), max(after)) == (min(before), max(before))


def test_pieces_that_overlap_stay_covered() -> None:
    """Of several computations a stage may be in two at a time: the longer one ends later."""
    assert fewer_pieces([(0, 100), (10, 5), (200, 1)], 2) == ((0, 100), (200, 1))


def test_a_span_whose_parent_goes_points_at_the_next_one_around() -> None:
    """Never at nothing that is there no more, and a circle of parents ends."""
    spans = make_trace(
        [("a", MAIN, 0, 100), ("b", MAIN, 0, 1, None, 0), ("c", MAIN, 0, 50, None, 1)]
    ).spans
    lost = spans[1]._replace(parent=1)

    kept, places = longest(spans, 2)
    alone, _ = longest([lost, lost, spans[2]], 1)
    told, _ = longest(spans, 1, [1])

    assert [(span.stage, span.parent) for span in kept] == [("a", -1), ("c", 0)]
    assert places == {0: 0, 2: 1}
    assert [(span.stage, span.parent) for span in alone] == [("c", -1)]
    assert [span.stage for span in told] == ["b"]
