"""Tasks and actors: submission, export with its captured variables, and the road on the workers."""

import asyncio
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import ray

from clusters.seen import attempts, detail, findings, probe, recorded, remote, row, spans
from jupyter_serprof.model import Summary, Trace

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

_ROAD = ("ray.schedule", "ray.arguments", "ray.execute", "ray.outputs")


def _captured(trace: Trace) -> dict[str, int]:
    variables = detail(trace, "ray.export", "captured")
    return {variable["name"]: variable["size_bytes"] for variable in variables}


def test_the_road_of_a_task_lies_on_worker_lanes() -> None:
    """Schedule, arguments, execute and outputs follow each other, where they happened."""

    @remote
    def double(values: Any) -> Any:
        return values * 2

    array = np.arange(1_000_000)

    traces = list(attempts(lambda: ray.get(double.remote(array)), count=4))

    for trace in traces:
        road = [spans(trace, stage)[0] for stage in _ROAD]
        assert [span.name for span in road] == ["double"] * 4
        assert [span.lane.partition(" ")[0] for span in road] == [
            "raylet",
            "worker",
            "worker",
            "worker",
        ]
        starts = [span.start_ns for span in road]
        assert starts == sorted(starts)
        assert road[-1].end_ns <= trace.wall_ns
    assert max((trace.summary or Summary("")).total_share or 0 for trace in traces) >= 0.95


def test_a_large_argument_is_stored_by_the_submission() -> None:
    """An argument above 100 kB is copied into the store while the task is submitted."""

    @remote
    def size(values: Any) -> int:
        return len(values)

    array = np.arange(1_000_000)

    _, trace = recorded(lambda: ray.get(size.remote(array)))

    stored = row(trace, "ray.submit").size_bytes
    assert stored is not None
    assert 0 < stored - array.nbytes < 1_000
    assert row(trace, "ray.submit").copied_bytes == stored


def test_the_same_argument_of_five_tasks_is_found() -> None:
    """Five tasks with one array serialize it five times; the remedy is one put."""

    @remote
    def size(values: Any) -> int:
        return len(values)

    array = np.arange(1_000_000)

    _, trace = recorded(lambda: ray.get([size.remote(array) for _ in range(5)]))

    (finding,) = findings(trace, "ray.same-object")
    assert finding.evidence["times"] == 5
    assert row(trace, "ray.execute").count == 5


def test_small_arguments_leave_no_markers() -> None:
    """Ray's own markers of arguments are not shown as the user's data."""

    @remote
    def nothing(*_: object, **__: object) -> None:
        return None

    _, trace = recorded(lambda: ray.get(nothing.remote(1, 2, keyword=3)))

    assert all((s.details or {}).get("total_bytes", 99) != 13 for s in trace.spans)


TABLE = np.arange(500_000)


def test_what_a_function_or_class_captures_is_named() -> None:
    """A large global of a remote function, a variable of an actor's method, and how large."""
    table = TABLE

    @remote
    def look_up() -> int:
        return int(TABLE[3])

    @remote
    class LookUp:
        def at(self, i: int) -> int:
            return int(table[i])

    _, actor = recorded(lambda: ray.get(cast("Any", LookUp).remote().at.remote(3)))
    _, trace = recorded(lambda: ray.get(look_up.remote()))

    assert _captured(actor) == {"table": TABLE.nbytes}
    assert _captured(trace) == {"TABLE": TABLE.nbytes}
    (finding,) = findings(trace, "ray.captured-variable")
    assert "TABLE" in finding.title


def test_an_actor_is_exported_created_and_called() -> None:
    """Creation and method calls have their road on the worker; a slow one is told."""

    @remote
    class Counter:
        def __init__(self, values: Any) -> None:
            time.sleep(0.3)
            self.count = len(values)

        def add(self, values: Any) -> int:
            self.count += len(values)
            return self.count

    array = np.arange(100_000)

    def run() -> Any:
        counter = cast("Any", Counter).remote(array)
        return ray.get([counter.add.remote(array) for _ in range(2)])

    counts, trace = recorded(run)

    assert counts == [200_000, 300_000]
    assert row(trace, "ray.submit").count == 3
    assert [span.name for span in spans(trace, "ray.execute")] == ["Counter.__init__", "add", "add"]
    assert spans(trace, "ray.export", "export_actor_class")
    (finding,) = findings(trace, "ray.worker-start")
    assert finding.title.startswith("1 actor of `Counter` took ")
    assert finding.evidence["init_ns"] == pytest.approx(300_000_000, abs=20_000_000)
    assert probe(trace).unseen == ()


def test_an_actor_that_nobody_has_after_its_calls_tells_all_of_them() -> None:
    """Its process ends right after the last one, before it would send what is new."""

    @remote
    class Worker:
        def work(self) -> None:
            time.sleep(0.01)

    def run() -> None:
        worker = cast("Any", Worker).remote()
        ray.get([worker.work.remote() for _ in range(60)])

    for _ in range(4):  # sent in time by chance, one may be
        assert probe(recorded(run)[1]).unseen == ()


def test_tasks_in_parallel_are_busy_beside_the_wall_time(tmp_path: Path) -> None:
    """Two tasks that sleep 300 ms at once: twice the work, once the wall time."""

    @remote
    def sleepy(me: int) -> None:
        (tmp_path / str(me)).touch()
        while not (tmp_path / str(1 - me)).exists():
            time.sleep(0.01)
        time.sleep(0.3)

    _, trace = recorded(lambda: ray.get([sleepy.remote(me) for me in range(2)]))

    first, second = sorted(spans(trace, "ray.execute"), key=lambda span: span.start_ns)
    both_ns = min(first.end_ns, second.end_ns) - second.start_ns
    execute = row(trace, "ray.execute")
    assert first.lane != second.lane
    # The wall clocks of two processes of one machine are one, but it may be slewed.
    assert both_ns >= 299e6
    assert execute.busy_ns == first.duration_ns + second.duration_ns
    assert 0 < execute.self_ns <= execute.busy_ns - both_ns


def test_a_wait_for_what_was_sent_before_is_for_its_tasks() -> None:
    """By get, wait and await; a get is for what it asks and what that takes, not what else ends."""

    @remote
    def slow(seconds: float, *_: object) -> float:
        time.sleep(seconds)
        return seconds

    def by_wait(refs: list[Any]) -> None:
        while refs:
            _, refs = ray.wait(refs)

    async def awaited(refs: list[Any]) -> None:
        await asyncio.gather(*refs)

    ray.get(slow.remote(0))
    waits: list[Callable[[Any], Any]] = [ray.get, by_wait, lambda refs: asyncio.run(awaited(refs))]
    for wait_for in waits:
        refs = [slow.remote(0.5 + at / 100) for at in range(2)]
        _, trace = recorded(functools.partial(wait_for, refs))
        assert row(trace, "ray.execute").self_ns > 0.5 * trace.wall_ns

    for seconds in (9, 0.3):
        other = slow.remote(seconds)
        _, trace = recorded(lambda: ray.get(slow.remote(0.6)))
        assert row(trace, "ray.execute").count == 1
        ray.cancel(other)
    last = slow.remote(0.1, slow.remote(0.3))
    _, asked = recorded(lambda: ray.get(last))
    first = slow.remote(0.3)
    _, taken = recorded(lambda: ray.get(slow.remote(0.1, first)))
    assert row(asked, "ray.execute").count == row(taken, "ray.execute").count == 2
