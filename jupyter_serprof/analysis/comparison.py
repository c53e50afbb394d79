"""A comparison in words, the same in every form: headline, cells of a line, notes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import floor, log10

from jupyter_serprof.analysis.findings import CAUSE_SHARE
from jupyter_serprof.model import Change, Comparison, units
from jupyter_serprof.model.stages import RECORDING

#: Variants of code that was run again have no name worth telling.
_CODE = "code"
#: From here on more decimals say nothing.
_SMALL_RATIO, _LARGE_RATIO = 0.0995, 10
_MOST_DECIMALS = 6
#: Reasons that are longer stand below the table.
_SHORT_REASON = 26


def headline(comparison: Comparison) -> str:
    """Return the verdict on the wall time, with before, after and ratio, in one sentence."""
    walls = [change for change in comparison.changes if not change.stage and not change.cold]
    if len(walls) == 1:
        return units.shortened(_told(walls[0]) + _recorded(comparison))
    verdicts = [change.verdict for change in walls]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    before = units.code_text(comparison.before or "before")
    return units.shortened(f"compared with {before}: {said}")


def runs_text(comparison: Comparison) -> str:
    """Return what the ratios of a comparison are of."""
    return "the pairs" if comparison.is_paired else "all runs"


def _told(change: Change) -> str:
    before, after = _time_text(change.before_ns), _time_text(change.after_ns)
    if change.verdict == "cannot tell" or not change.ratio:
        grouped = f"{change.before_groups or before} before, {change.after_groups or after} after"
        words = "cannot tell faster from slower: "
        times = (
            grouped
            if len(words + grouped) <= units.LONGEST_HEADLINE
            else f"{before} before, {after} after"
        )
        return words + times
    ratio = max(change.ratio, 1 / change.ratio)
    return f"{ratio_text(ratio)} {change.verdict}: {before} before, {after} after"


def _recorded(comparison: Comparison) -> str:
    warm = {change.stage: change for change in comparison.changes if not change.cold}
    own, wall = warm.get(RECORDING), warm[""]
    if own is None or not wall.before_ns or not wall.after_ns:
        return ""
    shares = (own.before_ns or 0) / wall.before_ns, (own.after_ns or 0) / wall.after_ns
    told = " and ".join(units.format_share(share, decimals=0) for share in shares)
    return f", {told} of it recording" if max(shares) >= CAUSE_SHARE else ""


def lines_of(comparison: Comparison) -> list[Change]:
    """Return the changes, warm before cold, small stages as one."""
    # Of one cold run a side it is the wall time only.
    found: list[Change] = []
    for _, group in groupby(sorted(comparison.changes, key=lambda it: bool(it.cold)), point_of):
        changes = [
            it for it in group if not (it.stage and it.cold and not it.low and it.before_runs == 1)
        ]
        found += [change for change in changes if not change.is_small]
        timed = [c for c in changes if c.is_small and (c.before_ns or c.after_ns)]
        found += [_together(timed)] if timed else []
    return found


def first_of(lines: Sequence[Change]) -> Sequence[Change]:
    """Return those of warm runs, behind which the cold ones are told; all where all are cold."""
    return [change for change in lines if not change.cold] or lines


def _together(small: Sequence[Change]) -> Change:
    return replace(
        small[0],
        stage="serprof.folded",
        title=units.counted(len(small), "more stage"),
        before_ns=sum(change.before_ns or 0 for change in small),
        after_ns=sum(change.after_ns or 0 for change in small),
        ratio=None,
        low=None,
        high=None,
        verdict="",
        reason="",
    )


def point_of(change: Change) -> tuple[str, int | None, bool | None]:
    """Return which runs a change is of."""
    return change.variant, change.size_bytes, change.cold


def point_text(change: Change) -> str:
    """Return which runs a change is of, in words."""
    size = units.format_bytes(change.size_bytes) if change.size_bytes is not None else ""
    heat = "" if change.cold is None else "cold" if change.cold else "warm"
    variant = "" if change.variant == _CODE else change.variant
    return ", ".join(part for part in (variant, size, heat) if part)


def _time_text(duration_ns: float | None) -> str:
    return units.NOT_APPLICABLE if duration_ns is None else units.format_ns(duration_ns)


def times_of(lines: Sequence[Change]) -> Mapping[Change, tuple[str, str]]:
    """Return before and after of each line: the wall time as in the headline."""
    # Stages are in the unit of the wall time of that side and point, and add up to it.
    found: dict[Change, tuple[str, str]] = {}
    for _, group in groupby(lines, point_of):
        changes = list(group)
        before = _column(changes, [change.before_ns for change in changes])
        after = _column(changes, [change.after_ns for change in changes])
        found.update(zip(changes, zip(before, after, strict=True), strict=True))
    return found


def _column(changes: Sequence[Change], times_ns: Sequence[float | None]) -> list[str]:
    known = [round(time or 0) for time in times_ns]
    walls = [ns for change, ns in zip(changes, known, strict=True) if not change.stage]
    parts = [ns if change.stage else 0 for change, ns in zip(changes, known, strict=True)]
    unit = units.column_unit(max(walls or known))
    owned = units.column(parts, sum(parts), unit.decimals, unit.unit_ns)
    return [
        f"{text} {unit.name}" if change.stage and time is not None else _time_text(time)
        for change, time, text in zip(changes, times_ns, owned, strict=True)
    ]


def ratio_text(ratio: float | None) -> str:
    """Return a ratio; of one below a tenth two digits are told as well: 0.0041 is not nothing."""
    if ratio is None:
        return units.NOT_SEEN
    if ratio >= _LARGE_RATIO:
        return units.format_ratio(ratio)
    is_small = 0 < ratio < _SMALL_RATIO
    return f"{ratio:.{min(_MOST_DECIMALS, 1 - floor(log10(ratio))) if is_small else 2}f}×"  # noqa: RUF001


def interval_text(change: Change) -> str:
    """Return the interval of a ratio; nothing without one."""
    if change.low is None or change.high is None:
        return ""
    return f"[{ratio_text(change.low)} to {ratio_text(change.high)}]"


def short_reason(change: Change) -> str:
    """Return why it is unknown, where it fits into a cell; the others stand below the table."""
    return change.reason if len(change.reason) <= _SHORT_REASON else ""


def reasons_of(comparison: Comparison) -> Iterator[str]:
    """Yield reasons that fit into no cell, each once; of cold runs, one a side, if all are cold."""
    told, shown = headline(comparison), lines_of(comparison)
    points, are_cold = {point_of(change) for change in shown}, {change.cold for change in shown}
    doubted = [
        c for c in shown if c.verdict == "cannot tell" and not (c.cold and len(are_cold) > 1)
    ]
    lines: dict[str, list[str]] = {}
    for change in doubted:
        if not short_reason(change) and change.reason not in told:
            point = f", {point_text(change)}" if len(points) > 1 else ""
            lines.setdefault(change.reason, []).append(f"{change.title}{point}")
    for why, names in lines.items():
        which = f"{'; '.join(names)}: " if len(names) < len(doubted) else ""
        yield f"{which}cannot tell, {why}"


def notes_of(comparison: Comparison, shown: Sequence[Change]) -> Iterator[str]:
    """Yield what has to be known of the two, how much is left out, and how it was made."""
    if hidden := sum(change not in shown for change in comparison.changes):
        more = f"more line{'' if hidden == 1 else 's'} (cold runs, small stages)"
        yield f"{units.format_count(hidden)} {more} in the document"
    yield from comparison.notes
    if any(change.low is not None for change in comparison.changes):
        noise = 0 if comparison.is_paired else comparison.noise_share
        share = f"runs of one side lie apart by up to {ratio_text(1 + noise)}" if noise else ""
        yield "; ".join(filter(None, (comparison.method.rstrip("."), share)))
