"""What the tests of this folder ask a trace; each recording is checked to add up."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from jupyter_serprof.api import record
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Finding, ProbeReport, Row, Span, Trace

Result = TypeVar("Result")


def recorded(function: Callable[[], Result], *, detail: bool = False) -> tuple[Result, Trace]:
    """Call a function while recording; return what it returned and the trace, which adds up."""
    with record("test", detail=detail) as recording:
        result = function()
    return result, trace_of(recording)


def trace_of(recording: Recording) -> Trace:
    """Return the trace of a recording after checking that its waterfall adds up to the ns."""
    trace = recording.trace
    assert trace.waterfall is not None
    owned_ns = sum(row.self_ns for row in trace.waterfall.rows)
    assert owned_ns + trace.waterfall.unaccounted_ns == trace.wall_ns
    assert trace.waterfall.unaccounted_ns >= 0
    assert {span.lane for span in trace.spans} <= {lane.key for lane in trace.lanes}
    assert not [note for note in trace.quality.notes if "failed" in note or "Error" in note]
    return trace


def row(trace: Trace, stage: str) -> Row:
    assert trace.waterfall is not None
    found = [row for row in trace.waterfall.rows if row.stage == stage]
    assert found, f"{stage} is not among {[row.stage for row in trace.waterfall.rows]}"
    return found[0]


def has_row(trace: Trace, stage: str) -> bool:
    return trace.waterfall is not None and stage in {row.stage for row in trace.waterfall.rows}


def self_ns(trace: Trace, stage: str) -> int:
    return row(trace, stage).self_ns


def spans(trace: Trace, stage: str = "", name: str = "") -> list[Span]:
    """Return the spans of a stage whose name ends so."""
    return [
        span
        for span in trace.spans
        if span.stage == (stage or span.stage) and span.name.endswith(name)
    ]


def detail(trace: Trace, stage: str, key: str) -> Any:
    """Return the only value that the spans of a stage note under a key."""
    values = [
        span.details[key] for span in spans(trace, stage) if span.details and key in span.details
    ]
    assert len(values) == 1, f"{stage}: {key} noted {len(values)} times"
    return values[0]


def probe(trace: Trace, name: str = "ray") -> ProbeReport:
    return next(report for report in trace.quality.probes if report.name == name)


def findings(trace: Trace, rule: str) -> list[Finding]:
    return [finding for finding in trace.findings if finding.rule == rule]


def attempts(function: Callable[[], Result], count: int = 8) -> Iterator[Trace]:
    """Yield the traces of several recordings; a busy machine spoils some of them."""
    for _ in range(count):
        yield recorded(function)[1]
