"""What crossed into a real Ray is kept until it is opened, and no longer."""

import gc
import weakref

import numpy as np
import pytest
import ray

import jupyter_serprof as sp

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


class Model:
    """A class of the user's own, with a part that nobody thinks of."""

    def __init__(self) -> None:
        self.weights = np.arange(10_000.0)
        self.cache = {"history": np.arange(200_000.0)}


def test_the_largest_value_that_was_put_is_opened() -> None:
    """The path leads to the array in the cache; afterwards nobody holds the value."""
    model = Model()
    alive = weakref.ref(model)

    with sp.record(blame=True) as recording:
        references = [ray.put(model), ray.put([1, 2, 3])]
    trace = recording.trace

    assert len(references) == 2
    parts = {part.path.partition(".")[2]: part for part in trace.anatomies[0].parts}
    assert parts['cache["history"]'].out_of_band_bytes == 200_000 * 8
    del model, recording, references
    gc.collect()
    assert alive() is None


def test_what_is_put_and_passed_again_and_again_is_opened_once() -> None:
    """The same object in three puts and two arguments; another one stands beside it."""
    table, other = np.arange(150_000.0), {"rows": np.arange(100_000.0)}

    @ray.remote
    def length(values: object) -> int:
        return len(values)  # type: ignore[arg-type]  # sized

    with sp.record(blame=True) as recording:
        references = [ray.put(table) for _ in range(3)] + [ray.put(other)]
        results = ray.get([length.remote(table) for _ in range(2)])

    assert (len(references), results) == (4, [150_000, 150_000])
    first, second = recording.trace.anatomies[:2]
    assert first.parts[0].kind == "ndarray float64 (150000,)"
    assert " was pickled 5 times: 6.00 MB in all" in first.notes[0]
    assert second.parts[0].kind == "dict (1)"


def test_the_captured_variable_of_an_exported_function_is_opened() -> None:
    """Before Ray says *very large*, the anatomy names what the function drags along."""
    table = np.arange(150_000.0)

    @ray.remote
    def step(index: int) -> float:
        return float(table[index])

    with sp.record(blame=True) as recording:
        result = ray.get(step.remote(7))
    trace = recording.trace

    assert result == 7.0
    named = [part.path for anatomy in trace.anatomies for part in anatomy.parts]
    assert any(path.endswith("step<closure table>") for path in named), named


def test_the_captured_variable_of_an_actor_class_is_opened() -> None:
    """What a method reads travels with the class, once; small arguments do not hide it."""
    table = np.arange(150_000.0)

    @ray.remote(num_cpus=0)
    class Reader:
        def read(self, words: list[str]) -> float:
            return float(table[len(words)])

    with sp.record(blame=True) as recording:
        reader = Reader.remote()  # type: ignore[attr-defined]  # ray.remote gives it
        result = ray.get(reader.read.remote(["word"] * 5_000))
    first = recording.trace.anatomies[0]
    ray.kill(reader)  # not before it has reported

    assert result == 5_000.0
    assert first.parts[0].kind == "class Reader"
    assert any(part.path.endswith(".read<closure table>") for part in first.parts)
