"""The row *Recording* against bare runs: what is left without it, and what an empty hook costs.

Run: uv run python tests/benchmarks/recording_row.py [CALLS]
"""

import pickle
import sys
from typing import Any

from bench import heading, quartiles, table, timed_ns

from jupyter_serprof.api import record
from jupyter_serprof.model.stages import RECORDING

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
TURNS = 9


def main() -> None:
    """Print one line for each kind: ns a call, and its ratio to the bare call beside it."""
    kinds: dict[str, list[float]] = {name: [] for name in ("bare", "empty hook", "recorded")}
    kinds |= {"recorded, without Recording": [], "bare again": []}
    for _ in range(TURNS):
        kinds["bare"].append(timed_ns(_loop))
        kinds["empty hook"].append(timed_ns(lambda: _loop(_empty)))
        with record("dumps") as recording:
            kinds["recorded"].append(timed_ns(_loop))
        rows = recording.trace.waterfall.rows if recording.trace.waterfall else ()
        own_ns = sum(row.self_ns for row in rows if row.stage == RECORDING)
        kinds["recorded, without Recording"].append(recording.trace.wall_ns - own_ns)
        kinds["bare again"].append(timed_ns(_loop))
    heading(f"{CALLS:,} dumps of a small number, {TURNS} turns: quartiles")
    lines = [_row(*entry, kinds["bare"]) for entry in kinds.items()]
    table(["", "ns a call", "ratio to bare"], lines)


def _row(name: str, found: list[float], bare: list[float]) -> list[str]:
    each = quartiles([ns / CALLS for ns in found])
    ratio = quartiles([one / other for one, other in zip(found, bare, strict=True)])
    return [name, *(", ".join(f"{value:,.2f}" for value in values) for values in (each, ratio))]


def _empty(*args: Any, **kwargs: Any) -> Any:
    return pickle.dumps(*args, **kwargs)


def _loop(call: Any = None) -> None:
    called = call or pickle.dumps
    for _ in range(CALLS):
        called(1)


if __name__ == "__main__":
    main()
