"""The tables of a trace in characters: facts that have no place on the time axis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import (
    NOT_SEEN,
    format_bytes,
    format_count,
    format_ns,
    format_share,
)
from jupyter_serprof.views.cells import Column, clean, clip, side_by_side, table_width, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jupyter_serprof.model import Table, TableColumn, Trace
    from jupyter_serprof.model.trace import Scalar

MOST_ROWS = 12
#: Dask's names end in a hash, of which the beginning tells them apart.
_HASH = re.compile(r"\b([0-9a-f]{6})[0-9a-f]{10,}\b")
#: How wide texts may be: the first that lets all columns fit.
_WIDTHS = (36, 28, 20, 14)
#: What goes first when the lines get narrow; then what stands on the right.
_SPARE = ("key", "compute_p25", "compute_p75", "compute_min", "disk_total")
#: By what the largest rows are chosen where not all are shown; other tables show the first ones.
_RANKS = {"dask.tasks": "compute_total", "dask.computations": "duration"}
_FORMATS: Mapping[str, Callable[[int | float], str]] = {
    "ns": format_ns,
    "bytes": format_bytes,
    "ratio": format_share,
    "count": lambda value: format_count(round(value)),
}


def table_blocks(trace: Trace, columns: int) -> Iterator[list[str]]:
    """Yield the lines of each table, at most so many columns wide, under its title."""
    for table in trace.tables:
        if table.rows and table.columns:
            yield _block(table, columns)


def table_sentence(trace: Trace) -> str:
    """Say which tables there are, for a picture that has no room for them."""
    named = [
        f"{clean(table.title)} ({_rows(len(table.rows))})" for table in trace.tables if table.rows
    ]
    return f"in the text and the document: {', '.join(named)}" if named else ""


def _rows(count: int) -> str:
    return f"{format_count(count)} row{'' if count == 1 else 's'}"


def _block(table: Table, columns: int) -> list[str]:
    shown = largest_rows(table, MOST_ROWS)
    chosen = _fitting(table, [table.rows[at] for at in shown], columns)
    hidden = len(table.rows) - len(shown)
    more = (
        [f"{format_count(hidden)} more row{'' if hidden == 1 else 's'} in the document"]
        if hidden
        else []
    )
    note = [table.note] if table.note else []
    said = [line for text in (*more, *note) for line in wrap(clean(text), columns)]
    title = clip(clean(table.title), columns)
    return [title, *(clip(line, columns) for line in side_by_side(chosen)), *said]


def largest_rows(table: Table, most: int) -> list[int]:
    """Return where the rows are that say most, at most so many, in the order of the table."""
    keys = [column.key for column in table.columns]
    rank = _RANKS.get(table.key)
    order = range(len(table.rows))
    if rank not in keys:
        return list(order)[:most]
    at = keys.index(rank)
    return sorted(sorted(order, key=lambda i: -_number(table.rows[i][at]))[:most])


def _number(value: Scalar) -> float:
    return value if isinstance(value, int | float) else 0


def _fitting(table: Table, rows: list[tuple[Scalar, ...]], columns: int) -> list[Column]:
    """Return as many columns as fit: the spare ones go, then texts are cut, then more columns."""
    kept = [at for at in range(len(table.columns)) if _says_something(table, rows, at)]
    spare = [at for key in _SPARE for at in kept[1:] if table.columns[at].key == key]
    fewer = [[at for at in kept if at not in spare[:count]] for count in range(len(spare) + 1)]
    cut = [fewer[-1][:count] for count in range(len(fewer[-1]), 0, -1)]
    attempts = [
        *((width, some) for some in fewer for width in _WIDTHS[:2]),
        *((width, cut[0]) for width in _WIDTHS[2:]),
        *((_WIDTHS[-1], some) for some in cut),
    ]
    for width, some in attempts:
        chosen = [_column(table.columns[at], [row[at] for row in rows], width) for at in some]
        if table_width(chosen) <= columns:
            break
    return chosen


def _says_something(table: Table, rows: list[tuple[Scalar, ...]], at: int) -> bool:
    """Leave out what is nothing in every row; the first column names the rows."""
    cells = [row[at] for row in rows]
    unit = table.columns[at].unit
    return at == 0 or any(cell is not None and (cell or unit == "ratio") for cell in cells)


def _column(entry: TableColumn, cells: list[Scalar], width: int) -> Column:
    is_text = entry.unit not in _FORMATS
    texts = tuple(clip(_cell(cell, entry.unit), width) for cell in cells)
    return Column(clip(clean(entry.title), width), texts, leans_right=not is_text)


def _cell(value: Scalar, unit: str) -> str:
    """Return a value as people read it; a text that is empty does not apply."""
    if value is None:
        return NOT_SEEN
    if isinstance(value, int | float) and not isinstance(value, bool) and unit in _FORMATS:
        return _FORMATS[unit](value)
    return _HASH.sub(r"\1…", clean(str(value)))
