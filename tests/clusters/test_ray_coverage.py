"""How much of a put and a get is in named stages, and whether each step is in its own."""

import time
from typing import Any

import numpy as np
import pytest

from clusters.seen import attempts, row, self_ns
from jupyter_serprof.model import Summary

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


@pytest.mark.parametrize(("size_bytes", "least"), [(MB, 0.9), (50 * MB, 0.95)], ids=["1MB", "50MB"])
def test_named_stages_cover_a_put(size_bytes: int, least: float) -> None:
    """Of a put of a ms and more 95 %; some 50 us around Ray's methods count for more in less."""
    import ray

    array = _array(size_bytes)

    traces = attempts(lambda: ray.put(array))

    assert max((trace.summary or Summary("")).strict_share or 0 for trace in traces) >= least


def test_named_stages_cover_a_get() -> None:
    """A get of 50 MB takes 0.3 ms, of which some 30 us are around Ray's methods."""
    import ray

    reference = ray.put(_array(50 * MB))

    traces = attempts(lambda: ray.get(reference), count=15)

    assert max((trace.summary or Summary("")).total_share or 0 for trace in traces) >= 0.8


def test_each_step_of_a_put_is_in_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of Ray that takes 50 ms longer is found where it belongs, and nothing is left over."""
    import ray
    from ray._private.serialization import SerializationContext
    from ray._private.worker import Worker

    delay_s = 0.05
    _slow_down(monkeypatch, Worker, "put_object", delay_s)
    _slow_down(monkeypatch, SerializationContext, "serialize", delay_s)
    array = _array(MB)

    traces = list(attempts(lambda: ray.put(array), count=4))

    for trace in traces:
        assert self_ns(trace, "ray.store") >= delay_s * 1e9
        assert self_ns(trace, "ray.msgpack") >= delay_s * 1e9
    assert max((trace.summary or Summary("")).strict_share or 0 for trace in traces) >= 0.95


def test_each_step_of_a_get_is_in_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lasts 50 ms longer in the fetch or the unpacking is found there, and nothing is left."""
    import ray
    from ray._private.serialization import SerializationContext
    from ray._private.worker import Worker

    delay_s = 0.05
    reference = ray.put(_array(50 * MB))
    _slow_down(monkeypatch, Worker, "get_objects", delay_s)
    _slow_down(monkeypatch, Worker, "deserialize_objects", delay_s)
    _slow_down(monkeypatch, SerializationContext, "_deserialize_object", delay_s)

    traces = list(attempts(lambda: ray.get(reference), count=4))

    for trace in traces:
        # Not what the wait owns: a collection in another thread may have a part of that.
        assert row(trace, "ray.fetch").busy_ns >= delay_s * 1e9
        assert row(trace, "ray.unpack").busy_ns >= 2 * delay_s * 1e9
    assert max((trace.summary or Summary("")).total_share or 0 for trace in traces) >= 0.95
