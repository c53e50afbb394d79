"""Dask in this process: what comes before every scheduler, and the tasks of threads and processes.

Known delays are put in and asked back; results, keys and exceptions stay what they are.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any
from unittest.mock import Mock

import cloudpickle
import pytest
from threads import in_threads

from clusters import seen
from clusters.seen import attempts, column, has_row, row, self_ns, spans, without
from jupyter_serprof.analysis.spans import count_calls
from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import ProbeReport, Trace, from_document, to_document
from jupyter_serprof.probes.dask.agent.totals import ran_ns
from jupyter_serprof.probes.dask.cluster import Station
from jupyter_serprof.probes.dask.local import lanes as dask_local_lanes
from jupyter_serprof.probes.dask.local.columns import CallColumns, Log
from jupyter_serprof.probes.dask.local.lanes import GETS, MATERIALIZE, complete_steps, wires
from jupyter_serprof.probes.dask.local.probe import DaskLocalProbe
from jupyter_serprof.probes.dask.local.process_clock import TaskClock
from jupyter_serprof.probes.dask.local.processes import Roads
from jupyter_serprof.probes.dask.local.threads import tell_ready
from jupyter_serprof.probes.dask.tasks import _tell_ready
from jupyter_serprof.probes.interpreter import InterpreterProbe
from jupyter_serprof.testing import ProbeContract

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

_MS, DELAY_S = 1_000_000, 0.2
SCHEDULERS = ("threads", "synchronous", "processes")


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let collections choose their own scheduler, also where a client of a cluster is alive."""
    if "distributed" in sys.modules:
        monkeypatch.setattr("distributed.get_client", Mock(side_effect=ValueError))
    with dask.config.set(scheduler=None):
        yield


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Two processes that have paid for their imports."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as made:
        seen: set[int] = set()
        while len(seen) < 2:  # one may be up long before the other
            tasks = [dask.delayed(sleep_and_tell)() for _ in range(4)]
            seen |= set(dask.compute(*tasks, **_by("processes", made)))
        yield made


def sleep_and_tell() -> int:
    """Leave the other process time to take a task, too."""
    time.sleep(0.1)
    return os.getpid()


def _by(scheduler: str, pool: ProcessPoolExecutor) -> dict[str, Any]:
    if scheduler == "processes":
        return {"scheduler": scheduler, "pool": pool, "chunksize": 1}
    return {"scheduler": scheduler}


def watched(
    function: Callable[[], Any], probe: DaskLocalProbe | None = None
) -> tuple[Any, Trace, ProbeReport]:
    result, trace = seen.watched(function, probe or DaskLocalProbe(), InterpreterProbe())
    return result, trace, trace.quality.probes[0]


def is_delay(once: Callable[[], Sequence[int]]) -> bool:
    """Tell whether one of a few recordings finds all of the delay, and 5 % more at most."""
    # A machine with more work than cores makes sleeps longer, never shorter; but of a sleep
    # elsewhere the caller owns only what it waits for, and it may be late for its wait.
    least_ns, most_ns = DELAY_S * 1e9 * 0.999, DELAY_S * 1e9 * 1.05
    return any(all(least_ns <= found <= most_ns for found in once()) for _ in range(8))


def increment(value: int) -> int:
    return value + 1


def wait_and_return(value: int) -> int:
    time.sleep(DELAY_S)
    return value


def divide(value: int) -> float:
    return 1 / value


class SlowToPickle:
    """Takes a while on its way out."""

    def __reduce__(self) -> tuple[Any, ...]:
        time.sleep(DELAY_S)
        return int, (1,)


class SlowToUnpickle:
    """Takes a while on its way in."""

    def __reduce__(self) -> tuple[Any, ...]:
        return wait_and_return, (1,)


class TestDaskLocal(ProbeContract):
    """What every probe promises, with a graph that is run synchronously."""

    probe = DaskLocalProbe

    def call(self) -> object:
        return dask.delayed(increment)(1).compute(scheduler="synchronous")

    def failing_call(self) -> object:
        return dask.delayed(divide)(0).compute(scheduler="synchronous")


