"""Dask's distributed client on a real cluster of processes: where the time went, and no trace."""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call, attr-defined"

import gc
import operator
import sys
import time
from typing import Any
from uuid import UUID

import cloudpickle
import dask
import dask.array as da
import distributed.scheduler as module
import numpy as np
import pytest
from distributed import Client, wait
from distributed.protocol import pickle

from clusters import seen
from jupyter_serprof.analysis.spans import number
from jupyter_serprof.api import record
from jupyter_serprof.model import Trace
from jupyter_serprof.probes.dask.cluster import load_agent

pytestmark = pytest.mark.usefixtures("dask_client")

MS, DELAY_S = 1_000_000, 0.2
DELAY_NS = 200 * MS
#: 5 % of the delay, for the best of several recordings: a busy machine oversleeps.
SLACK_NS = 10 * MS
#: Where the test's object counts how often this process pickled it: its class travels by value.
COUNT = "_serprof_test_count"


def by_name(trace: Trace, key: str, name: str) -> dict[Any, Any]:
    """Return one column of a table by the first one."""
    names = (line[0] for line in seen.table(trace, key).rows)
    return dict(zip(names, seen.column(trace, key, name), strict=True))


def test_every_stage_of_a_computation_is_seen() -> None:
    """From serialization on the client over scheduler and workers to the gather, sizes included."""
    total, trace = seen.recorded(seen.array_sum)

    assert total == 500 * 500 * 2
    for stage in (
        *("dask.submit", "dask.serialize", "dask.communicate.frames", "dask.communicate.read"),
        *("dask.schedule.unpickle", "dask.materialize", "dask.schedule.order"),
        *("dask.schedule.state", "dask.schedule.transitions", "dask.dispatch.encode"),
        *("dask.dispatch.wire", "dask.dispatch.decode", "dask.execute", "dask.report"),
        *("dask.worker", "dask.gather"),
    ):
        assert seen.row(trace, stage).busy_ns > 0, stage
    graph_bytes = seen.row(trace, "dask.serialize").size_bytes or 0
    assert 1_000 < graph_bytes <= (seen.row(trace, "dask.communicate.frames").size_bytes or 0)
    sent = seen.row(trace, "dask.dispatch.encode").size_bytes
    assert sent == seen.row(trace, "dask.dispatch.decode").size_bytes
    assert seen.probe(trace, "dask").level == "scheduler and workers"
    assert {lane.kind for lane in trace.lanes} == {"client", "scheduler", "worker"}


