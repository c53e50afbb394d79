"""Faults in our own part of a call: the user's call has its result and its own exception."""

import pickle
import signal
import sys
import types
from typing import Any

import pytest

from jupyter_serprof import record, span
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import arm
from jupyter_serprof.capture.recorder import Recorder

OURS = [MemoryError, RecursionError, SystemExit, GeneratorExit, StopIteration, LookupError]


class Faulty(Recorder):
    """A recorder in which one thing fails."""

    def __init__(self, part: str, kind: type[BaseException]) -> None:
        def fail(*_: object) -> Any:
            raise kind

        super().__init__([])
        self.now = fail if part == "clock" else self.now
        if part in ("add", "failed"):
            setattr(self, part, fail)
        self.notes: dict[str, Any] = {part: fail} if part in ("before", "after") else {}
        if part == "failed":
            self.notes = {"before": fail, "after": fail}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A function, one that raises, and a coroutine, which all give back what they got."""
    made = types.ModuleType("serprof_faulty")
    exec(  # noqa: S102  (a module of our own)
        "def give(x):\n    return x\n"
        "def fail(x):\n    raise x\n"
        "async def later(x):\n    return x\n",
        vars(made),
    )
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def driven(coroutine: Any) -> object:
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("part", ["before", "after", "add", "failed", "clock"])
def test_what_fails_in_us_is_never_the_users(
    library: types.ModuleType, part: str, kind: type[BaseException]
) -> None:
    """Whatever part of ours fails, with whatever: result and exception are those without us."""
    sink, error, value = Faulty(part, kind), KeyError("theirs"), object()
    places = [Place(f"serprof_faulty:{name}", "user", **sink.notes) for name in vars(library)]
    armed = [arm(one, sink) for one in places if not one.name.startswith("__")]

    with pytest.raises(KeyError) as raised:
        library.fail(error)
    results = [library.give(value), driven(library.later(value))]
    for one in armed:
        one.remove()

    assert results == [value, value]
    assert raised.value is error
    assert error.__context__ is None
    assert [entry.name for entry in raised.traceback][-1] == "fail"
    assert sink.failures or part == "failed"


@pytest.mark.parametrize("part", ["before", "after", "add", "clock"])
def test_what_is_for_the_user_reaches_him(library: types.ModuleType, part: str) -> None:
    """Ctrl-C and the alarm that ends a long call pass through, wherever they meet us."""

    def alarm(*_: object) -> None:
        raise TimeoutError

    sink = Faulty(part, LookupError)
    for stub, expected in [(_ring, TimeoutError), (_press, KeyboardInterrupt)]:
        sink.notes = dict.fromkeys(sink.notes, stub)
        setattr(sink, {"clock": "now", "add": "add"}.get(part, "unused"), stub)
        before = signal.signal(signal.SIGALRM, alarm)
        entry = arm(Place("serprof_faulty:give", "user", **sink.notes), sink)
        try:
            with pytest.raises(expected):
                library.give(1)
        finally:
            entry.remove()
            signal.signal(signal.SIGALRM, before)


def _ring(*_: object) -> Any:
    signal.raise_signal(signal.SIGALRM)


def _press(*_: object) -> Any:
    raise KeyboardInterrupt


def test_a_mark_ends_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full memory is no exception of the user's block."""

    def fail(*_: object) -> None:
        raise MemoryError

    with record() as recording:
        monkeypatch.setattr(Recorder, "add", fail)
        with span("mine"):
            pass

    monkeypatch.undo()
    assert any("MemoryError" in note for note in recording.trace.quality.notes)


class Exiting:
    """A proxy whose attributes end the program."""

    def __getattr__(self, name: str) -> Any:
        raise SystemExit(name)

    def __reduce__(self) -> Any:
        return int, (1,)


def test_a_value_that_exits_when_looked_at_ends_nothing() -> None:
    """Nothing of ours asks the user's value for an attribute and lets its answer through."""
    with record() as recording:
        results = [pickle.loads(pickle.dumps(value)) for value in (Exiting(), [Exiting()] * 3)]

    assert results == [1, [1, 1, 1]]
    assert len(recording.trace.spans) >= 4


class Nested:
    """A reducer that pickles itself."""

    depth = 0

    def __reduce__(self) -> Any:
        Nested.depth += 1
        pickle.dumps(self)
        return int, (1,)


def deepest() -> int:
    """How often pickle goes into itself before Python has had enough."""
    Nested.depth = 0
    with pytest.raises(RecursionError) as raised:
        pickle.dumps(Nested())
    assert {entry.name for entry in raised.traceback} <= {"deepest", "__reduce__", "__call__"}
    return Nested.depth


def test_a_hook_costs_two_levels_of_recursion_and_not_three() -> None:
    """A bare level is three: the reducer, the function of C, what it saves."""
    bare = max(deepest() for _ in range(9))

    with record():
        # Calls that the interpreter has not specialized yet are a level deeper.
        recorded = max(deepest() for _ in range(99))

    assert recorded >= bare * 3 / 5 - 3


def test_an_interrupt_ends_the_analysis_and_the_document_can_be_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody waits for it after Ctrl-C, and what was measured is kept."""
    went_on: list[int] = []

    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        went_on.append(1)

    with record("analysis") as recording:
        pickle.dumps([1])

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("jupyter_serprof.analysis.analyse", interrupted)
        _ = recording.trace

    assert went_on == []
    assert [span.stage for span in recording.trace.spans if span.stage == "pickle.dumps"] != []
