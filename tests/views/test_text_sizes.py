"""Sweeps over sizes in characters: the chart, the medians, growth, crossovers, what is missing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from size_samples import make_chunks, make_sizes
from strategies import crossings, fits

from jupyter_serprof.model import Fit, Point, Sweep, Variant
from jupyter_serprof.views.kit.cells import width as columns_of
from jupyter_serprof.views.text import text


@st.composite
def size_sweeps(draw: st.DrawFn) -> Sweep:
    """Draw sweeps over sizes whose lines and crossovers may be anything."""
    runs = st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 2**62),
        st.booleans(),
        st.integers(1, 2**62),
    )
    drawn = draw(st.lists(runs, min_size=2, max_size=12))
    return Sweep(
        name="x",
        started="",
        kind=draw(st.sampled_from(["sweep", "chunks"])),
        parameter=draw(st.text(max_size=30)),
        variants=tuple(Variant(key, draw(st.text(max_size=60))) for key in "abc"),
        points=tuple(
            Point(key, size, at, cold, wall, None, {}, parameter=float(size))
            for at, (key, size, cold, wall) in enumerate(drawn)
        ),
        fits=tuple(draw(st.lists(fits, max_size=4))),
        crossovers=tuple(draw(st.lists(crossings, max_size=4))),
    )


@settings(max_examples=80, deadline=None)
@given(size_sweeps(), st.integers(40, 120))
def test_any_sweep_over_sizes_fits_its_lines(sweep: Sweep, width: int) -> None:
    """Damaged lines and crossovers are left out; nothing raises, nothing is wider than asked."""
    said = text(sweep, width=width)

    assert max(columns_of(line) for line in said.split("\n")) <= width


def test_each_size_has_its_line_and_each_way_its_column() -> None:
    """The median of the warm runs, at a glance; a size that one did not run at stays open."""
    lines = text(make_sizes()).split("\n")

    assert "warm, median of 3 runs" in lines
    warm = lines[lines.index("warm, median of 3 runs") :]
    assert warm[2].split() == ["size", "in-band", "Ray"]
    assert warm[3].split() == ["1.00", "kB", "20.0", "µs", "500", "µs"]
    assert warm[8].split() == ["100", "MB", "†", "250", "ms", "–"]  # noqa: RUF001
    assert "† held out: no line uses it" in lines


def test_cold_runs_have_a_table_of_their_own() -> None:
    """They are never mixed with warm ones."""
    lines = text(make_sizes()).split("\n")

    cold = lines[lines.index("cold, the first run at each size") :]
    assert cold[3].split() == ["1.00", "kB", "60.0", "µs", "1.50", "ms"]


def test_growth_is_said_by_regimes_with_the_cause_of_a_break() -> None:
    """What a byte costs, with its interval, from where to where, and how far the line is off."""
    said = text(make_sizes(), width=140)

    assert "1.00 kB to 100 kB: constant, 20.0 µs" in said
    rate = "from here on another regime, linear, 500 MB/s [400 MB/s, 625 MB/s] (fresh pages)"
    assert f"1.00 MB to 10.0 MB: {rate}" in said
    assert "held out 100 MB: the line is off by −20.0 %" in said  # noqa: RUF001
    assert "note: unstable: spreads 20 %" in said


def test_a_power_is_said_without_a_rate_and_a_doubt_with_its_reason() -> None:
    """Neither has a straight line, and neither is joined with one."""
    sweep = make_sizes()
    power = Fit(
        variant="pickle",
        cold=False,
        from_bytes=1_000,
        to_bytes=1_000_000,
        growth="superlinear",
        exponent=1.31,
    )
    doubt = replace(power, from_bytes=10**7, to_bytes=10**7, growth="cannot tell", exponent=None)

    said = text(replace(sweep, fits=(power, replace(doubt, cause="it jumps"))), width=140)

    assert "1.00 kB to 1.00 MB: grows faster than its size, time ~ size^1.31" in said
    assert "10.0 MB: cannot tell (it jumps)" in said
    assert "to 10.0 MB: cannot tell" not in said


def test_a_crossover_lies_between_two_measured_sizes_or_cannot_be_told() -> None:
    """Nothing is interpolated."""
    said = text(make_sizes())

    assert "Ray overtakes pickle 5, in-band between 100 kB and 1.00 MB" in said
    assert "cold: cannot tell where these cross: pickle 5, in-band or Ray" in said


def test_what_was_skipped_says_why() -> None:
    """A way without numbers is not silently missing."""
    assert "numpy .npy      skipped: .npy holds plain arrays, not the type list" in text(
        make_sizes()
    )


def test_the_chart_has_a_letter_for_each_way_and_powers_of_ten() -> None:
    """The shape of the curves is seen in a terminal, too; a table alone can be asked for."""
    chart, table = text(make_sizes()), text(make_sizes(), view="table")

    assert "a pickle 5, in-band  b Ray" in chart
    rows = [line for line in chart.split("\n") if line[:8].strip() == "10 µs" or "  1 s |" in line]
    assert len(rows) == 2
    top = next(line for line in chart.split("\n") if "b" in line and "|" in line)
    assert top.count("b") + top.count("*") == 5
    assert "|" not in table


def test_narrow_lines_spread_the_columns_over_several_tables() -> None:
    """No column is cut: what does not fit beside the others stands below, with the sizes again."""
    sweep = make_sizes()
    more = [replace(v, key=f"{v.key}{i}") for v in sweep.variants[:1] for i in range(4)]
    points = [
        replace(p, variant=v.key) for v in more for p in sweep.points if p.variant == "pickle"
    ]
    wide = replace(sweep, variants=(*sweep.variants, *more), points=(*sweep.points, *points))

    said = text(wide, width=50)

    assert "warm, median, continued" in said
    assert said.count("20.0 µs") >= 5


def test_a_sweep_of_chunks_names_the_best_one_and_what_limits_beside_it() -> None:
    """The interval and both limits; no law of growth is claimed for a curve that turns."""
    said = text(make_chunks(), width=140)

    best = "best chunk: chunk = 8,000, 8.00 MB [1.00 MB to 32.0 MB]"
    assert f"{best}; below it Scheduling limits; above it Execution limits" in said
    assert "growth" not in said
    assert "8,000     8.00 MB       500 µs" in said


@pytest.mark.parametrize("kind", ["sweep", "chunks"])
def test_a_single_size_is_shown_as_a_round_trip(kind: str) -> None:
    """A sweep that was stopped after its first size has bars, as a round trip."""
    sweep = make_sizes()
    first = tuple(point for point in sweep.points if point.size_bytes == 1_000)

    said = text(replace(sweep, kind=kind, points=first))

    assert "times" in said
    assert "median of 3 (range" in said


@pytest.mark.parametrize(("size_bytes", "has_copies"), [(1_000, False), (100_000, True)])
def test_copies_are_counted_only_where_a_rate_says_something(
    size_bytes: int, *, has_copies: bool
) -> None:
    """80 bytes are a million times slower than a copy: that is no rate, as anywhere below 64 kB."""
    sweep = make_sizes()
    only = tuple(point for point in sweep.points if point.size_bytes == size_bytes)

    said = text(replace(sweep, points=only), width=140)

    assert ("memcpy" in said) is has_copies
