"""A ladder, not a cliff: names that a Ray lacks take their part away, and the document says so."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from jupyter_serprof.probes import ray_selftest
from probes.seen import has_row, probe, recorded, row, spans

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


@pytest.fixture(autouse=True)
def _untested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins in a process that has not tested itself yet."""
    monkeypatch.setattr(ray_selftest, "_ANSWERS", [])


@pytest.fixture
def _any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is seen counts, not how much of the time: a busy machine takes its part of that."""
    monkeypatch.setattr(ray_selftest, "_SEEN_SHARE", 0.0)


def _take_away(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Move a method elsewhere, as another version of Ray might: calls work, the name is gone."""
    moved = vars(owner)[name]
    inherited = getattr(owner, "__getattr__", None)

    def find(self: object, wanted: str) -> object:
        if wanted == name:
            return moved.__get__(self)
        if inherited is None:
            raise AttributeError(wanted)
        return inherited(self, wanted)

    monkeypatch.delattr(owner, name)
    monkeypatch.setattr(owner, "__getattr__", find, raising=False)


def _roundtrip() -> Any:
    import ray

    return ray.get(ray.put(np.arange(100_000)))


@pytest.mark.usefixtures("_any_share")
def test_without_the_pickle_step_the_wrappers_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """One missing name merges its time into the stage around it; the level drops by one."""
    # given
    from ray._private.serialization import SerializationContext

    _take_away(monkeypatch, SerializationContext, "_serialize_to_pickle5")
    # when
    array, trace = recorded(_roundtrip)
    # then
    assert array.sum() == 4_999_950_000
    assert probe(trace).level == "wrappers"
    assert probe(trace).unseen == (
        "SerializationContext._serialize_to_pickle5 (not in this version)",
    )
    assert has_row(trace, "ray.store")
    assert has_row(trace, "ray.msgpack")


@pytest.mark.usefixtures("_any_share")
def test_without_put_object_the_public_names_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the wrappers lost put, ray.put itself is watched: the whole of it is still timed."""
    # given
    from ray._private.worker import Worker

    _take_away(monkeypatch, Worker, "put_object")
    # when
    array, trace = recorded(_roundtrip)
    # then
    assert array.sum() == 4_999_950_000
    assert probe(trace).level == "outer"
    assert probe(trace).unseen[0] == "Worker.put_object (not in this version)"
    assert [span.name for span in spans(trace, "ray.store")] == ["put"]
    assert row(trace, "ray.store").self_ns > 0


@pytest.mark.usefixtures("_any_share")
def test_a_blind_probe_finds_out_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that exist but are no longer called: a trial put tells, and the document says it."""
    # given
    from ray._private import worker as ray_worker

    monkeypatch.setattr(
        ray_worker.Worker, "put_around", vars(ray_worker.Worker)["put_object"], raising=False
    )
    put = inspect.unwrap(ray_worker.put)
    names = ["put_around" if name == "put_object" else name for name in put.__code__.co_names]
    monkeypatch.setattr(put, "__code__", put.__code__.replace(co_names=tuple(names)))
    # when
    array, first = recorded(_roundtrip)
    _, second = recorded(_roundtrip)
    # then
    assert array.sum() == 4_999_950_000
    assert probe(first).level == "outer"
    assert any("went by unseen" in entry for entry in probe(first).unseen)
    assert [span.name for span in spans(second, "ray.store")] == ["put"]


def test_a_busy_machine_is_not_blindness(monkeypatch: pytest.MonkeyPatch) -> None:
    """One good attempt of many is enough; it is the last one."""
    # given
    shares = iter([0.1] * 15 + [0.95])
    roles = ray_selftest._EXPECTED_ROLES
    monkeypatch.setattr(ray_selftest, "_put_and_get", lambda: (roles, next(shares)))
    # when
    answer = ray_selftest._try()
    # then
    assert answer == ""


def test_a_poor_share_is_said_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all attempts see little, the document says how much goes by."""
    # given
    roles = ray_selftest._EXPECTED_ROLES
    monkeypatch.setattr(ray_selftest, "_put_and_get", lambda: (roles, 0.4))
    # when
    answer = ray_selftest._try()
    # then
    assert answer.startswith("60%")


def test_without_task_events_the_driver_is_still_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ray that keeps its task events elsewhere loses the workers' lanes, and says so."""
    # given
    import ray
    from ray._private.state import GlobalState

    @ray.remote
    def one() -> int:
        return 1

    for name in ("_get_all_task_events", "_connect_and_get_accessor"):
        monkeypatch.delattr(GlobalState, name)
    # when
    value, trace = recorded(lambda: ray.get(one.remote()))
    # then
    assert value == 1
    assert has_row(trace, "ray.submit")
    assert not has_row(trace, "ray.execute")
    assert any(entry.startswith("the road of tasks") for entry in probe(trace).unseen)


def test_a_failing_read_of_events_loses_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """If reading the events fails, what the driver measured stays, with its sizes."""
    # given
    import ray
    from ray._private.state import GlobalState

    @ray.remote
    def one() -> int:
        return 1

    def fail(_: object) -> None:
        message = "no events today"
        raise RuntimeError(message)

    monkeypatch.setattr(GlobalState, "_get_all_task_events", fail)
    # when
    _, trace = recorded(lambda: ray.get(one.remote()))
    # then
    assert has_row(trace, "ray.submit")
    assert row(trace, "ray.fetch").size_bytes is not None
    assert any("no events today" in entry for entry in probe(trace).unseen)
