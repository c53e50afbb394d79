"""Between measured sizes a prediction stays between them, and says how good that was elsewhere."""

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof import predict
from jupyter_serprof.model import Point, Sweep, UsageError, Variant

SIZES = [1_000, 3_136, 9_880, 31_072, 97_680, 307_104, 965_488, 3_035_320, 9_542_520, 30_000_000]
#: Of a round trip in band (us): a fixed cost, copies, and from 3 MB on fresh pages in every run.
WALLS_US = [22.0, 22.4, 23.6, 26.5, 34.0, 46.0, 78.9, 281.0, 3_900.0, 27_000.0]
SPREAD = (0.9, 1.0, 1.3)
WARM = False


def sweep_of(walls_ns: list[float], sizes: list[int], loads_share: float = 0.25) -> Sweep:
    """Return three warm runs for each size; loads takes a share, dumps nine tenths of the rest."""
    points = []
    for size, middle_ns in zip(sizes, walls_ns, strict=True):
        for repeat, times in enumerate(SPREAD):
            wall_ns = round(middle_ns * times)
            loads = round(wall_ns * loads_share)
            stages = {"pickle.dumps": (wall_ns - loads) * 9 // 10, "pickle.loads": loads}
            points.append(Point("pickle", size, repeat, WARM, wall_ns, size, stages, 0))
    return Sweep(
        name="a",
        started="2026-01-01T00:00:00.000Z",
        kind="sweep",
        variants=(Variant("pickle", "pickle 5, in-band"),),
        points=tuple(points),
        environment={"platform": "linux"},
    )


def measured() -> Sweep:
    """Return a sweep as it was measured: two regimes, ten sizes."""
    return sweep_of([us * 1_000 for us in WALLS_US], SIZES)


def test_a_size_next_to_a_measured_one_takes_about_as_long() -> None:
    """1 MB takes what 965 kB took and a little more, and nothing of what 30 MB took."""
    about = predict(measured(), 1e6)

    assert about.prediction is not None
    assert 78_900 < about.wall_ns < 85_000
    assert any("interpolated between 965 kB and 3.04 MB" in t for t in about.prediction.assumptions)


def test_the_error_is_that_of_interpolating_the_nearest_inner_size() -> None:
    """965 kB is left out and interpolated from 307 kB and 3.04 MB, as the number itself is made."""
    share = math.log(SIZES[6] / SIZES[5]) / math.log(SIZES[7] / SIZES[5])
    guess_us = WALLS_US[5] ** (1 - share) * WALLS_US[7] ** share

    about = predict(measured(), 1e6).prediction

    assert about is not None
    assert about.holdout_bytes == SIZES[6]
    assert about.error_share == pytest.approx(guess_us / WALLS_US[6] - 1, abs=0.01)
    assert any("from 307 kB and 3.04 MB" in text for text in about.assumptions)


def test_the_interval_has_the_spread_of_the_neighbours() -> None:
    """Runs from nine tenths to 1.3 times the median leave at least that much open."""
    sizes = [10**power for power in range(3, 8)]
    exact = sweep_of([float(size) for size in sizes], sizes)

    about = predict(exact, 50_000)

    assert about.prediction is not None
    assert abs(about.prediction.error_share or 0) < 0.01
    low_ns, high_ns = about.prediction.low_ns, about.prediction.high_ns
    assert low_ns is not None
    assert high_ns is not None
    assert low_ns <= 0.901 * about.wall_ns
    assert high_ns >= 1.299 * about.wall_ns


@given(
    st.lists(st.floats(min_value=1e4, max_value=3e4), min_size=5, max_size=5),
    st.floats(min_value=1_001, max_value=9_999_999),
)
def test_no_stage_leaves_the_bracket_of_its_neighbours(walls_ns: list[float], size: float) -> None:
    """Whatever was measured, each stage is between its medians at the two sizes around."""
    sizes = [10**power for power in range(3, 8)]
    sweep = sweep_of(walls_ns, sizes)

    try:
        trace = predict(sweep, size)
    except UsageError:
        return  # what was measured contradicts itself by a factor of 2

    asked = round(size)
    around = (max(n for n in sizes if n <= asked), min(n for n in sizes if n >= asked))
    for span in trace.spans:
        ends = [
            statistics.median(p.stages[span.stage] for p in sweep.points if p.size_bytes == n)
            for n in around
        ]
        assert min(ends) - 1 <= span.duration_ns <= max(ends) + 1


def test_a_stage_that_one_neighbour_has_not_begins_between_them() -> None:
    """Zero has no logarithm: what takes no time at one size comes in evenly."""
    sizes = [10**power for power in range(3, 8)]
    sweep = sweep_of([1e6] * 5, sizes)
    points = tuple(
        Point(p.variant, p.size_bytes, p.repeat, WARM, 1_000_000, p.size_bytes, stages, 0)
        for p in sweep.points
        for stages in [
            {"pickle.dumps": 500_000, "pickle.loads": 400_000 if (p.size_bytes or 0) > 10**5 else 0}
        ]
    )
    sweep = Sweep(name="a", started=sweep.started, variants=sweep.variants, points=points)

    seen = {span.stage: span.duration_ns for span in predict(sweep, 10**5.5).spans}

    assert seen["pickle.dumps"] == 500_000
    assert seen["pickle.loads"] == pytest.approx(200_000, rel=0.01)


def test_the_whole_stays_between_its_medians_where_stages_vary() -> None:
    """Stages that are slow in different runs have medians that add up to less than any run took."""
    sizes = [10**power for power in range(3, 8)]
    runs = [{"pickle.dumps": 9, "pickle.loads": 1}, {"pickle.dumps": 1, "pickle.loads": 9}]
    runs.append({"pickle.dumps": 1, "pickle.loads": 1, "pickle.copy": 8})
    points = tuple(
        Point("pickle", n, r, WARM, 10 * n, n, {key: took * n for key, took in run.items()}, 0)
        for n in sizes
        for r, run in enumerate(runs)
    )
    sweep = replace(sweep_of([1e6] * 5, sizes), points=points)

    around, there = predict(sweep, 2 * 10**5), predict(sweep, 10**5)

    assert there.wall_ns == 10 * 10**5
    assert around.wall_ns == pytest.approx(20 * 10**5, rel=1e-6)


def test_two_sizes_leave_none_to_hold_out() -> None:
    """Between two sizes nothing was measured that could check it."""
    with pytest.raises(UsageError, match="at least three"):
        predict(sweep_of([1e4, 1e5], [10_000, 100_000]), 50_000)


def test_a_check_that_failed_refuses_with_its_figures() -> None:
    """Where an inner size took a tenth of what its neighbours say, no number is given."""
    walls = [us * 1_000 for us in WALLS_US]
    walls[6] = 5_000.0

    with pytest.raises(UsageError, match=r"965 kB .*factor of 2.*sizes=\[\.\.\., 1000000\]"):
        predict(sweep_of(walls, SIZES), 1e6)


def test_a_straight_line_answers_where_it_held_out_better() -> None:
    """A fixed cost and a rate are a line, not a power: the line between the two sizes answers."""
    sizes = [10**power for power in range(3, 9)]
    sweep = sweep_of([1e6 + size for size in sizes], sizes)

    trace = predict(sweep, 2e6)

    assert trace.prediction is not None
    assert trace.wall_ns == pytest.approx(3e6, rel=0.01)
    assert trace.prediction.error_share == pytest.approx(0, abs=0.01)
    assert any("a straight line answers" in text for text in trace.prediction.assumptions)
