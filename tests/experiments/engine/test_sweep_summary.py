"""The sentence above a round trip: who is fastest, against what, and what is not claimed."""

from dataclasses import replace
from typing import Any

import pytest
from goldens import check

from jupyter_serprof.analysis.ranking import with_ranking
from jupyter_serprof.experiments.engine.document import (
    summarize_repeats,
    summarize_sweep,
    sweep_findings,
    warm_text,
    with_findings,
)
from jupyter_serprof.model import Finding, Limits, Point, Summary, Sweep, SweepTrace, Variant
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.sweep.runs import fastest_text, runs_of
from jupyter_serprof.views.text import text

MS = 1_000_000
ALIAS = "zero-copy, aliases the original"
#: key -> its wall times, ms; the first run is the cold one.
Walls = dict[str, list[float]]


def sweep(walls: Walls, results: dict[str, str] | None = None, **options: Any) -> Sweep:
    """Return a round trip; a variant without runs has failed."""
    variants = tuple(
        Variant(
            key,
            key.title(),
            state="ok" if runs else "failed",
            result=(results or {}).get(key, "a copy, writeable"),
            facts={"is_alias": key in (results or {})},
        )
        for key, runs in walls.items()
    )
    points = tuple(
        Point(key, 9_430_000, at, at == 0, round(wall * MS), 8_000_200, {})
        for key, runs in walls.items()
        for at, wall in enumerate(runs)
    )
    return replace(Sweep(name="a", started="", variants=variants, points=points), **options)


def found_in(*rules: str, cold: bool = False, severity: str = "warn") -> SweepTrace:
    """Return a trace with findings of these rules, which point at its span."""
    findings = tuple(Finding(rule, severity, rule, {}, "", spans=(0,), share=0.5) for rule in rules)
    trace = replace(make_trace([("gc", "client/main", 0, 1)]), findings=findings)
    return SweepTrace("pickle", None, cold, trace)


@pytest.mark.parametrize(
    ("runs", "said", "cells"),
    [
        ({"pickle": [59, 58], "ray": [49, 20]}, "Pickle takes 58.0 ms", ["–", "–"]),  # noqa: RUF001
        (
            {"pickle": [59] * 4, "ray": [49] * 4, "cloud": [20] * 2},
            "Ray is 1.2× faster than pickle, 49.0 ms against 59.0 ms",  # noqa: RUF001
            ["1.2×", "1.0×", "–"],  # noqa: RUF001
        ),
        ({"pickle": [59, 58]}, "Pickle takes 58.0 ms", ["–"]),  # noqa: RUF001
        (
            {"pickle": [59] * 4, "ray": [99] * 4, "cloud": [20]},
            "Pickle takes 59.0 ms",
            ["1.0×", "1.7×"],  # noqa: RUF001
        ),
        (
            {"pickle": [9, 1140, 1830], "cloud": [9, 1970, 2340], "ray": [9, 173, 505]},
            "Ray takes 505 ms, Pickle 1.83 s, by uneven runs",
            ["3.6×?", "4.6×?", "1.0×"],  # noqa: RUF001
        ),
        (
            {"pickle": [17] * 4, "ray": [9, 7, 7, *[90] * 5], "cloud": [40] * 4},
            "Pickle takes 17.0 ms",
            ["1.0×", "‡", "2.4×"],  # noqa: RUF001
        ),
        (
            {"pickle": [17] * 4, "ray": [9, 7, 7, 7, 12, 12]},
            "Ray is fastest, 7.00 ms in 3 runs, 12.0 ms in 2",
            ["–", "‡"],  # noqa: RUF001
        ),
        (
            {"pickle": [9, *[7] * 3, *[12] * 3], "ray": [9, *[6] * 4, *[12] * 3]},
            "Pickle takes 7.00 ms in 3 runs, 12.0 ms in 3",
            ["‡", "‡"],
        ),
        (
            {"pickle": [9, *[8] * 3, *[17] * 4], "ray": [13] * 8},
            "Pickle takes 8.00 ms in 3 runs, 17.0 ms in 4",
            ["‡", "1.0×"],  # noqa: RUF001
        ),
        (
            {"pickle": [9] * 8, "ray": [9, *[8] * 5, *[13] * 2]},
            "Pickle takes 9.00 ms",
            ["–", "‡"],  # noqa: RUF001
        ),
    ],
)
def test_one_run_is_compared_with_nobody(
    runs: dict[str, list[float]], said: str, cells: list[str]
) -> None:
    """It says nothing of its noise; cold runs are always alone."""
    found = with_ranking(sweep(runs))
    bars = [run for variant in found.variants for run in runs_of(found, variant)]

    assert [fastest_text(bar) for bar in bars if not bar.cold] == cells
    assert {fastest_text(bar) for bar in bars if bar.cold} == {"–"}  # noqa: RUF001
    assert summarize_sweep(found).headline == f"`a`, 8.00 MB: {said}"
    assert ("a guess" in text(found)) == any("?" in cell for cell in cells)


