"""The sentence above a sweep over sizes: who is fastest where, how each grows, what is missing."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from jupyter_serprof.model import Summary, Sweep, Variant
from jupyter_serprof.model.trace import Details
from jupyter_serprof.model.units import format_bytes, format_fixed, format_ns, format_rate

_ALIASES = "aliases the original"
#: Who is faster by less than this stays behind the one that was best at the size before.
_FASTER = 1.1
_MOST_STRETCHES = 3
_GROWTH = {
    "constant": "flat",
    "linear": "in proportion to size",
    "superlinear": "faster than size",
    "sublinear": "slower than size",
}
Medians = Mapping[str, Mapping[int, float]]
#: A variant and the first and the last size at which it is the best.
Stretch = tuple[str, int, int]


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
            medians.setdefault(variant, {})[size] = statistics.median(walls)
    return medians


def best_stretches(sweep: Sweep) -> list[Stretch]:
    """Return which variant is fastest from which size to which; results that alias do not count."""
    medians = medians_of(sweep)
    moving = [v.key for v in sweep.variants if v.state == "ok" and _ALIASES not in v.result]
    sizes = sorted({size for key in moving for size in medians.get(key, {})})
    ranked = [
        {key: medians[key][size] for key in moving if size in medians.get(key, {})}
        for size in sizes
    ]
    stretches: list[Stretch] = []
    best = ""
    for at, size in enumerate(sizes):
        # One size alone is no stretch: it takes two in a row, or the end, to change sides.
        if all(_is_beaten(best, times) for times in ranked[at : at + 2]):
            best = min(ranked[at], key=lambda key: ranked[at][key])
        start = stretches.pop()[1] if stretches and stretches[-1][0] == best else size
        stretches.append((best, start, size))
    return stretches


def _is_beaten(best: str, times: Mapping[str, float]) -> bool:
    return best not in times or times[best] >= _FASTER * min(times.values())


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
    titles = {variant.key: variant.title for variant in sweep.variants}
    if len(stretches) == 1:
        return f"{titles[stretches[0][0]]} is the fastest at every size"
    if len(stretches) > _MOST_STRETCHES:
        first, last = stretches[0], stretches[-1]
        return (
            f"{titles[first[0]]} is the fastest up to {format_bytes(first[2])}, "
            f"{titles[last[0]]} from {format_bytes(last[1])} on; in between it changes"
        )
    key, _, until = stretches[0]
    parts = [f"{titles[key]} is the fastest up to {format_bytes(until)}"]
    parts += [f"{titles[key]} from {format_bytes(start)} on" for key, start, _ in stretches[1:]]
    return ", ".join(parts)


def _facts(sweep: Sweep) -> list[str]:
    used = [variant for variant in sweep.variants if variant.state == "ok"]
    moving = [variant for variant in used if _ALIASES not in variant.result]
    growth = [text for variant in moving if (text := growth_text(sweep, variant))]
    aliasing = [variant.title for variant in used if _ALIASES in variant.result]
    alias = [f"{', '.join(aliasing)}: moves nothing, the result is the same memory"]
    return [*growth, *(alias if aliasing else []), *_runs(sweep), *_missing(sweep)]


def growth_text(sweep: Sweep, variant: Variant) -> str:
    """Say how a variant grows, regime by regime; "" without fitted lines."""
    lines = [
        line
        for line in sweep.fits
        if line.get("variant") == variant.key and not line.get("cold") and not line.get("stage")
    ]
    if not lines:
        return ""
    return f"{variant.title}: {', then '.join(_regime_text(line) for line in lines)}"


def _regime_text(line: Details) -> str:
    growth, exponent, rate = line.get("growth"), line.get("exponent"), line.get("ns_per_byte")
    text = _GROWTH.get(str(growth), str(growth))
    if growth == "constant":
        text += f" at {format_ns(_float(line.get('fixed_ns')))}"
    elif growth == "linear" and isinstance(rate, float | int) and rate > 0:
        text += f" at {format_rate(1e9 / rate)}"
    elif isinstance(exponent, float | int):
        text += f" (to the power {format_fixed(exponent, 2)})"
    text += f" up to {format_bytes(_float(line.get('to_bytes')))}"
    cause = line.get("cause")
    return f"{text} ({cause})" if cause else text


def _float(number: object) -> float | None:
    return number if isinstance(number, int | float) else None


def _runs(sweep: Sweep) -> list[str]:
    counts: dict[tuple[str, int | None], int] = {}
    for point in sweep.points:
        at = (point.variant, point.size_bytes)
        counts[at] = counts.get(at, 0) + (not point.cold)
    if not counts:
        return []
    low, high = min(counts.values()), max(counts.values())
    runs = str(low) if low == high else f"{low} to {high}"
    seed = sweep.environment.get("seed")
    order = f"; later passes in shuffled order (seed {seed})" if seed is not None else ""
    if high == 0:
        return [f"only the first run at each size yet{order}"]
    return [f"{runs} warm run{'' if high == 1 else 's'} at each size, the first one apart{order}"]


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
