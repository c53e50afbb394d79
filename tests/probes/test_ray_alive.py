"""Whether Ray's processes live: told by the system, without a call into Ray."""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.experiments.engine.machine import _store_free_bytes
from jupyter_serprof.experiments.roundtrip.by_ray import Ray
from jupyter_serprof.probes.ray import alive
from jupyter_serprof.probes.ray.alive import is_alive
from jupyter_serprof.probes.ray.driver import RayDriverProbe, _judge_witnesses
from jupyter_serprof.probes.ray.waits import split_get


def _called(*_: object, **__: object) -> None:
    pytest.fail("Ray was called, and may end the process")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A Ray that is initialized, and that nobody may call; its node is to be given."""
    names = ("put", "get", "wait", "cluster_resources", "available_resources")
    ray = SimpleNamespace(is_initialized=lambda: True, **dict.fromkeys(names, _called))
    worker = SimpleNamespace(global_worker=SimpleNamespace(node=None))
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray._private.worker", worker)
    ray.worker = worker.global_worker
    return ray


@pytest.fixture
def living(ray: SimpleNamespace, tmp_path: Path) -> Iterator[dict[str, socket.socket]]:
    """A raylet and a GCS; whoever greets them is answered until they are stopped."""
    with ExitStack() as stack:
        raylet = stack.enter_context(socket.socket(socket.AF_UNIX))
        raylet.bind(str(tmp_path / "raylet"))
        raylet.listen()
        living = {"raylet": raylet}
        for name in ("manager", "GCS"):
            living[name] = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            Thread(target=_answer, args=(living[name],), daemon=True).start()
        manager, gcs = (living[name].getsockname()[1] for name in ("manager", "GCS"))
        ray.worker.node = SimpleNamespace(
            raylet_socket_name=str(tmp_path / "raylet"),
            node_ip_address="127.0.0.1",
            node_manager_port=manager,
            gcs_address=f"127.0.0.1:{gcs}",
        )
        yield living


def _answer(server: socket.socket) -> None:
    with suppress(OSError):  # closed: it died
        while True:
            with server.accept()[0] as line:
                line.sendall(line.recv(3))


def _kill(process: socket.socket) -> None:
    with suppress(OSError):
        process.shutdown(socket.SHUT_RDWR)
    process.close()


def _stop(node: SimpleNamespace, name: str) -> socket.socket:
    """Put another in its place, which takes connections and says nothing, as a stopped one."""
    deaf = socket.create_server(("127.0.0.1", 0))
    if name == "GCS":
        node.gcs_address = f"127.0.0.1:{deaf.getsockname()[1]}"
    else:
        node.node_manager_port = deaf.getsockname()[1]
    return deaf


CASES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "all live": ([], [], []),
    "one dies": ([], ["raylet"], ["Ray's raylet died during the recording"]),
    "both die": ([], ["raylet", "GCS"], ["Ray's raylet and GCS died during the recording"]),
    "one was dead": (["GCS"], ["GCS"], ["Ray's GCS was dead before the recording began"]),
    "one is stopped": ([], ["stop GCS"], ["Ray's GCS does not answer"]),
    "both are stopped": (["stop raylet", "stop GCS"], [], ["Ray's raylet and GCS does not answer"]),
}


@pytest.mark.parametrize(("before", "after", "said"), CASES.values(), ids=CASES)
def test_a_recording_says_which_process_of_ray_is_silent(
    before: list[str],
    after: list[str],
    said: list[str],
    ray: SimpleNamespace,
    living: dict[str, socket.socket],
) -> None:
    """What waits for a dead process looks like slow work; whoever reads it is told."""
    probe, run = RayDriverProbe(), Page(0, 1, 0, [], {})
    deaf = []

    def strike(names: list[str]) -> None:
        for name in names:
            word, _, stopped = name.partition(" ")
            deaf.append(_stop(ray.worker.node, stopped)) if stopped else _kill(living[word])

    strike(before)
    probe.arm(Recorder([]))
    probe.remove()
    strike(after)
    probe.refine(run)

    assert [note.partition(":")[0] for note in run.notes] == said
    assert is_alive() is (not said)
    for each in deaf:
        each.close()


@pytest.mark.parametrize("is_pressed", [False, True], ids=["too late", "Ctrl-C"])
def test_who_does_not_answer_is_left_to_himself(
    is_pressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that hangs, hangs alone: the others go on, and what it says later goes nowhere."""
    may_answer, answered = Event(), Event()

    def ask() -> None:
        may_answer.wait()
        answered.set()

    monkeypatch.setattr(alive, "is_pressed", lambda: is_pressed)
    until = float("inf") if is_pressed else 0.0
    with pytest.raises(InterruptedError if is_pressed else TimeoutError):
        alive.asked(ask, until)

    assert not answered.is_set()
    may_answer.set()
    assert answered.wait(60)


@pytest.mark.parametrize(
    ("inside", "hidden", "stands_for_itself"),
    [
        (("ray.put", "ray.serialize"), {}, False),
        (("ray.put",), {"ray.serialize": 3}, False),
        ((), {"ray.put": 3, "ray.serialize": 3}, True),
    ],
)
def test_what_a_hook_sees_is_told_by_the_puts_of_the_user(
    inside: tuple[str, ...], hidden: dict[str, int], stands_for_itself: bool
) -> None:
    """Three puts were made; what none of them showed is hidden, and nothing is put to find out."""
    drafts: list[Draft] = []
    for at in range(3):
        put = Draft("ray.store", "put", "client/main", at, at + 1, "ray.outer")
        drafts.append(put)
        for role in inside:
            drafts.append(Draft("", "", put.lane, at, at + 1, role, drafts[-1]))

    made = _judge_witnesses(drafts)

    assert made == hidden
    assert {draft.is_dropped for draft in drafts if draft.name == "put"} == {not stands_for_itself}


def test_where_nobody_can_say_ray_counts_as_alive(ray: SimpleNamespace) -> None:
    """Ray Client has no node; other systems have other sockets."""
    ray.worker.node = SimpleNamespace(raylet_socket_name="tcp://host:1", gcs_address=None)

    alive = is_alive()

    assert alive


@pytest.mark.parametrize(
    "act",
    [
        _store_free_bytes,
        lambda: split_get((None, [object()]), {}),
        lambda: Ray().round_trip(1) if Ray().state()[0] == "ok" else None,
    ],
    ids=["memory of a sweep", "detail of a get", "round trip"],
)
def test_a_dead_ray_is_asked_nothing(
    act: Callable[[], object], ray: SimpleNamespace, tmp_path: Path
) -> None:
    """A call that the user did not make would end the process, or wait for nobody."""
    gone = str(tmp_path / "raylet")
    ray.worker.node = SimpleNamespace(raylet_socket_name=gone, gcs_address=None)

    act()
