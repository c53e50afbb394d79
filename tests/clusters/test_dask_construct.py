"""The sampler: user code and graph construction told apart, and nothing left of it afterwards."""

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from pythons import python

from clusters.seen import probe, self_ns, spans, trace_of
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Trace, from_document, to_document
from jupyter_serprof.probes.dask.sampling import ConstructionSampler

da = pytest.importorskip("dask.array")

_MS, _LONG_MS = 1_000_000, 200


def sampled(function: Callable[[], Any]) -> tuple[Trace, ConstructionSampler]:
    sampler = ConstructionSampler()
    with Recording("test", detail=False, also=(sampler,)) as recording:
        function()
    return trace_of(recording), sampler


def busy(length_ms: float) -> int:
    """Keep the interpreter busy, without a pause; return how long it took, ns."""
    start = time.perf_counter_ns()
    while time.perf_counter_ns() - start < length_ms * _MS:
        pass
    return time.perf_counter_ns() - start


def is_found(once: Callable[[], tuple[int, int, int]]) -> bool:
    """Tell whether a time (found, true, resolution) is right within 5 % or 5 ms, and a look."""
    # A busy machine spoils some recordings, and takes the looks apart: those do not count.
    for _ in range(8):
        found, true, resolution = once()
        allowed = max(0.05 * true, 5 * _MS) + min(resolution, 12 * _MS)
        if abs(found - true) <= allowed:
            return True
    return False


def test_a_slow_function_of_the_user_is_your_code_with_its_name() -> None:
    """200 ms between two calls of Dask are not Dask's."""

    def load_the_table() -> int:
        return busy(_LONG_MS)

    def once() -> tuple[int, int, int]:
        sampler = ConstructionSampler()
        with Recording("test", detail=False, also=(sampler,)) as recording:
            x = da.ones((100,), chunks=10)
            true = load_the_table()
            _ = x + 1
        found = spans(trace_of(recording), "python.code", "load_the_table")
        return sum(span.duration_ns for span in found), true, sampler._longest_ns

    assert is_found(once)


def test_slow_construction_is_named_by_the_outermost_call_of_dask() -> None:
    """Building a graph for a long time is construction, whatever functions of Dask work inside."""

    def once() -> tuple[int, int, int]:
        true: list[int] = []
        parts = [da.ones((10,), chunks=1) for _ in range(50)]

        def cell() -> None:
            start = time.perf_counter_ns()
            while time.perf_counter_ns() - start < _LONG_MS * _MS:
                da.concatenate(parts)
            true.append(time.perf_counter_ns() - start)

        trace, sampler = sampled(cell)
        if not spans(trace, "dask.construct", "array.concatenate"):
            return 0, true[0], sampler._longest_ns  # nobody came to look in all that time
        # Dask's tokens are pickles, which are watched; both are inside the calls.
        watched = sum(self_ns(trace, key) for key in ("pickle.dumps", "gc") if spans(trace, key))
        return self_ns(trace, "dask.construct") + watched, true[0], sampler._longest_ns

    assert is_found(once)


def test_a_wait_inside_a_watched_call_is_left_to_that_call() -> None:
    """The sampler fills gaps; what hooks saw stays what it was."""

    def cell() -> None:
        thread = threading.Thread(target=busy, args=(60,))
        thread.start()
        thread.join()

    trace, _ = sampled(cell)

    joins = [(s.start_ns, s.end_ns) for s in spans(trace, "python.wait")]
    samples = [(s.start_ns, s.end_ns) for s in spans(trace, "python.code")]
    assert joins
    assert all(a_end <= b or b_end <= a for a, a_end in joins for b, b_end in samples)


def test_the_document_says_how_fine_it_looked_and_holds_no_source() -> None:
    """Looks, the longest pause between two; names of functions, nothing of what they do."""
    trace, _ = sampled(lambda: busy(600))

    report = probe(trace, "construction")
    assert report.state == "armed"
    assert "at most" in report.level
    assert "between two looks" in report.unseen[0]
    assert "length_ms" not in str(to_document(trace))
    assert from_document(to_document(trace)) == trace


def test_nothing_is_left_after_the_recording() -> None:
    """The thread is gone when the block is, also when it raised or was interrupted."""
    for error in (None, ValueError, KeyboardInterrupt):
        sampler = ConstructionSampler()
        recording = Recording("test", detail=False, also=(sampler,))
        try:
            with recording:
                assert sampler._gone.locked()
                sampler.arm(recording._recorder)
                if error is not None:
                    raise error
        except (ValueError, KeyboardInterrupt):
            pass
        assert not sampler._gone.locked()
        sampler.remove()  # once more changes nothing
        assert recording.trace.quality.notes == ()


def test_no_value_of_the_user_is_kept_alive() -> None:
    """A look at a frame does not hold the variables in it."""

    class Value:
        pass

    alive: list[weakref.ref[Value]] = []

    def cell() -> None:
        value = Value()
        alive.append(weakref.ref(value))
        busy(40)

    gc.disable()
    try:
        _, sampler = sampled(cell)
        assert sampler.was_armed
        assert alive[0]() is None
    finally:
        gc.enable()


def test_programs_see_no_thread_more_and_an_interpreter_ends_while_the_sampler_looks() -> None:
    """Code that counts its threads is not disturbed; a recording without end keeps no process."""
    # In a process of its own: a cluster in this one starts and ends threads when it likes.
    code = (
        "import threading\n"
        "from jupyter_serprof.experiments.engine.recording import Recording\n"
        "from jupyter_serprof.probes.dask.sampling import ConstructionSampler\n"
        "sampler, before = ConstructionSampler(), threading.active_count()\n"
        "Recording('x', detail=False, also=(sampler,)).start()\n"
        "while not sampler._longest_ns: pass\n"  # two looks at least
        "print(sampler._gone.locked(), threading.active_count() - before)\n"
    )

    assert python(code) == "True 0\n"


def test_the_interpreters_switch_interval_is_put_back() -> None:
    """It is shorter while somebody samples; one that the user sets meanwhile stays."""
    before = sys.getswitchinterval()
    try:
        inside = []
        sampled(lambda: inside.append(sys.getswitchinterval()))
        assert inside[0] < before
        assert sys.getswitchinterval() == before

        sampled(lambda: sys.setswitchinterval(0.002))
        assert sys.getswitchinterval() == 0.002
    finally:
        sys.setswitchinterval(before)
