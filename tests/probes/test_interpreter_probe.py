"""The probe of the interpreter: imports, garbage collection and waits are named apart."""

import asyncio
import concurrent.futures
import gc
import importlib
import queue
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import Recorder, Watcher
from jupyter_serprof.model import Trace
from jupyter_serprof.probes import Probe, interpreter
from jupyter_serprof.probes.interpreter import InterpreterProbe
from jupyter_serprof.testing import ProbeContract, TickClock

FIRST, SECOND = "serprof_imported_first", "serprof_imported_second"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No collection comes in between unless the test asks for one."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path whose modules are gone after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith("serprof_imported"):
            del sys.modules[name]


def recorded(call: Callable[[], object], *more: Watcher, tick_ns: int = 10) -> Trace:
    recorder = Recorder([InterpreterProbe(), *more], clock=TickClock(tick_ns, start_ns=1))
    recorder.start()
    try:
        call()
    finally:
        recorder.stop()
    return freeze(recorder, name="test")


class TestInterpreter(ProbeContract):
    """The contract of every probe."""

    probe = InterpreterProbe

    def call(self) -> object:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        return thread.is_alive()

    def failing_call(self) -> object:
        return importlib.import_module("serprof_no_such_module")


def test_nested_imports_count_once(folder: Path) -> None:
    """A module that imports others is one span with its name; the others are part of it."""
    (folder / f"{FIRST}.py").write_text(f"import {SECOND}.part")
    (folder / SECOND).mkdir()
    (folder / SECOND / "__init__.py").write_text("")
    (folder / SECOND / "part.py").write_text("")

    trace = recorded(lambda: importlib.import_module(FIRST))

    assert [(span.stage, span.name) for span in trace.spans] == [("import", f"import {FIRST}")]


def test_an_import_statement_is_seen(folder: Path) -> None:
    """The statement goes through the same seam; a submodule names its package."""
    (folder / FIRST).mkdir()
    (folder / FIRST / "__init__.py").write_text("")
    (folder / FIRST / "part.py").write_text("")

    trace = recorded(lambda: exec(f"import {FIRST}.part"))  # noqa: S102

    assert {span.name for span in trace.spans} == {f"import {FIRST}"}


@pytest.mark.parametrize("code", ["import json, threading", "importlib.import_module('json')"])
def test_importing_what_is_loaded_costs_no_span(code: str) -> None:
    """Only modules that are not loaded yet count as first-use imports; libraries ask in loops."""
    trace = recorded(lambda: exec(code, {"importlib": importlib}))  # noqa: S102

    assert trace.spans == ()


def test_an_import_that_fails_is_seen_with_its_error(folder: Path) -> None:
    """The error is the user's, unchanged; the time is in the picture."""
    (folder / f"{FIRST}.py").write_text("1 / 0")

    def fail() -> None:
        with pytest.raises(ZeroDivisionError):
            importlib.import_module(FIRST)

    trace = recorded(fail)

    assert [span.details for span in trace.spans] == [{"error": "ZeroDivisionError"}]


class LateProbe(Probe):
    """Watches a function of a library that is imported inside the recording."""

    name, library = "late", FIRST

    def places(self) -> list[Place]:
        return [Place(f"{FIRST}:work", "user")]


@pytest.mark.parametrize("statement", [f"import {FIRST}", f"import {SECOND}"])
def test_a_library_imported_in_the_recording_is_watched(folder: Path, statement: str) -> None:
    """Directly or through another library: calls after the import are seen, no hook stays."""
    # While the library initialises it imports others; it is not armed before its names exist.
    (folder / f"{SECOND}.py").write_text(f"import {FIRST}")
    (folder / f"{FIRST}.py").write_text("import serprof_imported_third\ndef work(): return 5")
    (folder / "serprof_imported_third.py").write_text("")
    probe = LateProbe()

    def use() -> None:
        exec(statement)  # noqa: S102
        assert sys.modules[FIRST].work() == 5

    trace = recorded(use, probe)

    assert [span.name for span in trace.spans if span.stage == "user"] == ["work"]
    assert probe.missing == []
    assert armed_places() == []
    assert type(sys.modules[FIRST].work) is type(use)


