"""Time to tell who holds the bytes of a Dask graph, against one pickle of it; bound: 2.

Run: uv run python tests/benchmarks/graph_bytes.py
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from bench import heading, quartiles, ratios, table, timed_ns
from dask._expr import HLGExpr
from dask._task_spec import Task, TaskRef

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.probes.dask.graph.graph import graph_bytes

PAIRS = 7
SECONDS = 600.0


def main() -> None:
    """Print the ratios for array graphs of a million tasks, and for 250,000 materialized ones."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    heading(f"graph_bytes / one pickle: {PAIRS} alternating pairs")
    graphs: dict[str, Callable[[], Any]] = {
        "(x + x.T).sum()": lambda: _array(int(480 * scale**0.5), is_summed=True),
        "x + x.T": lambda: _array(int(577 * scale**0.5), is_summed=False),
        "materialized": lambda: _tasks(int(250_000 * scale), np.zeros(10)),
        "half of them hold 8 MB": lambda: _tasks(int(250_000 * scale), np.zeros(1_000_000)),
    }
    columns = ("graph", "tasks", "pickle, ms", "lower quartile", "median", "upper quartile")
    for name, make in graphs.items():
        table([*columns, "A/A", "sum / pickle"], [_row(name, make())])


def _array(side: int, *, is_summed: bool) -> Any:
    values: Any = da.ones((side, side), chunks=1)
    added = values + values.T
    sent: Any = HLGExpr
    return sent.from_collection(added.sum() if is_summed else added)


def _tasks(count: int, array: object) -> dict[object, object]:
    return {
        ("k", i): Task(("k", i), divmod, array if i % 2 else TaskRef(("k", i - 1)), i)
        for i in range(count)
    }


def _row(name: str, graph: Any) -> list[str]:
    found = graph_bytes(graph, seconds=SECONDS)
    layers = graph.hlg.layers.values() if hasattr(graph, "hlg") else [graph]
    size = _pickle(graph)
    spread = quartiles(
        ratios(lambda: timed_ns(lambda: _pickle(graph)), lambda: _look(graph), PAIRS)
    )
    control = ratios(
        lambda: timed_ns(lambda: _pickle(graph)), lambda: timed_ns(lambda: _pickle(graph)), PAIRS
    )
    once_ms = timed_ns(lambda: _pickle(graph)) / 1e6
    return [
        name,
        f"{sum(map(len, layers)):,}",
        f"{once_ms:.0f}",
        *(f"{value:.2f}" for value in spread),
        f"{quartiles(control)[1]:.2f}",
        f"{found.size_bytes / size:.4f}",
    ]


def _look(graph: Any) -> int:
    return timed_ns(lambda: graph_bytes(graph, seconds=SECONDS))


def _pickle(graph: Any) -> int:
    """Pickle once, without the collector, as it is looked at."""
    buffers: list[pickle.PickleBuffer] = []
    with paused_collector():
        data = pickle.dumps(graph, protocol=5, buffer_callback=buffers.append)
    return len(data) + sum(memoryview(buffer).nbytes for buffer in buffers)


if __name__ == "__main__":
    main()
