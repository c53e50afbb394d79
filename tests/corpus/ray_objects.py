"""Objects that are slow with Ray: docs.ray.io, ray-core/objects/serialization."""

from __future__ import annotations

import time

import numpy as np
import ray

from . import entry

SIZE = 1_000_000


def put_and_get(value):
    return ray.get(ray.put(value))


@entry("ray: ray-core/objects/serialization#numpy-arrays", "ray.element-walk")
def list_of_numpy_numbers():
    """A list of numpy's numbers: a callback for each."""
    array = np.arange(SIZE / 10)
    values = list(array)
    return (lambda: float(put_and_get(values)[5])), (lambda: float(put_and_get(array)[5]))


@entry("ray: ray-core/objects/serialization#numpy-arrays", "ray.native-walk")
def list_of_floats():
    """A list of a million floats: written one by one, where an array is copied."""
    array = np.arange(float(3 * SIZE))
    values = array.tolist()
    return (lambda: put_and_get(values)[5]), (lambda: float(put_and_get(array)[5]))


@entry("ray: ray-core/objects/serialization#numpy-arrays", "ray.element-walk")
def many_small_arrays():
    """A dict of thousands of small arrays, where one two-dimensional array would do."""
    table = np.random.default_rng(0).random((30_000, 20))
    rows = {str(at): row.copy() for at, row in enumerate(table)}
    return (lambda: float(put_and_get(rows)["7"][0])), (lambda: float(put_and_get(table)[7][0]))


@entry("ray: ray-core/objects/serialization#numpy-arrays", "ray.many-arrays")
def many_small_arrays_of_a_get():
    """Thousands of small arrays in one object: every get makes each of them anew."""
    table = np.random.default_rng(0).random((20_000, 20))
    rows, block = ray.put([row.copy() for row in table]), ray.put(table)
    return (
        lambda: [float(ray.get(rows)[7][0]) for _ in range(3)],
        lambda: [float(ray.get(block)[7][0]) for _ in range(3)],
    )


@entry("ray: ray-core/objects", "ray.many-puts")
def many_small_puts():
    """A put for each small value."""
    values = list(range(1500))
    return (lambda: ray.get([ray.put(x) for x in values])), (lambda: put_and_get(values))


@entry("ray: ray-core/tips-for-first-time", "ray.same-object")
def same_object_in_fresh_containers():
    """The same large array in a new dict for each task."""
    weights = np.random.default_rng(0).random(2_000_000)

    @ray.remote
    def predict(task):
        values = task["weights"]
        return float((ray.get(values) if isinstance(values, ray.ObjectRef) else values)[task["at"]])

    def healthy():
        ref = ray.put(weights)
        return ray.get([predict.remote({"weights": ref, "at": at}) for at in range(12)])

    return (
        lambda: ray.get([predict.remote({"weights": weights, "at": at}) for at in range(12)]),
        healthy,
    )


@entry("ray: ray-core/patterns/closure-capture-large-objects", "ray.captured-variable")
def captured_in_self():
    """A task that uses an attribute of self: the whole object travels with its code."""

    class Model:
        def __init__(self):
            self.table = np.random.default_rng(0).random(4_000_000)
            self.scale = 2.0

        def through_self(self):
            @ray.remote
            def scaled(x):
                return x * self.scale

            return ray.get([scaled.remote(x) for x in range(4)])

        def through_argument(self):
            @ray.remote
            def scaled(x, scale):
                return x * scale

            return ray.get([scaled.remote(x, self.scale) for x in range(4)])

    model = Model()
    return model.through_self, model.through_argument


@entry("ray: ray-core/objects/serialization#customized-serialization", "pickle.slow")
def slow_reducer():
    """An object of a kilobyte whose own __reduce__ computes for a long time."""

    class Model:
        def __init__(self, cached):
            self.cached = cached

        def __reduce__(self):
            time.sleep(0 if self.cached else 0.3)
            return type(self), (self.cached,)

    slow, quick = Model(cached=False), Model(cached=True)
    return (lambda: len(vars(put_and_get(slow)))), (lambda: len(vars(put_and_get(quick))))


@entry("ray: ray-core/objects#passing-object-arguments", "ray.tiny-tasks")
def task_with_hundreds_of_references():
    """One task with hundreds of references as arguments, each of a tiny result."""

    @ray.remote
    def one(x):
        return float(x)

    @ray.remote
    def some(values):
        return sum(float(x) for x in values)

    @ray.remote
    def total(*values):
        return sum(values)

    return (
        lambda: ray.get(total.remote(*[one.remote(x) for x in range(800)])),
        lambda: ray.get(total.remote(*[some.remote(range(a, a + 400)) for a in (0, 400)])),
    )
