"""Tables in characters, Markdown and CSV: cells, columns, and the widest choice that fits."""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Generic, NamedTuple, TypeVar

from jupyter_serprof.model.units import NOT_APPLICABLE, NOT_SEEN
from jupyter_serprof.views.kit.lines import clip, width

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
_GAP = "  "
Line = Sequence[str]
Of = TypeVar("Of")


class Quantity(NamedTuple, Generic[Of]):
    """A column of numbers: its head on two lines, its cell of a row, its total.

    It says nothing where every cell is one of ``silent``; one that is ``is_bold`` always does.
    """

    heads: tuple[str, str]
    cell: Callable[[Of], str]
    total: str = ""
    silent: Collection[str] = ("", NOT_APPLICABLE, NOT_SEEN, "0")
    is_bold: bool = False

    @property
    def head(self) -> str:
        """Return the head on one line: the same words in every form."""
        return " ".join(filter(None, self.heads)).replace("- ", "-")

    def speaks(self, rows: Iterable[Of]) -> bool:
        """Tell whether a row has a cell that says something."""
        return self.is_bold or any(self.cell(row) not in self.silent for row in rows)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head (maybe of two lines), its cells, and the side it leans on."""

    head: str
    cells: tuple[str, ...]
    leans_right: bool = True

    @property
    def width(self) -> int:
        """Columns of the terminal that the widest cell takes."""
        return max(map(width, (*self.head.split("\n"), *self.cells)))


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
    fill = ((cell, " " * (wide - width(cell))) for cell in (*head, *column.cells))
    return [space + cell if column.leans_right else cell + space for cell, space in fill]


def markdown_table(heads: Line, lines: Iterable[Line], texts: int) -> str:
    """Return a table; the first ``texts`` columns lean to the left, the others are numbers."""
    marks = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, marks, *lines))


def csv_table(heads: Line, lines: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV (RFC 4180); unknown is empty."""
    # A text that a spreadsheet would take for a formula gets an apostrophe, which is not shown.
    stream = StringIO()
    csv.writer(stream).writerows(
        [f"'{c}" if isinstance(c, str) and c.startswith(_FORMULAS) else c for c in line]
        for line in (heads, *lines)
    )
    return stream.getvalue()
