"""A control beside the runs: what the machine did is not told of the code."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from jupyter_serprof.analysis.compare import compare
from jupyter_serprof.analysis.compare_limit import check
from jupyter_serprof.analysis.compare_notes import TIMES_APART
from jupyter_serprof.model import (
    Comparison,
    Point,
    RegressionError,
    Sweep,
    Variant,
    from_document,
    to_document,
)
from jupyter_serprof.views.text_compare import comparison_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

MS = 1_000_000
RUNS = 15
KINDS = {"pickle": 1.5, "copy": 0.3, "pages": 0.6}
LINES = [*KINDS, "all"]


def times(seed: str, middle_ms: float, noise: float = 0.02) -> tuple[int, ...]:
    """Return so many durations about a middle, ns."""
    draw = random.Random(seed)  # noqa: S311  (simulation)
    return tuple(round(middle_ms * MS * draw.lognormvariate(0, noise)) for _ in range(RUNS))


def document(
    seed: str, code: float = 1.0, machine: Mapping[str, float] | None = None, name: str = "f()"
) -> Sweep:
    """Return runs of 10 ms times a factor, with a control whose kinds have factors of their own."""
    points = (
        Point("code", None, at + 1, False, ns, None, {"pickle.dumps": ns // 2})  # noqa: FBT003
        for at, ns in enumerate(times(f"{seed} code", 10 * code))
    )
    control = {
        kind: times(f"{seed} {kind}", middle_ms * (machine or {}).get(kind, 1.0))
        for kind, middle_ms in KINDS.items()
    }
    return Sweep(
        name=name,
        started="",
        variants=(Variant("code", name),),
        points=tuple(points),
        control=control,
    )


def everywhere(factor: float) -> dict[str, float]:
    """Return a machine that changed in each kind of work alike."""
    return dict.fromkeys(KINDS, factor)


def wall(found: Comparison) -> tuple[str, str]:
    """Return verdict and reason of the wall time."""
    return found.changes[0].verdict, found.changes[0].reason


def test_on_a_machine_that_stayed_as_it_was_a_change_is_told() -> None:
    """The control costs no verdict where nothing moved, and its sentence replaces the doubt."""
    # when
    slower = compare(document("a"), document("b", 1.15))
    faster = compare(document("a"), document("b", 0.87))

    # then
    assert wall(slower) == ("slower", "")
    assert wall(faster) == ("faster", "")
    assert TIMES_APART not in slower.notes
    (note,) = slower.notes
    assert note.startswith("control, fixed work between the runs, after against before: pickling")
    assert "this is a hint" in note
    assert note.endswith("run both in turns: sp.compare(f, g)")
    assert [change.stage for change in slower.control] == LINES
    assert all(0.95 < (change.ratio or 0) < 1.05 for change in slower.control)


@pytest.mark.parametrize("factor", [1.3, 1 / 1.3])
def test_a_machine_that_drifted_is_not_told_of_the_code(factor: float) -> None:
    """The same code looks 1.3 times slower; so does the control. The reason says so."""
    # when
    found = compare(document("a"), document("b", factor, everywhere(factor)))
    lines = "\n".join(comparison_lines(found, 200))

    # then
    verdict, reason = wall(found)
    how = "slower" if factor > 1 else "faster"
    assert verdict == "cannot tell"
    assert reason.startswith("the machine ran 1.3")
    assert f"× {how} in its control" in reason  # noqa: RUF001
    assert {change.verdict for change in found.changes} == {"cannot tell"}
    assert {change.verdict for change in found.control} == {how}
    assert "nobody can tell whether it is faster or slower (the machine ran 1.3" in lines


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_work_can_hold_a_verdict_back(kind: str) -> None:
    """A neighbour of the memory does not disturb computing: one kind that moved is enough."""
    # when
    found = compare(document("a"), document("b", 1.3, {kind: 1.3}))

    # then
    assert wall(found)[0] == "cannot tell"
    slower = [change.stage for change in found.control if change.verdict == "slower"]
    assert kind in slower
    assert set(slower) <= {kind, "all"}


def test_what_exceeds_the_machine_is_told() -> None:
    """Twice as slow on a machine that is 1.2 times slower is slower code."""
    # when
    found = compare(document("a"), document("b", 2.0, everywhere(1.2)))

    # then
    assert wall(found) == ("slower", "")


def test_a_machine_that_moved_the_other_way_hides_nothing() -> None:
    """Slower on a machine that got faster is slower all the more."""
    # when
    found = compare(document("a"), document("b", 1.15, everywhere(0.8)))

    # then
    assert wall(found) == ("slower", "")


def test_code_that_hides_behind_the_machine_is_not_told_faster() -> None:
    """The same time on a slower machine might be faster code: nobody divides by a control."""
    # when
    found = compare(document("a"), document("b", 1.0, everywhere(1.3)))

    # then
    assert wall(found)[0] == "cannot tell"
    assert "1.3" in found.notes[0]


def test_a_control_that_scatters_holds_back_too() -> None:
    """Its uncertainty counts: what it cannot exclude of the machine is not told of the code."""
    # given
    before, after = document("a"), document("b", 1.15)
    scattered = tuple(round(MS * factor) for factor in (1.1, 1.5, 2.0) * 5)
    wild = replace(after, control={**after.control, "pickle": scattered})

    # when
    found = compare(before, wild)

    # then
    verdict, reason = wall(found)
    assert verdict == "cannot tell"
    assert reason.startswith("the machine itself, pickling, took ")


def test_a_processor_that_is_taken_away_at_times_holds_back() -> None:
    """Short work mostly fits in between: no median moves, but all of it in stretches does."""
    # given
    before, after = document("a"), document("b", 1.3)
    late = {2: 9 * MS, 5: 9 * MS, 8: 9 * MS, 11: 9 * MS, 14: 9 * MS}
    taken = tuple(ns + late.get(at, 0) for at, ns in enumerate(after.control["pickle"]))
    shared = replace(after, control={**after.control, "pickle": taken})

    # when
    found = compare(before, shared)

    # then
    assert {change.stage for change in found.control if change.verdict == "slower"} == {"all"}
    assert wall(found)[0] == "cannot tell"
    assert wall(found)[1].endswith("× slower in its control, all kinds together")  # noqa: RUF001


def test_a_single_wild_time_holds_nothing_back() -> None:
    """One interruption on a quiet machine is neither the machine nor the code."""
    # given
    before, after = document("a"), document("b", 1.15)
    wild = (40 * MS, *after.control["pickle"][1:])

    # when
    found = compare(before, replace(after, control={**after.control, "pickle": wild}))

    # then
    assert wall(found) == ("slower", "")


@pytest.mark.parametrize("runs", [4, 8, 9])
def test_few_runs_have_no_stretches_and_a_verdict_all_the_same(runs: int) -> None:
    """Eight runs are the fewest that a comparison makes by itself."""
    # given
    before, after = (
        replace(made, control={kind: known[:runs] for kind, known in made.control.items()})
        for made in (document("a"), document("b", 1.5))
    )

    # when
    found = compare(before, after)

    # then
    assert wall(found) == ("slower", "")
    assert [change.stage for change in found.control] == LINES
    assert {change.before_runs for change in found.control} == {runs}


@pytest.mark.parametrize("runs", [9, 12, 20])
def test_controls_of_other_lengths_are_compared(runs: int) -> None:
    """A document of 1000 runs has twenty, one of fifteen runs has fifteen: the machine is one."""
    # given
    before = document("a")
    control = {kind: (before.control[kind] * 2)[:runs] for kind in KINDS}

    # when
    found = compare(replace(before, control=control), document("b", 1.5))

    # then
    assert wall(found) == ("slower", "")
    assert all(0.95 < (change.ratio or 0) < 1.05 for change in found.control)


@pytest.mark.parametrize("without", ["before", "after", "short"])
def test_without_a_control_on_both_sides_the_doubt_stays(without: str) -> None:
    """Documents of earlier versions compare as they did."""
    # given
    before, after = document("a"), document("b", 1.3)
    if without == "short":
        few = {kind: known[:1] for kind, known in before.control.items()}
        before = replace(before, control=few)
    elif without == "before":
        before = replace(before, control={})
    else:
        after = replace(after, control={})

    # when
    found = compare(before, after)

    # then
    assert wall(found) == ("slower", "")
    assert found.notes == (TIMES_APART,)
    assert found.control == ()


def test_kinds_of_another_version_are_ignored() -> None:
    """Work that this version does not know is no evidence; the rest is."""
    # given
    before, after = document("a"), document("b", 1.3)
    other = replace(before, control={**before.control, "gpu": (1, 2, 3)})

    # when
    found = compare(other, replace(after, control={**after.control, "gpu": (9, 9, 9)}))

    # then
    assert [change.stage for change in found.control] == LINES


def test_runs_in_turns_need_none() -> None:
    """What drifts, drifts for both."""
    # when
    found = compare(document("a"), document("b", 1.3, everywhere(1.3)), is_paired=True)

    # then
    assert wall(found)[0] == "slower"
    assert found.control == ()


def test_a_limit_fails_only_above_the_machine() -> None:
    """``--fail-above`` is what a drifting machine broke."""
    # given
    drifted = compare(document("a"), document("b", 1.3, everywhere(1.3)), is_now=True)
    slower = compare(document("a"), document("b", 1.3), is_now=True)

    # when
    check(drifted, "10%")
    with pytest.raises(RegressionError) as caught:
        check(slower, "10%")

    # then
    assert TIMES_APART not in str(caught.value)


def test_the_comparison_keeps_the_control() -> None:
    """A saved comparison says how the machine changed."""
    # given
    after = document("b", 1.3)
    found = compare(document("a"), after)

    # when
    again = from_document(to_document(replace(after, comparison=found)))

    # then
    assert again.comparison == found
