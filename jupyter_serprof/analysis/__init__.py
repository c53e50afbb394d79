"""From spans to answers: pure functions from a trace to rows, findings and sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jupyter_serprof.analysis.findings import Rule, find
from jupyter_serprof.analysis.summary import summarize
from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.model import Limits, Trace, stages_of

__all__ = ["analyse"]


def analyse(trace: Trace, limits: Limits | None = None, rules: Iterable[Rule] = ()) -> Trace:
    """Return the trace with its waterfall, findings and summary.

    Parameters
    ----------
    trace
        As frozen by a recorder.
    limits
        What this machine's memory can do; None if it was not measured.
    rules
        Findings of plug-ins, beside ours.
    """
    known = stages_of(trace)
    keys = {span.stage: None for span in trace.spans}
    keys |= {known[key].parent: None for key in keys if known[key].parent}
    described = tuple(sorted((known[key] for key in keys), key=lambda entry: entry.order))
    told = replace(trace, stages=described, limits=limits or trace.limits)
    full = replace(told, waterfall=partition(told))
    full = replace(full, findings=find(full, rules))
    return replace(full, summary=summarize(full))
