"""A sweep in characters: every variant cold and warm, side by side, and the stages of each run."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from jupyter_serprof.model.times import groups_text
from jupyter_serprof.model.units import clean, column_unit, format_bytes, format_ns
from jupyter_serprof.views.kit.bars import length_bar
from jupyter_serprof.views.kit.cells import Column, clip, hang, side_by_side, table_width, wrap
from jupyter_serprof.views.sweep.runs import (
    TIED_LEGEND,
    fact_bytes_text,
    fastest_text,
    faults_text,
    gain_text,
    has_gains,
    has_ties,
    memcpy_text,
    parts_of,
    runs_of,
    spread_text,
    state_text,
)
from jupyter_serprof.views.sweep.series import is_over_sizes
from jupyter_serprof.views.sweep.text_sizes import size_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_serprof.model import Sweep, Variant
    from jupyter_serprof.views.sweep.runs import Run

_WIDEST_BAR = 30
_NARROWEST_BAR = 6
_NAMES = (24, 20, 14)
#: Up to this many lines the stages of each run are written out below the table.
_WRITTEN_OUT = 12
#: What goes first when the lines get narrow, by its head.
_SPARE = ("times\nmemcpy", "page\nfaults", "out-of-\nband", "in-band")
_Lines = list[tuple[str, "Run | None"]]


def sweep_lines(sweep: Sweep, columns: int, *, has_bars: bool) -> list[str]:
    """Return the table of a sweep, in lines that are at most so many columns wide."""
    if is_over_sizes(sweep):
        return size_lines(sweep, columns, has_bars=has_bars)
    runs = [run for variant in sweep.variants for run in runs_of(sweep, variant)]
    table = _table(sweep, runs, columns, has_bars=has_bars) if runs else []
    missing = [line for variant in sweep.variants for line in _missing(variant, runs, columns)]
    written_out = runs if len(runs) <= _WRITTEN_OUT else []
    stages = ["", *_stage_lines(written_out, columns)] if written_out else []
    hidden = [line for run in runs if not written_out for line in _groups(sweep, run, columns)]
    return [*table, *missing, *hidden, *stages]


def _groups(sweep: Sweep, run: Run, columns: int) -> list[str]:
    """Return both times of runs in two groups, where the stages are not written out."""
    if not groups_text(run.walls_ns):
        return []
    has_size = len({point.size_bytes for point in sweep.points}) > 1
    head = f"{clean(run.variant.title)} {_label(run, has_size=has_size)}"
    return hang(head, groups_text(run.walls_ns), columns, indent=_NAMES[1] + 2)


def _table(sweep: Sweep, runs: Sequence[Run], columns: int, *, has_bars: bool) -> list[str]:
    chosen = _fitting(sweep, runs, columns - (_NARROWEST_BAR + 2 if has_bars else 0))
    room = min(_WIDEST_BAR, columns - table_width(chosen) - 2)
    if has_bars and room >= _NARROWEST_BAR:
        chosen.insert(2, _bars(chosen[1], runs, room))
    legend = [TIED_LEGEND] if has_ties(runs) else []
    return [clip(line, columns) for line in (*side_by_side(chosen), *legend)]


def _fitting(sweep: Sweep, runs: Sequence[Run], room: int) -> list[Column]:
    """Return as many columns as fit: names are cut first, then the spare columns go."""
    dropped: set[str] = set()
    for spare in (None, *_SPARE):
        dropped |= {spare} if spare else set()
        for names in _NAMES:
            chosen = [entry for entry in _columns(sweep, runs, names) if entry.head not in dropped]
            if table_width(chosen) <= room:
                return chosen
    return chosen


def _lines(sweep: Sweep, runs: Sequence[Run], names: int) -> _Lines:
    """Return the name cell and the run of each line; a variant has its title and result first."""
    lines: _Lines = []
    for variant in sweep.variants:
        own = [run for run in runs if run.variant.key == variant.key]
        cells = [clip(clean(variant.title), names)]
        if variant.result:
            cells += [f"  {part}" for part in wrap(clean(variant.result), names - 2)]
        lines += list(zip_longest(cells, own, fillvalue=None)) if own else []  # type: ignore[arg-type]
    return [(cell or "", run) for cell, run in lines]


def _columns(sweep: Sweep, runs: Sequence[Run], names: int) -> list[Column]:
    lines = _lines(sweep, runs, names)
    has_sizes = len({run.point.size_bytes for run in runs}) > 1

    def column(head: str, given: Iterable[str]) -> Column:
        texts = iter(given)
        return Column(head, tuple(next(texts) if run else "" for _, run in lines))

    return [
        Column("", tuple(cell for cell, _ in lines), leans_right=False),
        column("", [_label(run, has_size=has_sizes) for run in runs]),
        column("total", [format_ns(run.point.wall_ns) for run in runs]),
        column("times\nfastest", [fastest_text(run, runs) for run in runs]),
        *([column("gain of\npairs", map(gain_text, runs))] if has_gains(sweep) else []),
        column("in-band", [fact_bytes_text(run, "in_band_bytes") for run in runs]),
        column("out-of-\nband", [fact_bytes_text(run, "out_of_band_bytes") for run in runs]),
        column("page\nfaults", [faults_text(run) for run in runs]),
        *_memcpy_column(column("times\nmemcpy", [memcpy_text(sweep, run) for run in runs])),
    ]


def _memcpy_column(column: Column) -> list[Column]:
    """Keep the column where at least one line has a number."""
    return [column] if any(cell.endswith("×") for cell in column.cells) else []  # noqa: RUF001


def _label(run: Run, *, has_size: bool) -> str:
    return f"{format_bytes(run.point.size_bytes)} {run.label}" if has_size else run.label


def _bars(labels: Column, runs: Sequence[Run], room: int) -> Column:
    """Return a bar for each line that has a label, which is each line of a run."""
    longest_ns = max(run.point.wall_ns for run in runs) or 1
    end = format_ns(longest_ns)
    head = f"0{end:>{room - 1}}" if len(end) < room else " " * room
    bars = (length_bar(run.point.wall_ns / longest_ns, room) for run in runs)
    cells = tuple(next(bars) if label else "" for label in labels.cells)
    return Column(head, cells, leans_right=False)


def _missing(variant: Variant, runs: Sequence[Run], columns: int) -> list[str]:
    """Return why a variant has no line in the table, or why its lines are not complete."""
    has_runs = any(run.variant.key == variant.key for run in runs)
    if variant.state == "ok" and has_runs:
        return []
    return hang(clean(variant.title), state_text(variant), columns, indent=_NAMES[1] + 2)


def _stage_lines(runs: Sequence[Run], columns: int) -> Iterator[str]:
    """Yield for each variant its runs as sums of stages, and the notes about it."""
    for variant in dict.fromkeys(run.variant.key for run in runs):
        own = [run for run in runs if run.variant.key == variant]
        yield from wrap(clean(own[0].variant.title), columns)
        for run in own:
            yield from hang(f"  {run.label}", _sum_text(run), columns, indent=8)
        for note in own[0].variant.notes:
            yield from hang("  note", note, columns, indent=8)


def _sum_text(run: Run) -> str:
    parts = parts_of(run)
    unit = column_unit(run.point.wall_ns)
    total = unit.text(sum(part.self_ns for part in parts))
    terms = ", ".join(f"{part.title} {part.self_text}" for part in parts)
    spread = spread_text(run)
    return f"{spread}{': ' if spread else ''}{terms} = {total} {unit.name}"
