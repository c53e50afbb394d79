"""graphstages: a Dask computation is brought to its end, recorded, and leaves nothing behind."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from dasks import (
    ARRIVED,
    GATE,
    failing,
    forgotten,
    gated,
    mapped,
    scheduler_tasks,
    small_array,
    started,
)
from distributed import Client

import jupyter_serprof as sp
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.graphs.stages import (
    ComputationTimeoutError,
    GraphStages,
    explained,
)
from jupyter_serprof.experiments.graphs.values import list_collections
from jupyter_serprof.model import Trace, UsageError
from jupyter_serprof.testing import make_trace

#: Typed in part only.
dask: Any = import_module("dask")
da: Any = import_module("dask.array")
db: Any = import_module("dask.bag")
dd: Any = import_module("dask.dataframe")
distributed: Any = import_module("distributed")


@pytest.fixture(autouse=True)
def _gate() -> Iterator[None]:
    """Close the gate before each test, open it after, and see that no hook stays."""
    GATE.clear()
    ARRIVED.clear()
    yield
    GATE.set()
    assert armed_places() == []


def stages(made: Any, **options: Any) -> GraphStages:
    return GraphStages(lambda: made, "x", **options)


def notes(trace: Trace) -> str:
    return " ".join(trace.quality.notes)


@pytest.fixture
def waited_with(monkeypatch: pytest.MonkeyPatch) -> list[Client]:
    """Open the gate as soon as somebody waits for futures; note the clients that waited."""
    wait, clients = distributed.wait, list[Any]()

    def opening(*args: Any, **kwargs: Any) -> Any:
        GATE.set()
        clients.append(distributed.default_client())
        return wait(*args, **kwargs)

    monkeypatch.setattr(distributed, "wait", opening)
    return clients


@pytest.fixture
def interrupted_wait(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Send Ctrl-C as soon as a task runs and the main thread waits for it."""
    waiting = threading.Event()

    def noted(original: Any) -> Any:
        def wait(*args: Any, **kwargs: Any) -> Any:
            waiting.set()
            return original(*args, **kwargs)

        return wait

    def send() -> None:
        if waiting.wait(60) and ARRIVED.wait(60):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(distributed, "wait", noted(distributed.wait))
    monkeypatch.setattr(distributed.Client, "gather", noted(distributed.Client.gather))
    thread = threading.Thread(target=send)
    thread.start()
    yield
    thread.join()


def collections() -> dict[str, Any]:
    frame = pd.DataFrame({"key": [1, 2, 1, 2], "x": range(4)})
    return {
        "array": small_array(),
        "bag": db.from_sequence(range(4), npartitions=2).map(str),
        "dataframe": dd.from_pandas(frame, npartitions=2).groupby("key").x.mean(),
        "delayed": dask.delayed(len)([1, 2]),
        "list": [small_array(), dask.delayed(len)([1])],
    }


# To the end


@pytest.mark.parametrize("kind", collections())
@pytest.mark.parametrize("compute", [False, True], ids=["persist", "compute"])
@pytest.mark.parametrize("timeout_s", [None, 60.0], ids=["", "timeout"])
def test_every_kind_of_collection_is_brought_to_its_end(
    client: Client, kind: str, compute: bool, timeout_s: float | None
) -> None:
    """The trace is that of a run that went through, and the cluster is empty afterwards."""
    trace = run(stages(collections()[kind], compute=compute, timeout_s=timeout_s))

    assert (trace.name, trace.outcome) == ("x", "ok")
    assert trace.wall_ns > 0
    assert forgotten(client)


@pytest.mark.parametrize("kind", collections())
@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_local_schedulers_need_no_cluster(kind: str, scheduler: str) -> None:
    """Without a client, or where the user chose a local scheduler, that one is used."""
    with dask.config.set(scheduler=scheduler):
        trace = run(stages(collections()[kind]))

    assert trace.outcome == "ok"


def test_it_waits_for_what_it_persists(client: Client) -> None:
    """The trace ends when the last task has ended, not when persist returns."""
    ended = []

    def end() -> None:
        assert ARRIVED.wait(60)
        ended.append("tasks")
        GATE.set()

    thread = threading.Thread(target=end)
    thread.start()

    run(stages(mapped(gated)))
    ended.append("trace")
    thread.join()

    assert ended == ["tasks", "trace"]
    assert forgotten(client)


