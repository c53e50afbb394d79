"""What the control between repeated runs costs: its own time, and the run behind it.

Every other run has a control before it; the ratio is of a run with one over its neighbour without,
in pairs, the order changing. Below it the same without any control (A/A).

Run: uv run python tests/benchmarks/control_cost.py [PAIRS]
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable

from bench import heading, quartiles, ratios, table

from jupyter_serprof.experiments.control import Control
from jupyter_serprof.experiments.recording import Recording

PAIRS = 200


def wall_ns(call: Callable[[], object]) -> int:
    """Return the wall time of a recorded run."""
    recording = Recording("f()", detail=False)
    with recording:
        call()
    return recording.trace.wall_ns


def workloads() -> dict[str, Callable[[], object]]:
    """Return runs from microseconds to milliseconds."""
    rows = [{"a": at, "b": float(at)} for at in range(20_000)]
    few, data = rows[:200], pickle.dumps(rows)
    block, small = [bytearray(3_000_000)], [bytearray(300_000)]
    return {
        "one number": lambda: pickle.dumps(1),
        "200 dicts": lambda: pickle.dumps(few),
        "20,000 dicts": lambda: pickle.dumps(rows),
        "loads of these": lambda: pickle.loads(data),
        "300 kB": lambda: pickle.dumps(small),
        "3 MB": lambda: pickle.dumps(block),
    }


def main(pairs: int) -> None:
    """Print both."""
    control = Control(20)
    for number in range(20):
        control.measure(number)
    heading("one control, quartiles in ms")
    parts = control.times_ns
    parts = {**parts, "all": tuple(map(sum, zip(*parts.values(), strict=True)))}
    table(
        ["kind", "low", "median", "high"],
        [[key, *(f"{ns / 1e6:.2f}" for ns in quartiles(times))] for key, times in parts.items()],
    )
    heading(f"the run behind a control over the one without, {pairs} pairs")
    rows = []
    for name, call in workloads().items():

        def plain(call: Callable[[], object] = call) -> int:
            return wall_ns(call)

        def behind(call: Callable[[], object] = call) -> int:
            control.measure(0)
            return wall_ns(call)

        for label, other in ((name, behind), ("  A/A", plain)):
            low, median, high = quartiles(ratios(plain, other, pairs))
            rows.append([label, f"{low:.2f}", f"{median:.3f}", f"{high:.2f}"])
    table(["run", "low", "median", "high"], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