def test_a_library_that_fails_to_import_is_not_watched(folder: Path) -> None:
    """A half-imported library is gone again; its probe stays silent."""
    (folder / f"{FIRST}.py").write_text("def work(): pass\nimport serprof_imported_nothing")

    def fail() -> None:
        with pytest.raises(ImportError):
            importlib.import_module(FIRST)

    probe = LateProbe()
    trace = recorded(fail, probe)

    assert not probe.was_armed
    assert trace.quality.notes == ()


def test_a_collection_is_a_span() -> None:
    """A run of the cycle collector is named, and lies inside what it interrupted."""
    trace = recorded(gc.collect)

    assert [(span.stage, span.lane) for span in trace.spans] == [("gc", "client/main")]
    assert trace.spans[0].duration_ns == 10


def test_a_collection_inside_an_import_is_its_child(folder: Path) -> None:
    """What the collector takes is not blamed on the import."""
    (folder / f"{FIRST}.py").write_text("import gc\ngc.collect()")

    trace = recorded(lambda: importlib.import_module(FIRST))

    assert [(span.stage, span.parent) for span in trace.spans] == [("import", -1), ("gc", 0)]


def test_errors_that_nobody_can_catch_reach_the_hook_of_the_user_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also one that was put in place during a recording, and passes on what it hears."""

    class Broken:
        def __del__(self) -> None:
            raise LookupError

    heard: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda _: heard.append("first"))

    def put_in_front() -> None:
        behind = sys.unraisablehook

        def hook(unraised: "sys.UnraisableHookArgs") -> None:
            heard.append("in front")
            behind(unraised)

        monkeypatch.setattr(sys, "unraisablehook", hook)

    recorded(put_in_front)
    recorded(Broken)
    Broken()

    assert heard == ["in front", "first"] * 2


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("is_ours", [False, True])
def test_a_dropped_interrupt_is_known_as_an_object_and_by_its_name(
    monkeypatch: pytest.MonkeyPatch, is_named: bool, is_ours: bool
) -> None:
    """Python 3.14 hands None over and names the callback in the message."""
    heard: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    probe = InterpreterProbe()
    recorder = Recorder([probe], clock=TickClock())
    recorder.start()
    callback = probe._callback if is_ours else InterpreterProbe()._collected
    said = f"Exception ignored while calling GC callback {callback!r}" if is_named else None
    args = SimpleNamespace(
        exc_type=KeyboardInterrupt, err_msg=said, object=None if is_named else callback
    )

    before = len(gc.callbacks)
    sys.unraisablehook(args)
    pressed = len(gc.callbacks) - before
    recorder.stop()

    assert pressed == is_ours
    assert heard == ([] if is_ours else [args])


#: Ctrl-C comes from outside while the collector looks at a million objects again and again.
_COLLECTING = """
import gc, subprocess, sys, jupyter_serprof as sp
press = "import os, signal, sys; sys.stdin.read(1); os.kill(os.getppid(), signal.SIGINT)"
heap = [[at] for at in range(1_000_000)]
presser = subprocess.Popen([sys.executable, "-c", press], stdin=subprocess.PIPE)
with sp.record("x") as recording:
    presser.stdin.write(b"!")
    presser.stdin.flush()
    for _ in range(100):
        gc.collect()
