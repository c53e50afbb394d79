"""Recording: one block of code, from arming to the document, whatever happens in it."""

import copyreg
import gc
import io
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import make_dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from dask.tokenize import TokenizationError, tokenize

from jupyter_serprof import span
from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Finding, SerprofError, from_document, to_document
from jupyter_serprof.probes import Probe


def stages(recording: Recording) -> list[str]:
    """Return the stages of the trace without what the interpreter does on its own."""
    return [s.stage for s in recording.trace.spans if s.stage not in ("import", "gc")]


def test_a_block_becomes_a_document() -> None:
    """The trace has a name, its outcome, and rows that add up to the wall time."""
    with Recording("two pickles", detail=False) as recording:
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
    with pytest.raises(error), Recording("x", detail=False) as recording:
        pickle.dumps(1)
        raise error

    assert recording.trace.outcome == outcome
    assert stages(recording) == ["pickle.dumps"]
    assert armed_places() == []


def test_the_trace_of_a_running_recording_is_refused_with_the_remedy() -> None:
    recording = Recording("x", detail=False)

    with recording, pytest.raises(SerprofError, match="after its with block"):
        _ = recording.trace


def test_only_the_first_stop_decides_the_outcome() -> None:
    with pytest.raises(ValueError, match="late"), Recording("x", detail=False) as recording:
        recording.stop()
        message = "late"
        raise ValueError(message)

    assert recording.trace.outcome == "ok"
    assert recording.trace is recording.trace


def test_spans_are_not_forgotten_when_the_trace_is_read() -> None:
    with Recording("x", detail=False) as recording:
        pickle.dumps(1)

    assert (recording.has_spans, bool(recording.trace), recording.has_spans) == (True, True, True)


def background() -> Recording:
    gc.collect()  # a Dask client that another test left closes itself
    with Recording("x", detail=False) as recording:
        gc.collect()
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
    return recording


def test_background_is_not_a_span() -> None:
    """Imports, garbage collection and waiting for threads do not count as serialization."""
    assert not background().has_spans
    assert not Recording("never started", detail=False).has_spans


def test_what_the_loop_of_a_dask_client_sends_is_not_a_span() -> None:
    """A client that is open sends heartbeats, which are serialized in a thread of its own."""
    asked, sent = threading.Event(), threading.Event()

    def loop() -> None:
        asked.wait()
        pickle.dumps(1)
        sent.set()

    thread = threading.Thread(target=loop, name="IO loop")
    thread.start()
    with Recording("x", detail=False) as recording:
        asked.set()
        sent.wait()
    thread.join()

    assert not recording.has_spans


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
    with Recording("x", detail=False) as recording:
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
    with Recording("x", detail=False, also=(_Counting(),)) as recording:
        pickle.dumps(1)
    with Recording("x", detail=False) as without_it:
        pickle.dumps(1)

    assert "counted" in recording.trace.quality.notes
    assert "counting" in [report.name for report in recording.trace.quality.probes]
    assert "counted" not in without_it.trace.quality.notes


def _generator() -> Any:
    return (number for number in range(3))


class ToldError(TypeError):
    """An error that says other things of itself than it is."""

    args: Any = property(lambda _: pytest.fail("asked"))
    __context__: Any = property(lambda _: pytest.fail("asked"))


def _raises(error: BaseException) -> Any:
    class Value:
        def __reduce__(self) -> Any:
            raise error

    return Value()


LOCK = threading.Lock()
POOL = ThreadPoolExecutor(1)
#: With slots; and a class that pickle does not find.
Node: Any = type("Node", (), {"__slots__": ("lk",)})
OWN: Any = {"namespace": {"__module__": __name__}, "frozen": True, "slots": True}
Frozen: Any = make_dataclass("Frozen", ["lk"], **OWN)
Local: Any = type("Local", (), {"__qualname__": "f.<locals>.Local"})


def _with_lock(own: Any) -> object:
    own.lk = LOCK
    return own


def unpicklable(recording: Recording) -> Finding:
    (found,) = [one for one in recording.trace.findings if one.rule == "pickle.unpicklable"]
    return found


