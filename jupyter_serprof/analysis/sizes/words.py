"""The sentence above a sweep over sizes: who is fastest where, how each grows, what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from jupyter_serprof.analysis.ranking import listed, outside_texts, ranked_of
from jupyter_serprof.analysis.sizes.crossovers import Stretch, stretches_of
from jupyter_serprof.model import Fit, Point, Summary, Sweep, Variant
from jupyter_serprof.model.sweep import middle_ns
from jupyter_serprof.model.units import (
    counted_in_each,
    format_bytes,
    format_fixed,
    format_ns,
    format_rate,
)

_MOST_STRETCHES = 3
#: A fixed part of more than this, as a share of the time at the smallest size, is told.
_TRIFLE = 0.1
_GROWTH = {
    "constant": "flat",
    "linear": "in proportion to size",
    "superlinear": "grows faster than its size",
    "sublinear": "grows slower than its size",
}
Medians = Mapping[str, Mapping[int, float]]


def summarize_growth(sweep: Sweep) -> Summary:
    """Return headline and facts of a sweep over sizes."""
    return Summary(_headline(sweep), tuple(_facts(sweep)))


def medians_of(sweep: Sweep) -> Medians:
    """Return the median wall time (ns) by variant and size, warm; cold where nothing is warm."""
    times: dict[tuple[str, int, bool], list[int]] = {}
    for point in sweep.points:
        if point.size_bytes is not None:
            times.setdefault((point.variant, point.size_bytes, point.cold), []).append(
                point.wall_ns
            )
    has_warm = any(not cold for _, _, cold in times)
    medians: dict[str, dict[int, float]] = {}
    for (variant, size, cold), walls in sorted(times.items()):
        if cold != has_warm:
            medians.setdefault(variant, {})[size] = middle_ns(walls)
    return medians


def best_stretches(sweep: Sweep) -> list[Stretch]:
    """Return who is fastest from which size to which; what moved nothing does not count."""
    has_warm = any(not point.cold for point in sweep.points if point.size_bytes is not None)
    return stretches_of(sweep.points, ranked_of(sweep.variants), cold=not has_warm)


def _headline(sweep: Sweep) -> str:
    sizes = sorted({point.size_bytes for point in sweep.points if point.size_bytes})
    if not sizes:
        return f"{sweep.name}: {_nothing(sweep)}."
    ends = f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
    what = f"{sweep.name} ({ends if len(sizes) > 1 else format_bytes(sizes[0])})"
    stretches = best_stretches(sweep)
    if not stretches:
        return f"{what}: every transport hands the same memory back, nothing was moved."
    if len({point.variant for point in sweep.points}) == 1:
        return f"{what}: {_alone(sweep, sizes)}."
    return f"{what}: {_best_text(sweep, stretches)}."


def _nothing(sweep: Sweep) -> str:
    return "no bytes were seen to move, so there are no sizes" if sweep.points else "no run ended"


def _alone(sweep: Sweep, sizes: Sequence[int]) -> str:
    (own,) = medians_of(sweep).values()
    ends = sorted(own)
    first = f"{format_ns(own[ends[0]])} at {format_bytes(ends[0])}"
    if len(ends) == 1:
        return first
    said = f"{first}, {format_ns(own[ends[-1]])} at {format_bytes(ends[-1])}"
    times, bytes_ratio = own[ends[-1]] / max(1.0, own[ends[0]]), sizes[-1] / sizes[0]
    return f"{said}: {_number(times)} times as long for {_number(bytes_ratio)} times the bytes"


def _number(ratio: float) -> str:
    return format_fixed(ratio, 1 if ratio < 10 else 0)  # noqa: PLR2004  (three digits are enough)


def _best_text(sweep: Sweep, stretches: Sequence[Stretch]) -> str:
    measured = {point.variant for point in sweep.points}
    outside = outside_texts(v for v in sweep.variants if v.key in measured)
    said = _stretches_text(sweep, stretches)
    return "; ".join([f"of those that move the bytes, {said}", *outside]) if outside else said


def _stretches_text(sweep: Sweep, stretches: Sequence[Stretch]) -> str:
    titles = {variant.key: variant.title for variant in sweep.variants}
    first, last = stretches[0], stretches[-1]
    once = ", by one run at each" if any(not each.is_noise_known for each in stretches) else ""
    if first is last:
        if first.peers:
            return _claim(first, titles)
        share = "at every size" if first.is_clear else "at most sizes"
        return f"{_claim(first, titles)} {share}{once}"
    parts = [f"{_claim(first, titles)} up to {format_bytes(first.to_bytes)}"]
    shown = stretches[1:] if len(stretches) <= _MOST_STRETCHES else [last]
    for before, each in pairwise([first, *shown]):
        is_same_claim = not before.peers and not each.peers
        claim = titles[each.key] if is_same_claim else _claim(each, titles)
        parts.append(f"{claim} from {format_bytes(each.from_bytes)} on")
    between = "" if len(stretches) <= _MOST_STRETCHES else "; in between it changes"
    return ", ".join(parts) + between + once


def _claim(stretch: Stretch, titles: Mapping[str, str]) -> str:
    if not stretch.peers:
        return f"{titles[stretch.key]} is the fastest"
    together = listed([titles[key] for key in (stretch.key, *stretch.peers)])
    where = "" if stretch.is_unsure else " at most sizes"
    return f"no difference that matters between {together}{where}"


def _facts(sweep: Sweep) -> list[str]:
    used = [variant for variant in sweep.variants if variant.state == "ok"]
    growth = [text for variant in ranked_of(used) if (text := growth_text(sweep, variant))]
    outside = [f"{text}, outside the ranking" for text in outside_texts(used)]
    return [*growth, *outside, *_runs(sweep), *_missing(sweep)]


def growth_text(sweep: Sweep, variant: Variant) -> str:
    """Say how a variant grows, regime by regime; "" without fitted lines."""
    lines = [
        line
        for line in sweep.fits
        if line.variant == variant.key and not line.cold and not line.stage
    ]
    if not lines:
        return ""
    return f"{variant.title}: {', then '.join(_regime_text(line) for line in lines)}"


def _regime_text(line: Fit) -> str:
    text = _GROWTH.get(line.growth, line.growth)
    if line.growth == "constant":
        text += f" at {format_ns(line.fixed_ns)}"
    elif line.growth == "linear" and line.ns_per_byte is not None and line.ns_per_byte > 0:
        text = _line_text(line, line.ns_per_byte)
    elif line.exponent is not None:
        text += f" (power {format_fixed(line.exponent, 2)})"
    text += f" up to {format_bytes(line.to_bytes)}"
    text += _taken_over(line) if line.growth == "linear" else ""
    return f"{text} ({line.cause})" if line.cause else text


def _line_text(line: Fit, ns_per_byte: float) -> str:
    """Say what a byte costs, and what it costs anyway where that is more than a trifle."""
    rate, fixed = format_rate(1e9 / ns_per_byte), line.fixed_ns or 0.0
    first_ns = ns_per_byte * line.from_bytes
    if first_ns > 0 and fixed > _TRIFLE * (fixed + first_ns):
        return f"{format_ns(fixed)} plus {rate}"
    return f"{_GROWTH['linear']} at {rate}"


def _taken_over(line: Fit) -> str:
    """Say from which size on the bytes cost more than what it costs anyway; "" from the first."""
    fixed, rate = line.fixed_ns, line.ns_per_byte
    if not fixed or not rate or rate <= 0 or fixed <= rate * line.from_bytes:
        return ""
    if fixed >= rate * line.to_bytes:
        return "; the fixed part is the larger one at every size"
    return f"; the rate takes over from about {format_bytes(fixed / rate)} on"


def _runs(sweep: Sweep) -> list[str]:
    counts: dict[tuple[str, float | None], int] = {}
    for point in sweep.points:
        at = (point.variant, _place(point))
        counts[at] = counts.get(at, 0) + (not point.cold)
    if not counts:
        return []
    has_sizes = any(point.size_bytes is not None for point in sweep.points)
    each = "size" if has_sizes or not sweep.parameter else sweep.parameter
    seed = sweep.environment.get("seed")
    order = f"; later passes in shuffled order (seed {seed})" if seed is not None else ""
    if not any(counts.values()):
        return [f"only the first run at each {each} yet{order}"]
    runs = counted_in_each(counts.values(), "warm run")
    return [f"{runs} at each {each}, the first one apart{order}"]


def _place(point: Point) -> float | None:
    """Return the size, or what was asked for where the size is unknown."""
    return point.parameter if point.size_bytes is None else point.size_bytes


def _missing(sweep: Sweep) -> list[str]:
    """Say which variants have no points, and what was left out of the others."""
    absent = [
        f"{variant.title}: {variant.reason or variant.state}"
        for variant in sweep.variants
        if variant.state != "ok"
    ]
    own = [
        f"{variant.title}: {note}"
        for variant in sweep.variants
        for note in variant.notes
        if variant.state == "ok" and ("failed at" in note or "warm runs only" in note)
    ]
    return [*absent, *own]
