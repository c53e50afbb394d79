"""Runs that are made for a comparison: how many, and two pieces of code in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.comparison import headline
from jupyter_serprof.experiments.compare.repeats import checked_runs, runs_within_budget
from jupyter_serprof.experiments.compare.samples import ALIKE, check_kinds
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.experiments.engine.document import (
    made_here,
    summarize_sweep,
    warm_text,
    with_findings,
)
from jupyter_serprof.experiments.engine.experiment import (
    Document,
    Experiment,
    Made,
    Progress,
    Steps,
)
from jupyter_serprof.experiments.engine.order import REPEATS
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.runs import (
    bytes_written,
    point_of,
    shown_runs,
)
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS
from jupyter_serprof.model import Comparison, Summary, Sweep, Trace, Variant
from jupyter_serprof.model.units import counted, format_ns

_SAME = "If both answer the same question, say which: sp.compare(f, g, name='sum')"
_NO_VERDICT = "no verdict follows from fewer runs than were asked for"


def transports_of(before: Trace | Sweep) -> tuple[str, ...] | None:
    """Return the transports that a document has measured; None if it is no round trip."""
    if isinstance(before, Trace):
        return None
    measured = dict.fromkeys(point.variant for point in before.points)
    return tuple(key for key in measured if key in TRANSPORTS) or None


def compared(before: Document, after: Sweep) -> Sweep:
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


def stopped(before: Document, after: Made) -> Made:
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
            f"{told}Stopped after {counted(warm, 'warm run')} and not compared with "
            f"{name}: {_NO_VERDICT}."
        )
    known = after.summary or Summary("")
    return replace(after, summary=replace(known, headline=said))


class Against:
    """Runs of now against a document: an `Experiment`, compared once it has made all its runs.

    Parameters
    ----------
    before
        What it is compared with.
    runs
        The experiment of now.
    """

    def __init__(self, before: Document, runs: Experiment[Sweep]) -> None:
        self._before, self._runs = before, runs
        self._found: Sweep | None = None
        self._is_running = self._is_refused = False

    def steps(self) -> Steps:
        """Make the runs, then compare; an interrupt gets a note that says how many there are.

        Raises
        ------
        UsageError
            If nothing of the two can be compared; `document` has the runs.
        """
        __tracebackhide__ = True
        self._is_running = True
        try:
            steps = self._runs.steps()
            for _ in steps:  # runs that cannot be compared are not made
                self._is_refused = True
                check_kinds(self._before, self._runs.document, ALIKE)
                self._is_refused = False
                yield
                yield from steps
        except KeyboardInterrupt as error:
            done, left = self.progress.done, self.progress.left
            if done and left:
                note_runs(error, done - 1, done + left - 1, "runs")
            raise
        finally:
            self._is_running = False
        self._found = compared(self._before, self._runs.document)

    @property
    def document(self) -> Sweep:
        """The runs with their comparison; before that, with a headline that says why not."""
        if self._found is not None or self._is_running or self._is_refused or self.is_done:
            return self._found or self._runs.document
        return stopped(self._before, self._runs.document)

    @property
    def progress(self) -> Progress:
        """How far the runs are."""
        return self._runs.progress

    @property
    def is_done(self) -> bool:
        """Whether all runs are made."""
        return self._runs.is_done


def note_runs(error: BaseException, made: int, asked: int, what: str) -> None:
    """Let an interrupt of a comparison say how much was measured until then."""
    done = f"{made} of {asked} {what} were measured until the interrupt"
    error.add_note(f"{done}; {_NO_VERDICT}")


@dataclass(eq=False, slots=True)
class Pairs:
    """Two pieces of code, run in turns: first, second, second, first, first, second ...

    Each begins in every other pair, so that neither always runs in the wake of the other, and
    whatever drifts, drifts for both. The first run of each is cold and stays apart.

    Parameters
    ----------
    calls
        The two.
    names
        What the document calls them; numbered where both have one name.
    question
        What both answer; without it both have to be of a kind.
    repeat
        Pairs; None takes 15, or fewer within 20 s.
    detail
        Record with ``--detail``.
    """

    calls: Sequence[Callable[[], object]]
    names: Sequence[str]
    question: str | None = None
    repeat: int | None = None
    detail: bool = False
    traces: tuple[list[Trace], list[Trace]] = field(default_factory=lambda: ([], []))
    _order: list[int] = field(default_factory=lambda: [0, 1], init=False)

    def __post_init__(self) -> None:
        """Refuse a bad number of pairs."""
        checked_runs(self.repeat)
        if len(set(self.names)) == 1:
            self.names = [f"{name} {at}" for at, name in enumerate(self.names, 1)]

    def steps(self) -> Steps:
        """Run them in turns; an interrupt gets a note that says how many pairs there are.

        Raises
        ------
        UsageError
            If the first runs show two kinds of code, and nothing says that both answer the same.
        """
        __tracebackhide__ = True
        try:
            while not self.is_done:
                if self.progress.done:
                    yield
                self._run_once(self._side)
                if self.question is None and self.progress.done == len(self.traces):
                    before, after = (traces[0] for traces in self.traces)
                    check_kinds(before, after, _SAME)
        except KeyboardInterrupt as error:
            note_runs(error, self.pairs, self._count, "pairs")
            raise

    @property
    def pairs(self) -> int:
        """Warm runs of both until now."""
        return max(0, min(len(traces) for traces in self.traces) - 1)

    @property
    def _count(self) -> int:
        """How many pairs there will be; without a number that depends on the cold runs."""
        if self.repeat is not None or not all(self.traces):
            return self.repeat or REPEATS.most
        return runs_within_budget(max(traces[0].wall_ns for traces in self.traces), sides=2)

    @property
    def _side(self) -> int:
        """Whose turn it is."""
        pair, second = divmod(self.progress.done - 2, 2)
        return 1 - second if pair > 0 and pair % 2 else second

    @property
    def is_done(self) -> bool:
        """Whether all pairs are made."""
        return all(len(traces) > self._count for traces in self.traces)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        done = sum(len(traces) for traces in self.traces)
        return Progress(done, 2 + 2 * self._count - done)

    def _run_once(self, side: int) -> None:
        __tracebackhide__ = True
        recording = Recording(self.names[side], detail=self.detail)
        with recording:
            self.calls[side]()
        self.traces[side].append(recording.trace)

    @property
    def document(self) -> Sweep:
        """The document of the runs so far; with the comparison once all are made."""
        both = with_findings(self._document([("before", 0), ("after", 1)]), self._summary)
        if not self.is_done:
            return both
        before, after = (self._document([("code", side)]) for side in (0, 1))
        return _told(both, compare(before, after, is_now=True, is_paired=True))

    def _summary(self, sweep: Sweep) -> Summary:
        texts = (warm_text(sweep, variant.key) for variant in sweep.variants)
        told = zip(self.names, texts, strict=False)
        said = [f"{name} took {text}" for name, text in told if text]
        return Summary(f"{', '.join(said) or sweep.name}.", summarize_sweep(sweep).facts)

    def _document(self, sides: Sequence[tuple[str, int]]) -> Sweep:
        told = [(key, self.names[side], self.traces[side]) for key, side in sides]
        chosen = [entry for entry in told if entry[2]]
        sweep = Sweep(
            name=self._name([name for _, name, _ in chosen]),
            started=self.traces[0][0].started,
            variants=tuple(
                Variant(
                    key, name if key == "code" else f"{key}: {name}", facts=bytes_written(traces[0])
                )
                for key, name, traces in chosen
            ),
            points=tuple(
                point_of(key, None, at, trace)
                for key, _, traces in chosen
                for at, trace in enumerate(traces)
            ),
            traces=tuple(
                shown
                for key, _, traces in chosen
                for shown in shown_runs(key, None, traces[0], traces[1:])
            ),
        )
        return made_here(sweep, (self.traces[1] or self.traces[0])[-1])

    def _name(self, names: Sequence[str]) -> str:
        """Return the question of both, or the code."""
        return self.question if self.question and len(names) > 1 else " and ".join(names)