def test_each_task_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks by prefix add up to those of the graph, and rows of joined spans count as many."""
    monkeypatch.setitem(load_agent().Agent.__init__.__globals__, "MOST_BLOCKS", 4)
    _, trace = seen.recorded(seen.array_sum)

    counts = by_name(trace, "dask.tasks", "count")
    assert sum(counts.values()) == by_name(trace, "dask.computations", "tasks")["sum-aggregate"]
    for stage in ("dask.execute", "dask.report", "dask.dispatch.encode", "dask.dispatch.wire"):
        assert seen.row(trace, stage).count == sum(counts.values()), stage
    busy = sum(by_name(trace, "dask.tasks", "compute_total").values())
    assert sum(span.duration_ns for span in seen.spans(trace, "dask.execute")) == busy


@pytest.mark.parametrize("most", [0, 9])
def test_only_what_was_on_disk_is_drawn_as_spilled(dask_client: Client, most: int) -> None:
    """Dask calls it writing or reading whenever a result is kept or comes late."""
    ways = {
        "__sizeof__": lambda _: len([*map(time.sleep, [0.02])]),
        "__reduce__": lambda _: (time.sleep, (0.02,)),
    }

    def evict(dask_worker: Any) -> object:
        return [dask_worker.data.evict() for _ in list(dask_worker.data.fast)[:most]]

    def used() -> None:
        late = dask_client.submit(type("Late", (), ways), pure=False)
        wait(late)
        dask_client.run(evict)
        dask_client.submit(callable, late, pure=False).result()

    _, trace = seen.recorded(used)
    disk_ns = sum(by_name(trace, "dask.tasks", "disk_total").values())
    assert seen.has_row(trace, "dask.spill") == (disk_ns > 0) == (most > 0)


def test_a_slow_task_is_execution() -> None:
    """200 ms of sleep in a task are found in Execution and in the table of its prefix."""

    def sleepy() -> int:
        time.sleep(DELAY_S)
        return 1

    task = dask.delayed(sleepy)()

    def is_found(trace: Trace) -> bool:
        # Workers measure with the time of day, which somebody may be setting right.
        assert by_name(trace, "dask.tasks", "compute_max")["sleepy"] >= 0.999 * DELAY_NS
        return abs(seen.self_ns(trace, "dask.execute") - DELAY_NS) <= SLACK_NS

    assert any(map(is_found, seen.attempts(task.compute)))


def slow_object(pickle_s: float, unpickle_s: float) -> object:
    """Return an object that takes its time; its class travels by value."""

    class Slow:
        def __getstate__(self) -> tuple[float, float]:
            import sys
            import threading

            if threading.current_thread() is threading.main_thread():  # not the scheduler's
                counts = vars(sys)
                counts[COUNT] = counts.get(COUNT, 0) + 1
            time.sleep(pickle_s)
            return pickle_s, unpickle_s

        def __setstate__(self, state: tuple[float, float]) -> None:
            time.sleep(state[1])

    return Slow()


def use(value: object, number: int) -> int:
    """Stand for a task that holds something large or slow."""
    del value
    return number


def test_an_object_that_is_slow_to_pickle_is_graph_serialization() -> None:
    """Each time that Dask tries to pickle it is 200 ms of serialization on the client."""
    import sys

    slow = slow_object(DELAY_S, 0)
    task = dask.delayed(bool)(slow)

    def excess_ns() -> float:
        vars(sys)[COUNT] = 0
        _, trace = seen.recorded(task.compute)
        times = vars(sys).pop(COUNT)
        assert times >= 1
        found: float = seen.row(trace, "dask.serialize").busy_ns / times - DELAY_NS
        assert found >= 0
        return found

    assert any(excess_ns() <= SLACK_NS for _ in range(8))


def test_an_object_that_is_slow_to_unpickle_is_scheduling() -> None:
    """The scheduler unpickles the graph with all that is embedded in it."""
    task = dask.delayed(bool)(slow_object(0, DELAY_S))

    # Workers have their say meanwhile: an instant of theirs is not the scheduler's.
    assert any(
        abs(seen.self_ns(trace, "dask.schedule.unpickle") - DELAY_NS) <= SLACK_NS
        for trace in seen.attempts(task.compute)
    )


def test_a_graph_with_an_array_says_who_holds_its_bytes_and_what_leaves_the_scheduler() -> None:
    """2 MB embedded in the graph go to the scheduler once and to workers with each task."""
    big = np.random.default_rng(0).random(250_000)
    tasks = [dask.delayed(operator.getitem)(big, number) for number in range(20)]

    values, trace = seen.recorded(lambda: dask.compute(*tasks))

    assert values == tuple(big[:20])
    assert 2_000_000 <= (seen.row(trace, "dask.serialize").size_bytes or 0) < 2_100_000
    sent = by_name(trace, "dask.computations", "dispatched_bytes")["getitem"]
    assert 20 * 2_000_000 <= sent < 21 * 2_000_000
    graph = seen.table(trace, "dask.graph")
    first = dict(zip([entry.key for entry in graph.columns], graph.rows[0], strict=True))
    assert "ndarray" in str(first["object"])
    assert first["bytes"] == pytest.approx(2_000_000, rel=0.01)
    assert first["references"] == 20
    assert first["crossing_bytes"] == pytest.approx(40_000_000, rel=0.01)


def test_what_is_sent_is_what_would_be_sent_without_us(
    monkeypatch: pytest.MonkeyPatch, dask_client: Client
) -> None:
    """The graph, its keys and its annotations are byte for byte the same."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr("uuid.uuid4", lambda: UUID(int=7))  # an expression makes itself a token
    monkeypatch.setattr(type(dask_client), "_send_to_scheduler", lambda _, m: messages.append(m))
    x = da.ones((1000, 1000), chunks=(100, 100))
    y = (x + x.T).sum(axis=0)

    def send() -> tuple[bytes, ...]:
        messages.clear()
        y.persist()
        sent = next(message for message in messages if message["op"] == "update-graph")
        frames = [sent["expr_ser"].header, *sent["expr_ser"].frames]
        return (*[bytes(pickle.dumps(frame)) for frame in frames], repr(sorted(sent)).encode())

    bare = send()
    assert send() == bare

    watched, _ = seen.recorded(send)

    assert watched == bare


