"""A sweep in characters: every variant cold and warm, side by side, and the stages of each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from string import ascii_lowercase

from jupyter_serprof.model import Sweep, units
from jupyter_serprof.views.kit.bars import length_bar, log_axis, log_ticks
from jupyter_serprof.views.kit.lines import clip, hang, wrap
from jupyter_serprof.views.kit.table import (
    Column,
    fewer,
    fitted,
    narrower,
    table_lines,
    table_width,
)
from jupyter_serprof.views.sweep import runs as sweeps
from jupyter_serprof.views.sweep.runs import Bar, Series

_ROWS = 14
_WIDEST = 76
_NARROWEST = 24
_LABEL = 8
_NAME, _LONG_NAME = 14, 20
_MORE_THAN_ONE = "*"
_MARKS = ascii_lowercase
_STICKY = "\u00a0"
_GROUPED = " ‡"


def size_blocks(sweep: Sweep, columns: int, *, has_bars: bool) -> list[list[str]]:
    """Return a sweep over sizes, in lines of at most ``columns`` characters: the picture first."""
    warm, cold = sweeps.series_of(sweep, cold=False), sweeps.series_of(sweep, cold=True)
    growth = "notes" if sweep.kind == "chunks" else f"growth, {'warm' if warm else 'cold'}"
    crossings = [line for s in sweeps.crossover_lines(sweep) for line in hang("", s, columns, 2)]
    picture = [
        _chart(warm or cold, columns, is_cold=not warm) if has_bars else [],
        *_tables(sweep, warm or cold, columns, is_cold=not warm),
        list(_unmeasured(sweep, columns, _NAME + 2)),
    ]
    return [
        "\n\n".join("\n".join(block) for block in picture if block).split("\n"),
        *(_tables(sweep, cold, columns, is_cold=True) if warm else ()),
        _titled(growth, _growth(sweep, warm or cold, columns)),
        _titled("crossovers", crossings),
    ]


def _titled(title: str, given: Iterable[str]) -> list[str]:
    lines = list(given)
    return [title, *lines] if lines else []


def _chart(found: Sequence[Series], columns: int, *, is_cold: bool) -> list[str]:
    wide = min(_WIDEST, columns - _LABEL - 3)
    if wide < _NARROWEST or len(found) > len(_MARKS):
        return []
    times = log_axis(p.wall_ns for each in found for p in each.points)
    sizes = [p.size_bytes for each in found for p in each.points]
    low, high = math.log10(min(sizes)), math.log10(max(sizes))
    grid = [[" "] * wide for _ in range(_ROWS)]
    for mark, each in zip(_MARKS, found, strict=False):
        for point in each.points:
            x = _place(math.log10(point.size_bytes), low, high, wide)
            y = _ROWS - 1 - _place(math.log10(point.wall_ns), *times, _ROWS)
            grid[y][x] = mark if grid[y][x] in (" ", mark) else _MORE_THAN_ONE
    named = (f"{m} {_legend(each)}" for m, each in zip(_MARKS, found, strict=False))
    is_shared = any(_MORE_THAN_ONE in row for row in grid)
    entries = [*named, *([f"{_MORE_THAN_ONE} several"] if is_shared else [])]
    # A letter stays beside its name.
    legend = wrap("  ".join(entry.replace(" ", _STICKY) for entry in entries), columns)
    left, right = units.format_bytes(min(sizes)), units.format_bytes(max(sizes))
    foot = f"{' ' * (_LABEL + 2)}{left}{right:>{max(1, wide - len(left))}}".rstrip()
    head = f"median time over size, both logarithmic, {'cold' if is_cold else 'warm'}"
    rows = [f"{_time_label(times, at)} |{''.join(row)}".rstrip() for at, row in enumerate(grid)]
    axis = f"{' ' * _LABEL} +{'-' * wide}"
    said = (line.replace(_STICKY, " ").strip() for line in legend)
    return [*wrap(head, columns), *rows, axis, foot, *said]


def _legend(series: Series) -> str:
    variant = series.variant
    return f"{units.clean(variant.title)}{f', {sweeps.NOT_COMPARED}' if variant.unranked else ''}"


def _place(value: float, low: float, high: float, count: int) -> int:
    return round((value - low) / (high - low) * (count - 1)) if high > low else 0


def _time_label(times: tuple[float, float], row: int) -> str:
    """Return the round time whose place is this row; blank between."""
    ticks = log_ticks(times, _ROWS)
    here = [ns for ns in ticks if _ROWS - 1 - _place(math.log10(ns), *times, _ROWS) == row]
    text = units.format_ns(here[0]).replace(".00", "").replace(".0", "") if here else ""
    return f"{clip(text, _LABEL):>{_LABEL}}"


def _tables(
    sweep: Sweep, found: Sequence[Series], columns: int, *, is_cold: bool
) -> Iterator[list[str]]:
    """Yield tables of median times by size, with as many variants beside each other as fit."""
    left = list(found)
    is_first = True
    while left:
        size = "chunk size" if sweep.kind == "chunks" else "size"
        sizes = Column(size, tuple(map(units.format_bytes, _sizes_of(found))))
        chosen = [*_parameters(sweep, found), sizes]
        fixed = len(chosen)
        while left:
            column = _column(left[0], found)
            if len(chosen) > fixed and table_width([*chosen, column]) > columns:
                break
            chosen.append(column)
            left.pop(0)
        which = sweeps.which_text(len(point.walls_ns) for each in found for point in each.points)
        title = "cold, the first run at each size" if is_cold else f"warm, the {which}"
        head = f"{title}{_counts(found)}" if is_first else f"{title}, continued"
        is_first = False
        lines = [head, *table_lines(chosen, columns)]
        # What the signs beside times mean.
        lines += [
            f"{_GROUPED[1:]} {title}, {units.format_bytes(p.size_bytes)}: {p.groups}"
            for each in (() if left else found)
            for title in [units.clean(each.variant.title)]
            for p in each.points
            if p.groups
        ]
        yield [clip(line, columns) for line in lines]


def _counts(found: Sequence[Series]) -> str:
    counts = [len(point.walls_ns) for each in found for point in each.points]
    return f" of {units.counted_in_each(counts, 'run')}" if max(counts) > 1 else ""


def _sizes_of(found: Sequence[Series]) -> list[int]:
    return sorted({point.size_bytes for each in found for point in each.points})


def _parameters(sweep: Sweep, found: Sequence[Series]) -> list[Column]:
    asked: dict[int, set[float]] = {}
    for point in sweep.points:
        if point.size_bytes and point.parameter is not None:
            asked.setdefault(point.size_bytes, set()).add(point.parameter)
    sizes = _sizes_of(found)
    if not sweep.parameter or any(len(asked.get(size, ())) != 1 for size in sizes):
        return []
    cells = tuple(sweeps.plain_number(next(iter(asked[size]))) for size in sizes)
    return [Column(clip(units.clean(sweep.parameter), _NAME), cells)]


def _column(each: Series, found: Sequence[Series]) -> Column:
    other = " " * len(_GROUPED) if any(point.groups for point in each.points) else ""
    texts = {
        point.size_bytes: f"{units.format_ns(point.wall_ns)}{_GROUPED if point.groups else other}"
        for point in each.points
    }
    cells = (texts.get(size, f"{units.NOT_APPLICABLE}{other}") for size in _sizes_of(found))
    return Column(_head(units.clean(each.variant.title)), tuple(cells))


def _head(title: str) -> str:
    if " " not in title:
        return clip(title, _LONG_NAME)
    first, *rest = wrap(title, _NAME)
    return "\n".join([clip(first, _NAME), *([clip(" ".join(rest), _NAME)] if rest else [])])


def _growth(sweep: Sweep, found: Sequence[Series], columns: int) -> Iterator[str]:
    """Yield what may be said of each line; over chunks there is no growth, only notes."""
    for each in found:
        growth = [] if sweep.kind == "chunks" else sweeps.growth_lines(each)
        said = [*growth, *(f"note: {note}" for note in each.variant.notes)]
        if said:
            yield from hang("", units.clean(each.variant.title), columns, 2)
        for sentence in said:
            yield from hang("", sentence, columns, 4)


def _unmeasured(sweep: Sweep, columns: int, indent: int) -> Iterator[str]:
    for title, reason in sweeps.incomplete(sweep).items():
        yield from hang(title, reason, columns, indent)


_WIDEST_BAR = 30
_NARROWEST_BAR, _WIDE_BAR = 6, 26
_NAMES = (24, 20, 14)
#: Up to this many lines the stages of each run are written out below the table.
_WRITTEN_OUT = 12
#: What goes first when the lines get narrow, by its head.
_SPARE = ("vs\nmemcpy", "page\nfaults", "out-of-\nband", "in-band")
_Lines = list[tuple[str, "Bar | None"]]


def sweep_blocks(sweep: Sweep, columns: int, *, has_bars: bool) -> list[list[str]]:
    """Return a sweep in lines of at most ``columns`` characters: the picture, what is behind it."""
    if sweeps.is_over_sizes(sweep):
        return size_blocks(sweep, columns, has_bars=has_bars)
    runs = [run for variant in sweep.variants for run in sweeps.runs_of(sweep, variant)]
    table = _table(sweep, runs, columns, has_bars=has_bars) if runs else []
    written_out = runs if len(runs) <= _WRITTEN_OUT else []
    hidden = [line for run in runs if not written_out for line in _groups(sweep, run, columns)]
    unmeasured = _unmeasured(sweep, columns, _NAMES[1] + 2)
    return [[*table, *unmeasured, *hidden], list(_stage_lines(written_out, columns))]


def _groups(sweep: Sweep, run: Bar, columns: int) -> list[str]:
    if not run.groups:
        return []
    has_size = len({point.size_bytes for point in sweep.points}) > 1
    head = f"{units.clean(run.variant.title)} {sweeps.label_of(run, has_size=has_size)}"
    return hang(head, run.groups, columns, indent=_NAMES[1] + 2)


def _table(sweep: Sweep, runs: Sequence[Bar], columns: int, *, has_bars: bool) -> list[str]:
    chosen = list(_columns(sweep, runs, _NAMES[0]))
    if table_width(chosen) + _WIDE_BAR * has_bars > columns:
        # The spread stands with the stages, too.
        attempts = narrower(partial(_columns, sweep, runs, without=["spread"]), _NAMES, _SPARE)
        chosen = fitted(attempts, columns - (_NARROWEST_BAR + 2 if has_bars else 0))
    room = min(_WIDEST_BAR, columns - table_width(chosen) - 2)
    if has_bars and room >= _NARROWEST_BAR:
        chosen.insert(2, _bars(chosen[1], runs, room))
    return [*table_lines(chosen, columns), *(clip(line, columns) for line in sweeps.legends(runs))]


def _lines(sweep: Sweep, runs: Sequence[Bar], names: int) -> _Lines:
    """Return the name cell and the run of each line; a variant has its title and result first."""
    lines: _Lines = []
    for variant in sweep.variants:
        own = [run for run in runs if run.variant.key == variant.key]
        cells = [clip(units.clean(variant.title), names)]
        if variant.result:
            cells += [f"  {part}" for part in wrap(units.clean(variant.result), names - 2)]
        lines += list(zip_longest(cells, own, fillvalue=None)) if own else []  # type: ignore[arg-type]
    return [(cell or "", run) for cell, run in lines]


def _columns(
    sweep: Sweep, runs: Sequence[Bar], names: int, without: Sequence[str] = ()
) -> list[Column]:
    lines = _lines(sweep, runs, names)
    has_sizes = len({run.point.size_bytes for run in runs}) > 1

    def column(head: str, cell: Callable[[Bar], str]) -> Column:
        return Column(head, tuple(cell(run) if run else "" for _, run in lines))

    numbers = sweeps.quantities(sweep, runs)
    every = [
        Column("", tuple(cell for cell, _ in lines), leans_right=False),
        column("", partial(sweeps.label_of, has_size=has_sizes)),
        *(column("\n".join(one.heads).strip(), one.cell) for one in numbers),
    ]
    return fewer(every, without)


def _bars(labels: Column, runs: Sequence[Bar], room: int) -> Column:
    longest_ns = max(run.wall_ns for run in runs) or 1
    end = units.format_ns(longest_ns)
    head = f"0{end:>{room - 1}}" if len(end) < room else " " * room
    bars = (length_bar(run.wall_ns / longest_ns, room) for run in runs)
    cells = tuple(next(bars) if label else "" for label in labels.cells)
    return Column(head, cells, leans_right=False)


def _stage_lines(runs: Sequence[Bar], columns: int) -> Iterator[str]:
    for variant in dict.fromkeys(run.variant.key for run in runs):
        own = [run for run in runs if run.variant.key == variant]
        yield from wrap(units.clean(own[0].variant.title), columns)
        for run in own:
            yield from hang(f"  {run.label}", _sum_text(run), columns, indent=8)
        for note in own[0].variant.notes:
            yield from hang("  note", note, columns, indent=8)


def _sum_text(run: Bar) -> str:
    parts = sweeps.parts_of(run)
    unit = units.column_unit(run.wall_ns)
    total = unit.text(sum(part.self_ns for part in parts))
    terms = ", ".join(f"{part.title} {part.self_text}" for part in parts)
    spread = sweeps.spread_text(run)
    return f"{spread}{': ' if spread else ''}{terms} = {total} {unit.name}"
