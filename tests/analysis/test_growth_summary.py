"""The sentence above a sweep over sizes: which is the fastest where, and what is missing."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from goldens import check

from jupyter_serprof.analysis.sizes.crossovers import crossovers_of
from jupyter_serprof.analysis.sizes.words import best_stretches, medians_of, summarize_growth
from jupyter_serprof.model import Point, Sweep, Variant

MS = 1_000_000
SIZES = (1000, 10_000, 100_000, 1_000_000)
#: variant -> ms at each size; None where there is no point.
Times = dict[str, tuple[float | None, ...]]


def a_sweep(
    times: Times,
    aliases: tuple[str, ...] = (),
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
    variants = tuple(Variant(key, key.title(), facts={"is_alias": key in aliases}) for key in times)
    fields: dict[str, object] = {"name": "a", "variants": variants, "points": points} | options
    return Sweep(started="", kind="sweep", parameter="n", **fields)  # type: ignore[arg-type]  # its fields


def numbered(count: int) -> tuple[Point, ...]:
    """Return three runs of each of so many numbers, whose bytes nobody saw."""
    return tuple(
        Point("a", None, run, run == 0, 5, None, {}, parameter=float(n))
        for n in range(1, 1 + count)
        for run in range(3)
    )


BEGUN = a_sweep({"pickle": (5, 6)})
AHEAD: Times = {"a": (1, 1, 1, 9), "b": (1, 1, 1, 1), "c": (1, 1, 1, 1)}
ABSENT = (
    Variant("pickle", "Pickle", notes=("failed at 1.00 MB: MemoryError", "comes back as x")),
    Variant("ray", "Ray", "not running", "Ray is not running."),
)
SAMPLES = {
    "each stretch has its fastest": a_sweep({"pickle": (1, 2, 30, 300), "ray": (3, 3, 4, 5)}),
    "within the noise nobody wins": a_sweep({"a": (1,) * 4, "b": (1.1,) * 4}, noise=0.2),
    "one run at each size": a_sweep({"a": (1,) * 4, "b": (2,) * 4}, runs=1),
    "its own table denies a stretch": a_sweep(
        {"pickle": (1, 2, 3, 191), "arrow": (5, 0.5, 0.5, 309), "cloud": (5, 9, 4, 149)}, noise=0.4
    ),
    "one falls behind late": a_sweep(AHEAD, noise=0.1),
    "too slow at one size": a_sweep({"a": (1, 1.4), "b": (1.3, 2), "c": (1.2, 1)}, noise=0.5),
    "what aliases wins nothing": a_sweep({"oob": (0.1,) * 4, "pickle": (1, 2, 3, 4)}, ("oob",)),
    "what aliases, alone": a_sweep({"oob": (0.1,) * 4}, ("oob",)),
    "one alone is told by its ends": a_sweep({"code": (1, 2, 30, 500)}),
    "one alone with a long name": a_sweep({"code": (1, 2, 30, 500)}, name="a" * 25),
    "too long": a_sweep({"a" * 40: (1, 9, 9, 9), "b" * 40: (9, 1, 1, 9), "c": (9, 9, 9, 1)}),
    "runs counted by what was asked for": a_sweep({"a": ()}, points=numbered(5)),
    "absent, failed, and the seed": a_sweep(
        {"pickle": (1, 2, 3, 4)}, variants=ABSENT, environment={"seed": 7}
    ),
    "no run ended": a_sweep({"pickle": ()}),
    "no bytes were seen": a_sweep({"a": ()}, points=numbered(1)[:1]),
    "only begun": replace(BEGUN, points=tuple(replace(each, cold=True) for each in BEGUN.points)),
}


def test_growth_is_told_in_words() -> None:
    found = {name: summarize_growth(sweep) for name, sweep in SAMPLES.items()}

    told = {name: (it.headline, *it.facts, *it.details) for name, it in found.items()}
    check("growth", {name: "\n".join(lines) for name, lines in told.items()})


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
        (0.3, 4, "`a`: Pickle or Cloud is fastest"),
        (0.0, 1, "`a`: Pickle or Cloud is fastest"),
        (0.01, 4, "`a`: Pickle is fastest up to 10.0 kB, Cloud from 100 kB on"),
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

    crossings = [each for each in crossovers_of(sweep.points, sweep.variants) if not each.cold]

    assert summarize_growth(sweep).headline == said
    assert bool(crossings) is (" or " not in said)


@pytest.mark.parametrize("noise", [0.02, 0.4])
def test_the_medians_bear_out_who_is_named_the_fastest(noise: float) -> None:
    """However uneven the runs are; and a crossover has the sizes of the headline."""
    for seed in range(150):
        draw = random.Random(seed)  # noqa: S311  (simulation)
        drawn = (
            tuple(ms * draw.lognormvariate(0, 0.7) for ms in (1, 2, 30, 300)) for _ in range(3)
        )
        sweep = a_sweep(dict(zip("abc", drawn, strict=True)), noise=noise, runs=3)
        told, medians = best_stretches(sweep), medians_of(sweep)

        near = [
            min(medians[key][size] for key in (each.key, *each.peers))
            <= 1.5 * min(own[size] for own in medians.values())
            for each in told
            for size in SIZES
            if each.from_bytes <= size <= each.to_bytes
        ]

        assert all(near) if len(told) > 1 else 2 * sum(near) > len(near)
        crossings = crossovers_of(sweep.points, sweep.variants)
        told = best_stretches(replace(sweep, crossovers=crossings))
        turns = [(one.to_bytes, other.from_bytes) for one, other in pairwise(told)]
        assert all(turn.cold or (turn.from_bytes, turn.to_bytes) in turns for turn in crossings)
