"""More that costs time with Ray: its other pattern pages, its tips, its pages on actors."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import ray

from . import entry
from .ray_pages import started, work


@ray.remote
class Asker:
    """As in a notebook: a class that its module has by its name."""

    async def blocked(self, x):
        return ray.get(work.remote(x))

    async def awaited(self, x):
        return await work.remote(x)


@entry("ray: ray-core/patterns/pipelining", "ray.unpipelined")
def no_pipelining():
    """An actor that asks for its next item only when it is done with the last one."""

    @ray.remote
    class Source:
        def item(self, x):
            time.sleep(0.08)
            return x

    @ray.remote
    class Consumer:
        def one_by_one(self, source):
            return [self.process(ray.get(source.item.remote(x))) for x in range(8)]

        def ahead(self, source):
            ref, results = source.item.remote(0), []
            for x in range(1, 9):
                item = ray.get(ref)
                ref = source.item.remote(x)
                results.append(self.process(item))
            return results

        def process(self, x):
            time.sleep(0.08)
            return x

    source, consumer = started(Source.remote(), Consumer.remote())
    return (
        lambda: ray.get(consumer.one_by_one.remote(source)),
        lambda: ray.get(consumer.ahead.remote(source)),
    )


@entry("ray: ray-core/patterns/limit-pending-tasks", "ray.unlimited-pending", cause="error")
def no_limit_on_pending_tasks():
    """All tasks and their results at once: what waits for its turn fills the memory."""

    @ray.remote
    def load(x):
        return np.full(50_000, x, float)

    def antipattern():
        refs = [load.remote(x) for x in range(400)]
        return sum(float(ray.get(ref)[0]) for ref in refs)

    def healthy():
        refs, total = [], 0.0
        for x in range(400):
            if len(refs) >= 16:
                ready, refs = ray.wait(refs, num_returns=8)
                total += sum(float(array[0]) for array in ray.get(ready))
            refs.append(load.remote(x))
        return total + sum(float(array[0]) for array in ray.get(refs))

    return antipattern, healthy


@entry("ray: ray-core/actors/async_api", "ray.blocking-in-async")
def blocking_get_in_an_async_actor():
    """ray.get in a coroutine of an actor: no other call runs meanwhile."""
    (asker,) = started(Asker.remote())
    return (
        lambda: ray.get([asker.blocked.remote(x) for x in range(6)]),
        lambda: ray.get([asker.awaited.remote(x) for x in range(6)]),
    )


@entry("ray: ray-core/actors/async_api", "ray.get-in-loop")
def blocking_get_in_an_async_cell():
    """ray.get in a coroutine of the driver: the other coroutines stand still."""

    async def blocked(x):
        return ray.get(work.remote(x))

    async def awaited(x):
        return await work.remote(x)

    async def all_of(ask):
        return await asyncio.gather(*(ask(x) for x in range(8)))

    return (lambda: asyncio.run(all_of(blocked))), (lambda: asyncio.run(all_of(awaited)))


@entry("ray: ray-core/actors/actor-utils#actor-pool", "ray.one-at-a-time")
def all_calls_to_one_actor():
    """All calls to one actor, which takes them in turns, where a pool of two would share them."""

    @ray.remote(num_cpus=0)
    class Loader:
        def load(self, x):
            time.sleep(0.06)
            return x

    pool = started(*[Loader.remote() for _ in range(2)])
    return (
        lambda: ray.get([pool[0].load.remote(x) for x in range(10)]),
        lambda: ray.get([pool[x % 2].load.remote(x) for x in range(10)]),
    )


@entry("ray: ray-core/actors", "ray.worker-start")
def new_actor_for_each_item():
    """An actor made for each item: a process has to start and to import each time."""

    @ray.remote
    class Model:
        def predict(self, x):
            return x

    (kept,) = started(Model.remote())
    return (
        lambda: [ray.get(Model.remote().predict.remote(x)) for x in range(2)],
        lambda: ray.get([kept.predict.remote(x) for x in range(2)]),
    )
