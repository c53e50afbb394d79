"""A comparison in characters: each stage before and after, its ratio and the verdict."""

from __future__ import annotations

from itertools import groupby
from math import floor, log10
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import (
    NOT_SEEN,
    format_bytes,
    format_count,
    format_ns,
    format_ratio,
    format_share,
)
from jupyter_serprof.views.cells import Column, clean, clip, hang, side_by_side, table_width, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_serprof.model import Change, Comparison

_NAMES = (32, 24, 16)
#: What goes first when the lines get narrow.
_SPARE = ("why", "95 % interval", "before", "after")
#: Reasons that are longer stand below the table.
_SHORT_REASON = 26
_SMALL = "below "
#: The only variant of code that was run again has no name worth telling.
_CODE = "code"
#: From here on more decimals say nothing.
_SMALL_RATIO, _LARGE_RATIO = 0.0995, 10
_MOST_DECIMALS = 6


def comparison_lines(comparison: Comparison, columns: int) -> list[str]:
    """Return a comparison in lines that are at most so many columns wide."""
    shown = [change for change in comparison.changes if _is_worth_a_line(change)]
    hidden = len(comparison.changes) - len(shown)
    blocks = [_block(list(group), columns, shown) for _, group in groupby(shown, _point)]
    return [
        *wrap(clean(_headline(comparison)), columns),
        *(line for block in blocks for line in block),
        *(line for note in _notes(comparison, hidden) for line in hang("note", note, columns)),
    ]


def _is_worth_a_line(change: Change) -> bool:
    """Leave out tiny stages, and of a single cold run on each side all but the wall time."""
    is_one_cold_run = change.cold and change.low is None and change.before_runs == 1
    is_tiny = change.reason.startswith(_SMALL) or not (change.before_ns or change.after_ns)
    return not (change.stage and (is_one_cold_run or is_tiny))


def _headline(comparison: Comparison) -> str:
    walls = [change for change in comparison.changes if not change.stage and not change.cold]
    said = f"Compared with {comparison.before or 'before'}"
    if len(walls) == 1:
        return f"{said}: {_told(walls[0])}."
    verdicts = [change.verdict for change in walls]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    return f"{said}: {', '.join(f'{count} {word}' for word, count in counts.items())}."


def _told(change: Change) -> str:
    if change.verdict == "cannot tell":
        why = f" ({change.reason})" if change.reason else ""
        return f"nobody can tell whether it is faster or slower{why}"
    ratio = f"{_ratio(change.ratio)} of the time before by all runs"
    return f"{change.verdict}, {ratio}, {_interval(change)}"


def _point(change: Change) -> tuple[str, int | None, bool | None]:
    return change.variant, change.size_bytes, change.cold


def _block(changes: Sequence[Change], columns: int, all_shown: Sequence[Change]) -> list[str]:
    has_title = len({_point(change) for change in all_shown}) > 1
    title = [clip(clean(_title(changes[0])), columns)] if has_title else []
    table = [clip(line, columns) for line in side_by_side(_fitting(changes, columns))]
    return [*title, *table]


def _title(change: Change) -> str:
    size = format_bytes(change.size_bytes) if change.size_bytes is not None else ""
    heat = "" if change.cold is None else "cold" if change.cold else "warm"
    variant = "" if change.variant == _CODE else change.variant
    return ", ".join(part for part in (variant, size, heat) if part)


def _fitting(changes: Sequence[Change], room: int) -> list[Column]:
    """Return as many columns as fit: names are cut first, then the spare columns go."""
    for count in range(len(_SPARE) + 1):
        for names in _NAMES:
            chosen = [c for c in _columns(changes, names) if c.head not in _SPARE[:count]]
            if table_width(chosen) <= room:
                return chosen
    return chosen


def _columns(changes: Sequence[Change], names: int) -> list[Column]:
    def column(head: str, cells: Iterator[str], *, leans_right: bool = True) -> Column:
        return Column(head, tuple(cells), leans_right=leans_right)

    said = [clean(change.reason) for change in changes]
    reasons = [reason if len(reason) <= _SHORT_REASON else "" for reason in said]
    titles = (clip(clean(change.title), names) for change in changes)
    return [
        column("stage", titles, leans_right=False),
        column("before", (_time(change.before_ns) for change in changes)),
        column("after", (_time(change.after_ns) for change in changes)),
        column("ratio of\nall runs", (_ratio(change.ratio) for change in changes)),
        column("95 % interval", (_interval(change) for change in changes)),
        column("verdict", (clean(change.verdict) for change in changes), leans_right=False),
        *([column("why", iter(reasons), leans_right=False)] if any(reasons) else []),
    ]


def _time(duration_ns: float | None) -> str:
    return "–" if duration_ns is None else format_ns(duration_ns)  # noqa: RUF001  (does not apply)


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return NOT_SEEN
    if ratio >= _LARGE_RATIO:
        return format_ratio(ratio)
    # Of a ratio below a tenth two digits are told as well: 0.0041 is not nothing.
    is_small = 0 < ratio < _SMALL_RATIO
    return f"{ratio:.{min(_MOST_DECIMALS, 1 - floor(log10(ratio))) if is_small else 2}f}×"  # noqa: RUF001


def _interval(change: Change) -> str:
    if change.low is None or change.high is None:
        return ""
    return f"[{_ratio(change.low)} to {_ratio(change.high)}]"


def _notes(comparison: Comparison, hidden: int) -> Iterator[str]:
    reasons = dict.fromkeys(change.reason for change in comparison.changes)
    yield from (f"cannot tell: {reason}" for reason in reasons if len(reason) > _SHORT_REASON)
    if hidden:
        stages = f"more line{'' if hidden == 1 else 's'} (cold runs, small stages)"
        yield f"{format_count(hidden)} {stages} in the document"
    yield from comparison.notes
    if comparison.noise_share is not None:
        share = format_share(comparison.noise_share)
        yield f"noise here, the wall time of now against itself: ±{share}; stages have their own"
    if any(change.low is not None for change in comparison.changes):
        yield comparison.method
