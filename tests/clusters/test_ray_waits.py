"""Whatever way somebody waits for tasks of Ray: the tasks own that time."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import joblib
import pytest

from clusters.seen import attempts, recorded, self_ns

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

SLEEP_S, VALUES = 0.15, [0, 1, 2, 3]
#: Two workers take two tasks each; a generator makes one item after the other.
OF_TASKS_S, OF_ITEMS_S = 2 * SLEEP_S, 4 * SLEEP_S
#: Submits a task that sleeps and returns its argument.
Submit = Any


def _make_sleepy(seconds: float) -> Callable[..., Any]:
    # Made here, so that it travels by value: workers cannot import this file.
    def sleepy(x: int) -> int:
        time.sleep(seconds)
        return x

    return sleepy


@pytest.fixture
def submit() -> Submit:
    """Give what submits a task; its first call has exported it."""
    import ray

    remote = ray.remote(_make_sleepy(SLEEP_S)).remote
    ray.get([remote(x) for x in VALUES])
    return remote


def _owned_by_tasks(run: Callable[[], object], slept_s: float) -> None:
    """Ask for one recording that gives the wait to the tasks: a busy machine is late in some."""
    seen = []
    for trace in attempts(run, count=4):
        assert trace.summary is not None
        part = self_ns(trace, "ray.execute") / (slept_s * 1e9)
        seen.append((trace.summary.total_share or 0, part))
        if seen[-1] >= (0.95, 0) and 0.9 <= part <= 1.1:
            return
    pytest.fail(f"(coverage, what Execute owns of what was slept): {seen}")


def _wait_loop(submit: Submit) -> list[int]:
    import ray

    left, values = [submit(x) for x in VALUES], []
    while left:
        ready, left = ray.wait(left)
        values += ray.get(ready)
    return sorted(values)


def _poll(submit: Submit) -> list[int]:
    import ray

    references = [submit(x) for x in VALUES]
    while len(ray.wait(references, num_returns=len(VALUES), timeout=0)[0]) < len(VALUES):
        time.sleep(0.005)
    return list(ray.get(references))


async def _await(submit: Submit) -> list[int]:
    return [await reference for reference in [submit(x) for x in VALUES]]


async def _gather(submit: Submit) -> object:
    return await asyncio.gather(*[submit(x) for x in VALUES])


async def _wait(submit: Submit) -> list[int]:
    waiting = [asyncio.wrap_future(submit(x).future()) for x in VALUES]
    done, _ = await asyncio.wait(waiting)
    return sorted(each.result() for each in done)


def _futures(submit: Submit) -> list[int]:
    return [each.result() for each in [submit(x).future() for x in VALUES]]


def _as_completed(submit: Submit) -> list[int]:
    waiting = [submit(x).future() for x in VALUES]
    return sorted(each.result() for each in futures.as_completed(waiting))


def _pool_of_threads(submit: Submit) -> list[int]:
    import ray

    def result(x: int) -> Any:
        return ray.get(submit(x))

    with futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(result, VALUES))


def _thread_and_queue(submit: Submit) -> list[int]:
    import ray

    done: queue.Queue[int] = queue.Queue()

    def work() -> None:
        for reference in [submit(x) for x in VALUES]:
            done.put(ray.get(reference))

    thread = threading.Thread(target=work)
    thread.start()
    values = [done.get() for _ in VALUES]
    thread.join()
    return values


def _threads_of_joblib(submit: Submit) -> list[int]:
    import ray

    calls = [joblib.delayed(lambda x: ray.get(submit(x)))(x) for x in VALUES]
    return list(joblib.Parallel(n_jobs=2, backend="threading")(calls))


WAYS: dict[str, Callable[[Submit], object]] = {
    "ray.wait": _wait_loop,
    "ray.wait and time.sleep": _poll,
    "await": lambda submit: asyncio.run(_await(submit)),
    "asyncio.gather": lambda submit: asyncio.run(_gather(submit)),
    "asyncio.wait": lambda submit: asyncio.run(_wait(submit)),
    "Future.result": _futures,
    "as_completed": _as_completed,
    "ThreadPoolExecutor": _pool_of_threads,
    "Thread and Queue": _thread_and_queue,
    "joblib": _threads_of_joblib,
}


@pytest.mark.parametrize("way", WAYS)
def test_tasks_own_the_wait_for_them(submit: Submit, way: str) -> None:
    """Also those that another thread submitted: it is the caller who waits."""
    values, _ = recorded(lambda: WAYS[way](submit))

    assert values == VALUES
    _owned_by_tasks(lambda: WAYS[way](submit), OF_TASKS_S)


async def _taken(generator: Any) -> list[int]:
    return [await reference async for reference in generator]


@pytest.mark.parametrize("is_async", [False, True], ids=["for", "async for"])
def test_a_generator_owns_the_wait_for_its_items(*, is_async: bool) -> None:
    """Each item is waited for, and the end."""
    import ray

    sleepy = _make_sleepy(SLEEP_S)

    @ray.remote(num_returns="streaming")
    def items() -> Any:
        yield from (sleepy(x) for x in range(4))

    def run() -> list[int]:
        generator: Any = items.remote()
        if is_async:
            return asyncio.run(_taken(generator))
        return [ray.get(reference) for reference in generator]

    assert run() == VALUES
    _owned_by_tasks(run, OF_ITEMS_S)


def test_actors_of_a_pool_own_the_wait_for_them() -> None:
    """``ActorPool`` hands out calls and takes what is done first."""
    import ray
    from ray.util import ActorPool

    sleepy = _make_sleepy(SLEEP_S)
    actor: Any = ray.remote(type("Worker", (), {"work": lambda _, x: sleepy(x)}))
    actors = [actor.remote() for _ in range(2)]

    def run() -> list[int]:
        return sorted(ActorPool(actors).map_unordered(lambda each, x: each.work.remote(x), VALUES))

    assert run() == VALUES
    _owned_by_tasks(run, OF_TASKS_S)


def test_who_fills_a_queue_owns_the_wait_for_it() -> None:
    """The queue is an actor, whose ``get`` is a task that waits."""
    import ray
    from ray.util.queue import Queue

    target, sleepy = Queue(), _make_sleepy(SLEEP_S)

    @ray.remote
    def fill() -> None:
        for x in range(4):
            target.put(sleepy(x))

    def run() -> list[int]:
        filling = fill.remote()
        values = [target.get() for _ in VALUES]
        ray.get(filling)
        return values

    assert run() == VALUES
    _owned_by_tasks(run, OF_ITEMS_S)
    target.shutdown()
