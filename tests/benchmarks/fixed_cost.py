"""Fixed cost of a capture: enter, exit and document of an empty recording, first and later.

Run: uv run python tests/benchmarks/fixed_cost.py
"""

import cProfile
import pstats
import sys
import time
from itertools import pairwise

from bench import heading, small_ray, spread, table

from jupyter_serprof.api import record
from jupyter_serprof.capture.machine import measure_limits

LATER = 15
TOP = 12


def main() -> None:
    """Print the parts of the fixed cost, alone and with a cluster; ``--profile`` says where."""
    heading(f"fixed cost of a capture, ms (later: median [quartiles] of {LATER})")
    start = time.perf_counter()
    measure_limits()
    limits_ms = (time.perf_counter() - start) * 1e3
    print(f"not in the table: measuring memcpy, once in a process, {limits_ms:.0f} ms")
    rows = [_row("alone, first", [_capture()]), _row("alone, later", _later())]
    with small_ray(500_000_000):
        import ray

        ray.get(ray.put(b"x" * 1_000))
        _warm_driver()
        rows += [_row("cluster, first", [_capture()]), _row("cluster, later", _later())]
        if "--profile" in sys.argv:
            _profile()
    table(["", "enter", "exit", "document", "sum", "bound"], rows)


def _warm_driver() -> None:
    """Let Ray import what its own first put needs, so that it is not charged to us."""
    import numpy as np
    import ray

    ray.get(ray.put(np.zeros(100_000)))


def _capture() -> tuple[float, float, float]:
    recording = record("nothing")
    marks = [time.perf_counter()]
    recording.start()
    marks.append(time.perf_counter())
    recording.stop()
    marks.append(time.perf_counter())
    assert recording.trace.waterfall is not None
    marks.append(time.perf_counter())
    enter, leave, document = ((after - before) * 1e3 for before, after in pairwise(marks))
    return enter, leave, document


def _later() -> list[tuple[float, float, float]]:
    return [_capture() for _ in range(LATER)]


def _row(name: str, captures: list[tuple[float, float, float]]) -> list[str]:
    parts = [[capture[i] for capture in captures] for i in range(3)]
    sums = [sum(capture) for capture in captures]
    bound = "100" if name.startswith("cluster") else "40"
    return [name, *(spread(values, 1) for values in [*parts, sums]), bound]


def _profile() -> None:
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [_capture() for _ in range(LATER)])
    pstats.Stats(profiler).sort_stats("cumulative").print_stats(TOP * 3)


if __name__ == "__main__":
    main()
