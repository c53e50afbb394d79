"""A comparison in characters: readable at any width, nothing told that is not known."""

from dataclasses import replace

import pytest
from compare_samples import COLD, FOUND, PICKLE, WALL
from goldens import check

from jupyter_serprof.analysis.comparison import headline, times_of
from jupyter_serprof.model import Change
from jupyter_serprof.views.compare import comparison_lines
from jupyter_serprof.views.kit.lines import width
from jupyter_serprof.views.text import markdown

MS = 1_000_000


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(0.00413, "0.0041"), (0.0199, "0.020"), (0.0996, "0.10"), (1e-9, "0.000000"), (0, "0.00")],
)
def test_small_ratios_keep_two_digits(ratio: float, said: str) -> None:
    """A run that takes a 240th of the time is not "0.00" times as long."""
    lines = comparison_lines(replace(FOUND, changes=(replace(WALL, ratio=ratio),)), 100)

    assert any(f" {said}× " in line for line in lines[1:])  # noqa: RUF001


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_no_line_is_wider_than_asked(columns: int) -> None:
    long = replace(PICKLE, title="ジ" * 60, reason="within noise (±24.9 %)", verdict="cannot tell")
    found = replace(FOUND, before="x" * 90 + "\x1b[31m", changes=(COLD, *FOUND.changes, long))

    lines = comparison_lines(found, columns)

    assert all(width(line) <= columns for line in lines)
    assert not any("\x1b" in line for line in lines)
    assert any("cannot tell" in line for line in lines)


@pytest.mark.parametrize(("is_paired", "runs"), [(True, "the pairs"), (False, "all runs")])
def test_intervals_are_said_to_be_of_what_they_are(*, is_paired: bool, runs: str) -> None:
    """Of pairs that ran in turns, or of all runs: the same words in headline and table."""
    found = replace(FOUND, is_paired=is_paired)

    lines, said = comparison_lines(found, 100), markdown(found)

    assert runs in " ".join(lines[2:4])
    assert ("lie apart" in said) != is_paired
    assert f"| 95 % interval of {runs} |" in said
    assert ("more line" in said) == any("more line" in line for line in lines)
    assert len(said.splitlines()) < 14


def test_the_columns_add_up_in_the_unit_of_the_wall_time() -> None:
    """One unit for the times of a side: 9.50 ms is not written 9,502.0 µs below."""
    parts = [(9_500_249, 990_000), (2_249, None)]
    sides = [(9_502_498, 990_000), *parts]
    changes = [
        replace(PICKLE, stage=key, title=key or "Wall time", before_ns=before, after_ns=after)
        for key, (before, after) in zip(("", "a", "b"), sides, strict=True)
    ]

    times = times_of(changes)

    assert list(times.values()) == [
        ("9.50 ms", "990 µs"),
        ("9.500 ms", "990.0 µs"),
        ("0.002 ms", "–"),  # noqa: RUF001
    ]
    assert "9.50 ms before, 990 µs after" in headline(replace(FOUND, changes=tuple(changes)))
    recorded = replace(PICKLE, stage="recording", before_ns=4_751_249, after_ns=330_000)
    said = headline(replace(FOUND, changes=(changes[0], recorded)))
    assert said.endswith("990 µs after, 50 % and 33 % of it recording")


RARE = Change("dask.wire", "Wire", 0, 0, "cannot tell", reason="only in some of the runs")
WARM = [replace(change, variant="code", cold=False) for change in (WALL, PICKLE)]
ONCE = replace(COLD, variant="code")
SAMPLES: dict[str, tuple[Change, ...]] = {
    "a sentence, a table and notes": FOUND.changes,
    "what most runs do without is counted with the small ones": (
        *(WALL, replace(RARE, is_small=True), replace(RARE, title="Read", after_ns=MS)),
    ),
    "cold apart from warm, one cold run in one line": (ONCE, replace(ONCE, stage="gc"), *WARM),
    "a verdict for each transport": tuple(
        replace(WALL, variant=key, size_bytes=8_000_000, cold=False, verdict=verdict)
        for key, verdict in (("ray", "slower"), ("dask", "faster"), ("pickle", "slower"))
    ),
}


def test_comparisons_are_told_in_characters() -> None:
    shown = {name: replace(FOUND, changes=changes) for name, changes in SAMPLES.items()}

    check("compare", {name: "\n".join(comparison_lines(it, 100)) for name, it in shown.items()})
