"""Simulated sweeps whose law of growth is known, and what the fit makes of them."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jupyter_serprof.analysis.sizes.curve import curve_of
from jupyter_serprof.analysis.sizes.fit import Estimate, Regime, regimes
from jupyter_serprof.model import Point

NOISE_SHARE = 0.05
REPEATS = 5
#: Three decades, four sizes in each.
SIZES = tuple(round(10 ** (4 + step / 4)) for step in range(13))


@dataclass(frozen=True)
class Truth:
    """A law: the time at each size, its class, and the numbers that intervals should cover.

    ``numbers`` is one (fixed_ns, ns_per_byte, exponent) for each regime; None is not compared.
    ``break_at`` is how many sizes are before the break.
    """

    kind: str
    time_ns: Callable[[float], float]
    numbers: tuple[tuple[float | None, float | None, float | None], ...]
    break_at: int | None = None
    faults: Callable[[float], int] | None = None


def constant(draw: random.Random) -> Truth:
    """Out-of-band: nothing is moved, whatever the size."""
    fixed = 10 ** draw.uniform(3, 6)
    return Truth("constant", lambda _: fixed, ((fixed, None, None),))


def linear(draw: random.Random) -> Truth:
    """Fixed cost and rate; the rate shows in the upper half of the sizes, or everywhere."""
    rate = 10 ** draw.uniform(-1.5, 1)
    fixed = rate * SIZES[0] * 10 ** draw.uniform(-1, 1.5)
    return Truth("linear", lambda n: fixed + rate * n, ((fixed, rate, 1.0),))


def superlinear(draw: random.Random) -> Truth:
    """Growth as of the pickler's memo: the exponent is 1.2 to 1.5."""
    power, rate = draw.uniform(1.2, 1.5), 10 ** draw.uniform(-1.5, 0)
    fixed = rate * SIZES[0] ** power * 10 ** draw.uniform(-1, 1)
    return Truth("superlinear", lambda n: fixed + rate * n**power, ((None, None, power),))


def sorting(draw: random.Random) -> Truth:
    """Time over size times its logarithm: barely above a straight line."""
    rate = 10 ** draw.uniform(-2, 0)
    return Truth("superlinear", lambda n: rate * n * math.log2(n), ((None, None, None),))


def fresh_pages(draw: random.Random) -> Truth:
    """From some size on every run gets new pages, and each byte costs 2 to 6 times as much."""
    at, slow = draw.randint(3, 10), draw.uniform(2, 6)
    rate = 10 ** draw.uniform(-1.5, 0)
    fixed = rate * SIZES[0] * 10 ** draw.uniform(-1, 0.5)
    edge = SIZES[at]
    return Truth(
        "broken",
        lambda n: fixed + rate * n * (slow if n >= edge else 1),
        ((fixed, rate, None), (fixed, rate * slow, None)),
        at,
        lambda n: round(n / 4096) if n >= edge else 0,
    )


def jump(draw: random.Random) -> Truth:
    """The same without a word from the page faults."""
    truth = fresh_pages(draw)
    return Truth(truth.kind, truth.time_ns, truth.numbers, truth.break_at)


def kink(draw: random.Random) -> Truth:
    """From some size on each further byte costs 4 to 8 times as much: a cache overflows."""
    at, slow = draw.randint(4, 9), draw.uniform(4, 8)
    rate = 10 ** draw.uniform(-1.5, 0)
    fixed = rate * SIZES[0] * 10 ** draw.uniform(-1, 0)
    # Right behind the size before it, or anywhere up to the next one.
    edge = SIZES[at - 1] * (SIZES[at] / SIZES[at - 1]) ** draw.uniform(0, 0.99)
    return Truth(
        "broken",
        lambda n: fixed + rate * n + rate * (slow - 1) * max(0.0, n - edge),
        ((fixed, rate, None), (fixed - rate * (slow - 1) * edge, rate * slow, None)),
        at,
    )


LAWS = (constant, linear, superlinear, sorting, fresh_pages, jump, kink)


def simulated(
    truth: Truth,
    draw: random.Random,
    *,
    sizes: Sequence[int] = SIZES,
    variant: str = "pickle",
    noise_share: float = NOISE_SHARE,
) -> tuple[Point, ...]:
    """Return warm points of a law with relative noise."""
    return tuple(
        Point(
            variant=variant,
            size_bytes=size,
            repeat=repeat,
            cold=False,
            wall_ns=round(truth.time_ns(size) * math.exp(draw.gauss(0, noise_share))),
            moved_bytes=size,
            stages={},
            minor_faults=None if truth.faults is None else truth.faults(size),
        )
        for size in sizes
        for repeat in range(1, REPEATS + 1)
    )


@dataclass(frozen=True)
class Score:
    """What the fit made of one run: the class, the break, and how many intervals cover the truth.

    ``covered`` and ``compared`` count only the numbers of runs whose class was found; ``strict``
    counts every number, one that was not given as missed.
    """

    is_right: bool
    is_broken: bool
    is_near: bool
    covered: int
    compared: int
    strict: int


def score(truth: Truth, draw: random.Random) -> Score:
    """Simulate, fit and compare."""
    curve = curve_of(simulated(truth, draw), "pickle", cold=False)
    found = regimes(curve)
    is_right = kind_of(found) == truth.kind and len(found) == len(truth.numbers)
    breaks = [SIZES.index(regime.from_bytes) for regime in found[1:]]
    is_near = truth.break_at is None or any(abs(at - truth.break_at) <= 1 for at in breaks)
    wanted = [number for numbers in truth.numbers for number in numbers if number is not None]
    checks = _covers(found, truth) if len(found) == len(truth.numbers) else []
    compared = len(checks) if is_right else 0
    return Score(
        is_right,
        is_broken=truth.break_at is not None,
        is_near=is_near,
        covered=sum(checks) if is_right else 0,
        compared=compared,
        strict=len(wanted),
    )


def kind_of(found: Sequence[Regime]) -> str:
    """Return the class of a whole curve."""
    return found[0].growth if len(found) == 1 else "broken"


def _covers(found: Sequence[Regime], truth: Truth) -> list[bool]:
    pairs = [
        (number, interval)
        for regime, numbers in zip(found, truth.numbers, strict=True)
        for number, interval in zip(
            numbers, (regime.fixed_ns, regime.ns_per_byte, regime.exponent), strict=True
        )
    ]
    return [_covered(number, interval) for number, interval in pairs if number is not None]


def _covered(number: float, interval: Estimate | None) -> bool:
    return interval is not None and interval.low <= number <= interval.high
