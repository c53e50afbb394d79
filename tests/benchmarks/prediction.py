"""How far off a prediction is at ten times the largest size it was made from.

Each kind of data is swept from 1 kB to 10 MB and measured once more at 100 MB; that size is
predicted from the others, stage by stage, and by one straight line. Where that was off by more
than a factor of 2, predictions are refused; these are counted apart.

Run: uv run python tests/benchmarks/prediction.py [rounds]
"""

import statistics
import sys

from bench import heading, table

import jupyter_serprof as sp
from jupyter_serprof.experiments.sizes.subject import GENERATORS
from jupyter_serprof.model import Sweep, UsageError

SIZES = [round(10 ** (3 + step / 3)) for step in range(13)]
HELD_BYTES = 100_000_000
TRANSPORTS = ("pickle", "cloudpickle")


def swept(key: str) -> Sweep:
    """Return the sweep of one kind of data."""
    make = GENERATORS[key].make
    sizes = [*SIZES, HELD_BYTES]
    return sp.sweep(
        lambda size: make(round(size)), sizes, transports=TRANSPORTS, repeat=5, name=key
    )


def errors(sweep: Sweep, variant: str) -> tuple[float, float] | None:
    """Return the error at the held-out size, of what answered and of a straight line.

    A size just beyond the held-out one is checked there; None where that check refuses it.
    """
    held = max(point.size_bytes or 0 for point in sweep.points)
    try:
        about = sp.predict(sweep, 1.001 * held, variant=variant).prediction
    except UsageError as refused:
        print(f"refused: {refused}")
        return None
    assert about is not None
    assert about.error_share is not None
    assert about.straight_error_share is not None
    return about.error_share, about.straight_error_share


def main(rounds: int) -> None:
    """Print the held-out errors of every kind of data, and their medians."""
    heading(f"Held-out error at 10 times the largest size used, {rounds} sweeps of each kind")
    rows, of_stages, of_lines, refused = [], [], [], 0
    for key, generator in GENERATORS.items():
        if generator.state()[0] != "ok":
            continue
        for variant, found in _rounds(key, rounds).items():
            stages = [pair and pair[0] for pair in found]
            lines = [pair and pair[1] for pair in found]
            rows.append([f"{generator.title}, {variant}", _shown(stages), _shown(lines)])
            of_stages += [abs(error) for error in stages if error is not None]
            of_lines += [abs(error) for error in lines if error is not None]
            refused += stages.count(None)
    table(["data and transport", "as answered", "straight line"], rows)
    print(f"refused: {refused} of {refused + len(of_stages)}, off by more than a factor of 2")
    if of_stages:
        print(
            f"median of absolute errors: {statistics.median(of_stages):.0%} as answered, ", end=""
        )
        print(f"{statistics.median(of_lines):.0%} by a straight line ({len(of_stages)} answers)")


def _rounds(key: str, rounds: int) -> dict[str, list[tuple[float, float] | None]]:
    found: dict[str, list[tuple[float, float] | None]] = {variant: [] for variant in TRANSPORTS}
    for _ in range(rounds):
        sweep = swept(key)
        for variant in TRANSPORTS:
            found[variant].append(errors(sweep, variant))
    return found


def _shown(found: list[float | None]) -> str:
    return " ".join("refused" if error is None else f"{error:+.0%}" for error in found)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