# Stages


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_step_of_a_computation_is_a_stage(scheduler: str, pool: ProcessPoolExecutor) -> None:
    """From finding the collections to the result, with each scheduler of this machine."""
    x = da.ones((40, 40), chunks=(10, 10))

    result, trace, report = watched(lambda: (x + x.T).sum().compute(**_by(scheduler, pool)))

    assert result == 3200
    assert report.level == "tasks"
    assert report.unseen == ()
    for key in ("prepare", "optimize", "materialize", "schedule", "schedule.order"):
        assert self_ns(trace, f"dask.{key}") > 0
    assert self_ns(trace, "dask.schedule.state") > 0
    assert row(trace, "dask.execute").busy_ns > 0
    assert trace.waterfall is not None
    # What is left is the time around compute: this test builds its graph in the block.
    (compute,) = [span for span in spans(trace, "dask.prepare", "compute") if span.parent == -1]
    steps = [span for span in trace.spans if span.stage.startswith("dask.")]
    assert compute.end_ns == max(span.end_ns for span in steps)
    around_ns = compute.start_ns + trace.wall_ns - compute.end_ns
    assert 0 < trace.waterfall.unaccounted_ns <= around_ns
    assert from_document(to_document(trace)) == trace


@pytest.mark.parametrize("kind", ["persist", *SCHEDULERS])
def test_tasks_are_counted_exactly_and_named_by_their_prefix(
    kind: str, pool: ProcessPoolExecutor
) -> None:
    """The table has what Dask's own callbacks count."""
    keys: list[object] = []
    total = (da.ones((40,), chunks=10) + 1).sum()

    def compute() -> Any:
        if kind == "persist":
            return total.persist(scheduler="threads")
        return total.compute(**_by(kind, pool))

    with dask.callbacks.Callback(posttask=lambda key, *_: keys.append(key)):
        _, trace, _ = watched(compute)

    assert sum(column(trace, "dask.tasks", "count")) == len(keys) > 4
    assert column(trace, "dask.computations", "tasks") == [len(keys)]
    assert column(trace, "dask.computations", "kind") == [
        "persist" if kind == "persist" else "compute"
    ]
    assert column(trace, "dask.computations", "computation") == ["sum-aggregate"]
    prefixes = column(trace, "dask.tasks", "prefix")
    assert kind == "persist" or "finalize-hlgfinalizecompute" in prefixes
    assert all(not any(map(str.isdigit, prefix)) for prefix in prefixes)


def test_threads_have_lanes_as_workers_without_names() -> None:
    """Tasks lie on lanes of worker threads, with what else those threads did."""
    meet = threading.Barrier(2)

    def wait_together() -> None:
        meet.wait(60)
        time.sleep(DELAY_S)

    tasks = [dask.delayed(wait_together)() for _ in range(2)]

    with ThreadPoolExecutor(2) as threads:
        _, trace, _ = watched(lambda: dask.compute(*tasks, pool=threads))

    lanes = {lane.key: lane.kind for lane in trace.lanes}
    assert lanes["worker 1/thread 1"] == lanes["worker 1/thread 2"] == "worker"
    one, other = spans(trace, "dask.execute")
    assert {one.lane, other.lane} == {"worker 1/thread 1", "worker 1/thread 2"}
    # Both sleep at the same time: the caller's wait has one owner, the work is twice that.
    together_ns = min(one.end_ns, other.end_ns) - max(one.start_ns, other.start_ns)
    from_first_to_last_ns = max(one.end_ns, other.end_ns) - min(one.start_ns, other.start_ns)
    assert together_ns >= 0.999 * DELAY_S * 1e9
    assert row(trace, "dask.execute").busy_ns >= 2 * 0.999 * DELAY_S * 1e9
    assert 0 < row(trace, "dask.execute").self_ns <= from_first_to_last_ns


