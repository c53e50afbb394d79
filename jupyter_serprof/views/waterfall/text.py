"""The waterfall of a trace in characters, with bars at their true time, and in Markdown."""

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
from jupyter_serprof.views.kit.cells import clip, plain
from jupyter_serprof.views.kit.table import (
    Column,
    fewer,
    fitted,
    markdown_table,
    narrower,
    table_lines,
    table_width,
)
from jupyter_serprof.views.waterfall.table import quantities, table_of, waterfall_of, work_and_wait

if TYPE_CHECKING:
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
    return [
        Column("stage", (*titles, "Wall time"), leans_right=False),
        Column("where", (*(line.lane for line in lines), ""), leans_right=False),
        *(Column(q.head, (*map(q.cell, lines), q.total)) for q in quantities(table)),
    ]


def _title(line: Line, columns: int) -> str:
    count = f" {line.count}" if line.count else ""
    title = _INDENT * line.depth + line.title
    return clip(title, max(columns - len(count), columns // 2)) + count


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


def stages_table(trace: Trace) -> str:
    """Return all lines of a trace in Markdown, with the same columns; none is folded away.

    A part stands with a dash below its stage, whose time holds it; a computation is in bold.
    """
    table = table_of(trace, None)
    columns = quantities(table)
    guess = " (predicted, not measured)" if trace.prediction else ""
    lines = (
        (_marked(line), plain(line.lane), *(plain(one.cell(line)) for one in columns))
        for line in table.lines
    )
    total = (f"Wall time{guess}", "", *(one.total for one in columns))
    return markdown_table(("stage", "where", *(one.head for one in columns)), (*lines, total), 2)


def _marked(line: Line) -> str:
    title = plain(f"{line.title} {line.count}".rstrip())
    return {"group": f"**{title}**", "part": f"- {title}"}.get(line.kind, title)
