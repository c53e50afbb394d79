"""Freezing: known delays and sizes that a fake library injects are in the document, exactly."""

import sys
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.capture.freeze import Draft, Page, freeze
from jupyter_serprof.capture.hook import Place, Record
from jupyter_serprof.capture.recorder import Recorder, span
from jupyter_serprof.model import Group, Lane, Table, TableColumn, Trace, from_document, to_document
from jupyter_serprof.probes import Probe
from jupyter_serprof.testing import TickClock

NAME, MAIN = "serprof_frozen", 7
SERIALIZE = Place(f"{NAME}:serialize", "ray.pickle", "serialize")
OUTER = Place(f"{NAME}:outer", "ray.store", "outer")
INNER = Place(f"{NAME}:inner", "pickle.dumps", "inner", {"outer": "ray.pickle"})


def written(*records: Record, start_ns: int = 0, end_ns: int = 1_000, probes: Any = ()) -> Recorder:
    """Return a stopped recorder with these records on its page."""
    made = Recorder(probes, clock=TickClock())
    made.thread, made.start_ns, made.end_ns = MAIN, start_ns, end_ns
    for each in records:
        made.add(each)
    return made


def record(
    place: Place, start_ns: int, end_ns: int, thread: int = MAIN, faults: int | None = None
) -> Record:
    return place, thread, start_ns, end_ns, faults, None, None


def trace_of(recorder: Recorder) -> Trace:
    return freeze(recorder, name="test")


def parents(recorder: Recorder) -> list[tuple[str, int]]:
    return [(entry.name, entry.parent) for entry in trace_of(recorder).spans]


class SlowLibrary:
    """A library whose clock is the test's: each step takes exactly as long as it is told."""

    def __init__(self, clock: TickClock) -> None:
        self.clock = clock

    def put(self, data: bytes) -> bytes:
        """Take 3 ms, of which 2 ms are the pickle inside."""
        self.clock.advance_ms(0.5)
        self.pickle(data)
        self.clock.advance_ms(0.5)
        return data

    def pickle(self, data: bytes) -> bytes:
        self.clock.advance_ms(2)
        return data


class SlowProbe(Probe):
    """Watches the slow library and notes the sizes."""

    name, library = "slow", NAME

    def places(self) -> list[Place]:
        def size(_: object, args: tuple[Any, ...], *__: object) -> int:
            return len(args[1])

        return [
            Place(f"{NAME}:SlowLibrary.put", "ray.store", after=size),
            Place(f"{NAME}:SlowLibrary.pickle", "ray.pickle", after=size),
        ]

    def refine(self, run: Page) -> None:
        for draft in run.drafts:
            draft.size_bytes, draft.extra = draft.extra, None


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowLibrary:
    """The slow library as a module that can be watched."""
    module = types.ModuleType(NAME)
    module.__spec__ = types.SimpleNamespace(_initializing=False)  # type: ignore[assignment]
    vars(module)["SlowLibrary"] = SlowLibrary
    monkeypatch.setitem(sys.modules, NAME, module)
    return SlowLibrary(TickClock())


def test_injected_delays_and_sizes_are_found_exactly(slow: SlowLibrary) -> None:
    """Ground truth: 2 ms of pickle inside 3 ms of store, 1,234 bytes, after 1 ms of own code."""
    recorder = Recorder([SlowProbe()], clock=slow.clock)
    recorder.start()
    slow.clock.advance_ms(1)
    slow.put(bytes(1_234))
    recorder.stop()

    trace = freeze(recorder, name="known")
    assert trace.wall_ns == 4_000_000
    assert [(e.stage, e.start_ns, e.duration_ns, e.size_bytes, e.parent) for e in trace.spans] == [
        ("ray.store", 1_000_000, 3_000_000, 1_234, -1),
        ("ray.pickle", 1_500_000, 2_000_000, 1_234, 0),
    ]


