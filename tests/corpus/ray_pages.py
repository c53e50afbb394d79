"""The 13 pages of antipatterns in Ray's documentation: docs.ray.io, ray-core/patterns."""

from __future__ import annotations

import math
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import ray

from . import entry

WRITTEN = [0]


@ray.remote
def work(x, seconds=0.08):
    time.sleep(seconds)
    return x


def started(*actors):
    """Return actors once they are there: what their start takes is not the entry's."""
    ray.get([actor.__ray_ready__.remote() for actor in actors])
    return actors


@entry("ray: ray-core/patterns/return-ray-put", "ray.return-put")
def return_of_a_put():
    """A task that puts its result and returns the reference."""

    def square(x):
        return x * x

    @ray.remote
    def put_square(x):
        return ray.put(square(x))

    plain_square = ray.remote(square)
    return (
        lambda: ray.get(ray.get([put_square.remote(x) for x in range(200)])),
        lambda: ray.get([plain_square.remote(x) for x in range(200)]),
    )


@entry("ray: ray-core/patterns/nested-ray-get", "ray.nested-get")
def nested_get():
    """References inside a list, which the task has to get itself."""

    @ray.remote
    def total_of_refs(refs):
        return sum(ray.get(refs))

    @ray.remote
    def total(*values):
        return sum(values)

    def antipattern():
        refs = [work.remote(x) for x in range(8)]
        return ray.get([total_of_refs.remote(refs[at : at + 2]) for at in range(0, 8, 2)])

    def healthy():
        refs = [work.remote(x) for x in range(8)]
        return ray.get([total.remote(*refs[at : at + 2]) for at in range(0, 8, 2)])

    return antipattern, healthy


@entry("ray: ray-core/patterns/ray-get-loop", "ray.get-in-loop")
def get_in_a_loop():
    """ray.get right after each remote call: one task at a time."""

    def antipattern():
        results = []
        for x in range(10):
            results.append(ray.get(work.remote(x)))
        return results

    return antipattern, (lambda: ray.get([work.remote(x) for x in range(10)]))


@entry("ray: ray-core/patterns/unnecessary-ray-get", "ray.unnecessary-get")
def unnecessary_get():
    """A result that is got only to be handed to the next task."""

    @ray.remote
    def rollout(seed):
        return np.full(2_000_000, seed, float)

    @ray.remote
    def reduce(values):
        return float(values[0])

    def antipattern():
        results = []
        for seed in range(6):
            values = ray.get(rollout.remote(seed))
            results.append(ray.get(reduce.remote(values)))
        return results

    return (
        antipattern,
        lambda: ray.get([reduce.remote(rollout.remote(seed)) for seed in range(6)]),
    )


@entry("ray: ray-core/patterns/ray-get-submission-order", "ray.submission-order")
def submission_order():
    """Results taken in the order of submission, the slowest first, while others are done."""

    def process(x):
        time.sleep(0.09)
        return x

    def antipattern():
        refs = [work.remote(x, 0.1 if x else 0.6) for x in range(7)]
        return sorted([process(ray.get(ref)) for ref in refs])

    def healthy():
        refs, results = [work.remote(x, 0.1 if x else 0.6) for x in range(7)], []
        while refs:
            ready, refs = ray.wait(refs)
            results.append(process(ray.get(ready[0])))
        return sorted(results)

    return antipattern, healthy


@entry("ray: ray-core/patterns/ray-get-too-many-objects", "ray.too-many-objects", cause="error")
def too_many_objects():
    """All large results in one get: they have to fit into memory together."""

    @ray.remote
    def load(x):
        return np.full(200_000, x, float)

    def antipattern():
        arrays = ray.get([load.remote(x) for x in range(150)])
        return sum(float(array.sum()) for array in arrays)

    def healthy():
        refs, total = [load.remote(x) for x in range(150)], 0.0
        while refs:
            ready, refs = ray.wait(refs, num_returns=min(30, len(refs)))
            total += sum(float(array.sum()) for array in ray.get(ready))
        return total

    return antipattern, healthy


