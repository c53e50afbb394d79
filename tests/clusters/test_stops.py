"""Ctrl-C while a cluster is waited for: heard in silence; what is left is told, with its end."""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call"

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from dask.delayed import delayed
from distributed import Client, Event, Future, LocalCluster, wait

import jupyter_serprof
from clusters.test_dask_looks import KIND, Slow, Watcher, limit, optimize, soon  # noqa: F401  (a fixture)
from jupyter_serprof.api import graphstages, record
from jupyter_serprof.model import Trace
from jupyter_serprof.model.trace import STAYED
from jupyter_serprof.probes.dask import cluster

MAIN: dict[str, Any] = vars(sys.modules["__main__"])
LINE = "import jupyter_serprof as sp; sp.cancel_left()"
#: What Ctrl-C does: the signal comes to the thread that waits.
PRESS = partial(signal.pthread_kill, threading.main_thread().ident or 0, signal.SIGINT)


def stopped(words: str, run: Callable[[], object], *, detail: bool = False) -> Trace:
    """Run something, press Ctrl-C where the line says these words, and return the document."""
    watcher = Watcher(words, PRESS)
    made = record("stopped", live=watcher, detail=detail)
    with pytest.raises(KeyboardInterrupt), made as recording:
        run()
    assert recording.trace.outcome == "interrupted"
    return recording.trace


def line_of(trace: Trace) -> str:
    """Return the line that ends what is left, which stands below the headline."""
    assert trace.summary is not None
    [line] = [line for _, told, line in (n.partition(STAYED) for n in trace.summary.facts) if told]
    assert STAYED not in str(trace.quality.notes)
    return line


def next_to(what: str, client: Client, free: Callable[[], object]) -> None:
    """Run something beside what was stopped, and free its threads where the line tells of it."""
    watcher = Watcher(f"; {what} run on the workers: they hold 2 of 2 threads", free)
    with record("next", live=watcher):
        client.submit(abs, -1, pure=False).result(60)
    assert watcher.said


def through(value: int) -> int:
    Event("stop").wait(20)
    return value


@pytest.fixture
def gate(dask_client: Client) -> Iterator[Event]:
    made = Event("stop", client=dask_client)
    made.clear()
    yield made
    made.set()
    dask_client.run(limit, 0.9)


@pytest.fixture
def mine(dask_client: Client, gate: Event) -> Iterator[Client]:
    """The client, by the name that the user gave it; tasks wait at a gate."""
    assert not gate.is_set()
    MAIN.update(mine=dask_client, gate=gate)
    yield dask_client
    for name in ("mine", "gate", "fs", "sp"):
        MAIN.pop(name, None)


#: What the tasks ask for, from which share on workers pause, and what the line says then.
STATES: dict[str, tuple[dict[str, float] | None, float]] = {
    "through runs for ": (None, 0.9),
    " for GPU 1: none of ": ({"GPU": 1}, 0.9),
    " paused, memory ": (None, 1e-6),
}


@pytest.mark.parametrize("words", STATES)
def test_what_dask_goes_on_with_is_cancelled_by_the_line(
    mine: Client, capfd: pytest.CaptureFixture[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the client has not heard yet of workers that came: nobody says there are none."""
    monkeypatch.setattr(cluster, "has_no_worker", lambda _: True)
    asked, share = STATES[words]
    mine.run(limit, share)

    def run() -> None:
        MAIN["fs"] = mine.map(through, range(3), pure=False, resources=asked)
        mine.gather(MAIN["fs"])

    trace = stopped(words, run)
    said = [one for one in capfd.readouterr().err.splitlines() if "Worker is at" not in one]
    line = line_of(trace)
    end = partial(exec, f"{line}; gate.set()", MAIN)
    next_to("2 tasks of other computations", mine, end) if "through" in words else end()

    assert (line, said) == (LINE, [])
    # The line's last reason stands in the document; the cause, where tasks did not run, is it.
    assert words.strip() in f"{trace.summary if asked else trace.quality.notes}"
    assert {future.status for future in MAIN["fs"]} == {"cancelled"}


def test_a_graph_that_is_taken_in_is_told_to_go_on(mine: Client) -> None:
    trace = stopped("; the scheduler has been at it for ", partial(optimize, mine))
    Slow.gate.set()

    assert [note for note in trace.quality.notes if "was taking in a graph" in note]


def test_what_was_sent_before_and_is_not_waited_for_goes_on(mine: Client) -> None:
    """Also in the same list; the line is short where the module has a name."""
    before = [mine.submit(abs, -1), mine.submit(through, 5, pure=False)]
    wait(before[:1])
    MAIN["fs"] = futures = list[Future[int]](before)
    MAIN["ours"] = jupyter_serprof

    def run() -> None:
        futures.extend(mine.map(through, range(3), pure=False))
        mine.gather(futures[2:])

    line = line_of(stopped("through runs for ", run))
    exec(line, MAIN)  # noqa: S102  (a line of ours)
    del MAIN["ours"]

    assert line == "ours.cancel_left()"
    assert [future.status for future in futures] == ["finished", "pending", *["cancelled"] * 3]


def test_what_was_never_sent_is_not_left(mine: Client) -> None:
    """Its future is pending while the traceback holds it."""
    watcher = Watcher("Pickle, ", PRESS)

    with pytest.raises(KeyboardInterrupt) as held, record("x", live=watcher) as recording:
        delayed(id)(Slow()).compute(scheduler=mine)

    assert held.tb is not None
    assert [note for note in recording.trace.quality.notes if "left on" in note] == []


def test_a_stop_is_silent_and_gives_a_computation_back(
    mine: Client, gate: Event, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each future that was waited for asyncio would tell that nobody took its error."""
    parts = [delayed(through)(at) for at in range(4)]
    before = set(mine.futures)  # of other tests
    restarted: list[Client] = []
    monkeypatch.setattr(Client, "restart", property(lambda one: partial(restarted.append, one)))
    del MAIN["mine"]

    trace = stopped("through runs for ", lambda: delayed(sum)(parts).compute(scheduler=mine))
    next_to("2 cancelled tasks still", mine, gate.set)

    [note] = [one for one in trace.quality.notes if " on the workers, " in one]
    exec(note.removesuffix(" ends all").partition("begun; ")[2], {})  # noqa: S102  (a line of ours)
    assert note.startswith("2 tasks still run on the workers, through for ")
    assert restarted == [mine]
    until = time.monotonic() + 60
    while mine.futures.keys() - before and time.monotonic() < until:  # its loop gives them back
        time.sleep(0.01)
    gc.collect()

    assert mine.futures.keys() - before == set()
    assert "never retrieved" not in caplog.text


def test_a_cluster_without_workers_is_left_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed where the line says it already; a persisted graph is given back."""
    with LocalCluster(n_workers=0, processes=False, **KIND) as cluster, Client(cluster) as client:
        watcher = Watcher("; no worker is there", PRESS)

        with pytest.raises(KeyboardInterrupt):
            graphstages(delayed(sum)([delayed(abs)(-1)]), live=watcher)
        gc.collect()

    assert client.futures == {}
    assert capfd.readouterr().err == ""
