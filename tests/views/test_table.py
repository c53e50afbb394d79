"""The table kit: whatever the columns are, they fit, keep their cells, and are padded alike."""

import csv
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.views.kit.lines import clip, plain
from jupyter_serprof.views.kit.lines import width as columns_of
from jupyter_serprof.views.kit.table import (
    Column,
    csv_table,
    fitted,
    markdown_table,
    narrower,
    table_lines,
    table_width,
)

TEXTS = st.text("aZ 0,.–×|é漢", min_size=1, max_size=24).map(str.strip).filter(bool)  # noqa: RUF001
NUMBERS = st.integers(0, 10**9).map("{:,}".format)
NAMES = (16, 8, 4)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Column], tuple[str, ...]]:
    """Return columns, names first and two to five of numbers, and the heads that are spare."""
    count = draw(st.integers(1, 6))
    names = draw(st.lists(TEXTS, min_size=count, max_size=count))
    heads = draw(st.lists(TEXTS, min_size=2, max_size=5, unique=True))
    numbers = st.lists(NUMBERS, min_size=count, max_size=count).map(tuple)
    found = [Column("name", tuple(names), leans_right=False)]
    found += [Column(head.replace(" ", "\n", 1), draw(numbers)) for head in heads]
    spare = [column.head for column in found[2:]]
    return found, tuple(draw(st.permutations(spare)))


@given(tables(), st.integers(10, 120))
def test_a_table_fits_and_loses_spare_columns_one_after_the_other(
    given_table: tuple[list[Column], tuple[str, ...]], room: int
) -> None:
    """The first attempt that fits is taken: names are cut before a number goes, never a number."""
    columns, spare = given_table

    def at(name: int) -> list[Column]:
        cut = tuple(clip(cell, name) for cell in columns[0].cells)
        return [Column("name", cut, leans_right=False), *columns[1:]]

    attempts = list(narrower(at, NAMES, spare))
    chosen = fitted(attempts, room)

    lines = table_lines(chosen, room)
    gone = {column.head for column in columns} - {column.head for column in chosen}
    tried = next(at for at, columns in enumerate(attempts) if columns is chosen)
    assert gone == set(spare[: tried // len(NAMES)])
    assert all(table_width(narrow) > room for narrow in attempts[:tried])
    assert table_width(chosen) <= room or tried == len(attempts) - 1
    assert max(map(columns_of, lines)) <= room
    if table_width(chosen) <= room:
        _holds_every_cell(chosen, lines)


def _holds_every_cell(columns: list[Column], lines: list[str]) -> None:
    """Compare each line with its cells: all there, in their order, each at the edge it leans on."""
    body = lines[-len(columns[0].cells) :]
    for line, cells in zip(body, zip(*(c.cells for c in columns), strict=True), strict=True):
        end = 0
        for column, cell in zip(columns, cells, strict=True):
            start = end
            end += column.width
            shown = _between(line, start, end)
            space = " " * (column.width - columns_of(cell))
            assert shown == (space + cell if column.leans_right else (cell + space)).rstrip()
            end += 2
    heads = lines[: -len(body)]
    assert len(heads) == max(column.head.count("\n") for column in columns) + 1
    assert all(part in " ".join(heads) for column in columns for part in column.head.split("\n"))


def _between(line: str, start: int, end: int) -> str:
    places = [columns_of(line[:at]) for at in range(len(line) + 1)]
    return "".join(c for c, at in zip(line, places, strict=False) if start <= at < end).rstrip()


@given(tables())
def test_markdown_and_csv_hold_each_cell_as_it_is(
    given_table: tuple[list[Column], tuple[str, ...]],
) -> None:
    columns, _ = given_table
    heads = [column.head for column in columns]
    lines = list(zip(*(column.cells for column in columns), strict=True))

    shown = markdown_table([*map(plain, heads)], [[*map(plain, line)] for line in lines], 1)
    stored = list(csv.reader(StringIO(csv_table(heads, lines), newline="")))

    counts = {line.replace("\\|", "").count("|") for line in shown.split("\n")}
    assert counts == {len(columns) + 1}
    assert shown.split("\n")[1] == "| --- |" + " ---: |" * (len(columns) - 1)
    texts = [
        [f"'{c}" if c[:1] in tuple("=+-@\t\r\n") else c for c in row] for row in (heads, *lines)
    ]
    assert stored == texts


def test_no_text_of_csv_is_a_formula_and_numbers_stay_numbers() -> None:
    rows = csv_table(
        ["=HYPERLINK()", "n"],
        [["@SUM(A1)", -1.5], ["+1", None], ["-x", 2], ["a=b", 3], ["\n=1", 4]],
    )

    told = ["'=HYPERLINK(),n", "'@SUM(A1),-1.5", "'+1,", "'-x,2", "a=b,3", "\"'", '=1",4']
    assert rows.split() == told
