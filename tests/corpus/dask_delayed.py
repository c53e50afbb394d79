"""What Dask's page on delayed advises against: docs.dask.org, delayed-best-practices."""

from __future__ import annotations

import time

import dask
import dask.array as da
import dask.bag as db
import numpy as np

from . import entry

PAGE = "dask: delayed-best-practices#"
SEEN: list[int] = []


def slow(x):
    time.sleep(0.06)
    return x


@entry(PAGE + "call-delayed-on-the-function-not-the-result", "dask.slow-construction")
def delayed_of_the_result():
    """delayed(f(x)): f has run before Dask sees anything."""
    return (
        lambda: dask.compute(*[dask.delayed(slow(x)) for x in range(10)]),
        lambda: dask.compute(*[dask.delayed(slow)(x) for x in range(10)]),
    )


@entry(PAGE + "compute-on-lots-of-computation-at-once", "dask.compute-in-loop")
def compute_in_a_loop():
    """A compute in each turn of a loop: one task at a time."""

    def antipattern():
        results = []
        for x in range(10):
            results.append(dask.delayed(slow)(x).compute())
        return results

    return antipattern, (lambda: list(dask.compute(*[dask.delayed(slow)(x) for x in range(10)])))


@entry(PAGE + "don-t-mutate-inputs", "dask.mutated-input", cause="error")
def task_that_changes_its_input():
    """A task that adds to the array it is given: others that use it see either."""

    @dask.delayed
    def ones():
        return np.ones(100_000)

    @dask.delayed
    def add_in_place(array):
        array += 1
        time.sleep(0.1)
        return array.shape[0]

    @dask.delayed
    def add(array):
        array = array + 1
        time.sleep(0.1)
        return array.shape[0]

    def antipattern():
        array = ones()
        return dask.compute(*[add_in_place(array) for _ in range(4)])

    def healthy():
        array = ones()
        return dask.compute(*[add(array) for _ in range(4)])

    return antipattern, healthy


@entry(PAGE + "avoid-global-state", "dask.global-write", cause="error")
def task_that_writes_a_global():
    """A task that appends to a global list: the workers have lists of their own."""

    @dask.delayed
    def remember(x):
        SEEN.append(slow(x))

    @dask.delayed
    def give(x):
        return slow(x)

    def antipattern():
        dask.compute(*[remember(x) for x in range(8)])
        return len(SEEN) * 0  # none of the eight

    return antipattern, (lambda: len(dask.compute(*[give(x) for x in range(8)])) * 0)


@entry(PAGE + "break-up-computations-into-many-pieces", "dask.one-task")
def one_giant_task():
    """All the work in one delayed function: one worker is busy, the other is not."""

    @dask.delayed
    def all_of(values):
        return [slow(x) for x in values]

    return (
        lambda: all_of(range(12)).compute(),
        lambda: list(dask.compute(*[dask.delayed(slow)(x) for x in range(12)])),
    )


@entry(PAGE + "avoid-too-many-tasks", "dask.tiny-tasks")
def delayed_for_each_number():
    """A delayed call for each number, where a bag would make batches."""

    def double(x):
        return 2 * x

    return (
        lambda: list(dask.compute(*[dask.delayed(double)(x) for x in range(400)])),
        lambda: db.from_sequence(range(400), npartitions=4).map(double).compute(),
    )


@entry(PAGE + "avoid-calling-delayed-within-delayed-functions", "dask.nested-delayed")
def delayed_within_delayed():
    """A delayed function that computes delayed calls of its own."""

    @dask.delayed
    def some(values):
        return dask.compute(*[dask.delayed(slow)(x) for x in values])

    return (
        lambda: [x for part in dask.compute(some((0, 1, 2, 3)), some((4, 5, 6, 7))) for x in part],
        lambda: list(dask.compute(*[dask.delayed(slow)(x) for x in range(8)])),
    )


@entry(PAGE + "don-t-call-dask-delayed-on-other-dask-collections", "dask.delayed-collection")
def delayed_of_a_collection():
    """A whole Dask array as argument of one delayed call: all chunks go to one worker."""
    x = da.ones((1600, 1000), chunks=(400, 1000)).persist()

    def train(block):
        time.sleep(len(block) / 5000)  # of rows; another core may not be free
        return block[:, :1]

    return (
        lambda: float(dask.delayed(train)(x).compute().sum()),
        lambda: float(x.map_blocks(train, chunks=(400, 1)).sum().compute()),
    )


@entry(PAGE + "avoid-repeatedly-putting-large-inputs-into-delayed-calls", "dask.repeated-payload")
def large_input_in_each_call():
    """A large array by value in each delayed call."""
    array = np.random.default_rng(0).random(1_500_000)

    def pick(values, at):
        return float(values[at])

    def healthy():
        shared = dask.delayed(array)
        return dask.compute(*[dask.delayed(pick)(shared, at) for at in range(12)])

    return (lambda: dask.compute(*[dask.delayed(pick)(array, at) for at in range(12)])), healthy


@entry(PAGE + "avoid-too-many-tasks", "dask.many-layers")
def delayed_sum_of_many():
    """A delayed list of very many delayed values: as many layers, culled one by one."""

    def double(x):
        return 2 * x

    return (
        lambda: dask.delayed(sum)([dask.delayed(double)(x) for x in range(1050)]).compute(),
        lambda: db.from_sequence(range(1050), npartitions=4).map(double).sum().compute(),
    )
