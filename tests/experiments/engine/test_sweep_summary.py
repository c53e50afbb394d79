"""The sentence above a round trip: who is fastest, against what, and what is not claimed."""

from dataclasses import replace

import pytest

from jupyter_serprof.experiments.engine.words import (
    summarize_repeats,
    summarize_sweep,
    sweep_findings,
    warm_ns,
)
from jupyter_serprof.model import Finding, Limits, Point, Sweep, SweepTrace, Variant
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.sweep.runs import fastest_text, runs_of
from jupyter_serprof.views.text import text

MS = 1_000_000
ALIAS = "zero-copy, aliases the original"
#: key -> its wall times, ms; the first run is the cold one.
Walls = dict[str, list[float]]


def sweep(walls: Walls, results: dict[str, str] | None = None, **options: object) -> Sweep:
    """Return a round trip; a variant without runs has failed."""
    variants = tuple(
        Variant(
            key,
            key.title(),
            state="ok" if runs else "failed",
            result=(results or {}).get(key, "a copy, writeable"),
        )
        for key, runs in walls.items()
    )
    points = tuple(
        Point(key, 8_000_000, at, at == 0, round(wall * MS), 8_000_200, {})
        for key, runs in walls.items()
        for at, wall in enumerate(runs)
    )
    plain = Sweep(name="a", started="", variants=variants, points=points)
    return _replaced(plain, options)


def _replaced(plain: Sweep, options: dict[str, object]) -> Sweep:
    fields = {name: getattr(plain, name) for name in ("name", "started", "variants", "points")}
    return Sweep(**(fields | options))


def headline(walls: Walls, results: dict[str, str] | None = None) -> str:
    """Return the sentence above a round trip."""
    return summarize_sweep(sweep(walls, results)).headline


def found_in(*rules: str, cold: bool = False, severity: str = "warn") -> SweepTrace:
    """Return a trace with findings of these rules, which point at its span."""
    findings = tuple(Finding(rule, severity, rule, {}, "", spans=(0,)) for rule in rules)
    trace = replace(make_trace([("gc", "client/main", 0, 1)]), findings=findings)
    return SweepTrace("pickle", None, cold, trace)


def test_the_fastest_is_compared_with_pickle() -> None:
    """By its warm median, with the ratio to plain pickle."""
    said = headline({"pickle": [40] * 4, "ray": [10, 10, 10, 10, 10, 90]})

    assert said == "a (8.00 MB): Ray moves it in 10.0 ms, 4.0× faster than pickle in-band."  # noqa: RUF001


def test_headline_and_rows_name_the_same_as_equal() -> None:
    """Cloud is no different from pickle, whose runs are wide, but is from Joblib: 1.7."""
    found = sweep(
        {
            "pickle": [34, 20, 24, 34, 45, 60],
            "joblib": [40, 25, 25, 25, 25, 25],
            "cloud": [60, 42, 42, 42, 42, 42],
        }
    )
    runs = [run for variant in found.variants for run in runs_of(found, variant) if not run.cold]

    rows = {run.variant.title: fastest_text(run, runs) for run in runs}

    assert rows == {"Pickle": "≈", "Joblib": "1.0×", "Cloud": "1.7×"}  # noqa: RUF001
    said = summarize_sweep(found).headline
    assert said == "a (8.00 MB): Pickle moves it in 34.0 ms; no difference that matters to Joblib."


@pytest.mark.parametrize(
    ("runs", "said", "cells"),
    [
        (
            {"pickle": [59, 58], "ray": [49, 20]},
            "Pickle moves it in 58.0 ms; one run each, no comparison.",
            ["1 run"] * 4,
        ),
        (
            {"pickle": [59] * 4, "ray": [49] * 4, "cloud": [20] * 2},
            (
                "Ray moves it in 49.0 ms, 1.2× faster than pickle in-band; "  # noqa: RUF001
                "of Cloud there is one run, no comparison."
            ),
            ["1 run", "1.2×", "1 run", "1.0×", "1 run", "1 run"],  # noqa: RUF001
        ),
        ({"pickle": [59, 58]}, "Pickle moves it in 58.0 ms.", ["1.0×", "1.0×"]),  # noqa: RUF001
    ],
)
def test_one_run_is_compared_with_nobody(
    runs: dict[str, list[float]], said: str, cells: list[str]
) -> None:
    """It says nothing of its noise; cold runs are always alone."""
    found = sweep(runs)
    bars = [run for variant in found.variants for run in runs_of(found, variant)]

    assert [fastest_text(bar, bars) for bar in bars] == cells
    assert summarize_sweep(found).headline == f"a (8.00 MB): {said}"
    assert ("1 run: no comparison" in text(found)) == ("1 run" in cells)


@pytest.mark.parametrize(
    ("pickle_ms", "ray_ms", "said"),
    [
        ([10.9] * 3, [10] * 3, "Pickle moves it in 10.9 ms; no difference that matters to Ray."),
        ([11.1] * 3, [10] * 3, "Ray moves it in 10.0 ms, 1.1× faster than pickle in-band."),  # noqa: RUF001
        ([9] * 3, [10] * 3, "Pickle moves it in 9.00 ms."),
        (
            [9, 18, 20, 22, 23],
            [9, 14, 15, 19, 30],
            "Pickle moves it in 20.0 ms; no difference that matters to Ray.",
        ),
    ],
)
def test_a_difference_that_does_not_matter_goes_to_plain_pickle(
    pickle_ms: list[float], ray_ms: list[float], said: str
) -> None:
    """Within a tenth, or where the middle halves overlap: nobody is sent to another library."""
    walls: Walls = {"pickle": [*pickle_ms[:1], *pickle_ms], "ray": [*ray_ms[:1], *ray_ms]}

    assert headline(walls) == f"a (8.00 MB): {said}"


