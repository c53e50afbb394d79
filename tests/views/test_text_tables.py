"""Tables below a waterfall of characters: compact, readable, never wider than asked."""

from dataclasses import replace

import pytest
from dask_golden import ARRAY, graph_table, tasks_table
from dask_samples import computation
from test_text import make_put_get

from jupyter_serprof.model import Table, TableColumn
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.views.kit.cells import width as columns_of
from jupyter_serprof.views.kit.facts import MOST_ROWS, table_blocks, table_sentence
from jupyter_serprof.views.text import text

TABLES = computation().tables


def block(table: Table, columns: int = 100) -> list[str]:
    """Return the lines of one table."""
    (lines,) = table_blocks(replace(make_put_get(), tables=(table,)), columns)
    return lines


def heads_and_rows(lines: list[str], first: str) -> tuple[list[str], list[str]]:
    """Return the words of the heads, and what stands from the first row on."""
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == [first])
    return " ".join(lines[1:at]).split(), lines[at:]


def one_cell(value: Scalar, unit: str) -> str:
    """Return how a value is printed."""
    columns = (TableColumn("name", "name"), TableColumn("it", "it", unit))
    return (
        block(Table("k", "T", columns, (("row", value), ("other", 7))))[2].split("row")[1].strip()
    )


def test_tables_stand_below_everything_else() -> None:
    """First what took the time and what to do, then the facts."""
    lines = text(computation()).split("\n")

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
        ("f-56e6adc5-048a-450b-9c1e-0123456789ab", "text", "f-56e6ad…"),
        ("my-own-cafe-key", "text", "my-own-cafe-key"),
    ],
)
def test_values_are_printed_as_people_read_them(value: Scalar, unit: str, said: str) -> None:
    """Units and digits of the rest of the output; unknown is not zero."""
    assert one_cell(value, unit) == said


def test_of_many_tasks_the_longest_are_shown_in_their_order() -> None:
    """The document has all of them."""
    made = [(f"f{at}", 1, 1_000_000 * (at + 1), 8) for at in range(15)]

    lines = block(tasks_table(*made))

    _, rows = heads_and_rows(lines, "f3")
    names = [line.split()[0] for line in rows[:MOST_ROWS]]
    assert names == [f"f{at}" for at in range(3, 15)]
    assert lines[-1] == "3 more rows in the document"


def test_of_many_objects_the_first_are_shown() -> None:
    """They come with the largest first."""
    rows = [(f"f{at}", ARRAY, 10**7 - at, 1) for at in range(13)]

    lines = block(graph_table(*rows))

    _, shown = heads_and_rows(lines, "f0")
    assert shown[0].startswith("f0 ")
    assert lines[-1] == "1 more row in the document"


def test_columns_that_say_nothing_are_left_out() -> None:
    """No task failed, nothing was on disk: there is no column for it."""
    heads, _ = heads_and_rows(block(tasks_table(("sum", 4, 1_000_000, 8))), "sum")

    assert "errors" not in heads
    assert "disk" not in heads
    assert "result" in heads


@pytest.mark.parametrize("columns", [140, 100, 72, 60, 40])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key)
def test_a_table_is_never_wider_than_asked(table: Table, columns: int) -> None:
    """Spare columns go, then texts are cut, then columns on the right; the names stay."""
    lines = block(table, columns)

    assert max(map(columns_of, lines)) <= columns
    assert any(line.startswith(table.columns[0].title) for line in lines[1:3])


def test_a_narrow_table_of_tasks_keeps_the_median() -> None:
    """Of the quantiles the outer ones go first."""
    heads, _ = heads_and_rows(block(TABLES[0], 60), "random_sample-0")
    assert "p50" in heads
    assert "p25" not in heads


def test_a_long_head_over_short_cells_stands_on_two_lines() -> None:
    """The words of a head do not take the room of a column."""
    columns = (TableColumn("a", "Layer"), TableColumn("b", "Bytes to workers", "bytes"))

    lines = block(Table("k", "T", columns, (("row", 96_300),)))

    assert lines[1:] == ["       Bytes to", "Layer   workers", "row     96.3 kB"]


def test_rows_that_hold_next_to_nothing_are_left_out_beside_others() -> None:
    """Of a graph that one object fills, forty layers of 300 bytes are not worth a line each."""
    shares = [0.9, 0.09, 0.001, 0.0009, 0.0]
    full = graph_table(*((f"f{at}", "", 10**6, 1) for at in range(5)))
    rows = tuple((*row[:4], share, *row[5:]) for row, share in zip(full.rows, shares, strict=True))

    lines = block(replace(full, rows=rows))

    _, shown = heads_and_rows(lines, "f0")
    assert [line.split()[0] for line in shown] == ["f0", "f1", "f2", "2"]
    _, few = heads_and_rows(block(replace(full, rows=rows[2:])), "f2")
    assert [line.split()[0] for line in few] == ["f2", "f3", "f4"]


def test_of_tables_of_one_kind_the_two_that_hold_most_are_shown() -> None:
    """A graph for each computation: the small ones are in the document."""
    graphs = [
        replace(graph_table((f"f{at}", "", size, 1)), title=f"Graph {at}")
        for at, size in enumerate((5, 9_000, 7, 8_000, 6))
    ]
    trace = replace(make_put_get(), tables=tuple(graphs))

    blocks = list(table_blocks(trace, 100))

    titles = [lines[0] for lines in blocks]
    assert titles == ["Graph 1", "Graph 3", "3 more tables like this in the document"]
    assert table_sentence(trace).endswith(": Graph 0 (1 row) and 4 more like it")


def test_a_note_is_told_below_its_table() -> None:
    """Where a number comes from, or what is not in it."""
    noted = replace(TABLES[1], note="durations overlap where computations do")
    assert block(noted)[-1] == "durations overlap where computations do"


def test_an_empty_table_is_not_mentioned() -> None:
    """A title alone says nothing."""
    trace = replace(make_put_get(), tables=(tasks_table(),))

    assert list(table_blocks(trace, 100)) == []
    assert not table_sentence(trace)
    assert text(trace) == text(make_put_get())
