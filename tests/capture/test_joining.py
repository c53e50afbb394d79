"""Joined calls: as many, as long and as large as one by one, and in the call that they were in."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.capture import freeze as freezing
from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.hook import Place, Record
from jupyter_serprof.capture.joining import entries_of
from jupyter_serprof.capture.recorder import Recorder, _mark
from jupyter_serprof.model import Trace
from jupyter_serprof.testing import TickClock

MAIN = 7
DUMPS = Place("pickle:dumps", "pickle.dumps", "pickle.dumps", joins=True)
LOADS = Place("pickle:loads", "pickle.loads", "pickle.loads", joins=True)
STORE = Place("ray:store", "ray.store")
#: A call: its place, the gap before it and how long it takes at least (ns), faults, what was noted,
#: how it ended, its children.
Call = tuple[Place, int, int, int | None, object, str | None, list["Call"]]

_NOTED = st.one_of(
    st.none(), st.integers(0, 99).map(lambda size: size << 8 | 4), st.just((5, (), b"", None))
)


def _call(children: st.SearchStrategy[list[Call]]) -> st.SearchStrategy[Call]:
    return st.tuples(
        st.sampled_from([DUMPS, DUMPS, LOADS, STORE]),
        st.integers(0, 5_000),
        st.integers(0, 9_000) | st.just(30_000),
        st.none() | st.integers(0, 3),
        _NOTED,
        st.sampled_from([None, None, None, "ValueError"]),
        children,
    )


CALLS = st.lists(
    st.recursive(
        _call(st.just([])), lambda inner: _call(st.lists(inner, max_size=4)), max_leaves=20
    ),
    max_size=12,
)


def written(calls: list[Call], start: int, thread: int) -> Iterator[Record]:
    """Yield the records of calls that follow each other, in the order in which they end."""
    for place, gap, took, faults, noted, error, children in calls:
        start += gap
        inside = list(written(children, start + took // 2, thread))
        end = max([start + took, *(record[3] for record in inside)])
        yield from inside
        yield place, thread, start, end, faults, noted, error
        start = end


def recorder_of(*threads: list[Call]) -> Recorder:
    """Return a stopped recorder; each list of calls has a thread of its own."""
    made = Recorder((), clock=TickClock())
    each = [list(written(calls, 10, MAIN + at)) for at, calls in enumerate(threads)]
    records = sorted((record for own in each for record in own), key=lambda record: record[3])
    made.thread, made.start_ns = MAIN, 0
    made.end_ns = max([100, *(record[3] + 10 for record in records)])
    for record in records:
        made.add(record)
    return made


def told(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, few: int) -> Trace:
    """Freeze a recorder as one with so few records."""
    monkeypatch.setattr(freezing, "entries_of", partial(entries_of, few=few))
    return freeze(recorder, name="test")


def sums(recorder: Recorder, few: int) -> dict[object, Counter[str]]:
    """Add up what stands in the entries, by place, thread and whether something was noted."""
    found: dict[object, Counter[str]] = defaultdict(Counter)
    for entry in entries_of(recorder.page, few):
        place, thread, start, end, faults, noted, error = entry.record
        key = place, thread, error, faults is None, type(noted)
        size = noted >> 8 if isinstance(noted, int) else 0
        found[key].update(calls=entry.calls, took=end - start, faults=faults or 0, size=size)
    return found


@given(calls=CALLS, others=CALLS)
def test_each_stage_has_what_it_had(calls: list[Call], others: list[Call]) -> None:
    """Also what is around the joined ones: their self times, counts and faults are the same."""
    # Calls, time, faults and bytes of each place and thread are neither lost nor added to.
    recorder = recorder_of(calls, others)
    assert sums(recorder, few=0) == sums(recorder, few=1_000_000)

    with pytest.MonkeyPatch.context() as patch:
        many, few = told(recorder, patch, 0), told(recorder, patch, 1_000_000)

    facts = ("stage", "self_ns", "busy_ns", "count", "minor_faults")
    found, expected = ([attrgetter(*facts)(row) for row in partition(t).rows] for t in (many, few))
    assert found == expected
    assert len(many.spans) <= len(few.spans)


def _loop(count: int, place: Place = DUMPS) -> list[Call]:
    return [(place, 50, 100, None, 7 << 8 | 4, None, []) for _ in range(count)]


def test_a_loop_is_a_few_spans_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one for each thousandth of the run; each says for how many calls it stands."""
    trace = told(recorder_of(_loop(20_000)), monkeypatch, 10_000)

    (note,) = trace.quality.notes
    assert trace.waterfall is None
    assert [row.count for row in partition(trace).rows] == [20_000]
    assert len(trace.spans) == 30
    assert note.startswith("20,000 short calls are told as 30,")


def test_a_few_calls_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As each cell of a size that people read has them."""
    trace = told(recorder_of(_loop(100)), monkeypatch, 10_000)

    assert len(trace.spans) == 100
    assert trace.quality.notes == ()


def test_what_is_in_another_call_stays_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was before and behind it stays there."""
    around: Call = (STORE, 0, 500, None, None, None, _loop(3))
    trace = told(recorder_of([*_loop(2), around, *_loop(4)]), monkeypatch, 0)

    assert [
        (span.stage, span.parent, (span.details or {}).get("calls", 1)) for span in trace.spans
    ] == [
        *(("pickle.dumps", -1, 2), ("ray.store", -1, 1), ("pickle.dumps", 1, 3)),
        ("pickle.dumps", -1, 4),
    ]


def test_calls_in_turns_are_joined_with_their_like(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other from where the first began; each as long as its calls together."""
    turns = [call for _ in range(3) for call in (*_loop(1), *_loop(1, LOADS))]
    trace = told(recorder_of(turns), monkeypatch, 0)

    assert [(span.stage, span.start_ns, span.duration_ns) for span in trace.spans] == [
        ("pickle.dumps", 60, 300),
        ("pickle.loads", 360, 300),
    ]


NESTED: Call = (
    DUMPS,
    50,
    400,
    None,
    9 << 8 | 4,
    None,
    [(DUMPS, 0, 100, None, 3 << 8 | 4, None, [])],
)
VARIED: list[Call] = [
    (DUMPS, 50, took, None, took << 8 | 4, None, []) for took in (100, 900, 25_000, 70_000)
]


@pytest.mark.parametrize("calls", [[NESTED] * 8_000, VARIED * 4_000], ids=["nested", "varied"])
def test_many_calls_are_few_whatever_is_in_them(calls: list[Call]) -> None:
    """Also those of different sizes: the longest of a run stay by themselves, at most so many."""
    recorder = recorder_of(calls)

    entries = entries_of(recorder.page)

    assert len(entries) <= 10_000
    assert sum(entry.calls for entry in entries) == 16_000


def test_marks_are_joined_too() -> None:
    recorder = recorder_of(_loop(20_000, _mark("step")))

    assert len(entries_of(recorder.page)) <= 1_000
