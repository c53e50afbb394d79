"""Slow-down of loops of dumps, loads, put and get while recording, against the same loops bare.

Alternating pairs in one process; the control compares bare with bare. Last: what one call costs.
Run: uv run python tests/benchmarks/overhead.py
"""

import pickle
import statistics
from collections.abc import Callable

import numpy as np
from bench import heading, quartiles, ratios, small_ray, spread, table, timed_ns

from jupyter_serprof.api import record

SIZES = {"1 kB": 1_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
PAIRS, LOOP_BYTES = 24, 40_000_000
LOOP_AT_MOST = 60


def main() -> None:
    import ray

    with small_ray():
        ray.get(ray.put(np.zeros(10)))
        rows = [_row(name, label, size) for name in CALLS for label, size in SIZES.items()]
        heading(f"slow-down while recording: median [quartiles] of {PAIRS} alternating pairs")
        table(
            ["call", "size", "loop", "bare, one call", "recorded / bare", "bare / bare", "more"],
            rows,
        )


def _row(name: str, label: str, size_bytes: int) -> list[str]:
    count = max(3, min(LOOP_AT_MOST, LOOP_BYTES // size_bytes))
    call = CALLS[name](np.arange(size_bytes // 8, dtype=np.float64))

    def loop() -> None:
        for _ in range(count):
            call()

    def bare() -> int:
        """Time the loop after the same pause that arming and removing make."""
        with record("overhead"):
            pass
        return timed_ns(loop)

    loop()
    slow, control = ratios(bare, lambda: _recorded_ns(loop), PAIRS), ratios(bare, bare, PAIRS)
    once_us = statistics.median(bare() for _ in range(9)) / count / 1_000
    extra_us = (quartiles(slow)[1] - 1) * once_us
    columns = [name, label, str(count), f"{once_us:,.1f} us", spread(slow), spread(control)]
    return [*columns, f"{extra_us:,.1f} us"]


def _recorded_ns(loop: Callable[[], None]) -> int:
    """Time the loop alone: arming and the document are another benchmark."""
    with record("overhead"):
        return timed_ns(loop)


def _put(array: np.ndarray) -> Callable[[], object]:
    import ray

    return lambda: ray.put(array)


def _get(array: np.ndarray) -> Callable[[], object]:
    import ray

    reference = ray.put(array)
    return lambda: ray.get(reference)


def _loads(array: np.ndarray) -> Callable[[], object]:
    data = pickle.dumps(array, protocol=5)
    return lambda: pickle.loads(data)


CALLS: dict[str, Callable[[np.ndarray], Callable[[], object]]] = {
    "pickle.dumps": lambda array: lambda: pickle.dumps(array, protocol=5),
    "pickle.loads": _loads,
    "ray.put": _put,
    "ray.get": _get,
}

if __name__ == "__main__":
    main()
