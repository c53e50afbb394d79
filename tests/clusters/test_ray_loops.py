"""Loops that cost time with Ray are named with the user's own names; their remedies are not."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from clusters.seen import attempts, findings

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

VALUES = range(6)


def _make() -> Any:
    import ray

    # Made here, so that it travels by value: workers cannot import this file.
    @ray.remote
    def sleepy(x: int) -> int:
        time.sleep(0.05)
        return x

    return sleepy


def _only(run: Callable[[], object], rule: str) -> str:
    """Return what some recording says by a rule: a busy machine adds to the time of all else."""
    traces = attempts(run, count=4)
    return next((each.title for trace in traces for each in findings(trace, rule)), "")


def test_tasks_that_are_got_one_by_one_are_told() -> None:
    """Six tasks are enough, where they could have run at the same time."""
    import ray

    sleepy = _make()
    ray.get(sleepy.remote(0))

    title = _only(lambda: [ray.get(sleepy.remote(x)) for x in VALUES], "ray.get-in-loop")

    assert title == "6 tasks of `sleepy` ran one after the other"
    for trace in attempts(lambda: ray.get([sleepy.remote(x) for x in VALUES]), count=2):
        assert findings(trace, "ray.get-in-loop") == []


def test_a_function_that_is_made_remote_again_and_again_is_told() -> None:
    """It is known by its name: it is gone when the recording is over."""
    import ray

    def redefine() -> None:
        for _ in range(40):

            @ray.remote
            def again(x: int) -> int:
                return x

            again.remote(1)

    assert _only(redefine, "ray.redefined-in-loop") == "`again` was made remote 40 times"


def test_actors_made_in_turn_are_told() -> None:
    """Each waits for a process of its own."""
    import ray

    model: Any = ray.remote(type("Model", (), {"__init__": lambda _: None, "get": lambda _: 1}))

    title = _only(lambda: [ray.get(model.remote().get.remote()) for _ in "12"], "ray.worker-start")

    assert title == "2 actors of `Model` were made in turn"
