"""The passes of a sweep: how many, for how long, and whose time it is between two steps."""

import pytest

from jupyter_serprof.experiments.engine import order as sweep_plan
from jupyter_serprof.experiments.engine.experiment import Steps
from jupyter_serprof.experiments.engine.order import PassPlan, passes_of
from jupyter_serprof.model import UsageError


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sweep_plan, "time", made)
    return made


def at(passes: PassPlan, number: int) -> PassPlan:
    passes.number = number
    return passes


@pytest.mark.parametrize(
    ("repeat", "number", "cost_s", "follows"),
    [
        (None, 0, 1e9, True),  # three warm ones are sure
        (None, 2, 1e9, True),
        (None, 3, 29.0, True),  # a fourth where half of the time suffices
        *((None, 3, 31.0, False), (None, 5, 0.0, False), (7, 6, 1e9, True), (7, 7, 0.0, False)),
    ],
)
def test_three_passes_are_sure_and_five_are_the_most(
    clock: Clock, repeat: int | None, number: int, cost_s: float, *, follows: bool
) -> None:
    assert clock.now_s == 0.0
    assert at(passes_of(repeat, 60.0, 1), number).follows(lambda: cost_s) is follows


def test_without_time_there_is_no_further_pass(clock: Clock) -> None:
    passes = at(passes_of(3, 10.0, 1), 1)
    passes.budget.start()

    clock.now_s = 11.0

    assert not passes.follows(lambda: 0.0)
    assert passes.cut_short == "the budget of 10 s is used up: 1 of 3 warm runs"
    assert at(passes, 3).cut_short == ""


def test_time_between_two_steps_is_not_the_sweeps(clock: Clock) -> None:
    """Nor is the time of whoever is told, which is between them."""
    passes = passes_of(1, 10.0, 1)

    def run() -> Steps:
        for _ in range(2):
            clock.now_s += 2
            yield

    for _ in passes.steps(run):
        clock.now_s += 1000

    assert (passes.budget.left_s, passes.is_running) == (6.0, False)


@pytest.mark.parametrize(
    ("repeat", "budget_s", "said"), [(0, None, "repeat is 0"), (None, -1.0, "budget_s is -1")]
)
def test_bad_numbers_are_refused(repeat: int | None, budget_s: float | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        passes_of(repeat, budget_s, None)
