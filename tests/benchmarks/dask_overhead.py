"""What watching costs a Dask computation: 1,600 tiny tasks, bare and recorded, in turns.

Prints the ratio recorded / bare (median and quartiles of alternating pairs) beside an A/A control
of bare / bare, and the fixed cost of a recording with a connected cluster.
Run: uv run python tests/benchmarks/dask_overhead.py [pairs]
"""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call, attr-defined"

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import heading, quartiles, ratios, table, timed_ns

import jupyter_serprof as sp
from jupyter_serprof.experiments.graphs.stages import stage_recording

PAIRS = 24
TASKS = 1_600


def tiny_array() -> object:
    """Compute an array of 40 x 40 blocks of one element, 1,600 tasks that do next to nothing."""
    import dask.array as da

    return da.ones((40, 40), chunks=(1, 1)).map_blocks(lambda block: block + 1).compute()


def tiny_map(client: Any) -> object:
    """Map a function over 1,600 numbers and gather them."""
    return client.gather(client.map(lambda number: number + 1, range(TASKS), pure=False))


def recorded_ns(run: Callable[[], object], record: Callable[[str], Any]) -> int:
    """Return how long the code took inside a recording; starting and stopping are outside."""
    with record("benchmark"):
        return timed_ns(run)


def fixed_ns(record: Callable[[str], Any]) -> tuple[int, int]:
    """Return what a recording of nothing costs: until the code runs, and after it."""
    begin = time.perf_counter_ns()
    recording = record("nothing")
    with recording:
        started = time.perf_counter_ns()
    stopped = time.perf_counter_ns()
    return started - begin, stopped - started


def main(pairs: int) -> None:
    from distributed import Client

    heading(f"recorded / bare, {pairs} alternating pairs, LocalCluster of 2 processes")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        cases: tuple[tuple[str, Callable[[], object], str, Callable[[str], Any]], ...] = (
            ("array, 1,600 blocks", tiny_array, "%graphstages", stage_recording),
            ("client.map, 1,600", lambda: tiny_map(client), "%serprof", sp.record),
        )
        for name, run, label, record in cases:
            for _ in range(3):
                run()
            bare = partial(timed_ns, run)
            found = quartiles(ratios(bare, partial(recorded_ns, run, record), pairs))
            control = quartiles(ratios(bare, bare, pairs))
            shown = [f"{value:.3f}" for value in (found[1], found[0], found[2], control[1])]
            row = [name, label, f"{bare() / 1e6:.0f} ms", *shown]
            table(["case", "recording", "bare", "ratio", "lower", "upper", "A/A"], [row])
        starts, stops = zip(*[fixed_ns(sp.record) for _ in range(15)], strict=True)
        print(
            f"fixed cost: {quartiles(starts)[1] / 1e6:.0f} ms before, "
            f"{quartiles(stops)[1] / 1e6:.0f} ms after (the first before: {starts[0] / 1e6:.0f} ms)"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
