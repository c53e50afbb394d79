"""One time of a variant: what a sentence says stands in the table below it, in every form."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_serprof.analysis import analyse
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.experiments.engine.document import summarize_repeats, summarize_sweep
from jupyter_serprof.model import Heading, Point, Row, Sweep, SweepTrace, Trace, Variant, Waterfall
from jupyter_serprof.model.document import to_document
from jupyter_serprof.model.sweep import groups_of, groups_text, middle_ns, middle_run, quartiles
from jupyter_serprof.model.units import format_ns, format_share
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.figure import sheet_of
from jupyter_serprof.views.flat import rows_of
from jupyter_serprof.views.kit.sheet import Label
from jupyter_serprof.views.sweep.runs import parts_of, runs_of
from jupyter_serprof.views.text import markdown, text
from jupyter_serprof.views.waterfall.table import table_of

MS = 1_000_000
DATA = Path(__file__).parents[1] / "data"
_TIME = re.compile(r"[\d,.]+ (?:ns|µs|ms|s)\b")
_PERCENT = re.compile(r"[\d.]+(?= %)")
_UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
#: Steady, scattered, and runs in two groups.
walls = st.builds(
    lambda base, runs, slow: [round(base * run * (slow if at % 2 else 1)) for at, run in runs],
    st.integers(200, 10**9),
    st.lists(st.floats(1, 1.6), min_size=2, max_size=9).map(lambda runs: list(enumerate(runs))),
    st.sampled_from([1, 1, 1.2, 20]),
)


def trip(runs: dict[str, list[int]]) -> Sweep:
    """Return a round trip as it is made: a cold run each, the middle trace, and the summary."""
    points = [
        Point(key, 8_000_000, at, at == 0, ns, 10, {"pickle.dumps": ns * (2 + at % 4) // 6})
        for key, times in runs.items()
        for at, ns in enumerate(times)
    ]
    sweep = Sweep(
        name="a",
        started="",
        variants=tuple(Variant(key, key.title(), result="a copy") for key in runs),
        points=tuple(points),
        traces=tuple(_shown([p for p in points if p.variant == key]) for key in runs),
    )
    return replace(sweep, summary=summarize_sweep(sweep))


def _shown(points: Sequence[Point]) -> SweepTrace:
    chosen = middle_run(points[1:], lambda point: point.wall_ns)
    spans = [("pickle.dumps", "client/main", 0, chosen.stages["pickle.dumps"])]
    return SweepTrace(chosen.variant, chosen.size_bytes, cold=False, trace=make_trace(spans))


#: Spans one after the other, each behind a gap: (stage, gap ms, length ms).
roads = st.lists(
    st.tuples(
        st.sampled_from(["pickle.dumps", "ray.store", "ray.wait", "import"]),
        st.sampled_from([0.0, 0.0, 0.001, 3.0, 70.0]),
        st.floats(0.001, 900),
    ),
    min_size=1,
    max_size=5,
)


def walked(road: list[tuple[str, float, float]]) -> Trace:
    """Return a trace as it is shown, with its waterfall, summary and findings."""
    starts = accumulate((gap + length for _, gap, length in road), initial=0.0)
    spans = [
        (stage, "client/main", start + gap, length)
        for start, (stage, gap, length) in zip(starts, road, strict=False)
    ]
    return analyse(make_trace(spans))


def below(doc: Sweep | Trace) -> dict[str, str]:
    """Return what stands below the headline, by form; of pictures all that is written."""
    bare = replace(doc, summary=None, findings=())
    labels = (mark.text for mark in sheet_of(bare).marks if isinstance(mark, Label))
    return {"text": text(bare, width=200), "sheet": "\n".join(labels), "markdown": markdown(bare)}


def ratio_range(one: str, other: str) -> tuple[float, float]:
    """Return what the quotient of two printed times may be."""
    (low, high), (least, most) = map(_range, (one, other))
    return low / most, high / least


def _range(said: str) -> tuple[float, float]:
    digits, unit = said.replace(",", "").split(" ")
    half = 10 ** -len(digits.partition(".")[2]) / 2
    return tuple((float(digits) + sign * half) * _UNITS[unit] for sign in (-1, 1))


@settings(max_examples=150)
@given(st.fixed_dictionaries(dict.fromkeys(("pickle", "ray", "cloudpickle"), walls)))
def test_each_time_of_the_headline_stands_in_the_table(runs: dict[str, list[int]]) -> None:
    """In text, in the picture and in Markdown; and it is that of a run that was made."""
    # Whoever divides the two printed times gets the ratio that the headline says.
    sweep = trip(runs)
    assert sweep.summary is not None
    told = r": (\w+) is ([\d,.]+)× faster than pickle, ([^,;]+) against"  # noqa: RUF001

    said = _TIME.findall(sweep.summary.headline)
    found = re.search(told, sweep.summary.headline)

    assert said
    for time, (form, table) in product(said, below(sweep).items()):
        assert time in table, (form, sweep.summary.headline)
    if found is None:
        return
    fast = _printed(sweep, found[1].lower())
    low, high = ratio_range(_printed(sweep, "pickle"), fast)
    ratio = float(found[2].replace(",", ""))
    half = 0.05 if "." in found[2] else 0.5  # of its last digit
    assert low - half <= ratio <= high + half
    assert found[3] == fast


def _printed(sweep: Sweep, key: str) -> str:
    (variant,) = (variant for variant in sweep.variants if variant.key == key)
    return format_ns(runs_of(sweep, variant)[0].point.wall_ns)


@settings(max_examples=150)
@given(roads)
@example([("pickle.dumps", 0.0, 994.499), ("ray.wait", 5.5, 0.001)])
def test_each_number_said_of_a_trace_stands_in_its_table(
    road: list[tuple[str, float, float]],
) -> None:
    """In headline and findings as the rounding of it."""
    # Times within the last digit of the column, in which the rounding is spread over the rows.
    trace = walked(road)
    assert trace.summary is not None
    made = table_of(trace)
    printed = [float(line.share_text) for line in made.lines]
    titles = [finding.title for finding in trace.findings if "of the wall time" in finding.title]
    digit = 10.0 ** -len(made.wall_text.partition(".")[2]) * _UNITS[made.unit]
    times = [line.self_text for line in made.lines] + [made.wall_text]
    shown = [float(text.replace(",", "")) * _UNITS[made.unit] for text in times]

    said = [float(n) for each in (trace.summary.headline, *titles) for n in _PERCENT.findall(each)]
    said_times = _TIME.findall(trace.summary.headline)

    assert set(said) <= {*printed, *(math.floor(share + 0.5) for share in printed)}
    for line, (form, table) in product(made.lines, below(trace).items()):
        is_sum = line.kind == "more" and form == "markdown"  # which folds nothing
        assert is_sum or line.share_text in table or line.share_text == "0", form
    rows = rows_of(trace, "summary").lines
    digits = {name: float(ns or 0) for _, name, _, _, _, ns, *_ in rows}
    for line in table_of(trace, None).lines:
        own = float(line.self_text.replace(",", "")) * _UNITS[made.unit]
        assert line.kind != "stage" or abs(own - digits[line.title]) <= digit
    assert said_times
    for low, high in map(_range, said_times):
        assert any(low - digit <= ns <= high + digit for ns in shown), trace.summary.headline


@pytest.mark.parametrize(
    "known", json.loads((DATA / "shares.json").read_text("utf-8")), ids=lambda known: known["share"]
)
def test_the_shares_that_typescript_draws_are_those_of_python(known: dict[str, Any]) -> None:
    """``labextension/test/times.test.ts`` draws the same file; halves go up in both."""
    share = known["self_ns"] / known["wall_ns"]
    row = Row("ray.store", "client/main", 0, known["self_ns"], 0, None, 1)
    rest = Waterfall((row,), known["wall_ns"] - known["self_ns"])
    trace = replace(make_trace([], wall_ms=known["wall_ns"] / MS), waterfall=rest)

    assert table_of(trace).lines[0].share_text == known["share"]
    assert format_share(share, decimals=0) == known["whole"]


@pytest.mark.parametrize("known", json.loads((DATA / "columns.json").read_text("utf-8")))
def test_the_times_that_typescript_draws_are_those_of_python(known: dict[str, Any]) -> None:
    """``labextension/test/times.test.ts`` draws the same file: no folding changes a number."""
    rows = tuple(Row("gc", "client/main", 0, ns, 0, None, 1) for ns in known["rows"])
    lines = tuple(_line(line) for line in known["outline"])
    waterfall = Waterfall(rows, known["wall_ns"] - sum(known["rows"]), lines)
    trace = replace(make_trace([], wall_ms=known["wall_ns"] / MS), waterfall=waterfall)

    opened = [line for line in table_of(trace, None).lines if line.kind != "heading"]
    assert [line.self_text for line in opened] == known["opened"]
    assert [line.self_text for line in table_of(trace).lines] == known["shown"]


def _line(line: Any) -> int | Heading:
    if isinstance(line, int):
        return line
    inside = tuple(_line(inner) for inner in line["inside"])
    return Heading(line["self_ns"], "gc" if "stage" in line else "", inside=inside)


@settings(max_examples=100)
@given(walls, walls)
def test_a_comparison_has_the_times_of_its_rows(before: list[int], after: list[int]) -> None:
    """What the round trip shows, stages included; the ratio is that of the two times beside it."""
    one, other = trip({"pickle": before}), trip({"pickle": after})

    for is_cold in (True, False):
        found = [change for change in compare(one, other).changes if change.cold is is_cold]
        rows = [runs_of(sweep, sweep.variants[0])[-1 if is_cold else 0] for sweep in (one, other)]
        owned = [[row.point.wall_ns, *(part.self_ns for part in parts_of(row))] for row in rows]
        assert [[change.before_ns, change.after_ns] for change in found] == [
            list(times) for times in zip(*owned, strict=True)
        ]
        told = [change for change in found if change.ratio and change.before_ns and change.after_ns]
        assert all(c.ratio == pytest.approx(c.after_ns / c.before_ns) for c in told)  # type: ignore[operator]  # both known
        assert all((c.low or 0) <= c.ratio <= (c.high or math.inf) for c in told)  # type: ignore[operator]  # as above


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=30))
def test_the_time_of_runs_is_one_of_them(times: list[int]) -> None:
    """Whatever the order; of the larger group the middle one, of two runs the slower one."""
    found, groups = middle_ns(times), groups_of(times, float)

    assert found in times
    assert found == middle_ns(times[::-1])
    largest = max(groups, key=len)
    assert sorted(largest)[1 if len(times) == 2 else (len(largest) - 1) // 2] == found
    assert sorted(times) == [time for group in groups for time in group]
    assert bool(groups_text(times)) == (len(groups) == 2)


@pytest.mark.parametrize(
    ("times", "middle", "said"),
    [
        ([10], 10, ""),
        ([10, 12], 12, ""),
        ([10, 30], 30, ""),
        ([10, 10, 200, 200], 10, "10.0 ms in 2 runs, 200 ms in 2"),
        ([10, 11, 200, 201, 202], 201, "10.0 ms in 2 runs, 201 ms in 3"),
        ([10, 11, 12, 200], 11, ""),
        ([10, 10, 22, 30, 32, 200, 200], 22, "22.0 ms in 5 runs, 200 ms in 2"),
    ],
)
def test_runs_in_two_groups_are_told_as_two(times: list[int], middle: int, said: str) -> None:
    ns = [time * MS for time in times]

    assert (middle_ns(ns), groups_text(ns)) == (middle * MS, said)


def test_a_document_tells_the_runs_that_the_front_end_draws() -> None:
    """It computes none of it: places of the runs by time, the middle one, groups, spread."""
    told = to_document(trip({"ray": [90, 30 * MS, 10 * MS, 31 * MS, 11 * MS]}))["runs"]

    assert isinstance(told, list)
    warm, cold = told
    assert (cold["points"], cold["middle"], cold["cold"]) == ([0], 0, True)
    assert (warm["points"], warm["middle"], warm["size_bytes"]) == ([2, 4, 1, 3], 2, 8_000_000)
    assert warm["groups"] == "10.0 ms in 2 runs, 30.0 ms in 2"
    assert warm["quartiles_ns"] == [10.75 * MS, 30.25 * MS]
    own = sorted([30 * MS * 3 // 6, 10 * MS * 4 // 6, 31 * MS * 5 // 6, 11 * MS * 2 // 6])
    low, high = quartiles(own) or (0, 0)
    assert warm["stages"] == {"pickle.dumps": [10 * MS * 4 // 6, low, high]}  # of the middle run


def test_quartiles_begin_with_four_runs() -> None:
    assert quartiles([3, 1, 2]) is None
    assert quartiles([4, 1, 2, 3, 5]) == (2, 4)
    assert quartiles([2**63 - 1] * 4) == (2**63 - 1,) * 2  # no document holds more


def test_repeats_tell_both_groups_and_show_a_run() -> None:
    """10, 10, 200, 200 ms were 105 above a row of 10."""
    sweep = trip({"pickle": [30 * MS, 10 * MS, 200 * MS, 10 * MS, 200 * MS]})
    said = summarize_repeats(sweep)

    assert "10.0 ms in 2 runs, 200 ms in 2, 30.0 ms the first time" in said.headline
    assert "middle one" not in said.facts[0]
    assert all("10.0 ms in 2 runs, 200 ms in 2" in table for table in below(sweep).values())
