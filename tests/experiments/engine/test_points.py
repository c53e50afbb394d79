"""A sweep over several sizes carries its lines and crossovers; a round trip has none."""

import random
from dataclasses import replace
from pathlib import Path

from laws import SIZES, linear, simulated
from pythons import python

from jupyter_serprof.experiments.engine.document import summarize_sweep, with_findings
from jupyter_serprof.experiments.engine.runs import point_of
from jupyter_serprof.model import Row, Sweep, Variant, Waterfall, load, save_document
from jupyter_serprof.testing import make_trace


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
    """One size: nothing grows, and numpy is not loaded for it."""
    program = (
        "import sys\n"
        "from jupyter_serprof.experiments.engine.document import summarize_sweep\n"
        "from jupyter_serprof.experiments.engine.document import with_findings\n"
        "from jupyter_serprof.model import Point, Sweep, Variant\n"
        "points = [Point(key, 800, n, n == 0, 5, 8, {}) for key in 'ab' for n in range(3)]\n"
        "variants = (Variant('a', 'a'), Variant('b', 'b'))\n"
        "sweep = Sweep(name='a', started='', variants=variants, points=tuple(points))\n"
        "done = with_findings(sweep, summarize_sweep)\n"
        "print(done.fits, done.crossovers, 'numpy' in sys.modules)\n"
    )

    assert python(program).strip() == "() () False"


def test_a_point_has_the_sum_of_what_a_stage_owned_in_each_computation() -> None:
    """Each computation of a run has rows of its own."""
    rows = tuple(Row("dask.wait", "client/main", 0, own, own, None, 1, group=own) for own in (1, 2))
    trace = replace(make_trace([], wall_ms=1), waterfall=Waterfall(rows, 0))

    point = point_of("code", None, 0, trace)

    assert point.stages == {"dask.wait": 3}
