"""What is said about growth holds on simulated sweeps whose law is known."""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from laws import LAWS, SIZES, Truth, fresh_pages, jump, linear, score, simulated
from scipy.special import stdtrit

from jupyter_serprof.analysis.sizes.curve import curve_of
from jupyter_serprof.analysis.sizes.fit import fits_of, pieces, t_quantile
from jupyter_serprof.model import Point

RUNS = 40
#: Half decades.
SEVEN = [round(8 * 10 ** (3 + step / 2)) for step in range(7)]
Law = Callable[[random.Random], Truth]


def seeded(seed: object) -> random.Random:
    """Return numbers that are the same in every run."""
    return random.Random(str(seed))  # noqa: S311  (simulation)


def rate_width(points: Sequence[Point]) -> float:
    """Return how wide the interval of the first rate is, as a share of the rate."""
    line = pieces(curve_of(points, "pickle", cold=False))[0]
    assert line.ns_per_byte
    assert line.low is not None
    assert line.high is not None
    return (line.high - line.low) / line.ns_per_byte


@pytest.mark.parametrize("law", LAWS)
def test_class_break_and_intervals_are_right_as_often_as_promised(law: Law) -> None:
    """5 % noise, three decades; 200 runs of each law are in tests/benchmarks/fit_calibration.py."""
    draws = [seeded(f"{law.__name__} {seed}") for seed in range(RUNS)]

    scores = [score(law(draw), draw) for draw in draws]

    assert sum(each.is_right for each in scores) >= 0.95 * RUNS
    assert sum(each.is_near for each in scores) >= 0.9 * RUNS
    # A number of a run whose class was missed counts as not covered.
    assert sum(each.covered for each in scores) >= 0.93 * sum(each.strict for each in scores)


def test_intervals_are_no_wider_than_the_noise_asks_for() -> None:
    """The rate of a straight line is known to 3 % on either side, and better with less noise."""
    truth = Truth("linear", lambda n: 20_000 + 0.5 * n, ())

    widths = [
        statistics.median(
            rate_width(simulated(truth, seeded(seed), noise_share=noise)) for seed in range(11)
        )
        for noise in (0.05, 0.0125)
    ]

    assert 0.03 < widths[0] < 0.06
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.2)


def test_without_noise_the_numbers_are_those_of_the_law() -> None:
    """Fixed cost and rate on either side of a break, to a thousandth."""
    truth = fresh_pages(seeded(3))

    found = pieces(curve_of(simulated(truth, seeded(3), noise_share=0), "pickle", cold=False))

    assert [piece.growth for piece in found] == ["linear", "linear"]
    assert truth.break_at is not None
    assert found[0].to_bytes == SIZES[truth.break_at - 1]
    assert found[1].from_bytes == SIZES[truth.break_at]
    for piece, (fixed, rate) in zip(found, truth.lines, strict=True):
        assert piece.ns_per_byte is not None
        assert piece.fixed_ns == pytest.approx(fixed, rel=0.01)
        assert piece.ns_per_byte == pytest.approx(rate, rel=0.001)


@pytest.mark.parametrize("law", [linear, jump])
def test_a_run_far_off_moves_nothing(law: Law) -> None:
    """One run in each of three sizes took twenty times as long: no cut more, and none less."""
    truth = law(seeded(4))
    points = list(simulated(truth, seeded(4)))
    for at in (2, 21, 43):
        points[at] = replace(points[at], wall_ns=20 * points[at].wall_ns)

    found = pieces(curve_of(points, "pickle", cold=False))

    assert [piece.growth for piece in found] == ["linear"] * len(truth.lines)
    for piece, (_, rate) in zip(found, truth.lines, strict=True):
        assert piece.low is not None
        assert piece.high is not None
        assert piece.low < rate < piece.high


def test_a_sweep_run_once_at_each_size_is_not_cut_by_its_noise() -> None:
    """Cold runs have no repeats: what neighbouring sizes disagree by is the noise."""
    truths = [linear(seeded(seed)) for seed in range(RUNS)]

    once = [
        [point for point in simulated(truth, seeded(seed)) if point.repeat == 1]
        for seed, truth in enumerate(truths)
    ]
    kinds = [
        [piece.growth for piece in pieces(curve_of(points, "pickle", cold=False))]
        for points in once
    ]

    assert kinds.count(["linear"]) >= 0.8 * RUNS


@pytest.mark.parametrize("count", range(7))
def test_few_sizes_are_one_line(count: int) -> None:
    """Two points lie on every line; below two times three sizes nothing is cut."""
    sizes = SIZES[len(SIZES) - count :]

    lines = fits_of(simulated(linear(seeded(6)), seeded(6), sizes=sizes))

    expected = [("linear", sizes[0], sizes[-1])] if count > 2 else []
    assert [(line.growth, line.from_bytes, line.to_bytes) for line in lines] == expected


