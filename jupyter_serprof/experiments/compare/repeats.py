"""One piece of code again and again: cold once, then warm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from jupyter_serprof.experiments.engine.document import made_here, summarize_repeats, with_findings
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.machine import MachineCheck
from jupyter_serprof.experiments.engine.order import REPEATS, checked_repeat
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.runs import bytes_written, point_of, shown_runs
from jupyter_serprof.model import Sweep, Trace, Variant

_KEY = "code"


def runs_within_budget(first_ns: int, sides: int = 1) -> int:
    """Return how many runs to make after a first one: 15, fewer if they take long."""
    affordable = REPEATS.budget_s * 1e9 / max(1, first_ns * sides)
    return max(REPEATS.fewest, min(REPEATS.most, int(affordable)))


def checked_runs(repeat: int | None) -> int | None:
    """Return the number of runs that was asked for, or raise `UsageError` for what is none."""
    return checked_repeat(repeat, "runs", "repeat=15")


@dataclass(eq=False)
class Repeats:
    """Runs of one piece of code, the first one cold. An `Experiment`.

    ``repeat``: Warm runs; None takes 15, or fewer within 20 s.
    ``control``: What is timed between the runs, so that a comparison can tell the machine from the
        code.
    """

    call: Callable[[], object]
    name: str
    detail: bool = False
    traces: list[Trace] = field(default_factory=list)
    repeat: int | None = None
    stopped: str = field(default="", init=False)
    control: MachineCheck | None = field(default=None, init=False)
    #: Where workers may be on other machines fixed work here would say nothing of them.
    is_here: bool = field(default=True, init=False)

    def steps(self) -> Steps:
        """Make the runs that are left, and yield before each; an exception passes through."""
        # A warm run that raises or is interrupted is no measurement: `stopped` says so.
        __tracebackhide__ = True
        if not self.traces:
            self.run_once()
        if self.is_here:
            self.control = self.control or MachineCheck(self.count)
        self.stopped, count = "", self.count
        try:
            for number in range(len(self.traces) - 1, count):
                yield
                if self.control is not None:
                    self.control.measure(number, self.traces[-1].wall_ns if number else 0)
                self.run_once()
        except BaseException as error:
            is_interrupt = isinstance(error, KeyboardInterrupt | GeneratorExit)
            why = "interrupted" if is_interrupt else type(error).__name__
            made = f"{len(self.traces) - 1} warm runs of {count}"
            self.stopped = f"{why} after {made}; that run is left out"
            raise
        if self.control is not None:
            self.control.measure(count)

    def run_once(self) -> None:
        """Record one run more; of one that raises nothing is kept."""
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
        return Progress(made, self.count + 1 - made if self.repeat or made else 0)

    @property
    def document(self) -> Sweep:
        """The document of the runs so far; at least one must have ended."""
        notes = (self.stopped,) if self.stopped else ()
        sweep = Sweep(
            name=self.name,
            started=self.traces[0].started,
            variants=(Variant(_KEY, self.name, facts=bytes_written(self.traces[0]), notes=notes),),
            points=tuple(point_of(_KEY, None, i, trace) for i, trace in enumerate(self.traces)),
            traces=shown_runs(_KEY, None, self.traces[0], self.traces[1:]),
            control=self.control.times_ns if self.control else {},
        )
        return with_findings(made_here(sweep, self.traces[-1]), summarize_repeats)


class RepeatsApart(Repeats):
    """Runs of what records itself, in a process of its own: the call returns the trace."""

    def run_once(self) -> None:
        """Make one run more."""
        self.traces.append(cast("Trace", self.call()))
