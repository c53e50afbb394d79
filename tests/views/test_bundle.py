"""What an output of a cell carries."""

import base64
import json
from dataclasses import replace
from io import BytesIO
from unittest.mock import Mock

import pytest
from dask_golden import graph_table, tasks_table
from dask_samples import hundred_thousand_tasks, several
from PIL import Image
from test_text import MS, make_empty, make_many, make_put_get, make_row, make_sweep, make_trace

from jupyter_serprof.model import (
    Span,
    Sweep,
    SweepTrace,
    Trace,
    UsageError,
    from_document,
    to_document,
)
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.figure import alt_text
from jupyter_serprof.views.notebook import bundle as bundle_module
from jupyter_serprof.views.notebook.bundle import bundle
from jupyter_serprof.views.notebook.thin import MOST_ROWS, MOST_SPANS, embedded
from jupyter_serprof.views.text import text

MOST_BYTES = 40_000


def _written_bytes(doc: Trace | Sweep) -> int:
    return len(json.dumps(bundle(doc), ensure_ascii=False, separators=(",", ":")).encode())


def test_an_output_has_text_a_picture_and_the_document() -> None:
    trace = make_put_get()

    data, _ = bundle(trace)

    assert set(data) == {"text/plain", "image/png", MIME_TYPE}
    assert data["text/plain"] == text(trace)
    assert from_document(data[MIME_TYPE]) == trace


def test_the_metadata_says_size_and_meaning_of_the_picture() -> None:
    """A page does not jump while it loads, and a screen reader has something to say."""
    data, metadata = bundle(make_sweep())

    picture = Image.open(BytesIO(base64.b64decode(str(data["image/png"]))))
    assert metadata["image/png"] == {
        "width": picture.width,
        "height": picture.height,
        "alt": alt_text(make_sweep()),
    }
    assert picture.info["Description"] == alt_text(make_sweep())


def test_a_view_is_handed_to_the_front_end() -> None:
    _, metadata = bundle(make_put_get(), view="table")

    assert metadata[MIME_TYPE] == {"view": "table"}


def test_an_unknown_view_is_refused() -> None:
    """With the names that exist; a typing error is not taken for a picture that failed."""
    with pytest.raises(UsageError, match=r"no view .*waterfall"):
        bundle(make_put_get(), view="watefall")


@pytest.mark.parametrize("count", [1, 6, 12, 24, 40, 60])
def test_an_output_with_up_to_60_rows_is_at_most_40_kb(count: int) -> None:
    """A notebook full of outputs can still be opened, sent and compared."""
    assert _written_bytes(make_many(count)) <= MOST_BYTES


def test_usual_outputs_are_far_below_40_kb() -> None:
    assert _written_bytes(make_put_get()) <= 30_000
    assert _written_bytes(make_sweep()) <= 36_000
    assert _written_bytes(make_empty()) <= 10_000


