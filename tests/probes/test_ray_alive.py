"""Whether Ray's processes live: told by the system, without a call into Ray."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.experiments.engine.machine import _store_free_bytes
from jupyter_serprof.experiments.roundtrip.by_ray import Ray
from jupyter_serprof.probes.ray.driver import RayDriverProbe, _judge_witnesses, split_get
from jupyter_serprof.probes.ray.tasks import is_alive


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


def _listens(path: Path) -> socket.socket:
    raylet = socket.socket(socket.AF_UNIX)
    raylet.bind(str(path))
    raylet.listen()
    return raylet


@pytest.mark.parametrize("dead", ["", "raylet", "gcs"])
def test_a_refused_connection_is_a_dead_process(
    dead: str, ray: SimpleNamespace, tmp_path: Path
) -> None:
    """Each of the two is needed; the file of its socket outlives a raylet that was killed."""
    raylet, gcs = _listens(tmp_path / "raylet"), socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{gcs.getsockname()[1]}"
    ray.worker.node = SimpleNamespace(
        raylet_socket_name=str(tmp_path / "raylet"), gcs_address=address
    )
    if dead:
        {"raylet": raylet, "gcs": gcs}[dead].close()

    alive = is_alive()

    raylet.close()
    gcs.close()
    assert alive is (not dead)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([], [], []),
        ([], ["raylet"], ["Ray's raylet died during the recording"]),
        ([], ["raylet", "gcs"], ["Ray's raylet and GCS died during the recording"]),
        (["gcs"], ["gcs"], ["Ray's GCS was dead before the recording began"]),
    ],
)
def test_a_recording_says_that_ray_died(
    before: list[str], after: list[str], said: list[str], ray: SimpleNamespace, tmp_path: Path
) -> None:
    """What waits for a dead process looks like slow work; whoever reads it is told."""
    gcs = socket.create_server(("127.0.0.1", 0))
    living = {"raylet": _listens(tmp_path / "raylet"), "gcs": gcs}
    address = f"127.0.0.1:{gcs.getsockname()[1]}"
    ray.worker.node = SimpleNamespace(
        raylet_socket_name=str(tmp_path / "raylet"), gcs_address=address
    )
    probe, run = RayDriverProbe(), Page(0, 1, 0, [], {})
    for name in before:
        living[name].close()

    probe.arm(Recorder([]))
    probe.remove()
    for name in after:
        living[name].close()
    probe.refine(run)

    for each in living.values():
        each.close()
    assert [note.partition(":")[0] for note in run.notes] == said


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