def test_nothing_is_left_behind(dask_client: Client) -> None:
    """After a recording no process of the cluster has a wrapper or a plugin of ours."""
    seen.recorded(seen.array_sum)

    assert seen.ours_on(dask_client, lease_s=0) == []


def test_an_interrupt_while_waiting_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured until then is there, the interrupt propagates, nothing stays armed."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    recording = record("interrupted")

    with pytest.raises(KeyboardInterrupt), recording, monkeypatch.context() as patched:
        patched.setattr("distributed.utils.sync", interrupted)
        dask.delayed(use)(1, 2).compute()

    assert recording.trace.outcome == "interrupted"
    assert seen.has_row(recording.trace, "dask.serialize")
    assert not load_agent().is_running()


def test_a_task_that_raises_gives_its_own_exception() -> None:
    """The user's exception comes through; the stages until then are there."""

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught, record("fails") as recording:
        dask.delayed(fail)().compute()

    frames = [entry.path for entry in caught.traceback]
    assert not [path for path in frames if "jupyter_serprof" in str(path)]
    trace = seen.trace_of(recording)
    assert trace.outcome == "error"
    assert by_name(trace, "dask.tasks", "errors")["fail"] == 1


def test_several_computations_are_groups_of_rows() -> None:
    """Each blocking call has its own rows, with the name of what it computed."""
    x = da.ones((300, 300), chunks=(100, 100))

    _, trace = seen.recorded(lambda: (x.sum().compute(), x.mean().compute()))

    assert [group.title for group in trace.groups] == [
        "1: compute sum-aggregate",
        "2: compute mean_agg-aggregate",
    ]
    assert trace.waterfall is not None
    assert {entry.group for entry in trace.waterfall.rows} == {0, 1}


def test_tasks_that_are_computed_again_are_counted(dask_client: Client) -> None:
    """A second computation of the same lazy values repeats all of its tasks."""
    tasks = [dask.delayed(abs)(-number) for number in range(5)]
    keys = [task.key for task in tasks]

    def is_known(dask_scheduler: Any) -> bool:
        return any(key in dask_scheduler.tasks for key in keys)

    def twice() -> None:
        dask.compute(*tasks)
        while dask_client.run_on_scheduler(is_known):  # results are forgotten a little later
            pass
        dask.compute(*tasks)

    _, trace = seen.recorded(twice)

    assert seen.column(trace, "dask.computations", "repeated_tasks") == [5]