@entry("ray: ray-core/patterns/too-fine-grained-tasks", "ray.tiny-tasks")
def tiny_tasks():
    """A task for each number: the call costs more than its work."""

    def double(x):
        return 2 * x

    tiny = ray.remote(double)

    @ray.remote
    def batch(values):
        return [double(x) for x in values]

    def healthy():
        batches = ray.get([batch.remote(range(at, at + 500)) for at in (0, 500)])
        return [x for values in batches for x in values]

    return (lambda: ray.get([tiny.remote(x) for x in range(1000)])), healthy


@entry("ray: ray-core/patterns/redefine-task-actor-loop", "ray.redefined-in-loop")
def redefined_in_a_loop():
    """A remote function defined anew in each turn: pickled and exported each time."""

    @ray.remote
    def add(x, y):
        return x + y

    def antipattern():
        refs = []
        for x in range(60):

            @ray.remote
            def add_again(x, y):
                return x + y

            refs.append(add_again.remote(x, 1))
        return ray.get(refs)

    return antipattern, (lambda: ray.get([add.remote(x, 1) for x in range(60)]))


@entry("ray: ray-core/patterns/pass-large-arg-by-value", "ray.same-object")
def same_argument_by_value():
    """The same large array by value to each task: stored once for each."""
    array = np.random.default_rng(0).random(3_000_000)

    @ray.remote
    def pick(values, at):
        return float(values[at])

    def healthy():
        ref = ray.put(array)
        return ray.get([pick.remote(ref, at) for at in range(10)])

    return (lambda: ray.get([pick.remote(array, at) for at in range(10)])), healthy


@entry("ray: ray-core/patterns/closure-capture-large-objects", "ray.captured-variable")
def captured_in_a_closure():
    """A large array that a remote function captures: pickled with its code."""
    table = np.random.default_rng(0).random(6_000_000)

    def antipattern():
        @ray.remote
        def look_up(at):
            return float(table[at])

        return ray.get([look_up.remote(at) for at in range(4)])

    def healthy():
        @ray.remote
        def look_up(values, at):
            return float(values[at])

        ref = ray.put(table)
        return ray.get([look_up.remote(ref, at) for at in range(4)])

    return antipattern, healthy


@entry("ray: ray-core/patterns/global-variables", "ray.global-write", cause="error")
def global_written_by_a_task():
    """A global that tasks write: each process has its own, the driver's stays as it was."""

    @ray.remote
    def count(x):
        WRITTEN[0] += x
        return time.sleep(0.03)

    @ray.remote
    class Counter:
        def __init__(self):
            self.total = 0

        def add(self, x):
            self.total += x
            time.sleep(0.03)

    (counter,) = started(Counter.remote())

    def antipattern():
        ray.get([count.remote(1) for _ in range(10)])
        return WRITTEN[0] * 0  # 0 still, where 10 was meant

    def healthy():
        ray.get([counter.add.remote(1) for _ in range(10)])
        return 0

    return antipattern, healthy


@entry(
    "ray: ray-core/patterns/out-of-band-object-ref-serialization",
    "ray.reference-out-of-band",
    cause="error",
)
def reference_out_of_band():
    """A reference pickled by hand: Ray no longer knows who needs the object."""
    ref = ray.put(np.arange(1000.0))

    @ray.remote
    def total_of(data):
        time.sleep(0.05)
        return float(ray.get(ray.cloudpickle.loads(data)).sum())

    @ray.remote
    def total(refs):
        time.sleep(0.05)
        return float(ray.get(refs[0]).sum())

    def antipattern():
        data = ray.cloudpickle.dumps(ref)
        return ray.get([total_of.remote(data) for _ in range(8)])

    return antipattern, (lambda: ray.get([total.remote([ref]) for _ in range(8)]))


@entry("ray: ray-core/patterns/fork-new-processes", "ray.fork-after-init", cause="error")
def fork_after_init():
    """A pool of forked processes beside Ray: they inherit its sockets and threads."""

    @ray.remote
    def roots(values):
        return [math.sqrt(x) for x in values]

    def antipattern():
        with ProcessPoolExecutor(2) as pool:
            return list(pool.map(math.sqrt, range(100)))

    return antipattern, (lambda: ray.get(roots.remote(range(100))))
