"""What the control beside repeated runs costs: its own time, and the runs behind it.

Documents of fifteen runs with it and without it, in turns: the medians of runs, as ratios.

Run: uv run python tests/benchmarks/control_cost.py [DOCUMENTS]
"""

import pickle
import sys
from collections.abc import Callable
from statistics import median
from unittest.mock import patch

from bench import heading, quartiles, table
from compare_calibration import document

from jupyter_serprof.experiments.engine.machine import FEWEST, MachineCheck

DOCUMENTS = 20
RUNS = 15


class NoControl(MachineCheck):
    """A control that does nothing."""

    def measure(self, number: int, ran_ns: int = 0) -> None:
        """Do nothing."""


def walls(call: Callable[[], object], *, has_control: bool) -> list[int]:
    """Return the wall times of the warm runs of a document."""
    chosen = MachineCheck if has_control else NoControl
    with patch("jupyter_serprof.experiments.compare.repeats.MachineCheck", chosen):
        made = document(call, RUNS)
    return [point.wall_ns for point in made.points if not point.cold]


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


def main(documents: int) -> None:
    control = MachineCheck(FEWEST)
    for number in (0, FEWEST):
        control.measure(number)
    heading("one time of the control, five of which stand beside the runs; quartiles in ms")
    parts = control.times_ns
    parts = {**parts, "all": tuple(map(sum, zip(*parts.values(), strict=True)))}
    table(
        ["kind", "low", "median", "high"],
        [[key, *(f"{ns / 1e6:.2f}" for ns in quartiles(times))] for key, times in parts.items()],
    )
    heading(f"with the control over without, medians of {documents} documents of {RUNS} runs")
    rows = []
    for name, call in workloads().items():
        made: tuple[list[list[int]], list[list[int]]] = ([], [])
        for turn in range(documents):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                made[side].append(walls(call, has_control=bool(side)))
        early = [median(w[at] for w in made[1]) / median(w[at] for w in made[0]) for at in range(3)]
        whole = [median(a) / median(b) for b, a in zip(*made, strict=True)]
        low, middle, high = quartiles(whole)
        rows.append(
            [name, *(f"{ratio:.2f}" for ratio in early), f"{middle:.3f} ({low:.2f} to {high:.2f})"]
        )
    table(["run", "first", "second", "third", "median of all (quartiles)"], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS)