@pytest.mark.parametrize("way", ["again", "together", "kept", "thrown away"])
def test_layers_that_are_computed_again_are_counted_though_fused_tasks_have_other_names(
    way: str,
) -> None:
    """What is fused has another key each time; a collection that is kept is futures."""

    def slow(block: Any) -> Any:
        time.sleep(0.01)
        return block + 1

    x = da.ones((400, 400), chunks=100).map_blocks(slow)

    def run() -> object:
        if way == "together":
            return dask.compute(x.sum(), x.max())
        y = x.persist() if way == "kept" else x
        if way == "thrown away":
            x.persist()
        return y.sum().compute(), y.max().compute()

    _, trace = seen.recorded(run)

    again = {"again": [0, 16], "together": [0], "kept": [0, 0, 0], "thrown away": [0, 16, 16]}
    assert seen.column(trace, "dask.computations", "repeated_tasks") == again[way]
    took_ns = sum(seen.column(trace, "dask.computations", "repeated_ns"))
    assert (took_ns >= 160 * MS) == (sum(again[way]) > 0)
    found = [finding for finding in trace.findings if finding.rule == "dask.recompute"]
    assert len(found) == any(again[way])


def test_futures_and_scatter_are_seen(dask_client: Client) -> None:
    """Submit, map, gather and scatter of the client, many graphs in one recording."""

    def work() -> list[int]:
        data = dask_client.scatter([1, 2, 3])
        futures = [dask_client.submit(operator.add, item, 1) for item in data]
        mapped = dask_client.map(operator.neg, futures)
        gathered: list[int] = dask_client.gather(mapped)
        return gathered

    values, trace = seen.recorded(work)

    assert values == [-2, -3, -4]
    assert seen.row(trace, "dask.scatter").busy_ns > 0
    assert seen.row(trace, "dask.gather").busy_ns > 0
    assert by_name(trace, "dask.computations", "tasks") == {"add (3 graphs)": 3, "neg": 3}


def test_a_second_client_is_not_disturbed(dask_client: Client) -> None:
    """Another client computes during a recording as ever; its graphs are named as another's."""
    with Client(dask_client.cluster, set_as_default=False) as other:
        values, trace = seen.recorded(
            lambda: (
                other.submit(operator.add, 1, 41, pure=False).result(),
                dask_client.submit(operator.add, 1, 1, pure=False).result(),
            )
        )

    assert values == (42, 2)
    assert seen.probe(trace, "dask").level == "scheduler and workers"


def test_tasks_of_the_same_name_are_not_taken_for_ours(dask_client: Client) -> None:
    """What was submitted before counts for nothing, whatever it shares with ours."""
    earlier = dask_client.map(time.sleep, [0.011, 0.012, 0.013, 0.014, 0.015, 0.016], pure=False)

    def ours() -> None:
        futures = dask_client.map(time.sleep, [0.001, 0.002], pure=False)
        one = dask_client.submit(time.sleep, 0.003, pure=False, priority=10)
        wait([*futures, one, *earlier])

    _, trace = seen.recorded(ours)

    assert by_name(trace, "dask.tasks", "count") == {"sleep": 3}


def test_a_wait_for_what_was_sent_before_is_for_its_tasks(dask_client: Client) -> None:
    """They are drawn from the begin of the recording on, and no task of it."""
    earlier = dask_client.map(time.sleep, [1.5, 1.51], pure=False)
    late = dask_client.submit(max, earlier)

    _, trace = seen.recorded(lambda: wait([late]))

    assert {span.name for span in seen.spans(trace, "dask.execute")} == {"sleep", "max"}
    assert seen.row(trace, "dask.execute").self_ns > 0.5 * trace.wall_ns
    assert trace.tables == ()


def test_what_was_sent_before_is_not_ours_where_the_scheduler_takes_it_in_later(
    monkeypatch: pytest.MonkeyPatch, dask_client: Client
) -> None:
    """Graphs that were under way when the recording began count for nothing in it."""
    original: Any = module._materialize_graph

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.3)
        return original(*args, **kwargs)

    def ours() -> list[int]:
        futures = dask_client.map(operator.neg, [1, 2], pure=False)
        values: list[int] = dask_client.gather([*futures, *taken, *waiting])
        return values

    monkeypatch.setattr(module, "_materialize_graph", slow)

    taken = dask_client.map(operator.neg, [3, 4, 5], pure=False)
    time.sleep(0.1)  # the scheduler is at this one now, and the next one waits behind it
    waiting = dask_client.map(operator.neg, [6, 7, 8, 9], pure=False)
    values, trace = seen.recorded(ours)

    assert values == [-1, -2, -3, -4, -5, -6, -7, -8, -9]
    assert by_name(trace, "dask.tasks", "count") == {"neg": 2}
    assert by_name(trace, "dask.computations", "tasks") == {"neg": 2}


