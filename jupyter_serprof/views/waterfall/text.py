"""The waterfall of a trace in characters: every stage with its bar at its true time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jupyter_serprof.views.kit.bars import (
    rest_bar,
    row_shares,
    unaccounted_shares,
    wait_bar,
    work_bar,
)
from jupyter_serprof.views.kit.cells import clip
from jupyter_serprof.views.kit.table import (
    Column,
    fewer,
    fitted,
    narrower,
    table_lines,
    table_width,
)
from jupyter_serprof.views.waterfall.table import has_faults, table_of, waterfall_of, work_and_wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_serprof.model import Trace
    from jupyter_serprof.views.waterfall.table import Line, StageTable

_WIDEST_BAR = 30
_NARROWEST_BAR = 10
_NAMES = (32, 28, 20)
_SHORTEST_NAME = 12
_EDGES = 4
_INDENT = "  "
#: What goes first when the lines get narrow, by its head.
_SPARE = ("faults", "of memcpy", "rate", "bytes", "where")


def trace_lines(trace: Trace, columns: int, *, has_bars: bool) -> list[str]:
    """Return the table of a trace, in lines that are at most so many columns wide."""
    table = table_of(trace)
    chosen = _fitting(table, columns - (_NARROWEST_BAR + _EDGES if has_bars else 0))
    room = min(_WIDEST_BAR, columns - table_width(chosen) - _EDGES)
    if has_bars and room >= _NARROWEST_BAR:
        at = 2 if chosen[1].head == "where" else 1
        chosen.insert(at, _bars(trace, table, room))
    return table_lines(chosen, columns)


def _fitting(table: StageTable, room: int) -> list[Column]:
    """Return as many columns as fit: the spare ones go before names are cut to a few letters."""
    shortest = fewer(_columns(table, _SHORTEST_NAME), _SPARE)
    return fitted((*narrower(partial(_columns, table), _NAMES, _SPARE), shortest), room)


def _columns(table: StageTable, names: int) -> list[Column]:
    lines = table.lines
    titles = [_title(line, names) for line in lines]
    total = [table.wall_text, table.wall_share_text]
    return [
        Column("stage", (*titles, "Wall time"), leans_right=False),
        Column("where", (*(line.lane for line in lines), ""), leans_right=False),
        Column(f"self {table.unit}", (*(line.self_text for line in lines), total[0])),
        Column("%", (*(line.share_text for line in lines), total[1])),
        *_spare_columns(lines),
        *([_faults(lines)] if has_faults(table) else []),
    ]


def _title(line: Line, columns: int) -> str:
    count = f" {line.count}" if line.count else ""
    title = _INDENT * line.depth + line.title
    return clip(title, max(columns - len(count), columns // 2)) + count


def _spare_columns(lines: Sequence[Line]) -> list[Column]:
    """Return the columns about bytes; a rate that applies to no row has no column."""
    sizes = [line.size_text for line in lines]
    rates = [line.rate_text for line in lines]
    memcpy = [line.memcpy_text for line in lines]
    found = [Column("bytes", (*sizes, ""))]
    if any(rate != lines[-1].rate_text for rate in rates):
        found.append(Column("rate", (*rates, "")))
    if any(share.endswith("%") for share in memcpy):
        found.append(Column("of memcpy", (*memcpy, "")))
    return found


def _faults(lines: Sequence[Line]) -> Column:
    """Return the column of new pages: times 4 kB, what was copied into memory not used before."""
    return Column("faults", (*(line.faults_text for line in lines), ""))


def _bars(trace: Trace, table: StageTable, room: int) -> Column:
    wall_text = f"{table.wall_text} {table.unit}"
    head = f"0{wall_text:>{room - 1}}" if len(wall_text) < room else wall_text[:room]
    bars = [_bar(trace, line, room) for line in table.lines]
    return Column(f" {head} ", (*(f"│{bar}│" for bar in bars), ""), leans_right=False)


def _bar(trace: Trace, line: Line, room: int) -> str:
    if line.row is None:
        return rest_bar(unaccounted_shares(waterfall_of(trace), trace.wall_ns, room))
    work, wait = work_and_wait(line)
    worked = work_bar(row_shares(work, trace.wall_ns, room)) if work else " " * room
    waited = wait_bar(row_shares(wait, trace.wall_ns, room)) if wait else " " * room
    return "".join(a if a != " " else b for a, b in zip(worked, waited, strict=True))
