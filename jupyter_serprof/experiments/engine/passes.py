"""What sweeps share: one cold pass, warm ones while time is left, and steps that can be stopped."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_serprof.experiments.engine.experiment import Steps
from jupyter_serprof.experiments.engine.order import Budget, checked_budget, checked_repeat

#: Warm runs of each size, when nobody says how many: at least and at most.
WARM_RUNS = 3
MOST_WARM_RUNS = 5
BUDGET_S = 60.0


@dataclass(slots=True)
class PassPlan:
    """The passes of one sweep: which one runs, whether another follows, and for how long.

    Parameters
    ----------
    repeat
        Warm passes; None makes 3, and up to 5 while the budget lasts.
    budget
        The time for all of them.
    seed
        Of the shuffled order, which ``draw`` gives.

    Attributes
    ----------
    number
        0 is the cold pass, -1 stands before it.
    is_running
        Whether steps are being made.
    """

    repeat: int | None
    budget: Budget
    seed: int
    draw: random.Random
    number: int = -1
    is_running: bool = field(default=False, init=False)

    @property
    def sure(self) -> int:
        """How many warm passes there will be at least, if the time suffices."""
        return self.repeat or WARM_RUNS

    @property
    def sure_left(self) -> int:
        """How many of those come after the one that runs."""
        return max(0, self.sure - max(0, self.number))

    def follows(self, cost_s: Callable[[], float]) -> bool:
        """Tell whether another pass follows the latest one; ``cost_s`` tells what it would take."""
        if self.budget.left_s <= 0:
            return False
        if self.number < self.sure:
            return True
        if self.repeat is not None or self.number >= MOST_WARM_RUNS:
            return False
        # Half of the time is kept: the estimate is one, and more may follow the last pass.
        return cost_s() < self.budget.left_s / 2

    @property
    def cut_short(self) -> str:
        """Why there are fewer warm passes than were sure to come; "" if there are not."""
        if self.number >= self.sure:
            return ""
        return f"{self.budget.problem(0.0)}: {self.number} of {self.sure} warm runs"

    def steps(self, run: Callable[[], Steps]) -> Steps:
        """Run, one step at a time; what others do between two steps takes nothing from the budget.

        Parameters
        ----------
        run
            Yields after each step.
        """
        __tracebackhide__ = True
        self.is_running = True
        try:
            yield from self.budget.during(run())
        finally:
            self.is_running = False


def passes_of(repeat: int | None, budget_s: float | None, seed: int | None) -> PassPlan:
    """Return passes for what was asked; None takes 3 to 5 within 60 s, and draws a seed.

    Raises
    ------
    UsageError
        For a bad number of runs or seconds.
    """
    runs = checked_repeat(repeat)
    budget = checked_budget(BUDGET_S if budget_s is None and repeat is None else budget_s)
    known = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    return PassPlan(runs, budget, known, random.Random(known))  # noqa: S311  (an order, no secret)
