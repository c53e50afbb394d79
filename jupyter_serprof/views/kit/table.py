"""A table: its columns, the widest choice of them that fits, and its lines for each reader."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from jupyter_serprof.views.kit.cells import clip
from jupyter_serprof.views.kit.cells import width as columns_of

_GAP = "  "
Line = Sequence[str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head (maybe of two lines), its cells, and the side it leans on."""

    head: str
    cells: tuple[str, ...]
    leans_right: bool = True

    @property
    def width(self) -> int:
        """Columns of the terminal that the widest cell takes."""
        return max(map(columns_of, (*self.head.split("\n"), *self.cells)))


def fewer(columns: Iterable[Column], spare: Collection[str]) -> list[Column]:
    """Return the columns without those whose head is spare."""
    return [column for column in columns if column.head not in spare]


def narrower(
    columns_at: Callable[[int], Iterable[Column]], names: Sequence[int], spare: Sequence[str]
) -> Iterator[list[Column]]:
    """Yield a table with names cut to each width, then again without one more spare column."""
    for count in range(len(spare) + 1):
        for name in names:
            yield fewer(columns_at(name), spare[:count])


def fitted(attempts: Iterable[list[Column]], room: int) -> list[Column]:
    """Return the first choice of columns that is not wider than asked; the last if none is."""
    for columns in attempts:
        if table_width(columns) <= room:
            break
    return columns


def table_width(columns: Sequence[Column]) -> int:
    """Return how many columns of a terminal the table takes."""
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def table_lines(columns: Sequence[Column], room: int) -> list[str]:
    """Return heads, then cells, every column as wide as its widest cell; what sticks out is cut."""
    head_lines = max(column.head.count("\n") for column in columns)
    padded = [_padded(column, head_lines) for column in columns]
    return [clip(_GAP.join(cells).rstrip(), room) for cells in zip(*padded, strict=True)]


def _padded(column: Column, head_lines: int) -> list[str]:
    wide = column.width
    head = [""] * (head_lines - column.head.count("\n")) + column.head.split("\n")
    fill = ((cell, " " * (wide - columns_of(cell))) for cell in (*head, *column.cells))
    return [space + cell if column.leans_right else cell + space for cell, space in fill]


def markdown_table(heads: Line, lines: Iterable[Line], texts: int) -> str:
    """Return a table; so many columns at first lean to the left, the others are numbers."""
    marks = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, marks, *lines))


def csv_table(heads: Line, lines: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV (RFC 4180); unknown is empty."""
    stream = StringIO()
    csv.writer(stream).writerows((heads, *lines))
    return stream.getvalue()
