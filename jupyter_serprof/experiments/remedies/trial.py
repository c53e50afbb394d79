"""Remedies in pairs against the way it goes now: first a cold trip of each, then turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.order import Budget
from jupyter_serprof.experiments.remedies.document import count_points, document_of
from jupyter_serprof.experiments.remedies.forms import Form
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Sweep
from jupyter_serprof.model.units import format_count, moment_text
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.objects.equality import Witness, differences, same_value

#: What is shorter is run several times within one measurement.
_SHORT_NS, _MOST_LOOPS, TRYING = 200_000, 500, "Trying remedies"

Send = Callable[[object], Trip]
Call = Callable[[], Trip]
Verdict = tuple[bool | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Sides:
    """Both ways of a trial, ready to be gone.

    ``calls``: The way it goes now, and the remedy; `cold` for the first trip of each, with its
        result.
    ``judged``: Compares those results: whether they are equal, and what is otherwise.
    ``prepare_ns``: What making them ready took, where that is paid once.
    ``release``: Gives back what was made.
    """

    calls: Sequence[Call]
    judged: Callable[[object, object], Verdict]
    prepare_ns: int | None = None
    cold: Sequence[Call] = ()
    release: Callable[[], object] = tuple


#: A remedy that applies, and what makes both ways ready, given whether there is time for more.
Attempt = tuple[Trial, Callable[[Callable[[], bool]], Sides]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remedy that applies to a value: both ways, and the form that the second one sends.

    ``form`` is None where the value itself is sent.
    """

    trial: Trial
    before: Send
    after: Send
    form: Form | None = None

    def sides(self, value: object, has_time: Callable[[], bool]) -> Sides:
        """Make both ways of a value ready; the form that is sent is made here."""
        witness = Witness(value)
        sent, prepare_ns = value, None
        if self.form is not None:
            sent, prepare_ns = made_of(self.form, has_time)

        def judged(_: object, result: object) -> Verdict:
            equal, changes = _checked(value, result, self.form)
            if witness.is_unchanged(value):
                return equal, changes
            return False, (*changes, "the trip changed the value itself")

        return Sides((partial(self.before, value), partial(self.after, sent)), judged, prepare_ns)