def test_what_the_expression_calls_is_seen() -> None:
    """A slow function of the user's during construction is named and not left unaccounted."""

    def slow_code() -> Any:
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            pass
        return small_array()

    with dask.config.set(scheduler="sync"):
        trace = run(GraphStages(slow_code, "x"))

    own = [span for span in trace.spans if span.stage == "python.code"]
    assert sum(span.duration_ns for span in own) >= 200_000_000


@pytest.mark.parametrize("make", [lambda: mapped(gated), lambda: small_array().sum()])
def test_the_function_of_the_package_takes_collections_and_makers(
    client: Client, make: Callable[[], object]
) -> None:
    """sp.graphstages(x), and sp.graphstages(function) which sees the construction too."""
    GATE.set()

    traces = [
        sp.graphstages(make()),
        sp.graphstages(make),
        sp.graphstages(make, name="made", compute=True, timeout=60),
    ]

    assert [trace.name for trace in traces] == ["Array", "computation", "made"]
    assert forgotten(client)


# What the user holds stays


def test_what_the_user_persisted_stays(client: Client) -> None:
    """A persisted collection and its futures are as before; nothing is said to be computed."""
    kept = small_array().persist()
    distributed.wait(kept)
    before = set(scheduler_tasks(client))

    trace = run(stages(kept))

    assert "its 4 keys are on the cluster, and nothing is left to compute" in notes(trace)
    assert set(scheduler_tasks(client)) == before
    assert float(kept.sum().compute()) == 32.0
    del kept
    assert forgotten(client)


def test_what_uses_a_persisted_collection_leaves_it(client: Client) -> None:
    """What the run made is released, what it was made of is not, nor keys that both hold."""
    lazy = small_array()
    kept = lazy.persist()
    distributed.wait(kept)
    before = set(scheduler_tasks(client))

    run(stages(lazy))
    run(stages(kept + 1))
    run(stages([kept + 1, kept + 2], compute=True, timeout_s=60.0))

    assert float(kept.sum().compute()) == 32.0
    assert before <= set(scheduler_tasks(client))
    del kept
    assert forgotten(client)


@pytest.mark.usefixtures("waited_with")
def test_a_persisted_collection_that_still_runs_is_waited_for(client: Client) -> None:
    kept = mapped(gated).persist()
    assert ARRIVED.wait(60)

    trace = run(stages(kept))

    assert "4 of its 4 keys were still being computed" in notes(trace)
    assert all(future.done() for future in distributed.futures_of(kept))
    del kept
    assert forgotten(client)


@pytest.mark.usefixtures("waited_with")
@pytest.mark.parametrize("kind", ["future", "list", "dict"])
def test_futures_are_waited_for_and_dropped(client: Client, kind: str) -> None:
    """An expression that submits: its futures are nobody else's."""

    def build() -> object:
        future = client.submit(gated, 1, pure=False)
        return {"future": future, "list": [future], "dict": {"a": future}}[kind]

    trace = run(GraphStages(build, "x"))

    assert trace.outcome == "ok"
    assert GATE.is_set()
    assert forgotten(client)


def test_results_in_memory_are_nothing_to_compute() -> None:
    """Persisted by a local scheduler: said, not hidden."""
    kept = small_array().persist(scheduler="sync")

    with dask.config.set(scheduler="sync"):
        trace = run(stages(kept))

    assert "holds its results already" in notes(trace)


def test_the_default_one_of_two_clients_is_used(client: Client, waited_with: list[Client]) -> None:
    """The other cluster is not disturbed; futures are waited for with their own client."""
    kept = client.submit(gated, 1, pure=False)
    assert ARRIVED.wait(60)
    before = set(scheduler_tasks(client))

    with started() as other:
        trace = run(stages([kept]))
        run(stages(small_array()))
        was_default = forgotten(other)

    assert waited_with == [client, other]
    assert was_default
    assert set(scheduler_tasks(client)) == before
    assert trace.outcome == "ok"
    assert kept.result() == 1
    del kept
    assert forgotten(client)


# Given up


@pytest.mark.usefixtures("interrupted_wait")
@pytest.mark.parametrize("kind", ["persist", "compute", "held by the expression only"])
def test_an_interrupt_releases_the_futures(client: Client, kind: str) -> None:
    """Ctrl-C passes through, the trace says interrupted, the scheduler forgets the tasks."""
    experiment = stages(mapped(gated), compute=kind == "compute")
    if kind.startswith("held"):
        experiment = GraphStages(lambda: mapped(gated).persist(), "x")

    with pytest.raises(KeyboardInterrupt) as caught:
        run(experiment)

    assert experiment.document.outcome == "interrupted"
    assert experiment.has_spans
    GATE.set()
    assert forgotten(client)
    assert caught.value.__traceback__ is not None  # IPython keeps it, and it keeps no future


