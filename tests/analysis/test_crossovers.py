"""Crossovers lie between measured sizes, and only the fastest ways have one."""

import random
from dataclasses import replace
from itertools import pairwise

from laws import SIZES, Truth, simulated

from jupyter_serprof.analysis.sizes.crossovers import crossovers_of
from jupyter_serprof.model import Crossover, Point, Variant

RUNS = 100
WAYS = (Variant("pickle", "pickle in-band"), Variant("ray", "Ray"))


def two_lines(seed: int, meet_bytes: float, noise_share: float = 0.05) -> list[Point]:
    """Return a line through 0 and a nearly flat one that meet at a size."""
    draw = random.Random(seed)  # noqa: S311  (simulation)
    rising = Truth("linear", lambda n: 3 * n, ())
    flat = Truth("linear", lambda n: 2.7 * meet_bytes + 0.3 * n, ())
    return [
        *simulated(rising, draw, variant="pickle", noise_share=noise_share),
        *simulated(flat, draw, variant="ray", noise_share=noise_share),
    ]


def holds(found: Crossover, size_bytes: float) -> bool:
    return found.from_bytes <= size_bytes <= found.to_bytes


def test_a_crossover_lies_between_the_sizes_around_the_true_one() -> None:
    """In 95 of 100 runs there is one, it holds the true size and is at most three steps wide."""
    places = [SIZES[3] * (SIZES[8] / SIZES[3]) ** (seed / RUNS) for seed in range(RUNS)]

    runs = [crossovers_of(two_lines(seed, at), WAYS) for seed, at in enumerate(places)]

    right = [
        len(found) == 1 and holds(found[0], at) for found, at in zip(runs, places, strict=True)
    ]
    assert sum(right) >= 0.95 * RUNS
    assert runs[0][0].title == "Ray overtakes pickle in-band"
    assert (runs[0][0].faster, runs[0][0].slower) == ("ray", "pickle")
    steps = [SIZES.index(found[0].to_bytes) - SIZES.index(found[0].from_bytes) for found in runs]
    assert max(steps) <= 3


def test_without_noise_it_is_one_step_of_the_grid() -> None:
    points = two_lines(1, 1.2 * SIZES[5], noise_share=0)

    (found,) = crossovers_of(points, WAYS)

    assert (found.from_bytes, found.to_bytes) in set(pairwise(SIZES))
    assert holds(found, 1.2 * SIZES[5])


def test_two_that_are_equal_never_cross() -> None:
    """At most one of twenty sweeps of the same law shows a crossover."""
    same = Truth("linear", lambda n: 20_000 + n, ())
    draws = [random.Random(seed) for seed in range(RUNS)]  # noqa: S311  (simulation)

    runs = [
        crossovers_of([p for way in WAYS for p in simulated(same, draw, variant=way.key)], WAYS)
        for draw in draws
    ]

    assert sum(found != () for found in runs) <= 0.05 * RUNS


def test_what_nobody_can_tell_does_not_cross() -> None:
    """Nothing is drawn out of what was measured, without repeats, or from one size."""
    points = two_lines(3, SIZES[5])
    once = [point for point in points if point.repeat == 1]

    assert crossovers_of(two_lines(2, 20 * SIZES[-1]), WAYS) == ()
    assert crossovers_of(once, WAYS) == ()
    assert crossovers_of([p for p in points if p.size_bytes == SIZES[0]], WAYS) == ()


def test_only_ways_that_are_the_fastest_somewhere_cross() -> None:
    """Nobody chooses between the slower ones, though they turn as well."""
    points = two_lines(4, SIZES[5], noise_share=0.01)
    slow = [
        replace(point, variant=f"slow {point.variant}", wall_ns=10 * point.wall_ns)
        for point in points
    ]
    more = (*WAYS, *(Variant(f"slow {way.key}", way.title) for way in WAYS))

    found = crossovers_of([*points, *slow], more)

    assert [(each.faster, each.slower) for each in found] == [("ray", "pickle")]
