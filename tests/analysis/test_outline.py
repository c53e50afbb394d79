"""The lines of a waterfall with parts and computations: they add up, and are never too many."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from dask_samples import computation, several
from hypothesis import given
from hypothesis import strategies as st
from strategies import traces
from test_text import MS, make_many, make_row, make_trace

from jupyter_serprof.analysis.outline import MOST_PARTED, count_of, outline, outlined
from jupyter_serprof.model import Group, Stage, Trace, Waterfall
from jupyter_serprof.model.units import format_share
from jupyter_serprof.views.waterfall.table import Line, table_of, waterfall_of, work_and_wait

ONE, TWO = computation(), several(2)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def below(lines: Sequence[Line], at: int) -> list[Line]:
    found = []
    for line in lines[at + 1 :]:
        if line.depth <= lines[at].depth:
            break
        if line.depth == lines[at].depth + 1:
            found.append(line)
    return found


def check_sums(trace: Trace, most_rows: int) -> None:
    """Check that the printed times add up on every level, and that each share is its own."""
    table = table_of(trace, most_rows)
    lines = table.lines
    top = [line for line in lines if line.depth == 0]
    wall = number(table.wall_text)
    assert sum(number(line.self_text) for line in top) == pytest.approx(wall, abs=1e-6)
    for line in lines:
        own = line.row.self_ns if line.row else waterfall_of(trace).unaccounted_ns
        assert line.share_text == (format_share(own / trace.wall_ns)[:-2] if own else "0")
    for at, line in enumerate(lines):
        if inside := below(lines, at):
            selves = sum(number(one.self_text) for one in inside)
            assert selves == pytest.approx(number(line.self_text), abs=1e-6)


@pytest.mark.parametrize("count", [1, 2, 9, 75])
@pytest.mark.parametrize("most_rows", [60, 24, 16, 8, 2])
def test_what_is_printed_adds_up_on_every_level(count: int, most_rows: int) -> None:
    """Parts to their stage, stages to their computation, all to the wall time."""
    check_sums(several(count) if count > 1 else ONE, most_rows)


@pytest.mark.parametrize("most_rows", [60, 24, 16, 8, 2])
def test_no_outline_has_more_lines_than_asked(most_rows: int) -> None:
    for trace in (ONE, TWO, several(9), several(75), make_many(70), _beside_a_computation()):
        assert len(table_of(trace, most_rows).lines) <= most_rows + 1


def _beside_a_computation() -> Trace:
    """Return a computation of one stage, and two stages outside of it that are small."""
    rows = (make_row("ray.put", 0, 0), make_row("ray.store", 0, 0), make_row("gc", 0, MS, group=0))
    groups = (Group("one", 0, MS), Group("none", MS, MS))
    return outlined(make_trace(rows, MS, groups=groups))


@given(traces(), st.integers(2, 60))
def test_any_document_keeps_every_row_in_some_line(trace: Trace, most_rows: int) -> None:
    """Nothing is lost by folding, whatever stages are said to be parts of what."""
    entries = outline(trace, most_rows)

    rows = trace.waterfall.rows if trace.waterfall else ()
    assert sorted(index for entry in entries for index in entry.at) == list(range(len(rows)))
    assert count_of(entries) <= most_rows
    assert sum(entry.self_ns for entry in entries) == sum(row.self_ns for row in rows)


def test_a_stage_with_parts_is_a_heading_with_their_sum() -> None:
    """Its own time is one of the parts, so that nobody adds it twice."""
    lines = table_of(ONE).lines

    at = next(i for i, line in enumerate(lines) if line.title == "Graph optimization")
    assert [line.title for line in below(lines, at)] == ["itself", "Make single tasks"]
    assert lines[at].kind == "heading"
    assert number(lines[at].self_text) == pytest.approx(132)


def test_what_is_below_one_percent_is_one_line() -> None:
    """Its time is the sum of them, so that the columns still add up; what executes stays."""
    small = [make_row(key, 0, MS // 2) for key in ("gc", "import", "pickle.loads")]
    several = (make_row(f"ray.{key}", 0, 0, busy_ns=50 * MS) for key in ("execute", "wait", "load"))
    trace = make_trace((make_row("pickle.dumps", 0, 90 * MS), *small, *several), 100 * MS)

    folded = table_of(trace).lines

    assert [line.kind for line in folded] == ["stage", "stage", "more", "rest"]
    assert (folded[2].title, number(folded[2].self_text)) == ("5 more stages", 1.5)


def test_parts_of_which_none_is_worth_a_line_are_not_drawn() -> None:
    """Five lines of 0.0 % explain nothing; the stage has their sum."""
    parts = [make_row(f"dask.schedule{at}", 0, MS // 5) for at in ("", ".order", ".state")]

    table = table_of(make_trace((make_row("pickle.dumps", 0, 90 * MS), *parts), 100 * MS))

    assert [line.title for line in table.lines] == ["Pickle", "Scheduling", "Unaccounted"]


def test_a_single_part_needs_no_heading() -> None:
    trace = make_trace((make_row("dask.dispatch.encode", 0, 9 * MS),), 10 * MS)

    assert [line.title for line in table_of(trace).lines] == ["Pickle tasks", "Unaccounted"]


def test_of_more_than_twenty_lines_headings_stand_for_their_parts_but_the_largest() -> None:
    """Where most of the time went is what one wants to see apart."""
    titles = {line.title for line in table_of(ONE).lines}
    closed = [
        line.title
        for at, line in enumerate(table_of(TWO).lines)
        if line.kind == "heading" and not below(table_of(TWO).lines, at)
    ]

    assert len(table_of(ONE).lines) <= MOST_PARTED
    assert "Wait in send buffer" not in {line.title for line in table_of(TWO).lines}
    assert "Order tasks" in titles
    assert closed.count("Graph optimization") == 1
    assert closed.count("Scheduling") == 2


def test_bytes_that_pass_through_several_parts_count_once() -> None:
    """Frames, write and wire carry the same graph; a heading does not add it up."""
    rows = tuple(
        make_row(f"dask.communicate.{name}", at * MS, MS, size_bytes=size)
        for at, (name, size) in enumerate({"frames": 90_000, "wire": 91_400}.items())
    )

    heading = table_of(make_trace(rows, 2 * MS)).lines[0]

    assert (heading.title, heading.size_text) == ("Graph communication", "91.4 kB")


def test_the_largest_of_many_computations_shows_its_stages() -> None:
    """The others are one line each, and the smallest of them are put together."""
    lines = table_of(several(75)).lines

    opened = [line.title for at, line in enumerate(lines) if below(lines, at) and not line.depth]
    assert opened == ["73: compute sum"]
    assert lines[-2].title.endswith("smaller computations")


def test_waits_among_the_parts_stay_waits() -> None:
    """A heading is drawn high where somebody works, thin where somebody waits."""
    rows = (
        make_row("dask.communicate.batch", 0, 8 * MS),
        make_row("dask.communicate.wire", 8 * MS, 2 * MS),
    )

    work, wait = work_and_wait(table_of(make_trace(rows, 10 * MS)).lines[0])

    assert work is not None
    assert wait is not None
    assert (work.pieces, wait.pieces) == (((8 * MS, 2 * MS),), ((0, 8 * MS),))


def test_a_circle_of_parents_is_no_trap() -> None:
    """A damaged document says that two stages are parts of each other."""
    rows = (make_row("a", 0, MS), make_row("b", MS, MS))
    stages = (Stage("a", "A", 1, parent="b"), Stage("b", "B", 2, parent="a"))

    assert len(table_of(make_trace(rows, 2 * MS, stages=stages)).lines) >= 2


def test_rows_of_no_computation_stand_beside_the_blocks() -> None:
    """A document in which a row belongs to no group, or to one that is not there."""
    assert TWO.waterfall is not None
    first, second, *others = TWO.waterfall.rows
    rows = (replace(first, group=None), replace(second, group=7), *others)

    changed = replace(TWO, waterfall=Waterfall(rows, TWO.waterfall.unaccounted_ns))
    lines = table_of(outlined(changed)).lines

    kinds = [line.kind for line in lines if line.depth == 0]
    assert kinds == ["stage", "stage", "group", "group", "rest"]


def test_threads_of_workers_are_named_together() -> None:
    """A row has one lane, but all workers do what it says."""
    lanes = {line.title: line.lane for line in table_of(ONE).lines}
    assert (lanes["Execution"], lanes["Scheduling"]) == ("worker", "scheduler")
