"""Clusters of every kind: others' processes, this process, refusing ones, ones that go away."""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call, attr-defined, union-attr"

import asyncio
import colorsys
import importlib
import logging
import operator
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster, Nanny
from distributed.worker import Worker

from clusters import seen
from clusters.outside import Outside, outside_cluster
from jupyter_serprof.analysis.findings.dask_facts import workers
from jupyter_serprof.analysis.spans import count_calls, number
from jupyter_serprof.api import graphstages, record
from jupyter_serprof.api.recordings import stage_recording
from jupyter_serprof.experiments.graphs.stages import ComputationTimeoutError
from jupyter_serprof.model.trace import LOST
from jupyter_serprof.probes.dask import cluster
from jupyter_serprof.probes.dask.cluster import agent_name, clusters_of, load_agent, shipped
from jupyter_serprof.probes.shipping import sources

MS, BLOCKED_S = 1_000_000, 0.4


class Without:
    """A module of which the agent sees all names but one."""

    def __init__(self, module: ModuleType, lost: str) -> None:
        self.__dict__.update(vars(module), _module=module)
        del self.__dict__[lost]

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value
        setattr(self._module, name, value)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """Give a scheduler and two workers as processes of their own, without this package."""
    with outside_cluster(tmp_path_factory.mktemp("outside")) as cluster:
        with Client(cluster.address) as client:
            client.wait_for_workers(2)
        yield cluster


@pytest.fixture
def outside_client(outside: Outside) -> Iterator[Client]:
    """Give a client of that cluster, the only one that recordings follow."""
    with Client(outside.address) as client:
        yield client


@pytest.fixture
def inside_client() -> Iterator[Client]:
    """Give a client of a cluster in this very process, on threads."""
    yield from _threads([])


@pytest.fixture
def refusing_client() -> Iterator[Client]:
    """Give a client of a cluster whose scheduler runs no functions of others."""
    yield from _threads(["run_function"])


def _threads(refused: list[str]) -> Iterator[Client]:
    with dask.config.set({"distributed.scheduler.blocked-handlers": refused}):
        cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    with cluster, Client(cluster) as client:
        yield client


def test_a_cluster_without_this_package_is_seen_whole(outside_client: Client) -> None:
    """The agent comes as source: processes that cannot import us note all stages, on one clock."""

    def can_import() -> bool:
        try:
            import jupyter_serprof  # noqa: F401
        except ImportError:
            return False
        return True

    assert not any(outside_client.run(can_import).values())

    total, trace = seen.recorded(seen.array_sum)

    assert total == 500 * 500 * 2
    assert seen.probe(trace, "dask").level == "scheduler and workers"
    for stage in ("dask.communicate.wire", "dask.schedule.order", "dask.dispatch.wire"):
        assert seen.row(trace, stage).busy_ns > 0
    outsiders = [span for span in trace.spans if span.lane.startswith(("scheduler", "worker"))]
    # A clock that is not ours is off by seconds; the guesses of a busy machine's workers, by 1 ms.
    assert min(span.start_ns for span in outsiders) >= -20 * MS
    assert max(span.end_ns for span in outsiders) <= trace.wall_ns + 20 * MS


def test_a_worker_that_is_killed_spoils_nothing(tmp_path: Any) -> None:
    """The computation goes on with the other worker; what the dead one noted is lost, and said."""

    def slow_one(_: int) -> int:
        time.sleep(0.05)
        return 1

    with outside_cluster(tmp_path) as cluster, Client(cluster.address) as client:
        client.wait_for_workers(2)

        with record("killed") as recording:
            futures = client.map(slow_one, range(20), pure=False)
            futures[0].result()
            cluster.workers[0].send_signal(signal.SIGKILL)
            total = sum(client.gather(futures))

    trace = seen.trace_of(recording)
    assert total == 20
    assert seen.row(trace, "dask.execute").busy_ns >= 20 * 50 * MS
    assert any("1 worker left the cluster meanwhile" in note for note in trace.quality.notes)
    assert seen.probe(trace, "dask").level == "scheduler and workers"


