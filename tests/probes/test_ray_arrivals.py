"""Arrivals of arguments: what of a task's wait is their pull, and what is for others in front."""

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray  # noqa: F401  (is there wherever tasks were sent)

from jupyter_serprof.probes.ray.agent import copies, meter
from jupyter_serprof.probes.ray.arrivals import Arrivals, Sightings

MS, _STEADY = 1_000_000, ((0, 0), (1_000, 100_000))
AT, _UNTIL_900 = {b"freed": "first"}, ((0, 0), (900, 90_000), (1_000, 90_000))


@pytest.mark.parametrize(
    ("series", "came", "legs"),
    [
        (_STEADY, {b"a": (1_000, 100_000)}, [("pull", 0, 1_000)]),
        (_STEADY, {b"a": (800, 40_000)}, [("queue", 0, 400), ("pull", 400, 800)]),
        (_STEADY, {b"a": (400, 40_000), b"b": (800, 40_000)}, [("pull", 0, 800)]),
        (((0, 0), (600, 0), (1_000, 40_000)), {b"a": (1_000, 40_000)}, [("pull", 600, 1_000)]),
        ((), {b"a": (500, 40_000)}, [("pull", 0, 500)]),
        (_STEADY, {b"a": (-5, 40_000), b"b": (0, 0)}, []),
        (_UNTIL_900, {b"freed": (0, 40_000)}, [("queue", 0, 500), ("pull", 500, 900)]),
        ((), {b"freed": (0, 40_000)}, []),
    ],
    ids=["alone", "behind", "two", "idle", "no wire", "was there", "freed soon", "not seen"],
)
def test_a_pull_is_the_last_bytes_that_came(
    series: tuple[Any, ...], came: dict[bytes, tuple[int, int]], legs: list[tuple[Any, ...]]
) -> None:
    """100 bytes a millisecond, and a task that waits for a second."""
    seen = Sightings()
    wire = {"series": {"node": [(at * MS, count) for at, count in series]}, "links": {}}
    sizes = {one: size for one, (_, size) in came.items()}
    there = {(one, AT.get(one, "node")): at * MS for one, (at, _) in came.items()}
    seen.add({"given": {b"task": (*came,)}, "came": there, "sizes": sizes, **wire, "files": []})

    pulls = seen.pulls(b"task", "node", 0, 1_000 * MS)

    legs_ms = [(leg.stage.rpartition(".")[2], leg.start // MS, leg.end // MS) for leg in pulls]
    assert legs_ms == legs
    assert seen.pulls(b"task", "other", 0, 1_000 * MS) == []


def test_a_kernel_that_does_not_answer_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody waits for it any more, and the document says what is missing for that."""
    ours, kernels = socket.socketpair()
    fake = {**vars(socket), "AF_NETLINK": 0, "socket": lambda *_: ours}
    monkeypatch.setattr(meter, "socket", SimpleNamespace(**fake))
    monkeypatch.setattr(meter, "_ANSWER_S", 0.001)
    arrivals = Arrivals()
    made = arrivals.meters[""] = meter.Meter(str(tmp_path), lambda: 1.0)

    made.count({("127.0.0.1", 1): "a", ("127.0.0.1", 2): "b"}, "a")

    made.stop()
    with ours, kernels:
        assert len(kernels.recv(1_000)) == meter._QUESTION.size
    assert made.wire is None
    assert arrivals.unseen() == ["bytes between nodes and files of spilled objects (TimeoutError)"]


@pytest.mark.parametrize(
    ("devices", "link"),
    [
        ({"eth0": ("up", "10000")}, 1_250_000_000),
        ({"eth0": ("up", "10000"), "eth1": ("down", "-1")}, 1_250_000_000),
        ({"eth0": ("up", "10000"), "eth1": ("up", "1000")}, None),
        ({"eth0": ("up", "-1")}, None),
        ({"eth0": ("up", "")}, None),
        ({}, None),
    ],
    ids=["one", "one without a cable", "two", "virtual", "wireless", "none"],
)
def test_the_link_of_a_machine_is_known_where_it_has_one(
    devices: dict[str, tuple[str, str]],
    link: int | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """As Linux tells of its devices; a bridge or a tunnel has no hardware."""
    for name, (state, speed) in {"bridge": ("up", "100"), **devices}.items():
        (tmp_path / name / ("device" if name in devices else "bridge")).mkdir(parents=True)
        (tmp_path / name / "operstate").write_text(f"{state}\n")
        (tmp_path / name / "speed").write_text(f"{speed}\n")
    monkeypatch.setattr(meter, "_DEVICES", tmp_path)

    assert meter.link_bytes_per_s() == link


def test_an_object_freed_while_we_look_keeps_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = copies.Copies({b"task"}.copy)
    seen._open[b"task"] = (b"object",)

    for size in (800, None):
        told = {b"object": {"object_size": size, "node_ids": ["far"]}}
        monkeypatch.setattr(copies, "places_of", lambda _, told=told: told)
        seen.look()

    assert seen.sizes == {b"object": 800}
