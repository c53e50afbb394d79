"""The ranking: what moved nothing stands outside, and small differences are none."""

import random
from dataclasses import replace

import pytest

from jupyter_serprof.analysis.ranking import matters, ranked_of, with_ranking
from jupyter_serprof.analysis.sizes.crossovers import crossovers_of
from jupyter_serprof.analysis.sizes.words import best_stretches
from jupyter_serprof.experiments.engine.document import summarize_sweep, with_findings
from jupyter_serprof.model import Limits, Point, Quality, Sweep, SweepTrace, Variant
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.sweep.runs import fastest_text, memcpy_text, runs_of
from jupyter_serprof.views.text import text

SIZE = 100_000_000
ALIAS = "some of it aliases the original"
#: key -> its warm wall times, µs, and its facts.
Made = dict[str, tuple[list[float], dict[str, "Scalar"]]]
MOVED: dict[str, Scalar] = {"shared_share": 0.0, "has_buffers": True}


def made(given: Made, size: int = SIZE, **fields: object) -> Sweep:
    """Return the finished document of runs with these times; the cold one is the first warm one."""
    sweep = Sweep(
        name="a",
        started="",
        variants=tuple(
            Variant(key, key, result=ALIAS * bool(facts["shared_share"]), facts=facts)
            for key, (_, facts) in given.items()
        ),
        points=tuple(
            Point(key, size, at, at == 0, round(wall * 1000), size, {})
            for key, (walls, _) in given.items()
            for at, wall in enumerate([walls[0], *walls])
        ),
    )
    return with_findings(replace(sweep, **fields), summarize_sweep)  # type: ignore[arg-type]


def reasons(sweep: Sweep) -> dict[str, str]:
    """Return why variants stand outside, by key."""
    return {variant.key: variant.unranked for variant in sweep.variants}


@pytest.mark.parametrize(
    ("key", "facts", "reason"),
    [
        ("dask", MOVED, ""),
        ("dask", {"shared_share": 0.1, "has_buffers": True}, ""),
        ("dask", {"shared_share": 1.0, "has_buffers": True}, "gave the same memory back"),
        (
            "dask",
            {"shared_share": 0.9, "has_buffers": True},
            "gave 90 % of it back in the same memory",
        ),
        ("dask", {"shared_share": 0.0, "has_buffers": False}, ""),
        ("pickle-oob", {"shared_share": 0.0, "has_buffers": False}, "did the same as pickle"),
    ],
)
def test_what_did_not_move_the_bytes_stands_outside(
    key: str, facts: dict[str, Scalar], reason: str
) -> None:
    """Its time wins nothing, in no place; the note says why."""
    found = made({"pickle": ([900] * 4, MOVED), key: ([1] * 4, facts)}, limits=Limits(None))

    own = found.variants[1]
    assert own.unranked.startswith(reason)
    assert bool(own.unranked) is bool(reason)
    assert [note for note in own.notes if note.startswith("not compared")] == (
        [f"not compared: it {own.unranked}"] if reason else []
    )
    assert found.summary is not None
    assert ("faster" in found.summary.headline) is not bool(reason)
    assert with_ranking(found) == found


@pytest.mark.parametrize(
    ("size", "wall_us", "has_buffers", "reason"),
    [
        (SIZE, 9_000, False, "took less than one memcpy of its bytes"),
        (SIZE, 11_000, False, ""),
        (1_000_000, 50, False, ""),
        # Ray copies with several threads: the addresses say that it did, so its rate says nothing.
        (SIZE, 1_000, True, ""),
    ],
)
def test_what_is_faster_than_a_copy_made_none(
    size: int, wall_us: float, has_buffers: bool, reason: str
) -> None:
    """Where no address tells; only of bytes that no cache holds."""
    facts: dict[str, Scalar] = {"shared_share": 0.0, "has_buffers": has_buffers}

    found = made({"kept": ([wall_us] * 4, facts)}, size, limits=Limits(1e10))

    assert reasons(found) == {"kept": reason}


@pytest.mark.parametrize(
    ("left", "right", "cost_ns", "is_told"),
    [
        *(([100], [109], 0, False), ([100], [112], 0, True), ([10_000], [12_000], 2_100, False)),
        ([10_000], [12_000], 1_900, True),
        ([100, 100, 100, 160], [150, 150, 150, 150], 0, False),
        ([100, 101, 160], [250, 251, 252], 0, False),
        ([100, 101, 160], [260, 261, 262], 0, True),
        ([100, 100, 100, 100, 160], [150] * 5, 0, True),
        ([100, 100, 100, 160, 160], [150] * 5, 0, False),
        ([100, 100, 100, 100, 100, 149, 900], [150] * 7, 0, True),
        ([100, 100, 100, 160, 160, 160, 160], [150] * 7, 0, False),
        ([100, 100, 160, 160], [150, 150, 150, 150], 0, False),
        ([100, 101, 160], [150, 150, 150], 0, False),
        ([100, 101, 102, 103, 104, 105, 4_000], [3_500, 3_600, 3_700], 0, True),
        ([100, 101, 102, 103, 104, 4_000, 4_000], [3_500, 3_600, 3_700], 0, False),
        ([116, 218, 1_020], [5_071, 1_839, 3_812], 0, True),
        ([116, 218, 1_020], [5_071, 1_019, 3_812], 0, False),
        ([200, 300, 600], [700, 800, 1_500], 0, False),
        ([100, 300], [700, 2_000], 0, False),
        ([*[4_000] * 6, 120], [450] * 7, 0, True),
        ([*[1_000] * 6, 120], [450] * 7, 0, False),
        ([100] * 4 + [1_000] * 3, [1_000] * 4 + [100] * 3, 0, False),
        ([100, 300], [1_000, 4_000], 0, True),
        ([0], [0], 0, False),
    ],
)
def test_a_difference_matters_beyond_noise_a_tenth_and_its_watching(
    left: list[int], right: list[int], cost_ns: int, is_told: bool
) -> None:
    assert matters(left, right, cost_ns) is matters(right, left, cost_ns) is is_told


