"""Recording: one block of code, from arming to the document, whatever happens in it."""

import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from jupyter_serprof import span
from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import SerprofError, Trace, from_document, to_document
from jupyter_serprof.probes import Probe


def stages(recording: Recording) -> list[str]:
    """Return the stages of the trace without what the interpreter does on its own."""
    return [s.stage for s in recording.trace.spans if s.stage not in ("import", "gc")]


def test_a_block_becomes_a_document() -> None:
    """The trace has a name, its outcome, and rows that add up to the wall time."""
    recording = Recording("two pickles", detail=False)

    with recording:
        pickle.loads(pickle.dumps([1, 2]))
    trace = recording.trace

    assert (trace.name, trace.outcome) == ("two pickles", "ok")
    assert stages(recording) == ["pickle.dumps", "pickle.loads"]
    assert trace.waterfall is not None
    total_ns = sum(row.self_ns for row in trace.waterfall.rows) + trace.waterfall.unaccounted_ns
    assert total_ns == trace.wall_ns
    assert from_document(to_document(trace)) == trace


@pytest.mark.parametrize(
    ("error", "outcome"), [(ValueError, "error"), (KeyboardInterrupt, "interrupted")]
)
def test_an_exception_passes_through_and_is_noted(error: type[BaseException], outcome: str) -> None:
    """The code's own exception arrives, everything is removed, what was measured is there."""
    recording = Recording("x", detail=False)

    with pytest.raises(error), recording:
        pickle.dumps(1)
        raise error

    assert recording.trace.outcome == outcome
    assert stages(recording) == ["pickle.dumps"]
    assert armed_places() == []


def test_the_trace_of_a_running_recording_is_refused_with_the_remedy() -> None:
    """Reading too early is answered with when to read."""
    recording = Recording("x", detail=False)

    with recording, pytest.raises(SerprofError) as caught:
        _ = recording.trace

    assert "after its with block" in str(caught.value)


def test_only_the_first_stop_decides_the_outcome() -> None:
    """A stop inside the block is not overruled by the end of the block."""
    recording = Recording("x", detail=False)

    with pytest.raises(ValueError, match="late"), recording:
        recording.stop()
        message = "late"
        raise ValueError(message)

    assert recording.trace.outcome == "ok"
    assert recording.trace is recording.trace


def test_spans_are_not_forgotten_when_the_trace_is_read() -> None:
    """The answer is the same before and after the document is made."""
    recording = Recording("x", detail=False)
    with recording:
        pickle.dumps(1)

    before, _, after = recording.has_spans, recording.trace, recording.has_spans

    assert (before, after) == (True, True)


def test_background_is_not_a_span() -> None:
    """Imports, garbage collection and waiting for threads do not count as serialization."""
    recording = Recording("x", detail=False)

    with recording:
        gc.collect()
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()

    assert not recording.has_spans
    assert not Recording("never started", detail=False).has_spans


def test_a_serialization_in_a_thread_and_a_mark_are_spans() -> None:
    """What the user marked, and what helper threads serialize, counts."""
    in_thread, marked = Recording("x", detail=False), Recording("x", detail=False)

    with in_thread, ThreadPoolExecutor(1) as pool:
        pool.submit(pickle.dumps, 1).result()
    with marked, span("mine"):
        pass

    assert in_thread.has_spans
    assert marked.has_spans


def test_no_value_of_the_user_is_kept() -> None:
    """Neither the recording nor its trace holds what was pickled or what came back."""

    class Value:
        pass

    Value.__qualname__ = "Value"
    globals()["Value"] = Value
    recording = Recording("x", detail=False)

    with recording:
        value = Value()
        back = pickle.loads(pickle.dumps(value))
    trace = recording.trace
    alive = [weakref.ref(value), weakref.ref(back)]
    del value, back

    assert trace.spans
    assert not recording._recorder.page
    assert [ref() for ref in alive] == [None, None]


class _Counting(Probe):
    """A probe that only says that it was there."""

    name = "counting"
    library = "sys"

    def refine(self, run: Page) -> None:
        run.notes.append("counted")


def test_a_recording_may_have_a_probe_of_its_own() -> None:
    """What one caller adds is armed, completes the run and is removed like the others."""
    recording = Recording("x", detail=False, also=(_Counting(),))

    with recording:
        pickle.dumps(1)

    assert "counted" in recording.trace.quality.notes
    assert "counting" in [report.name for report in recording.trace.quality.probes]
    assert "counted" not in _trace_without_it().quality.notes


def _trace_without_it() -> Trace:
    with Recording("x", detail=False) as recording:
        pickle.dumps(1)
    return recording.trace
