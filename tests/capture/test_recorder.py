"""The Recorder: what it takes, from which thread, and how it starts, fails and stops."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
from interrupts import pressed
from threads import in_threads

from jupyter_serprof.capture import patching, recorder
from jupyter_serprof.capture.freeze import Page, freeze
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import Recorder, active_recorders
from jupyter_serprof.capture.records import Records
from jupyter_serprof.experiments.engine import recording
from jupyter_serprof.model import ProbeReport, Trace
from jupyter_serprof.probes import Probe
from jupyter_serprof.testing import TickClock

NAME = "serprof_recorded"
THREADS, CALLS = 8, 1_000


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A library with two functions; nothing of it stays armed and nobody stays active."""
    module = make_library(NAME)
    monkeypatch.setitem(sys.modules, NAME, module)
    yield module
    left = armed_places(), active_recorders()
    patching._PATCHES.clear()
    recorder._ACTIVE.clear()
    assert left == ([], ())


def make_library(name: str) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module)["outer"] = lambda call=lambda: None: call()
    vars(module)["inner"] = lambda: None
    return module


class LibraryProbe(Probe):
    """Watches the two functions."""

    name = "fake"
    library = NAME

    def places(self) -> list[Place]:
        return [
            Place(f"{self.library}:{name}", f"pickle.{name}", name) for name in ("outer", "inner")
        ]


class Late(LibraryProbe):
    """Watches a library that is imported meanwhile."""

    library = "serprof_late"


class BrokenProbe(LibraryProbe):
    """Fails wherever it can."""

    name = "broken"

    def arm(self, recorder: Recorder) -> None:
        super().arm(recorder)
        raise LookupError(QUOTED)

    def remove(self) -> None:
        raise LookupError(QUOTED)

    def refine(self, run: Page) -> None:  # noqa: ARG002  (it fails before it looks)
        raise LookupError(QUOTED)

    def report(self) -> ProbeReport:
        raise LookupError(QUOTED)


QUOTED = "a value of the user"


def started(
    *probes: Probe, limit: int = 10**6, tick_ns: int = 10, inside: Recorder | None = None
) -> Recorder:
    clock = inside.now if inside else TickClock(tick_ns)
    made = Recorder(probes or [LibraryProbe()], clock=clock, limit=limit)
    made.start()
    return made


def trace_of(stopped: Recorder) -> Trace:
    return freeze(stopped, name="test")


def test_the_wall_time_is_what_the_clock_says_between_start_and_stop(library: ModuleType) -> None:
    """Arming is not part of the wall time; what the clock moved in between is, exactly."""
    running = started(tick_ns=0)
    assert isinstance(running.now, TickClock)
    clock = running.now

    clock.advance_ns(1_234_567)
    library.outer()
    running.stop()
    clock.advance_ns(99)

    assert trace_of(running).wall_ns == 1_234_567


def test_eight_threads_have_every_span_on_their_own_lane(library: ModuleType) -> None:
    """8 threads with 1,000 nested calls each: no span is lost, no span is inside a foreign one."""
    gate = threading.Barrier(THREADS)

    def work() -> None:
        gate.wait()
        for _ in range(CALLS):
            library.outer(library.inner)
        gate.wait()

    running = started()
    in_threads([work] * THREADS)
    running.stop()

    trace = trace_of(running)
    for lane in [lane.key for lane in trace.lanes if lane.key != "client/main"]:
        mine = [span for span in trace.spans if span.lane == lane]
        assert [span.name for span in mine].count("outer") == CALLS
        assert all(span.parent == -1 for span in mine if span.name == "outer")
        parents = [trace.spans[span.parent] for span in mine if span.name == "inner"]
        assert [(parent.name, parent.lane) for parent in parents] == [("outer", lane)] * CALLS
    assert len(trace.spans) == 2 * THREADS * CALLS
    assert len(trace.lanes) == THREADS + 1


def test_the_caller_is_the_thread_that_started_the_recording(library: ModuleType) -> None:
    """A recording that runs in another thread has that thread as its main lane."""
    made = []

    def record() -> None:
        made.append(started())
        library.outer()
        made[0].stop()

    in_threads([record])

    assert [span.lane for span in trace_of(made[0]).spans] == ["client/main"]


def test_nested_recordings_both_have_the_inner_calls(library: ModuleType) -> None:
    """A profile inside a profile: the outer one has all calls, the inner one its own."""
    outer = started()
    library.outer()
    inner = started(inside=outer)
    library.inner()
    active = active_recorders()
    inner.stop()
    library.outer()
    outer.stop()

    assert active == (outer, inner)
    assert [span.name for span in trace_of(outer).spans] == ["outer", "inner", "outer"]
    assert [span.name for span in trace_of(inner).spans] == ["inner"]


def test_recordings_may_end_in_the_order_in_which_they_began(library: ModuleType) -> None:
    """Two async cells that overlap: the first ends while the second still records."""
    first = started()
    second = started(inside=first)
    library.outer()
    first.stop()
    library.inner()
    second.stop()

    assert [span.name for span in trace_of(first).spans] == ["outer"]
    assert [span.name for span in trace_of(second).spans] == ["outer", "inner"]