# What a document holds


@pytest.mark.parametrize("late", [0, 1])
def test_page_faults_name_the_cause_of_a_break(late: int) -> None:
    """From the size on at which each page is a fresh one."""
    # A break is known to one step of the grid, and so is where the pages change.
    truth = fresh_pages(seeded(13))
    edge = SIZES[(truth.break_at or 0) + late]
    found = replace(truth, faults=lambda n: round(n / 4096) if n >= edge else 0)

    lines = fits_of(simulated(found, seeded(13)))

    assert [line.cause for line in lines] == ["", "new memory pages"]


def test_page_faults_make_a_piece_of_the_last_two_sizes() -> None:
    """They stand apart from the line before; two sizes tell no law."""
    edge = SIZES[-2]
    truth = Truth(
        "broken",
        lambda n: 20_000 + n * (4 if n >= edge else 1),
        (),
        faults=lambda n: round(n / 4096) if n >= edge else 0,
    )

    lines = fits_of(simulated(truth, seeded(14)))

    assert [line.from_bytes for line in lines] == [SIZES[0], edge]
    assert [line.growth for line in lines] == ["linear", "cannot tell"]
    assert lines[1].cause == "new memory pages; fewer than 3 sizes; 1 more would tell"


def test_each_variant_and_large_stage_has_lines_of_its_own() -> None:
    """Cold apart from warm; a stage that is nowhere a twentieth of the wall time has none."""
    warm = simulated(linear(seeded(12)), seeded(12))
    points = [
        replace(point, cold=cold, stages={"dumps": point.wall_ns // 2, "gc": point.wall_ns // 50})
        for point in warm
        for cold in (False, True)
    ]

    lines = fits_of(points)

    assert [(line.cold, line.stage) for line in lines] == [
        *((False, ""), (False, "dumps"), (True, ""), (True, "dumps"))
    ]
    total, stage = float(str(lines[0].ns_per_byte)), float(str(lines[1].ns_per_byte))
    assert stage == pytest.approx(total / 2, rel=0.01)


# What is not claimed


def measured(
    walls: dict[int, float],
    *,
    noises: Sequence[float] = (0.97, 1.0, 1.03),
    fresh_from: float | None = None,
) -> list[Point]:
    """Return runs around a time (ns) at each size; with faults, each page is new from a size on."""
    return [
        Point(
            "pickle",
            size,
            repeat,
            cold=False,
            wall_ns=round(wall * noise),
            moved_bytes=size,
            stages={},
            minor_faults=None
            if fresh_from is None
            else (size // 4096 if size >= fresh_from else 0),
        )
        for size, wall in walls.items()
        for repeat, noise in enumerate(noises)
    ]


def jumping(*, jump: float) -> dict[int, float]:
    """Return the times of a straight line whose last size takes so many times as long."""
    walls = {size: 9_000 + 0.25 * size for size in SEVEN}
    return {**walls, SEVEN[-1]: jump * walls[SEVEN[-1]]}


@pytest.mark.parametrize("fresh_from", [None, 8_000_000])
@pytest.mark.parametrize("jump", [2.0, 3.0, 8.0])
def test_a_jump_at_the_last_size_moves_no_line(jump: float, fresh_from: float | None) -> None:
    """Sizes before it are one line; what comes after the last size, two more would tell."""
    walls = jumping(jump=jump)

    lines = fits_of(measured(walls, fresh_from=fresh_from))

    assert [line.growth for line in lines] == ["linear", "cannot tell"]
    assert lines[0].to_bytes == sorted(walls)[-2]
    assert lines[0].ns_per_byte == pytest.approx(0.25, rel=0.01)
    assert "2 more would tell" in lines[1].cause
    assert (lines[1].fixed_ns, lines[1].ns_per_byte) == (None, None)


def test_what_more_than_doubles_is_not_flat() -> None:
    """270 ms at 281 MB and 626 ms at 800 MB, on fresh pages: two sizes tell no law."""
    walls = {n: 2e6 + 0.09 * n for n in (890_000, 2_810_000, 8_900_000, 28_100_000, 89_000_000)}
    walls |= {281_000_000: 270e6, 800_000_000: 626e6}
    points = measured(walls, noises=(0.75, 1.0, 1.33), fresh_from=200_000_000)

    last = fits_of(points)[-1]

    assert (last.from_bytes, last.to_bytes) == (281_000_000, 800_000_000)
    assert last.growth == "cannot tell"
    assert str(last.cause).startswith("new memory pages; ")


def test_what_grows_fivefold_is_not_called_flat_however_noisy() -> None:
    """Two last sizes on fresh pages, 65 and 318 ms on a busy machine, are no constant."""
    walls = {8_000: 27e3, 25_300: 19e3, 80_000: 46e3, 253_000: 168e3, 800_000: 1.39e6}
    walls |= {2_530_000: 1.2e6, 8_000_000: 9.7e6, 25_300_000: 65e6, 80_000_000: 318e6}

    found = fits_of(measured(walls, noises=(0.5, 1.0, 2.0), fresh_from=20_000_000))

    assert found[-1].to_bytes == 80_000_000
    assert found[-1].growth != "constant"


@pytest.mark.parametrize("factor", [2.0, 1.7])
def test_three_noisy_sizes_that_grow_are_not_flat(factor: float) -> None:
    """However noisy the runs: the times grow by the factor over eight times the bytes."""
    walls = {100_000: 1e6, 300_000: 1.25e6, 800_000: factor * 1e6}

    growths = [line.growth for line in fits_of(measured(walls, noises=(0.4, 1.0, 2.5)))]

    assert "constant" not in growths


NOT_TOLD: dict[str, tuple[dict[int, float], tuple[float, ...], float | None]] = {
    # Times by size, noises of the runs, the size from which on pages are new.
    "over a tenth more bytes": ({100_000: 1e6, 105_000: 1.01e6, 110_000: 1e6}, (0.9, 1, 1.1), None),
    "far off its own points": ({8_000: 1.02e6, 80_000: 30.6e3, 800_000: 1.47e6}, (1.0,), None),
    "by half": ({8_000: 60e3, 80_000: 24e3, 800_000: 165e3, 8_000_000: 5.6e6}, (1.0,), None),
    "more than twice": (
        *({8_000: 25e3, 80_000: 570e3, 800_000: 165e3, 8_000_000: 5.6e6}, (1.0,), None),
    ),
    "times wander by more than they grow": (
        *({10_000: 1e6, 100_000: 1.5e6, 1_000_000: 1e6, 10_000_000: 1.7e6}, (1.0,), None),
    ),
    "the last size does not stand apart from no line": (
        *({8_000: 1.7e6, 80_000: 48e3, 800_000: 178e3, 8_000_000: 21e6}, (1.0,), 8_000_000),
    ),
    "all points 1.6 times above or below": (
        *({n: (2e4 + 0.5 * n) * 1.6 ** (-1) ** at for at, n in enumerate(SIZES)}, (1.0,), None),
    ),
}


@pytest.mark.parametrize(("walls", "noises", "fresh_from"), NOT_TOLD.values(), ids=NOT_TOLD)
def test_what_no_line_comes_near_is_not_told(
    walls: dict[int, float], noises: tuple[float, ...], fresh_from: float | None
) -> None:
    """Neither flat nor a line nor parted: a line that misses its own points is none."""
    (line,) = fits_of(measured(walls, noises=noises, fresh_from=fresh_from))

    assert (line.growth, line.from_bytes, line.to_bytes) == ("cannot tell", min(walls), max(walls))
    assert (line.fixed_ns, line.ns_per_byte) == (None, None)
    assert len(walls) < len(SIZES) or line.cause.startswith("the times are on no line")


def test_page_faults_alone_are_no_jump() -> None:
    """New pages at the last size, and the same line: nothing parts them."""
    lines = fits_of(measured(jumping(jump=1.0), fresh_from=8_000_000))

    assert [line.growth for line in lines] == ["linear"]


@pytest.mark.parametrize("power", [1.15, 1.3, 1.5])
def test_what_bends_is_told_in_pieces_that_come_near(power: float) -> None:
    """The memo of a pickler outgrows caches: each piece has a larger rate than the one before."""
    walls = {size: 3_000 + 0.02 * size**power for size in SIZES}

    found = pieces(curve_of(measured(walls), "pickle", cold=False))

    rates = [piece.ns_per_byte for piece in found if piece.ns_per_byte]
    assert len(rates) == len(found)
    assert rates == sorted(rates)
    for piece, size in ((p, n) for p in found for n in SIZES if p.from_bytes <= n <= p.to_bytes):
        assert piece.fixed_ns is not None
        assert piece.ns_per_byte is not None
        line_ns = piece.fixed_ns + piece.ns_per_byte * size
        assert line_ns == pytest.approx(walls[size], rel=0.3)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 0.05 / 40, 0.9999])
def test_the_quantile_of_student_is_that_of_scipy(confidence: float) -> None:
    """Odd and even degrees of freedom; above 1,000 it stays, and is 0.5 % too wide at most."""
    counts = [*range(-1, 60), *range(60, 1_000, 47), 999, 1_000, 1_001]

    ours = [t_quantile(count, confidence) for count in counts]

    theirs = stdtrit(np.clip(counts, 1, 1_000), (1 + confidence) / 2)
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert 1 < ours[-1] / stdtrit(1e9, (1 + confidence) / 2) < 1.005