def test_a_search_that_fails_leaves_the_error_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be pickled is then not told; that it is not is."""
    failing = Mock(side_effect=ZeroDivisionError)
    monkeypatch.setattr("jupyter_serprof.probes.pickle.find_culprits", failing)

    with pytest.raises(TypeError, match="lock"), Recording("x", detail=False) as recording:
        pickle.dumps([threading.Lock()])

    assert recording.trace.outcome == "error"
    assert any("ZeroDivisionError" in note for note in recording.trace.quality.notes)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ValueError("by the user")])
def test_only_what_pickle_refuses_is_searched(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind Ctrl-C and full memory nobody waits for a search."""
    monkeypatch.setattr("jupyter_serprof.probes.pickle.find_culprits", lambda *_, **__: 1 / 0)

    with pytest.raises(type(error)), Recording("x", detail=False) as recording:
        pickle.dumps(_raises(error))

    assert not recording.trace.quality.notes


def test_an_error_is_not_asked_what_it_is() -> None:
    """Its class may answer with anything, and a chain of causes may be a ring."""
    first, second = ToldError("a"), TypeError("b")
    first.__cause__, second.__cause__ = second, first

    with pytest.raises(ToldError), Recording("x", detail=False) as recording:
        pickle.dumps(_raises(first))

    assert not recording.trace.quality.notes


def test_nothing_of_the_value_runs_while_its_culprit_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Iteration, keys, lengths and defaults may be code of the user, as reducers are."""
    asked = list[str]()

    class Rows(list[object]):
        def __iter__(self) -> Any:
            asked.append("iter")
            return super().__iter__()

    class Table(dict[object, object]):
        def items(self) -> Any:
            asked.append("items")
            return super().items()

    class Key(str):
        __slots__ = ()

        def __repr__(self) -> str:
            asked.append("repr")
            return "secret"

        def __len__(self) -> int:
            asked.append("len")
            return 1

    for kind in (Rows, Table, Key):
        monkeypatch.setitem(globals(), kind.__name__, kind)
        kind.__qualname__ = kind.__name__
    value = [Table({Key("own"): Rows([threading.Lock()])}), 2]
    with suppress(TypeError):  # what pickle itself asks for
        pickle.dumps(value)
    alone = len(asked)
    with pytest.raises(TypeError), Recording("x", detail=False) as recording:
        pickle.dumps(value)

    assert len(asked) == 2 * alone
    assert unpicklable(recording).title == "`value[0]['own'][0]` cannot be pickled"


@pytest.mark.parametrize(
    ("send", "title"),
    [
        (lambda svc: pickle.dumps({"part of a graph": [1, [svc]]}), "`svc.conn`"),
        (lambda svc: pickle.dumps((2, svc.conn)), "`lock`"),
        (lambda svc: pickle.dumps([[svc], {1: svc}, svc]), "`svc.conn`"),
        (lambda svc: tokenize(lambda: svc, ensure_deterministic=True), "`svc.conn`"),
    ],
    ids=["below what nobody named", "in a tuple that nobody named", "in many", "by a hash of Dask"],
)
def test_a_culprit_is_told_from_the_first_that_has_a_name(
    send: Callable[[Any], Any], title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph of Dask or a list that is written down in the call has none."""
    svc = SimpleNamespace(conn=threading.Lock())
    monkeypatch.setattr(sys.modules["__main__"], "svc", svc, raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "lock", svc.conn, raising=False)

    with pytest.raises((TypeError, TokenizationError)), Recording("x", detail=False) as recording:
        send(svc)

    assert unpicklable(recording).title == f"{title} cannot be pickled"


