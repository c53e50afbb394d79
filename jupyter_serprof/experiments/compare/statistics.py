"""Two samples of times: the ratio with its interval, and how far chance and drift reach.

Method: logarithms of all ratios between the two samples (Hodges-Lehmann), with the interval that
inverts the exact Mann-Whitney test; for pairs that ran side by side the means of all two log ratios
(Walsh averages) and the exact signed-rank test. No distribution is assumed, and a few wild runs do
not matter. Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3.2 and 4.2.

What it cannot see: a machine that was slower as a whole on one of two days, which is what a control
is for (``compare_control``). Drift inside the runs is seen, and taken to go on between the two
samples as it did from one half to the other.
``tests/benchmarks/compare_calibration.py`` says how often it is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import NormalDist, median

#: With more runs the normal distribution is as good as the exact one, and far quicker.
_MOST_EXACT = 20
#: So many runs of a side are looked at, evenly chosen: pairs are a product, and a longer sample
#: narrows the interval below what drift allows anyway.
_MOST_RUNS = 200
ALPHA = 0.05
#: With fewer on a side there is no A against A.
_FEWEST_HALVES = 4


@dataclass(frozen=True, slots=True)
class Shift:
    """A difference of logarithms, after minus before.

    ``low`` and ``high`` are the ends of its interval; None where so few runs allow none.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def is_told(self) -> bool:
        """Tell whether the interval leaves 0 out."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def shift_of(before: Sequence[float], after: Sequence[float], alpha: float = ALPHA) -> Shift:
    """Return the shift between two samples of times that were taken apart."""
    one, other = _logs(before), _logs(after)
    differences = sorted(late - early for late in other for early in one)
    return _ends(differences, _cut(len(one), len(other), alpha))


def paired_shift(before: Sequence[float], after: Sequence[float], alpha: float = ALPHA) -> Shift:
    """Return the shift between pairs that ran side by side: what drifts, drifts for both."""
    ratios = [late - early for early, late in zip(_logs(before), _logs(after), strict=True)]
    means = sorted((a + b) / 2 for at, a in enumerate(ratios) for b in ratios[at:])
    return _ends(means, _signed_cut(len(ratios), alpha))


def chance(times: Sequence[float]) -> float | None:
    """Return half the width of the interval of A against A: every other run against the rest."""
    if len(times) < _FEWEST_HALVES:
        return None
    low, high = _range(times[::2], times[1::2])
    return (high - low) / 2


def floor(times: Sequence[float]) -> float | None:
    """Return what a shift must exceed: chance, and how far the later half is from the first."""
    known = chance(times)
    if known is None:
        return None
    half = len(times) // 2
    return max(known, *(abs(end) for end in _range(times[:half], times[-half:])))


def _range(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the interval; where few runs allow none, the ends of what was seen."""
    found = shift_of(one, other)
    if found.low is not None and found.high is not None:
        return found.low, found.high
    early, late = _logs(one), _logs(other)
    return min(late) - max(early), max(late) - min(early)


def _logs(times: Sequence[float]) -> list[float]:
    count = len(times)
    chosen = [times[at * count // _MOST_RUNS] for at in range(_MOST_RUNS)]
    return [math.log(max(1.0, time)) for time in (chosen if count > _MOST_RUNS else times)]


def _ends(differences: Sequence[float], cut: int) -> Shift:
    middle = median(differences)
    return Shift(middle, differences[cut - 1], differences[-cut]) if cut else Shift(middle)


@cache
def _cut(before: int, after: int, alpha: float) -> int:
    """Return which of the ordered differences ends the interval, from 1; 0 if none may."""
    if max(before, after) > _MOST_EXACT:
        spread = math.sqrt(before * after * (before + after + 1) / 12)
        return _normal_cut(before * after / 2, spread, alpha)
    return _exact_cut(_mann_whitney(before, after), alpha)


@cache
def _signed_cut(count: int, alpha: float) -> int:
    if count > _MOST_EXACT:
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return _normal_cut(count * (count + 1) / 4, spread, alpha)
    ways = [1]
    for rank in range(1, count + 1):  # each rank counts for one side or for the other one
        ways = [a + b for a, b in zip(ways + [0] * rank, [0] * rank + ways, strict=True)]
    return _exact_cut(tuple(ways), alpha)


def _normal_cut(middle: float, spread: float, alpha: float) -> int:
    return max(0, int(middle + NormalDist().inv_cdf(alpha / 2) * spread))


def _exact_cut(ways: tuple[int, ...], alpha: float) -> int:
    """Return how many of the smallest values are together no more likely than half of alpha."""
    total = sum(ways)
    return sum(1 for so_far in accumulate(ways) if so_far <= alpha / 2 * total)


@cache
def _mann_whitney(before: int, after: int) -> tuple[int, ...]:
    """Return in how many orders of the runs each value of U comes about."""
    if before == 0 or after == 0:
        return (1,)
    ways = [0] * (before * after + 1)
    for value, count in enumerate(_mann_whitney(before - 1, after)):
        ways[value + after] += count
    for value, count in enumerate(_mann_whitney(before, after - 1)):
        ways[value] += count
    return tuple(ways)
