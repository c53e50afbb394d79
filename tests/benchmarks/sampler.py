"""Slow-down of graph construction while the sampler looks, against the same recording without it.

Alternating pairs in one process; the control compares recordings without the sampler: what noise
alone does. One workload never pauses, so that the sampler has to ask for the interpreter each time.
Run: uv run python tests/benchmarks/sampler.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bench import heading, quartiles, ratios, table, timed_ns

from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.probes.dask.sampling import ConstructionSampler

PAIRS = 40


def main() -> None:
    """Print one table: each workload, with and without the sampler, beside the control."""
    rows = [_row(name, work) for name, work in WORK.items()]
    heading(f"slow-down by the sampler: median [quartiles] of {PAIRS} alternating pairs")
    table(["work", "time", "sampled / not", "not / not"], rows)


def _row(name: str, work: Callable[[], object]) -> list[str]:
    def bare() -> int:
        with Recording("sampler", detail=False):
            return timed_ns(work)

    def sampled() -> int:
        with Recording("sampler", detail=False, also=(ConstructionSampler(),)):
            return timed_ns(work)

    work()
    slow, control = ratios(bare, sampled, PAIRS), ratios(bare, bare, PAIRS)
    return [name, f"{bare() / 1e6:.0f} ms", _spread(slow), _spread(control)]


def _spread(values: list[float]) -> str:
    low, median, high = quartiles(values)
    return f"{median:.3f} [{low:.3f}, {high:.3f}]"


def _construct() -> object:
    import dask.array as da

    parts = [da.ones((100,), chunks=10) + turn for turn in range(60)]
    return sum(parts[1:], parts[0])


def _count() -> int:
    return sum(turn * turn % 7 for turn in range(1_500_000))


def _compiled() -> object:
    return np.sort(np.arange(3_000_000) * 7919 % 1_000_003)


WORK: dict[str, Callable[[], object]] = {
    "graph of 60 additions": _construct,
    "a loop that never pauses": _count,
    "compiled code": _compiled,
}

if __name__ == "__main__":
    main()