def test_a_graph_that_the_scheduler_cannot_load_takes_no_others_place(dask_client: Client) -> None:
    """The numbers of the next graph stay with the next graph."""

    class Broken:
        def __reduce__(self) -> Any:
            return int, ("no number",)

    def both() -> list[int]:
        failed = dask_client.submit(operator.neg, Broken(), pure=False)
        with pytest.raises(RuntimeError, match="deserialization"):
            failed.result()
        values: list[int] = dask_client.gather(dask_client.map(operator.pos, range(4), pure=False))
        return values

    values, trace = seen.recorded(both)

    assert values == [0, 1, 2, 3]
    assert by_name(trace, "dask.computations", "tasks") == {"neg": None, "pos": 4}


def test_recordings_that_overlap_leave_nothing_behind(dask_client: Client) -> None:
    """Two recordings of which the first ends first put every original back."""
    import importlib._bootstrap as seam

    def seams() -> list[object]:
        return [cloudpickle.dumps, pickle.cloudpickle, seam._find_and_load]

    before, first, second = seams(), record("first"), record("second")

    first.start()
    second.start()
    first.stop()
    assert dask_client.submit(operator.neg, 1, pure=False).result() == -1
    second.stop()

    assert seams() == before
    assert not load_agent().is_running()


def test_layers_and_functions_of_the_notebook_are_counted() -> None:
    """The number of layers is known before sending; what pickle could not do is counted."""
    tasks = [dask.delayed(lambda number: number)(number) for number in range(7)]

    _, trace = seen.recorded(lambda: dask.compute(*tasks))

    assert [
        seen.detail(trace, "dask.schedule", key) for key in ("tasks", "layers", "computation")
    ] == [*(7, 7, 0)]
    assert seen.detail(trace, "dask.serialize", "layers") == 7
    assert seen.detail(trace, "dask.serialize", "main_functions") == 1
    assert seen.detail(trace, "dask.dispatch.encode", "main_functions") == 7


def test_results_and_inputs_have_their_bytes(dask_client: Client) -> None:
    """The gather carries the result; transfers between workers carry what they moved."""
    first, second = (worker for worker in dask_client.scheduler_info()["workers"])

    def moved() -> object:
        made = dask_client.submit(np.zeros, 250_000, workers=[first], pure=False)
        return dask_client.submit(np.copy, made, workers=[second], pure=False).result()

    _, trace = seen.recorded(moved)

    assert 2_000_000 <= (seen.row(trace, "dask.gather").size_bytes or 0) < 2_010_000
    _, of_items = seen.recorded(lambda: dask_client.submit(list, range(999), pure=False).result())
    gathers = [
        [span for span in one.spans if span.stage == "dask.gather"] for one in (trace, of_items)
    ]
    assert [sum(number(span, "items") or 0 for span in each) for each in gathers] == [0, 999]
    assert 2_000_000 <= (seen.row(trace, "dask.transfer").size_bytes or 0) < 2_010_000


def test_optimization_on_the_scheduler_is_not_called_scheduling() -> None:
    """A thread of the scheduler optimizes while its event loop waits: the work owns the time."""

    def slow(graph: Any, keys: Any) -> Any:
        del keys
        time.sleep(DELAY_S)
        return graph

    task = dask.delayed(abs)(-1)
    kind = type(task)

    class Slow(kind):  # type: ignore[misc, valid-type]
        __slots__ = ()
        __dask_optimize__ = staticmethod(slow)

    def is_optimization(trace: Trace) -> bool:
        assert seen.row(trace, "dask.schedule").count == 1
        assert seen.row(trace, "dask.optimize").busy_ns >= DELAY_NS
        return (
            seen.row(trace, "dask.optimize").self_ns >= 0.9 * DELAY_NS
            and seen.row(trace, "dask.schedule").self_ns < 0.5 * DELAY_NS
        )

    assert any(map(is_optimization, seen.attempts(Slow(task.key, task.dask).compute)))


