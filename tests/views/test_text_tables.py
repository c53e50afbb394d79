"""Tables below a waterfall of characters: compact, readable, never wider than asked."""

from dataclasses import replace

import pytest
from dask_golden import ARRAY, graph_table, tasks_table
from dask_samples import computation
from goldens import check
from test_text import make_put_get

from jupyter_serprof.model import Table, TableColumn
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.views.kit.lines import width as columns_of
from jupyter_serprof.views.kit.remarks import table_blocks, table_sentence
from jupyter_serprof.views.text import text

TABLES = computation().tables


def block(table: Table, columns: int = 100) -> list[str]:
    (lines,) = table_blocks(replace(make_put_get(), tables=(table,)), columns)
    return lines


def one_cell(value: Scalar, unit: str) -> str:
    columns = (TableColumn("name", "name"), TableColumn("it", "it", unit))
    return (
        block(Table("k", "T", columns, (("row", value), ("other", 7))))[2].split("row")[1].strip()
    )


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        *((1_840_000_000, "ns", "1.84 s"), (32_000_000, "bytes", "32.0 MB")),
        *((59_895, "count", "59,895"), (0.905, "ratio", "90.5 %"), (0, "ns", "0 ns")),
        *((None, "ns", "n/a"), ("text", "ns", "text"), (True, "count", "True")),
        ("a\nb", "text", "a b"),
        ("mysum-0a1b2c3d4e5f60718293a4b5c6d7e8f9", "text", "mysum-0a1b2c…"),
        ("('sum-0a1b2c3d4e5f60718293a4b5c6d7e8f9', 0, 1)", "text", "('sum-0a1b2c…', 0, 1)"),
        ("f-56e6adc5-048a-450b-9c1e-0123456789ab", "text", "f-56e6ad…"),
        ("my-own-cafe-key", "text", "my-own-cafe-key"),
    ],
)
def test_values_are_printed_as_people_read_them(value: Scalar, unit: str, said: str) -> None:
    assert one_cell(value, unit) == said


@pytest.mark.parametrize("columns", [140, 100, 72, 60, 40])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key)
def test_a_table_is_never_wider_than_asked(table: Table, columns: int) -> None:
    """Spare columns go, then texts are cut, then columns on the right; the names stay."""
    lines = block(table, columns)

    assert max(map(columns_of, lines)) <= columns
    assert any(line.startswith(table.columns[0].title) for line in lines[1:3])


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


def test_an_empty_table_is_not_mentioned() -> None:
    trace = replace(make_put_get(), tables=(tasks_table(),))

    assert list(table_blocks(trace, 100)) == []
    assert not table_sentence(trace)
    assert text(trace) == text(make_put_get())


def shared(*shares: float) -> Table:
    full = graph_table(*((f"f{at}", "", 10**6, 1) for at in range(len(shares))))
    rows = zip(full.rows, shares, strict=True)
    return replace(full, rows=tuple((*row[:4], share, *row[5:]) for row, share in rows))


HEADS = (TableColumn("a", "Layer"), TableColumn("b", "Bytes to workers", "bytes"))
SAMPLES = {
    "the longest of many tasks, in their order": tasks_table(
        *((f"f{at}", 1, 1_000_000 * (at + 1), 8) for at in range(15))
    ),
    "the first of many objects": graph_table(
        *((f"f{at}", ARRAY, 10**7 - at, 1) for at in range(13))
    ),
    "columns that say nothing": tasks_table(("sum", 4, 1_000_000, 8)),
    "a long head over short cells": Table("k", "T", HEADS, (("row", 96_300),)),
    "next to nothing beside others": shared(0.9, 0.09, 0.001, 0.0009, 0.0),
    "next to nothing alone": shared(0.001, 0.0009, 0.0),
    "a note": replace(TABLES[1], note="durations overlap where computations do"),
}


def test_tables_are_told_in_characters() -> None:
    """Each sample is as a file has it that people read; narrow ones keep the median."""
    told = {name: "\n".join(block(table)) for name, table in SAMPLES.items()}

    check("tables", told | {"60 columns": "\n".join(block(TABLES[0], 60))})
