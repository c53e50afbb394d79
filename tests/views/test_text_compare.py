"""A comparison in characters: readable at any width, nothing told that is not known."""

from dataclasses import replace

import pytest

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.comparison import times_of
from jupyter_serprof.model import Change, Comparison
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.compare.text import comparison_lines
from jupyter_serprof.views.kit.cells import width
from jupyter_serprof.views.markdown import markdown
from jupyter_serprof.views.text import text

MS = 1_000_000
WALL = Change("", "Wall time", 10 * MS, 12.5 * MS, "slower", 1.25, 1.2, 1.3, 15, 15)
COLD = replace(
    WALL, cold=True, low=None, high=None, before_runs=1, verdict="cannot tell",
    reason="1 run before and 1 after are too few for an interval. Run each side again: --repeat 15",
)  # fmt: skip
PICKLE = Change("pickle.dumps", "Pickle", 8 * MS, 7 * MS, "faster", 0.875, 0.8, 0.95, 15, 15)
GONE = Change("gc", "Garbage collection", 1 * MS, None, "only before")
TINY = replace(PICKLE, stage="x", title="Tiny", reason="below 1 % of the wall time")
FOUND = Comparison(
    before="f()",
    after="f()",
    changes=(WALL, PICKLE, GONE, TINY),
    noise_share=0.034,
    method="Intervals.",
    notes=("other versions",),
)


def test_a_comparison_is_a_sentence_a_table_and_notes() -> None:
    """What the eye needs first is first; tiny stages are counted, not shown."""
    assert comparison_lines(FOUND, 100) == [
        (
            "Compared with f(): slower, 1.25× of the time before by all runs, [1.20× to 1.30×]; "  # noqa: RUF001
            "10.0 ms before,"
        ),
        "12.5 ms after.",
        "                                        ratio of",
        "stage                 before     after  all runs     95 % interval  verdict",
        "Wall time           10.00 ms  12.50 ms     1.25×  [1.20× to 1.30×]  slower",  # noqa: RUF001
        "Pickle               8.00 ms   7.00 ms     0.88×  [0.80× to 0.95×]  faster",  # noqa: RUF001
        "Garbage collection   1.00 ms         –       n/a                    only before",  # noqa: RUF001
        "note  1 more line (cold runs, small stages) in the document",
        "note  other versions",
        "note  noise here, the wall time of now against itself: ±3.4 %; stages have their own",
        "note  Intervals.",
    ]


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(0.00413, "0.0041"), (0.0199, "0.020"), (0.0996, "0.10"), (1e-9, "0.000000"), (0, "0.00")],
)
def test_small_ratios_keep_two_digits(ratio: float, said: str) -> None:
    """A run that takes a 240th of the time is not "0.00" times as long."""
    lines = comparison_lines(replace(FOUND, changes=(replace(WALL, ratio=ratio),)), 100)

    assert f"slower, {said}× of the time before" in lines[0]  # noqa: RUF001


def test_a_stage_that_most_runs_do_without_is_counted_with_the_small_ones() -> None:
    """Two medians of nothing are no line to read; a median of something is."""
    rare = Change("dask.wire", "Wire", 0, 0, "cannot tell", reason="only in some of the runs")
    seen = replace(rare, title="Read", after_ns=MS)

    lines = comparison_lines(replace(FOUND, changes=(WALL, rare, seen)), 100)

    assert not any(line.startswith("Wire") for line in lines)
    assert any(line.startswith("Read") for line in lines)
    assert any("1 more line (cold runs, small stages)" in line for line in lines)


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_no_line_is_wider_than_asked(columns: int) -> None:
    """Names from anywhere, on any terminal."""
    long = replace(PICKLE, title="ジ" * 60, reason="within noise (±24.9 %)", verdict="cannot tell")
    found = replace(FOUND, before="x" * 90 + "\x1b[31m", changes=(COLD, *FOUND.changes, long))

    lines = comparison_lines(found, columns)

    assert all(width(line) <= columns for line in lines)
    assert not any("\x1b" in line for line in lines)
    assert any("cannot tell" in line for line in lines)


def test_cold_and_warm_stand_apart_and_one_cold_run_takes_one_line() -> None:
    """Its stages say nothing that its wall time does not."""
    warm = [replace(change, cold=False, variant="code") for change in (WALL, PICKLE)]
    cold = [replace(change, variant="code") for change in (COLD, replace(COLD, stage="gc"))]

    lines = comparison_lines(replace(FOUND, changes=(*cold, *warm)), 100)

    assert lines[0].startswith("Compared with f(): slower")
    assert lines[2] == "cold"
    assert lines[6] == "warm"
    assert sum("too few for an interval" in line for line in lines) == 1


def test_several_variants_are_counted_above_and_named_below() -> None:
    """A round trip has a verdict for each transport."""
    walls = tuple(
        replace(WALL, variant=key, size_bytes=8_000_000, cold=False, verdict=verdict)
        for key, verdict in (("ray", "slower"), ("dask", "faster"), ("pickle", "slower"))
    )

    lines = comparison_lines(replace(FOUND, changes=walls), 100)

    assert lines[0] == "Compared with f(): 2 slower, 1 faster."
    assert lines[1] == "ray, 8.00 MB, warm"


def test_a_document_shows_its_comparison() -> None:
    """Above the stages, in the same text."""
    trace = analyse(make_trace([("pickle.dumps", "client/main", 0, 5)]))

    said = text(replace(trace, comparison=FOUND))

    assert said.index("verdict") < said.index("where")
    assert "verdict" not in text(trace)


@pytest.mark.parametrize(("is_paired", "runs"), [(True, "the pairs"), (False, "all runs")])
def test_ratios_are_said_to_be_of_what_they_are(*, is_paired: bool, runs: str) -> None:
    """Of pairs that ran in turns, or of all runs: the same words in headline and table."""
    found = replace(FOUND, is_paired=is_paired)

    lines, said = comparison_lines(found, 100), markdown(found)

    assert f"of the time before by {runs}" in lines[0]
    assert runs in " ".join(lines[2:4])
    assert f"| ratio of {runs} |" in said
    assert (f"by {runs}" in said, "more line" in said) == (True, False)


def test_the_columns_add_up_in_the_unit_of_the_wall_time() -> None:
    """One unit for the times of a side: 9.50 ms is not written 9,502.0 µs below."""
    parts = [(9_500_249, 990_000), (2_249, None)]
    sides = [(9_502_498, 990_000), *parts]
    changes = [
        replace(PICKLE, stage=key, title=key or "Wall time", before_ns=before, after_ns=after)
        for key, (before, after) in zip(("", "a", "b"), sides, strict=True)
    ]

    times = times_of(replace(FOUND, changes=tuple(changes)))

    assert list(times.values()) == [
        ("9.502 ms", "990.0 µs"),
        ("9.500 ms", "990.0 µs"),
        ("0.002 ms", "–"),  # noqa: RUF001
    ]
