"""The order of a sweep: its passes, what each step will cost, and the budget for all."""

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple

from jupyter_serprof.experiments.engine.experiment import Steps
from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import format_fixed, format_ns

MOST_REPEATS, MOST_SIZES = 1000, 200


class Allowance(NamedTuple):
    """Warm runs, at least and at most, and the seconds for them, where none are asked for."""

    fewest: int
    most: int
    budget_s: float


#: Of each transport; the seconds are for all of them, and for looking at what came back.
ROUND_TRIP = Allowance(2, 7, 10.0)
#: Of each size; the seconds are for all of them.
SIZES = Allowance(3, 5, 60.0)
#: With fewer no verdict is possible beside several stages.
REPEATS = Allowance(8, 15, 20.0)
#: Pairs of each remedy; the seconds are for all of them. A graph takes longer to begin.
TRIALS, GRAPH_TRIALS = Allowance(1, 15, 20.0), Allowance(1, 15, 30.0)
#: Seconds for the parts of one value.
BLAME_S = 30.0

_EXAMPLE = "e.g. sizes=[10**4, 10**6, 10**8]"


@dataclass(slots=True)
class Visit:
    """One size in one pass: its value is made once, ``keys`` are the variants still to run."""

    number: int
    parameter: float
    keys: list[str]


def checked_sizes(sizes: Iterable[float]) -> tuple[float, ...]:
    """Return sizes in increasing order, each once.

    Raises ``UsageError``: If there is none, more than 200, or one that is no number above 0.
    """
    given: object = sizes
    if isinstance(given, str) or not isinstance(given, Iterable):
        message = f"sizes is {given!r}; it is a list of numbers above 0, {_EXAMPLE}"
        raise UsageError(message)
    asked: list[Any] = list(sizes)
    for size in asked:
        # numpy's numbers, too.
        if isinstance(size, bool) or not isinstance(size, Real) or not 0 < float(size) < math.inf:
            message = f"a size is {size!r}; sizes are numbers above 0, {_EXAMPLE}"
            raise UsageError(message)
    if not 0 < len(asked) <= MOST_SIZES:
        message = f"there are {len(asked)} sizes; a sweep takes 1 to {MOST_SIZES}, {_EXAMPLE}"
        raise UsageError(message)
    # Numbers of Python: ``make`` may do with them what it cannot do with those of numpy.
    return tuple(sorted({int(s) if isinstance(s, Integral) else float(s) for s in asked}))


def log_spaced(low: float, high: float, count: int) -> tuple[float, ...]:
    """Return ``count`` sizes from low to high, equally far apart in their logarithm.

    Whole numbers, each once, where both ends are: there may be fewer then.

    >>> log_spaced(1e3, 1e5, 3)
    (1000, 10000, 100000)
    >>> log_spaced(1, 4, 8)
    (1, 2, 3, 4)
    """
    step = math.log(high / low) / max(1, count - 1)
    exact = [low * math.exp(step * at) for at in range(count - 1)] + [high]
    if float(low).is_integer() and float(high).is_integer():
        return tuple(sorted({round(size) for size in exact}))
    return tuple(exact)


def expected(known: Mapping[float, float], at: float, *, slowest: float = math.inf) -> float | None:
    """Return what a size will cost (or hold) after what smaller ones did; None before any."""
    # The line through the two largest smaller ones goes on, and never falls. After a single one it
    # is proportional, but grows by at most ``slowest`` for each unit: what is small is mostly
    # fixed.
    if at in known:
        return known[at]
    below = sorted(size for size in list(known) if size < at)
    if not below:
        return None
    last = below[-1]
    if len(below) == 1:
        return min(known[last] * at / last, known[last] + slowest * (at - last))
    slope = (known[last] - known[below[-2]]) / (last - below[-2])
    return known[last] + max(0.0, slope) * (at - last)


