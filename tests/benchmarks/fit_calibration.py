"""How often the fit of growth is right, on simulated sweeps whose law is known.

Run: uv run python tests/benchmarks/fit_calibration.py
"""

import random
import sys
from pathlib import Path

from bench import heading, table

RUNS = 200


def main(runs: int) -> None:
    """Print, for each law, class, break and coverage over seeded runs."""
    sys.path.append(str(Path(__file__).parents[1] / "support"))
    from laws import LAWS, NOISE_SHARE, REPEATS, SIZES, score

    heading(
        f"{runs} seeded runs of each law: {len(SIZES)} sizes over three decades, "
        f"{REPEATS} repeats, {NOISE_SHARE:.0%} noise"
    )
    rows = []
    for law in LAWS:
        draws = [random.Random(f"{law.__name__} {seed}") for seed in range(runs)]  # noqa: S311
        scores = [score(law(draw), draw) for draw in draws]
        names = "is_right", "is_near", "covered", "compared", "strict"
        right, near, covered, compared, wanted = (
            sum(getattr(each, name) for each in scores) for name in names
        )
        is_broken = any(each.is_broken for each in scores)
        parts = [(right, runs), (near, runs * is_broken), (covered, compared), (covered, wanted)]
        rows.append([law.__name__, *(f"{part / of:.1%}" if of else "" for part, of in parts)])
    table(["law", "class", "break within a step", "covered", "covered, misses counted"], rows)
    print("bounds: class 95%, break 90%, covered 93%")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
