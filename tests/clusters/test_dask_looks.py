"""What a line says of a cluster while it works, and why nothing moves: each state made for real."""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call"

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed
from distributed import Client, Event, LocalCluster

from clusters import seen
from clusters.outside import outside_cluster
from jupyter_serprof.api import record
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.model.trace import NO_WORKER
from jupyter_serprof.probes.dask.cluster import has_no_worker

KIND: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}


class Watcher:
    """Waits until a line has all these words, then lets what is stuck go on."""

    def __init__(self, words: str, then: Callable[[], object]) -> None:
        self.said, self.heard, self._words, self._then = "", "", words.split(" ... "), then

    def __call__(self, facts: LiveFacts) -> None:
        self.heard += f"{facts}\n"
        if not self.said and all(word in f"{facts}\n" for word in self._words):
            self.said, self.guessed = str(facts), facts.guessed
            threading.Thread(target=self._then).start()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "AFTER_S", 0.1)
    monkeypatch.setattr(live, "STILL_S", 0.3)
    Slow.gate.clear()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=2, **KIND) as cluster, Client(cluster) as made:
        yield made


@pytest.fixture
def gate(client: Client) -> Event:
    made = Event("gate", client=client)
    made.clear()
    return made


def through(value: int) -> int:
    Event("gate").wait(60)
    return value


def limit(paused: float, spilled: float = 0.7, *, dask_worker: Any) -> None:
    """Set from which share of its memory on a worker pauses, and spills."""
    manager = dask_worker.memory_manager
    manager.memory_pause_fraction = paused
    manager.memory_spill_fraction = manager.memory_target_fraction = spilled


@pytest.mark.parametrize("is_local", [True, False])
def test_tasks_are_counted_while_the_thread_is_blocked(gate: Event, is_local: bool) -> None:
    opened = threading.Event() if is_local else gate
    passing = (lambda value: opened.wait(60) and value) if is_local else through
    watcher = Watcher("Execution: 11 of 12 tasks, ", opened.set)
    graph = delayed(passing)(delayed(sum)([delayed(abs)(at) for at in range(10)]))

    with record("counted", live=watcher):
        graph.compute(**{"scheduler": "threads"} if is_local else {})

    assert watcher.said


GPU: dict[str, Any] = {"resources": {"GPU": 2}}


@pytest.mark.parametrize(
    ("share", "asked", "words"),
    [
        (0.9, GPU, "; 1 task asks for GPU 2: none of 2 workers fits"),
        (0.9, {"workers": "tcp://10.9.8.7:6"}, "for a worker at tcp://10.9.8.7:6: none of 2 "),
        (0.9, {"workers": "10.9.8.7"}, "; 1 task asks for a worker at 10.9.8.7: none of 2 "),
        (1e-6, GPU, "; 2 of 2 workers paused, memory  ...  % full, 4.00 MB are spilled; 1 task "),
        (0.9, GPU, "; workers spill to disk, 4.00 MB by now; 1 task asks "),
    ],
)
def test_what_keeps_a_task_from_workers_is_told(
    client: Client, share: float, asked: dict[str, Any], words: str
) -> None:
    """Its worker is there no more, or has other things to do than before."""
    limits = share, 1e-6 if "spill" in words else 0.7
    future: Any = None
    held = client.map(np.full, [250_000] * 2, [share] * 2, pure=False)
    client.gather(client.map(len, held))
    held.append(client.submit(abs, -1, pure=False, resources={"TPU": 1}))  # not waited for
    begin = Watcher("Execution: 0 of 1 task, ", lambda: client.run(limit, *limits))
    watcher = Watcher(words, lambda: client.run(limit, 0.9, 0.7) and future.cancel())
    tell = lambda facts: list(map(Watcher.__call__, (begin, watcher), (facts, facts)))  # noqa: E731

    with record("kept", live=tell), suppress(Exception):
        future = client.submit(abs, -1, pure=False, **asked)
        future.result(60)
    client.cancel(held)

    assert watcher.said


def test_paused_workers_are_no_wish_of_a_task(client: Client) -> None:
    words = "Waiting: 0 of 1 task, ... ; 2 of 2 workers paused, "
    watcher = Watcher(words, lambda: client.run(limit, 0.9))
    client.run(limit, 1e-6)
    while {one["status"] for one in client.scheduler_info()["workers"].values()} != {"paused"}:
        client.sync(asyncio.sleep, 0.05)

    with record("paused", live=watcher):
        client.submit(abs, -1, pure=False).result(60)

    assert "fits" not in watcher.said


def test_why_what_was_sent_before_does_not_come_is_told(client: Client) -> None:
    future = client.submit(abs, client.submit(abs, -1, pure=False, **GPU), pure=False)
    other = client.map(abs, range(2), workers=["tcp://10.9.8.7:1"], pure=False)
    watcher = Watcher("Wait for the cluster, ... ; 1 task asks for GPU 2: none ", future.cancel)

    with record("before", live=watcher), suppress(Exception):
        client.gather([future])
    client.cancel(other)

    assert watcher.said
    assert "10.9.8.7" not in watcher.heard


