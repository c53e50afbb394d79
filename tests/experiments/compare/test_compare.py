"""Comparing two documents: verdicts that hold, and what is said where there can be none."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest

from jupyter_serprof.analysis import analyse
from jupyter_serprof.experiments.compare.limit import check
from jupyter_serprof.experiments.compare.samples import NO_CONTROL
from jupyter_serprof.experiments.compare.statistics import _cut, _signed_cut, paired_shift, shift_of
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.model import Change, Point, RegressionError, Sweep, Trace, UsageError, Variant
from jupyter_serprof.model.trace import TIMES_APART
from jupyter_serprof.testing import make_trace

MS = 1_000_000
STAGES = {"pickle.dumps": 0.6, "pickle.loads": 0.3}
#: A machine that stayed as it was.
STEADY = {"pickle": (MS,) * 10}


def walls(seed: str, factor: float = 1.0, count: int = 15, noise: float = 0.03) -> list[int]:
    """Return wall times of about 10 ms times a factor, ns."""
    draw = random.Random(seed)  # noqa: S311  (simulation)
    return [round(10 * MS * factor * draw.lognormvariate(0, noise)) for _ in range(count)]


def points(
    times: Sequence[int], variant: str = "code", size: int | None = None, *, cold: bool = False
) -> tuple[Point, ...]:
    """Return runs whose stages take their usual shares."""
    return tuple(
        Point(variant, size, at, cold, ns, None, {key: int(ns * s) for key, s in STAGES.items()})
        for at, ns in enumerate(times)
    )


def sweep(*runs: tuple[Point, ...], name: str = "f()", **facts: object) -> Sweep:
    found = tuple(point for each in runs for point in each)
    variants = tuple(Variant(key, key.title()) for key in dict.fromkeys(p.variant for p in found))
    plain = Sweep(name=name, started="", variants=variants, points=found, control=STEADY)
    return replace(plain, **facts)  # type: ignore[arg-type]


def trace(*, name: str = "f()", wall_ms: float = 10, outcome: str = "ok") -> Trace:
    """Return one run of a pickle and an unpickle."""
    spans = [("pickle.dumps", "client/main", 0, 4), ("pickle.loads", "client/main", 5, 3)]
    return analyse(make_trace(spans, name=name, wall_ms=wall_ms, outcome=outcome))


def line(changes: Sequence[Change], stage: str) -> Change:
    (found,) = [change for change in changes if change.stage == stage]
    return found


# The statistics


@pytest.mark.parametrize(("before", "after"), [(4, 4), (5, 3), (6, 6)])
def test_the_interval_is_that_of_the_exact_mann_whitney_test(before: int, after: int) -> None:
    """Counted over every order in which the runs of two equal samples can come."""
    ranks = range(before + after)
    below = [
        sum(one < other for one, other in product(chosen, set(ranks) - set(chosen)))
        for chosen in combinations(ranks, before)
    ]

    cut = _cut(before, after, 0.05)

    at_most = [sum(u <= k for u in below) / len(below) for k in range(before * after)]
    assert cut == sum(share <= 0.025 for share in at_most)


def test_the_paired_interval_is_that_of_the_exact_signed_rank_test() -> None:
    """Counted over every way in which the signs of eight pairs can fall."""
    sums = [
        sum(rank for rank, sign in zip(range(1, 9), signs, strict=True) if sign)
        for signs in product((False, True), repeat=8)
    ]

    cut = _signed_cut(8, 0.05)

    at_most = [sum(s <= k for s in sums) / len(sums) for k in range(37)]
    assert cut == sum(share <= 0.025 for share in at_most)


def test_pairs_are_joined_by_the_means_of_all_two_of_them() -> None:
    """Each with itself, too (Walsh averages): three pairs have six."""
    before, after = [1000.0] * 3, [1000 * math.exp(log) for log in (0, 1, 5)]

    found = paired_shift(before, after)

    assert found.value == pytest.approx((1 + 2.5) / 2)  # of 0, 0.5, 1, 2.5, 3 and 5


def test_a_ratio_is_the_same_whichever_side_is_first() -> None:
    """1.25 times slower one way is 0.8 times the other way, ends included."""
    one, other = walls("one"), walls("other", 1.25)

    there, back = shift_of(one, other), shift_of(other, one)

    assert there.low is not None
    assert there.high is not None
    assert back.low is not None
    assert there.value == pytest.approx(-back.value)
    assert there.high == pytest.approx(-back.low)
    assert there.low < math.log(1.25) < there.high


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_runs_have_a_ratio_and_no_interval(count: int) -> None:
    """No order of three and three runs is rarer than one in twenty."""
    found = shift_of(walls("a", count=count), walls("b", count=count))

    assert (found.low, found.high, found.factor) == (None, None, 1)


def test_many_runs_are_compared_in_a_moment() -> None:
    """A thousand runs on each side do not make a million pairs."""
    found = shift_of(walls("a", count=1000), walls("b", 1.02, count=1000))

    assert found.factor > 1
    assert found.value == pytest.approx(math.log(1.02), abs=0.01)


def test_pairs_cancel_what_both_sides_drift() -> None:
    """A machine that slows down by half in between does not hide a tenth."""
    slowing = [round(10 * MS * (1 + at / 30)) for at in range(15)]

    paired = paired_shift(slowing, [round(ns * 1.1) for ns in slowing])
    apart = shift_of(slowing, [round(ns * 1.1) for ns in slowing])

    assert paired.factor > 1
    assert apart.factor == 1


# Verdicts


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.5, "slower"), (0.6, "faster"), (1.0, "cannot tell")]
)
def test_a_change_has_its_verdict_and_the_same_code_has_none(factor: float, verdict: str) -> None:
    """Fifteen runs at 3 % noise; the interval holds the truth, and stages are judged, too."""
    before, after = sweep(points(walls("a"))), sweep(points(walls("b", factor)))

    found = compare(before, after)

    wall = found.changes[0]
    assert [change.stage for change in found.changes] == ["", *STAGES, "unaccounted"]
    assert {change.verdict for change in found.changes} == {verdict}
    assert wall.low is not None
    assert wall.high is not None
    assert wall.low < factor < wall.high
    assert [c.ratio for c in found.changes] == [
        (c.after_ns or 0) / (c.before_ns or 1) for c in found.changes
    ]
    assert bool(wall.reason) is (verdict == "cannot tell")
    assert found.noise_share is None


@pytest.mark.parametrize("is_paired", [True, False])
def test_two_hundred_comparisons_of_the_same_raise_at_most_four_alarms(*, is_paired: bool) -> None:
    """False alarms of the wall time, and of any stage, stay at 2 %; drift included, 20 % noise."""
    pairs = []
    for seed in range(200):
        wide = walls(f"{seed}", count=30, noise=0.2)
        drifting = [round(ns * (1 + at / 500)) for at, ns in enumerate(wide)]
        apart, in_turns = (drifting[:15], drifting[15:]), (drifting[::2], drifting[1::2])
        pairs.append([sweep(points(side)) for side in (in_turns if is_paired else apart)])

    found = [compare(before, after, is_paired=is_paired) for before, after in pairs]

    told = [{c.stage for c in each.changes if c.verdict != "cannot tell"} for each in found]
    assert sum(bool(stages) for stages in told) <= 4


def test_a_tenth_is_found_in_turns_in_nine_of_ten() -> None:
    found = [
        compare(
            sweep(points(walls(f"a{i}"))), sweep(points(walls(f"b{i}", 1.1))), is_paired=True
        ).changes[0]
        for i in range(100)
    ]

    assert sum(change.verdict == "slower" for change in found) >= 90


def test_many_lines_need_stronger_evidence() -> None:
    """One line that chance lets through among many is no verdict."""
    fine = [100, 101, 102, 103, 104, 105]
    slow = [104, 105, 106, 107, 108, 109]
    same = {f"v{at}": fine for at in range(19)}
    before = sweep(
        *(points([MS * t for t in ts], key, 8) for key, ts in {**same, "x": fine}.items())
    )
    after = sweep(
        *(points([MS * t for t in ts], key, 8) for key, ts in {**same, "x": slow}.items())
    )

    alone = compare(sweep(points([MS * t for t in fine])), sweep(points([MS * t for t in slow])))
    among = [c for c in compare(before, after).changes if c.variant == "x" and not c.stage]

    assert "chance, among" not in alone.changes[0].reason
    assert alone.changes[0].low == among[0].low
    assert among[0].verdict == "cannot tell"
    assert among[0].reason == "chance, among 20 lines"


def test_a_single_cold_run_makes_no_other_test_stricter() -> None:
    """Four and four warm runs that do not overlap are enough, beside whatever cannot be tested."""
    cold = points([90 * MS], cold=True)
    fine, slow = [100, 101, 102, 103], [200, 201, 202, 203]

    found = compare(
        sweep(cold, points([MS * t for t in fine])), sweep(cold, points([MS * t for t in slow]))
    )

    assert [c.verdict for c in found.changes if not c.stage] == ["cannot tell", "slower"]


def test_runs_in_turns_need_no_fixed_work_beside_them() -> None:
    """Documents of another time do: without it there is no verdict, and that is said."""
    before, after = (replace(sweep(points(walls("a", by))), control={}) for by in (1, 3))

    apart, in_turns = compare(before, after), compare(before, after, is_paired=True)

    assert apart.changes[0].ratio == pytest.approx(3)
    assert {(c.verdict, c.reason) for c in apart.changes} == {("cannot tell", NO_CONTROL)}
    assert apart.notes == (TIMES_APART,)
    assert {change.verdict for change in in_turns.changes} == {"slower"}
    assert in_turns.notes == ()


def test_a_limit_is_broken_by_pairs_that_are_too_few_for_a_verdict() -> None:
    """Each of six was three times slower; of five there is no interval, which is an error."""
    few, none = (
        compare(
            *(sweep(points([99], cold=True), points([MS * by] * n)) for by in (5, 15)),
            is_paired=True,
        )
        for n in (6, 5)
    )

    said = "6 runs before and 6 after are too few for a verdict, which needs 8. Run each side again"
    with pytest.raises(RegressionError, match=rf"Wall time 3.00 .*, {said}"):
        check(few, "10%")
    assert check(few, "250%") == ""
    with pytest.raises(UsageError, match="judge by: 5 runs before and 5 after are too few"):
        check(none, "10%")


# What is compared with what


def test_points_are_compared_by_variant_size_and_heat() -> None:
    """Cold runs never mix with warm ones, and sizes not with each other."""
    cold = points([90 * MS], "ray", 8, cold=True)
    before = sweep(cold, points(walls("a"), "ray", 8), points(walls("b"), "ray", 80))
    after = sweep(points(walls("c", 2), "ray", 8), cold, points(walls("d"), "ray", 800))

    found = compare(before, after)

    wall = {(c.size_bytes, c.cold): c for c in found.changes if not c.stage}
    assert set(wall) == {(8, True), (8, False)}
    assert wall[8, True].verdict == "cannot tell"
    assert wall[8, True].reason.startswith("1 run before and 1 after are too few")
    assert wall[8, False].verdict == "slower"
    assert found.notes[:-1] == (
        (
            "not in both, so not compared: Ray at 80 B, warm (only before), "
            "Ray at 800 B, warm (only after)"
        ),
    )


def test_two_single_runs_have_a_ratio_and_no_verdict() -> None:
    """One run says nothing about chance; the reason says how to get more."""
    found = compare(trace(), trace(wall_ms=20))

    wall = found.changes[0]
    assert wall.ratio == pytest.approx(2)
    assert (wall.low, wall.verdict) == (None, "cannot tell")
    assert "--repeat 15" in wall.reason
    assert line(found.changes, "pickle.dumps").ratio == pytest.approx(1)
    assert line(found.changes, "unaccounted").after_ns == 13 * MS


def test_one_run_is_set_against_the_warm_ones() -> None:
    """A document of a single run and repeats of the same code have something in common."""
    repeats = sweep(points([99 * MS], cold=True), points([5 * MS] * 15))

    there, back = compare(trace(), repeats), compare(repeats, trace())

    assert there.changes[0].ratio == pytest.approx(0.5)
    assert back.changes[0].ratio == pytest.approx(2)
    assert (there.changes[0].before_runs, there.changes[0].after_runs) == (1, 15)


def test_a_stage_of_one_side_is_only_before_or_only_after() -> None:
    before, after = (
        sweep(tuple(replace(p, stages={key: MS, "pickle.loads": MS}) for p in points(walls("a"))))
        for key in ("pickle.dumps", "ray.store")
    )

    changes = compare(before, after).changes

    assert line(changes, "pickle.dumps").verdict == "only before"
    assert line(changes, "ray.store").verdict == "only after"
    assert line(changes, "ray.store").ratio is None
    assert line(changes, "ray.store").before_ns is None


def test_a_stage_that_only_some_runs_have_has_no_verdict() -> None:
    """A garbage collection in one run of fifteen is not a change of the code."""
    before = sweep(points(walls("a")))
    shown = sorted(before.points, key=lambda point: point.wall_ns)[len(before.points) // 2]
    own = (replace(p, stages={"gc": p.wall_ns}) if p is shown else p for p in before.points)

    found = line(compare(*[replace(before, points=(*own,))] * 2).changes, "gc")

    assert (found.reason, found.is_small) == ("only in some of the runs", False)  # it is shown


def test_the_ratio_of_a_stage_is_never_against_the_times_beside_it() -> None:
    """The run in the middle by its wall time may be the odd one of a stage."""
    wait = [2, 9, 9, 9, 9], [3, 4, 4, 4, 4]  # the first one is that of the middle run
    sides = [
        sweep(
            tuple(
                replace(point, stages={"ray.store": ms * MS, "ray.wait": point.wall_ns - ms * MS})
                for point, ms in zip(
                    points([MS * t for t in (60, 50, 50, 70, 70)]), own, strict=True
                )
            )
        )
        for own in wait
    ]

    found = line(compare(*sides).changes, "ray.store")

    assert (found.before_ns, found.after_ns) == (2 * MS, 3 * MS)
    assert (found.ratio, found.verdict) == (1.5, "cannot tell")
    assert found.low
    assert found.high
    assert found.low < 1 < found.high


def test_a_tiny_stage_gets_no_verdict() -> None:
    """A stage of a thousandth that doubles is not worth an alarm, and costs the others nothing."""
    plain = sweep(points(walls("a")))
    tiny = [
        replace(plain, points=tuple(replace(p, stages={"gc": ns}) for p in plain.points))
        for ns in (10_000, 20_000)
    ]

    found = line(compare(*tiny).changes, "gc")

    assert found.ratio == pytest.approx(2)
    assert (found.is_small, found.reason) == (True, "below 1 % of the wall time")


def test_a_run_that_did_not_end_is_not_judged() -> None:
    wall = compare(trace(outcome="interrupted"), trace()).changes[0]

    assert (wall.verdict, wall.reason) == ("cannot tell", "before did not end (interrupted)")


def test_nothing_in_common_is_an_error_with_what_there_is() -> None:
    before = sweep(points(walls("a"), "pickle", 8), points(walls("a"), "cloudpickle", 8))
    after = sweep(points(walls("b"), "dask", 8), points(walls("b"), "ray", 8))

    said = "before has Pickle at 8 B, warm, Cloudpickle at 8 B, warm.*after has Dask at 8 B, warm"
    with pytest.raises(UsageError, match=said):
        compare(before, after)


@pytest.mark.parametrize("other", [sweep(), sweep(points([MS], "a", 8), points([MS], "b", 8))])
def test_a_trace_does_not_fit_a_round_trip_or_an_empty_document(other: Sweep) -> None:
    with pytest.raises(UsageError, match="nothing can be compared"):
        compare(trace(), other)


def test_sizes_that_differ_a_little_are_compared_and_said() -> None:
    """A dict of today may be a few bytes larger; twice the size is something else."""
    before, near, far = (sweep(points(walls("a"), "ray", size)) for size in (1000, 1010, 2000))

    found = compare(before, near)
    with pytest.raises(UsageError):
        compare(before, far)

    assert found.changes[0].ratio == pytest.approx(1)
    assert found.notes[:-1] == ("sizes differ a little: 1.00 kB before, 1.01 kB after",)


def test_another_machine_and_other_versions_are_said() -> None:
    runs = points(walls("a"))
    before = sweep(runs, environment={"python": "3.11.7", "cores": 2, "ray": "2.54.0"})
    after = sweep(runs, environment={"python": "3.12.1", "cores": 8, "dask": "2026.8.0"})

    notes = compare(before, after).notes

    assert notes[:-1] == (
        "another machine: cores 2 before and 8 after; a change may come from there",
        "other versions: python 3.11.7 before and 3.12.1 after; a change may come from there",
    )


def staged(key: str, *, name: str = "f()", variant: str = "code", kind: str = "roundtrip") -> Sweep:
    """Return a document whose runs have one stage."""
    runs = tuple(replace(p, stages={key: p.wall_ns}) for p in points(walls("a"), variant, 8))
    return sweep(runs, name=name, kind=kind)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (
            staged("pickle.dumps", name="g()"),
            "not the same code.* --name 'f\\(\\)', in Python name=",
        ),
        (
            staged("pickle.dumps", variant="pickle"),
            r"runs of code \(f\(\)\), after is a round trip",
        ),
        (staged("pickle.dumps", kind="sweep"), "after is a sweep over sizes"),
        (staged("pickle.dumps", kind="chunks"), "after is a sweep over chunk sizes"),
        (staged("dask.execute", name="x.sum()"), r"after is a Dask computation \(x.sum\(\)\)"),
        (staged("dask.execute"), "after is a Dask computation"),
    ],
)
def test_what_cannot_be_compared_is_refused_both_ways(after: Sweep, said: str) -> None:
    """No ratio of a sum against a pickle; functions in one call are the user's own word."""
    before = staged("pickle.dumps")

    with pytest.raises(UsageError, match=said):
        compare(before, after)
    with pytest.raises(UsageError):
        compare(after, before)

    if after.variants[0].key == "code" and after.kind == "roundtrip":
        assert compare(before, after, is_paired=True).changes[0].ratio == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "other"),
    [("f", "f"), ("f", " f()\n"), ("f", ""), ("f(a, 1)", "f( a,1 )"), ("%x  y", "%x y")],
)
def test_the_same_code_is_known_by_its_name(one: str, other: str) -> None:
    """A function and its call, other spaces, and a document that does not say."""
    found = compare(staged("pickle.dumps", name=one), staged("pickle.dumps", name=other))

    assert found.changes[0].ratio == pytest.approx(1)


def test_runs_of_now_tell_the_noise() -> None:
    """A against A of the side that was run on the spot; of both where they ran in turns."""
    wild, calm = sweep(points(walls("w", noise=0.2))), sweep(points(walls("c", noise=0.01)))

    now = compare(wild, calm, is_now=True).noise_share
    turns = compare(wild, calm, is_now=True, is_paired=True)

    assert now is not None
    assert turns.noise_share is not None
    assert now < 0.03 < turns.noise_share
    assert "faster how often" in turns.method
