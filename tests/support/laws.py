"""Simulated sweeps whose law of growth is known, and what the fit makes of them."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jupyter_serprof.analysis.sizes.curve import curve_of
from jupyter_serprof.analysis.sizes.fit import pieces
from jupyter_serprof.model import Fit, Point

NOISE_SHARE, REPEATS = 0.05, 5
#: Three decades, four sizes in each.
SIZES = tuple(round(10 ** (4 + step / 4)) for step in range(13))


@dataclass(frozen=True)
class Truth:
    """A law: class, time by size, pieces as (fixed_ns, ns_per_byte), sizes before the break."""

    kind: str
    time_ns: Callable[[float], float]
    lines: tuple[tuple[float, float], ...]
    break_at: int | None = None
    faults: Callable[[float], int] | None = None


def constant(draw: random.Random) -> Truth:
    """Out-of-band: nothing is moved, whatever the size."""
    fixed = 10 ** draw.uniform(3, 6)
    return Truth("constant", lambda _: fixed, ((fixed, 0.0),))


def linear(draw: random.Random) -> Truth:
    """Fixed cost and rate; the rate shows in the upper half of the sizes, or everywhere."""
    rate = 10 ** draw.uniform(-1.5, 1)
    fixed = rate * SIZES[0] * 10 ** draw.uniform(-1, 1.5)
    return Truth("linear", lambda n: fixed + rate * n, ((fixed, rate),))


def fresh_pages(draw: random.Random) -> Truth:
    """From some size on every run gets new pages, and each byte costs 2 to 6 times as much."""
    at, slow = draw.randint(3, 10), draw.uniform(2, 6)
    rate = 10 ** draw.uniform(-1.5, 0)
    fixed = rate * SIZES[0] * 10 ** draw.uniform(-1, 0.5)
    edge = SIZES[at]
    return Truth(
        "broken",
        lambda n: fixed + rate * n * (slow if n >= edge else 1),
        ((fixed, rate), (fixed, rate * slow)),
        at,
        lambda n: round(n / 4096) if n >= edge else 0,
    )


def jump(draw: random.Random) -> Truth:
    """The same without a word from the page faults."""
    truth = fresh_pages(draw)
    return Truth(truth.kind, truth.time_ns, truth.lines, truth.break_at)


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
        ((fixed, rate), (fixed - rate * (slow - 1) * edge, rate * slow)),
        at,
    )


LAWS = (constant, linear, fresh_pages, jump, kink)


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
    """What the fit made of one run, and how many intervals cover the truth; of all: ``strict``."""

    is_right: bool
    is_broken: bool
    is_near: bool
    covered: int
    compared: int
    strict: int


def score(truth: Truth, draw: random.Random) -> Score:
    """Simulate, fit and compare."""
    found = pieces(curve_of(simulated(truth, draw), "pickle", cold=False))
    is_alike = len(found) == len(truth.lines)
    is_right = kind_of(found) == truth.kind and is_alike
    breaks = [SIZES.index(piece.from_bytes) for piece in found[1:]]
    is_near = truth.break_at is None or any(abs(at - truth.break_at) <= 1 for at in breaks)
    checks = [
        _covers(piece, rate)
        for piece, (_, rate) in zip(found, truth.lines, strict=False)
        if is_right and rate
    ]
    return Score(
        is_right,
        is_broken=truth.break_at is not None,
        is_near=is_near,
        covered=sum(checks),
        compared=len(checks),
        strict=sum(rate > 0 for _, rate in truth.lines),
    )


def kind_of(found: Sequence[Fit]) -> str:
    """Return the class of a whole curve."""
    return found[0].growth if len(found) == 1 else "broken"


def _covers(piece: Fit, rate: float) -> bool:
    return piece.low is not None and piece.high is not None and piece.low <= rate <= piece.high
