"""Delays that were put in are found in the right stage, within five per cent."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_serprof.model import Trace
from probes.seen import recorded, self_ns, spans

_DELAY_S = 0.2
_SLEPT_NS: list[int] = []


def _sleep() -> None:
    """Sleep, and note for how long: a busy machine wakes a sleeper late."""
    start_ns = time.perf_counter_ns()
    time.sleep(_DELAY_S)
    _SLEPT_NS.append(time.perf_counter_ns() - start_ns)


class SlowReduce:
    """Takes 200 ms to pickle."""

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        _sleep()
        return SlowReduce, ()


class SlowState:
    """Takes 200 ms to unpickle."""

    def __getstate__(self) -> dict[str, int]:
        return {"a": 1}

    def __setstate__(self, state: dict[str, int]) -> None:
        _sleep()


def _assert_found(trace: Trace, stage: str, injected_ns: int) -> None:
    assert injected_ns >= _DELAY_S * 1e9
    assert self_ns(trace, stage) == pytest.approx(injected_ns, rel=0.05)


@pytest.mark.parametrize("library", ["pickle", "cloudpickle"])
def test_a_slow_reducer_is_found_in_pickle(library: str) -> None:
    """``__reduce__`` that sleeps shows up as pickling, through either library."""
    # given
    module = importlib.import_module(library)
    value = SlowReduce()
    # when
    _, trace = recorded(lambda: module.dumps(value))
    # then
    _assert_found(trace, "pickle.dumps", _SLEPT_NS[-1])


@pytest.mark.parametrize("library", ["pickle", "cloudpickle"])
def test_a_slow_setstate_is_found_in_unpickle(library: str) -> None:
    """``__setstate__`` that sleeps shows up as unpickling, through either library."""
    # given
    module = importlib.import_module(library)
    data = module.dumps(SlowState())
    # when
    _, trace = recorded(lambda: module.loads(data))
    # then
    _assert_found(trace, "pickle.loads", _SLEPT_NS[-1])


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_a_slow_reducer_is_found_in_the_pickle_inside_put() -> None:
    """``__reduce__`` that sleeps is blamed on Pickle 5, not on the store."""
    # given
    import ray

    value = SlowReduce()
    # when
    _, trace = recorded(lambda: ray.put(value))
    # then
    _assert_found(trace, "ray.pickle", _SLEPT_NS[-1])


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_a_slow_setstate_is_found_in_the_unpickle_inside_get() -> None:
    """``__setstate__`` that sleeps is blamed on unpickling, not on waiting."""
    # given
    import ray

    reference = ray.put(SlowState())
    # when
    _, trace = recorded(lambda: ray.get(reference))
    # then
    _assert_found(trace, "ray.unpickle", _SLEPT_NS[-1])


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_a_slow_task_is_found_in_execute_on_a_worker() -> None:
    """A task that sleeps 300 ms owns that much of the wall time as Execute."""
    # given
    import ray

    @ray.remote
    def sleepy() -> int:
        import time

        start_ns = time.perf_counter_ns()
        time.sleep(0.3)
        return time.perf_counter_ns() - start_ns

    ray.get(sleepy.remote())
    # when
    slept_ns, trace = recorded(lambda: ray.get(sleepy.remote()))
    # then
    assert self_ns(trace, "ray.execute") == pytest.approx(slept_ns, rel=0.05)
    assert {span.lane.partition(" ")[0] for span in spans(trace, "ray.execute")} == {"worker"}


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_slow_steps_of_a_task_are_told_apart() -> None:
    """An argument slow to unpickle and a result slow to pickle are not called Execute."""
    # given
    import ray

    def slow(method: str) -> Any:
        # Made here, so that it travels by value: workers cannot import this file.
        def wait(*_: object) -> Any:
            import time

            time.sleep(0.2)
            return {"a": 1}

        methods = {"__getstate__": lambda _: {"a": 1}, "__setstate__": lambda *_: None}
        return type("Slow", (), methods | {method: wait})()

    @ray.remote
    def give_back(_: object, make: Callable[[str], object]) -> object:
        return make("__getstate__")

    argument = slow("__setstate__")
    ray.get(give_back.remote(1, slow))
    # when
    _, trace = recorded(lambda: ray.get(give_back.remote(argument, slow)))
    # then
    assert self_ns(trace, "ray.arguments") == pytest.approx(200e6, rel=0.1)
    assert self_ns(trace, "ray.outputs") == pytest.approx(200e6, rel=0.1)
    assert self_ns(trace, "ray.execute") < 20e6