def test_watching_costs_its_calls_in_this_process() -> None:
    """Headline, column and crossovers take a difference below that for none."""
    calls = [("pickle.dumps", "client/main", 0, 1), ("pickle.loads", "client/main", 1, 1)]
    trace = make_trace([*calls, ("ray.execute", "worker/1", 0, 1)])
    given: Made = {"pickle": ([10] * 4, MOVED), "ray": ([7.5] * 4, MOVED)}
    traces = (SweepTrace("ray", SIZE, cold=False, trace=trace),)

    told, costly = (
        made(given, quality=Quality(span_cost_ns=cost), traces=traces) for cost in (1_000, 1_400)
    )

    assert costly.variants[1].facts["watching_ns"] == 2_800
    assert told.summary
    assert costly.summary
    assert "ray is 1.3×" in told.summary.headline  # noqa: RUF001
    assert "ray cannot be told from it" in costly.summary.headline
    assert [each.peers for each in best_stretches(costly)] == [("pickle",)]
    assert [each.peers for each in best_stretches(told)] == [()]
    looped = tuple(replace(point, loops=9) for point in costly.points)  # without a recording
    assert "watching_ns" not in with_ranking(replace(costly, points=looped)).variants[1].facts


def test_the_column_says_nothing_of_what_moved_nothing() -> None:
    """A ratio to the fastest of those that moved it; where it does not matter, it says so."""
    shared: dict[str, Scalar] = {"shared_share": 1.0, "has_buffers": True}
    sweep = made(
        {
            "pickle": ([100] * 4, MOVED),
            "oob": ([1] * 4, shared),
            "ray": ([105] * 4, MOVED),
            "dask": ([250] * 4, MOVED),
        },
        1_000_000,
        limits=Limits(1e9),
    )
    runs = [run for variant in sweep.variants for run in runs_of(sweep, variant)]

    cells = {run.variant.key: fastest_text(run) for run in runs if not run.cold}

    copies = [memcpy_text(sweep, run) for run in runs if not run.cold]
    assert copies == ["0.1×", "–", "0.1×", "0.2×"]  # noqa: RUF001
    assert cells == {"pickle": "1.0×", "oob": "–", "ray": "≈", "dask": "2.5×"}  # noqa: RUF001
    assert "≈ as fast as the fastest" in text(sweep)
    assert [variant.key for variant in ranked_of(sweep.variants)] == ["pickle", "ray", "dask"]


def test_what_moved_nothing_crosses_nobody() -> None:
    shared: dict[str, Scalar] = {"shared_share": 1.0, "has_buffers": True}
    small = made({"oob": ([5] * 4, shared), "pickle": ([1] * 4, MOVED)}, 1_000)
    large = made({"oob": ([5] * 4, shared), "pickle": ([900] * 4, MOVED)}, SIZE)

    both = with_findings(replace(small, points=small.points + large.points), summarize_sweep)

    assert both.crossovers == ()
    assert len(crossovers_of(both.points, both.variants)) == 1
    assert [each.key for each in best_stretches(both)] == ["pickle"]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 15])
def test_runs_of_the_same_work_are_seldom_told_apart(count: int) -> None:
    """Of wide spread: one time in a hundred, of two runs one in twenty; not ten times the work."""
    draw = random.Random(count)  # noqa: S311  (noise, no secret)
    pairs = [
        [[int(1e6 * draw.lognormvariate(0, 0.3)) for _ in range(count)] for _ in range(2)]
        for _ in range(1000)
    ]

    same = sum(matters(one, other) for one, other in pairs)
    doubled = sum(matters(one, [10 * ns for ns in other]) for one, other in pairs)

    assert same <= (60 if count == 2 else 15)
    assert doubled > 900


def test_two_sides_have_the_verdict_of_their_pairs_and_no_other() -> None:
    """Beside "1.1 times slower" of pairs in turns, the runs alone would say "as fast"."""
    sides = made({"before": ([10.0] * 9, MOVED), "after": ([10.2] * 9, MOVED)})

    assert (
        "vs_fastest" in made({"a": ([10.0] * 9, MOVED), "b": ([10.2] * 9, MOVED)}).variants[0].facts
    )
    assert not any("vs_fastest" in variant.facts for variant in sides.variants)


def test_a_way_that_did_the_same_may_be_shorter_by_noise_only() -> None:
    """Its row is in the table below, so the headline says what the difference is."""
    same: dict[str, Scalar] = {"shared_share": 0.0, "has_buffers": False}
    given: Made = {"pickle": ([100.0] * 9, MOVED), "ray": ([300.0] * 9, MOVED)}

    assert made(given).summary.headline.endswith("no way is faster")  # type: ignore[union-attr]
    given["pickle-oob"] = [90.0] * 9, same
    assert made(given).summary.headline.endswith("is faster beyond the noise")  # type: ignore[union-attr]
