"""Running the same code again: one variant, the first run cold, the others warm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_serprof.experiments.engine.control import Control
from jupyter_serprof.experiments.engine.points import (
    finished,
    median_trace,
    point_of,
    stopped_text,
    written,
)
from jupyter_serprof.experiments.engine.progress import Progress
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.words import summarize_repeats
from jupyter_serprof.model import Sweep, SweepTrace, Trace, Variant

_KEY = "code"


@dataclass(slots=True)
class Repeats:
    """Runs of one piece of code; `sweep` is whatever was measured until now.

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

    Attributes
    ----------
    control
        What is timed between the runs, so that a comparison can tell the machine from the code.
    """

    call: Callable[[], object]
    name: str
    detail: bool = False
    traces: list[Trace] = field(default_factory=list)
    stopped: str = field(default="", init=False)
    control: Control | None = field(default=None, init=False)

    def run_again(self, repeat: int, tell: Callable[[Sweep], None] | None = None) -> Sweep:
        """Run `repeat` times; an exception of the code passes through.

        A run that raises or is interrupted is no measurement of the code: `sweep` says that it was
        left out. `tell` is called between runs with the sweep so far, once they have taken half a
        second.
        """
        __tracebackhide__ = True
        progress = Progress(tell)
        self.control = control = Control(repeat)
        for number in range(repeat):
            try:
                progress.update(lambda: self.sweep)
                control.measure(number, self.traces[-1].wall_ns if number else 0)
                recording = Recording(self.name, detail=self.detail)
                with recording:
                    self.call()
            except BaseException as error:
                self.stopped = stopped_text(error, number, repeat)
                raise
            self.traces.append(recording.trace)
        control.measure(repeat)
        return self.sweep

    @property
    def sweep(self) -> Sweep:
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
