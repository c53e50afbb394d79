"""Does what is said to be left hold? Run this file with `uv run python`.

At half of each of twenty workloads: was the true end in its range? Did a bar ever run backwards?
"""

import os
import random
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median
from tempfile import mkdtemp
from typing import Any

import dask.array as da
import dask.bag as db
import ray
from bench import heading, table
from dask.delayed import delayed
from distributed import Client

from jupyter_serprof.api import record
from jupyter_serprof.model.live import LiveFacts

#: dask is typed in part.
BAG: Any = db.from_sequence
ANY = random.Random(7)  # noqa: S311  (no secret)


def nap(s: float, *_: object) -> float:
    time.sleep(s)
    return s


def long(s: float, *_: object) -> float:
    return nap(s)


def join(parts: list[float], s: float = 0.0) -> float:
    return nap(s) + sum(parts)


def importing(s: float) -> float:
    import scipy.stats  # the first one of each worker

    return nap(s) * (scipy.stats is not None)


def spin(s: float) -> float:
    end = time.thread_time() + s
    while time.thread_time() < end:
        pass
    return s


def many(times: list[float], call: Any = nap) -> Any:
    return delayed(join)([delayed(call)(s) for s in times])


def tree(parts: list[Any]) -> Any:
    while len(parts) > 1:
        parts = [delayed(join)(parts[at : at + 4], 0.15) for at in range(0, len(parts), 4)]
    return parts[0]


def chain(at: int) -> Any:
    return delayed(nap)(0.1, delayed(long)(0.3, delayed(nap)(0.1, at)))


EVEN, GROWS = [0.2] * 80, [0.02 * at for at in range(40)]
SPREAD = [ANY.lognormvariate(-1.8, 0.6) for _ in range(80)]
DASK: dict[str, Callable[[], Any]] = {
    "equal": partial(many, EVEN),
    "two after each other": lambda: delayed(long)(0.1, many([0.1] * 30), many([0.4] * 30, long)),
    "two kinds in one": lambda: delayed(join)([many([0.1] * 30), many([0.4] * 30, long)]),
    "one straggler": lambda: many([*EVEN[:40], 4.0]),
    "growing": partial(many, GROWS),
    "shrinking": partial(many, GROWS[::-1]),
    "spread": partial(many, SPREAD),
    "tree": lambda: tree([delayed(nap)(0.2) for _ in range(64)]),
    "fan-in": lambda: delayed(join)([delayed(nap)(0.2) for _ in range(60)], 1.5),
    "shuffle": lambda: (
        BAG(range(160), npartitions=16).map(lambda at: nap(0.08) or at).groupby(lambda at: at % 9)
    ),
    "array": lambda: da.ones(60, chunks=1).map_blocks(lambda one: one * nap(0.2)).sum(),
    "chains": lambda: [chain(at) for at in range(30)],
    "few and long": lambda: many([1.5] * 12),
    "imports first": partial(many, [0.2] * 60, importing),
    "with the processor": partial(many, [0.1] * 60, spin),
}


def actors(times: list[float]) -> list[Any]:
    clerk: Any = ray.remote(type("Clerk", (), {"serve": staticmethod(nap)}))
    made = [clerk.remote() for _ in range(4)]
    return [made[at % 4].serve.remote(s) for at, s in enumerate(times)]


def tasks(times: list[float]) -> list[Any]:
    return [ray.remote(nap).remote(s) for s in times]


RAY: dict[str, Callable[[], Any]] = {
    "ray: equal": partial(tasks, EVEN),
    "ray: growing": partial(tasks, GROWS),
    "ray: one straggler": lambda: tasks([*EVEN[:40], 4.0]),
    "ray: actors": partial(actors, EVEN),
    "ray: nested, fan-in": lambda: [ray.remote(nap).remote(1.0, *tasks(EVEN[:60]))],
}


def ran(name: str, run: Callable[[], object]) -> list[str]:
    """Run one, and return its row: its time, what was said to be left at half of it, the truth."""
    told: list[LiveFacts] = []
    with record(name, live=told.append) as recording:
        run()
    took_s = recording.trace.wall_ns / 1e9
    bars = [facts.share for facts in told if facts.share is not None]
    half = next((one for one in reversed(told) if one.ran_s <= took_s / 2), LiveFacts())
    low, high = half.left_s or (0.0, 0.0)
    is_in = low <= took_s - half.ran_s <= high if half.left_s else None
    verdict = {True: "in", False: "OUT", None: f"not said {half.why}"}[is_in]
    backwards = sum(one > other for one, other in pairwise(bars))
    said = f"{low:.1f} to {high:.1f}" if half.left_s else ""
    wide = f"{high / max(low, 0.1):.1f}" if half.left_s else ""
    true = f"{took_s - half.ran_s:.1f}"
    return [name, f"{took_s:.1f}", said, true, verdict, wide, str(backwards)]


def main() -> None:
    """Run all, and print the table."""
    heading("What is said to be left at half of the time, s")
    rows = []
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=None) as client:  # type: ignore[no-untyped-call]
        for name, make in DASK.items():
            rows.append(ran(name, partial(client.compute, make(), sync=True)))
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, _temp_dir=mkdtemp("r"))
    ray.get(tasks([0.1] * 4))
    for name, make in RAY.items():
        rows.append(ran(name, lambda make=make: ray.get(make())))  # type: ignore[misc]
    ray.shutdown()
    said = [row for row in rows if row[2]]
    table(["workload", "time", "said", "true", "verdict", "wide", "bars back"], rows)
    print(f"\n{sum(row[4] == 'in' for row in said)} of {len(said)} in the range ({len(rows)} ran)")
    print(f"Median of the most by the least: {median(float(row[5]) for row in said):.1f}")


if __name__ == "__main__":
    main()
