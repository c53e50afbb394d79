"""Numbers as people read them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_serprof.model import units

LONGEST_NS = 10**15


@pytest.mark.parametrize(
    ("duration_ns", "said"),
    [
        *((0, "0 ns"), (999, "999 ns"), (33_000, "33.0 µs"), (52_100_000, "52.1 ms")),
        *((999_600_000, "1.00 s"), (1_840_000_000, "1.84 s"), (1_840_000_000_000, "1,840 s")),
        *((None, "n/a"), (float("inf"), "n/a")),
    ],
)
def test_a_duration_has_three_digits_in_the_largest_unit_that_fits(
    duration_ns: float | None, said: str
) -> None:
    """A duration is short enough to compare at a glance; unknown is never a number."""
    assert units.format_ns(duration_ns) == said


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [(124, "124 B"), (12_400, "12.4 kB"), (800_000_000, "800 MB"), (999_950, "1.00 MB")],
)
def test_sizes_are_decimal(size_bytes: int, said: str) -> None:
    """1 MB is 1,000,000 B, as in ``nbytes`` and in rates."""
    assert units.format_bytes(size_bytes) == said


def test_the_other_numbers_say_their_unit() -> None:
    """Rates, shares, ratios and counts have the form that the documentation shows."""
    assert units.format_rate(12.9e9) == "12.9 GB/s"
    assert units.format_share(0.185) == "18.5 %"
    assert units.format_share(0.61, decimals=0) == "61 %"
    assert units.format_ratio(14.62) == "14.6\u00d7"
    assert units.format_ratio(59_375) == "59,375\u00d7"
    assert units.format_count(390_629) == "390,629"
    assert units.format_fixed(-1840, 1) == "\u22121,840.0"
    assert units.format_fixed(-0.04, 1) == "0.0"
    assert [units.format_share(None), units.format_ratio(None), units.format_count(None)] == [
        "n/a"
    ] * 3


def test_a_rate_needs_64_kb_and_some_time() -> None:
    """Below that a rate is mostly fixed cost, so there is none."""
    assert units.bytes_per_s(800_000_000, 62_500_000) == 12.8e9
    assert units.bytes_per_s(63_999, 1_000) is None
    assert units.bytes_per_s(64_000, 0) is None
    assert units.bytes_per_s(None, 1_000) is None


@pytest.mark.parametrize(
    ("wall_ns", "said"),
    [
        *((990, "990 ns"), (9_900, "9.900 µs"), (65_000, "65.00 µs"), (1_840_000, "1.840 ms")),
        *((65_000_000, "65.00 ms"), (1_840_000_000, "1.840 s"), (65_000_000_000, "65.00 s")),
    ],
)
def test_the_unit_of_a_column_is_chosen_from_the_wall_time(wall_ns: int, said: str) -> None:
    """It is that of the sentence above, with a digit more for small rows."""
    unit = units.column_unit(wall_ns)

    assert f"{unit.text(wall_ns)} {unit.name}" == said


@given(st.lists(st.integers(0, LONGEST_NS), min_size=1, max_size=60))
@example([60_425])
def test_printed_rows_add_up_to_the_printed_total(values: list[int]) -> None:
    """Who adds the printed numbers up gets the printed wall time, to the last digit."""
    # Rounding for the sum stays inside the last digit; a measured zero stays zero.
    total = sum(values)
    unit = units.column_unit(total)

    printed = units.column(values, total, unit.decimals, unit.unit_ns)

    assert _added(printed, unit.decimals) == _added([unit.text(total)], unit.decimals)
    last_digit_ns = unit.unit_ns / 10**unit.decimals
    for value, text in zip(values, printed, strict=True):
        shown_ns = _added([text], unit.decimals) * last_digit_ns
        assert abs(shown_ns - value) <= last_digit_ns * 1.001
        assert (text == "0") == (value == 0)


def _added(texts: list[str], decimals: int) -> int:
    return sum(round(float(text.replace(",", "")) * 10**decimals) for text in texts)
