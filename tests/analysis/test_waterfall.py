"""The waterfall: it adds up to the wall time for any set of spans; each instant has one owner."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import SupportsIndex, cast
from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis import spans as asked
from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.model import STAGES, Group, Lane, Row, Span, Trace, stage
from jupyter_serprof.testing import make_trace

MS = 1_000_000
CALLER, WORKERS = "client/main", ("worker/1", "worker/2")
KEYS = [*STAGES, "user:load", "spark.shuffle"]


def details(
    copied_bytes: int | None = None, minor_faults: int | None = None
) -> dict[str, object] | None:
    """Return the details of a span without those that nobody saw."""
    known = {"copied_bytes": copied_bytes, "minor_faults": minor_faults}
    return {key: value for key, value in known.items() if value is not None} or None


def trace_of(spans: Sequence[Span], wall_ns: int) -> Trace:
    lanes = tuple(Lane(key, process=at) for at, key in enumerate((CALLER, *WORKERS)))
    return Trace(name="drawn", started="", wall_ns=wall_ns, lanes=lanes, spans=tuple(spans))


@st.composite
def any_traces(draw: st.DrawFn, end_ns: int = 40, parents_to: int = 8) -> Trace:
    """Draw spans that overlap, are empty, leave the wall, nest badly, or are inside themselves."""
    unknown_or_size = st.none() | st.integers(0, 9)
    span = st.builds(
        Span,
        stage=st.sampled_from(KEYS),
        name=st.just("drawn"),
        lane=st.sampled_from([CALLER, CALLER, *WORKERS]),
        start_ns=st.integers(-end_ns // 2, end_ns + 5),
        duration_ns=st.integers(0, end_ns),
        size_bytes=unknown_or_size,
        parent=st.integers(-1, parents_to),
        details=st.builds(details, unknown_or_size, unknown_or_size),
    )
    return trace_of(draw(st.lists(span, max_size=parents_to)), draw(st.integers(0, end_ns)))


@st.composite
def nested_spans(draw: st.DrawFn, lane: str, start: int, end: int, depth: int = 3) -> list[Span]:
    """Draw calls that nest as those of one thread do; parents are indices into this list."""
    spans: list[Span] = []
    _nest(draw, spans, (lane, start, end, -1), depth)
    return spans


def _nest(draw: st.DrawFn, spans: list[Span], place: tuple[str, int, int, int], depth: int) -> None:
    lane, at, end, parent = place
    for _ in range(draw(st.integers(0, 2)) if depth else 0):
        low, high = sorted((draw(st.integers(at, end)), draw(st.integers(at, end))))
        key, index = draw(st.sampled_from(KEYS)), len(spans)
        spans.append(Span(key, "drawn", lane, low, high - low, parent=parent))
        _nest(draw, spans, (lane, low, high, index), depth - 1)
        at = high


@st.composite
def nested_traces(draw: st.DrawFn, end_ns: int = 40) -> Trace:
    """Draw calls of three threads that nest well."""
    spans: list[Span] = []
    for lane in (CALLER, *WORKERS):
        base = len(spans)
        mine = draw(nested_spans(lane, 0, end_ns))
        spans += [s._replace(parent=s.parent + base if s.parent >= 0 else -1) for s in mine]
    return trace_of(spans, end_ns)


def depth_of(trace: Trace, index: int) -> int:
    parent = trace.spans[index].parent
    return 0 if parent < 0 else 1 + depth_of(trace, parent)


def innermost(trace: Trace, lane: str, at: int) -> int | None:
    """Return the deepest call of a thread that is active at an instant."""
    active = [
        index
        for index, span in enumerate(trace.spans)
        if span.lane == lane and span.start_ns <= at < span.end_ns
    ]
    return max(active, key=lambda index: depth_of(trace, index), default=None)


def slow_owner(trace: Trace, at: int) -> str | None:
    """Say who owns an instant, as the rule is written: innermost, waits give way to work."""
    # Of work elsewhere the furthest along the road, where collections and imports have no place.
    mine = innermost(trace, CALLER, at)
    if mine is None:
        return None
    keys = [
        trace.spans[index].stage
        for lane in WORKERS
        if (index := innermost(trace, lane, at)) is not None
    ]
    waits = stage(trace.spans[mine].stage).waits
    places = {key: -1 if key in ("gc", "import") else stage(key).order for key in keys}
    furthest = max(keys, key=lambda key: (not stage(key).waits, places[key]), default=None)
    return furthest if waits and furthest else trace.spans[mine].stage


def row(trace: Trace, key: str) -> Row:
    return next(row for row in partition(trace).rows if row.stage == key)


def self_ms(trace: Trace) -> dict[str, float]:
    """Return what each stage owns, ms."""
    return {row.stage: row.self_ns / MS for row in partition(trace).rows if row.self_ns}


# It adds up.


@given(any_traces())
def test_rows_and_the_unaccounted_time_add_up_to_the_wall_time(trace: Trace) -> None:
    """To the nanosecond, for any set of spans; nothing is negative."""
    # Whatever owned wall time worked meanwhile, and nobody works twice at once. There is one row
    # for each stage that was met, by its order on the road, then by its key.
    waterfall = partition(trace)
    rows, keys = waterfall.rows, [row.stage for row in waterfall.rows]

    assert sum(row.self_ns for row in rows) + waterfall.unaccounted_ns == trace.wall_ns
    assert waterfall.unaccounted_ns >= 0
    assert all(0 <= row.self_ns <= row.busy_ns and row.count >= 0 for row in rows)
    assert all((row.minor_faults or 0) >= 0 for row in rows)
    assert sum(row.busy_ns for row in rows) <= len(trace.lanes) * trace.wall_ns
    assert set(keys) == {span.stage for span in trace.spans}
    assert keys == sorted(set(keys), key=lambda key: (stage(key).order, key))


@given(any_traces())
@example(make_trace([("gc", WORKERS[0], 5, 1)], wall_ms=2))
@example(make_trace([("gc", CALLER, 5, 1)], wall_ms=2))
def test_pieces_lie_in_order_inside_the_wall_and_sum_to_what_is_owned(trace: Trace) -> None:
    """A picture may draw the pieces side by side; a row starts where its first piece does."""
    rows = partition(trace).rows

    for found in rows:
        assert 0 <= found.start_ns <= trace.wall_ns
        assert sum(length for _, length in found.pieces) == found.self_ns
        assert all(length > 0 for _, length in found.pieces)
        assert all(start + length < after for (start, length), (after, _) in pairwise(found.pieces))
        if found.pieces:
            assert found.pieces[0][0] == found.start_ns
            assert sum(found.pieces[-1]) <= trace.wall_ns


def test_above_64_pieces_the_row_stays_exact() -> None:
    """Pieces are for the eye: above 64 small gaps close, self_ns does not change."""
    trace = make_trace([("gc", CALLER, 2 * at, 1) for at in range(100)])

    found = row(trace, "gc")

    assert found.self_ns == 100 * MS
    assert len(found.pieces) == 64
    assert sum(found.pieces[-1]) == trace.wall_ns


@given(nested_traces())
def test_each_nanosecond_has_the_owner_that_the_rule_names(trace: Trace) -> None:
    """The same rows come out if every nanosecond is asked one by one."""
    # Busy is each instant of a lane once: a child is not counted again in its parent; lanes add up,
    # they are work in parallel.
    owners = [slow_owner(trace, at) for at in range(trace.wall_ns)]
    expected = Counter(key for key in owners if key is not None)
    at_work = (
        innermost(trace, *place) for place in product((CALLER, *WORKERS), range(trace.wall_ns))
    )
    busy = Counter(trace.spans[index].stage for index in at_work if index is not None)

    waterfall = partition(trace)

    assert {row.stage: row.self_ns for row in waterfall.rows if row.self_ns} == expected
    assert {row.stage: row.busy_ns for row in waterfall.rows if row.busy_ns} == busy
    assert waterfall.unaccounted_ns == owners.count(None)


# Who owns an instant.


@pytest.mark.parametrize(
    ("spans", "owned"),
    [
        (
            [
                ("ray.store", CALLER, 0, 10),
                ("ray.msgpack", CALLER, 2, 6, None, 0),
                ("ray.pickle", CALLER, 3, 4, None, 1),
            ],
            {"ray.store": 4, "ray.msgpack": 2, "ray.pickle": 4},
        ),
        (
            [
                ("ray.fetch", CALLER, 0, 10),
                ("ray.arguments", "worker/1", 1, 4),
                ("ray.execute", "worker/2", 3, 4),
            ],
            {"ray.arguments": 2, "ray.execute": 4, "ray.fetch": 4},
        ),
        (
            [
                ("ray.fetch", CALLER, 0, 10),
                ("ray.execute", "worker/1", 1, 4),
                ("ray.pull", "worker/2", 1, 8),
            ],
            {"ray.execute": 4, "ray.pull": 4, "ray.fetch": 2},
        ),
        (
            [
                ("dask.wait", CALLER, 0, 10),
                ("dask.execute", "worker/1", 2, 4),
                ("import", "worker/2", 1, 8),
            ],
            {"dask.execute": 4, "import": 4, "dask.wait": 2},
        ),
    ],
    ids=["a parent", "furthest along the road", "work before a wait", "work beside an import"],
)
def test_an_instant_has_the_owner_that_explains_it(
    spans: list[tuple[object, ...]], owned: dict[str, float]
) -> None:
    """A parent owns what its children leave, a wait what no work elsewhere explains."""
    assert self_ms(make_trace(spans)) == owned


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_calls_that_begin_at_once_the_child_or_else_the_shorter_is_inside(
    order: tuple[int, int],
) -> None:
    """The order in which spans were written does not decide."""
    spans = [("ray.store", CALLER, 0, 10), ("gc", CALLER, 0, 4)]

    assert self_ms(make_trace([spans[i] for i in order])) == {"ray.store": 6, "gc": 4}


@pytest.mark.parametrize(("key", "left"), [("dask.prepare", 3), ("ray.store", 10)])
def test_a_collection_in_another_thread_takes_what_it_stops(key: str, left: int) -> None:
    """Not where the caller copies: that needs no interpreter."""
    collection = ("gc", "scheduler", 2, 7, None, -1, {"is_kernel": True})

    assert self_ms(make_trace([(key, CALLER, 0, 10), collection]))[key] == left


def grouped(trace: Trace, *starts_ms: float) -> Trace:
    """Return the trace with groups that begin at the given times."""
    ends = [*starts_ms[1:], trace.wall_ns / MS]
    groups = tuple(
        Group(f"compute {at}", round(start * MS), round(end * MS))
        for at, (start, end) in enumerate(zip(starts_ms, ends, strict=True))
    )
    return replace(trace, groups=groups)


def test_several_computations_have_rows_of_their_own() -> None:
    """A call over the border of two groups is cut there; sizes count where it began."""
    trace = make_trace(
        [
            ("dask.serialize", CALLER, 1, 2, 100),
            ("dask.gather", CALLER, 4, 4, 30),
            ("dask.serialize", CALLER, 9, 1, 200),
        ],
        wall_ms=10,
    )

    waterfall = partition(grouped(trace, 0, 5))

    found = [
        (r.group, r.stage, r.self_ns / MS, r.busy_ns / MS, r.size_bytes, r.count)
        for r in waterfall.rows
    ]
    assert found == [
        *((0, "dask.serialize", 2, 2, 100, 1), (0, "dask.gather", 1, 1, 30, 1)),
        *((1, "dask.serialize", 1, 1, 200, 1), (1, "dask.gather", 3, 3, None, 0)),
    ]
    assert waterfall.unaccounted_ns == 3 * MS


@given(any_traces(), st.lists(st.integers(-5, 45), min_size=1, max_size=4).map(sorted))
def test_groups_change_no_sum(trace: Trace, starts: list[int]) -> None:
    """What a stage owns and how busy it is in all groups together is what it is without them."""
    groups = tuple(Group("", start, start) for start in starts)

    apart, whole = partition(replace(trace, groups=groups)), partition(trace)

    assert apart.unaccounted_ns == whole.unaccounted_ns
    for total in whole.rows:
        rows = [entry for entry in apart.rows if entry.stage == total.stage]
        assert sum(entry.self_ns for entry in rows) == total.self_ns
        assert sum(entry.busy_ns for entry in rows) == total.busy_ns
        assert sum(entry.count for entry in rows) == total.count


@pytest.mark.parametrize("key", STAGES)
def test_every_wait_gives_way_and_work_never(key: str) -> None:
    """A wait yields to work elsewhere, even earlier on the road; work to nobody further along."""
    waits = STAGES[key].waits
    other = "pickle.dumps" if waits else "ray.unpickle"

    trace = make_trace([(key, CALLER, 0, 10), (other, "worker/1", 2, 3)])

    assert self_ms(trace) == ({key: 7, other: 3} if waits else {key: 10})


def test_without_lanes_nothing_is_the_callers() -> None:
    """A document that does not say who called explains nothing, and still adds up."""
    trace = replace(make_trace([("gc", CALLER, 0, 3)]), lanes=())

    assert partition(trace).unaccounted_ns == trace.wall_ns


# What passed through.


#: Spans, and what passed through the first stage: size, copied bytes, faults, calls.
PASSED: dict[str, tuple[list[tuple[object, ...]], tuple[int | None, ...]]] = {
    "the outermost that knows its size speaks, also through other stages": (
        [
            ("ray.unpack", CALLER, 0, 10, 800),
            ("ray.unpickle", CALLER, 1, 8, 500, 0),
            ("ray.unpack", CALLER, 2, 6, 700, 1),
            ("ray.unpack", CALLER, 11, 1, 40),
        ],
        (840, None, None, 3),
    ),
    "one without a size does not hide those inside": (
        [("pickle.loads", CALLER, 0, 10), ("pickle.loads", CALLER, 1, 8, 700, 0)],
        (700, None, None, 1),
    ),
    "copied bytes are counted once where sizes are unknown": (
        [
            ("pickle.loads", CALLER, 0, 10, None, -1, {"copied_bytes": 800}),
            ("pickle.loads", CALLER, 1, 8, None, 0, {"copied_bytes": 700}),
        ],
        (None, 800, None, 1),
    ),
    "each number is of the outermost call that knows it": (
        [
            ("ray.unpack", CALLER, 0, 10, 900),
            ("ray.unpack", CALLER, 1, 8, 900, 0, {"copied_bytes": 700}),
        ],
        (900, 700, None, 1),
    ),
    "what is no whole number is unknown, not 0": (
        [("gc", CALLER, 0, 1, None, -1, {"copied_bytes": True, "minor_faults": "many"})],
        (None, None, None, 1),
    ),
    "two counters of faults that disagree give zero": (
        [
            ("ray.store", CALLER, 0, 10, None, -1, {"minor_faults": 3}),
            ("ray.pickle", CALLER, 2, 6, None, 0, {"minor_faults": 30}),
        ],
        (None, None, 0, 1),
    ),
}


@pytest.mark.parametrize(("spans", "passed"), PASSED.values(), ids=PASSED)
def test_what_passed_through_a_stage_is_counted_once(
    spans: list[tuple[object, ...]], passed: tuple[int | None, ...]
) -> None:
    """Unknown is not zero: a number comes from where it is known."""
    trace = make_trace(spans)

    found = row(trace, trace.spans[0].stage)

    assert (found.size_bytes, found.copied_bytes, found.minor_faults, found.count) == passed


def test_faults_of_calls_inside_are_taken_out() -> None:
    """Counted ones only, through calls that count none; the same stage inside is not doubled."""
    trace = make_trace(
        [
            ("ray.store", CALLER, 0, 10, None, -1, {"minor_faults": 100}),
            ("ray.msgpack", CALLER, 1, 8, None, 0),
            ("ray.pickle", CALLER, 2, 6, None, 1, {"minor_faults": 30}),
            ("ray.store", CALLER, 3, 1, None, 2, {"minor_faults": 10}),
        ]
    )

    faults = {row.stage: row.minor_faults for row in partition(trace).rows}
    assert faults == {"ray.store": 80, "ray.msgpack": None, "ray.pickle": 20}


@given(nested_traces(), st.lists(st.none() | st.integers(0, 9), min_size=42, max_size=42))
def test_sizes_are_those_of_the_outermost_calls_that_know_them(
    trace: Trace, sizes: list[int | None]
) -> None:
    """The same sum comes out if each span asks all those around it."""
    spans = tuple(s._replace(size_bytes=sizes[i]) for i, s in enumerate(trace.spans))

    def around(span: Span) -> Iterator[Span]:
        while span.parent >= 0:
            span = spans[span.parent]
            yield span

    expected: dict[str, int] = {}
    for span in spans:
        known = [a for a in around(span) if a.stage == span.stage and a.size_bytes is not None]
        if span.size_bytes is not None and not known:
            expected[span.stage] = expected.get(span.stage, 0) + span.size_bytes

    rows = partition(replace(trace, spans=spans)).rows

    assert {row.stage: row.size_bytes for row in rows if row.size_bytes is not None} == expected


# Spans that no recorder would write.


@pytest.mark.parametrize("parents", [(0, -1), (1, 0), (1, 1), (7, -1), (-5, -1)])
def test_a_span_inside_itself_or_inside_nothing_does_no_harm(parents: tuple[int, int]) -> None:
    """Circles and parents that do not exist end nowhere; the sums hold."""
    counted = {"minor_faults": 5, "copied_bytes": 2_000_000}
    trace = make_trace(
        [("ray.unpickle", CALLER, 0, 4, 8, parent, counted) for parent in parents], wall_ms=9
    )

    analysed = analyse(trace)

    assert analysed.waterfall is not None
    assert analysed.waterfall.unaccounted_ns == 5 * MS


# Large traces.


class CountedSpans(tuple[Span, ...]):
    """Spans that count how often one of them is looked at."""

    __slots__ = ()
    counts: Counter[str] = Counter()  # noqa: RUF012  (reset by each test that counts)

    def __getitem__(self, index: SupportsIndex | slice) -> Span:  # type: ignore[override]  # counts
        CountedSpans.counts["asked"] += 1
        return cast("Span", super().__getitem__(index))

    def __iter__(self) -> Iterator[Span]:
        for span in super().__iter__():
            CountedSpans.counts["asked"] += 1
            yield span


def lookups(trace: Trace, work: Callable[[Trace], object] = partition) -> int:
    """Return how often a span was looked at."""
    CountedSpans.counts.clear()
    work(replace(trace, spans=CountedSpans(trace.spans)))
    return CountedSpans.counts["asked"]


def nested_chain(count: int) -> Trace:
    """Return calls of which each is inside the one before, every second one of another stage."""
    known, kinds = dict.fromkeys((0, count - 1), details(2_000_000, 1)), ("unpack", "unpickle")
    spans = [
        Span(
            f"ray.{kinds[at % 2]}",
            "deep",
            CALLER,
            at,
            2 * (count - at),
            None,
            at - 1,
            known.get(at),
        )
        for at in range(count)
    ]
    return trace_of(spans, 2 * count)


def repeated_waits(count: int) -> Trace:
    """Return as many waits as tasks on two overlapping workers."""
    waits = [Span("ray.fetch", "get", CALLER, 10 * i, 9) for i in range(count)]
    tasks = [Span("ray.execute", "task", WORKERS[i % 2], 10 * i + 2, 14) for i in range(count)]
    return trace_of(waits + tasks, 10 * count)


def many_marks(count: int) -> Trace:
    """Return as many stages as spans: each mark of the user has its own."""
    spans = [
        Span(f"user:{i}", "mark", CALLER, 10 * i, 8, 1, -1, details(1, 1)) for i in range(count)
    ]
    return trace_of(spans, 10 * count)


@pytest.mark.parametrize("make", [nested_chain, repeated_waits, many_marks])
@pytest.mark.parametrize("work", [partition, analyse])
def test_ten_times_the_spans_cost_ten_times_the_work(
    make: Callable[[int], Trace], work: Callable[[Trace], object]
) -> None:
    """Deep nesting, many waits and many marks grow in proportion, counted, not timed."""
    small, large = make(100), make(1_000)

    ratio = lookups(large, work) / lookups(small, work)

    assert ratio < 12


def test_deep_nesting_has_no_limit() -> None:
    """Calls nested deeper than Python's own stack allows are a trace like any other."""
    trace = nested_chain(5_000)

    waterfall = partition(trace)

    assert sum(row.self_ns for row in waterfall.rows) == trace.wall_ns
    assert [row.minor_faults for row in waterfall.rows] == [0, 1]


def test_the_stage_that_others_are_a_part_of_is_described() -> None:
    """Pictures draw the parts below it, so its title is in the document."""
    trace = analyse(make_trace([("dask.schedule.order", "scheduler", 0, 1)], wall_ms=2))

    assert [entry.key for entry in trace.stages] == ["dask.schedule", "dask.schedule.order"]


def test_all_questions_share_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = Mock(wraps=asked._walked)
    monkeypatch.setattr(asked, "_walked", walked)

    analyse(make_trace([("ray.get", CALLER, 0, 5, 10), ("ray.unpickle", CALLER, 1, 2, 10)]))

    assert walked.call_count == 1
