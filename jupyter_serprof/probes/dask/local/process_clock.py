"""What travels to the worker processes of Dask's multiprocessing scheduler: a clock for each task.

This file is sent as source with each batch of tasks: it may import the standard library and what
Dask itself imports there, nothing of this package. Times of a task are written behind the pickle of
its result, where unpickling does not look; so the result is the same, bit by bit.
Source: dask 2026.8.0, multiprocessing.py:get, local.py:execute_task. ``perf_counter_ns`` is one
clock for all processes of a machine on Linux, macOS and Windows.
"""

import os
import pickle
from io import BytesIO
from time import perf_counter_ns
from typing import Any

#: The end of a result that has times behind it: their length in 4 bytes comes before.
MARK = b"SpT1"


class TaskClock:
    """Loads tasks and dumps their results as Dask does, and notes when."""

    def __init__(self) -> None:
        self.key: object = None
        self.begin = self.loaded = 0

    def loads(self, data: bytes) -> Any:  # noqa: ANN401  (whatever was pickled)
        """Load a task with its inputs."""
        self.begin = perf_counter_ns()
        value = pickle.loads(data)  # noqa: S301  (Dask's own message)
        self.loaded = perf_counter_ns()
        self.key = getattr(value[0], "key", None)
        return value

    def dumps(self, value: object) -> bytes:
        """Dump a result or an exception, and write the times behind it."""
        import cloudpickle

        start = perf_counter_ns()
        with BytesIO() as file:
            cloudpickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)
            size = file.tell()
            times = (os.getpid(), self.key, self.begin, self.loaded, start, size)
            file.write(notes := pickle.dumps((*times, perf_counter_ns())))
            file.write(len(notes).to_bytes(4, "little") + MARK)
            return file.getvalue()


CLOCK = TaskClock()
