"""The sentence above a sweep over sizes: who is fastest where, how each grows, what is missing."""

from dataclasses import replace

import pytest

from jupyter_serprof.analysis.sizes.crossovers import crossovers_of
from jupyter_serprof.analysis.sizes.words import best_stretches, growth_text, summarize_growth
from jupyter_serprof.model import Fit, Point, Sweep, Variant

MS = 1_000_000
SIZES = (1000, 10_000, 100_000, 1_000_000)
ALIAS = "zero-copy, aliases the original"
#: variant -> ms at each size; None where there is no point.
Times = dict[str, tuple[float | None, ...]]

LINE = Fit(variant="a", cold=False, from_bytes=1_000, to_bytes=10_000, growth="linear")


def a_sweep(
    times: Times,
    results: dict[str, str] | None = None,
    *,
    noise: float = 0.0,
    runs: int = 2,
    **options: object,
) -> Sweep:
    """Return a sweep with one cold run, ten times as slow, and some warm ones of each.

    ``noise`` is by how much, as a share, each second warm run is longer and each other one shorter.
    """
    points = tuple(
        Point(
            key,
            size,
            run,
            cold=run == 0,
            wall_ns=round(ms * MS * (10 if run == 0 else 1 - noise * (-1) ** run)),
            moved_bytes=size,
            stages={},
        )
        for key, row in times.items()
        for size, ms in zip(SIZES, row, strict=False)
        for run in range(1 + runs)
        if ms is not None
    )
    variants = tuple(
        Variant(key, key.title(), result=(results or {}).get(key, "")) for key in times
    )
    fields: dict[str, object] = {"variants": variants, "points": points} | options
    return Sweep(name="a", started="", kind="sweep", parameter="n", **fields)  # type: ignore[arg-type]  # its fields


def headline(times: Times, results: dict[str, str] | None = None) -> str:
    """Return the sentence."""
    return summarize_growth(a_sweep(times, results)).headline


def test_each_stretch_has_its_fastest_with_its_sizes() -> None:
    """Which transport, from which size on."""
    said = headline({"pickle": (1, 2, 30, 300), "ray": (3, 3, 4, 5)})

    assert said == (
        "a (1.00 kB to 1.00 MB): Pickle is the fastest up to 10.0 kB, Ray from 100 kB on."
    )


@pytest.mark.parametrize(
    ("times", "stretches"),
    [
        ({"a": (1, 1, 1, 1), "b": (1.05, 0.95, 1.05, 0.95)}, ["a"]),
        ({"a": (1, 2, 1, 1), "b": (2, 1, 2, 2)}, ["a"]),
        ({"a": (1, 1, 1, 2), "b": (2, 2, 2, 1)}, ["a", "b"]),
        ({"a": (1, None, None, None), "b": (2, 2, 2, 2)}, ["a", "b"]),
        ({"a": (1, 1, 5, 5), "b": (5, 5, 1, 1), "c": (9, 9, 9, 9)}, ["a", "b"]),
    ],
)
def test_one_size_within_the_noise_is_no_stretch(times: Times, stretches: list[str]) -> None:
    """Nobody is sent to another transport and back by one odd size."""
    assert [each.key for each in best_stretches(a_sweep(times, noise=0.05))] == stretches


@pytest.mark.parametrize(
    ("noise", "runs", "said"),
    [
        (0.3, 4, "no difference that matters between Pickle and Cloud."),
        (0.0, 1, "no difference that matters between Pickle and Cloud."),
        (0.01, 4, "Pickle is the fastest up to 10.0 kB, Cloud from 100 kB on."),
    ],
)
def test_the_headline_names_no_winner_that_the_crossovers_deny(
    noise: float, runs: int, said: str
) -> None:
    """Within the noise, or with a single run where the order turns round: both are named."""
    times: Times = {
        "pickle": (1, 2, 30, 300),
        "cloud": (1.2, 2.4, 25, 250),
        "ray": (9, 90, 99, 999),
    }
    sweep = a_sweep(times, noise=noise, runs=runs)

    headline = summarize_growth(sweep).headline
    crossings = [each for each in crossovers_of(sweep.points, sweep.variants) if not each.cold]

    assert headline.endswith(said)
    assert [each.from_bytes is None for each in crossings] == ["no difference" in said]


def test_who_is_ahead_within_the_noise_does_not_win() -> None:
    """The medians never change places, so that no crossover tells; the noise does."""
    close = summarize_growth(a_sweep({"a": (1, 1, 1, 1), "b": (1.1,) * 4}, noise=0.2)).headline
    once = summarize_growth(a_sweep({"a": (1, 1, 1, 1), "b": (2,) * 4}, runs=1)).headline
    late = summarize_growth(
        a_sweep({"a": (1, 1, 1, 9), "b": (1, 1, 1, 1), "c": (1, 1, 1, 1)}, noise=0.1)
    ).headline

    assert close.endswith(": no difference that matters between A and B.")
    assert once.endswith(": A is the fastest at every size, by one run at each.")
    assert late.endswith(
        ": no difference that matters between A, B and C up to 100 kB, "
        "no difference that matters between B and C from 1.00 MB on."
    )


