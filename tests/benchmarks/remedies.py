"""Remedies on five objects with their intervals, an A/A control, and the split of a large array.

Run: uv run python tests/benchmarks/remedies.py [seconds for each object]

The control tries "the same" against itself: its interval should contain 1 in 95 of 100.
"""

from __future__ import annotations

import sys
from functools import partial
from statistics import median

import numpy as np
import pandas as pd
from bench import heading, table

from jupyter_serprof.api import split, try_remedies
from jupyter_serprof.experiments.compare.statistics import paired_shift
from jupyter_serprof.experiments.remedies.gain import Gain, interval_text
from jupyter_serprof.experiments.remedies.ways import Block, PickleWay, Trip
from jupyter_serprof.model import Sweep, Trace

RANDOM = np.random.default_rng(0)
WORDS = np.array([f"word {at}" for at in range(1_000)], dtype=object)
CONTROLS, PAIRS = 400, 15
MS = 1e6


def objects() -> dict[str, object]:
    """Return what is tried: an array, a view, rows, texts, many arrays."""
    return {
        "float64, 40 MB": RANDOM.random(5_000_000),
        "every other column, 40 MB": RANDOM.random((2_500, 4_000))[:, ::2],
        "200,000 rows of dicts": [{"id": at, "x": at / 7, "k": "ab"} for at in range(200_000)],
        "500,000 texts, object column": pd.DataFrame(
            {"w": pd.Series(RANDOM.choice(WORDS, 500_000), dtype=object)}
        ),
        "1,000 arrays of 40 kB": [RANDOM.random(5_000) for _ in range(1_000)],
    }


def main() -> None:
    """Print the tables."""
    budget_s = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    heading(f"remedies: up to {PAIRS} pairs each, {budget_s:g} s for each object")
    for name, value in objects().items():
        sweep = try_remedies(value, budget_s=budget_s, name="a")
        columns = ("object", "remedy", "now, ms", "then, ms", "gain", "pairs", "equal", "once, ms")
        table(columns, _rows(name, sweep))
    heading(f"A/A: {CONTROLS} times {PAIRS} pairs of the same way")
    table(("intervals that leave 1 out", "of"), [(str(_false_alarms()), str(CONTROLS))])
    heading("split of 400 MB of float64")
    table(("run", "stage", "ms"), _split_rows(split(RANDOM.random(50_000_000), name="a")))


def _rows(name: str, sweep: Sweep) -> list[tuple[str, ...]]:
    walls = {
        variant.key: [p.wall_ns for p in sweep.points if p.variant == variant.key and not p.cold]
        for variant in sweep.variants
    }
    rows: list[tuple[str, ...]] = []
    for variant in sweep.variants:
        facts = variant.facts
        gain, low, high = (facts.get(key) for key in ("gain", "low", "high"))
        if not isinstance(gain, float):
            continue
        ends = (low, high) if isinstance(low, float) and isinstance(high, float) else (None, None)
        once = facts.get("prepare_ns")
        rows.append(
            (
                *(name, variant.title),
                f"{median(walls[str(facts['baseline'])]) / MS:.2f}",
                f"{median(walls[variant.key]) / MS:.2f}",
                *(interval_text(Gain(gain, *ends)), str(facts["pairs"]), str(facts["equal"])),
                f"{once / MS:.1f}" if isinstance(once, int) else "",
            )
        )
    return rows


def _false_alarms() -> int:
    value = RANDOM.random(100_000)
    send = partial(PickleWay(Block()).send, value)
    return sum(_is_told(send) for _ in range(CONTROLS))


def _is_told(send: partial[Trip]) -> bool:
    sides: tuple[list[float], list[float]] = ([], [])
    for number in range(PAIRS):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            sides[side].append(send().wall_ns)
    return paired_shift(*sides).is_told


def _split_rows(trace: Trace) -> list[tuple[str, ...]]:
    titles = {entry.key: entry.title for entry in trace.stages}
    return [
        (trace.groups[row.group or 0].title, titles[row.stage], f"{row.self_ns / MS:.1f}")
        for row in (trace.waterfall.rows if trace.waterfall else ())
    ]


if __name__ == "__main__":
    main()
