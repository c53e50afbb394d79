"""Which way is fastest from which size to which, and where one way overtakes another.

At each size that both have, the times are compared with the noise of the runs (95 % for all sizes
together), and with the smallest difference that matters. A crossover lies between the last size
where one is surely faster and the first where the other surely is. Nothing is interpolated, and
nothing is said beyond the measured sizes. Crossovers are told of those only that are the fastest
somewhere, each with the one that follows it, where it does: nobody chooses between the others.

Without noise (one run at each size) an order counts that no size turns round.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

from jupyter_serprof.analysis.ranking import ALIKE_RATIO, BASELINE, cost_of, least_gap
from jupyter_serprof.analysis.sizes.curve import Curve, curve_of
from jupyter_serprof.analysis.sizes.fit import t_quantile
from jupyter_serprof.model import Crossover, Point, Sweep, Variant
from jupyter_serprof.model.sweep import middle_ns
from jupyter_serprof.model.units import format_bytes, format_rate

#: Medians this close (a standard error, as a share) are never told apart.
_LEAST_NOISE, _MISTAKEN, _ALIKE = 0.005, 0.05, math.log(ALIKE_RATIO)


def crossovers_of(points: Sequence[Point], variants: Sequence[Variant]) -> tuple[Crossover, ...]:
    """Return where the fastest of the variants is overtaken by the one that follows it.

    ``variants``: Those to compare; warm and cold runs apart.
    """
    found: list[Crossover] = []
    if len({point.size_bytes for point in points}) == 1:
        return ()  # a round trip needs neither numpy nor scipy
    titles = {variant.key: variant.title for variant in variants}
    for cold in (False, True):
        curves = curves_of(points, variants, cold=cold)
        for before, after in pairwise(stretches_of(points, variants, cold=cold)):
            found += [
                Crossover(
                    title=f"{titles[faster]} overtakes {titles[slower]}",
                    cold=cold,
                    faster=faster,
                    slower=slower,
                    from_bytes=low,
                    to_bytes=high,
                )
                for faster, slower, low, high in _turns(before.key, after.key, curves)
                if faster == after.key
                and before.from_bytes <= low <= before.to_bytes
                and after.from_bytes <= high <= after.to_bytes
            ]
    return tuple(dict.fromkeys(found))


def curves_of(
    points: Sequence[Point], variants: Sequence[Variant], *, cold: bool
) -> dict[str, Curve]:
    """Return the curve of each variant by its key, with what watching its runs cost."""
    return {
        each.key: replace(curve_of(points, each.key, cold=cold), watching_ns=cost_of(each))
        for each in variants
    }


def _turns(
    one: str, other: str, curves: Mapping[str, Curve]
) -> Iterator[tuple[str, str, int, int]]:
    """Yield the faster, the slower, the last size before and the first size after they turn."""
    gaps = _gaps(curves[one], curves[other])
    sure = [
        (size, gap > 0) for size, gap, _, width in gaps if width is not None and abs(gap) > width
    ]
    for (before, was_slower), (size, is_slower) in pairwise(sure):
        if was_slower != is_slower:
            faster, slower = (other, one) if is_slower else (one, other)
            yield faster, slower, before, size


def _gaps(one: Curve, other: Curve) -> list[tuple[int, float, float, float | None]]:
    # How much longer the first takes, how much matters whatever the noise, and how much is sure and
    # matters; None where the noise is unknown.
    sides = [
        {size: (ns, count) for size, ns, count in zip(*columns, strict=True)}
        for columns in ((c.sizes_bytes, c.medians_ns, c.counts) for c in (one, other))
    ]
    shared = sorted(sides[0].keys() & sides[1].keys())
    freedom = min(one.spread_freedom, other.spread_freedom)
    cost_ns = max(one.watching_ns, other.watching_ns)
    quantile = t_quantile(freedom, 1 - _MISTAKEN / len(shared)) if freedom and shared else None
    found = []
    for size in shared:
        (left_ns, left_count), (right_ns, right_count) = (side[size] for side in sides)
        least = least_gap(min(left_ns, right_ns), cost_ns)
        noise = math.hypot(_noise(one, left_count), _noise(other, right_count))
        width = None if quantile is None else max(quantile * noise, least)
        found.append((size, math.log(left_ns / right_ns), least, width))
    return found


def _noise(curve: Curve, count: int) -> float:
    return max(_LEAST_NOISE, curve.noise_share(count) or 0.0)


Medians = Mapping[str, float]
_Warm = Mapping[int, tuple[float, int]]
#: (the faster one, the slower one) -> the sizes at which that is sure.
Verdicts = Mapping[tuple[str, str], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Sizes over which no variant is surely faster than one variant, two sizes in a row.

    ``key``: The variant; the others are compared with it.
    ``from_bytes``, ``to_bytes``: The first and the last size.
    ``peers``: Those that it is surely faster than at no size, and that take half as long again as
        the fastest at most.
    ``is_clear``: Whether it is surely faster than everybody at every size.
    ``is_noise_known``: Whether some size was run more than once.
    """

    key: str
    from_bytes: int
    to_bytes: int
    peers: tuple[str, ...] = ()
    is_clear: bool = True
    is_noise_known: bool = True


