"""Tables below a waterfall of characters: compact, readable, never wider than asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from dask_golden import ARRAY, graph_table, tasks_table
from dask_samples import computation
from test_text import make_put_get

from jupyter_serprof.model import Table, TableColumn
from jupyter_serprof.views.cells import width as columns_of
from jupyter_serprof.views.text import text
from jupyter_serprof.views.text_tables import MOST_ROWS, table_blocks, table_sentence

if TYPE_CHECKING:
    from jupyter_serprof.model.trace import Scalar

TABLES = computation().tables


def block(table: Table, columns: int = 100) -> list[str]:
    """Return the lines of one table."""
    (lines,) = table_blocks(replace(make_put_get(), tables=(table,)), columns)
    return lines


def one_cell(value: Scalar, unit: str) -> str:
    """Return how a value is printed."""
    columns = (TableColumn("name", "name"), TableColumn("it", "it", unit))
    return (
        block(Table("k", "T", columns, (("row", value), ("other", 7))))[2].split("row")[1].strip()
    )


def test_tables_stand_below_everything_else() -> None:
    """First what took the time and what to do, then the facts."""
    # when
    lines = text(computation()).split("\n")

    # then
    places = [lines.index(entry.title) for entry in TABLES]
    assert places == sorted(places)
    assert places[0] > next(at for at, line in enumerate(lines) if line.startswith("try"))


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (1_840_000_000, "ns", "1.84 s"),
        (32_000_000, "bytes", "32.0 MB"),
        (59_895, "count", "59,895"),
        (0.905, "ratio", "90.5 %"),
        (0, "ns", "0 ns"),
        (None, "ns", "n/a"),
        ("text", "ns", "text"),
        (True, "count", "True"),
        ("a\nb", "text", "a b"),
        ("mysum-0a1b2c3d4e5f60718293a4b5c6d7e8f9", "text", "mysum-0a1b2c…"),
        ("('sum-0a1b2c3d4e5f60718293a4b5c6d7e8f9', 0, 1)", "text", "('sum-0a1b2c…', 0, 1)"),
    ],
)
def test_values_are_printed_as_people_read_them(value: Scalar, unit: str, said: str) -> None:
    """Units and digits of the rest of the output; unknown is not zero."""
    assert one_cell(value, unit) == said


def test_of_many_tasks_the_longest_are_shown_in_their_order() -> None:
    """The document has all of them."""
    # given
    rows = [(f"f{at}", 1, 1_000_000 * (at + 1), 8) for at in range(15)]

    # when
    lines = block(tasks_table(*rows))

    # then
    names = [line.split()[0] for line in lines[2 : 2 + MOST_ROWS]]
    assert names == [f"f{at}" for at in range(3, 15)]
    assert lines[-1] == "3 more rows in the document"


def test_of_many_objects_the_first_are_shown() -> None:
    """They come with the largest first."""
    # given
    rows = [(f"f{at}", ARRAY, 10**7 - at, 1) for at in range(13)]

    # when
    lines = block(graph_table(*rows))

    # then
    assert lines[2].startswith("f0 ")
    assert lines[-1] == "1 more row in the document"


def test_columns_that_say_nothing_are_left_out() -> None:
    """No task failed, nothing was on disk: there is no column for it."""
    # when
    head = block(tasks_table(("sum", 4, 1_000_000, 8)))[1]

    # then
    assert "errors" not in head
    assert "disk" not in head
    assert "result bytes" in head


@pytest.mark.parametrize("columns", [140, 100, 72, 60, 40])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key)
def test_a_table_is_never_wider_than_asked(table: Table, columns: int) -> None:
    """Spare columns go, then texts are cut, then columns on the right; the names stay."""
    # when
    lines = block(table, columns)

    # then
    assert max(map(columns_of, lines)) <= columns
    assert lines[1].startswith(table.columns[0].title)


def test_a_narrow_table_of_tasks_keeps_the_median() -> None:
    """Of the quantiles the outer ones go first."""
    head = block(TABLES[0], 72)[1]
    assert "compute p50" in head
    assert "compute p25" not in head


def test_a_note_is_told_below_its_table() -> None:
    """Where a number comes from, or what is not in it."""
    noted = replace(TABLES[1], note="durations overlap where computations do")
    assert block(noted)[-1] == "durations overlap where computations do"


def test_an_empty_table_is_not_mentioned() -> None:
    """A title alone says nothing."""
    # given
    trace = replace(make_put_get(), tables=(tasks_table(),))

    # then
    assert list(table_blocks(trace, 100)) == []
    assert not table_sentence(trace)
    assert text(trace) == text(make_put_get())