def test_a_result_that_aliases_wins_nothing() -> None:
    """It moved nothing: the facts say so, and give it no rate."""
    line = replace(LINE, variant="oob", ns_per_byte=1e-5)
    times: Times = {"oob": (0.1,) * 4, "pickle": (1, 2, 3, 4)}
    sweep = a_sweep(times, {"oob": ALIAS}, fits=(line,))
    summary = summarize_growth(sweep)
    only = headline({"oob": (0.1,) * 4}, {"oob": ALIAS})

    assert summary.headline == (
        "a (1.00 kB to 1.00 MB): of those that move the bytes, Pickle is the fastest at every "
        "size; Oob gave the same memory back."
    )
    assert "Oob gave the same memory back, outside the ranking" in summary.facts
    assert not any("/s" in fact for fact in summary.facts)
    assert "hands the same memory back" in only


def test_one_variant_alone_is_told_by_its_ends() -> None:
    """How much longer for how many more bytes; cold runs are not mixed in."""
    assert headline({"code": (1, 2, 30, 500)}) == (
        "a (1.00 kB to 1.00 MB): 1.00 ms at 1.00 kB, 500 ms at 1.00 MB: "
        "500 times as long for 1,000 times the bytes."
    )


def test_growth_is_told_in_words_regime_by_regime() -> None:
    """With rate, exponent, the size where it ends and the cause where it is known."""
    head = replace(LINE, variant="pickle", from_bytes=1)
    fits = (
        replace(head, to_bytes=10_000, growth="constant", fixed_ns=5000.0),
        replace(head, to_bytes=100_000, ns_per_byte=0.5, cause="fresh pages"),
        replace(head, to_bytes=1_000_000, growth="superlinear", exponent=1.21),
        replace(head, stage="pickle.dumps"),
        replace(head, cold=True),
    )
    sweep = a_sweep({"pickle": (1, 2, 3, 4)}, fits=fits)

    said = growth_text(sweep, sweep.variants[0])

    assert said == (
        "Pickle: flat at 5.00 µs up to 10.0 kB, then in proportion to size at 2.00 GB/s up to "
        "100 kB (fresh pages), then grows faster than its size (power 1.21) up to 1.00 MB"
    )
    assert said in summarize_growth(sweep).facts


@pytest.mark.parametrize(
    ("fixed_ns", "said"),
    [
        (0.0, "in proportion to size at 2.00 GB/s up to 100 MB"),
        (40.0, "in proportion to size at 2.00 GB/s up to 100 MB"),
        (-9.0, "in proportion to size at 2.00 GB/s up to 100 MB"),
        (200.0, "200 ns plus 2.00 GB/s up to 100 MB"),
        (
            2e6,
            "2.00 ms plus 2.00 GB/s up to 100 MB; the rate takes over from about 4.00 MB on",
        ),
        (
            9e7,
            "90.0 ms plus 2.00 GB/s up to 100 MB; the fixed part is the larger one at every size",
        ),
    ],
)
def test_what_is_mostly_fixed_is_not_in_proportion(fixed_ns: float, said: str) -> None:
    """64 times the bytes in the same time are no rate: the fixed part is told, and its end."""
    line = replace(LINE, to_bytes=100_000_000, fixed_ns=fixed_ns, ns_per_byte=0.5)
    sweep = a_sweep({"a": (1, 2, 3, 4)}, fits=(line,))

    told = growth_text(sweep, sweep.variants[0])

    assert told == f"A: {said}"


def test_runs_without_sizes_are_counted_by_what_was_asked_for() -> None:
    """Two runs of each of five numbers are two, not ten."""
    points = tuple(
        Point("a", None, run, run == 0, 5, None, {}, parameter=float(n))
        for n in range(1, 6)
        for run in range(3)
    )

    facts = summarize_growth(a_sweep({"a": ()}, points=points)).facts

    assert "2 warm runs at each n, the first one apart" in facts


def test_what_is_missing_is_said() -> None:
    """Absent transports, sizes that failed, passes that the budget cut; and the seed."""
    variants = (
        Variant("pickle", "Pickle", notes=("failed at 1.00 MB: MemoryError", "comes back as x")),
        Variant("ray", "Ray", "not running", "Ray is not running."),
    )
    sweep = a_sweep({"pickle": (1, 2, 3, 4)}, variants=variants, environment={"seed": 7})

    facts = summarize_growth(sweep).facts

    assert "Ray: Ray is not running." in facts
    assert "Pickle: failed at 1.00 MB: MemoryError" in facts
    assert not any("comes back" in fact for fact in facts)
    assert any("2 warm runs at each size" in f and "(seed 7)" in f for f in facts)


def test_without_points_or_sizes_nothing_is_claimed() -> None:
    """An interrupt before the first point; code of which nobody saw bytes."""
    point = Point("code", None, 0, cold=True, wall_ns=5, moved_bytes=None, stages={})

    empty = summarize_growth(a_sweep({"pickle": ()})).headline
    unseen = summarize_growth(a_sweep({"code": ()}, points=(point,))).headline

    assert empty == "a: no run ended."
    assert unseen == "a: no bytes were seen to move, so there are no sizes."


def test_a_sweep_that_has_only_begun_says_so() -> None:
    """While the first pass runs there are no warm runs to count."""
    sweep = a_sweep({"pickle": (5, 6)})
    begun = replace(sweep, points=tuple(replace(point, cold=True) for point in sweep.points))

    facts = summarize_growth(begun).facts

    assert any(fact.startswith("only the first run at each size yet") for fact in facts), facts
