"""A sweep over several sizes carries its lines and crossovers; a round trip has none."""

import random
import subprocess
import sys
from pathlib import Path

from laws import SIZES, linear, simulated

from jupyter_serprof.experiments.engine.document import summarize_sweep, with_findings
from jupyter_serprof.model import Sweep, Variant, load, save_document


def a_sweep(sizes: tuple[int, ...]) -> Sweep:
    """Return two variants that grow by the same law, and one that failed."""
    draw = random.Random(1)  # noqa: S311  (simulation)
    fast = linear(draw)
    points = [
        point
        for key in ("pickle", "ray")
        for point in simulated(fast, draw, sizes=sizes, variant=key)
    ]
    variants = (Variant("pickle", "pickle"), Variant("ray", "Ray"), Variant("x", "x", "failed"))
    return Sweep(name="a", started="", variants=variants, points=tuple(points))


def test_a_sweep_over_sizes_is_finished_with_lines_that_survive_a_file(tmp_path: Path) -> None:
    """Each variant has its line over all sizes; what was saved is what is loaded."""
    path = tmp_path / "a.serprof.json"

    done = with_findings(a_sweep(SIZES), summarize_sweep)
    save_document(done, path)
    again = load(path)

    assert [(line.variant, line.from_bytes, line.to_bytes) for line in done.fits] == [
        ("pickle", SIZES[0], SIZES[-1]),
        ("ray", SIZES[0], SIZES[-1]),
    ]
    assert isinstance(again, Sweep)
    assert again.fits == done.fits
    assert again.crossovers == done.crossovers


def test_a_round_trip_has_no_lines_and_needs_no_numpy() -> None:
    """One size: nothing grows, and numpy and scipy are not loaded for it."""
    program = (
        "import sys\n"
        "from jupyter_serprof.experiments.engine.document import summarize_sweep\n"
        "from jupyter_serprof.experiments.engine.document import with_findings\n"
        "from jupyter_serprof.model import Point, Sweep, Variant\n"
        "points = [Point(key, 800, n, n == 0, 5, 8, {}) for key in 'ab' for n in range(3)]\n"
        "variants = (Variant('a', 'a'), Variant('b', 'b'))\n"
        "sweep = Sweep(name='a', started='', variants=variants, points=tuple(points))\n"
        "done = with_findings(sweep, summarize_sweep)\n"
        "print(done.fits, done.crossovers, 'numpy' in sys.modules, 'scipy' in sys.modules)\n"
    )

    printed = subprocess.check_output([sys.executable, "-c", program], text=True)

    assert printed.strip() == "() () False False"
