"""A real curve over chunk sizes: the sum of a random array on two processes of one thread.

Prints the curve, the recommended chunk with its interval, what limits on either side, how long it
all took, when the first point was there, and the bytes of the document.
Run: uv run python tests/benchmarks/chunk_sweep.py [edge] [seconds], or: --known
With --known simulated curves instead: how often the true best lies in the interval.
"""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import json
import logging
import math
import os
import random
import sys
import time
import warnings

import dask.array as da
from bench import heading, table
from distributed import Client, LocalCluster

from jupyter_serprof.experiments.chunks.best import ChunkFacts, recommend
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.model import Point, Sweep, to_document
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.views.notebook.thin import embedded
from jupyter_serprof.views.text import text

EDGE = 8000
BUDGET_S = 120.0
CHUNKS = tuple(round(100 * 40 ** (step / 7)) for step in range(8))
SEEDS = 200
NOISES = (0.02, 0.05, 0.1)


def main(edge: int, budget_s: float) -> None:
    """Sweep on a cluster of two processes and print what is found."""
    heading(f"da.random.random(({edge}, {edge}), chunks=chunk).sum(), two processes of one thread")
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster),
    ):
        sweep, first_s, took_s = swept(edge, budget_s)
    print(text(sweep))
    documents = [sweep, embedded(sweep)]
    whole, small = (len(json.dumps(to_document(d), separators=(",", ":"))) for d in documents)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"\nfirst point after {first_s:.2f} s; {len(sweep.points)} points in {took_s:.1f} s")
    print(f"document {format_bytes(whole)}, in a notebook {format_bytes(small)}; load {load}")


def swept(edge: int, budget_s: float) -> tuple[Sweep, float, float]:
    """Return the sweep, and the seconds to its first point and to its end."""
    told: list[float] = []
    sweep = ChunkSweep(
        lambda chunk: da.random.random((edge, edge), chunks=chunk).sum(),
        CHUNKS,
        name="da.random(...).sum()",
        budget_s=budget_s,
        seed=1,
    )
    start_s = time.monotonic()
    document = sweep.run(lambda _: told.append(time.monotonic() - start_s))
    return document, told[0], time.monotonic() - start_s


def known() -> None:
    """Print how often simulated truths are found."""
    heading("Simulated curves: overhead for each task, rounds of work on 2 to 16 workers")
    rows = [row(noise_share, repeats) for noise_share in NOISES for repeats in (2, 3, 5)]
    table(("noise, runs", "best inside", "sizes wide", "task inside", "flat: cannot tell"), rows)


def row(noise_share: float, repeats: int) -> tuple[str, ...]:
    """Return the shares of one kind of simulation."""
    inside, wide, slopes, flat = 0, 0, list[bool](), 0
    for seed in range(SEEDS):
        draw = random.Random(seed)  # noqa: S311  (simulation)
        task_s, work_s = 10 ** draw.uniform(-3.5, -2.5), 10 ** draw.uniform(-0.5, 1)
        workers = draw.choice([2, 4, 8, 16])
        walls = {
            chunk: 0.05 + task_s * count + work_s * math.ceil(count / workers) / count
            for chunk in CHUNKS
            if (count := math.ceil(EDGE / chunk) ** 2)
        }
        found = recommend(*simulated(walls, draw, noise_share, repeats))
        level = recommend(*simulated(dict.fromkeys(CHUNKS, 1.0), draw, noise_share, repeats))
        if found is None or level is None:
            continue
        inside += found.low <= CHUNKS.index(min(CHUNKS, key=lambda c: walls[c])) <= found.high
        wide += found.high - found.low + 1
        if found.task_ns:
            slopes.append(found.task_ns.low <= 1e9 * task_s <= found.task_ns.high)
        flat += not level.is_told
    shares = (inside / SEEDS, sum(slopes) / max(1, len(slopes)), flat / SEEDS)
    best, slope, level_share = (f"{share:.1%}" for share in shares)
    of = f"{slope} of {len(slopes)}"
    return (f"{noise_share:.0%}, {repeats}", best, f"{wide / SEEDS:.1f}", of, level_share)


def simulated(
    walls: dict[int, float], draw: random.Random, noise_share: float, repeats: int
) -> tuple[list[Point], list[ChunkFacts]]:
    """Return warm points of known wall times (s) with relative noise."""
    points = [
        Point(
            variant="dask",
            size_bytes=chunk * chunk * 8,
            repeat=repeat,
            cold=False,
            wall_ns=round(1e9 * wall_s * math.exp(draw.gauss(0, noise_share))),
            moved_bytes=None,
            stages={},
            parameter=chunk,
        )
        for chunk, wall_s in walls.items()
        for repeat in range(1, repeats + 1)
    ]
    counts = {chunk: math.ceil(EDGE / chunk) ** 2 for chunk in walls}
    return points, [ChunkFacts(c, c * c * 8, counts[c], counts[c]) for c in walls]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    numbers = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if "--known" in sys.argv:
        known()
    else:
        main(
            int(numbers[0]) if numbers else EDGE,
            float(numbers[1]) if numbers[1:] else BUDGET_S,
        )