def test_a_scheduler_that_goes_away_leaves_what_the_client_saw(tmp_path: Any) -> None:
    """The user's error propagates, the recording ends in bounded time and says what is lost."""
    recording, soon = record("gone"), dask.config.set({"serprof.patience": 5})
    with outside_cluster(tmp_path, workers_count=1) as cluster, soon:
        client = Client(cluster.address)
        client.wait_for_workers(1)

        with pytest.raises(Exception) as caught, recording:  # noqa: PT011  (any error of distributed)
            future = client.submit(time.sleep, 30)
            while not any(client.processing().values()):  # it has come to a worker
                pass
            cluster.scheduler.send_signal(signal.SIGKILL)
            cluster.scheduler.wait()
            future.result(timeout=2)

    client.close(timeout=1)
    assert not isinstance(caught.value, AssertionError)
    trace = recording.trace
    assert trace.outcome == "error"
    assert seen.has_row(trace, "dask.submit")
    assert [note for note in trace.quality.notes if "notes of the agents" in note]
    assert [note for note in trace.quality.notes if LOST in note]
    assert not load_agent().is_running()


def test_a_scheduler_that_was_gone_before_is_named(tmp_path: Any) -> None:
    """The client looks for it for a while, and the cell fails or waits for no reason it shows."""
    with (
        outside_cluster(tmp_path) as cluster,
        Client(cluster.address, set_as_default=False) as client,
    ):
        cluster.scheduler.kill()
        seen.until(operator.not_, lambda: client.status == "running")

        with record("gone") as recording, suppress(Exception):
            client.submit(operator.neg, 1).result(timeout=1)

        notes = [note for note in recording.trace.quality.notes if "scheduler" in note]
        assert notes == ["dask: the scheduler was gone before the recording began"]
        assert seen.probe(recording.trace, "dask").level == "client only"


def test_a_cluster_in_this_process_has_no_frames(inside_client: Client) -> None:
    """Messages are handed over as objects: there is a wire, and nothing is encoded."""
    total, trace = seen.recorded(seen.array_sum)

    assert total == 500 * 500 * 2
    assert inside_client.cluster is not None
    assert seen.probe(trace, "dask").level == "scheduler and workers"
    assert not seen.has_row(trace, "dask.communicate.frames")
    assert seen.row(trace, "dask.communicate.wire").busy_ns >= 0
    assert seen.row(trace, "dask.execute").busy_ns > 0
    assert seen.row(trace, "dask.worker").busy_ns > 0


def test_without_agents_the_client_is_seen(refusing_client: Client) -> None:
    """What the client sends and waits for, and counts; nothing is left on the scheduler."""
    scheduler = refusing_client.cluster.scheduler
    plugins = set(scheduler.plugins)
    with record("refused") as recording:
        total = seen.array_sum()

    trace = recording.trace
    assert total == 500 * 500 * 2
    assert refusing_client.status == "running"
    assert seen.probe(trace, "dask").level == "client only"
    assert (seen.row(trace, "dask.serialize").size_bytes or 0) > 1_000
    assert seen.row(trace, "dask.wait").self_ns > 0
    assert not seen.has_row(trace, "dask.execute")
    assert set(scheduler.plugins) == plugins
    assert not [topic for topic in scheduler._broker._topics if "serprof" in topic]
    assert [note for note in trace.quality.notes if "admits no agent" in note]
    assert any("everything on the scheduler" in what for what in seen.probe(trace, "dask").unseen)


