"""The road of a Ray task: what was injected against what its stages say, and what the agent costs.

Then the time of trivial tasks by Ray's own events, and of tasks of 10 ms, beside an A/A control.
Run: uv run python tests/benchmarks/ray_road.py [rounds]
"""

# Ray's tasks have no types.
# mypy: disable-error-code="no-untyped-call, attr-defined"

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import ray
from bench import heading, small_ray, table

import jupyter_serprof as sp
from jupyter_serprof.model import Trace

ROUNDS, TRIVIAL, TEN_MS = 6, 500, 200
#: By stage and name of the task: what is injected, ms.
INJECTED = {
    ("ray.arguments.unpickle", ""): 80,
    ("ray.outputs.pickle", ""): 120,
    ("ray.task.pickle", ""): 40,
    ("ray.task.get", ""): 250,
    ("ray.deps", "consume"): 300,
    ("ray.lease", "occupy"): 350,
    ("ray.actor.queue", "call"): 200,
}


class Slow:
    """A value that takes its time to be pickled and to be unpickled, s."""

    def __init__(self, pickle_s: float, unpickle_s: float) -> None:
        self.pickle_s, self.unpickle_s = pickle_s, unpickle_s

    def __getstate__(self) -> tuple[float, float]:
        time.sleep(self.pickle_s)
        return self.pickle_s, self.unpickle_s

    def __setstate__(self, state: tuple[float, float]) -> None:
        self.pickle_s, self.unpickle_s = state
        time.sleep(self.unpickle_s)


@ray.remote
def produce(seconds: float) -> None:
    time.sleep(seconds)


@ray.remote
def consume(_: object) -> None:
    """Take what another task makes."""


@ray.remote
def occupy() -> None:
    time.sleep(0.35)


@ray.remote
def work(_: object) -> Slow:
    made = produce.remote(0.3)
    time.sleep(0.05)
    ray.get(made)
    ray.put(Slow(0.04, 0))
    return Slow(0.12, 0)


@ray.remote(num_cpus=0)
class Actor:
    """One call at a time."""

    def call(self) -> None:
        time.sleep(0.1)


@ray.remote
def trivial() -> None:
    """Do nothing."""


def journey(actor: Any) -> None:
    ray.get(work.remote(Slow(0, 0.08)))
    ray.get(consume.remote(produce.remote(0.3)))
    ray.get([occupy.remote() for _ in range(3)])
    ray.get([actor.call.remote() for _ in range(3)])


def longest_ms(trace: Trace, stage: str, name: str) -> float:
    """Return the longest span of a stage, of a task of that name."""
    found = [s for s in trace.spans if s.stage == stage and (not name or s.name == name)]
    return max((span.duration_ns for span in found), default=0) / 1e6


def inside_us(references: Sequence[Any]) -> float:
    """Return the median of what Ray's events say of the inside of tasks."""
    wanted = {bytes(each.task_id().binary()) for each in references}
    events = ray._private.state.state._get_all_task_events()
    took: list[float] = [
        (step.end_time - step.start_time) / 1e3
        for task in events
        if bytes(task.task_id) in wanted
        for step in task.profile_events.events
        if step.event_name.startswith("task::")
    ]
    return statistics.median(took)


def trivial_us() -> Callable[[], float]:
    references = [trivial.remote() for _ in range(TRIVIAL)]
    ray.get(references)
    return lambda: inside_us(references)


def ten_ms_wall() -> Callable[[], float]:
    start = time.perf_counter()
    ray.get([produce.remote(0.01) for _ in range(TEN_MS)])
    took_us = (time.perf_counter() - start) * 1e6
    return lambda: took_us


def cost_rows(rounds: int) -> list[tuple[str, ...]]:
    cases = {"inside of a trivial task, us": trivial_us, "200 tasks of 10 ms, us": ten_ms_wall}
    ways: dict[str, Callable[[], Any]] = {
        "bare": nullcontext,
        "recorded": sp.record,
        "bare again": nullcontext,
    }
    later: dict[tuple[str, str], list[Callable[[], float]]] = {}
    for case, run in cases.items():
        run()
        for way, around in [*ways.items()] * rounds:
            time.sleep(1.5)  # agents leave
            with around():
                later.setdefault((case, way), []).append(run())
    time.sleep(2.5)  # workers report
    medians = {key: statistics.median(one() for one in ones) for key, ones in later.items()}
    return [(case, *(f"{medians[case, way]:,.1f}" for way in ways)) for case in cases]


@small_ray()
def main(rounds: int) -> None:
    actor = Actor.remote()
    journey(actor)
    seen: dict[tuple[str, str], list[float]] = {key: [] for key in INJECTED}
    for _ in range(rounds):
        with sp.record() as recording:
            journey(actor)
        for key, found in seen.items():
            found.append(longest_ms(recording.trace, *key))
    heading(f"injected and seen, {rounds} rounds, ms")
    rows = [
        (stage, f"{ms}", f"{statistics.median(seen[key]):.1f}", worst(seen[key], ms))
        for key, ms in INJECTED.items()
        for stage in key[:1]
    ]
    table(("stage", "injected", "median", "worst"), rows)
    heading("cost of the agent: medians")
    table(("", "bare", "recorded", "bare again"), cost_rows(rounds))


def worst(found: Sequence[float], injected_ms: int) -> str:
    return f"{max(found, key=lambda ms: abs(ms - injected_ms)):.1f}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