def trial_steps(
    make: Callable[[], Sides], trial: Trial, has_time: Callable[[], bool], most: int
) -> Steps:
    """Make the pairs of a remedy, one to ``most`` while there is time, and yield before each.

    ``make`` makes both ways ready, again where an interrupt ended the trial before. The trips are
    noted in ``trial``, which goes on from what is there, also in the midst of a pair.
    """
    __tracebackhide__ = True
    sides = make()
    try:
        if trial.cold is None:
            first, second = (call() for call in sides.cold or sides.calls)
            trial.equal, trial.changes = sides.judged(first.result, second.result)
            trial.prepare_ns = sides.prepare_ns
            trial.cold = _emptied(first), _emptied(second)
            trial.loops = max(1, min(_MOST_LOOPS, _SHORT_NS // max(1, second.wall_ns)))
            del first, second
        while len(trial.sides_left) == 1 or (
            trial.pairs < most and (not trial.pairs or has_time())
        ):
            yield
            for side in trial.sides_left:
                trial.trips[side].append(_averaged(sides.calls[side], trial.loops))
    finally:
        sides.release()


class Trials:
    """The trials of a value or of a graph: an `Experiment`, whose runs are pairs of trips.

    ``name`` is what the document calls what is tried; ``budget_s`` is for all of it, and a pair
    that has begun is ended; there are ``pairs`` of each remedy, fewer where the budget ends before.
    """

    def __init__(self, name: str, budget_s: float, pairs: int) -> None:
        self._name, self._most = name, pairs
        self._budget = Budget(budget_s)
        self._started = moment_text()
        self._found: Sequence[Attempt] | None = None
        self._begun = 0
        self._notes: list[str] = []
        self._plain_bytes: int | None = None
        self._said = self._ended = ""
        self.is_done = False

    def steps(self) -> Steps:
        """Try what applies; an exception of a remedy stands in its row.

        Raises ``UsageError``: If nothing can be tried.
        """
        return self._budget.during(self._steps())

    def _steps(self) -> Steps:
        __tracebackhide__ = True
        self._ended = ""
        try:
            self._found = self._look() if self._found is None else self._found
            for at in range(len(self._found)):
                left = len(self._found) - at
                if at and at == self._begun and self._budget.left_s <= 0:
                    self._notes.append(f"{self._told_begun}: {self._budget.problem(0.0)}")
                    break
                yield from self._try(at, self._budget.left_s * (1 - 1 / left))
        except (KeyboardInterrupt, GeneratorExit):
            begun = self._told_begun if self._found else "nothing was tried yet"
            self._ended = f"interrupted, {begun}"
            raise
        self.is_done = True

    def _try(self, at: int, end_s: float) -> Steps:
        __tracebackhide__ = True
        if at == self._begun:
            if at:
                yield
            self._begun += 1
        trial, sides = (self._found or ())[at]
        if trial.is_over:
            return

        def has_time() -> bool:
            return self._budget.left_s > end_s

        try:
            yield from trial_steps(partial(sides, has_time), trial, has_time, self._most)
        except Exception as error:  # noqa: BLE001  (one remedy fails in its row, others go on)
            trial.reason = error_text(error)
        trial.is_over = True

    @property
    def _begun_trials(self) -> Sequence[Trial]:
        return [trial for trial, _ in (self._found or ())[: self._begun]]

    def _look(self) -> Sequence[Attempt]:
        raise NotImplementedError

    @property
    def _told_begun(self) -> str:
        begun = f"{format_count(self._begun)} of {format_count(len(self._found or ()))}"
        return f"{begun} remedies begun"

    @property
    def progress(self) -> Progress:
        """How far it is: all pairs of each remedy will come, as long as the budget lasts."""
        found = [one for one, _ in self._found or () if not (self.is_done or one.reason)]
        done, budget = count_points(self._begun_trials), self._budget
        left = max(0, (1 + 2 * self._most) * len(found) + 1 - done) if found else 0
        if done <= 1 + len(self._begun_trials):  # cold trips only
            return Progress(done, left, what=TRYING)
        coming = [one for one in found if not one.is_over]
        runs = max(0, (1 + 2 * self._most) * len(coming) - count_points(coming))
        all_s = runs * budget.used_s / done
        is_cut = any(one.is_over and one.pairs < self._most for one in found)
        is_short = is_cut or all_s > budget.left_s
        what = f"{TRYING}, {budget.what.lower()}" if is_short else TRYING
        return Progress(done, left, min(all_s, budget.left_s), what=what)

    @property
    def document(self) -> Sweep:
        """The document of what was tried so far."""
        return document_of(
            self._name,
            self._started,
            self._begun_trials,
            plain_bytes=self._plain_bytes,
            notes=self._notes,
            limits=measure_limits(),
            said=self._said,
            ended=self._ended,
            is_over=self.is_done or bool(self._ended),
        )


def made_of(form: Form, has_time: Callable[[], bool]) -> tuple[object, int]:
    """Return what is sent and how long making it takes: the first one may pay for imports."""
    start = time.perf_counter_ns()
    sent = form.make()
    first_ns = time.perf_counter_ns() - start
    if not has_time():
        return sent, first_ns
    del sent  # never two of them at a time
    start = time.perf_counter_ns()
    sent = form.make()
    return sent, min(first_ns, time.perf_counter_ns() - start)


def _averaged(call: Callable[[], Trip], loops: int) -> Trip:
    """Return one trip of several runs, its stages the means of theirs; nothing is kept of it."""
    trips = [_emptied(call()) for _ in range(loops)]
    stages = {key: sum(trip.stages[key] for trip in trips) // loops for key in trips[0].stages}
    return trips[0]._replace(stages=stages)


def _emptied(trip: Trip) -> Trip:
    return trip._replace(result=None)


def _checked(value: object, result: object, form: Form | None) -> Verdict:
    """Tell whether what came back is, on the way back, what was sent; and what is otherwise."""
    changed = tuple(differences(value, result))
    if form is None or form.back is None:
        return same_value(value, result), changed
    try:
        return same_value(value, form.back(result)), changed
    except Exception as error:  # noqa: BLE001  (a form that does not come back is not equal)
        return False, (*changed, f"there is no way back: {error_text(error)}")
