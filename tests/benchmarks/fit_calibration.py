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
        scores = []
        for seed in range(runs):
            draw = random.Random(f"{law.__name__} {seed}")  # noqa: S311  (simulation)
            scores.append(score(law(draw), draw))
        compared = sum(each.compared for each in scores)
        wanted = sum(each.strict for each in scores)
        covered = sum(each.covered for each in scores)
        is_broken = any(each.is_broken for each in scores)
        rows.append(
            [
                law.__name__,
                f"{sum(each.is_right for each in scores) / runs:.1%}",
                f"{sum(each.is_near for each in scores) / runs:.1%}" if is_broken else "",
                f"{covered / compared:.1%}" if compared else "",
                f"{covered / wanted:.1%}" if wanted else "",
            ]
        )
    columns = ["law", "class", "break within a step", "covered", "covered, misses counted"]
    table(columns, rows)
    print("bounds: class 95%, break 90%, covered 93%")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