def test_a_collection_of_a_scheduler_that_did_nothing_else_has_its_lane(
    dask_client: Client,
) -> None:
    """A heartbeat is enough to set it off, and no graph came."""
    _, trace = seen.recorded(lambda: dask_client.run_on_scheduler(gc.collect))

    assert "scheduler" in {span.lane for span in seen.spans(trace, "gc")}
    assert [lane.kind for lane in trace.lanes if lane.key == "scheduler"] == ["scheduler"]


def test_an_idle_cluster_is_no_part_of_other_work(dask_client: Client) -> None:
    """A client that is connected has heartbeats; a recording without Dask shows none of them."""
    gc.collect()  # futures that other tests left in cycles are released now, and not meanwhile
    dask_client.nthreads()  # the client's event loop has done so

    _, trace = seen.recorded(lambda: time.sleep(0.6))

    assert not [span.stage for span in trace.spans if span.stage.startswith("dask.")]
    assert {lane.kind for lane in trace.lanes} == {"client"}


def test_a_recording_inside_another_leaves_nothing_of_its_own() -> None:
    """What ships and fetches the agents of the inner ones is no wait and no pickle of the user."""

    def inner() -> None:
        for _ in range(3):
            with record("inner"):
                pass

    _, trace = seen.recorded(inner)

    assert not seen.has_row(trace, "dask.wait")
    assert not [span.stage for span in trace.spans if span.stage.startswith("pickle")]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("[client.submit(found_in, i, lookup) for i in range(10)]", " was looked through for 10 t"),
        ("client.submit(found_in, 7, lookup, pure=False)", ", 387 kB, was pickled item by item"),
    ],
)
def test_a_dict_that_each_submit_searches_is_named_and_saved(
    code: str, said: str, monkeypatch: pytest.MonkeyPatch, dask_client: Client
) -> None:
    """What a function holds is not searched: that is the line, and it gives the same."""
    lookup = {i: str(i) * 3 for i in range(20_000)}
    monkeypatch.setattr(sys.modules["__main__"], "lookup", lookup, raising=False)

    def found_in(key: int, table: dict[int, str]) -> str:
        return table[key]

    names = {"client": dask_client, "found_in": found_in, "lookup": lookup}
    with record(code) as recording:
        values = dask_client.gather(eval(code, names))  # noqa: S307

    (told,) = [f for f in recording.trace.findings if f.rule == "dask.repeated-payload"]
    assert told.title.startswith(f"`lookup` of 20,000 items{said}")
    exec(f"made = {told.remedy.removeprefix('values = ')}", names)  # noqa: S102  (as pasted)
    assert dask_client.gather(names["made"]) == values


def test_each_item_of_a_container_is_scattered_by_itself(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line below it makes one future of all; an array is one anyway."""
    words = {at: f"w{at}" for at in range(2_000)}
    monkeypatch.setattr(sys.modules["__main__"], "words", words, raising=False)

    _, trace = seen.recorded(lambda: dask_client.scatter(words))
    _, other = seen.recorded(lambda: dask_client.scatter(np.ones(2_000)))

    told = [[f for f in one.findings if "scattered" in f.title] for one in (trace, other)]
    assert [len(each) for each in told] == [1, 0]
    assert told[0][0].title.startswith("`words` of 2,000 items was scattered one by one")
    names = {"client": dask_client, "words": words}
    exec(told[0][0].remedy, names)  # noqa: S102  (as who pastes it)
    whole: Any = names["whole"]
    assert whole.result() == words
