"""A control beside the runs: what the machine did is not told of the code."""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from jupyter_serprof.experiments.compare.limit import check
from jupyter_serprof.experiments.compare.samples import NO_CONTROL
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.model import Comparison, Point, RegressionError, Sweep, Variant
from jupyter_serprof.model.trace import TIMES_APART
from jupyter_serprof.views.compare import comparison_lines

MS, RUNS = 1_000_000, 15
TITLES = {"pickle": "pickling", "copy": "copying memory", "pages": "filling new pages"}
KINDS = {"pickle": 1.5, "copy": 0.3, "pages": 0.6}


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
    return found.changes[0].verdict, found.changes[0].reason


def test_on_a_machine_that_stayed_as_it_was_a_change_is_told() -> None:
    """The control costs no verdict where nothing moved, and its sentence replaces the doubt."""
    slower = compare(document("a"), document("b", 1.4))
    faster = compare(document("a"), document("b", 0.7))

    assert wall(slower) == ("slower", "")
    assert wall(faster) == ("faster", "")
    assert TIMES_APART not in slower.notes
    (note,) = slower.notes
    assert note.startswith("up to 1.3")
    assert note.endswith("run both in turns: sp.compare(f, g)")


@pytest.mark.parametrize(
    ("code", "machine", "verdict", "said"),
    [
        (1.2, 1.0, "cannot tell", "within 1.3"),  # a process and a moment of its own
        (2.0, 1.2, "slower", ""),  # twice as slow where the machine is 1.2 times slower
        (1.0, 1.3, "cannot tell", ""),  # it might be faster: nobody divides by fixed work
    ],
)
def test_what_exceeds_the_machine_is_told(
    code: float, machine: float, verdict: str, said: str
) -> None:
    """And nothing else: a fifth between two documents is nothing."""
    found = compare(document("a"), document("b", code, everywhere(machine)))

    assert wall(found)[0] == verdict
    assert wall(found)[1].startswith(said)
    assert verdict == "cannot tell" or wall(found)[1] == ""


@pytest.mark.parametrize("factor", [1.6, 1 / 1.6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_that_drifted_is_not_told_of_the_code(factor: float, kind: str) -> None:
    """The same code looks 1.6 times slower; so does one kind of fixed work, which is enough."""
    found = compare(document("a"), document("b", factor, {kind: factor}))
    lines = "\n".join(comparison_lines(found, 200))

    verdict, reason = wall(found)
    assert verdict == "cannot tell"
    assert reason.startswith("within 2.")
    assert f"which the machine alone may make: {TITLES[kind]} varied by 1." in reason
    assert {change.verdict for change in found.changes} == {"cannot tell"}
    assert "cannot tell faster from slower: " in lines
    assert "cannot tell, within 2." in lines


@pytest.mark.parametrize(("late", "verdict"), [(1, "slower"), (4, "cannot tell")])
def test_a_processor_that_is_taken_away_at_times_holds_back(late: int, verdict: str) -> None:
    """No median moves, but a tenth of the times does; a single wild one is nothing."""
    before, after = document("a"), document("b", 1.6)
    taken = tuple(ns * (9 if at < late else 1) for at, ns in enumerate(after.control["pickle"]))
    shared = replace(after, control={**after.control, "pickle": taken})

    assert wall(compare(before, shared))[0] == verdict


@pytest.mark.parametrize(
    ("pages", "more_bytes", "verdict"),
    [
        ((0, 2000), 0, "cannot tell"),
        ((0, 2000), 2000 * 4096, "slower"),  # they are of the bytes that it moves more
        ((2000, 0), 0, "slower"),
        ((2000, 2000), 0, "slower"),
        ((0, 9), 0, "slower"),
    ],
)
def test_new_pages_of_one_side_are_not_told_of_the_code(
    pages: tuple[int, int], more_bytes: int, verdict: str
) -> None:
    """The process that knew its memory already would have paid them, too: 2.3 us each."""
    sides = [
        replace(made, points=tuple(replace(p, minor_faults=n, moved_bytes=b) for p in made.points))
        for made, n, b in zip(
            (document("a"), document("b", 1.6)), pages, (1_000, 1_000 + more_bytes), strict=True
        )
    ]

    found = compare(*sides)

    assert wall(found)[0] == verdict
    if verdict == "cannot tell":
        assert wall(found)[1].startswith("0 new pages a run before, 2,000 after: another process")


@pytest.mark.parametrize("lengths", [(4, 4), (8, 8), (9, 9), (9, 15), (12, 15), (20, 15)], ids=str)
def test_controls_of_few_and_of_other_lengths_are_compared(lengths: tuple[int, int]) -> None:
    """Eight runs are the fewest that a comparison makes by itself, and 1000 have twenty."""
    sides = [
        replace(made, control={kind: (made.control[kind] * 2)[:runs] for kind in KINDS})
        for made, runs in zip((document("a"), document("b", 1.5)), lengths, strict=True)
    ]

    assert wall(compare(*sides)) == ("slower", "")


@pytest.mark.parametrize("without", ["before", "after", "short"])
def test_without_fixed_work_on_both_sides_nobody_can_tell(without: str) -> None:
    """Nothing bounds then how often the machine would be taken for the code."""
    before, after = document("a"), document("b", 1.4)
    if without == "short":
        few = {kind: known[:1] for kind, known in before.control.items()}
        before = replace(before, control=few)
    elif without == "before":
        before = replace(before, control={})
    else:
        after = replace(after, control={})

    found = compare(before, after)

    assert wall(found) == ("cannot tell", NO_CONTROL)
    assert found.notes == (TIMES_APART,)


def test_kinds_of_another_version_are_ignored() -> None:
    """Work that this version does not know is no evidence; the rest is."""
    before, after = document("a"), document("b", 1.4)
    other = replace(before, control={**before.control, "gpu": (1, 2, 3)})

    found = compare(other, replace(after, control={**after.control, "gpu": (9, 9, 9)}))

    assert wall(found) == ("slower", "")


def test_runs_in_turns_need_none() -> None:
    found = compare(document("a"), document("b", 1.3, everywhere(1.3)), is_paired=True)

    assert wall(found)[0] == "slower"


def test_a_limit_fails_only_above_the_machine() -> None:
    """``--fail-above`` is what a drifting machine broke."""
    drifted = compare(document("a"), document("b", 1.3, everywhere(1.3)), is_now=True)
    slower = compare(document("a"), document("b", 1.4), is_now=True)

    check(drifted, "10%")
    with pytest.raises(RegressionError) as caught:
        check(slower, "10%")

    assert TIMES_APART not in str(caught.value)
