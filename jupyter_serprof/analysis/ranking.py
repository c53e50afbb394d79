"""The ranking of variants: who takes part in it, and which differences between them matter.

A variant that gives back the very memory of the value has moved nothing: its time is shown, and is
compared with none. Two others differ where their runs can be told apart, by a tenth at least,
and by more than it costs to watch them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jupyter_serprof.model import Sweep, Variant
from jupyter_serprof.model.sweep import groups_text, middle_ns
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import format_ratio, format_share

BASELINE = "pickle"
#: The fact how many times as long as the fastest a variant takes, and the signs in it.
VS_FASTEST, TIED, NOT_SURE, GROUPED = "vs_fastest", "≈", "?", "‡"
_OUTSIDE, _SAME_AS = "not compared: it ", "did the same as "
#: So much of the bytes may be shared before a time is no longer that of moving them.
_SHARED = 0.1
#: All of it, but what rounding and the names around it leave.
_WHOLE = 0.995
#: The rate of memcpy is that of blocks so large; less may lie in a cache, which is faster.
_MEMORY_BYTES = 32 * 2**20
#: A smaller ratio is nothing that anybody should act on.
_LEAST_RATIO = 1.1
#: Standard normal, both sides 1 %: so often may runs of the same work be told apart by chance.
_MOST_CHANCE = 2.576
#: With fewer the ranks of the runs say nothing: all of them may lie apart by chance.
_RANKED_RUNS = 5
#: A few runs that lie apart, and whose middle ones differ by so much, need not be close together.
PLAIN_RATIO = 3
#: Of more runs some may even cross: this share of all pairs has the same order.
_MOST_WON = 0.83
#: Of noisy runs nothing may be sure; who takes longer than this is not named as equal or fastest.
ALIKE_RATIO = 1.5


def with_ranking(sweep: Sweep) -> Sweep:
    """Return the sweep whose variants say what keeps them out, and what watching a run cost."""
    costs = _watching_ns(sweep)
    variants = tuple(_judged(sweep, each, costs.get(each.key, 0)) for each in sweep.variants)
    ratios = _ratios(replace(sweep, variants=variants))
    told = (replace(v, facts={**v.facts, **ratios.get(v.key, {})}) for v in variants)
    return replace(sweep, variants=tuple(told))


def _ratios(sweep: Sweep) -> dict[str, dict[str, Scalar]]:
    """Return by key how many times as long as the fastest a variant takes, of one size, warm."""
    # Nothing of what ran once, of remedies, whose gain is told, and of two sides: theirs is, too.
    warm = [point for point in sweep.points if not point.cold]
    walls = [[p.wall_ns for p in warm if p.variant == v.key] for v in ranked_of(sweep.variants)]
    judged = [*zip(ranked_of(sweep.variants), walls, strict=True)]
    judged = [(variant, own) for variant, own in judged if is_comparable(own)]
    is_told = any("tried" in v.facts or v.key == "before" for v in sweep.variants)
    if len(judged) < 2 or len({p.size_bytes for p in warm}) > 1 or is_told:  # noqa: PLR2004
        return {}
    fastest, best = min(judged, key=lambda each: middle_ns(each[1]))
    found: dict[str, dict[str, Scalar]] = {}
    for variant, own in judged:
        if groups_text(own):
            found[variant.key] = {VS_FASTEST: GROUPED}
        elif not groups_text(best):
            ratio = _ratio_text(own, best, cost_of(variant, fastest))
            found[variant.key] = {VS_FASTEST: ratio}
    return found


def _ratio_text(own: Sequence[int], best: Sequence[int], cost_ns: float) -> str:
    if own is not best and are_alike(own, best, cost_ns):
        return TIED
    is_sure = own is best or matters(own, best, cost_ns)
    return format_ratio(middle_ns(own) / max(1, middle_ns(best))) + NOT_SURE * (not is_sure)


def ranked_of(variants: Iterable[Variant]) -> list[Variant]:
    """Return the variants that take part, in their order."""
    return [variant for variant in variants if variant.state == "ok" and not variant.unranked]


def outside_texts(variants: Iterable[Variant]) -> list[str]:
    """Say of those that moved nothing, what they did instead; those alike together."""
    found: dict[str, list[str]] = {}
    for variant in variants:
        if variant.unranked and not variant.unranked.startswith(_SAME_AS):
            found.setdefault(variant.unranked, []).append(variant.title)
    return [f"{listed(titles)} {said}" for said, titles in found.items()]


def listed(titles: Sequence[str]) -> str:
    """Name some variants, and say how many more there are."""
    shown = list(titles[:3])
    if len(titles) > len(shown):
        shown.append(f"{len(titles) - len(shown)} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def is_comparable(times: Sequence[int]) -> bool:
    """Tell whether there are runs enough: one alone says nothing of its noise."""
    return len(times) > 1


def matters(left_ns: Sequence[int], right_ns: Sequence[int], cost_ns: float = 0) -> bool:
    """Tell whether the times of two variants differ by as much as anybody should act on.

    ``left_ns``, ``right_ns``: The runs of each, alike cold or warm; `is_comparable` both.
    ``cost_ns``: What watching costs, the larger of `cost_of` of both.

    From five runs on the slowest one is left out, where the machine was busy meanwhile. Of the
    others the test of Mann and Whitney decides, at 1 %; fewer than five on a side have to be apart
    altogether, by a larger ratio than those of either or with middle ones of three times the other,
    two runs by the square of both. Runs of the same work, in turns on a busy machine, were told
    apart in 0 to 1.4 % (two against two 2.3 %), twice the work in 81 to 100 % from three runs on.
    """
    faster, slower = sorted((left_ns, right_ns), key=middle_ns)
    gap = math.log(max(1, middle_ns(slower)) / max(1, middle_ns(faster)))
    return gap > least_gap(middle_ns(faster), cost_ns) and _are_apart(faster, slower)


def are_alike(left_ns: Sequence[int], right_ns: Sequence[int], cost_ns: float = 0) -> bool:
    """Tell whether times do not differ, and lie near each other: wide runs alone make no equals."""
    low_ns, high_ns = sorted((max(1, middle_ns(left_ns)), max(1, middle_ns(right_ns))))
    widest = max(math.log(ALIKE_RATIO), least_gap(low_ns, cost_ns))
    return not matters(left_ns, right_ns, cost_ns) and math.log(high_ns / low_ns) <= widest


def least_gap(faster_ns: float, cost_ns: float) -> float:
    """Return the logarithm of the smallest ratio that matters, whatever the noise."""
    return max(math.log(_LEAST_RATIO), math.log1p(cost_ns / max(1.0, faster_ns)))


def cost_of(*variants: Variant) -> float:
    """Return what it cost at most to watch a run of one of these, ns; 0 where unknown."""
    costs = (variant.facts.get("watching_ns") for variant in variants)
    return max((cost for cost in costs if isinstance(cost, int | float)), default=0)


def _are_apart(faster: Sequence[int], slower: Sequence[int]) -> bool:
    faster, slower = (
        sorted(times)[:-1] if len(times) >= _RANKED_RUNS else times for times in (faster, slower)
    )
    few, many = sorted((len(faster), len(slower)))
    gap = middle_ns(slower) / max(1, middle_ns(faster))
    if few < _RANKED_RUNS:
        spread = max(max(times) / max(1, min(times)) for times in (faster, slower))
        power = 2 if few == 2 else 1  # noqa: PLR2004  (two runs spread little by chance)
        apart = min(slower) / max(1, *faster)
        return apart > spread**power or (apart > 1 and gap >= PLAIN_RATIO**power)
    # Ties count half.
    won = sum((one < other) + (one == other) / 2 for one in faster for other in slower)
    pairs = few * many
    if gap >= PLAIN_RATIO and won >= _MOST_WON * pairs:
        return True
    return won - pairs / 2 > _MOST_CHANCE * math.sqrt(pairs * (few + many + 1) / 12)


def _watching_ns(sweep: Sweep) -> Mapping[str, int]:
    """Return the cost of one recorded call times those of a run, in the caller's own process."""
    # Runs that were looped are timed without a recording.
    cost, found = sweep.quality.span_cost_ns or 0, dict[str, int]()
    bare = {(point.variant, point.size_bytes) for point in sweep.points if point.loops}
    for entry in sweep.traces:
        own = {lane.key for lane in entry.trace.lanes if lane.kind == "client"}
        is_bare = (entry.variant, entry.size_bytes) in bare
        calls = 0 if is_bare else sum(span.lane in own for span in entry.trace.spans)
        found[entry.variant] = max(found.get(entry.variant, 0), cost * calls)
    return found