def stretches_of(
    points: Sequence[Point], variants: Sequence[Variant], *, cold: bool
) -> list[Stretch]:
    """Return the stretches of these variants, in the order of their sizes."""
    # Where the medians deny one of them, only who is the fastest at the largest size.
    curves = curves_of(points, variants, cold=cold)
    sure = {(a, b): _surely_faster(curves[a], curves[b]) for a, b in permutations(curves, 2)}
    ranked = _ranked(curves)
    found: list[tuple[str, list[int]]] = []
    for at, (size, medians) in enumerate(ranked):
        # One size alone is no stretch: it takes two in a row, or the end, to change sides.
        now = found[-1][0] if found else ""
        if found and not all(_is_beaten(now, *each, sure) for each in ranked[at : at + 2]):
            found[-1][1].append(size)
            continue
        best = min(medians, key=lambda key: medians[key])
        if found and now == best:
            found[-1][1].append(size)
        else:
            found.append((best, [size]))
    is_known = all(curve.spread_freedom for curve in curves.values() if curve.sizes_bytes)
    told = [_stretch(key, sizes, curves, sure, is_known=is_known) for key, sizes in found]
    if all(_is_borne_out(each, ranked, sure, is_alone=len(told) == 1) for each in told):
        return told
    size, medians = ranked[-1]
    fastest = min(medians, key=lambda key: medians[key])
    return [_stretch(fastest, [size], curves, sure, is_known=is_known)]


def _ranked(curves: Mapping[str, Curve]) -> list[tuple[int, Medians]]:
    medians: dict[int, dict[str, float]] = {}
    for key, curve in curves.items():
        for size, median in zip(curve.sizes_bytes, curve.medians_ns, strict=True):
            medians.setdefault(size, {})[key] = median
    return sorted(medians.items(), key=lambda entry: entry[0])


def _surely_faster(one: Curve, other: Curve) -> frozenset[int]:
    gaps = _gaps(other, one)
    is_ordered = all(gap > 0 for _, gap, *_ in gaps)
    return frozenset(
        size
        for size, gap, least, width in gaps
        if (is_ordered and gap > least if width is None else gap > width)
    )


def _is_borne_out(
    told: Stretch, ranked: Sequence[tuple[int, Medians]], sure: Verdicts, *, is_alone: bool
) -> bool:
    """Tell whether one of those named is the fastest, or near it, at each size, as it is said."""
    # Of one that is alone it is said of most sizes.
    named, ends = {told.key, *told.peers}, (told.from_bytes, told.to_bytes)
    here = [each for each in ranked if ends[0] <= each[0] <= ends[1] and named & {*each[1]}]
    if is_alone and not told.peers:
        won = sum(min(medians.values()) == medians.get(told.key) for _, medians in here)
        return told.is_clear or 2 * won > len(here)
    for size, medians in here:
        near = {key for key, ns in medians.items() if ns <= ALIKE_RATIO * min(medians.values())}
        if all(_is_beaten(key, size, medians, sure) for key in near & named):
            return False
    return True


