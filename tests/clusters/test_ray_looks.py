"""What a line says of Ray's tasks, and why nothing moves: each state made for real."""

import io
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ray

from clusters.test_dask_looks import Watcher
from clusters.test_stops import LINE, MAIN, line_of, stopped
from jupyter_serprof.api import record
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.model.trace import STAYED
from jupyter_serprof.probes.ray import looks

pytestmark = pytest.mark.usefixtures("cluster")
#: Workers do not find this file.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # ray


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What tasks wait for, without giving their core back; all is told soon."""
    monkeypatch.setattr(live, "AFTER_S", 0.1)
    monkeypatch.setattr(live, "STILL_S", 0.3)
    monkeypatch.setattr(looks, "_EVERY_S", 0.3)
    return tmp_path / "gate"


def wait(gate: Path | None, *_: object) -> int:
    until = time.monotonic() + 40  # where no line says what it should
    while gate is not None and not gate.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return 1


through: Any = ray.remote(wait)
#: An actor that does one thing after the other.
Clerk: Any = ray.remote(type("Clerk", (), {"serve": staticmethod(wait)}))


def python_behind(gate: Path) -> str:
    """Return a Python that begins when a gate is open: so long its worker is being started."""
    script = gate.with_suffix(".sh")
    opened = f"timeout 40 sh -c 'until [ -e {gate} ]; do sleep 0.05; done'"
    script.write_text(f'{opened}; exec {sys.executable} "$@"')
    return f"sh {script}"


def archive_behind(gate: Path) -> str:
    """Return the address of a folder that nobody has read when a gate is open."""
    os.mkfifo(folder := gate.with_suffix(".zip"))
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.writestr("packed/empty.txt", "")

    def give() -> None:
        wait(gate)
        folder.write_bytes(packed.getvalue())

    threading.Thread(target=give).start()
    return f"file://{folder}"


#: What the line says, and what is waited for meanwhile.
STATES: dict[str, Callable[[Path], list[Any]]] = {
    "Wait and fetch: 3 of 4 tasks, ": lambda gate: [
        through.remote(each) for each in (gate, None, None, None)
    ],
    # Others that ask for what a task has wait for its end: it is the one cause.
    "; wait runs for  ... s, imports and arguments included\n": lambda gate: [
        through.remote(gate) for _ in range(4)
    ],
    "; wait runs for  ... ; 1 task asks for 2 CPU, 1 CPU free": lambda gate: [
        through.remote(gate),
        through.options(num_cpus=2).remote(None),
    ],
    "; serve runs for  ... , 3 calls in the queue of its actor": lambda gate: list(
        map(Clerk.remote().serve.remote, (gate, None, None, None))
    ),
    "; 1 task waits for what other tasks make": lambda gate: [
        through.remote(None, through.remote(gate))
    ],
    "Wait and fetch: 20 of 21 tasks ... ; wait runs for  ... times as long as usual": lambda gate: [
        through.remote(each) for each in (*[None] * 20, gate)
    ],
    "; a runtime environment is being made, for ": lambda gate: [
        through.options(runtime_env={"working_dir": archive_behind(gate)}).remote(gate)
    ],
    "; a worker process is being started, for ": lambda gate: [
        through.options(runtime_env={"py_executable": python_behind(gate)}).remote(gate)
        for _ in range(2)  # as many as there are CPUs: none is free, and nobody else has them
    ],
    # What waits for ever is the last one; nothing else needs its answer.
    "; 1 task asks for 64 CPU, no node has more than 2 CPU (infeasible)": lambda gate: [
        through.remote(gate),
        through.options(num_cpus=64).remote(None),
    ][:1],
}


@pytest.mark.parametrize("words", STATES)
def test_a_state_of_tasks_is_told(gate: Path, words: str) -> None:
    """Of those of this recording: what was submitted before, and is not awaited, is none of it."""
    before = through.options(num_cpus=0).remote(gate)
    big = through.options(num_cpus=63).remote(None)
    watcher = Watcher(words, gate.touch)

    with record("wait", live=watcher):
        ray.get(STATES[words](gate))

    assert ray.get(before) == 1
    with record("else") as other:
        ray.get(ray.put(1))
    assert "had not reported" not in str(other.trace.quality)
    ray.cancel(big)
    assert "63 CPU" not in watcher.said
    assert "process" not in words or " CPU free" not in watcher.heard
    # Of what runs longer than all before it nobody foresees the end.
    assert "as long" not in words or watcher.guessed == 1.0
    assert watcher.said


@pytest.mark.usefixtures("gate")
def test_a_get_that_times_out_says_what_no_node_has() -> None:
    """Without a line, which would have told it."""
    with pytest.raises(ray.exceptions.GetTimeoutError), record("given up") as recording:
        ray.get(through.options(num_gpus=2).remote(None), timeout=2.0)

    assert recording.trace is not None
    assert recording.trace.summary is not None
    assert (
        "1 task asks for 2 GPU, no node has more than 0 GPU (infeasible)"
        in recording.trace.summary.headline
    )
    missed = [said for probe in recording.trace.quality.probes for said in probe.unseen]
    assert not [said for said in missed if "1 of 1 task" in said]


@pytest.mark.parametrize("detail", [False, True])
def test_what_was_sent_before_is_counted_where_it_is_awaited(gate: Path, detail: bool) -> None:
    refs = [through.remote(gate) for _ in range(2)]
    watcher = Watcher(": 0 of 2 tasks, ... ; wait runs for ", gate.touch)

    with record("before", live=watcher, detail=detail):
        ray.get(refs)

    assert watcher.said


def test_calls_sent_before_are_in_the_queue_of_an_actor(gate: Path) -> None:
    serve = Clerk.remote().serve
    before = serve.remote(gate)
    words = "; serve, sent before, runs for  ... , 2 calls in the queue of its actor"
    watcher = Watcher(words, gate.touch)

    with record("queue", live=watcher):
        ray.get([serve.remote(None), serve.remote(None)])

    assert watcher.said
    assert ray.get(before) == 1


def test_a_call_that_is_over_is_not_told_of_where_the_gcs_has_not_heard(gate: Path) -> None:
    """It hears of an end a second later; the driver knows."""
    refs = list(map(Clerk.remote().serve.remote, (gate, None)))
    first, second = (frozenset([ref.task_id().binary()]) for ref in refs)

    until = time.monotonic() + 40
    while "serve runs for" not in looks._why(first | second, frozenset(), (), 0.0):
        assert time.monotonic() < until

    assert looks._why(second, frozenset(), (), 0.0) == ""
    assert "sent before, runs" in looks._why(second, first, (), 0.0)
    gate.touch()
    assert ray.get(refs) == [1, 1]


#: What is waited for, and goes on when it is stopped; 2 CPUs are there.
LEFT: dict[str, Callable[[Path], list[Any]]] = {
    "wait runs for ": lambda gate: [through.remote(gate)],
    # It stays when its caller is over.
    ", 2 calls in the queue of its actor": lambda gate: [
        *map(MAIN.setdefault("actor", Clerk.remote()).serve.remote, [gate, None, None])
    ],
    "no node has more than 2 CPU": lambda _: [through.options(num_cpus=64).remote(None)],
}


@pytest.mark.parametrize("words", LEFT)
def test_what_ray_goes_on_with_is_cancelled_by_the_line(
    gate: Path, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A call that an actor has begun goes on, those behind it do not."""
    refs = list[Any]()

    def run() -> None:
        refs.extend(LEFT[words](gate))
        ray.get(refs)

    trace = stopped(words, run)
    said = str((trace.summary, *[probe for probe in trace.quality.probes if probe.name == "ray"]))
    assert "no node has" not in words or (words in said and "of 1 tasks" not in said)
    exec(line := line_of(trace), {})  # noqa: S102  (a line of ours)
    if "queue" in words:  # a task may see it before it is ended
        gate.touch()
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
        ray.get(refs[-1], timeout=30)

    assert (capfd.readouterr().err, line) == ("", LINE)


@pytest.mark.parametrize("detail", [False, True])
def test_what_no_variable_refers_to_is_kept_to_be_cancelled(gate: Path, detail: bool) -> None:
    """By force: a task that sleeps hears nothing else, and the next one needs its cores."""
    two = through.options(num_cpus=2)

    trace = stopped(
        "wait runs for ",
        lambda: ray.get([two.remote(gate), *([two.remote(None) for _ in range(3)][:1])]),
        detail=detail,
    )
    exec(line_of(trace), {})  # noqa: S102  (a line of ours)

    assert trace.summary is not None
    assert f"4 tasks of Ray{STAYED}{LINE}  # 2 without a reference go on" in trace.summary.facts
    assert ray.get(two.remote(None), timeout=60) == 1
    with record("next"):
        assert looks.UNNAMED == []
