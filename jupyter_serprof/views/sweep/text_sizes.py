"""A sweep over sizes in characters: a log-log chart, medians by size, growth and crossovers."""

from __future__ import annotations

import math
from string import ascii_lowercase
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import NOT_APPLICABLE, clean, format_bytes, format_ns
from jupyter_serprof.views.kit.cells import Column, clip, hang, side_by_side, table_width, wrap
from jupyter_serprof.views.sweep.runs import state_text
from jupyter_serprof.views.sweep.series import series_of
from jupyter_serprof.views.sweep.words import (
    chunk_line,
    crossover_lines,
    growth_lines,
    plain_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_serprof.model import Sweep
    from jupyter_serprof.views.sweep.series import Series

_ROWS = 14
_WIDEST = 76
_NARROWEST = 24
_LABEL = 8
_NAME, _LONG_NAME = 14, 20
_MORE_THAN_ONE = "*"
_MARKS = ascii_lowercase
_STICKY = "\u00a0"
_HELD = " †"


def size_lines(sweep: Sweep, columns: int, *, has_bars: bool) -> list[str]:
    """Return a sweep over sizes, in lines that are at most so many columns wide."""
    warm, cold = series_of(sweep, cold=False), series_of(sweep, cold=True)
    said = (line for cold in (False, True) for line in crossover_lines(sweep, cold=cold))
    crossings = [line for sentence in said for line in hang("", sentence, columns, 2)]
    return _joined(
        [
            _chart(warm or cold, columns, is_cold=not warm) if has_bars else [],
            *_tables(sweep, warm, columns, is_cold=False),
            *_tables(sweep, cold, columns, is_cold=True),
            [line for said in [chunk_line(sweep)] if said for line in wrap(said, columns)],
            _titled(_growth_title(sweep, _kind(not warm)), _growth(sweep, warm or cold, columns)),
            _titled("crossovers", crossings),
            list(_missing(sweep, columns)),
        ]
    )


def _titled(title: str, given: Iterable[str]) -> list[str]:
    lines = list(given)
    return [title, *lines] if lines else []


def _growth_title(sweep: Sweep, kind: str) -> str:
    return "notes" if sweep.kind == "chunks" else f"growth, {kind}"


def _joined(blocks: Sequence[list[str]]) -> list[str]:
    """Return the blocks one below the other, an empty line between."""
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if lines and block else block
    return lines


def _kind(is_cold: bool) -> str:
    return "cold" if is_cold else "warm"


def _chart(found: Sequence[Series], columns: int, *, is_cold: bool) -> list[str]:
    """Return the medians as letters over logarithmic axes, and what the letters mean."""
    wide = min(_WIDEST, columns - _LABEL - 3)
    if wide < _NARROWEST or len(found) > len(_MARKS):
        return []
    times = _decades([p.median_ns for each in found for p in each.points])
    sizes = [p.size_bytes for each in found for p in each.points]
    low, high = math.log10(min(sizes)), math.log10(max(sizes))
    grid = [[" "] * wide for _ in range(_ROWS)]
    for mark, each in zip(_MARKS, found, strict=False):
        for point in each.points:
            x = _place(math.log10(point.size_bytes), low, high, wide)
            y = _ROWS - 1 - _place(math.log10(point.median_ns), *times, _ROWS)
            grid[y][x] = mark if grid[y][x] in (" ", mark) else _MORE_THAN_ONE
    named = (f"{m} {clean(each.variant.title)}" for m, each in zip(_MARKS, found, strict=False))
    is_shared = any(_MORE_THAN_ONE in row for row in grid)
    entries = [*named, *([f"{_MORE_THAN_ONE} several"] if is_shared else [])]
    # A letter stays beside its name.
    legend = wrap("  ".join(entry.replace(" ", _STICKY) for entry in entries), columns)
    foot = _foot(min(sizes), max(sizes), wide)
    head = f"median time over size, both logarithmic, {_kind(is_cold)}"
    rows = [f"{_time_label(times, at)} |{''.join(row)}".rstrip() for at, row in enumerate(grid)]
    axis = f"{' ' * _LABEL} +{'-' * wide}"
    said = (line.replace(_STICKY, " ").strip() for line in legend)
    return [*wrap(head, columns), *rows, axis, foot, *said]


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return powers of ten around all values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _place(value: float, low: float, high: float, count: int) -> int:
    return round((value - low) / (high - low) * (count - 1)) if high > low else 0


def _time_label(times: tuple[float, float], row: int) -> str:
    """Return the power of ten whose place is this row; blank between."""
    low, high = times
    powers = range(round(low), round(high) + 1)
    here = [p for p in powers if _ROWS - 1 - _place(p, low, high, _ROWS) == row]
    text = format_ns(10.0 ** here[0]).replace(".00", "").replace(".0", "") if here else ""
    return f"{clip(text, _LABEL):>{_LABEL}}"


def _foot(low: int, high: int, wide: int) -> str:
    left, right = format_bytes(low), format_bytes(high)
    return f"{' ' * (_LABEL + 2)}{left}{right:>{max(1, wide - len(left))}}".rstrip()


def _tables(
    sweep: Sweep, found: Sequence[Series], columns: int, *, is_cold: bool
) -> Iterator[list[str]]:
    """Yield tables of median times by size, with as many variants beside each other as fit."""
    left = list(found)
    is_first = True
    while left:
        chosen = [*_parameters(sweep, found), _sizes(sweep, found)]
        fixed = len(chosen)
        while left:
            column = _column(left[0], found)
            if len(chosen) > fixed and table_width([*chosen, column]) > columns:
                break
            chosen.append(column)
            left.pop(0)
        title = "cold, the first run at each size" if is_cold else "warm, median"
        head = f"{title}{_counts(found)}" if is_first else f"{title}, continued"
        is_first = False
        foot = [f"{_HELD.strip()} held out: no line uses it"] if _held(found) and not left else []
        yield [clip(line, columns) for line in (head, *side_by_side(chosen), *foot)]


def _counts(found: Sequence[Series]) -> str:
    """Say how many runs a median is of, where it is more than one."""
    counts = [point.count for each in found for point in each.points]
    low, high = min(counts), max(counts)
    if high == 1:
        return ""
    return f" of {high} runs" if low == high else f" of {low} to {high} runs"


def _sizes_of(found: Sequence[Series]) -> list[int]:
    return sorted({point.size_bytes for each in found for point in each.points})


def _sizes(sweep: Sweep, found: Sequence[Series]) -> Column:
    held = _held(found)
    other = " " * len(_HELD) if held else ""
    cells = [f"{format_bytes(s)}{_HELD if s in held else other}" for s in _sizes_of(found)]
    return Column("chunk size" if sweep.kind == "chunks" else "size", tuple(cells))


def _parameters(sweep: Sweep, found: Sequence[Series]) -> list[Column]:
    """Return the column of the numbers that were asked for, where each size has one."""
    asked: dict[int, set[float]] = {}
    for point in sweep.points:
        if point.size_bytes and point.parameter is not None:
            asked.setdefault(point.size_bytes, set()).add(point.parameter)
    sizes = _sizes_of(found)
    if not sweep.parameter or any(len(asked.get(size, ())) != 1 for size in sizes):
        return []
    cells = tuple(plain_number(next(iter(asked[size]))) for size in sizes)
    return [Column(clip(clean(sweep.parameter), _NAME), cells)]


def _held(found: Sequence[Series]) -> set[int]:
    return {each.held.size_bytes for each in found if each.held}


def _column(each: Series, found: Sequence[Series]) -> Column:
    medians = {point.size_bytes: point.median_ns for point in each.points}
    texts = [format_ns(medians[s]) if s in medians else NOT_APPLICABLE for s in _sizes_of(found)]
    return Column(_head(clean(each.variant.title)), tuple(texts))


def _head(title: str) -> str:
    """Return the title on at most two lines."""
    if " " not in title:
        return clip(title, _LONG_NAME)
    first, *rest = wrap(title, _NAME)
    return "\n".join([clip(first, _NAME), *([clip(" ".join(rest), _NAME)] if rest else [])])


def _growth(sweep: Sweep, found: Sequence[Series], columns: int) -> Iterator[str]:
    """Yield what may be said of each line; over chunks there is no growth, only notes."""
    for each in found:
        growth = [] if sweep.kind == "chunks" else growth_lines(each)
        said = [*growth, *(f"note: {note}" for note in each.variant.notes)]
        if said:
            yield from hang("", clean(each.variant.title), columns, 2)
        for sentence in said:
            yield from hang("", sentence, columns, 4)


def _missing(sweep: Sweep, columns: int) -> Iterator[str]:
    """Yield why a variant has no numbers, or not all."""
    measured = {point.variant for point in sweep.points}
    for variant in sweep.variants:
        if variant.state != "ok" or variant.key not in measured:
            yield from hang(clean(variant.title), state_text(variant), columns, indent=_NAME + 2)