def test_rows_of_many_pieces_stay_within_the_bound() -> None:
    pieces = tuple((at * MS, MS // 3) for at in range(64))
    trace = make_many(20)
    assert trace.waterfall is not None
    rows = tuple(replace(row, pieces=pieces) for row in trace.waterfall.rows)

    trace = replace(trace, waterfall=replace(trace.waterfall, rows=rows))

    assert _written_bytes(trace) <= MOST_BYTES


def test_where_no_picture_can_be_drawn_text_and_document_are_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing library or a broken font never costs a result; the output says what happened."""
    missing = ModuleNotFoundError("No module named 'PIL'")
    monkeypatch.setattr(bundle_module, "png", Mock(side_effect=missing))

    data, metadata = bundle(make_put_get())

    assert set(data) == {"text/plain", MIME_TYPE}
    assert not metadata
    assert "no picture could be drawn (ModuleNotFoundError" in str(data["text/plain"])
    assert any("no picture" in note for note in from_document(data[MIME_TYPE]).quality.notes)


def test_of_very_many_spans_the_longest_are_embedded_and_totals_stay_exact() -> None:
    """The output says what it left out, and no number of the waterfall changes."""
    trace = _long_trace(MOST_SPANS + 5_000)

    shown = embedded(trace)

    assert isinstance(shown, Trace)
    assert len(shown.spans) == MOST_SPANS
    assert shown.waterfall == trace.waterfall
    said = str(shown.quality.notes)
    assert ("of 25,001 spans are in" in said, said.count("--save")) == (True, 1)
    assert min(span.duration_ns for span in shown.spans) > 5_000


def test_an_output_of_100_000_dask_tasks_is_at_most_250_kb() -> None:
    """Times of real tasks hardly compress: the shortest spans go, and the output says so."""
    trace = hundred_thousand_tasks()

    shown = embedded(trace)

    assert _written_bytes(trace) <= 250_000
    assert isinstance(shown, Trace)
    assert 8_000 < len(shown.spans) < 20_000
    assert shown.waterfall is not None
    assert trace.waterfall is not None
    assert [(row.self_ns, row.busy_ns, row.count) for row in shown.waterfall.rows] == [
        (row.self_ns, row.busy_ns, row.count) for row in trace.waterfall.rows
    ]
    assert sum("of 20,002 spans are in" in note for note in shown.quality.notes) == 1


def test_of_a_long_table_the_largest_rows_are_embedded() -> None:
    tasks = tasks_table(*((f"f{at}", 1, at * MS, 8) for at in range(300)))

    shown = embedded(replace(make_put_get(), tables=(tasks,)))

    assert isinstance(shown, Trace)
    (table,) = shown.tables
    assert [row[0] for row in table.rows] == [f"f{at}" for at in range(200, 300)]
    assert table.note == "100 of 300 rows are in this output"


def test_of_very_many_computations_the_largest_are_embedded_and_the_others_as_one() -> None:
    """A loop that computes 75 times has an output that can still be sent; it adds up as before."""
    trace = several(75)

    shown = embedded(trace)

    assert _written_bytes(trace) <= 250_000
    assert isinstance(shown, Trace)
    assert shown.waterfall is not None
    assert len(shown.waterfall.rows) <= MOST_ROWS
    assert shown.groups[-1].title == f"{76 - len(shown.groups)} smaller computations"
    assert from_document(to_document(shown)) == shown
    total_ns = sum(row.self_ns for row in shown.waterfall.rows) + shown.waterfall.unaccounted_ns
    assert total_ns == trace.wall_ns
    assert {row.group for row in shown.waterfall.rows} == set(range(len(shown.groups)))
    longest = {group.title for group in trace.groups if group.end_ns - group.start_ns > 1.8e9}
    assert longest & {group.title for group in shown.groups}
    assert any("smaller computations are one in this output" in n for n in shown.quality.notes)


def test_of_many_tables_of_one_kind_those_that_hold_most_are_embedded() -> None:
    graphs = [graph_table((f"f{at}", "", at, 1)) for at in range(100)]

    shown = embedded(replace(make_put_get(), tables=tuple(graphs)))

    assert isinstance(shown, Trace)
    assert [table.rows[0][3] for table in shown.tables] == [94, 95, 96, 97, 98, 99]


def test_spans_that_stay_keep_their_place_in_the_tree_and_their_finding() -> None:
    """What a finding points at is in the output, below the nearest parent that is there too."""
    trace = _long_trace(MOST_SPANS + 5_000)
    finding = replace(make_put_get().findings[0], spans=(7, 2))

    shown = embedded(replace(trace, findings=(finding,)))

    assert isinstance(shown, Trace)
    pointed = [shown.spans[i] for i in shown.findings[0].spans]
    assert [span.start_ns for span in pointed] == [trace.spans[i].start_ns for i in (7, 2)]
    assert [span.parent for span in shown.spans] == list(range(-1, MOST_SPANS - 1))


@pytest.mark.parametrize(("cold_ms", "is_kept"), [(14, False), (16, True)])
def test_a_first_run_stays_where_it_took_notably_longer(cold_ms: int, is_kept: bool) -> None:
    """By half of the later one; a first run like it would say the same twice."""
    cold, warm = (
        SweepTrace("ray", 1, is_cold, make_trace((make_row("pickle.dumps", 0, ms * MS),), ms * MS))
        for is_cold, ms in ((True, cold_ms), (False, 10))
    )

    shown = embedded(replace(make_sweep(), traces=(cold, warm)))

    assert isinstance(shown, Sweep)
    assert [entry.cold for entry in shown.traces] == ([True, False] if is_kept else [False])


def _long_trace(count: int) -> Trace:
    """Return a trace of one span and so many more, each longer than its parent before it."""
    row = make_row("pickle.dumps", 0, 10_000 * MS)
    inside = (Span("pickle.dumps", "d", "client", i, i, None, i, {"n": 1}) for i in range(count))
    outer = Span("pickle.dumps", "outer", "client/main", 0, 10_000 * MS)
    return make_trace((row,), 10_000 * MS, spans=(outer, *inside))
