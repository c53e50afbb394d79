"""Remedies in pairs against the way it goes now: first a cold trip of each, then turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.order import Budget
from jupyter_serprof.experiments.remedies.document import Tried, count_points, document_of
from jupyter_serprof.experiments.remedies.forms import Form
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Finding, Sweep
from jupyter_serprof.model.units import format_count
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.objects.equality import Witness, differences, same_value

#: What is shorter is run several times within one measurement.
_SHORT_NS = 200_000
_MOST_LOOPS = 500

Send = Callable[[object], Trip]
Call = Callable[[], Trip]


def _keep_nothing() -> None:
    """Release nothing: what was made goes with the trial."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Both ways of a trial, ready to be gone.

    Attributes
    ----------
    cold
        Makes the first trip of each, with its result.
    calls
        The way it goes now, and the remedy.
    judged
        Compares the results of the first trips.
    release
        Gives back what was made.
    """

    cold: Callable[[], tuple[Trip, Trip]]
    calls: tuple[Call, Call]
    judged: Callable[[Trip, Trip], Trial]
    release: Callable[[], None] = _keep_nothing


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remedy that applies: both ways, and the form that the second one sends.

    ``form`` is None where the value itself is sent; ``code`` is the line to paste, where the table
    of remedies does not know it; ``against`` says what it was measured against, where that is not
    ``baseline`` alone.
    """

    key: str
    before: Send
    after: Send
    form: Form | None = None
    baseline: str = ""
    against: str = ""
    code: str = ""

    def sides(self, value: object, has_time: Callable[[], bool]) -> Sides:
        """Make both ways of a value ready; the form that is sent is made here."""
        witness = Witness(value)
        sent, prepare_ns = value, None
        if self.form is not None:
            sent, prepare_ns = made_of(self.form, has_time)
        calls = partial(self.before, value), partial(self.after, sent)

        def judged(_: Trip, second: Trip) -> Trial:
            equal, changes = _checked(value, second.result, self.form)
            if not witness.is_unchanged(value):
                equal, changes = False, (*changes, "the trip changed the value itself")
            return Trial(
                self.key,
                equal=equal,
                changes=changes,
                prepare_ns=prepare_ns,
                against=self.against or self.baseline,
                code=self.code,
            )

        return Sides(lambda: (calls[0](), calls[1]()), calls, judged)


def trial_steps(
    make: Callable[[], Sides], tried: Tried, has_time: Callable[[], bool], most: int
) -> Steps:
    """Make the pairs of a remedy, at least one of them, and yield before each.

    Parameters
    ----------
    make
        Makes both ways ready, again where an interrupt ended the trial before.
    tried
        Where the trips are noted; it goes on from what is there.
    has_time
        Whether another pair may begin.
    most
        Pairs.
    """
    __tracebackhide__ = True
    sides = make()
    try:
        if tried.cold is None:
            first, second = sides.cold()
            tried.trial = sides.judged(first, second)
            tried.cold = _emptied(first), _emptied(second)
            tried.loops = max(1, min(_MOST_LOOPS, _SHORT_NS // max(1, second.wall_ns)))
            del first, second
        while tried.goes_on(most, has_time):
            yield
            for side in tried.sides_left:
                tried.trips[side].append(_averaged(sides.calls[side], tried.loops))
            tried.count()
    finally:
        sides.release()


class Trials:
    """The trials of a value or of a graph: an `Experiment`, whose runs are pairs of trips.

    Parameters
    ----------
    name
        What the document calls what is tried.
    budget_s
        Seconds for all of it; a pair that has begun is ended.
    pairs
        Pairs of each remedy; fewer where the budget ends before.
    """

    def __init__(self, name: str, budget_s: float, pairs: int) -> None:
        self._name, self._most = name, pairs
        self._budget = Budget(budget_s)
        self._started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._tried: list[Tried] = []
        self._found: Sequence[tuple[str, str]] | None = None
        self._hints: list[Finding] = []
        self._notes: list[str] = []
        self._plain_bytes: int | None = None
        self._said = self._ended = ""
        self.is_done = False

    def steps(self) -> Steps:
        """Try what applies; an exception of a remedy stands in its row.

        Raises
        ------
        UsageError
            If nothing can be tried.
        """
        return self._budget.during(self._steps())

    def _steps(self) -> Steps:
        __tracebackhide__ = True
        self._ended = ""
        try:
            self._found = self._look() if self._found is None else self._found
            for at, found in enumerate(self._found):
                left = len(self._found) - at
                if at and at == len(self._tried) and (late := self._late(left)):
                    self._notes.append(late)
                    break
                yield from self._try(at, *found, self._budget.left_s * (1 - 1 / left))
        except (KeyboardInterrupt, GeneratorExit):
            self._ended = self._interrupted()
            raise
        self.is_done = True

    def _try(self, at: int, key: str, baseline: str, end_s: float) -> Steps:
        """Try one remedy until so much of the budget is left."""
        __tracebackhide__ = True
        if at == len(self._tried):
            if at:
                yield
            self._tried.append(Tried(baseline, Trial(key)))
        tried = self._tried[at]
        if tried.is_over:
            return
        has_time = partial(self._has_time, end_s)
        make = partial(self._sides, at, has_time)
        try:
            yield from trial_steps(make, tried, has_time, self._most)
        except Exception as error:  # noqa: BLE001  (one remedy fails in its row, others go on)
            tried.reason = error_text(error)
        tried.is_over = True

    def _has_time(self, end_s: float) -> bool:
        return self._budget.left_s > end_s

    def _look(self) -> Sequence[tuple[str, str]]:
        """Return the key of what applies, and the title of the way it goes now, of each."""
        raise NotImplementedError

    def _sides(self, at: int, has_time: Callable[[], bool]) -> Sides:
        """Make both ways of one of them ready."""
        raise NotImplementedError

    def _late(self, left: int) -> str:  # noqa: ARG002  (of a value, which may be slow to pickle)
        """Return why so many remedies are not tried; "" if there is time for one."""
        return ""

    def _interrupted(self) -> str:
        begun = f"{format_count(len(self._tried))} of {format_count(len(self._found or ()))}"
        told = f"{begun} remedies begun" if self._found else "nothing was tried yet"
        return f"Interrupted: {told}."

    @property
    def progress(self) -> Progress:
        """How far it is; a remedy that is left takes a first trip and a pair at least."""
        left = 0 if self.is_done else len(self._found or ()) - len(self._tried)
        return Progress(count_points(self._tried), 2 * 2 * left)

    @property
    def document(self) -> Sweep:
        """The document of what was tried so far."""
        return document_of(
            self._name,
            self._started.replace("+00:00", "Z"),
            self._tried,
            plain_bytes=self._plain_bytes,
            hints=self._hints,
            notes=self._notes,
            limits=measure_limits(),
            said=self._said,
            ended=self._ended,
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
    """Return a trip without what came back."""
    return trip._replace(result=None)


def _checked(
    value: object, result: object, form: Form | None
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether what came back is, on the way back, what was sent; and what is otherwise."""
    changed = tuple(differences(value, result))
    if form is None or form.back is None:
        return same_value(value, result), changed
    try:
        return same_value(value, form.back(result)), changed
    except Exception as error:  # noqa: BLE001  (a form that does not come back is not equal)
        return False, (*changed, f"there is no way back: {error_text(error)}")