FAILED = Variant("ray", "Ray", state="failed", reason="the store is full")
BOTH, AGAIN = sweep({"pickle": [40] * 4, "ray": [1] * 9}), sweep({"code": [30, 10, 10]})
SAMPLES = {
    "the fastest against pickle": sweep({"pickle": [40] * 6, "ray": [10.0] * 5 + [90]}),
    "within a tenth": sweep({"pickle": [10.9] * 4, "ray": [10] * 4}),
    "beyond a tenth": sweep({"pickle": [11.1] * 4, "ray": [10] * 4}),
    "pickle is the fastest": sweep({"pickle": [9] * 4, "ray": [10] * 4}),
    "the middle halves overlap": sweep(
        {"pickle": [9, 9, 18, 20, 22, 23], "ray": [9, 9, 14, 15, 19, 30]}
    ),
    "what aliases never wins": sweep(
        {"pickle": [40] * 3, "oob": [0.01] * 3, "ray": [10] * 3}, {"oob": ALIAS}
    ),
    "only aliases": sweep({"oob": [0.01] * 3, "ray": []}, {"oob": ALIAS}),
    "a first run of half more": sweep({"ray": [15, 10, 10, 10]}),
    "a first run of less than half more": sweep({"ray": [14.9, 10, 10, 10]}),
    "failures only": sweep({"pickle": [], "ray": []}),
    "nothing at all": sweep({}),
    "nothing but cold runs": sweep({"ray": [5], "pickle": [7]}),
    "runs of what failed do not win": replace(BOTH, variants=(BOTH.variants[0], FAILED)),
    "one warm run": sweep({"pickle": [1] * 2}),
    "as many warm runs of each": sweep({"pickle": [1] * 4, "ray": [1] * 4}),
    "3 to 8 warm runs": sweep({"pickle": [1] * 4, "ray": [1] * 9}),
    "an unknown rate is not zero": sweep({}, limits=Limits(12.9e9)),
}
REPEATS = {
    "three warm runs": sweep({"code": [30, 10, 12, 11]}),
    "two warm runs": sweep({"code": [30, 12, 10]}),
    "two groups": sweep({"code": [30, 200, 10, 10, 200]}),
    "once": sweep({"code": [30]}),
    "no cold run": replace(AGAIN, points=AGAIN.points[1:]),
    "interrupted at once": sweep({}),
}


def test_round_trips_and_repeats_are_told_in_words() -> None:
    found = {name: summarize_sweep(sweep) for name, sweep in SAMPLES.items()}
    found |= {f"code: {name}": summarize_repeats(sweep) for name, sweep in REPEATS.items()}

    check(
        "sweeps",
        {name: "\n".join((it.headline, *it.facts, *it.details)) for name, it in found.items()},
    )