@pytest.mark.parametrize(
    ("value", "name", "title", "remedy"),
    [
        ([1, _generator()], "rows", "`rows[1]` cannot be pickled", "rows[1] = list(rows[1])"),
        ((1, _generator()), "rows", "`rows[1]` cannot be pickled", "import copy; to_send"),
        (partial(max, key=LOCK), "p", "`p.keywords['key']` cannot be pickled", "import copy"),
        (partial(max, LOCK), "p", "`p.args[0]` cannot be pickled", "import copy; to_send"),
        (SimpleNamespace(lk=LOCK), "ns", "`ns.lk` cannot be pickled", "import copy; to_send"),
        ({1, LOCK}, "s", "`s.<element>` cannot be pickled", "import copyreg, threading; copyr"),
        ([POOL], "jobs", "`jobs[0]` cannot be pickled", "import copy; to_send"),
        (POOL, "pool", "`pool` cannot be pickled", ""),
        ({"db.lock": LOCK}, "cfg", "`cfg['db.lock']` cannot be pickled", "import copy"),
        ({"a": [{"lk": LOCK}]}, "cfg", "`cfg['a'][0]['lk']` cannot be pickled", "import copy"),
        # The notebook has none: what the function calls it that pickles it.
        ([1, LOCK], "", "`value[1]` cannot be pickled", "import copy; to_send"),
        (_generator(), "", "`value` cannot be pickled", "value = list(value)"),
        ([[LOCK], {"x": {1: LOCK}}], "two", "`two[0][0]` cannot be pickled, and 1", "import copy"),
        (pd.DataFrame({"a": [1], "b": [LOCK]}), "df", "`df['b']` cannot be", "to_send = df.drop("),
        ({"f": pd.DataFrame({"b": [LOCK]})}, "c", "`c['f']['b']` cannot be", "c['f'] = c['f'].dr"),
        (_with_lock(Node()), "node", "`node.lk` cannot be pickled", "import copy"),
        (Frozen(LOCK), "frozen", "`frozen.lk` cannot be pickled", "import copy; to_send = "),
        ([Local(), lambda: 1], "own", "`own[0]` cannot be pickled, and 1 more", "import cloudpick"),
        (_with_lock(Local()), "own", "`own.lk` cannot be pickled, and 1", "import cloudpickle; i"),
        ({"MY_NAME": _generator()}, "NAME", "`NAME['MY_NAME']` cannot", "NAME['MY_NAME'] = list("),
    ],
)
def test_a_remedy_is_a_line_that_runs_or_none(
    value: object, name: str, title: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its names are the notebook's, and what nobody can replace in its place has none."""
    if name:
        monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)

    with pytest.raises((TypeError, AttributeError)), Recording("x", detail=False) as recording:
        pickle.dumps(value)

    found = unpicklable(recording)
    assert found.title.startswith(title)
    assert found.remedy.startswith(remedy)
    assert bool(found.remedy) == bool(remedy)
    own, before, known = name or "value", repr(value), copyreg.dispatch_table
    names = {own: value}
    monkeypatch.setitem(known, type(LOCK), None)
    del known[type(LOCK)]
    exec(found.remedy, names)  # noqa: S102  (as who pastes it)
    assert not remedy or names.get("data") or pickle.dumps(names.get("to_send", names[own]))
    assert "to_send" not in names or repr(value) == before


def test_the_remedy_of_a_value_that_has_no_name_is_told_in_words() -> None:
    with pytest.raises(TypeError), Recording("x", detail=False) as recording:
        pickle.dumps(letter for letter in "ab")

    found = unpicklable(recording)
    assert (found.remedy, found.because) == ("", "it is a generator; send a list instead")


class OwnPickler(pickle._Pickler):
    """As that of joblib, which is written in Python."""


def test_picklers_of_python_are_seen_and_name_what_they_refuse() -> None:
    """Dump and load of a class of its own; the part that cannot be pickled by its place."""
    file = io.BytesIO()
    with Recording("x", detail=False) as recording:
        OwnPickler(file).dump(["text"])
        file.seek(0)
        pickle._Unpickler(file).load()
    assert stages(recording) == ["pickle.dumps", "pickle.loads"]

    with suppress(TypeError), Recording("x", detail=False) as refused:
        OwnPickler(file).dump({"lock": threading.Lock()})
    assert [s.details["culprit"] for s in refused.trace.spans if s.details] == ["['lock']"]
