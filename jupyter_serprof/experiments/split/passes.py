"""Passes over one value that take turns: timed, bounded, and kept as far as they came."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from jupyter_serprof.experiments.split.words import Timed
from jupyter_serprof.model.times import middle_run
from jupyter_serprof.objects.culprits import told

#: What takes longer gets one pass of each kind.
SLOW_S = 2.0
#: So many rounds are wanted within the time, more while they are short.
_WANTED, _MOST = 7, 101
_PASS_S = 0.2

#: Passes are warmed, and made several times, if the time is enough for so many.
_WARMED = 20
#: The name of the pass that is real dumps or loads.
WHOLE = "whole"

Call = Callable[[], object]


@dataclass(slots=True)
class Passes:
    """What was measured of dumps or of loads until now.

    ``cold`` is the very first run, ``runs`` those of each pass after it. ``raised`` says why a
    pass was left out, ``spent_ns`` the time inside reducers of each watched pass.
    """

    cold: Timed | None = None
    runs: dict[str, list[Timed]] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)
    spent_ns: list[int] = field(default_factory=list)

    def middle(self, name: str) -> Timed | None:
        """Return the run whose time is that of all of a pass; None without any."""
        runs = self.runs.get(name)
        return _middle(runs) if runs else None

    def middle_ns(self, name: str) -> int | None:
        """Return how long the median run of a pass took."""
        middle = self.middle(name)
        return None if middle is None else middle.duration_ns

    def least_ns(self, name: str) -> int | None:
        """Return how long the shortest run of a pass took."""
        return min((run.duration_ns for run in self.runs.get(name, ())), default=None)

    def take_turns(self, calls: Mapping[str, Call], expected_s: float, left_s: float) -> None:
        """Run all passes in turns: what drifts, drifts for all.

        Parameters
        ----------
        calls
            The most important first. One that raises is left out.
        expected_s
            How long one run is likely to take, seconds.
        left_s
            Seconds for all; a run that begins is ended, one that would end later does not begin.
        """
        __tracebackhide__ = True
        start = time.monotonic()
        is_short = are_short(expected_s, left_s)
        left = {
            name: call
            for name, call in calls.items()
            if not is_short or name == WHOLE or self._works(call, name)
        }
        for number in range(1 if expected_s > SLOW_S else _MOST):
            for name, call in list(left.items()):
                is_late = time.monotonic() - start + expected_s > left_s
                if (is_late and not is_short) or not self._add(name, call):
                    del left[name]
            spent_s = time.monotonic() - start
            wanted_s = left_s / 2 if number + 1 < _WANTED else _PASS_S
            if not left or spent_s > min(wanted_s, left_s / 2):
                break

    def _works(self, call: Call, name: str) -> bool:
        """Run a pass once, not counted: it warms what is to be warm, or it is left out."""
        __tracebackhide__ = True
        try:
            call()
        except Exception as error:  # noqa: BLE001  (cycles, what is shared, reducers that mind)
            self.raised[name] = told(error)
        return name not in self.raised

    def _add(self, name: str, call: Call) -> bool:
        __tracebackhide__ = True
        try:
            run = timed(call)
        except Exception as error:  # noqa: BLE001  (the same)
            self.raised[name] = told(error)
            return False
        self.runs.setdefault(name, []).append(run)
        return True


def are_short(expected_s: float, left_s: float) -> bool:
    """Tell whether passes can be warmed first and made several times."""
    return expected_s <= SLOW_S and _WARMED * expected_s <= left_s


def timed(call: Call) -> Timed:
    """Run it once; what it returns is dropped outside of the timing."""
    __tracebackhide__ = True
    faults = _faults()
    start = time.perf_counter_ns()
    result = call()
    duration_ns = time.perf_counter_ns() - start
    after = _faults()
    del result
    return Timed(duration_ns, None if faults is None or after is None else after - faults)


def _middle(runs: Sequence[Timed]) -> Timed:
    return middle_run(runs, lambda run: run.duration_ns)


def _faults() -> int | None:
    """Return the pages that this thread has touched for the first time; None where unknown."""
    with suppress(ImportError, AttributeError):
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    return None
