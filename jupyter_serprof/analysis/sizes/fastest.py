"""Who is the fastest from which size to which, and who cannot be told apart from it.

The verdicts are those of the crossovers: two times differ where they are farther apart than the
noise of their runs, and by as much as matters. Without noise (one run at each size) an order counts
that no size turns round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from jupyter_serprof.analysis.sizes.crossovers import curves_of, least_widths, widths_of
from jupyter_serprof.analysis.sizes.curve import Curve
from jupyter_serprof.model import Point, Variant

Medians = Mapping[str, float]
#: (the faster one, the slower one) -> the sizes at which that is sure.
Verdicts = Mapping[tuple[str, str], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Sizes over which nobody is surely faster than one variant, two sizes in a row.

    Attributes
    ----------
    key
        The variant; the others are compared with it.
    from_bytes, to_bytes
        The first and the last size.
    peers
        Those that it is not surely faster than at more than half of the sizes.
    is_clear
        Whether it is surely faster than everybody at every size.
    is_unsure
        Whether it and its peers are told apart at no size.
    is_noise_known
        Whether some size was run more than once.
    """

    key: str
    from_bytes: int
    to_bytes: int
    peers: tuple[str, ...] = ()
    is_clear: bool = True
    is_unsure: bool = False
    is_noise_known: bool = True


def stretches_of(
    points: Sequence[Point], variants: Sequence[Variant], *, cold: bool
) -> list[Stretch]:
    """Return the stretches of these variants, in the order of their sizes."""
    curves = curves_of(points, variants, cold=cold)
    sure = {(a, b): _surely_faster(curves[a], curves[b]) for a, b in permutations(curves, 2)}
    ranked = _ranked(curves)
    found: list[tuple[str, list[int]]] = []
    for at, (size, medians) in enumerate(ranked):
        # One size alone is no stretch: it takes two in a row, or the end, to change sides.
        beaten = [_is_beaten(found, size, medians, sure) for size, medians in ranked[at : at + 2]]
        if not all(beaten):
            found[-1][1].append(size)
            continue
        best = min(medians, key=lambda key: medians[key])
        if found and found[-1][0] == best:
            found[-1][1].append(size)
        else:
            found.append((best, [size]))
    is_known = all(curve.spread_freedom for curve in curves.values() if curve.sizes_bytes)
    return [_stretch(key, sizes, curves, sure, is_known=is_known) for key, sizes in found]


def _ranked(curves: Mapping[str, Curve]) -> list[tuple[int, Medians]]:
    """Return each size with the median of every variant that has one there."""
    medians: dict[int, dict[str, float]] = {}
    for key, curve in curves.items():
        for size, median in zip(curve.sizes_bytes, curve.medians_ns, strict=True):
            medians.setdefault(size, {})[key] = median
    return sorted(medians.items(), key=lambda entry: entry[0])


def _surely_faster(one: Curve, other: Curve) -> frozenset[int]:
    sizes = sorted(set(one.sizes_bytes) & set(other.sizes_bytes))
    if not sizes:
        return frozenset()
    ours, theirs = (
        dict(zip(each.sizes_bytes, each.medians_ns, strict=True)) for each in (one, other)
    )
    gaps = [math.log(theirs[size] / ours[size]) for size in sizes]
    is_ordered = min(gaps) > 0
    least, widths = least_widths(one, other, sizes), widths_of(one, other, sizes)
    return frozenset(
        size
        for size, gap, own, width in zip(sizes, gaps, least, widths, strict=True)
        if (is_ordered and gap > own if width is None else gap > width)
    )


def _is_beaten(
    found: Sequence[tuple[str, list[int]]], size: int, medians: Medians, sure: Verdicts
) -> bool:
    if not found or found[-1][0] not in medians:
        return True
    best = found[-1][0]
    return any(size in sure[key, best] for key in medians if key != best)


def _stretch(
    key: str, sizes: Sequence[int], curves: Mapping[str, Curve], sure: Verdicts, *, is_known: bool
) -> Stretch:
    rivals = {
        other: set(sizes) & set(curve.sizes_bytes)
        for other, curve in curves.items()
        if other != key and set(sizes) & set(curve.sizes_bytes)
    }
    told = {other: sure[key, other] & own for other, own in rivals.items()}
    peers = tuple(other for other, own in rivals.items() if 2 * len(told[other]) <= len(own))
    return Stretch(
        key,
        sizes[0],
        sizes[-1],
        peers,
        is_clear=all(told[other] == own for other, own in rivals.items()),
        is_unsure=not any(told[other] | (sure[other, key] & rivals[other]) for other in peers),
        is_noise_known=is_known,
    )
