"""Runs that are made for a comparison: how many, and two pieces of code in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.comparison import headline
from jupyter_serprof.experiments.compare.repeats import Repeats, checked_runs, runs_within_budget
from jupyter_serprof.experiments.compare.samples import check_kinds
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.experiments.engine.document import summarize_sweep, warm_text, with_findings
from jupyter_serprof.experiments.engine.experiment import Experiment, Made, Progress, Steps
from jupyter_serprof.experiments.engine.order import REPEATS
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS
from jupyter_serprof.model import Comparison, Summary, Sweep, Trace
from jupyter_serprof.model.units import code_text, counted, format_ns, shortened

_SAME = "If both answer the same question, say which: sp.compare(f, g, name='sum')"


def transports_of(before: Trace | Sweep) -> tuple[str, ...] | None:
    """Return the transports that a document has measured; None if it is no round trip."""
    if isinstance(before, Trace):
        return None
    measured = dict.fromkeys(point.variant for point in before.points)
    return tuple(key for key in measured if key in TRANSPORTS) or None


def _told(document: Sweep, comparison: Comparison) -> Sweep:
    known = document.summary or Summary("")
    other = comparison.after if comparison.after != comparison.before else ""
    pair = f"{code_text(other)} " * bool(other) + f"compared with {code_text(comparison.before)}"
    facts = (pair, *known.facts) if comparison.before else known.facts
    told = replace(known, headline=headline(comparison), facts=facts)
    return replace(document, comparison=comparison, summary=told)


def stopped(before: Trace | Sweep, after: Made) -> Made:
    """Return what was measured until a comparison was stopped, with a headline that says so.

    ``after`` is a trace where the first run did not end.
    """
    name = before.name or "before"
    if isinstance(after, Trace):
        how = "interrupted" if after.outcome == "interrupted" else "raised"
        said = f"{how} in the first run, {format_ns(after.wall_ns)}: nothing to compare"
    else:
        warm = sum(not point.cold for point in after.points)
        said = f"stopped after {counted(warm, 'warm run')}, not compared with {code_text(name)}"
    return replace(after, summary=replace(after.summary or Summary(""), headline=said))


class Against:
    """Runs of now against a document: an `Experiment`, compared once it has made all its runs.

    ``runs``: The experiment of now.
    ``named``: Gives its document the name by which it is compared.
    """

    def __init__(
        self,
        before: Trace | Sweep,
        runs: Experiment[Sweep],
        named: Callable[[Sweep], Sweep] = lambda made: made,
    ) -> None:
        self._before, self._runs, self._named = before, runs, named
        self._found: Sweep | None = None
        self._is_running = self._is_refused = False

    def steps(self) -> Steps:
        """Make the runs, then compare.

        Raises ``UsageError``: If nothing of the two can be compared; `document` has the runs.
        """
        __tracebackhide__ = True
        self._is_running = True
        try:
            steps = self._runs.steps()
            for _ in steps:  # runs that cannot be compared are not made
                self._is_refused = True
                check_kinds(self._before, self._runs.document)
                self._is_refused = False
                yield
                yield from steps
        finally:
            self._is_running = False
        made = self._named(self._runs.document)
        self._found = _told(made, compare(self._before, made, is_now=True))

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


@dataclass(eq=False, slots=True)
class Pairs:
    """Two pieces of code, run in turns: first, second, second, first, first, second ...

    Each begins in every other pair, so that neither always runs in the wake of the other, and
    whatever drifts, drifts for both. The first run of each is cold and stays apart.

    ``question``: What both answer; without it both have to be of a kind.
    ``repeat``: Pairs; None takes 15, or fewer within 20 s.
    ``kind``: How each of them is run.
    """

    calls: Sequence[Callable[[], object]]
    names: Sequence[str]
    question: str | None = None
    repeat: int | None = None
    detail: bool = False
    kind: type[Repeats] = Repeats
    _sides: list[Repeats] = field(init=False)

    def __post_init__(self) -> None:
        """Refuse a bad number of pairs."""
        checked_runs(self.repeat)
        if len(set(self.names)) == 1:
            self.names = [f"{name} {at}" for at, name in enumerate(self.names, 1)]
        sides = zip(self.calls, self.names, strict=True)
        self._sides = [self.kind(call, name, self.detail) for call, name in sides]

    def steps(self) -> Steps:
        """Run them in turns.

        Raises ``UsageError``: If the first runs show two kinds of code, and nothing says that both
            answer the same.
        """
        __tracebackhide__ = True
        while not self.is_done:
            if done := self.progress.done:
                yield
            pair, second = divmod(done - 2, 2)
            self._sides[1 - second if pair > 0 and pair % 2 else second].run_once()
            if self.question is None and self.progress.done == len(self._sides):
                before, after = (side.traces[0] for side in self._sides)
                check_kinds(before, after, _SAME)

    @property
    def _count(self) -> int:
        """How many pairs there will be; without a number that depends on the cold runs."""
        colds = [side.traces[0].wall_ns for side in self._sides if side.traces]
        if self.repeat is not None or len(colds) < len(self._sides):
            return self.repeat or REPEATS.most
        return runs_within_budget(max(colds), sides=2)

    @property
    def is_done(self) -> bool:
        """Whether all pairs are made."""
        return all(len(side.traces) > self._count for side in self._sides)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        done = sum(len(side.traces) for side in self._sides)
        return Progress(done, 2 + 2 * self._count - done)

    @property
    def document(self) -> Sweep:
        """The document of the runs so far; with the comparison once all are made."""
        made = [side.document for side in self._sides if side.traces]
        parts = [_called(key, each) for key, each in zip(("before", "after"), made, strict=False)]
        names = [each.name for each in made]
        is_one = bool(self.question) and len(names) > 1
        both = replace(
            made[-1],
            name=self.question or "" if is_one else " and ".join(names),
            started=made[0].started,
            variants=tuple(variant for part in parts for variant in part.variants),
            points=tuple(point for part in parts for point in part.points),
            traces=tuple(entry for part in parts for entry in part.traces),
        )
        both = with_findings(both, self._summary)
        return _told(both, compare(*made, is_now=True, is_paired=True)) if self.is_done else both

    def _summary(self, sweep: Sweep) -> Summary:
        texts = (warm_text(sweep, variant.key) for variant in sweep.variants)
        told = zip(map(code_text, self.names), texts, strict=False)
        said = ", ".join(f"{name} takes {text}" for name, text in told if text)
        return replace(summarize_sweep(sweep), headline=shortened(said or code_text(sweep.name)))


def _called(key: str, made: Sweep) -> Sweep:
    return replace(
        made,
        variants=tuple(replace(v, key=key, title=f"{key}: {v.title}") for v in made.variants),
        points=tuple(replace(point, variant=key) for point in made.points),
        traces=tuple(replace(entry, variant=key) for entry in made.traces),
    )
