"""A ladder, not a cliff: names that a Ray lacks take their part away, and the document says so."""

import inspect
from importlib import import_module
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import ray
from ray._private import worker as ray_worker
from ray._private.state import GlobalState

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
    return ray.get(ray.put(np.arange(100_000)))


@pytest.mark.parametrize(
    ("owner", "name", "level", "outermost"),
    [
        ("serialization:SerializationContext", "_serialize_to_pickle5", "wrappers", "put_object"),
        ("worker:Worker", "put_object", "outer", "put"),
    ],
)
def test_a_name_that_is_missing_merges_its_time_into_what_is_around_it(
    monkeypatch: pytest.MonkeyPatch, owner: str, name: str, level: str, outermost: str
) -> None:
    """Without the pickle step the wrappers remain; without those the whole of ``ray.put``."""
    module, _, kind = owner.partition(":")
    _take_away(monkeypatch, getattr(import_module(f"ray._private.{module}"), kind), name)

    array, trace = recorded(_roundtrip)

    assert array.sum() == 4_999_950_000
    assert probe(trace).level == level
    assert probe(trace).unseen[0] == f"{kind}.{name} (not in this version)"
    assert [span.name.rpartition(".")[2] for span in spans(trace, "ray.store")] == [outermost]
    assert row(trace, "ray.store").self_ns > 0
    assert level == "outer" or has_row(trace, "ray.msgpack")


def test_a_blind_probe_finds_out_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are no longer called: the user's own puts tell, and the document says it."""
    monkeypatch.setattr(
        ray_worker.Worker, "put_around", vars(ray_worker.Worker)["put_object"], raising=False
    )
    put = inspect.unwrap(ray_worker.put)
    names = ["put_around" if name == "put_object" else name for name in put.__code__.co_names]
    monkeypatch.setattr(put, "__code__", put.__code__.replace(co_names=tuple(names)))

    array, first = recorded(_roundtrip)

    assert array.sum() == 4_999_950_000
    assert probe(first).level == "outer"
    assert probe(first).unseen == ("ray.put (1 put made, none was seen)",)
    assert [span.name for span in spans(first, "ray.store")] == ["put"]


@pytest.mark.parametrize("has_agent", [False, True])
@pytest.mark.parametrize("is_there", [False, True])
def test_without_task_events_the_others_still_tell(
    monkeypatch: pytest.MonkeyPatch, *, is_there: bool, has_agent: bool
) -> None:
    """A Ray that keeps its events elsewhere, or cannot read them: agents, else this process."""

    @ray.remote
    def one() -> int:
        return 1

    fail = Mock(side_effect=RuntimeError("no events today"))
    for name in ("_get_all_task_events", "_connect_and_get_accessor"):
        monkeypatch.delattr(GlobalState, name)
    if is_there:
        monkeypatch.setattr(GlobalState, "_get_all_task_events", fail, raising=False)
    monkeypatch.setenv("SERPROF_RAY_AGENT", str(int(has_agent)))

    value, trace = recorded(lambda: ray.get(one.remote()))

    said = "no events today" if is_there else "AttributeError"
    rung = "agent: 1 of 1 task seen" if has_agent else "driver only: 0 of 1 task seen"
    assert value == 1
    assert has_row(trace, "ray.submit")
    assert row(trace, "ray.fetch").size_bytes is not None
    assert has_row(trace, "ray.execute") == has_agent
    assert has_agent or not has_row(trace, "ray.schedule")
    assert not any(has_row(trace, stage) for stage in ("ray.deps", "ray.lease", "ray.reply"))
    assert probe(trace).level == f"pickle, {rung}"
    assert any(said in entry for entry in probe(trace).unseen)


def test_without_an_agent_the_events_tell_what_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch keeps it away: what is inside of a task is not shown, and said to be missing."""
    monkeypatch.setenv("SERPROF_RAY_AGENT", "0")

    @ray.remote
    def two() -> Any:
        return ray.get(ray.put(2))

    value, trace = recorded(lambda: ray.get(two.remote()))

    assert value == 2
    assert {"ray.lease", "ray.push", "ray.execute"} <= {span.stage for span in trace.spans}
    assert not [span for span in trace.spans if span.stage.startswith("ray.task.")]
    assert probe(trace).level == "pickle, events: 1 of 1 task seen"
    assert probe(trace).unseen == ("inside of 1 task (SERPROF_RAY_AGENT=0 keeps it away)",)