@pytest.mark.parametrize("compute", [False, True], ids=["persist", "compute"])
def test_an_interrupt_while_submitting_releases_the_futures(
    client: Client, monkeypatch: pytest.MonkeyPatch, compute: bool
) -> None:
    """The graph was sent, and Ctrl-C came before Dask had noted what to release."""
    send = distributed.Client._send_to_scheduler

    def interrupted(self: Client, message: dict[str, object]) -> None:
        send(self, message)
        if message["op"] == "update-graph":
            assert ARRIVED.wait(60)
            raise KeyboardInterrupt

    monkeypatch.setattr(distributed.Client, "_send_to_scheduler", interrupted)

    with pytest.raises(KeyboardInterrupt) as caught:
        sp.graphstages(mapped(gated), compute=compute)

    monkeypatch.undo()
    GATE.set()
    assert getattr(sp.resume(), "outcome", "") == "interrupted"
    assert forgotten(client)
    assert caught.value.__traceback__ is not None


@pytest.mark.parametrize("compute", [False, True], ids=["persist", "compute"])
def test_a_timeout_releases_the_futures_and_says_how_far_it_was(
    client: Client, compute: bool
) -> None:
    """The error has the count and a longer time; the partial trace is there."""
    experiment = stages(mapped(gated), compute=compute, timeout_s=0.05)

    late = r"x was not done after 0\.05 s: 0 of .*Give it more time: --timeout 0\.5"
    with pytest.raises(ComputationTimeoutError, match=late):
        run(experiment)

    assert experiment.document.outcome == "interrupted"
    summary = experiment.document.summary
    assert summary is not None
    assert " until stopped" in summary.headline  # nobody pressed Ctrl-C
    GATE.set()
    assert forgotten(client)


def test_the_error_of_a_task_is_the_users_own(client: Client) -> None:
    """Type and message of the task's exception, the partial trace, and an empty cluster."""
    experiment = stages(mapped(failing))

    with pytest.raises(LookupError, match="of the user") as caught:
        run(experiment)

    assert caught.traceback[-1].name == "failing"
    assert experiment.document.outcome == "error"
    assert "not sent" not in notes(experiment.document)
    assert experiment.has_spans
    assert forgotten(client)


def test_a_timeout_of_the_users_task_stays_theirs(client: Client) -> None:
    """A TimeoutError that a task raised is not taken for ours."""
    late = dask.delayed(_raise_timeout)()

    with pytest.raises(TimeoutError, match="of the user"):
        run(stages(late, timeout_s=60.0))

    assert forgotten(client)


def _raise_timeout() -> None:
    message = "of the user"
    raise TimeoutError(message)


def test_a_scheduler_that_goes_away_is_the_users_error_and_a_partial_trace() -> None:
    """The wait ends with Dask's own error; what was measured until then is there."""
    quick = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with quick, started() as client:
        experiment = stages(mapped(gated))

        def close() -> None:
            assert ARRIVED.wait(60)
            cluster: Any = client.cluster
            cluster.sync(cluster.scheduler.close)

        thread = threading.Thread(target=close)
        thread.start()

        with pytest.raises(Exception, match=r"(?i)cancel|closed|lost") as caught:
            run(experiment)
        thread.join()
        GATE.set()

    assert not isinstance(caught.value, sp.SerprofError)
    assert experiment.document.outcome in ("error", "interrupted")
    assert experiment.has_spans


# Bad input


class Yes:
    """Answers to every name, as mocks do."""

    def __getattr__(self, name: str) -> Any:
        message = "not even that"
        raise RuntimeError(message)


@pytest.mark.parametrize(
    ("value", "described"),
    [
        *((3, "an int"), ([1, 2], "a list of 2"), ([], "a list of 0"), (None, "None")),
        *((np.ones(3), "a ndarray"), ([small_array(), 1], "a list of 2"), (da.Array, "a type")),
        pytest.param(Yes(), "a Yes", id="its own error does not come out"),
    ],
)
def test_a_value_that_is_nothing_of_dask_is_described(value: object, described: str) -> None:
    """What it is, what was expected, and where pickle and Ray are shown."""
    with pytest.raises(UsageError) as caught:
        run(stages(value))

    message = str(caught.value)
    assert message.startswith(f"x gave {described}, and nothing of Dask ran. Expected was a Dask")
    assert "%serprof x" in message


