"""Where one way overtakes another: between two measured sizes, or "cannot tell".

At each size that both have, the times are compared with the noise of the runs (95 % for all sizes
together), and with the smallest difference that matters. A crossover lies between the last size
where one is surely faster and the first where the other surely is. Nothing is interpolated, and
nothing is said beyond the measured sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from jupyter_serprof.analysis.ranking import cost_of, least_gap
from jupyter_serprof.analysis.sizes.curve import Curve, curve_of
from jupyter_serprof.analysis.sizes.fit import t_quantile
from jupyter_serprof.model import Point, Variant
from jupyter_serprof.model.trace import Scalar

#: Medians this close (a standard error, as a share) are never told apart.
_LEAST_NOISE = 0.005
_MISTAKEN = 0.05


def crossovers_of(
    points: Sequence[Point], variants: Sequence[Variant]
) -> tuple[Mapping[str, Scalar], ...]:
    """Return the crossovers of every two variants, warm and cold, as a document holds them.

    Parameters
    ----------
    points
        The points of a sweep.
    variants
        Those to compare.

    Returns
    -------
    tuple of mappings
        ``title``, ``cold``, ``faster`` and ``slower`` (beyond it), ``from_bytes`` and ``to_bytes``;
        both sizes are None where the medians change places but the runs cannot tell.
    """
    titles = {variant.key: variant.title for variant in variants}
    found: list[Mapping[str, Scalar]] = []
    for cold in (False, True):
        curves = curves_of(points, variants, cold=cold)
        for one, other in combinations(titles, 2):
            found += [
                {
                    "title": title,
                    "cold": cold,
                    "faster": faster,
                    "slower": other if faster == one else one,
                    "from_bytes": low,
                    "to_bytes": high,
                }
                for title, faster, low, high in _crossings(one, other, curves, titles)
            ]
    return tuple(found)


def curves_of(
    points: Sequence[Point], variants: Sequence[Variant], *, cold: bool
) -> dict[str, Curve]:
    """Return the curve of each variant by its key, with what watching its runs cost."""
    return {
        each.key: replace(curve_of(points, each.key, cold=cold), watching_ns=cost_of(each))
        for each in variants
    }


def _crossings(
    one: str, other: str, curves: Mapping[str, Curve], titles: Mapping[str, str]
) -> list[tuple[str, str, int | None, int | None]]:
    left, right = curves[one], curves[other]
    sizes = sorted(set(left.sizes_bytes) & set(right.sizes_bytes))
    if len(sizes) <= 1:
        return []
    gaps = [math.log(_median(left, size) / _median(right, size)) for size in sizes]
    widths = widths_of(left, right, sizes)
    sure = [
        (size, gap > 0)
        for size, gap, width in zip(sizes, gaps, widths, strict=True)
        if width is not None and abs(gap) > width
    ]
    turns = [
        (before, size, other if is_slower else one)
        for (before, was_slower), (size, is_slower) in pairwise(sure)
        if was_slower != is_slower
    ]
    if turns or (gaps[0] > 0) == (gaps[-1] > 0):
        return [
            (f"{titles[key]} overtakes {titles[one if key == other else other]}", key, low, high)
            for low, high, key in turns
        ]
    title = f"{titles[one]} or {titles[other]}: cannot tell where they cross"
    return [(title, other if gaps[-1] > 0 else one, None, None)]


def _median(curve: Curve, size_bytes: int) -> float:
    return curve.medians_ns[curve.sizes_bytes.index(size_bytes)]


def widths_of(left: Curve, right: Curve, sizes: Sequence[int]) -> list[float | None]:
    """Return how far apart the logarithms of two times must be, at each size; None: unknown."""
    freedom = min(left.spread_freedom, right.spread_freedom)
    if freedom == 0:
        return [None] * len(sizes)
    quantile = t_quantile(freedom, 1 - _MISTAKEN / len(sizes))
    noises = (quantile * math.hypot(_noise(left, size), _noise(right, size)) for size in sizes)
    least = least_widths(left, right, sizes)
    return [max(pair) for pair in zip(noises, least, strict=True)]


def least_widths(left: Curve, right: Curve, sizes: Sequence[int]) -> list[float]:
    """Return how far apart they must be at each size to matter, whatever the noise."""
    cost_ns = max(left.watching_ns, right.watching_ns)
    faster = (min(_median(left, size), _median(right, size)) for size in sizes)
    return [least_gap(time_ns, cost_ns) for time_ns in faster]


def _noise(curve: Curve, size_bytes: int) -> float:
    count = curve.counts[curve.sizes_bytes.index(size_bytes)]
    return max(_LEAST_NOISE, curve.noise_share(count) or 0.0)
