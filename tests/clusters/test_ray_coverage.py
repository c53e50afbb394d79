"""How much of a put and a get is in named stages, and whether each step is in its own."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import ray
from ray._private.serialization import SerializationContext
from ray._private.worker import Worker

from clusters.seen import attempts, row

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

MB = 1_000_000


def _array(size_bytes: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.arange(size_bytes // 8, dtype=np.float64)


def _slow_down(
    monkeypatch: pytest.MonkeyPatch, owner: type[Any], method: str, delay_s: float
) -> None:
    """Make a method sleep first, below whatever a recording puts on it."""
    original = getattr(owner, method)

    def sleep_first(*args: Any, **kwargs: Any) -> Any:
        time.sleep(delay_s)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, method, sleep_first)


def _get(size_bytes: int) -> Callable[[], object]:
    return partial(ray.get, ray.put(_array(size_bytes)))


def _put(size_bytes: int) -> Callable[[], object]:
    return partial(ray.put, _array(size_bytes))


@pytest.mark.parametrize(
    ("make", "size_bytes", "share", "least"),
    [
        (_put, MB, "strict_share", 0.9),
        (_put, 50 * MB, "strict_share", 0.95),
        (_get, 50 * MB, "total_share", 0.8),  # of 0.3 ms some 30 us are around Ray's methods
    ],
    ids=["put 1 MB", "put 50 MB", "get 50 MB"],
)
def test_named_stages_cover_a_put_and_a_get(
    make: Callable[[int], Callable[[], object]], size_bytes: int, share: str, least: float
) -> None:
    """Of a put of a ms and more 95 %; some 50 us around Ray's methods count for more in less."""
    traces = attempts(make(size_bytes), count=15)

    assert any((getattr(trace.summary, share) or 0) >= least for trace in traces)


@pytest.mark.parametrize(
    ("make", "size_bytes", "slow", "share"),
    [
        (*(_put, MB, {"Worker.put_object": "ray.store"}), "strict_share"),
        (
            *(_get, 50 * MB),
            {"Worker.get_objects": "ray.fetch", "Worker.deserialize_objects": "ray.unpack"},
            "total_share",
        ),
    ],
    ids=["put", "get"],
)
def test_each_step_is_in_its_stage(
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[int], Callable[[], object]],
    size_bytes: int,
    slow: dict[str, str],
    share: str,
) -> None:
    """A step of Ray that takes 50 ms longer is found where it belongs, and nothing is left over."""
    delay_s, call = 0.05, make(size_bytes)
    for place in slow:
        _slow_down(monkeypatch, Worker, place.partition(".")[2], delay_s)
    inner, stage = ("serialize", "ray.msgpack") if make is _put else ("_deserialize_object", "")
    _slow_down(monkeypatch, SerializationContext, inner, delay_s)

    traces = list(attempts(call, count=4))

    for trace in traces:
        # Not what a wait owns: a collection in another thread may have a part of that.
        for place in (*slow.values(), *filter(None, [stage])):
            least_s = 2 * delay_s if place == "ray.unpack" else delay_s
            assert row(trace, place).busy_ns >= least_s * 1e9
    assert max(getattr(trace.summary, share) or 0 for trace in traces) >= 0.95