def test_a_timeout_needs_a_cluster() -> None:
    """A local scheduler cannot be given up: refused before it runs, with what to do."""
    made = mapped(gated)

    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(UsageError, match=r"local scheduler.*client = Client\(\)"),
    ):
        run(stages(made, timeout_s=1.0))

    assert not ARRIVED.is_set()


@pytest.mark.parametrize("timeout", [0, -1, True, "5s", float("nan"), float("inf")])
def test_a_timeout_is_a_number_of_seconds_above_0(timeout: Any) -> None:
    with pytest.raises(UsageError, match="timeout=60"):
        sp.graphstages(lambda: pytest.fail("it ran"), timeout=timeout)


def test_an_asynchronous_client_is_refused_with_the_way_to_go() -> None:
    """Waiting would block the loop that the client runs in; nothing is submitted."""

    async def inside() -> tuple[str, int]:
        async with (
            distributed.LocalCluster(
                n_workers=1, processes=False, dashboard_address="127.0.0.1:0", asynchronous=True
            ) as cluster,
            distributed.Client(cluster, asynchronous=True),
        ):
            with pytest.raises(UsageError) as caught:
                run(stages(small_array()))
            return str(caught.value), len(cluster.scheduler.tasks)

    message, count = asyncio.run(inside())

    assert "the client is asynchronous" in message
    assert "%%graphstages\n    y = await client.compute(x)" in message
    assert count == 0


# Notes on code that ran as it is


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ("dask.worker", "nothing of Dask ran in it"),
        ("pickle.dumps", "nothing of Dask ran in it; to see pickle and Ray, write %%serprof"),
        ("dask.construct", "a graph was built, and nothing computed it"),
        ("dask.serialize", ""),
    ],
)
def test_code_without_a_computation_is_told_so(stage: str, said: str) -> None:
    trace = make_trace([(stage, "client/main", 0, 10)])

    told = notes(explained(trace, "%%serprof"))

    assert told.startswith(said)
    assert bool(told) is bool(said)


# The list of collections


def test_collections_are_listed_without_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, kinds, partitions, tasks and layers; what only computing would tell is unknown."""
    frame = pd.DataFrame({"x": range(4)})
    namespace = {
        **collections(),
        "sorted": dd.from_pandas(frame, npartitions=2).set_index("x", sorted=False) + 1,
        "kept": small_array().persist(scheduler="sync"),
        "_hidden": small_array(),
        "number": 3,
        "yes": Yes(),
    }
    monkeypatch.setattr(dask.local, "get_async", lambda *_, **__: pytest.fail("it computed"))

    found = {one.name: one for one in list_collections(namespace)}

    assert sorted(found) == ["array", "bag", "dataframe", "delayed", "kept", "sorted"]
    array = found["array"]
    assert (array.kind, array.partitions, array.tasks, array.layers, array.state) == (
        "Array float64 (4, 4)",
        4,
        8,
        2,
        "",
    )
    assert (found["sorted"].partitions, found["sorted"].tasks) == (None, None)
    assert found["kept"].state == "in memory"
    assert found["delayed"].partitions is None


def test_listing_does_not_change_what_is_pickled() -> None:
    big = (da.ones((100, 100), chunks=5) + 1).sum()
    before = len(cloudpickle.dumps(big))

    (listed,) = list_collections({"big": big})

    assert listed.tasks is not None
    assert listed.tasks > 800
    assert len(cloudpickle.dumps(big)) <= before + 100


# What cannot be pickled


@pytest.mark.parametrize("compute", [False, True], ids=["persist", "compute"])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda lock: mapped(lambda block: (block, lock)[0]), ("lambda-", "function", "(lock)")),
        (lambda lock: dask.delayed(len)([1, {"a": lock}]), ("len-", "argument 0[1]['a'] (lock)")),
    ],
    ids=["captured", "argument"],
)
def test_a_graph_that_cannot_be_pickled_names_the_path(
    client: Client, compute: bool, make: Callable[[object], object], said: tuple[str, ...]
) -> None:
    """The user's own error, and in the document the layer, the argument and the path inside."""
    experiment = stages(make(threading.Lock()), compute=compute)

    with pytest.raises(TypeError, match="Could not serialize") as caught:
        run(experiment)

    told = notes(experiment.document)
    assert "the graph was not sent. " in told
    assert all(part in told for part in said), told
    assert " at 0x" not in told
    assert not hasattr(caught.value, "__notes__")
    assert forgotten(client)
