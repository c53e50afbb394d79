"""One remedy in pairs against the way it goes now: first a cold trip of each, then turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jupyter_serprof.experiments.remedies.cache import Verdict
from jupyter_serprof.experiments.remedies.document import Tried
from jupyter_serprof.experiments.remedies.forms import Form
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.objects.culprits import told
from jupyter_serprof.objects.differences import Witness, differences
from jupyter_serprof.objects.equality import same_value

#: What is shorter is run several times within one measurement.
_SHORT_NS = 200_000
_MOST_LOOPS = 500

Send = Callable[[object], Trip]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remedy that applies: both ways, and the form that the second one sends.

    ``form`` is None where the value itself is sent; ``check`` where what came back is to be equal
    as it is. ``told`` are fields of the trial that the table of remedies does not know; ``against``
    says what it was measured against, where that is not ``baseline`` alone.
    """

    key: str
    before: Send
    after: Send
    form: Form | None = None
    baseline: str = ""
    against: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[object, object], Verdict] | None = None


def run_trial(
    value: object, candidate: Candidate, tried: Tried, deadline: float, most: int
) -> None:
    """Run the pairs of a remedy, at least one of them, and note them as they come.

    Parameters
    ----------
    tried
        Where they are noted: an interrupt leaves what there is.
    deadline
        On the monotonic clock, s; a pair that has begun is ended.
    most
        Pairs.
    """
    __tracebackhide__ = True
    witness = Witness(value)
    sent, prepare_ns = value, None
    if candidate.form is not None:
        sent, prepare_ns = made_of(candidate.form, deadline)
    first, after = candidate.before(value), candidate.after(sent)
    tried.cold = _emptied(first), _emptied(after)
    verdict = _checked(value, after.result, candidate)
    equal, changes = verdict.equal, verdict.changes
    if not witness.is_unchanged(value):
        equal, changes = False, (*changes, "the trip changed the value itself")
    del first
    tried.trial = Trial(
        candidate.key,
        equal=equal,
        changes=changes,
        prepare_ns=prepare_ns,
        again_ns=verdict.again_ns,
        against=candidate.against or candidate.baseline,
        **candidate.told,
    )
    cold_ns = after.wall_ns
    del after
    tried.loops = max(1, min(_MOST_LOOPS, _SHORT_NS // max(1, cold_ns)))
    calls = (partial(candidate.before, value), partial(candidate.after, sent))
    for number in range(most):
        if number and time.monotonic() > deadline:
            break
        # Each begins in every other pair: neither always runs in the wake of the other.
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            tried.trips[side].append(_averaged(calls[side], tried.loops))
        tried.count()


def made_of(form: Form, deadline: float) -> tuple[object, int]:
    """Return what is sent and how long making it takes: the first one may pay for imports."""
    start = time.perf_counter_ns()
    sent = form.make()
    first_ns = time.perf_counter_ns() - start
    if time.monotonic() > deadline:
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


def _checked(value: object, result: object, candidate: Candidate) -> Verdict:
    """Tell whether what came back is, on the way back, what was sent; and what is otherwise."""
    if candidate.check is not None:
        return candidate.check(value, result)
    changed, form = tuple(differences(value, result)), candidate.form
    if form is None or form.back is None:
        return Verdict(same_value(value, result), changed)
    try:
        return Verdict(same_value(value, form.back(result)), changed)
    except Exception as error:  # noqa: BLE001  (a form that does not come back is not equal)
        return Verdict(equal=False, changes=(*changed, f"there is no way back: {told(error)}"))