def test_headline_and_rows_name_the_same_as_equal() -> None:
    """Cloud is no different from pickle, whose runs are wide, but is from Joblib: 1.7."""
    runs: Walls = {
        "pickle": [34, 20, 24, 34, 45, 60],
        "joblib": [40, *[25] * 5],
        "cloud": [60, *[42] * 5],
    }
    found = with_ranking(sweep(runs))
    bars = [run for variant in found.variants for run in runs_of(found, variant) if not run.cold]

    rows = {run.variant.title: fastest_text(run) for run in bars}

    assert rows == {"Pickle": "≈", "Joblib": "1.0×", "Cloud": "1.7×"}  # noqa: RUF001
    said = summarize_sweep(found).headline
    assert said == "`a`, 8.00 MB: Pickle takes 34.0 ms, Joblib cannot be told from it"


def test_the_warm_median_leaves_the_cold_run_out() -> None:
    found = sweep({"ray": [900, 10, 30, 20], "pickle": [900]})

    assert warm_text(found, "ray") == "20.0 ms"
    assert not warm_text(found, "pickle")
    assert not warm_text(found, "dask")


def test_findings_are_those_of_warm_traces_one_of_each_rule() -> None:
    """Cold-only causes are shown by the cold bars; warnings come first."""
    # The number of a span would name one in each of many traces: they point at none.
    traces = (
        found_in("ray.same-object", cold=True),
        found_in("a.note", severity="info"),
        found_in("pickle.in-band-copy", "memory.first-touch", "python.first-use-imports"),
        found_in("pickle.in-band-copy"),
    )

    found = [(found.rule, found.spans) for found in sweep_findings(sweep({}, traces=traces))]

    assert found == [("pickle.in-band-copy", ()), ("a.note", ())]


def test_what_a_transport_does_by_itself_is_no_advice() -> None:
    """Scatter and gather bring the value back: that it should stay on the workers is beside it."""
    gathered = replace(found_in("dask.large-gather"), variant="dask-scatter")

    assert sweep_findings(sweep({}, traces=(gathered,))) == ()
    assert len(sweep_findings(sweep({}, traces=(replace(gathered, variant="code"),)))) == 1


@pytest.mark.parametrize(
    ("seen", "title", "said"),
    [
        (("pickle",), "Many objects", "`a`, 8.00 MB: 31.0 ms, Many objects"),
        (("ray",), "Ray pickled 9", "`a`, 8.00 MB: Ray takes 95.0 ms, Ray pickled 9"),
        (("ray",), "`a` of 7.00 MB was sent", "`a` of 7.00 MB was sent: Ray takes 95.0 ms"),
        (("ray", "pickle"), "Many objects", "`a`, 8.00 MB: 31.0 ms, Many objects"),
        (("ray",), "Ray" * 22, f"`a`, 8.00 MB: 95.0 ms, {'Ray' * 22}"),
        (("oob",), "Many objects", "`a`, 8.00 MB: Pickle takes 31.0 ms, no way is faster"),
    ],
)
def test_the_time_of_a_cause_is_that_of_the_runs_in_which_it_was_seen(
    seen: tuple[str, ...], title: str, said: str
) -> None:
    """And of no variant that moved nothing; where there is room, the way is named."""
    traces = tuple(replace(found_in(title), variant=variant) for variant in seen)
    made = sweep({"pickle": [31] * 4, "ray": [95] * 4}, traces=traces)

    found = replace(made, findings=sweep_findings(made))

    assert summarize_sweep(found).headline == said


def test_the_finding_of_the_headline_comes_first() -> None:
    """The line to type below it is its own, not that of a warning about something else."""
    embedded = found_in("`w` is embedded", severity="info")
    said = replace(embedded.trace, summary=Summary("9 ms: `w` is embedded, 61 % of the time"))
    traces = (replace(embedded, trace=said), found_in("dask.main-functions"))

    found = with_findings(sweep({"pickle": [31] * 4}, traces=traces), summarize_repeats)

    assert [one.rule for one in found.findings] == ["`w` is embedded", "dask.main-functions"]