def test_a_frozen_trace_is_a_document(slow: SlowLibrary) -> None:
    recorder = Recorder([SlowProbe()], clock=slow.clock)
    recorder.start()
    slow.put(b"x")
    recorder.stop()
    trace = freeze(recorder, name="known", outcome="interrupted")

    read = from_document(to_document(trace))

    assert (read.name, read.outcome) == ("known", "interrupted")  # type: ignore[union-attr]
    assert read.spans == trace.spans  # type: ignore[union-attr]


def test_calls_before_and_after_the_recording_are_left_out() -> None:
    """What lies outside is not in the picture; what reaches into it is."""
    recorder = written(
        record(OUTER, 0, 99),
        record(INNER, 50, 150),
        record(OUTER, 201, 300),
        start_ns=100,
        end_ns=200,
    )

    assert [(e.name, e.start_ns) for e in trace_of(recorder).spans] == [("inner", -50)]


def test_a_call_at_the_end_of_another_is_not_inside_it() -> None:
    """A clock that did not move between two calls does not make one the child of the other."""
    first, second = record(OUTER, 0, 10), record(INNER, 10, 10)

    assert parents(written(first, second)) == [("outer", -1), ("inner", -1)]
    assert [e.stage for e in trace_of(written(first, second)).spans][1] == "pickle.dumps"


def test_equal_intervals_nest_as_they_were_called() -> None:
    """A call is written down when it ends: of two equal intervals the later one is outside."""
    assert parents(written(record(INNER, 5, 9), record(OUTER, 5, 9))) == [
        ("outer", -1),
        ("inner", 0),
    ]


def test_calls_that_overlap_without_nesting_are_neighbours() -> None:
    """Marks in two tasks of one thread may overlap; neither contains the other."""
    recorder = written(record(OUTER, 0, 10), record(INNER, 5, 15))

    assert parents(recorder) == [("outer", -1), ("inner", -1)]


def test_a_stage_depends_on_what_the_call_was_made_inside_of() -> None:
    """One pickle is `Pickle` alone and `Pickle by Ray` in Ray; the nearest known role decides."""
    alone, inside = record(INNER, 0, 5), record(INNER, 12, 15)
    between = record(SERIALIZE, 11, 16)

    recorder = written(alone, inside, between, record(OUTER, 10, 20))

    stages = [entry.stage for entry in trace_of(recorder).spans]
    assert stages == ["pickle.dumps", "ray.store", "ray.pickle", "ray.pickle"]


def test_page_faults_and_exceptions_are_details() -> None:
    failed: Record = (OUTER, MAIN, 20, 30, None, None, "ValueError")

    details = [e.details for e in trace_of(written(record(INNER, 0, 9, faults=3), failed)).spans]

    assert details == [{"minor_faults": 3}, {"error": "ValueError"}]


def test_every_thread_and_task_has_a_lane_in_order_of_appearance() -> None:
    """Idents of threads are positive, those of asyncio's tasks negative; main is always there."""
    recorder = written(record(OUTER, 0, 1, 11), record(OUTER, 2, 3, -5), record(INNER, 2, 3, 11))

    trace = trace_of(recorder)

    assert [lane.key for lane in trace.lanes] == ["client/main", "client/thread 1", "client/task 2"]
    assert [entry.lane for entry in trace.spans] == [
        "client/thread 1",
        "client/thread 1",
        "client/task 2",
    ]


class Refining(Probe):
    """A probe that does to the drafts what it is told."""

    name, library = "refining", "sys"

    def __init__(self, action: Any) -> None:
        super().__init__()
        self.refine = action  # type: ignore[method-assign]


def drop_outer(run: Page) -> None:
    for draft in run.drafts:
        draft.is_dropped = draft.name == "outer"


def test_the_children_of_a_dropped_span_go_to_its_parent() -> None:
    """A probe may drop a span in the middle; the tree stays a tree."""
    page = (record(INNER, 4, 5), record(OUTER, 3, 6), record(SERIALIZE, 2, 7))

    recorder = written(*page, probes=[Refining(drop_outer)])

    assert parents(recorder) == [("serialize", -1), ("inner", 0)]