def count(seconds: float) -> int:
    """Run pure Python for so long, as measured on this thread's own clock."""
    end = time.thread_time() + seconds
    return sum(1 for _ in iter(lambda: min(time.thread_time(), end), end))


@pytest.mark.skipif(not ran_ns(), reason="this system does not tell who waits for a core")
@pytest.mark.parametrize(("work", "is_held"), [(count, True), (time.sleep, False)])
def test_threads_that_hold_the_interpreter_take_turns(work: Any, is_held: bool) -> None:
    """Pure Python runs one at a time; who sleeps needs neither the interpreter nor a core."""
    calls = [dask.delayed(work)(0.05) for _ in range(12)]

    traces = attempts(lambda: dask.compute(*calls, scheduler="threads", num_workers=2), 8)

    # On a machine that is busy with others both threads wait for a core: nothing is said then.
    told = ("dask.gil" in {found.rule for found in trace.findings} for trace in traces)
    assert any(told) is is_held


@pytest.mark.parametrize(("ran", "waited", "told"), [(90, 10, {"ready_ns": 100}), (2, 98, {})])
def test_a_machine_that_is_busy_with_others_tells_nothing(
    ran: int, waited: int, told: dict[str, int]
) -> None:
    """Who sleeps waits for a core there each time, as long as two that take turns would run."""
    draft = Mock(role="run", extra={1: (ran, waited), 2: (0, 0)}, details={})

    tell_ready([draft], "run", [1, 2])

    assert draft.details == told


@pytest.mark.parametrize(("known", "told"), [({1: (20, 0)}, {"ready_ns": 100}), ({}, {})])
def test_what_threads_of_workers_ran_is_told_if_each_worker_tells_it(
    known: dict[int, tuple[int, int]], told: dict[str, int]
) -> None:
    """Each process has threads of its own; those of event loops run no tasks."""
    lanes = [["scheduler", "loop"], ["a", 1], ["a", 2], ["b", 1], ["b", "comm"]]
    reports = {"a": {"ran": {1: (30, 5), 2: (40, 5), 3: (9, 9)}}, "b": {"ran": known}}
    stations = {address: Station(report=report) for address, report in reports.items()}
    graph = Mock(details={})
    graph.name = "update_graph"

    _tell_ready(
        Mock(cluster=Mock(workers=stations), report={"lanes": lanes}, run=Mock(drafts=[graph]))
    )

    assert graph.details == told


def test_synchronous_tasks_are_the_callers_own_work() -> None:
    x = da.ones((40,), chunks=10)

    _, trace, _ = watched(lambda: x.sum().compute(scheduler="synchronous"))

    assert {span.lane for span in spans(trace, "dask.execute")} == {"client/main"}
    parents = {trace.spans[span.parent].name for span in spans(trace, "dask.execute")}
    assert parents == {"get_async"}


def test_an_expression_is_optimized_on_the_client() -> None:
    """Data frames: the outermost optimize is the span, whatever it optimizes inside."""
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = dataframe.from_pandas(pandas.DataFrame({"a": range(40), "b": [1, 2] * 20}), 4)

    _, trace, _ = watched(lambda: frame.groupby("b").a.sum().compute(scheduler="synchronous"))

    found = [span for span in spans(trace, "dask.optimize") if span.lane == "client/main"]
    nested = [span for span in found if trace.spans[span.parent].stage == "dask.optimize"]
    assert self_ns(trace, "dask.optimize") > 0
    assert not [span for span in nested if span.parent >= 0]
    assert column(trace, "dask.computations", "tasks")[0] >= 4


# Ground truth


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_slow_task_is_execution(scheduler: str, pool: ProcessPoolExecutor) -> None:
    """200 ms in a task are 200 ms of Execution, and the caller's wait for it is not counted."""
    task = dask.delayed(wait_and_return)(1)

    def once() -> tuple[int, int]:
        _, trace, _ = watched(lambda: task.compute(**_by(scheduler, pool)))
        found = row(trace, "dask.execute")
        assert found.busy_ns >= DELAY_S * 1e9 * 0.999
        return found.busy_ns, found.self_ns

    assert is_delay(once)


