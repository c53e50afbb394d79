"""From spans to answers: pure functions from a trace to rows, findings and sentences.

In: a `Trace` of spans. Out: the same with waterfall, findings and summary.

>>> from jupyter_serprof.testing import make_trace
>>> trace = analyse(make_trace([("pickle.dumps", "client/main", 0, 6, 10_000_000)], wall_ms=10))
>>> [(row.stage, row.self_ns) for row in trace.waterfall.rows], trace.waterfall.unaccounted_ns
([('pickle.dumps', 6000000)], 4000000)
>>> trace.summary.headline
'10.0 ms: 60 % Pickle, 10.0 MB'
"""

from collections.abc import Iterable
from dataclasses import replace

from jupyter_serprof.analysis.findings import Rule, find
from jupyter_serprof.analysis.outline import outlined
from jupyter_serprof.analysis.spans import shared_walk
from jupyter_serprof.analysis.summary import summarize
from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.model import Limits, Trace, stages_of
from jupyter_serprof.model.trace import STAYED

__all__ = ["analyse"]


def analyse(
    trace: Trace, limits: Limits | None = None, rules: Iterable[Rule] = (), code: str = ""
) -> Trace:
    """Return the trace with its waterfall, findings and summary.

    ``trace``: As frozen by a recorder.
    ``limits``: What this machine's memory can do; None if it was not measured.
    ``rules``: Findings of plug-ins, beside ours.
    ``code``: What was typed, by whose names remedies are written; else the name of the trace.
    """
    known = stages_of(trace)
    keys = {span.stage: None for span in trace.spans}
    keys |= {known[key].parent: None for key in keys if known[key].parent}
    described = tuple(sorted((known[key] for key in keys), key=lambda entry: entry.order))
    told = replace(trace, stages=described, limits=limits or trace.limits)
    with shared_walk(told.spans):
        full = replace(told, waterfall=partition(told))
        full = outlined(replace(full, findings=find(full, rules, code=code)))
        full = replace(full, summary=summarize(full))
    # What stands above the picture is not said again.
    notes = tuple(note for note in full.quality.notes if STAYED not in note)
    return replace(full, quality=replace(full.quality, notes=notes))
