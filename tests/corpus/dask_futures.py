"""What costs time with futures: docs.dask.org, futures; distributed.dask.org, efficiency."""

from __future__ import annotations

import time

import dask.array as da
import numpy as np
from distributed import default_client

from . import entry

EFFICIENCY = "dask: distributed/efficiency#"


@entry(EFFICIENCY + "use-larger-tasks", "dask.tiny-tasks")
def map_over_tiny_calls():
    """A future for each number."""
    client = default_client()

    def double(values):
        return [2 * x for x in values]

    def antipattern():
        futures = client.map(double, [[x] for x in range(1000)], pure=False)
        return [x for values in client.gather(futures) for x in values]

    def healthy():
        futures = client.map(double, [range(at, at + 500) for at in range(0, 1000, 500)])
        return [x for values in client.gather(futures) for x in values]

    return antipattern, healthy


@entry(EFFICIENCY + "leave-data-on-the-cluster", "dask.large-gather")
def large_result_to_the_client():
    """A large array brought here, to take its mean."""

    def made():
        return da.ones((5000, 4000), chunks=(1250, 4000))

    return (lambda: float(made().compute().mean())), (lambda: float(made().mean().compute()))


@entry("dask: futures#submit-tasks", "dask.compute-in-loop")
def result_right_after_submit():
    """result() after each submit: one task at a time."""
    client = default_client()

    def slow_here(x):
        time.sleep(0.06)
        return x

    return (
        lambda: [client.submit(slow_here, x, pure=False).result() for x in range(10)],
        lambda: client.gather(client.map(slow_here, range(10), pure=False)),
    )


@entry("dask: futures#move-data", "dask.large-object")
def large_argument_of_submit():
    """A large array by value in each submit, where scatter sends it once."""
    client = default_client()
    array = np.random.default_rng(0).random(1_500_000)

    def pick(values, at):
        return float(values[at])

    def picked(given):
        return client.gather([client.submit(pick, given, at, pure=False) for at in range(10)])

    return (lambda: picked(array)), (lambda: picked(client.scatter(array, broadcast=True)))


@entry("dask: futures#move-data", "dask.repeated-payload")
def method_of_a_model():
    """A bound method in map: the model travels with each task."""
    client = default_client()

    class Model:
        def __init__(self):
            self.weights = np.random.default_rng(0).random(1_000_000)

        def predict(self, x):
            return float(self.weights[x])

    def predict(model, x):
        return model.predict(x)

    model = Model()

    def healthy():
        sent = client.scatter(model, broadcast=True)
        return client.gather(client.map(predict, [sent] * 20, range(20), pure=False))

    return (lambda: client.gather(client.map(model.predict, range(20), pure=False))), healthy