def test_what_exceeds_the_limit_is_counted(library: ModuleType) -> None:
    """Memory is bounded, and ``quality`` says how many spans are missing."""
    running = started(limit=3)
    for _ in range(5):
        library.inner()
    running.stop()

    trace = trace_of(running)
    assert (len(trace.spans), trace.quality.spans_dropped) == (3, 2)


def test_what_exceeds_the_limit_costs_no_look_at_what_is_kept(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was a chunk more to count, twice: a cell of 1.2 million calls did not end."""
    moved, real = list[Records](), Records.move

    def move(page: Records, wait_s: float = 0) -> None:
        moved.append(page)
        real(page, wait_s)

    monkeypatch.setattr(Records, "move", move)
    running = started(limit=300)
    for _ in range(2_000):
        library.inner()

    assert (len(running.page), running.dropped_count) == (300, 1_700)
    assert len(moved) < 20
    running.stop()


def test_kept_and_dropped_are_all_calls_of_all_threads(library: ModuleType) -> None:
    running = started(limit=500)

    def work() -> None:
        for _ in range(200):
            library.inner()

    in_threads([work] * THREADS)
    running.stop()

    assert len(running.page) + running.dropped_count == 200 * THREADS
    assert 500 <= len(running.page) < 500 + THREADS


def test_stopping_twice_is_stopping_once(library: ModuleType) -> None:
    """The second ``stop`` moves neither the end nor another recording's hooks."""
    running = started()
    other = started(inside=running)
    running.stop()
    end_ns = running.end_ns

    running.stop()
    library.outer()
    other.stop()

    assert running.end_ns == end_ns
    assert [span.name for span in trace_of(other).spans] == ["outer"]


def test_stopping_without_a_start_is_an_empty_trace() -> None:
    idle = Recorder([])
    idle.stop()

    assert trace_of(idle).spans == ()


def test_a_call_that_still_runs_at_the_stop_does_no_harm(library: ModuleType) -> None:
    """A thread that is inside a watched call at the stop: its span arrives late, and is whole."""
    running, gate, inside = started(), threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        gate.wait(10)

    thread = threading.Thread(target=library.outer, args=(wait,))
    thread.start()
    inside.wait(10)
    running.stop()
    gate.set()
    thread.join()

    (span,) = trace_of(running).spans
    assert span.end_ns > trace_of(running).wall_ns


@pytest.mark.usefixtures("library")
def test_a_library_imported_late_is_watched_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """``import ray`` inside the recorded cell: its probe is armed as soon as the import is done."""
    probe = Late()
    running = started(probe)
    assert not probe.was_armed
    late = make_library("serprof_late")
    assert late.__spec__ is not None
    monkeypatch.setattr(late.__spec__, "_initializing", True, raising=False)
    monkeypatch.setitem(sys.modules, "serprof_late", late)

    running.arm_waiting()
    assert not probe.was_armed, "while a module initialises, its names are not there yet"
    monkeypatch.setattr(late.__spec__, "_initializing", False)
    running.arm_waiting()
    running.arm_waiting()
    late.outer()
    running.stop()

    assert [span.name for span in trace_of(running).spans] == ["outer"]
    assert armed_places() == []


def test_a_probe_that_cannot_be_armed_does_not_stop_the_users_code(library: ModuleType) -> None:
    """Ours fails, theirs runs: the other probes listen, everything is removed, it is noted."""
    running = started(BrokenProbe(), LibraryProbe())
    library.outer()
    running.stop()

    trace = trace_of(running)
    assert [span.name for span in trace.spans] == ["outer"]
    assert [report.state for report in trace.quality.probes] == ["failed", "armed"]
    assert any("could not be armed" in note for note in trace.quality.notes)
    assert any("could not be removed" in note for note in trace.quality.notes)
    assert armed_places() == []


def test_notes_about_our_failures_quote_no_values(library: ModuleType) -> None:
    """A document is shared; the message of an exception may quote what the user worked with."""

    def broken(*_: object) -> object:
        raise LookupError(QUOTED)

    class Noting(LibraryProbe):
        def places(self) -> list[Place]:
            return [Place(f"{NAME}:outer", "pickle.outer", after=broken)]

    running = started(Noting(), BrokenProbe())
    library.outer()
    library.outer()
    running.stop()

    notes = trace_of(running).quality.notes
    assert not [note for note in notes if QUOTED in note]
    assert any("LookupError in broken" in note and "2 times" in note for note in notes)
    assert any("LookupError in refine" in note for note in notes)


@pytest.mark.usefixtures("library")
def test_a_library_imported_while_the_recording_stops_is_not_armed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread that finishes an import just after the stop leaves no hook behind."""
    running = started(Late())
    monkeypatch.setitem(sys.modules, "serprof_late", make_library("serprof_late"))
    running.stop()

    running.arm_waiting()

    assert armed_places() == []


@pytest.mark.usefixtures("library")
def test_two_threads_that_finish_an_import_arm_a_waiting_probe_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second thread finds the probe taken and goes on, without an error and without a note."""
    running, probe = started(), LibraryProbe()
    running._waiting = [probe]

    def taken_meanwhile(_: str) -> bool:
        running._waiting.clear()
        return True

    # The other thread takes the probe between the look and the taking.
    monkeypatch.setattr(recorder, "_is_imported", taken_meanwhile)

    running.arm_waiting()
    running.stop()

    assert not probe.was_armed
    assert trace_of(running).quality.notes == ()


def interrupted(call: Callable[[], None], line_count: int) -> bool:
    """Call with Ctrl-C pressed at a line; tell whether it was pressed."""
    was_pressed = pressed(call, line_count, patching.__file__, recorder.__file__)
    # Unlike a signal (bpo-29988), a tracer can come between a with block and its exit.
    patching._LOCK = threading.RLock()
    return was_pressed


def in_start(line_count: int) -> bool:
    """Press Ctrl-C while a recording begins, which undoes itself."""
    made = Recorder([LibraryProbe()], clock=TickClock(10))
    was_pressed = interrupted(made.start, line_count)
    if not was_pressed:
        made.stop()
    return was_pressed


def in_stop(line_count: int) -> bool:
    """Press it while everything is removed: the next ``stop`` finishes the work."""
    made = started()
    was_pressed = interrupted(made.stop, line_count)
    made.stop()
    return was_pressed


def in_exit(line_count: int) -> bool:
    """Press it behind a with block, where nobody calls ``stop`` again."""
    made = recording.Recording("x", detail=False, also=[LibraryProbe()])
    made.start()
    return interrupted(lambda: made.__exit__(None, None, None), line_count)


@pytest.mark.parametrize("press", [in_start, in_stop, in_exit])
def test_an_interrupt_at_any_line_leaves_no_hook_and_nobody_active(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch, press: Callable[[int], bool]
) -> None:
    """A cell that is stopped while its recording begins or ends, and a sweep that is stopped."""
    monkeypatch.setattr(recording, "available_probes", lambda **_: [])
    before, line_count, was_pressed = dict(vars(library)), 0, True

    while was_pressed and line_count < 400:
        line_count += 1
        was_pressed = press(line_count)
        assert vars(library) == before, f"line {line_count}"
        assert active_recorders() == (), f"line {line_count}"

    assert 20 < line_count < 399


def test_the_wall_clock_can_be_given(library: ModuleType) -> None:
    """A test's document has a fixed date, and a step of the clock shows up as its error."""
    wall = TickClock(start_ns=1_795_248_000_000_000_000)
    running = Recorder([LibraryProbe()], clock=TickClock(), wall_clock=wall)
    running.start()
    library.outer()
    wall.advance_ms(3)
    running.stop()

    trace = trace_of(running)
    assert trace.started == "2026-11-21T08:00:00.000Z"
    assert trace.quality.clock_error_ns == 3_000_000


@pytest.mark.parametrize("pause_at", [0, 5], ids=["start", "stop"])
def test_a_pause_between_the_two_clocks_moves_no_time_of_the_day(pause_at: int) -> None:
    """A thread may lose the processor anywhere: what other processes tell stays where it was."""
    day_ns, clock = 1_795_248_000_000_000_000, TickClock()
    readings: list[int] = []
    moments: list[int] = []

    def wall_clock() -> int:
        readings.append(day_ns + clock.now_ns)
        if len(readings) == pause_at + 1:
            clock.advance_ms(50)
        return readings[-1]

    class Remote(LibraryProbe):
        library = "sys"

        def places(self) -> list[Place]:
            return []

        def refine(self, run: Page) -> None:
            moments.append(run.start + run.wall_offset)

    running = Recorder([Remote()], clock=clock, wall_clock=wall_clock)
    running.start()
    begin_ns = clock.now_ns
    clock.advance_ms(7)
    running.stop()
    trace = trace_of(running)

    assert trace.wall_ns == 7_000_000
    assert trace.quality.clock_error_ns == 0
    assert moments == [day_ns + begin_ns]


FORKED = """
import gc, json, os, pickle, sys
import distributed
import jupyter_serprof as sp
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import active_recorders
from jupyter_serprof.probes.dask.cluster import shipped
known = lambda: (pickle.dumps, list(gc.callbacks), sys.unraisablehook, sys.getswitchinterval())
before = known()
with sp.record("parent") as recording:
    pickle.dumps([1])
    (recorder,) = active_recorders()
    read, write = os.pipe()
    if not (child := os.fork()):
        pickle.dumps([2])
        left = armed_places(), len(active_recorders()), known() == before, len(recorder.page)
        left += (shipped.cache_info().currsize,)  # no source is compiled: it took 60 ms
        os.write(write, json.dumps(left).encode())
        os._exit(0)
    os.waitpid(child, 0)
    pickle.dumps([3])
dumps = [span for span in recording.trace.spans if span.stage == "pickle.dumps"]
print(json.dumps([json.loads(os.read(read, 1000)), len(dumps)]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_is_as_it_was_before_and_the_parent_goes_on() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert json.loads(ran.stdout) == [[[], 0, True, 0, 0], 2]
    assert not ran.stderr