@dataclass(slots=True)
class Budget:
    """The time that a sweep may take in all: the clock stands while it is stopped.

    ``total_s`` is None where there is no limit.
    """

    total_s: float | None
    _spent_s: float = field(default=0.0, init=False)
    _since_s: float | None = field(default=None, init=False)

    def start(self) -> None:
        """Let the clock run."""
        self._since_s = time.monotonic()

    def pause(self) -> None:
        """Let it stand."""
        self._spent_s, self._since_s = self.used_s, None

    def during(self, steps: Steps) -> Steps:
        """Make steps; what others do between two of them takes nothing from the budget."""
        __tracebackhide__ = True
        self.start()
        try:
            for _ in steps:
                self.pause()
                yield
                self.start()
        finally:
            self.pause()

    @property
    def used_s(self) -> float:
        """What was used until now, s."""
        since_s = self._since_s
        return self._spent_s + (0.0 if since_s is None else time.monotonic() - since_s)

    @property
    def left_s(self) -> float:
        """What is left, s; infinite without a limit."""
        return math.inf if self.total_s is None else max(0.0, self.total_s - self.used_s)

    @property
    def what(self) -> str:
        """Why not all runs will be made, as a title of what is."""
        return f"As many as fit into {format_fixed(self.total_s or 0, 0)} s of measuring"

    def problem(self, cost_s: float | None) -> str:
        """Return why a step is skipped that will take so long; "" if it fits or is unknown."""
        if cost_s is None or cost_s < self.left_s:
            return ""
        if self.left_s <= 0:
            return f"the budget of {format_fixed(self.total_s or 0, 0)} s is used up"
        return (
            f"it would take about {format_ns(cost_s * 1e9)}, longer than what is left of "
            f"the budget of {format_fixed(self.total_s or 0, 0)} s"
        )


def check_above_0(
    name: str, given: object, example: str = "60", what: str = "number of seconds"
) -> None:
    """Raise `UsageError` for what is no finite number above 0."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not (is_number and 0 < given < math.inf):  # type: ignore[operator]  # a number
        message = f"{name} is {given!r}; it is a {what} above 0, e.g. {name}={example}"
        raise UsageError(message)


def checked_repeat(
    repeat: int | None, runs: str = "warm runs", example: str = "--repeat 5"
) -> int | None:
    """Return a number of warm runs, or raise `UsageError` for what is none."""
    known: object = repeat
    is_count = isinstance(known, int) and not isinstance(known, bool)
    if repeat is not None and not (is_count and 1 <= repeat <= MOST_REPEATS):
        message = f"repeat is {repeat!r}; it is a number of {runs} from 1 to 1000, e.g. {example}"
        raise UsageError(message)
    return repeat


@dataclass(slots=True)
class PassPlan:
    """The passes of one sweep: which one runs, whether another follows, and for how long.

    ``repeat`` is the number of warm passes: None makes 3, and up to 5 while the budget lasts.
    ``seed`` is of the shuffled order, which ``draw`` gives. Of the ``number`` 0 is the cold pass,
    and -1 stands before it.
    """

    repeat: int | None
    budget: Budget
    seed: int
    draw: random.Random
    number: int = -1
    is_running: bool = field(default=False, init=False)

    @property
    def most(self) -> int:
        """How many warm passes there will be at most."""
        return self.repeat or SIZES.most

    @property
    def sure(self) -> int:
        """How many warm passes there will be at least, if the time suffices."""
        return self.repeat or SIZES.fewest

    def follows(self, cost_s: Callable[[], float]) -> bool:
        """Tell whether another pass follows the latest one; ``cost_s`` tells what it would take."""
        if self.budget.left_s <= 0:
            return False
        if self.number < self.sure:
            return True
        if self.number >= self.most:
            return False
        # Half of the time is kept: the estimate is one, and more may follow the last pass.
        return cost_s() < self.budget.left_s / 2

    def left_after(self, spent_s: float, once_s: float) -> int:
        """Return how many more passes will come, if one takes so long, after the latest one."""
        count = max(0, self.sure - self.number)
        left_s = self.budget.left_s - spent_s - count * once_s
        while self.number + count < self.most and once_s < left_s / 2:
            count, left_s = count + 1, left_s - once_s
        return count

    @property
    def cut_short(self) -> str:
        """Why there are fewer warm passes than were sure to come; "" if there are not."""
        if self.number >= self.sure:
            return ""
        return f"{self.budget.problem(0.0)}: {self.number} of {self.sure} warm runs"

    def steps(self, run: Callable[[], Steps]) -> Steps:
        """Run step by step; what others do between two steps takes nothing from the budget."""
        __tracebackhide__ = True
        self.is_running = True
        try:
            yield from self.budget.during(run())
        finally:
            self.is_running = False


def passes_of(repeat: int | None, budget_s: float | None, seed: int | None) -> PassPlan:
    """Return passes for what was asked; None takes 3 to 5 within 60 s, and draws a seed.

    Raises ``UsageError``: For a bad number of runs or seconds.
    """
    runs = checked_repeat(repeat)
    if budget_s is not None:
        check_above_0("budget_s", budget_s)
    budget = Budget(SIZES.budget_s if budget_s is None and repeat is None else budget_s)
    known = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    return PassPlan(runs, budget, known, random.Random(known))  # noqa: S311  (an order, no secret)
