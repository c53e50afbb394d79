"""A ladder, not a cliff: names that a Ray lacks take their part away, and the document says so."""

import inspect
from typing import Any

import numpy as np
import pytest

from clusters.seen import has_row, probe, recorded, row, spans

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


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


def test_without_the_pickle_step_the_wrappers_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """One missing name merges its time into the stage around it; the level drops by one."""
    from ray._private.serialization import SerializationContext

    _take_away(monkeypatch, SerializationContext, "_serialize_to_pickle5")

    array, trace = recorded(_roundtrip)

    assert array.sum() == 4_999_950_000
    assert probe(trace).level == "wrappers"
    assert probe(trace).unseen == (
        "SerializationContext._serialize_to_pickle5 (not in this version)",
    )
    assert has_row(trace, "ray.store")
    assert has_row(trace, "ray.msgpack")


def test_without_put_object_the_public_names_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the wrappers lost put, ray.put itself is watched: the whole of it is still timed."""
    from ray._private.worker import Worker

    _take_away(monkeypatch, Worker, "put_object")

    array, trace = recorded(_roundtrip)

    assert array.sum() == 4_999_950_000
    assert probe(trace).level == "outer"
    assert probe(trace).unseen[0] == "Worker.put_object (not in this version)"
    assert [span.name for span in spans(trace, "ray.store")] == ["put"]
    assert row(trace, "ray.store").self_ns > 0


def test_a_blind_probe_finds_out_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are no longer called: the user's own puts tell, and the document says it."""
    from ray._private import worker as ray_worker

    monkeypatch.setattr(
        ray_worker.Worker, "put_around", vars(ray_worker.Worker)["put_object"], raising=False
    )
    put = inspect.unwrap(ray_worker.put)
    names = ["put_around" if name == "put_object" else name for name in put.__code__.co_names]
    monkeypatch.setattr(put, "__code__", put.__code__.replace(co_names=tuple(names)))

    array, first = recorded(_roundtrip)

    assert array.sum() == 4_999_950_000
    assert probe(first).level == "outer"
    assert probe(first).unseen == ("ray.put (1 put was made, none was seen)",)
    assert [span.name for span in spans(first, "ray.store")] == ["put"]


def test_no_object_is_put_that_the_user_did_not_put(monkeypatch: pytest.MonkeyPatch) -> None:
    """A put of our own ends the process where the raylet is dead."""
    from ray._private.worker import Worker

    put: list[object] = []
    original = Worker.put_object

    def note(*args: Any, **kwargs: Any) -> Any:
        put.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(Worker, "put_object", note)

    _, trace = recorded(_roundtrip)

    assert len(put) == 1
    assert probe(trace).level == "pickle"


def test_without_task_events_the_driver_is_still_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ray that keeps its task events elsewhere loses the workers' lanes, and says so."""
    import ray
    from ray._private.state import GlobalState

    @ray.remote
    def one() -> int:
        return 1

    for name in ("_get_all_task_events", "_connect_and_get_accessor"):
        monkeypatch.delattr(GlobalState, name)

    value, trace = recorded(lambda: ray.get(one.remote()))

    assert value == 1
    assert has_row(trace, "ray.submit")
    assert not has_row(trace, "ray.execute")
    assert any(entry.startswith("the road of tasks") for entry in probe(trace).unseen)


def test_a_failing_read_of_events_loses_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """If reading the events fails, what the driver measured stays, with its sizes."""
    import ray
    from ray._private.state import GlobalState

    @ray.remote
    def one() -> int:
        return 1

    def fail(_: object) -> None:
        message = "no events today"
        raise RuntimeError(message)

    monkeypatch.setattr(GlobalState, "_get_all_task_events", fail)

    _, trace = recorded(lambda: ray.get(one.remote()))

    assert has_row(trace, "ray.submit")
    assert row(trace, "ray.fetch").size_bytes is not None
    assert any("no events today" in entry for entry in probe(trace).unseen)