def _judged(sweep: Sweep, variant: Variant, watching_ns: int) -> Variant:
    # A document that grows is judged more than once: what was said the last time goes.
    notes = tuple(note for note in variant.notes if not note.startswith(_OUTSIDE))
    why = _why_outside(sweep, variant) if variant.state == "ok" else ""
    told: dict[str, Scalar] = {"unranked": why, "watching_ns": watching_ns}
    facts = {key: fact for key, fact in variant.facts.items() if key not in (*told, VS_FASTEST)}
    facts |= {key: fact for key, fact in told.items() if fact}
    if "shared_share" in facts:
        facts["is_alias"] = _share(variant) > _SHARED
    return replace(variant, facts=facts, notes=(*notes, _OUTSIDE + why) if why else notes)


def _share(variant: Variant) -> float:
    share = variant.facts.get("shared_share")
    return share if isinstance(share, int | float) else 0.0


def _why_outside(sweep: Sweep, variant: Variant) -> str:
    share, has_buffers = _share(variant), variant.facts.get("has_buffers")
    if share > _SHARED:
        part = f"gave {format_share(share, decimals=0)} of it back in the same memory"
        return part if share < _WHOLE else "gave the same memory back"
    plain = next((v for v in sweep.variants if v.key == BASELINE and v.state == "ok"), None)
    if variant.key == "pickle-oob" and has_buffers is False and plain:
        return f"{_SAME_AS}{plain.title}: there are no buffers to hand over"
    if has_buffers is False and _is_too_fast(sweep, variant):
        return "took less than one memcpy of its bytes"
    return ""


def _is_too_fast(sweep: Sweep, variant: Variant) -> bool:
    runs = [p for p in sweep.points if p.variant == variant.key and not p.cold]
    largest = max((point.moved_bytes or 0 for point in runs), default=0)
    rate = sweep.limits.memcpy_bytes_per_s
    if not rate or largest < _MEMORY_BYTES:
        return False
    return middle_ns(p.wall_ns for p in runs if p.moved_bytes == largest) < largest / rate * 1e9
