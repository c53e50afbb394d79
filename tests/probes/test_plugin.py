"""A plug-in as proof: a probe of another package, with stages and a finding of its own."""

import multiprocessing
from importlib import import_module
from typing import Any, ClassVar

import pytest

from jupyter_serprof.analysis.findings import find
from jupyter_serprof.api import record
from jupyter_serprof.model import Finding, Sweep, Trace, from_document, to_document
from jupyter_serprof.probes import available_probes
from jupyter_serprof.testing import ProbeContract, make_trace

# Installed by `uv sync`: it is in the group of the tests.
serprof_queue: Any = import_module("serprof_queue")


@pytest.fixture(scope="module")
def trace() -> Trace:
    """A recording of one large object that goes through a queue."""
    queue = multiprocessing.get_context("spawn").Queue()
    with record() as recording:
        queue.put(b"x" * 3_000_000)
        queue.get()
    queue.close()
    queue.join_thread()
    return recording.trace


class TestQueueProbe(ProbeContract):
    """What every probe promises."""

    probe = serprof_queue.QueueProbe
    closed: ClassVar[Any] = multiprocessing.get_context("spawn").Queue()

    def call(self) -> object:
        """Put one number, in a queue of its own, and get it."""
        queue = multiprocessing.get_context("spawn").Queue()
        try:
            queue.put(1)
            return queue.get()
        finally:
            queue.close()
            queue.join_thread()

    def failing_call(self) -> object:
        self.closed.close()
        self.closed.put(1)
        return None


def test_it_is_found_by_its_entry_point() -> None:
    assert "queue" in {probe.name for probe in available_probes()}


def test_its_stages_are_described_in_the_document(trace: Trace) -> None:
    """Title, order, colour and the wait travel with the document, to where it is not installed."""
    loaded = from_document(to_document(trace))

    assert not isinstance(loaded, Sweep)

    stages = {entry.key: entry for entry in loaded.stages}
    put, get = stages["queue.put"], stages["queue.get"]
    assert (put.title, put.order, put.waits) == ("Queue put", 41, False)
    assert (get.title, get.order, get.waits) == ("Queue get", 42, True)
    assert (put.family, get.family) == ("pickle", "move")


def test_its_wait_is_told_as_a_wait(trace: Trace) -> None:
    """The time of get belongs to what the feeder thread does meanwhile, or is a wait."""
    (got,) = [span for span in trace.spans if span.stage == "queue.get"]
    (pickled,) = [span for span in trace.spans if span.name == "ForkingPickler.dumps"]

    assert pickled.lane != got.lane == "client/main"
    assert (pickled.size_bytes or 0) > 3_000_000
    assert trace.waterfall is not None
    owned = {row.stage: row.self_ns for row in trace.waterfall.rows}
    assert {"queue.put", "queue.get"} <= set(owned)
    assert trace.summary is not None
    strict, total = trace.summary.strict_share, trace.summary.total_share
    assert strict is not None
    assert total is not None
    assert total - strict == pytest.approx(owned["queue.get"] / trace.wall_ns)


def test_a_rule_that_fails_is_told_and_stops_nothing() -> None:

    def broken(_: Trace) -> list[Finding]:
        raise KeyError

    (found,) = find(make_trace([]), [broken])

    assert found.title == "the rule broken failed: KeyError"


def test_its_finding_is_in_the_document(trace: Trace) -> None:
    """Beside those of our own, with the spans that it is about."""
    (found,) = [entry for entry in trace.findings if entry.rule == "queue.large-object"]

    assert found.title == "3.0 MB went through the pipe of a queue"
    assert [trace.spans[at].name for at in found.spans] == ["ForkingPickler.dumps"]
