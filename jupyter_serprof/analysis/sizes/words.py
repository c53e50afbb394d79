"""The sentence above a sweep over sizes: which is the fastest where, and what is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from jupyter_serprof.analysis.ranking import outside_texts, ranked_of
from jupyter_serprof.analysis.sizes.crossovers import Stretch, stretches_of
from jupyter_serprof.model import Summary, Sweep, units
from jupyter_serprof.model.sweep import runs_of

_MOST_STRETCHES = 3
Medians = Mapping[str, Mapping[int, float]]


def summarize_growth(sweep: Sweep) -> Summary:
    """Return headline and facts of a sweep over sizes."""
    used = [variant for variant in sweep.variants if variant.state == "ok"]
    outside = (f"{text}, so not compared" for text in outside_texts(used))
    details = (*outside, *_missing(sweep))
    return Summary(units.shortened(_headline(sweep)), tuple(_runs(sweep)), details=details)


def medians_of(sweep: Sweep) -> Medians:
    """Return the median wall time (ns) by variant and size, warm; cold where nothing is warm."""
    known = [runs for runs in runs_of(sweep) if runs.size_bytes is not None]
    has_warm = any(not runs.cold for runs in known)
    medians: dict[str, dict[int, float]] = {}
    for runs in known:
        if runs.cold != has_warm:
            own = medians.setdefault(runs.variant, {})
            own[runs.size_bytes or 0] = sweep.points[runs.middle].wall_ns
    return medians


def best_stretches(sweep: Sweep) -> list[Stretch]:
    """Return who is fastest from which size to which; what moved nothing does not count."""
    # One ends and the next begins where the crossover between them is drawn.
    has_warm = any(not point.cold for point in sweep.points if point.size_bytes is not None)
    told = stretches_of(sweep.points, ranked_of(sweep.variants), cold=not has_warm)
    for turn in (each for each in sweep.crossovers if each.cold != has_warm):
        for at, (before, after) in enumerate(pairwise(told)):
            is_between = turn.from_bytes <= before.to_bytes and after.from_bytes <= turn.to_bytes
            if is_between and (turn.slower, turn.faster) == (before.key, after.key):
                told[at] = replace(before, to_bytes=turn.from_bytes)
                told[at + 1] = replace(after, from_bytes=turn.to_bytes)
    return told


def _headline(sweep: Sweep) -> str:
    sizes = sorted({point.size_bytes for point in sweep.points if point.size_bytes})
    what = units.code_text(sweep.name)
    if not sizes:
        moved = "no bytes were seen to move, so there are no sizes"
        return f"{what}: {moved if sweep.points else 'no run ended'}"
    stretches = best_stretches(sweep)
    if not stretches:
        return f"{what}: every way gave the same memory back, so nothing was moved"
    if len({point.variant for point in sweep.points}) == 1:
        return _alone(sweep, sizes, what)
    said = _stretches_text(sweep, stretches)
    return said if len(said) + len(what) + 2 > units.LONGEST_HEADLINE else f"{what}: {said}"


def _alone(sweep: Sweep, sizes: Sequence[int], what: str) -> str:
    (own,) = medians_of(sweep).values()
    ends = sorted(own)
    first = f"{what}: {units.format_ns(own[ends[0]])} at {units.format_bytes(ends[0])}"
    if len(ends) == 1:
        return first
    said = f"{first}, {units.format_ns(own[ends[-1]])} at {units.format_bytes(ends[-1])}"
    times, bytes_ratio = own[ends[-1]] / max(1.0, own[ends[0]]), sizes[-1] / sizes[0]
    ratio = f": {_number(times)} times as long for {_number(bytes_ratio)} times the bytes"
    return said + ratio if len(said + ratio) <= units.LONGEST_HEADLINE else said


def _number(ratio: float) -> str:
    return units.format_fixed(ratio, 1 if ratio < 10 else 0)  # noqa: PLR2004  (three digits are enough)


def _stretches_text(sweep: Sweep, stretches: Sequence[Stretch]) -> str:
    titles = {variant.key: variant.title for variant in sweep.variants}
    first, last = stretches[0], stretches[-1]
    once = ", by one run each" if any(not each.is_noise_known for each in stretches) else ""
    said = f"{_names(first, titles)} is fastest"
    smallest = min(min(sizes) for sizes in medians_of(sweep).values())
    if first is last and first.from_bytes > smallest:
        return f"{said} at {units.format_bytes(first.to_bytes)}, at smaller sizes it changes{once}"
    if first is last:
        share = "at every size" if first.is_clear else "at most sizes"
        return said if first.peers else f"{said} {share}{once}"
    said += f" up to {units.format_bytes(first.to_bytes)}"
    # Cut off at its end, a sentence would make of a middle stretch the last one.
    ways = [(stretches[1:], "")] if len(stretches) <= _MOST_STRETCHES else []
    size = units.format_bytes
    told = [
        said
        + "".join(f", {_names(each, titles)} from {size(each.from_bytes)} on" for each in shown)
        + f"{between}{once}"
        for shown, between in (*ways, ([last], "; in between it changes"), ([last], ""))
    ]
    return next((each for each in told if len(each) <= units.LONGEST_HEADLINE), told[-1])


def _names(stretch: Stretch, titles: Mapping[str, str]) -> str:
    *others, last = (titles[key] for key in (stretch.key, *stretch.peers))
    return f"{', '.join(others)} or {last}" if others else last


def _runs(sweep: Sweep) -> list[str]:
    counts: Counter[tuple[str, float | None]] = Counter()
    for point in sweep.points:
        # Where the size is unknown, what was asked for.
        size = point.parameter if point.size_bytes is None else point.size_bytes
        counts[point.variant, size] += not point.cold
    if not counts:
        return []
    has_sizes = any(point.size_bytes is not None for point in sweep.points)
    each = "size" if has_sizes or not sweep.parameter else sweep.parameter
    seed = sweep.environment.get("seed")
    order = f"; later passes in shuffled order (seed {seed})" if seed is not None else ""
    if not any(counts.values()):
        return [f"only the first run at each {each} yet{order}"]
    runs = units.counted_in_each(counts.values(), "warm run")
    return [f"{runs} at each {each}, the first one apart{order}"]


def _missing(sweep: Sweep) -> list[str]:
    used = [variant for variant in sweep.variants if variant.state == "ok"]
    absent = [f"{v.title}: {v.reason or v.state}" for v in sweep.variants if v not in used]
    notes = ((variant.title, note) for variant in used for note in variant.notes)
    own = (f"{of}: {said}" for of, said in notes if "failed at" in said or "warm runs only" in said)
    return [*absent, *own]