def test_a_probe_may_add_spans_of_other_processes() -> None:
    """A worker's task lies on a lane of its own, which only appears if something is on it."""

    def add(run: Page) -> None:
        run.lanes["worker 1"] = Lane("worker 1", "worker", 1)
        run.lanes["worker 2"] = Lane("worker 2", "worker", 2)
        run.drafts.append(Draft("ray.execute", "task", "worker 1", 20, 30))

    trace = trace_of(written(record(OUTER, 0, 50), probes=[Refining(add)]))

    assert [lane.key for lane in trace.lanes] == ["client/main", "worker 1"]
    assert trace.spans[1].lane == "worker 1"


def test_a_probe_that_fails_to_refine_loses_nothing() -> None:
    """The spans stay, the other probes still refine, and ``quality`` says what is missing."""

    def fail(run: Page) -> None:
        run.drafts[0].size_bytes = 5
        raise KeyError(run)

    recorder = written(
        record(INNER, 0, 5), record(OUTER, 6, 8), probes=[Refining(fail), Refining(drop_outer)]
    )

    trace = trace_of(recorder)
    assert [(entry.name, entry.size_bytes) for entry in trace.spans] == [("inner", 5)]
    assert len(trace.quality.notes) == 1
    assert "KeyError in fail" in trace.quality.notes[0]


def test_freezing_again_gives_the_same_trace() -> None:
    """Freezing reads the page and does not change it."""
    recorder = written(record(INNER, 1, 2), record(OUTER, 0, 5), probes=[Refining(drop_outer)])

    assert trace_of(recorder).spans == trace_of(recorder).spans
    assert len(recorder.page) == 2


def test_a_call_that_held_the_interpreter_is_told_once() -> None:
    recorder = written()
    recorder.stood, recorder.held = ("one call held the interpreter for 3 s", 1_000), (3.5, "")

    stopped = freeze(recorder, name="test", outcome="interrupted")

    assert stopped.quality.notes == ("one call held the interpreter for 3.5 s or more",)


def test_quality_says_what_watching_costs() -> None:
    """The cost of one call on this machine is whole ns; a clock of another one knows none."""
    recorder = Recorder([])
    recorder.start()
    with span("mine"):
        pass
    recorder.stop()

    assert isinstance(trace_of(recorder).quality.span_cost_ns, int)
    assert trace_of(written(record(INNER, 1, 2))).quality.span_cost_ns is None


calls: st.SearchStrategy[list[Any]] = st.recursive(
    st.just([]), lambda inner: st.lists(st.tuples(st.integers(0, 3), inner), max_size=3)
)


@given(calls, st.integers(0, 2))
def test_any_tree_of_calls_comes_back_as_it_was(tree: list[Any], tick_ns: int) -> None:
    """Property: whatever calls whatever, with any clock, the parents are those of the calls."""
    recorder = Recorder([], clock=TickClock(tick_ns))
    recorder.start()
    expected: list[tuple[str, str]] = []

    def run(children: list[Any], name: str) -> None:
        for position, (duration_ns, inner) in enumerate(children):
            mine = f"{name}.{position}"
            expected.append((mine, name))
            with span(mine):
                recorder.now.advance_ns(duration_ns)  # type: ignore[attr-defined]
                run(inner, mine)
                recorder.now.advance_ns(1)  # type: ignore[attr-defined]

    run(tree, "root")
    recorder.stop()

    spans = trace_of(recorder).spans
    found = [(e.name, spans[e.parent].name if e.parent >= 0 else "root") for e in spans]
    assert sorted(found) == sorted(expected)


def test_groups_and_tables_of_a_probe_come_into_the_trace() -> None:
    """Groups are in order and count from the start of the run."""
    table = Table("dask.tasks", "Tasks", (TableColumn("prefix", "Prefix"),), (("sum",),))

    def add(run: Page) -> None:
        run.groups += [Group("second", 1_300, 1_500), Group("first", 1_000, 1_300)]
        run.tables.append(table)

    trace = trace_of(written(start_ns=1_000, end_ns=2_000, probes=[Refining(add)]))

    assert trace.groups == (Group("first", 0, 300), Group("second", 300, 500))
    assert trace.tables == (table,)
