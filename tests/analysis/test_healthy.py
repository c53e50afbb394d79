"""Twenty workloads that are as they should be, really run and recorded: no rule says anything."""

import dataclasses
import gc
import io
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from jupyter_serprof import record
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.experiments.engine import recording as recordings

ARRAY = np.arange(100_000.0)
FRAME = pd.DataFrame({"k": np.arange(20_000) % 7, "x": np.linspace(0, 1, 20_000)})
ROWS = [{"id": at, "x": at / 7} for at in range(2_000)]


@pytest.fixture(scope="module", autouse=True)
def _nobody_else() -> Iterator[None]:
    """Measure the work of this process, and let the collector look at no objects of other tests."""
    # A machine that is busy with others makes each pickle slow for its bytes, a collector that
    # searches a million objects is found in it: both are told, and neither is of the workload. What
    # is frozen stays so: all that was collected is among it (``tests/conftest.py``).
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recordings, "Recorder", partial(Recorder, clock=time.process_time_ns))
        yield


@dataclasses.dataclass
class Job:
    """A small object of a program."""

    name: str
    steps: list[int]


def there_and_back(value: object, **options: Any) -> None:
    pickle.loads(pickle.dumps(value, **options))


def out_of_band(value: object) -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pickle.loads(data, buffers=buffers)


def by_value(function: Callable[..., object]) -> None:
    """Send a function with cloudpickle."""
    cloudpickle.loads(cloudpickle.dumps(function))


def many_times(values: list[Any]) -> None:
    for value in values:
        there_and_back(value)


def adder(number: int) -> Callable[[int], int]:
    return lambda other: number + other


def retried() -> None:
    """Pickle refuses a lambda, cloudpickle takes it: all is well."""
    try:
        pickle.dumps(lambda: 1)
    except (pickle.PicklingError, AttributeError):
        cloudpickle.dumps(lambda: 1)


def in_threads() -> None:
    """Four threads pickle at the same time."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(pickle.dumps, [ARRAY[:1_000]] * 8))


def reused() -> None:
    """One buffer for several pickles."""
    buffer = io.BytesIO()
    for _ in range(5):
        buffer.seek(0)
        pickle.dump(ARRAY, buffer, protocol=5)


def caught() -> None:
    """Code that expects a refusal and goes on."""
    with pytest.raises(TypeError):
        pickle.dumps(threading.Lock())


WORKLOADS: dict[str, Callable[[], object]] = {
    "array of 800 kB, protocol 5": partial(there_and_back, ARRAY, protocol=5),
    "array of 800 kB, default protocol": partial(there_and_back, ARRAY),
    "array out-of-band": partial(out_of_band, ARRAY),
    "dict of arrays out-of-band": partial(out_of_band, {at: ARRAY[at:] for at in range(10)}),
    "array with gaps, default protocol": partial(there_and_back, np.ones(900_000)[::2]),
    "arrays in an object, protocol 5": partial(
        there_and_back, [ARRAY] * 3 + [ARRAY[1:]], protocol=5
    ),
    "numeric frame": partial(there_and_back, FRAME, protocol=5),
    "frame out-of-band": partial(out_of_band, FRAME),
    "categorical column": partial(there_and_back, FRAME.k.astype("category"), protocol=5),
    "2,000 rows of dicts": partial(there_and_back, ROWS),
    "settings, nested": partial(there_and_back, {"a": {"b": [1, 2, {"c": None}]}, "d": "text"}),
    "bytes of 1 MB": partial(there_and_back, b"x" * 1_000_000, protocol=5),
    "text of 1 MB": partial(there_and_back, "x" * 1_000_000),
    "500 small objects": partial(there_and_back, [Job(f"j{at}", [at]) for at in range(500)]),
    "shared and cyclic references": lambda: there_and_back([ROWS[0]] * 100),
    "a hundred small pickles": partial(many_times, ROWS[:100]),
    "an importable function": partial(by_value, there_and_back),
    "a closure over a number": partial(by_value, adder(3)),
    "a lambda that pickle refuses": retried,
    "a refusal that is expected": caught,
    "pickles in four threads": in_threads,
    "one buffer used again": reused,
    "a set of numbers": partial(there_and_back, set(range(5_000))),
    "nothing that serializes": lambda: sum(range(10_000)),
}


@pytest.mark.parametrize("work", WORKLOADS.values(), ids=WORKLOADS)
def test_nothing_is_found_in_a_healthy_workload(work: Callable[[], object]) -> None:
    work()  # imports and first uses are not what is looked at

    with record("healthy") as recording:
        work()

    assert recording.trace.findings == ()
    assert recording.trace.outcome == "ok"


def test_the_same_refusal_is_found_where_it_ends_the_run() -> None:
    """The set is quiet because it is healthy, not because nobody looks."""
    with pytest.raises(TypeError), record("refused") as recording:
        pickle.dumps(threading.Lock())

    assert [found.rule for found in recording.trace.findings] == ["pickle.unpicklable"]
