"""``--try CODE`` for code that serializes: its findings, tried on the values that it sent.

Each is sent again as the recording saw it go: what Ray or a buffer callback handed over is not
compared with a pickle that was not made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from jupyter_serprof.experiments.blame.keeper import Crossed
from jupyter_serprof.experiments.engine.experiment import complete
from jupyter_serprof.experiments.engine.order import TRIALS
from jupyter_serprof.experiments.remedies.value import Tryout
from jupyter_serprof.model import Finding, Sweep, Trace, UsageError
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.objects.ask import name_in

_WORTH_BYTES = 10_000
_TRIED = 2


def try_code(
    trace: Trace,
    sent: Sequence[Crossed],
    namespace: Mapping[str, object],
    *,
    budget_s: float = TRIALS.budget_s,
) -> Trace:
    """Return the trace with its findings measured on the values that crossed in it.

    Parameters
    ----------
    trace
        The recording of the code.
    sent
        What crossed, the largest first; namespace: where their names are looked up.
    budget_s
        As `try_remedies`.

    Notes
    -----
    An interrupt ends the trials, not the document: what was measured stays, and it is told.
    """
    chosen = [one for one in sent if one.size_bytes >= _WORTH_BYTES][:_TRIED]
    found, notes = list[Finding](), list[str]() if chosen else [_nothing(sent)]
    for one in chosen:
        name = name_in(namespace, one.value) or f"<{type(one.value).__name__}>"
        tryout = Tryout(one.value, name=name, now=one.now, budget_s=budget_s / len(chosen))
        is_stopped = False
        try:
            complete(tryout)
        except UsageError as error:
            notes.append(f"{name} was not tried: {error}")
            continue
        except KeyboardInterrupt:
            is_stopped = True
        found += tryout.document.findings
        notes += _told(name, tryout.document, is_stopped=is_stopped)
        if is_stopped:
            break
    return with_findings(trace, found, notes)


def _nothing(sent: Sequence[Crossed]) -> str:
    if not sent:
        return (
            "nothing was tried: no value was seen that went through pickle, cloudpickle or Ray. "
            "For a value by itself: %serprof --try NAME"
        )
    largest = format_bytes(sent[0].size_bytes)
    return f"nothing was tried: the largest value that was sent takes {largest}"


def _told(name: str, sweep: Sweep, *, is_stopped: bool) -> Iterator[str]:
    what = name if name.isidentifier() else f"{name}, which has no name: the lines call it a"
    said = sweep.summary.headline if sweep.summary else ""
    tried = [variant for variant in sweep.variants if variant.facts.get("tried")]
    told = [f"{variant.title} {variant.notes[0]}" for variant in tried if variant.notes]
    if is_stopped:
        yield f"tried on {what}: {'; '.join(told) or 'nothing yet'}. Then it was interrupted"
    elif told:
        yield f"tried on {what}: {'; '.join(told)}"
    else:
        yield f"tried on {what}: {said if sweep.quality.notes else 'no remedy applies to it'}"
    yield from sweep.quality.notes


def with_findings(trace: Trace, found: list[Finding], notes: list[str]) -> Trace:
    """Return the trace with measured findings first; each takes over the spans of its rule."""
    spans = {finding.rule: finding.spans for finding in trace.findings}
    measured = [replace(finding, spans=spans.get(finding.rule, ())) for finding in found]
    rules = {finding.rule for finding in measured}
    others = [finding for finding in trace.findings if finding.rule not in rules]
    quality = replace(trace.quality, notes=(*trace.quality.notes, *notes))
    return replace(trace, findings=(*measured, *others), quality=quality)
