"""Delays that were put in are found in the right stage, within five per cent."""

import time
from collections.abc import Callable

import pytest
import ray

from clusters.seen import attempts, recorded, self_ns, spans

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

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


def _is_found(function: Callable[[], object], stage: str) -> bool:
    """Tell whether one of a few recordings finds the sleep in a stage; a stage has all of it."""
    # A busy machine takes the interpreter away beside the sleep, too.
    for trace in attempts(function):
        found_ns, injected_ns = self_ns(trace, stage), _SLEPT_NS[-1]
        assert found_ns >= injected_ns >= _DELAY_S * 1e9
        if found_ns == pytest.approx(injected_ns, rel=0.05):
            return True
    return False


def test_a_slow_reducer_is_found_in_the_pickle_inside_put() -> None:
    """``__reduce__`` that sleeps is blamed on Pickle by Ray, not on the store."""
    value = SlowReduce()

    assert _is_found(lambda: ray.put(value), "ray.pickle")


def test_a_slow_setstate_is_found_in_the_unpickle_inside_get() -> None:
    """``__setstate__`` that sleeps is blamed on unpickling, not on waiting."""
    reference = ray.put(SlowState())

    assert _is_found(lambda: ray.get(reference), "ray.unpickle")


def test_a_slow_task_is_found_in_execute_on_a_worker() -> None:
    """A task that sleeps 300 ms owns that much of the wall time as Execute."""

    @ray.remote
    def sleepy() -> int:
        import time

        start_ns = time.perf_counter_ns()
        time.sleep(0.3)
        return time.perf_counter_ns() - start_ns

    ray.get(sleepy.remote())
    for _ in range(8):  # a driver that is late for its wait owns less of it
        slept_ns, trace = recorded(lambda: ray.get(sleepy.remote()))

        assert {span.lane.partition(" ")[0] for span in spans(trace, "ray.execute")} == {"worker"}
        assert sum(span.duration_ns for span in spans(trace, "ray.execute")) >= 0.99 * slept_ns
        if self_ns(trace, "ray.execute") == pytest.approx(slept_ns, rel=0.05):
            break
    else:
        pytest.fail("none of the recordings gives the wait to Execute")
