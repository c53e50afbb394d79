"""The passes of a sweep: how many, for how long, and whose time it is between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_serprof.experiments.engine import order as sweep_plan
from jupyter_serprof.experiments.engine import progress
from jupyter_serprof.experiments.engine.passes import Passes, passes_of
from jupyter_serprof.model import Sweep, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SWEEP = Sweep(name="x", started="")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        """Return what it is."""
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still."""
    made = Clock()
    for module in (sweep_plan, progress):
        monkeypatch.setattr(module, "time", made)
    return made


def at(passes: Passes, number: int) -> Passes:
    """Return passes of which so many are over."""
    passes.number = number
    return passes


@pytest.mark.parametrize(
    ("repeat", "number", "cost_s", "follows"),
    [
        (None, 0, 1e9, True),  # three warm ones are sure
        (None, 2, 1e9, True),
        (None, 3, 29.0, True),  # a fourth where half of the time suffices
        (None, 3, 31.0, False),
        (None, 5, 0.0, False),
        (7, 6, 1e9, True),
        (7, 7, 0.0, False),
    ],
)
def test_three_passes_are_sure_and_five_are_the_most(
    clock: Clock, repeat: int | None, number: int, cost_s: float, *, follows: bool
) -> None:
    """Unless somebody asked for a number."""
    assert clock.now_s == 0.0
    assert at(passes_of(repeat, 60.0, 1), number).follows(lambda: cost_s) is follows


def test_without_time_there_is_no_further_pass(clock: Clock) -> None:
    """And the document says how many there were."""
    passes = at(passes_of(3, 10.0, 1), 1)
    passes.budget.start()

    clock.now_s = 11.0

    assert not passes.follows(lambda: 0.0)
    assert passes.cut_short == "the budget of 10 s is used up: 1 of 3 warm runs"
    assert at(passes, 3).cut_short == ""


def test_time_between_two_steps_is_not_the_sweeps(clock: Clock) -> None:
    """Nor is the time of whoever is told."""
    passes = passes_of(1, 10.0, 1)

    def tell(_: Sweep) -> None:
        clock.now_s += 100

    def run() -> Iterator[None]:
        for _ in range(2):
            clock.now_s += 2
            passes.told(lambda: SWEEP)
            yield

    for _ in passes.steps(run, tell):
        clock.now_s += 1000

    assert passes.budget.left_s == 6.0


def test_a_stop_lasts_until_the_next_start(clock: Clock) -> None:
    """It goes on where it was."""
    passes = passes_of(1, None, 1)
    seen: list[bool] = []

    def run() -> Iterator[None]:
        seen.append(passes.is_stopped)
        yield

    passes.stop()
    was_stopped = passes.is_stopped
    list(passes.steps(run, None))

    assert clock.now_s == 0.0
    assert was_stopped
    assert seen == [False]


@pytest.mark.parametrize(
    ("repeat", "budget_s", "said"), [(0, None, "repeat is 0"), (None, -1.0, "budget_s is -1")]
)
def test_bad_numbers_are_refused(repeat: int | None, budget_s: float | None, said: str) -> None:
    """One sentence with the value."""
    with pytest.raises(UsageError, match=said):
        passes_of(repeat, budget_s, None)
