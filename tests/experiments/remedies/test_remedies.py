"""Remedies that are tried: they apply where they should, are equal, and say what they measured."""

import ast
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.api import try_remedies
from jupyter_serprof.experiments.remedies import gain as gains
from jupyter_serprof.experiments.remedies.forms import Form, forms_of
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.table import REMEDIES, pasted
from jupyter_serprof.experiments.remedies.trial import Candidate, made_of, trial_steps
from jupyter_serprof.experiments.remedies.ways import GrowingBlock, Trip
from jupyter_serprof.model import Sweep, UsageError, Variant, from_document, to_document
from jupyter_serprof.testing import TickClock

#: Time for every remedy on the slowest machine.
AMPLE_S = 1e6
DUMPS, LOADS = "pickle.dumps", "pickle.loads"
TEXTS = [f"text {at}" for at in range(1_000)]
ROWS = [{"id": at, "x": at / 7, "name": f"n{at}"} for at in range(500)]
STRIDED = np.arange(40_000.0).reshape(200, 200)[:, ::2]


def forever() -> bool:
    """Have time for another pair."""
    return True


def trial(key: str, before: int, after: int, pairs: int = 15, **more: Any) -> Trial:
    """Return a trial whose times spread a little."""
    spread = [1 + at / 1_000 for at in range(pairs)]
    ways = (
        [
            Trip({DUMPS: ns - ns // 4, LOADS: ns // 4}, 8, None)
            for ns in (int(before * s) for s in spread)
        ],
        [
            Trip({DUMPS: ns // 4, LOADS: ns - ns // 4}, 8, None)
            for ns in (int(after * s) for s in reversed(spread))
        ],
    )
    return Trial(key, "pickle", trips=ways, **{"equal": True, **more})


def variants(sweep: Sweep) -> dict[str, Variant]:
    return {variant.key: variant for variant in sweep.variants if variant.facts.get("tried")}


# What a trial says


def test_a_gain_is_a_ratio_with_its_interval() -> None:
    """Three times faster is 3, whatever the unit; the interval holds it."""
    gain = gains.gain_of(trial("columns", 30_000_000, 10_000_000))

    assert gain
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low <= gain.value <= gain.high
    assert gain.value == pytest.approx(3, rel=0.01)
    assert gain.verdict == "faster"


@pytest.mark.parametrize(
    ("tried", "verdict", "said"),
    [
        (trial("columns", 10_000_000, 10_000_000), "unsure", "cannot tell"),
        # With three pairs no interval of 95 % exists, however large the ratio is.
        (trial("columns", 10**7, 10**6, pairs=3), "", "cannot tell from so few, 3 pairs"),
        # Ten times faster and wrong: told, and never recommended.
        (trial("columns", 10_000_000, 1_000_000, equal=False), "faster", "NOT equal"),
    ],
    ids=["the same twice", "too few pairs", "not equal"],
)
def test_what_is_not_told_or_wrong_is_no_remedy(tried: Trial, verdict: str, said: str) -> None:
    """No finding and no claim; the note says why, and what is right goes first."""
    right = trial("str", 10_000_000, 9_000_000)

    gain = gains.gain_of(tried)

    assert gain
    assert gain.verdict == verdict or (gain.low, gain.high) == (None, None)
    assert gains.finding_of(tried, "a") is None
    assert said in gains.notes_of(tried)[0]
    assert gains.ranked([tried, right]) == [right, tried]


def test_the_ranking_puts_what_helps_most_first() -> None:
    slower = trial("array", 10_000_000, 20_000_000)
    same = trial("str", 10_000_000, 10_000_000)
    good, best = (trial(k, 10_000_000, n) for k, n in (("stacked", 5_000_000), ("columns", 10**6)))

    assert gains.ranked([slower, same, good, best]) == [best, good, same, slower]


def test_a_finding_carries_what_was_measured() -> None:
    """The stage that shrinks most, before and after, the interval, the pairs, equality."""
    found = gains.finding_of(trial("columns", 40_000_000, 4_000_000), "rows")

    assert found
    assert found.rule == "pickle.small-objects"
    assert found.gain == pytest.approx(10, rel=0.01)
    assert found.measured
    assert {key: found.measured[key] for key in ("stage", "pairs", "equal")} == {
        "stage": "pickle.dumps",
        "pairs": 15,
        "equal": True,
    }
    assert found.measured["before_ns"] == pytest.approx(40_000_000, rel=0.02)
    assert found.measured["stage_before_ns"] == pytest.approx(30_000_000, rel=0.02)
    assert found.measured["stage_after_ns"] == pytest.approx(1_000_000, rel=0.02)
    assert gains.shrinking_stage(*trial("array", 10, 1_000).stages) == ""  # all of them grow
    unnamed = gains.finding_of(trial("protocol-5", 40_000_000, 4_000_000), "f(9)")
    assert (unnamed and unnamed.remedy) == ""  # a name that nobody knows would be an error


def test_what_is_paid_once_is_said_apart() -> None:
    """A conversion of 30 ms pays after two sends that each save 20 ms."""
    converted = trial("str", 40_000_000, 20_000_000, prepare_ns=30_000_000)

    assert gains.sends_to_pay(converted) == 2
    assert any("pays from 2 sends on" in note for note in gains.notes_of(converted))
    assert gains.sends_to_pay(trial("str", 20_000_000, 40_000_000, prepare_ns=1)) is None


def test_the_headline_says_the_verdict_first_and_claims_only_what_was_told() -> None:
    """Nothing applies, nothing is faster, or the best with the times that its ratio is of."""
    best, same = trial("columns", 30_000, 10_000), trial("str", 10_000, 10_000)
    wrong = trial("str", 30_000, 10_000, equal=False)
    few, slower = trial("str", 30_000, 10_000, pairs=3), trial("array", 10_000, 20_000)
    told = {
        "nothing to try: --try has no line": [],
        "dtype str instead of objects cannot be told from pickle, 10.1 µs →": [same],
        "`a`, 10 B: no pair was measured": [Trial("str", "pickle", equal=True)],
        "nothing to use: the result is another one with dtype str": [wrong],
        "3 pairs cannot tell": [few],
        "nothing is faster, one array instead of numbers is 2.0× slower": [slower],  # noqa: RUF001
        "3.0× faster with columns instead of rows, 30.2 µs → 10.1 µs, "  # noqa: RUF001
        "results equal, `a`, 10 B": [same, best],
    }

    for said, trials in told.items():
        assert gains.headline("a", 10, trials).startswith(said)


def test_a_gain_at_an_end_of_its_own_interval_is_told_as_the_least() -> None:
    """Runs of two kinds: the middle ones are 97 times apart, the pairs allow much less."""
    before, after = (
        [Trip({DUMPS: ns}, 8, None) for ns in each]
        for each in ([9_700_000] * 15, [100_000, 640_000] * 7 + [100_000])
    )

    said = gains.headline("a", 10, [Trial("array", "pickle", trips=(before, after), equal=True)])

    assert said.startswith("at least 15.2× faster with one array instead")  # noqa: RUF001


@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=REMEDIES)
def test_a_remedy_can_be_pasted(remedy: Any) -> None:
    """One line of Python with the user's own name; an expression gets a short one."""
    for name in ("rows", "rows[3].w"):
        line = pasted(remedy.code, name)
        ast.parse(line)
        assert "\n" not in line
        assert "NAME" not in line


# Which remedies apply: each has a value that it applies to, and one like it where it does not


@dataclass
class Point:
    """An object that is its attributes."""

    at: int
    text: str


class Slotted(Point):
    """An object that may hold more."""

    __slots__ = ("more",)


FORMS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "contiguous": (lambda: STRIDED, lambda: STRIDED.copy().T),
    "dtype": (
        lambda: np.array([1.5] * 1_000, dtype=object),
        lambda: np.array([1.5] * 999 + [None], dtype=object),
    ),
    "array": (lambda: [0.5] * 1_000, lambda: [0.5] * 999 + [1]),
    "array of ints": (lambda: tuple(range(1_000)), lambda: [*range(999), 2**70]),
    # True is an int to isinstance; an array would bring 1 back.
    "array of bools": (lambda: [*range(1_000)], lambda: [True] * 1_000),
    "array and a bool": (lambda: [*range(1_000)], lambda: [*range(1_000), True]),
    "arrow-strings": (lambda: TEXTS, lambda: [*TEXTS, None]),
    "columns": (lambda: ROWS, lambda: [*ROWS, {"id": 1}]),
    "columns of objects": (
        lambda: [Point(at, f"{at}") for at in range(1_000)],
        lambda: [Slotted(1, "a")] * 1_000,
    ),
    "columns of tuples": (lambda: [(1, "a")] * 1_000, lambda: [*[(1, "a")] * 999, (1,)]),
    "rows": (lambda: [(1, 2)] * 1_000, lambda: [*[(1, 2)] * 999, (1, "x")]),
    "stacked": (lambda: [np.zeros(9)] * 10, lambda: [np.zeros(at + 1) for at in range(10)]),
    "str": (
        lambda: pd.Series([f"{at}" for at in range(1_000)], dtype=object),
        lambda: pd.Series([*range(999), "x"], dtype=object),
    ),
    "category": (
        lambda: pd.DataFrame({"k": ["a", "b"] * 500, "x": 1.0}),
        lambda: pd.DataFrame({"k": TEXTS, "x": 1.0}),
    ),
}


@pytest.mark.parametrize(("case", "made"), FORMS.items(), ids=FORMS)
def test_a_form_is_offered_where_it_holds_all_and_not_elsewhere(
    case: str, made: tuple[Callable[[], object], Callable[[], object]]
) -> None:
    """It comes back equal from a real trip, and the value stays what it was."""
    pytest.importorskip("pyarrow")
    key = case.partition(" ")[0]
    fits, other = made[0](), made[1]()
    before = pickle.dumps(fits)

    sweep = try_remedies(fits, budget_s=AMPLE_S, pairs=1)

    assert variants(sweep)[key].facts["equal"] is True
    assert key not in {form.key for form in forms_of(other)}
    assert pickle.dumps(fits) == before


# Real trials


def test_an_array_goes_out_of_band() -> None:
    """1 MB of floats: the baseline copies it, out-of-band does not, both arrive equal."""
    sweep = try_remedies(np.arange(125_000.0), budget_s=AMPLE_S, name="a")

    tried = variants(sweep)["out-of-band"]
    assert tried.facts["equal"] is True
    assert tried.facts["in_band_bytes"] < 1_000  # type: ignore[operator]  # a number
    assert tried.facts["pairs"] == 15
    assert sweep.variants[0].key == "now: pickle in-band"
    assert {point.variant for point in sweep.points} == {v.key for v in sweep.variants}
    assert sum(point.cold for point in sweep.points) == 2
    assert all(sum(point.stages.values()) == point.wall_ns for point in sweep.points)
    assert from_document(to_document(sweep)) == sweep


def test_what_the_first_making_imports_is_not_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pa.array of a process imports pandas; later ones do not."""
    clock = TickClock()
    imports = iter([8_000])

    class Made:
        def __iter__(self) -> Iterator[int]:
            clock.advance_ms(next(imports, 1))
            return iter([1])

    now = SimpleNamespace(perf_counter_ns=clock, monotonic=lambda: 0.0)
    monkeypatch.setattr("jupyter_serprof.experiments.remedies.trial.time", now)

    sent, prepare_ns = made_of(Form("array", "a = list(a)", Made(), "a"), forever)

    assert sent == [1]
    assert prepare_ns == 1_000_000


def test_a_remedy_that_fails_has_its_row_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    value = [0.5] * 1_000

    def broken(_: object, name: str) -> Any:
        form = next(iter(forms_of(value, name)))
        return [form._replace(line="1 / 0"), form]

    monkeypatch.setattr("jupyter_serprof.experiments.remedies.value.forms_of", broken)

    sweep = try_remedies(value, budget_s=AMPLE_S, pairs=1)

    states = [variant.state for variant in sweep.variants]
    assert sorted(states) == ["failed", "ok", "ok"]
    assert any("ZeroDivisionError" in variant.reason for variant in sweep.variants)


def test_what_cannot_be_pickled_is_named() -> None:
    with pytest.raises(UsageError, match=r"a\['lock'\] \(lock\)"):
        try_remedies({"lock": threading.Lock(), "x": 1}, name="a")


@pytest.mark.parametrize(
    ("keywords", "said"),
    [({"budget_s": float("inf")}, "budget_s is inf"), ({"now": "json"}, "now is 'json'")],
)
def test_bad_keywords_are_refused_with_an_example(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        try_remedies([1], **keywords)


def test_too_little_memory_is_said_before_anything_is_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jupyter_serprof.experiments.remedies.value.available_bytes", lambda: 1_000)

    with pytest.raises(UsageError, match="four times"):
        try_remedies(np.zeros(10_000))


def test_each_way_begins_in_every_other_pair() -> None:
    """Neither always runs in the wake of the other; the first trip of each is cold and apart."""
    order: list[str] = []

    def way(name: str, took_ns: int) -> Callable[[object], Trip]:
        def send(value: object) -> Trip:
            order.append(name)
            return Trip({"pickle.dumps": took_ns}, 8, value)

        return send

    candidate = Candidate(Trial("columns"), way("before", 900_000), way("after", 300_000))
    tried = candidate.trial

    deque(trial_steps(partial(candidate.sides, [1], forever), tried, forever, 7))

    assert order[2:8] == ["before", "after", "after", "before", "before", "after"]
    gain = gains.gain_of(tried)
    assert gain
    assert (gain.value, gain.low, gain.high) == pytest.approx((3, 3, 3))
    assert tried.pairs == 7


def test_short_trips_are_run_several_times_within_one() -> None:
    """A trip of 1 us is measured 200 times at once: the clock is not what is measured."""
    runs: list[object] = []

    def send(value: object) -> Trip:
        runs.append(value)
        return Trip({"pickle.dumps": 1_000}, 8, value)

    tried = Trial("columns")

    sides = partial(Candidate(tried, send, send).sides, [1], forever)
    deque(trial_steps(sides, tried, forever, 2))

    assert tried.loops == 200
    assert len(runs) == 2 + 2 * 2 * 200
    assert [trip.wall_ns for trip in tried.trips[0]] == [1_000, 1_000]


def test_the_block_gives_back_what_was_moved_into_it() -> None:
    """Frames of any shape, each at an aligned place."""
    array: Any = np.arange(6.0).reshape(2, 3)
    frames = [b"abc", bytearray(b"x" * 100), pickle.PickleBuffer(array)]

    moved = GrowingBlock().moved(frames)

    assert [bytes(view) for view in moved[:2]] == [b"abc", b"x" * 100]
    assert np.frombuffer(moved[2]).tolist() == [0, 1, 2, 3, 4, 5]