def test_a_scheduler_busy_at_first_and_a_long_task_are_told(client: Client, gate: Event) -> None:
    """What it took in before our agent came is counted, but for what was sent before."""
    free = threading.Event()
    busy = Watcher("; the scheduler is busy: it has not answered for ", free.set)
    counts = Watcher("Execution: ... of 9 tasks, ", gate.set)
    long = Watcher("; through runs for  ...  times as long as usual", gate.set)
    tell = lambda facts: [watcher(facts) for watcher in (busy, counts, long)]  # type: ignore[func-returns-value]  # noqa: E731
    earlier = client.submit(through, 9, pure=False)  # noqa: F841
    client.loop.add_callback(free.wait, 60)  # type: ignore[union-attr]

    with dask.config.set({"serprof.patience": 0.1}), record("late", live=tell) as late:
        client.gather(client.map(through, range(9), pure=False))
        gate.clear()
        client.submit(through, 9).result(60)

    assert all((busy.said, counts.said, long.said))
    assert seen.column(late.trace, "dask.tasks", "count") == [10]


def test_a_cluster_without_workers_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the line, with the user's own name; where there is none, on stderr."""
    with LocalCluster(n_workers=0, processes=False, **KIND) as cluster, Client(cluster) as client:
        monkeypatch.setattr(sys.modules["__main__"], "mine", client, raising=False)
        watcher = Watcher("; no worker is there: mine.cluster.scale(2)", partial(cluster.scale, 1))
        asked = threading.Semaphore(0)
        likely = "jupyter_serprof.probes.dask.cluster.has_no_worker"
        monkeypatch.setattr(likely, lambda one: (asked.release(), has_no_worker(one))[1])  # type: ignore[func-returns-value]

        before = client.submit(abs, 2)
        with record("alone") as alone:  # waits for something else
            assert all(asked.acquire(timeout=20) for _ in range(2))
        with record("none", live=watcher):
            before.result(60)

    assert watcher.said
    assert NO_WORKER not in f"{alone.trace.quality.notes}"
    assert "no worker" not in capfd.readouterr().err


def test_a_worker_that_is_silent_is_told(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is sent imports a module, in a thread that hears nothing meanwhile."""
    monkeypatch.setitem(sys.modules, "slowly", module := ModuleType("slowly"))
    exec(body := "def same(value): return value", vars(module))  # noqa: S102
    os.mkfifo(gate := tmp_path / "gate")
    (tmp_path / "slowly.py").write_text(f"open({str(gate)!r}).read()\n{body}")
    client.run(exec, f"import sys; sys.path.append({str(tmp_path)!r})", {})
    address = next(iter(client.run(os.getpid)))
    words = "Waiting: ... ; 1 of 2 workers silent for ... s: imports or "
    watcher = Watcher(words, partial(gate.write_text, ""))

    with record("silent", live=watcher):
        client.submit(module.same, 7, workers=[address]).result(60)

    assert watcher.said


class Slow:
    """Is optimized, or pickled, when the gate is open."""

    gate = threading.Event()

    @classmethod
    def optimize(cls, graph: object, *_: object, **__: object) -> object:
        cls.gate.wait(60)
        return graph

    def __dask_tokenize__(self) -> str:
        return "slow"

    def __reduce__(self) -> tuple[type, tuple[()]]:
        self.gate.wait(60)
        return int, ()


def optimize(client: Client) -> None:
    with dask.config.set(array_optimize=Slow.optimize):
        client.compute(da.ones(2, chunks=1), sync=True)


def send(client: Client) -> None:
    client.submit(len, [np.ones(100_000), Slow()], pure=False).result(60)


@pytest.mark.parametrize(
    ("words", "run"),
    [
        ("Graph optimization, ... ; the scheduler has been at ... 3 tasks: under 1 s)", optimize),
        ("Pickle, ... ; in Slow.__reduce__, 800 kB so far", send),
        ("Pickle, ... ; in Slow.__reduce__", lambda _: cloudpickle.dumps(Slow())),
    ],
)
def test_what_is_done_to_a_graph_is_told(
    client: Client, words: str, run: Callable[[Client], None]
) -> None:
    watcher = Watcher(words, Slow.gate.set)

    with record("graph", live=watcher):
        run(client)

    assert watcher.said


@pytest.mark.filterwarnings("ignore:Sending large graph")
def test_processes_that_die_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    press = partial(signal.pthread_kill, threading.get_ident(), signal.SIGINT)
    with outside_cluster(tmp_path, 2) as outside, Client(outside.address) as client:
        deaths = Watcher("; workers die with exit (2 times); no worker is there", press)
        client.wait_for_workers(2)
        with pytest.raises(KeyboardInterrupt), record("dies", live=deaths) as recording:
            client.submit(os._exit, 1, pure=False).result(60)
        words = "; the scheduler is busy: it has not answered for  ... MB are not sent "
        watcher = Watcher(words, outside.scheduler.kill)  # nobody will answer
        with record("busy", live=watcher), suppress(Exception):
            outside.scheduler.send_signal(signal.SIGSTOP)
            with suppress(Exception):
                client.submit(len, bytes(20_000_000)).result(60)
            monkeypatch.setitem(dask.config.config, "serprof", {"patience": 2})
            client.submit(pow, 2, 4).result(1)

    assert "stopped: workers die with exit (2 times), " in recording.trace.summary.headline  # type: ignore[union-attr]
    assert watcher.said
