"""Runs that are made for a comparison: how many, and two pieces of code in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.comparison import headline
from jupyter_serprof.experiments.compare.verdict import compare
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
from jupyter_serprof.experiments.engine.words import summarize_repeats, summarize_sweep, warm_text
from jupyter_serprof.experiments.roundtrip.registry import TRANSPORTS
from jupyter_serprof.model import Comparison, Summary, Sweep, SweepTrace, Trace, UsageError, Variant
from jupyter_serprof.model.units import format_ns

RUNS = 15
#: With fewer no verdict is possible beside several stages.
FEWEST_RUNS = 8
BUDGET_S = 20.0
_NO_VERDICT = "no verdict follows from fewer runs than were asked for"
MOST_RUNS = 1000


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


def transports_of(before: Trace | Sweep) -> tuple[str, ...] | None:
    """Return the transports that a document has measured; None if it is no round trip."""
    if isinstance(before, Trace):
        return None
    measured = dict.fromkeys(point.variant for point in before.points)
    return tuple(key for key in measured if key in TRANSPORTS) or None


def compared(before: Trace | Sweep, after: Sweep) -> Sweep:
    """Return a sweep of now with its comparison to a document.

    Raises
    ------
    UsageError
        If nothing of the two can be compared.
    """
    return _told(after, compare(before, after, is_now=True))


def _told(document: Sweep, comparison: Comparison) -> Sweep:
    """Return a document with its comparison, whose headline comes first in every form."""
    known = document.summary or Summary("")
    said = f"{headline(comparison)} {known.headline}".strip()
    return replace(document, comparison=comparison, summary=replace(known, headline=said))


def stopped(before: Trace | Sweep, after: Trace | Sweep) -> Trace | Sweep:
    """Return what was measured until a comparison was stopped, with a headline that says so.

    ``after`` is a trace where the first run did not end.
    """
    name = before.name or "before"
    if isinstance(after, Trace):
        how = "was interrupted" if after.outcome == "interrupted" else "raised"
        said = (
            f"{after.name} {how} after {format_ns(after.wall_ns)}, in its first run: no run ended, "
            f"so that nothing is compared with {name}."
        )
    else:
        warm = sum(not point.cold for point in after.points)
        told = f"{after.summary.headline} " if after.summary and after.points else ""
        said = (
            f"{told}Stopped after {warm} warm run{'' if warm == 1 else 's'} and not compared with "
            f"{name}: {_NO_VERDICT}."
        )
    known = after.summary or Summary("")
    return replace(after, summary=replace(known, headline=said))


@contextmanager
def noting_interrupts(measured: Callable[[], int], asked: int, what: str) -> Iterator[None]:
    """Let an interrupt of a comparison say how much was measured until then."""
    try:
        yield
    except KeyboardInterrupt as error:
        done = f"{measured()} of {asked} {what} were measured until the interrupt"
        error.add_note(f"{done}; {_NO_VERDICT}")
        raise


@dataclass(slots=True)
class Turns:
    """Two pieces of code, run in turns: first, second, second, first, first, second ...

    Each begins in every other pair, so that neither always runs in the wake of the other, and
    whatever drifts, drifts for both. The first run of each is cold and stays apart.

    Parameters
    ----------
    calls
        The two.
    names
        What the document calls them.
    repeat
        Pairs; None takes 15, or fewer within 20 s.
    detail
        Record with ``--detail``.
    """

    calls: Sequence[Callable[[], object]]
    names: Sequence[str]
    repeat: int | None = None
    detail: bool = False
    traces: tuple[list[Trace], list[Trace]] = field(default_factory=lambda: ([], []))

    def run(self) -> Sweep:
        """Run them and return the document with its comparison; exceptions pass through.

        An interrupt gets a note: how many pairs were measured.
        """
        __tracebackhide__ = True
        with noting_interrupts(lambda: self.pairs, checked_runs(self.repeat) or RUNS, "pairs"):
            for side in (0, 1):
                self._run_once(side)
        cold_ns = max(traces[0].wall_ns for traces in self.traces)
        count = checked_runs(self.repeat) or runs_within_budget(cold_ns, sides=2)
        with noting_interrupts(lambda: self.pairs, count, "pairs"):
            for number in range(count):
                for side in (0, 1) if number % 2 == 0 else (1, 0):
                    self._run_once(side)
        return self.sweep

    @property
    def pairs(self) -> int:
        """Warm runs of both until now."""
        return max(0, min(len(traces) for traces in self.traces) - 1)

    def _run_once(self, side: int) -> None:
        __tracebackhide__ = True
        recording = Recording(self.names[side], detail=self.detail)
        with recording:
            self.calls[side]()
        self.traces[side].append(recording.trace)

    @property
    def sweep(self) -> Sweep:
        """The document of the runs so far, with the comparison."""
        before, after = (self._document([("code", side)]) for side in (0, 1))
        both = self._document([("before", 0), ("after", 1)])
        comparison = compare(before, after, is_now=True, is_paired=True)
        return _told(finished(both, self._summary), comparison)

    def _summary(self, sweep: Sweep) -> Summary:
        texts = (warm_text(sweep, variant.key) for variant in sweep.variants)
        said = [f"{name} took {text}" for name, text in zip(self.names, texts, strict=True) if text]
        return Summary(f"{', '.join(said) or sweep.name}.", summarize_sweep(sweep).facts)

    def _document(self, sides: Sequence[tuple[str, int]]) -> Sweep:
        last = self.traces[-1][-1]
        chosen = [(key, self.names[side], self.traces[side]) for key, side in sides]
        return Sweep(
            name=" and ".join(name for _, name, _ in chosen),
            started=self.traces[0][0].started,
            producer=last.producer,
            variants=tuple(
                Variant(key, name if key == "code" else f"{key}: {name}", facts=written(traces[0]))
                for key, name, traces in chosen
            ),
            points=tuple(
                point_of(key, None, at, trace)
                for key, _, traces in chosen
                for at, trace in enumerate(traces)
            ),
            traces=tuple(shown for key, _, traces in chosen for shown in _shown(key, traces)),
            limits=last.limits,
            quality=last.quality,
            environment=last.environment,
        )


def _shown(key: str, traces: Sequence[Trace]) -> list[SweepTrace]:
    warm = median_trace(traces[1:])
    shown = [(True, traces[0])] + ([(False, warm)] if warm else [])
    return [SweepTrace(key, None, is_cold, trace) for is_cold, trace in shown]


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
