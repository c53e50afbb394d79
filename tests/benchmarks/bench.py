"""What the benchmarks share: machine facts, alternating pairs, quartiles, a small Ray, a table."""

import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

Timed = Callable[[], int]


def heading(title: str) -> None:
    """Print what is measured, where, and how busy the machine is."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    cores = len(os.sched_getaffinity(0))
    print(f"\n{title}")
    print(f"Python {platform.python_version()}, {cores} cores, load {load} (1, 5, 15 minutes)")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below right-aligned columns; the first column is on the left."""
    widths = [max(len(str(line[i])) for line in [columns, *rows]) for i in range(len(columns))]
    for line in [columns, *rows]:
        cells = [str(cell).rjust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join([str(line[0]).ljust(widths[0]), *cells[1:]]).rstrip())


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def spread(values: Sequence[float], decimals: int = 3) -> str:
    """Return a median with its quartiles; of one value, that."""
    low, median, high = quartiles(values) if len(values) > 1 else (values[0],) * 3
    around = f" [{low:.{decimals}f}, {high:.{decimals}f}]" if len(values) > 1 else ""
    return f"{median:.{decimals}f}{around}"


def ratios(left: Timed, right: Timed, pairs: int) -> list[float]:
    """Return right / left of pairs measured one after the other, the order changing each time."""
    found = []
    for turn in range(pairs):
        first, second = (left, right) if turn % 2 == 0 else (right, left)
        one, two = first(), second()
        found.append(two / one if turn % 2 == 0 else one / two)
    return found


def timed_ns(function: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    function()
    return time.perf_counter_ns() - start


@contextmanager
def small_ray(store_bytes: int = 2_000_000_000) -> Iterator[None]:
    """Run Ray with two cores; a busy machine may need more than one start."""
    import ray

    folder = tempfile.mkdtemp(prefix="sp")
    for _ in range(4):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=store_bytes,
                log_to_driver=False,
                _temp_dir=folder,
            )
            break
        except Exception as error:  # noqa: BLE001  (Ray raises a bare Exception)
            print(f"Ray did not start, once more: {error}")
            ray.shutdown()
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
