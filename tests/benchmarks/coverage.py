"""Share of the wall time of put and get in named stages, cold and warm, from 1 MB to 800 MB.

Strict counts the stages that work, total also those that wait. Cold is the first of its size.
Run: uv run python tests/benchmarks/coverage.py
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from bench import heading, small_ray, table

from jupyter_serprof.api import record
from jupyter_serprof.model import Summary, Trace

SIZES = {"1 MB": 1_000_000, "10 MB": 10_000_000, "100 MB": 100_000_000, "800 MB": 800_000_000}
WARM = 7


def main() -> None:
    """Print one table: put and get of each size, cold and warm."""
    import ray

    with small_ray(3_000_000_000):
        ray.get(ray.put(np.zeros(10)))
        rows = [row for label, size in SIZES.items() for row in _rows(label, size)]
        heading(f"coverage of put and get; warm: median of {WARM} (least)")
        table(["call", "size", "", "wall", "strict", "total"], rows)


def _rows(label: str, size_bytes: int) -> list[list[str]]:
    import ray

    array = np.arange(size_bytes // 8, dtype=np.float64)
    puts, gets = [], []
    for _ in range(1 + WARM):
        put, reference = _traced(partial(ray.put, array))
        get, _ = _traced(partial(ray.get, reference))
        puts.append(put)
        gets.append(get)
        del reference
    return [
        _row(name, label, state, some)
        for name, traces in (("put", puts), ("get", gets))
        for state, some in (("cold", traces[:1]), ("warm", traces[1:]))
    ]


def _traced(call: Callable[[], Any]) -> tuple[Trace, Any]:
    with record("coverage") as recording:
        result = call()
    return recording.trace, result


def _row(name: str, label: str, state: str, traces: list[Trace]) -> list[str]:
    wall_ms = statistics.median(trace.wall_ns / 1e6 for trace in traces)
    strict = [(trace.summary or Summary("")).strict_share or 0 for trace in traces]
    total = [(trace.summary or Summary("")).total_share or 0 for trace in traces]
    return [name, label, state, f"{wall_ms:,.2f} ms", _spread(strict), _spread(total)]


def _spread(shares: list[float]) -> str:
    least = f" ({min(shares):.1%})" if len(shares) > 1 else ""
    return f"{statistics.median(shares):.1%}{least}"


if __name__ == "__main__":
    main()
