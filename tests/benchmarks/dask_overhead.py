"""Slow-down of Dask computations of 1,600 tiny tasks while recording, against the same ones bare.

Alternating pairs; the control compares bare with bare: what noise alone does.
Run: uv run python tests/benchmarks/dask_overhead.py [pairs]
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import heading, ratios, spread, table, timed_ns

import jupyter_serprof as sp
from jupyter_serprof.experiments.graphs.stages import stage_recording

PAIRS, TASKS = 24, 1_600


def tiny_array() -> object:
    """Compute an array of 40 x 40 blocks of one element, 1,600 tasks that do next to nothing."""
    import dask.array as da

    blocks: Any = da.ones((40, 40), chunks=(1, 1))
    return blocks.map_blocks(lambda block: block + 1).compute()


def recorded_ns(run: Callable[[], object], record: Callable[[str], Any]) -> int:
    """Return how long the code took inside a recording; starting and stopping are outside."""
    with record("benchmark"):
        return timed_ns(run)


def main(pairs: int) -> None:
    import distributed

    client: Any = distributed.Client
    heading(f"recorded / bare, {pairs} alternating pairs, LocalCluster of 2 processes")
    with client(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as ours:
        mapped = partial(ours.map, lambda number: number + 1, range(TASKS), pure=False)
        cases: dict[str, tuple[Callable[[], object], Callable[[str], Any]]] = {
            "array, 1,600 blocks, %graphstages": (tiny_array, stage_recording),
            "client.map, 1,600, %serprof": (lambda: ours.gather(mapped()), sp.record),
        }
        rows = []
        for name, (run, record) in cases.items():
            bare = partial(timed_ns, run)
            bare()
            slow = ratios(bare, partial(recorded_ns, run, record), pairs)
            rows.append(
                [name, f"{bare() / 1e6:.0f} ms", spread(slow), spread(ratios(bare, bare, pairs))]
            )
        table(["case", "bare", "recorded / bare", "bare / bare"], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
