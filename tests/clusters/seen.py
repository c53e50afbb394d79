"""What the tests of this folder ask a trace or a cluster; each recording is checked to add up."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from operator import not_
from typing import Any, TypeVar

import dask.array as da

from jupyter_serprof.analysis import analyse
from jupyter_serprof.api import record
from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Finding, ProbeReport, Row, Span, Table, Trace
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.dask.cluster import agent_name

Result = TypeVar("Result")


def recorded(function: Callable[[], Result], *, detail: bool = False) -> tuple[Result, Trace]:
    """Call a function while recording; return what it returned and the trace, which adds up."""
    with record("test", detail=detail) as recording:
        result = function()
    return result, trace_of(recording)


def trace_of(recording: Recording) -> Trace:
    """Return the trace of a recording after checking that its waterfall adds up to the ns."""
    trace = adding_up(recording.trace)
    assert {span.lane for span in trace.spans} <= {lane.key for lane in trace.lanes}
    assert not [note for note in trace.quality.notes if "failed" in note or "Error" in note]
    return trace


def adding_up(trace: Trace) -> Trace:
    """Check that the waterfall of a trace adds up to the ns; return the trace."""
    assert trace.waterfall is not None
    owned_ns = sum(row.self_ns for row in trace.waterfall.rows)
    assert owned_ns + trace.waterfall.unaccounted_ns == trace.wall_ns
    assert trace.waterfall.unaccounted_ns >= 0
    return trace


def watched(function: Callable[[], Any], *probes: Probe) -> tuple[Any, Trace]:
    """Call a function while these probes listen; return its result or its error, and the trace."""
    recorder = Recorder(probes)
    recorder.start()
    try:
        result = function()
    except Exception as error:  # noqa: BLE001  (the user's; tests compare it)
        result = error
    finally:
        recorder.stop()
    trace = adding_up(analyse(freeze(recorder, name="test")))
    assert not [note for note in trace.quality.notes if "could not" in note or "failed" in note]
    assert recorder.failures == {}
    return result, trace


def without(kind: type[Any], *gone: str) -> Any:
    """Return a probe for a library that lacks the places that end so."""

    class Without(kind):  # type: ignore[misc]  # of any kind
        def places(self) -> list[Place]:
            return [
                replace(place, path=f"{place.path}_gone") if place.path.endswith(gone) else place
                for place in super().places()
            ]

    return Without()


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


def table(trace: Trace, key: str) -> Table:
    (found,) = [table for table in trace.tables if table.key == key]
    return found


def column(trace: Trace, key: str, name: str) -> list[Any]:
    found = table(trace, key)
    at = [entry.key for entry in found.columns].index(name)
    return [line[at] for line in found.rows]


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


# Of Dask


def array_sum() -> float:
    x = da.ones((500, 500), chunks=(100, 100))
    total: float = (x + x.T).sum().compute()
    return total


def wanted(client: Any) -> set[str]:
    """Return the keys that a client wants: a release is done by its event loop, a little later."""
    gc.collect()  # what other tests left in cycles is given up now
    client.nthreads()  # a round trip, behind all that its loop was asked for before
    return set(client.futures)


def until(
    is_so: Callable[[Result], object], ask: Callable[[], Result], patience_s: float = 30
) -> Result:
    """Ask until the answer is as wanted, or for so long; return the last answer."""
    deadline = time.monotonic() + patience_s
    while not is_so(answer := ask()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return answer


def remote(function: Any, **options: Any) -> Any:
    """Return a function or class as a remote one; Ray's types know less of it."""
    make = import_module("ray").remote
    return make(**options)(function) if options else make(function)


def ours_everywhere(client: Any) -> list[list[str]]:
    """Return what there is of agents on the scheduler, on each worker and here."""
    name = agent_name()

    def found(dask_scheduler: Any = None) -> list[str]:
        agent = sys.modules.get(name)
        listens = ["agent"] if agent is not None and agent.is_running() else []
        return listens + [one for one in getattr(dask_scheduler, "plugins", ()) if "serprof" in one]

    return [client.run_on_scheduler(found), *client.run(found).values(), found()]


def ours_on(client: Any, lease_s: float = 12) -> list[str]:
    """Return what is left of agents on scheduler, workers and client, after the longest lease."""
    ask = lambda: [one for names in ours_everywhere(client) for one in names]  # noqa: E731
    return until(not_, ask, lease_s)