def test_names_that_distributed_lost_are_listed(
    dask_client: Client, inside_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that another version does not have is told; the other stages are seen."""
    lost = {"distributed.scheduler": "_cull", "distributed.comm.tcp": "read_bytes_rw"}

    def import_module(name: str) -> object:
        module = importlib.import_module(name)
        return Without(module, lost[name]) if name in lost else module

    monkeypatch.setattr(load_agent(), "import_module", import_module)
    monkeypatch.setattr("distributed.scheduler.convert_legacy_graph", lambda graph: graph)

    future = inside_client.scatter(1)
    _, trace = seen.recorded(seen.array_sum)

    assert future.key
    assert "_cull (not in this version)" in seen.probe(trace, "dask").unseen
    assert seen.row(trace, "dask.schedule.order").busy_ns > 0
    # Names that were really gone would break every other cluster with an end in this process.
    assert dask_client.submit(operator.neg, 1, pure=False).result(timeout=30) == -1


def test_workers_that_have_nothing_to_do_count(outside_client: Client) -> None:
    """How busy workers are, and that one task is too few, is told of all their threads."""
    with stage_recording("x") as recording:
        outside_client.submit(time.sleep, 0.2, pure=False).result()

    threads = sum(outside_client.nthreads().values())
    assert workers(recording.trace).threads == threads > 1
    told = [found.title for found in recording.trace.findings]
    assert told == [f"`sleep` ran as one task on one of {threads} workers"]


@pytest.mark.parametrize("role", ["scheduler", "worker"])
def test_a_blocked_event_loop_owns_its_time(outside_client: Client, role: str) -> None:
    """A loop that slept was told as socket writes, task reports or as what takes a graph in."""
    run = {"scheduler": outside_client.run_on_scheduler, "worker": outside_client.run}[role]
    with stage_recording("x") as recording:
        futures = outside_client.map(operator.neg, range(9), pure=False)
        time.sleep(0.2 * (role == "worker"))  # agents come to workers a little later
        run(time.sleep, BLOCKED_S)
        outside_client.gather(futures)

    row = seen.row(recording.trace, "dask.blocked")
    assert row.lane.startswith(role)
    assert row.self_ns > BLOCKED_S * 1e9 / 2


def test_a_cluster_that_is_made_in_the_cell_is_its_start(outside_client: Client) -> None:
    """Both were told as a wait for the cluster, which did not exist."""
    with record() as recording:
        cluster = LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0")
        with cluster, Client(cluster):
            pass

    names = {span.name for span in recording.trace.spans if span.stage == "dask.start"}
    assert names == {"Client.__init__", "LocalCluster.__init__", "SyncMethodMixin.sync"}
    assert outside_client.status == "running"


def test_only_tasks_that_need_each_other_are_a_chain(outside_client: Client) -> None:
    """Eight calls, of which one took longer, had been told to follow each other."""
    apart = [dask.delayed(operator.neg)(at) for at in range(4)]
    chain = dask.delayed(operator.add)(1, 1)
    for at in range(3):
        chain = dask.delayed(operator.add)(chain, at)
    with stage_recording("x") as recording:
        outside_client.gather([outside_client.compute(chain), *outside_client.compute(apart)])

    chained = (number(span, "chained") for span in recording.trace.spans)
    assert [count for count in chained if count is not None] == [3, 0]


def test_a_client_of_the_running_event_loop_is_followed(outside: Outside) -> None:
    """An asynchronous client cannot be asked to wait: agents are shipped from another thread."""

    async def work() -> tuple[int, Any]:
        async with Client(outside.address, asynchronous=True) as client:
            with record("async") as recording:
                value = await client.submit(operator.add, 40, 2, pure=False)
            return value, recording

    value, recording = asyncio.run(work())

    assert value == 42
    assert seen.probe(recording.trace, "dask").level == "scheduler and workers"
    assert seen.row(recording.trace, "dask.execute").busy_ns > 0


def test_the_agent_stands_alone() -> None:
    """Its sources import nothing of this package, and loading them twice gives one module."""
    parts = sources(cluster._PACKAGE, cluster._PARTS)

    assert not [part for part, source in parts.items() if "jupyter_serprof" in source]
    load_agent()
    first = sys.modules[agent_name()]
    exec(shipped()[0], {"shipped": shipped()})  # noqa: S102  (what happens on a scheduler)
    assert sys.modules[agent_name()] is first
    assert not first.is_running()


def test_an_agent_leaves_when_its_client_is_gone(outside: Outside) -> None:
    """A client that vanishes leaves no wrapper on the scheduler, and none on its workers."""
    client = Client(outside.address, set_as_default=False)
    (cluster,) = clusters_of([client])
    cluster.start()
    cluster.settle(time.monotonic() + 60)
    with Client(outside.address, set_as_default=False) as witness:

        def places() -> list[bool]:
            return [bool(found) for found in seen.ours_everywhere(witness)[:-1]]

        assert all(places())

        client.close()

        assert not any(seen.until(lambda found: not any(found), places))
    cluster.stop(time.monotonic() + 60)
    assert len(cluster.trouble) == 1
    assert not load_agent().is_running()


def test_agents_go_where_a_scheduler_here_hears_of_the_end_too_late(dask_client: Client) -> None:
    """The client shares its agent with that scheduler, and is the first to give it up."""
    with dask.config.set({"serprof.patience": 0.85}), record("late"):
        dask_client.submit(operator.neg, 1, pure=False).result()
        dask_client.cluster.scheduler.loop.add_callback(time.sleep, 2)
        time.sleep(0.05)

    assert seen.ours_on(dask_client) == []


@pytest.mark.parametrize("after_s", [0, 0.002, 0.01, 0.02, 0.04])
def test_agents_go_that_nobody_waits_for_as_they_come(dask_client: Client, after_s: float) -> None:
    """So it is after Ctrl-C: what is under way to workers arrives, and leaves."""
    (cluster,) = clusters_of([dask_client])

    cluster.start()
    time.sleep(after_s)
    cluster.stop(0)

    assert seen.ours_on(dask_client) == []


def test_what_recordings_that_died_left_goes_with_the_next_one(dask_client: Client) -> None:
    """Nobody knows their names any more: neither this agent nor one of another version."""

    def die(dask_scheduler: Any) -> None:
        from distributed.diagnostics.plugin import SchedulerPlugin

        kind = type("Listener", (SchedulerPlugin,), {"__module__": "_serprof_agent_old"})
        dask_scheduler.add_plugin(kind(), name="serprof-dead")

    def leave_module() -> None:
        from types import ModuleType

        for part in ("", ".notes"):
            sys.modules["_serprof_agent_old" + part] = ModuleType("_serprof_agent_old" + part)
        vars(sys.modules["_serprof_agent_old"]).update(AGENTS={}, forget=lambda: None)

    def modules() -> list[str]:
        return [name for name in list(sys.modules) if name.startswith("_serprof_agent_")]

    dask_client.run_on_scheduler(die)
    dask_client.run(leave_module)

    seen.recorded(seen.array_sum)

    assert seen.ours_on(dask_client) == []
    assert not any(dask_client.run(modules).values())


def test_a_worker_that_comes_late_has_the_same_clock(outside_client: Client, tmp_path: Any) -> None:
    """Its clock is asked for in the end, and nobody reads of an error in its log."""
    (cluster,) = clusters_of([outside_client])
    address = outside_client.scheduler.address

    async def more() -> None:
        async with Nanny(address, nthreads=1, local_directory=str(tmp_path)) as nanny:
            await asyncio.to_thread(cluster.stop, time.monotonic() + 60)

            assert cluster.workers[nanny.worker_address].report is not None

    cluster.start()
    cluster.settle(time.monotonic() + 60)
    asyncio.run(more())
    assert len(cluster.workers) == 3
    assert cluster.trouble == []


def test_workers_of_the_schedulers_process_may_come_and_go(inside_client: Client) -> None:
    """The notes of the scheduler are not lost with them."""

    def more() -> int:
        inside_client.cluster.scale(4)
        inside_client.wait_for_workers(4)
        return sum(inside_client.gather(inside_client.map(operator.neg, range(8))))

    total, trace = seen.recorded(more)

    assert total == -28
    assert seen.probe(trace, "dask").level == "scheduler and workers"
    assert not load_agent().is_running()


@pytest.mark.parametrize(
    ("guessed_s", "afterwards_s", "runs"),
    [
        (5.0, 5.0, [5.0]),  # one guess, which workers add to their times
        (-5.0, 5.0, [5.0]),  # a heartbeat in the run: the old guess or the new one
        (0.0, 0.0, [5.0, -5.0, 0.0]),  # several: one that neither begin nor end knows of
    ],
)
def test_what_workers_guess_of_the_clock_of_their_own_process_moves_no_task(
    inside_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    guessed_s: float,
    afterwards_s: float,
    runs: list[float],
) -> None:
    """Here the scheduler's clock is known better: tasks stay where they ran."""
    guesses = {"now": guessed_s}
    monkeypatch.setattr(
        Worker, "scheduler_delay", property(lambda _: guesses["now"], lambda *_: None), False
    )
    for worker in inside_client.cluster.workers.values():
        vars(worker).pop("scheduler_delay", None)

    def work(now_s: float) -> object:
        guesses["now"] = now_s
        try:
            return inside_client.submit(time.sleep, 0.03, pure=False).result()
        finally:
            guesses["now"] = afterwards_s

    _, trace = seen.recorded(lambda: [work(now_s) for now_s in runs])

    executions = [span for span in trace.spans if span.stage == "dask.execute"]
    edges = sorted((span.start_ns, span.end_ns) for span in executions)
    ordered = [at for pair in edges for at in pair]
    assert count_calls(executions) == len(runs)
    assert ordered == sorted(ordered)  # one after the other
    assert 0 <= ordered[0] < ordered[-1] <= trace.wall_ns


def test_a_client_that_is_made_and_closed_in_the_recording_is_seen_on_its_cluster(
    outside_client: Client,
) -> None:
    """As in a script: its first graph brings agents, its close waits for what they noted."""

    def made() -> object:
        address = outside_client.scheduler.address
        with Client(address, set_as_default=False) as client:
            return client.submit(operator.neg, 5, pure=False).result()

    value, trace = seen.recorded(made)

    assert value == -5
    assert seen.probe(trace, "dask").level == "scheduler and workers"
    assert seen.row(trace, "dask.execute").count == 1
    assert seen.has_row(trace, "dask.schedule")


def test_a_failed_import_shows_no_frame_of_ours(outside_client: Client) -> None:
    """Neither here nor on a worker: the traceback is the one that the user would get."""

    def load() -> list[str]:
        import traceback

        try:
            import a_module_that_nobody_has  # type: ignore[import-not-found]  # noqa: F401
        except ImportError as error:
            return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        return []

    files, _ = seen.recorded(lambda: [load(), outside_client.submit(load, pure=False).result()])

    assert [len(some) for some in files] == [1, 1]


def test_first_use_imports_of_others_are_named_apart(outside_client: Client) -> None:
    """What a worker imports to unpickle its first task is not blamed on the specification."""

    def forget() -> None:
        sys.modules.pop("colorsys", None)

    outside_client.run(forget)

    value, trace = seen.recorded(
        lambda: outside_client.submit(colorsys.rgb_to_hsv, 1, 1, 1, pure=False).result()
    )

    assert value == colorsys.rgb_to_hsv(1, 1, 1)
    imports = [span for span in trace.spans if span.name == "import colorsys"]
    assert imports
    assert all(span.lane.startswith(("worker", "scheduler")) for span in imports)


def test_a_cluster_without_workers_is_told_while_the_cell_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line stands there before the first worker comes, once, and in the document."""
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        record() as recording,
    ):
        future, said = client.submit(int), ""
        for _ in range(200):
            said += capsys.readouterr().err
            if "no worker" in said:
                break
            time.sleep(0.1)
        with pytest.raises(ComputationTimeoutError, match=r"No worker is there: client\.cluster"):
            graphstages(dask.delayed(int)(), timeout=0.5)
        cluster.scale(1)
        assert future.result() == 0

    assert said.count("no worker: nothing can run; client.cluster.scale(2)") == 1
    assert "dask: there was no worker: nothing could run" in recording.trace.quality.notes
