"""One piece of code again and again: cold once, then warm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from jupyter_serprof.experiments.engine.control import Control
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.points import (
    finished,
    median_trace,
    point_of,
    stopped_text,
    written,
)
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.words import summarize_repeats
from jupyter_serprof.model import Sweep, SweepTrace, Trace, UsageError, Variant

RUNS = 15
#: With fewer no verdict is possible beside several stages.
FEWEST_RUNS = 8
BUDGET_S = 20.0
MOST_RUNS = 1000
_KEY = "code"


def runs_within_budget(first_ns: int, sides: int = 1) -> int:
    """Return how many runs to make after a first one of so many ns: 15, fewer if they take long."""
    affordable = BUDGET_S * 1e9 / max(1, first_ns * sides)
    return max(FEWEST_RUNS, min(RUNS, int(affordable)))


def checked_runs(repeat: int | None) -> int | None:
    """Return the number of runs that was asked for.

    Raises
    ------
    UsageError
        If it is no number from 1 to 1000.
    """
    known: object = repeat
    is_count = isinstance(known, int) and not isinstance(known, bool)
    if repeat is not None and not (is_count and 1 <= repeat <= MOST_RUNS):
        message = f"repeat is {repeat!r}; it is a number of runs from 1 to 1000, e.g. repeat=15"
        raise UsageError(message)
    return repeat


class Repeated(Protocol):
    """What is run again and again."""

    traces: list[Trace]
    stopped: str
    control: Control | None


def warm_steps(runs: Repeated, count: int, once: Callable[[], None]) -> Steps:
    """Make the warm runs that are left, and yield before each; ``once`` adds a trace.

    A run that raises or is interrupted is no measurement: ``stopped`` says that it was left out.
    """
    __tracebackhide__ = True
    runs.stopped = ""
    try:
        for number in range(len(runs.traces) - 1, count):
            yield
            if runs.control is not None:
                runs.control.measure(number, runs.traces[-1].wall_ns if number else 0)
            once()
    except BaseException as error:
        runs.stopped = stopped_text(error, len(runs.traces) - 1, count)
        raise
    if runs.control is not None:
        runs.control.measure(count)


@dataclass(eq=False, slots=True)
class Repeats:
    """Runs of one piece of code, the first one cold. An `Experiment`.

    Parameters
    ----------
    call
        What is run each time.
    name
        What the document calls it.
    detail
        Record with ``--detail``.
    traces
        The runs so far; the first one is the cold one.
    repeat
        Warm runs; None takes 15, or fewer within 20 s.

    Attributes
    ----------
    control
        What is timed between the runs, so that a comparison can tell the machine from the code.
    """

    call: Callable[[], object]
    name: str
    detail: bool = False
    traces: list[Trace] = field(default_factory=list)
    repeat: int | None = None
    stopped: str = field(default="", init=False)
    control: Control | None = field(default=None, init=False)

    def steps(self) -> Steps:
        """Make the runs that are left; an exception of the code passes through."""
        __tracebackhide__ = True
        if not self.traces:
            self._run_once()
        self.control = self.control or Control(self.count)
        yield from warm_steps(self, self.count, self._run_once)

    def _run_once(self) -> None:
        __tracebackhide__ = True
        recording = Recording(self.name, detail=self.detail)
        with recording:
            self.call()
        self.traces.append(recording.trace)

    @property
    def count(self) -> int:
        """How many warm runs there will be, once there is a cold one."""
        return self.repeat or runs_within_budget(self.traces[0].wall_ns)

    @property
    def is_done(self) -> bool:
        """Whether all runs are made."""
        return len(self.traces) > 0 and len(self.traces) > self.count

    @property
    def progress(self) -> Progress:
        """How far it is."""
        made = len(self.traces)
        return Progress(made, self.count + 1 - made if made else 1)

    @property
    def document(self) -> Sweep:
        """The document of the runs so far; at least one must have ended."""
        last, warm = self.traces[-1], median_trace(self.traces[1:])
        notes = (self.stopped,) if self.stopped else ()
        shown = [(True, self.traces[0])] + ([(False, warm)] if warm else [])
        sweep = Sweep(
            name=self.name,
            started=self.traces[0].started,
            producer=last.producer,
            variants=(Variant(_KEY, self.name, facts=written(self.traces[0]), notes=notes),),
            points=tuple(point_of(_KEY, None, i, trace) for i, trace in enumerate(self.traces)),
            traces=tuple(SweepTrace(_KEY, None, is_cold, trace) for is_cold, trace in shown),
            control=self.control.times_ns if self.control else {},
            limits=last.limits,
            quality=last.quality,
            environment=last.environment,
        )
        return finished(sweep, summarize_repeats)