def _is_beaten(best: str, size: int, medians: Medians, sure: Verdicts) -> bool:
    rivals = (key for key in medians if key != best)
    return best not in medians or any(size in sure[key, best] for key in rivals)


def _stretch(
    key: str, sizes: Sequence[int], curves: Mapping[str, Curve], sure: Verdicts, *, is_known: bool
) -> Stretch:
    both = {other: {*sizes} & {*curve.sizes_bytes} for other, curve in curves.items()}
    rivals = {other: own for other, own in both.items() if own and other != key}
    told = {other: sure[key, other] & own for other, own in rivals.items()}
    gaps = {other: [_gaps(curves[other], curves[each]) for each in both] for other in rivals}
    peers = tuple(
        other
        for other, own in rivals.items()
        if not told[other]
        and all(gap <= _ALIKE for each in gaps[other] for size, gap, *_ in each if size in own)
    )
    return Stretch(
        key,
        sizes[0],
        sizes[-1],
        peers,
        is_clear=all(told[other] == own for other, own in rivals.items()),
        is_noise_known=is_known,
    )


#: Keys of transports that compress exactly that pickle.
_COMPRESSED = ("lz4", "zstd")
_WINS, _SAVES_NOTHING, _UNSURE = (
    *("wins over a link below ", "saves no bytes, so it wins over no link"),
    "cannot tell over which link it wins: it took no longer than plain pickle here",
)


def break_even_bytes_per_s(
    raw_bytes: float, raw_ns: float, compressed_bytes: float, compressed_ns: float
) -> float | None:
    """Return the bandwidth below which the compressed way arrives first.

    It is the bytes saved on the wire over the time added at the ends; None where no bytes are
    saved, or no time was added that was measured. Nothing overlaps here; a program that sends while
    it compresses wins up to a larger bandwidth.
    """
    saved, added_ns = raw_bytes - compressed_bytes, compressed_ns - raw_ns
    return saved / (added_ns / 1e9) if saved > 0 and added_ns > 0 else None


def with_break_even(sweep: Sweep) -> Sweep:
    """Return the sweep whose compressed variants say in facts and in words when they win.

    The facts are those of the largest size that was measured warm both ways: ``compressed_bytes``,
    and ``wins_below_bytes_per_s``, which is None where it saves no bytes and where the runs cannot
    tell.
    """
    plain = _warm(sweep, BASELINE)
    variants = tuple(
        _told(variant, plain, _warm(sweep, variant.key)) if variant.key in _COMPRESSED else variant
        for variant in sweep.variants
    )
    return replace(sweep, variants=variants) if variants != sweep.variants else sweep


def _told(variant: Variant, plain: _Warm, compressed: _Warm) -> Variant:
    shared = sorted(set(plain) & set(compressed))
    if not shared:
        return variant
    (raw_ns, raw), (own_ns, own) = plain[shared[-1]], compressed[shared[-1]]
    limit = break_even_bytes_per_s(raw, raw_ns, own, own_ns)
    # It does all that plain pickle does and more: what it seems to save in time is noise.
    note = _UNSURE if raw > own else _SAVES_NOTHING
    if limit is not None:
        sizes = f"{format_bytes(own)} instead of {format_bytes(raw)}"
        note = f"{_WINS}{format_rate(limit)}: sends {sizes}"
    at = f" (at {format_bytes(shared[-1])})" if len(plain) > 1 and shared[-1] else ""
    facts = {**variant.facts, "compressed_bytes": own, "wins_below_bytes_per_s": limit}
    # A document that grows is finished more than once; the note of the last time goes.
    old = (_WINS, _SAVES_NOTHING, _UNSURE)
    kept = (said for said in variant.notes if not said.startswith(old))
    return replace(variant, facts=facts, notes=(*kept, note + at))


def _warm(sweep: Sweep, key: str) -> _Warm:
    """Return the median wall time and the bytes written, of each size that was measured warm."""
    points = [p for p in sweep.points if p.variant == key and not p.cold and p.moved_bytes]
    moved = {point.size_bytes or 0: point.moved_bytes or 0 for point in points}
    return {
        size: (middle_ns(p.wall_ns for p in points if (p.size_bytes or 0) == size), last)
        for size, last in moved.items()
    }