"""


def test_an_interrupt_that_arrives_while_the_collector_works_is_not_lost() -> None:
    """It is raised where the next line of Python begins, and that is in a callback of ours."""
    done = subprocess.run(
        [sys.executable, "-c", _COLLECTING],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.stderr.splitlines()[-1:] == ["KeyboardInterrupt"], done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("phase", ["start", "stop"])
def test_an_interrupt_that_arrives_while_a_collection_is_noted_is_not_lost(phase: str) -> None:
    """Python drops what is raised in a callback of the collector; Ctrl-C comes again behind all."""
    clock, presses = TickClock(), [KeyboardInterrupt]
    behind: list[str] = []

    def now() -> int:
        if gathered == [phase] and presses:
            raise presses.pop()
        return clock()

    def listens_before(at: str, _: dict[str, int]) -> None:
        gathered[:] = [at]

    def listens_behind(at: str, _: dict[str, int]) -> None:
        for _round in range(20_000):  # a signal that is due is raised in here
            pass
        behind.append(at)

    gathered: list[str] = []
    recorder = Recorder([InterpreterProbe()], clock=now)
    gc.callbacks.append(listens_before)
    recorder.start()
    gc.callbacks.append(listens_behind)

    try:
        with pytest.raises(KeyboardInterrupt):
            gc.collect()
            for _ in range(60_000):
                time.sleep(0.001)
    finally:
        recorder.stop()
        gc.callbacks.remove(listens_before)
        gc.callbacks.remove(listens_behind)

    assert presses == []
    assert behind[:2] == ["start", "stop"]
    assert armed_places() == []


def test_a_future_that_is_done_is_no_wait() -> None:
    """Thousands of results that are there already fill no page."""
    done: concurrent.futures.Future[int] = concurrent.futures.Future()
    done.set_result(1)

    trace = recorded(lambda: [done.result() for _ in range(1000)])

    assert trace.spans == ()


def test_waiting_for_threads_and_futures_is_a_wait() -> None:
    """``join`` and ``result`` are waits of the caller, not work."""

    def wait() -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            assert pool.submit(int, "5").result() == 5

    # Threads of other tests wait, too.
    spans = [s for s in recorded(wait, tick_ns=20_000).spans if s.lane == "client/main"]
    stages = [(span.stage, span.name) for span in spans]

    assert stages.count(("python.wait", "Future.result")) == 1
    assert ("python.wait", "Thread.join") in stages


def _take_from_a_queue() -> None:
    with pytest.raises(queue.Empty):
        queue.Queue[int]().get(timeout=0.001)


@pytest.mark.parametrize(
    ("idle", "name"),
    [
        (lambda: threading.Event().wait(0.001), "Condition.wait"),
        (_take_from_a_queue, "Condition.wait"),
        (lambda: asyncio.run(asyncio.sleep(0.001)), f"{selectors.DefaultSelector.__name__}.select"),
    ],
    ids=["event", "queue", "event loop"],
)
def test_a_caller_that_idles_waits(idle: Callable[[], object], name: str) -> None:
    """What happens elsewhere meanwhile may own that time."""
    trace = recorded(idle, tick_ns=20_000)

    assert ("python.wait", name) in {(span.stage, span.name) for span in trace.spans}
    assert {span.lane for span in trace.spans} == {"client/main"}


def test_a_library_that_comes_late_is_watched_where_it_idles(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray Data is imported by the first dataset, in the recorded cell; it sleeps and looks."""
    (folder / f"{FIRST}.py").write_text("class Box:\n    def take(self): return 7")
    place = Place(f"{FIRST}:Box.take", "python.wait", interpreter.PAUSES[0].role, least_ns=1)
    monkeypatch.setattr(interpreter, "PAUSES", (*interpreter.PAUSES, place))

    trace = recorded(lambda: importlib.import_module(FIRST).Box().take())

    assert [span.name for span in trace.spans] == [f"import {FIRST}", "Box.take"]
    assert not armed_places()


def test_threads_that_idle_are_not_told() -> None:
    """Every library has some; they wait for the caller, not he for them."""
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)

    def leave_alone() -> None:
        thread.start()
        threading.Event().wait(0.01)
        is_over.set()
        while thread.is_alive():
            time.sleep(0.001)

    trace = recorded(leave_alone, tick_ns=20_000)

    assert ("client/main", "Condition.wait") in {(span.lane, span.name) for span in trace.spans}
    assert {span.lane for span in trace.spans} == {"client/main"}


def test_a_library_that_idles_in_a_watched_call_keeps_its_time(folder: Path) -> None:
    """How a call waits is its own affair: it stays one span."""
    (folder / f"{FIRST}.py").write_text("import time\ntime.sleep(0.001)")

    trace = recorded(lambda: importlib.import_module(FIRST), tick_ns=20_000)

    assert [span.stage for span in trace.spans] == ["import"]