def test_a_transport_that_aliases_never_wins() -> None:
    """Handing over the same memory moves nothing, however fast."""
    said = headline({"pickle": [40] * 3, "oob": [0.01] * 3, "ray": [10] * 3}, {"oob": ALIAS})

    assert said == (
        "a (8.00 MB): Ray moves it in 10.0 ms, 4.0× faster than pickle in-band; "  # noqa: RUF001
        "Oob gave the same memory back."
    )


def test_only_aliases_are_told_as_such() -> None:
    """Where nothing was moved nobody is said to have moved it."""
    said = headline({"oob": [0.01] * 3, "ray": []}, {"oob": ALIAS})

    assert said == "a (8.00 MB): no transport could move it; Oob gave the same memory back."


@pytest.mark.parametrize(("cold_ms", "said"), [(14.9, ""), (15, "; the first time took 15.0 ms")])
def test_a_slow_first_run_is_told_apart(cold_ms: float, said: str) -> None:
    """From half more than the warm median on; it is never averaged with the others."""
    found = headline({"ray": [cold_ms, 10, 10, 10]})

    assert found == f"a (8.00 MB): Ray moves it in 10.0 ms{said}."


@pytest.mark.parametrize("walls", [{"pickle": [], "ray": []}, {}, {"ray": [5]}])
def test_without_a_warm_run_nobody_moved_it(walls: Walls) -> None:
    """Failures only, or nothing but a cold run: no transport is recommended."""
    assert headline(walls).endswith("no transport could move it.")


def test_a_transport_that_failed_does_not_win_by_the_runs_before() -> None:
    """Runs of a variant that is not ok are in the points, not in the sentence."""
    both = sweep({"pickle": [40] * 4, "ray": [1] * 9})
    failed = Variant("ray", "Ray", state="failed", reason="the store is full")
    broken = _replaced(both, {"variants": (both.variants[0], failed)})

    found = summarize_sweep(broken)

    assert found.headline == "a (8.00 MB): Pickle moves it in 40.0 ms."
    assert found.facts == ("median of 3 warm runs; the first run is shown apart",)


@pytest.mark.parametrize(
    ("walls", "said"),
    [
        ({"pickle": [1] * 2}, "median of 1 warm run; the first run is shown apart"),
        (
            {"pickle": [1] * 4, "ray": [1] * 4},
            "median of 3 warm runs; the first run is shown apart",
        ),
        (
            {"pickle": [1] * 4, "ray": [1] * 9},
            "median of 3 to 8 warm runs; the first run is shown apart",
        ),
    ],
)
def test_the_number_of_warm_runs_is_told(walls: Walls, said: str) -> None:
    """How many points are behind a median."""
    assert summarize_sweep(sweep(walls)).facts == (said,)


def test_the_machine_is_named_when_it_was_measured() -> None:
    """An unknown first-touch rate is unknown, not zero."""
    facts = summarize_sweep(sweep({}, limits=Limits(12.9e9))).facts

    assert facts == ("memcpy here 12.9 GB/s, n/a into new pages",)


def test_the_warm_median_leaves_the_cold_run_out() -> None:
    """And is unknown without warm runs."""
    found = sweep({"ray": [900, 10, 30, 20], "pickle": [900]})

    assert warm_ns(found, "ray") == 20 * MS
    assert warm_ns(found, "pickle") is None
    assert warm_ns(found, "dask") is None


@pytest.mark.parametrize(
    ("walls", "said"),
    [
        ([30, 10, 12, 11], "a took 30.0 ms the first time and 11.0 ms again."),
        ([30, 12, 10], "a took 30.0 ms the first time and 10.0 ms again."),
        (
            [30, 200, 10, 10, 200],
            "a took 30.0 ms the first time and 10.0 ms in 2 runs, 200 ms in 2 again.",
        ),
        ([30], "a took 30.0 ms the first time."),
    ],
)
def test_code_that_ran_again_is_told_cold_and_warm(walls: list[float], said: str) -> None:
    """The first time and a run of the others, never a mean, and both groups where there are two."""
    assert summarize_repeats(sweep({"code": walls})).headline == said


def test_repeats_without_a_cold_run_do_not_claim_one() -> None:
    """Unknown is not told as a number."""
    both = sweep({"code": [30, 10, 10]})

    found = summarize_repeats(_replaced(both, {"points": both.points[1:]}))

    assert found.headline == "a took 10.0 ms again."


def test_repeats_without_any_run_still_have_a_sentence() -> None:
    """Interrupted at once: the name, and that nothing was measured."""
    assert summarize_repeats(sweep({})).headline == "a: no run ended."


def test_findings_are_those_of_warm_traces_one_of_each_rule() -> None:
    """Cold-only causes are shown by the cold bars; warnings come first."""
    traces = (
        found_in("ray.same-object", cold=True),
        found_in("a.note", severity="info"),
        found_in("pickle.in-band-copy", "memory.first-touch", "python.first-use-imports"),
        found_in("pickle.in-band-copy"),
    )

    rules = [found.rule for found in sweep_findings(sweep({}, traces=traces))]

    assert rules == ["pickle.in-band-copy", "a.note"]


def test_findings_of_a_sweep_point_at_no_span() -> None:
    """A sweep has many traces: the number of a span would name one in each."""
    (found,) = sweep_findings(sweep({}, traces=(found_in("ray.same-object"),)))

    assert found.spans == ()
