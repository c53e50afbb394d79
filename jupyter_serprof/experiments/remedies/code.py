"""``--try CODE`` for code that serializes: its findings, tried on the values that it sent.

Each is sent again as the recording saw it go: what Ray or a buffer callback handed over is not
compared with a pickle that was not made.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from jupyter_serprof.experiments.blame.keeper import Crossed
from jupyter_serprof.experiments.engine.experiment import Progress, Steps, run
from jupyter_serprof.experiments.engine.live import Told, told
from jupyter_serprof.experiments.engine.order import TRIALS
from jupyter_serprof.experiments.remedies.trial import TRYING
from jupyter_serprof.experiments.remedies.value import Tryout
from jupyter_serprof.model import Finding, Sweep, Trace, UsageError
from jupyter_serprof.model.units import format_bytes, shortened
from jupyter_serprof.objects.ask import name_in

_WORTH_BYTES = 10_000


class CodeTryout:
    """The findings of a recording, measured on the values that crossed in it. An `Experiment`.

    ``sent`` is what crossed, the largest first; names are looked up in ``namespace``; ``budget_s``
    is as of `try_remedies`.
    """

    def __init__(
        self,
        trace: Trace,
        sent: Sequence[Crossed],
        namespace: Mapping[str, object],
        *,
        budget_s: float = TRIALS.budget_s,
    ) -> None:
        self._trace, self._is_stopped = trace, False
        chosen = [one for one in sent if one.size_bytes >= _WORTH_BYTES][:2]
        self._notes = [] if chosen else [_nothing(sent)]
        self._tryouts: list[tuple[str, Tryout]] = []
        for one in chosen:
            name = name_in(namespace, one.value) or f"<{type(one.value).__name__}>"
            tryout = Tryout(one.value, name=name, now=one.now, budget_s=budget_s / len(chosen))
            self._tryouts.append((name, tryout))

    def steps(self) -> Steps:
        """Try what is left of each value; one that cannot be tried is told."""
        self._is_stopped = True
        for name, tryout in self._tryouts.copy():
            try:
                yield from tryout.steps()
            except UsageError as error:
                self._notes.append(f"{name} was not tried: {error}")
                self._tryouts.remove((name, tryout))
        self._is_stopped = False

    is_done = property(lambda self: all(each.is_done for _, each in self._tryouts))

    @property
    def progress(self) -> Progress:
        """How far it is, over all values: a recording is one point."""
        return replace(self.trips, done=min(1, self.trips.done))

    @property
    def trips(self) -> Progress:
        """How far the trials of all values are."""
        of_each = [tryout.progress for _, tryout in self._tryouts]
        done, left = sum(one.done for one in of_each), sum(one.left for one in of_each)
        at = sum(each.is_done for _, each in self._tryouts) + 1
        of = f", object {at} of {len(self._tryouts)}" if len(self._tryouts) > 1 else ""
        return Progress(done, left, what=f"{TRYING}{of}")

    @property
    def document(self) -> Trace:
        """The recording with what was measured until now."""
        tried, notes = list[Sweep](), self._notes.copy()
        for name, tryout in self._tryouts:
            if tryout.is_done or tryout.progress.done:
                is_stopped = self._is_stopped and not tryout.is_done
                tried.append(tryout.document)
                notes += _told(name, tried[-1], is_stopped=is_stopped)
        # The verdict is of the remedy that stands below it: one that can be pasted comes first.
        best = {
            id(s): max(((bool(f.remedy), f.gain) for f in s.findings), default=()) for s in tried
        }
        tried.sort(key=lambda sweep: best[id(sweep)], reverse=True)
        found = [finding for sweep in tried for finding in sweep.findings]
        said = next((s.summary.headline for s in tried if s.summary), "".join(notes[:1]))
        return _with_verdict(with_findings(self._trace, found, notes), said, is_first=bool(found))


def try_code(
    trace: Trace,
    sent: Sequence[Crossed],
    namespace: Mapping[str, object],
    live: Told | None = None,
    **budget: float,
) -> Trace:
    """Return the trace with its findings measured on the values that crossed in it."""
    # An interrupt ends the trials, not the document: what was measured stays, and it is told.
    tryout = CodeTryout(trace, sent, namespace, **budget)
    with suppress(KeyboardInterrupt), told(live, lambda: tryout.trips):
        run(tryout)
    return tryout.document


def _nothing(sent: Sequence[Crossed]) -> str:
    if not sent:
        return (
            "nothing was tried: no value was seen that went through pickle, cloudpickle or Ray. "
            "For a value by itself: %serprof --try NAME"
        )
    largest = format_bytes(sent[0].size_bytes)
    return f"nothing was tried: the largest value that was sent takes {largest}"


def _told(name: str, sweep: Sweep, *, is_stopped: bool) -> Iterator[str]:
    what = name if name.isidentifier() else f"{name}, which has no name"
    tried = [variant for variant in sweep.variants if variant.facts.get("tried")]
    told = "; ".join(f"{variant.title} {variant.notes[0]}" for variant in tried if variant.notes)
    said = told or (sweep.summary.headline if sweep.summary else "nothing yet")
    stopped = ". Then it was interrupted; to go on: sp.resume()" if is_stopped else ""
    yield f"tried on {what}: {said}{stopped}"
    yield from sweep.quality.notes


def _with_verdict(trace: Trace, said: str, *, is_first: bool) -> Trace:
    """Return the trace with a verdict as its headline; its own is then the first fact."""
    own, verdict = trace.summary, shortened(said.partition(". ")[0])
    if own is None or not verdict:
        return trace
    lines = [verdict, own.headline]
    if not is_first and any(one.remedy for one in trace.findings):
        lines.reverse()  # "nothing to try" would deny the remedy that stands below it
    return replace(trace, summary=replace(own, headline=lines[0], facts=(lines[1], *own.facts)))


def with_findings(trace: Trace, found: list[Finding], notes: list[str]) -> Trace:
    """Return the trace with measured findings first; each takes over the spans of its rule."""
    spans = {finding.rule: finding.spans for finding in trace.findings}
    measured = [replace(finding, spans=spans.get(finding.rule, ())) for finding in found]
    rules = {finding.rule for finding in measured}
    others = [finding for finding in trace.findings if finding.rule not in rules]
    others = [replace(one, remedy="") if "--try" in one.remedy else one for one in others]
    quality = replace(trace.quality, notes=(*trace.quality.notes, *notes))
    return replace(trace, findings=(*measured, *others), quality=quality)