def test_a_slow_low_level_optimization_is_optimization(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fusion and culling of arrays run when the graph is built, inside the scheduler's call."""
    original = da.Array.__dask_optimize__

    def slow(dsk: Any, keys: Any, **kwargs: Any) -> Any:
        time.sleep(DELAY_S)
        return original(dsk, keys, **kwargs)

    monkeypatch.setattr(da.Array, "__dask_optimize__", staticmethod(slow))
    x = da.ones((10,), chunks=10)

    def once() -> tuple[int]:
        _, trace, _ = watched(lambda: (x + 1).compute(scheduler="synchronous"))
        found = row(trace, "dask.optimize")  # the caller's own: no collection of another thread
        return (found.self_ns,) if found.busy_ns >= DELAY_S * 1e9 * 0.999 else (0,)

    assert is_delay(once)


@pytest.mark.parametrize(
    ("task", "stage"),
    [
        (dask.delayed(str)(SlowToPickle()), "dask.dispatch.encode"),
        (dask.delayed(str)(SlowToUnpickle()), "dask.dispatch.decode"),
        (dask.delayed(SlowToPickle)(), "dask.gather"),
        (dask.delayed(SlowToUnpickle)(), "dask.gather"),
    ],
)
def test_slow_pickling_between_processes_has_its_side(
    task: Any, stage: str, pool: ProcessPoolExecutor
) -> None:
    """Out of here, into a worker, out of a worker, and in again: the stage and the lane tell."""

    def once() -> tuple[int, int]:
        _, trace, _ = watched(lambda: task.compute(**_by("processes", pool)))
        return self_ns(trace, stage), row(trace, stage).busy_ns

    assert is_delay(once)


# Processes


def test_processes_tell_bytes_both_ways_and_their_own_times(pool: ProcessPoolExecutor) -> None:
    """What left for workers, what came back, and decoding, execution and encoding on each."""
    x = da.ones((200, 200), chunks=(100, 100))

    _, trace, _ = watched(lambda: (x + 1).compute(**_by("processes", pool)))

    workers = {lane.key for lane in trace.lanes if lane.key.endswith("/thread 1")}
    for key in ("dask.dispatch.decode", "dask.execute"):
        assert {span.lane for span in spans(trace, key)} <= workers
    sent = column(trace, "dask.computations", "dispatched_bytes")[0]
    assert sent == row(trace, "dask.dispatch.encode").size_bytes
    assert sent > 4 * 80_000  # the last task gets the four blocks
    assert (row(trace, "dask.gather").size_bytes or 0) > 4 * 80_000


def test_a_result_with_times_behind_it_is_the_same_result() -> None:
    clock = TaskClock()
    task, given = dask.delayed(increment)(1), [1, "two", {3: 4.0}]
    value, _ = clock.loads(cloudpickle.dumps((task, {})))

    data = clock.dumps((given, 7))

    assert value.key == task.key
    assert cloudpickle.loads(data) == (given, 7)
    assert data.startswith(cloudpickle.dumps((given, 7)))


def test_callbacks_see_what_they_saw_before(pool: ProcessPoolExecutor) -> None:
    """Keys and worker numbers are Dask's own, with and without a recording."""
    seen: list[list[Any]] = [[], []]
    task = dask.delayed(increment)(1)

    def run(at: int) -> Any:
        with dask.callbacks.Callback(
            posttask=lambda key, _r, _d, _s, ident: seen[at].append((key, type(ident)))
        ):
            return task.compute(**_by("processes", pool))

    bare = run(0)
    result, _, _ = watched(lambda: run(1))

    assert result == bare == 2
    assert seen[0] == seen[1]
    assert seen[0][0][1] is int


def test_functions_of_the_user_that_pickle_are_left_alone(pool: ProcessPoolExecutor) -> None:
    """Who gives others is served by them; then their time is the scheduler's."""
    task = dask.delayed(increment)(1)

    result, trace, _ = watched(
        lambda: task.compute(**_by("processes", pool), func_dumps=cloudpickle.dumps)
    )

    assert result == 2
    assert not has_row(trace, "dask.dispatch.encode")


def test_processes_of_another_kind_of_pool_are_said_to_be_unseen() -> None:
    """They may be on other machines, where our clock has no business."""
    task = dask.delayed(increment)(1)

    with get_context("spawn").Pool(1) as other:
        result, trace, report = watched(lambda: task.compute(scheduler="processes", pool=other))

    assert result == 2
    assert "not Python's own" in " ".join(report.unseen)
    assert has_row(trace, "dask.dispatch.encode")
    assert not has_row(trace, "dask.execute")


def test_the_start_and_the_end_of_worker_processes_have_names() -> None:
    """A pool for one computation: its workers import Dask first, and are waited for last."""
    task = dask.delayed(increment)(1)

    result, trace, _ = watched(lambda: task.compute(scheduler="processes", num_workers=1))

    assert result == 2
    (start,) = spans(trace, "import", "start of a worker")
    (first, *_) = spans(trace, "dask.dispatch.decode")
    assert start.lane == first.lane
    assert start.end_ns == first.start_ns
    assert spans(trace, "dask.wait", "shutdown")


# Several computations, many tasks, errors


def test_computations_of_one_run_are_groups_and_repeated_tasks_are_counted() -> None:
    """The second one computes again what the first one had: as many keys as callbacks see twice."""
    x = da.ones((40,), chunks=10) + 1
    keys: list[set[object]] = []

    def compute_all() -> None:
        for each in (x.sum(), x.sum(), x.max()):
            keys.append(set())
            with dask.callbacks.Callback(posttask=lambda key, *_: keys[-1].add(key)):
                each.compute(scheduler="synchronous")

    _, trace, _ = watched(compute_all)

    assert [group.title for group in trace.groups] == [
        "1: compute sum-aggregate",
        "2: compute sum-aggregate",
        "3: compute max-aggregate",
    ]
    assert column(trace, "dask.computations", "tasks") == [len(each) for each in keys]
    again = [0, len(keys[1] & keys[0]), len(keys[2] & (keys[0] | keys[1]))]
    assert column(trace, "dask.computations", "repeated_tasks") == again
    assert again[1] >= 4


def test_computations_at_the_same_time_are_one_group_whose_tasks_are_nobodys() -> None:
    """Two threads compute: what ran then is not counted to the one that began last."""
    meet = threading.Barrier(2)

    def compute() -> None:
        dask.delayed(meet.wait)(60).compute(scheduler="synchronous")

    def both() -> None:
        in_threads([compute] * 2)
        dask.delayed(abs)(-1).compute(scheduler="synchronous")

    _, trace, _ = watched(both)

    assert column(trace, "dask.computations", "tasks") == [None, None, 1]
    assert [group.title for group in trace.groups] == [
        "1: compute wait and 1 more",
        "2: compute abs",
    ]


def test_many_tasks_are_drawn_as_few_spans_with_exact_totals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Above the limit tasks of one name and lane are one span, as long as they are together."""
    monkeypatch.setattr(dask_local_lanes, "MOST_SPANS", 50)
    x = da.ones((400,), chunks=1)

    _, trace, _ = watched(lambda: (x + 1).sum().compute(scheduler="threads"))

    tasks = [span for span in trace.spans if span.lane.startswith("worker")]
    shown = [span for span in tasks if span.stage in {"dask.execute", "dask.gather"}]
    assert len(shown) <= 50
    assert count_calls(shown) == sum(column(trace, "dask.tasks", "count")) > 400
    lengths = sum(span.duration_ns for span in shown)
    assert lengths == sum(column(trace, "dask.tasks", "compute_total"))
    assert any("totals are exact" in note for note in trace.quality.notes)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_an_error_of_a_task_passes_through_and_is_counted(
    scheduler: str, pool: ProcessPoolExecutor
) -> None:
    """The user's own exception, a partial document, and the prefix that raised."""
    task = dask.delayed(divide)(0)

    error, trace, _ = watched(lambda: task.compute(**_by(scheduler, pool)))

    assert isinstance(error, ZeroDivisionError)
    errors = column(trace, "dask.tasks", "errors")
    named = dict(zip(column(trace, "dask.tasks", "prefix"), errors, strict=True))
    assert named == {"divide": 1}


def test_a_computation_in_another_thread_has_that_threads_lane() -> None:
    """And its tasks the lanes of workers, as those of the main thread."""
    x = da.ones((40,), chunks=10)

    def cell() -> Any:
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(lambda: x.sum().compute(scheduler="threads")).result()

    result, trace, _ = watched(cell)

    assert result == 40
    callers = {span.lane for span in spans(trace, "dask.schedule", "get_async")}
    assert len(callers) == 1
    assert callers.pop().startswith("client/")
    assert {span.lane.partition("/")[0] for span in spans(trace, "dask.execute")} == {"worker 1"}


def test_a_computation_inside_a_task_is_not_another_one() -> None:
    """A task that computes: its tasks are counted, the user asked once."""

    def inner() -> Any:
        return da.ones((20,), chunks=10).sum().compute(scheduler="synchronous")

    result, trace, _ = watched(lambda: dask.delayed(inner)().compute(scheduler="synchronous"))

    assert result == 20
    assert column(trace, "dask.computations", "kind") == ["compute"]
    assert trace.groups == ()


def test_nothing_is_claimed_of_a_scheduler_that_was_not_seen() -> None:
    """A scheduler of the user: its time is not called finding collections."""

    def mine(dsk: Any, keys: Any, **kwargs: Any) -> Any:
        time.sleep(DELAY_S)
        return dask.get(dsk, keys) if kwargs else [1]

    task = dask.delayed(increment)(1)

    result, trace, _ = watched(lambda: task.compute(scheduler=mine))

    assert result == 1
    assert self_ns(trace, "dask.prepare") < 0.5 * DELAY_S * 1e9
    assert trace.waterfall is not None
    assert trace.waterfall.unaccounted_ns >= DELAY_S * 1e9


def test_recordings_in_recordings_both_see_the_tasks(pool: ProcessPoolExecutor) -> None:
    """Each has its own columns; workers write their times once."""
    x = da.ones((40,), chunks=10)
    inner: list[Trace] = []

    def cell() -> None:
        _, trace, _ = watched(lambda: x.sum().compute(**_by("processes", pool)))
        inner.append(trace)
        x.sum().compute(scheduler="threads")

    _, outer, _ = watched(cell)

    once = sum(column(inner[0], "dask.tasks", "count"))
    assert sum(column(outer, "dask.tasks", "count")) == 2 * once


# The ladder


@pytest.mark.parametrize(
    ("gone", "level", "lost", "left"),
    [
        ((":execute_task",), "steps", "dask.execute", "dask.schedule.order"),
        ((":queue_get",), "tasks", "dask.wait", "dask.execute"),
        ((":order",), "tasks", "dask.schedule.order", "dask.execute"),
        ((":start_state_from_dask",), "tasks", "dask.schedule.state", "dask.execute"),
        (("optimize", "optimize_until", "dsk.func"), "tasks", "dask.optimize", "dask.execute"),
        (("__dask_graph__", "legacy_graph"), "tasks", "dask.materialize", "dask.execute"),
        ((":get_async",), "client", "dask.schedule", "dask.optimize"),
        ((":compute", ":persist", "collections", "to_expr", "scheduler"), "tasks", "", ""),
    ],
)
def test_a_missing_name_takes_its_part_away_and_no_more(
    gone: tuple[str, ...], level: str, lost: str, left: str
) -> None:
    """The others still work, and the document says which rung was reached and what is missing."""
    x = da.ones((40,), chunks=10)

    with ThreadPoolExecutor(1) as threads:
        result, trace, report = watched(
            lambda: (x + wait_and_return(1)).sum().compute(scheduler="threads", pool=threads),
            without(DaskLocalProbe, *gone),
        )

    assert result == 80
    assert report.level == level
    assert any("_gone (not in this version)" in phrase for phrase in report.unseen)
    assert not has_row(trace, lost)
    assert not left or has_row(trace, left)
    assert armed_places() == []


def test_collections_of_other_libraries_are_named_by_their_type() -> None:
    """Nothing is asked of them that might be work, or might build another graph."""
    asked: list[str] = []

    class Weather:
        """A collection as other libraries have them."""

        def __dask_graph__(self) -> Any:
            asked.append("graph")
            return {"rain": (increment, 1)}

        def __dask_keys__(self) -> list[str]:
            return ["rain"]

        def __dask_postcompute__(self) -> Any:
            return (lambda results: results[0]), ()

        def __dask_tokenize__(self) -> str:
            return "rain"

        __dask_scheduler__ = staticmethod(dask.get)
        __dask_optimize__ = None

        @property
        def name(self) -> str:
            asked.append("name")
            return "rain"

    bare = dask.compute(Weather())
    before = list(asked)
    asked.clear()

    result, trace, _ = watched(lambda: dask.compute(Weather()))

    assert result == bare == (2,)
    assert asked == before
    assert column(trace, "dask.computations", "computation") == ["Weather"]


def test_steps_of_a_cluster_in_this_process_are_left_to_its_agent() -> None:
    """A scheduler in a thread of this process materializes graphs, too: it is told once."""
    pytest.importorskip("distributed")

    own = Draft("dask.schedule", "get_async", "client/main", 0, 100, GETS[0])
    mine = Draft("dask.materialize", "a", "client/main", 10, 20, MATERIALIZE, own)
    in_thread = Draft("dask.schedule", "get_async", "client/thread 2", 0, 100, GETS[0])
    also_mine = Draft("dask.materialize", "b", "client/thread 2", 10, 20, MATERIALIZE, in_thread)
    schedulers = Draft("dask.materialize", "c", "client/thread 1", 10, 20, MATERIALIZE)
    drafts = [own, mine, in_thread, also_mine, schedulers]

    complete_steps(Page(0, 100, 0, drafts, {}))

    assert [draft.name for draft in drafts if draft.is_dropped] == ["c"]


def test_the_road_between_processes_is_named_and_lies_outside_their_work() -> None:
    """Two tasks in one batch: on their way once, back once; nothing between them."""
    ms = _MS
    recorder = Recorder([])
    roads = Roads(Log(recorder), Log(recorder), {1: CallColumns()}, {}, {1: CallColumns()})
    for key, encoded, begin, done, gathered in (("a", 1, 5, 8, 14), ("b", 2, 8, 11, 15)):
        roads.encode.track(0).add((encoded - 1) * ms, encoded * ms, key, 10)
        roads.decode[1].add(begin * ms, (begin + 1) * ms, key)
        roads.outputs[1].add((done - 1) * ms, done * ms, key)
        roads.gather.track(0).add(gathered * ms, (gathered + 1) * ms, key, 10)

    found = {stage: columns.rows() for stage, columns in wires(roads, 1, is_new=False)}
    new = {stage: len(columns) for stage, columns in wires(roads, 1, is_new=True)}

    times = {stage: [(r.start // ms, r.end // ms) for r in rows] for stage, rows in found.items()}
    assert times == {"dask.dispatch.wire": [(1, 5)], "dask.gather": [(11, 15)]}
    assert new == {"dask.dispatch.wire": 0, "dask.gather": 1}
