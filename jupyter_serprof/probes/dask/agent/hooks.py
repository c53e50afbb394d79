"""Wrappers around functions of distributed, and how they come into place and out of it."""

from __future__ import annotations

import asyncio
import functools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from .notes import AGENTS, agents_here, clock, delay_s

Maker = Callable[[Any], Any]

#: Messages that are noted: graphs, task specifications, news of finished tasks.
_OPS = ("compute-task", "update-graph", "task-finished", "task-erred")

#: What a message of our own says of itself, before the name of the recording.
MARK = "serprof-"

_UNDO: list[Callable[[], None]] = []
_PLACES: set[tuple[int, str]] = set()
_INSIDE = threading.local()


def put_back() -> None:
    """Put every original back that still has our wrapper in its place, the last one first."""
    while _UNDO:
        _UNDO.pop()()
    _READING.clear()


def is_patched() -> bool:
    """Tell whether something of ours is in place."""
    return bool(_UNDO)


def is_wrapped(owner: Any, attribute: str) -> bool:
    """Tell whether our wrapper stands in a place."""
    return (id(owner), attribute) in _PLACES


def replace(missing: list[str], name: str, owner: Any, attribute: str, make: Maker) -> None:
    """Put ``make(original)`` in the place of an attribute, or an item; note where there is none."""
    is_table, of = isinstance(owner, dict), functools.partial
    ways = (dict.get, dict.__setitem__) if is_table else (getattr, setattr)
    get, put = (of(way, owner) for way in ways)
    original = get(attribute, None)
    if original is None:
        missing.append(name)
        return
    had = is_table or attribute in getattr(owner, "__dict__", {})
    replacement = make(original)
    put(attribute, replacement)
    restore = of(put, attribute, original) if had else of(delattr, owner, attribute)
    _PLACES.add((id(owner), attribute))

    def undo() -> None:
        _PLACES.discard((id(owner), attribute))
        if get(attribute, None) is replacement:
            restore()

    _UNDO.append(undo)


#: So much later its document is drawn, or the next recording of a sweep has begun.
_SHIELD_S = 5.0


def shield() -> None:
    """Let Ctrl-C pass this process by while somebody listens, and for a moment after it.

    The stop button of a notebook interrupts every process below the kernel; workers of a
    ``LocalCluster`` are there, and die of it (dask/distributed#1925).
    """
    held: Any = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(held):
        return
    shield: Any = held if hasattr(held, "until") else _Shield(held)  # that of the recording before
    shield.until = math.inf  # a recording began
    _UNDO.append(shield.sink)


class _Shield:
    """A handler of Ctrl-C in the place of another one, until a monotonic time, s."""

    def __init__(self, before: Callable[[int, Any], object]) -> None:
        self.before, self.process, self.loop = before, os.getpid(), asyncio.get_running_loop()
        signal.signal(signal.SIGINT, self)

    def __call__(self, number: int, frame: Any) -> None:
        if time.monotonic() > self.until or os.getpid() != self.process:  # not put back, or a fork
            self.before(number, frame)

    def sink(self) -> None:
        self.until = time.monotonic() + _SHIELD_S
        with suppress(RuntimeError):  # its loop is closed, as this process will be
            self.loop.call_soon_threadsafe(self.loop.call_later, _SHIELD_S, self.lower)

    def lower(self) -> None:
        held: Any = signal.getsignal(signal.SIGINT)
        if time.monotonic() >= self.until and held is self:
            signal.signal(signal.SIGINT, self.before)


def note(method: str, *args: Any) -> None:
    """Let the agents of this thread's scheduler note something; what fails there stays there."""
    for agent in agents_here():
        try:
            getattr(agent, method)(*args)
        except Exception:  # ours fails, theirs runs
            agent.bytes["failures"] += 1


#: The innermost timed call that each thread is in: its stage, when it began, of what.
STEPS: dict[int, tuple[str, int, Any] | None] = {}


def timed(stage: str, name: str, counted: Callable[[Any], int] | None = None) -> Maker:
    """Return a maker of wrappers that note each call as a span."""

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            around, _INSIDE.kind = getattr(_INSIDE, "kind", ""), "span"
            count, me = 1, threading.get_ident()
            before = STEPS.get(me)
            start = clock()
            STEPS[me] = stage, start, args
            try:
                result = original(*args, **kwargs)
                if counted is not None:
                    count = counted(result)
                return result
            finally:
                end = clock()
                _INSIDE.kind = around
                STEPS[me] = before
                note("span", stage, name, start, end, None, count)

        return call

    return make


def often(stage: str, name: str) -> Maker:
    """Return a maker of wrappers of functions that are called for each task."""

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            around, _INSIDE.kind = getattr(_INSIDE, "kind", ""), "task"
            start = clock()
            try:
                return original(*args, **kwargs)
            finally:
                end = clock()
                _INSIDE.kind = around
                if around == "span":
                    note("span", stage, name, start, end)
                elif not around:
                    note("often", stage, name, start, end)

        return call

    return make


def update_graph(original: Any) -> Any:
    """Note how long the scheduler takes a graph in, with all that it waits for."""

    @functools.wraps(original)
    async def call(*args: Any, **kwargs: Any) -> Any:
        start = clock()
        note("begin_graph", kwargs.get("client"), kwargs.get("keys", ()))
        try:
            return await original(*args, **kwargs)
        finally:
            note("graph", kwargs.get("client"), start, clock())

    return call


def marked(original: Any) -> Any:
    """Note the message with which a client says where in its stream a recording begins."""

    @functools.wraps(original)
    def client_releases_keys(*args: Any, **kwargs: Any) -> Any:
        agent = AGENTS.get(str(kwargs.get("stimulus_id")).removeprefix(MARK))
        if agent is not None:
            agent.begun.add(str(kwargs.get("client")))
        return original(*args, **kwargs)

    return client_releases_keys


def counting(function: str, what: str) -> Maker:
    """Return a maker of stand-ins for a module that count the calls of one of its functions."""

    class Counted:
        def __init__(self, module: Any) -> None:
            self.__module = module

        def __getattr__(self, name: str) -> Any:
            if name == function:
                note("count", what)
            return getattr(self.__module, name)

    return Counted


def importing(original: Any) -> Any:
    """Note first-use imports: a process that sees its first graph loads what is in it."""

    @functools.wraps(original)
    def find_and_load(name: str, *args: Any, **kwargs: Any) -> Any:
        if getattr(_INSIDE, "is_importing", False) or name in sys.modules:
            return original(name, *args, **kwargs)
        _INSIDE.is_importing = True
        start = clock()
        try:
            return original(name, *args, **kwargs)
        except BaseException as error:  # an import that fails shows no frame of ours
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next
            raise
        finally:
            _INSIDE.is_importing = False
            note("imported", name, start, clock())

    return find_and_load


# Workers.


def executing(original: Any) -> Any:
    """Note what a worker does around a task: before it begins on its thread, and after it ended."""

    @functools.wraps(original)
    async def execute(worker: Any, *args: Any, **kwargs: Any) -> Any:
        start, delay = clock(), delay_s(worker)
        result = await original(worker, *args, **kwargs)
        note("around_task", worker, start, delay, result, clock())
        return result

    return execute


def handling(original: Any) -> Any:
    """Note what the state machine of a worker does with news."""

    @functools.wraps(original)
    def handle_stimulus(worker: Any, *args: Any, **kwargs: Any) -> Any:
        start = clock()
        try:
            return original(worker, *args, **kwargs)
        finally:
            note("on_loop", worker, "handle_stimulus", start, clock())

    return handle_stimulus


# Messages on the wire.

#: A connection that breaks leaves its task here until that is gone.
_READING: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def reading(original: Any) -> Any:
    """Note when the first bytes of a message are there."""

    @functools.wraps(original)
    async def read_bytes(*args: Any, **kwargs: Any) -> Any:
        _READING.setdefault(asyncio.current_task(), clock())
        return await original(*args, **kwargs)

    return read_bytes


def decoding(original: Any) -> Any:
    """Note messages that carry graphs or task specifications, where they come in."""

    @functools.wraps(original)
    async def from_frames(frames: Any, *args: Any, **kwargs: Any) -> Any:
        all_in = clock()
        first = _READING.pop(asyncio.current_task(), all_in)
        message = await original(frames, *args, **kwargs)
        op, count, sign = _what(message)
        if op:
            _note_message(op, "in", (first, all_in, clock()), frames, count, sign)
        return message

    return from_frames


def encoding(original: Any) -> Any:
    """Note messages that carry graphs or task specifications, where they go out."""

    @functools.wraps(original)
    async def to_frames(message: Any, *args: Any, **kwargs: Any) -> Any:
        start = clock()
        frames = await original(message, *args, **kwargs)
        op, count, sign = _what(message)
        if op:
            _note_message(op, "out", (start, start, clock()), frames, count, sign)
        return frames

    return to_frames


def writing(original: Any) -> Any:
    """Note when the socket of the client has taken a graph."""

    @functools.wraps(original)
    async def write(comm: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
        written = await original(comm, message, *args, **kwargs)
        if _what(message)[0] == "update-graph":
            _note_drained(comm)
        return written

    return write


def _note_drained(comm: Any) -> None:
    """Note when all that was handed to a stream is out: ``write`` returns before that."""

    def drained(_: object) -> None:
        note("drain", clock())

    try:
        comm.stream.write(b"").add_done_callback(drained)
    except Exception:  # ours fails, theirs runs
        drained(None)


def _what(message: Any) -> tuple[str, int, Any]:
    """Return (operation, how many, what tells it apart) of a message that is about tasks."""
    op, count, sign = "", 0, None
    if type(message) is dict:
        return _what_data(message)
    if type(message) in (list, tuple):
        for part in message:
            if type(part) is dict:
                found = part.get("op")
                if found in _OPS:
                    if not count:
                        op, sign = found, part.get("run_id")
                    count += 1
    return op, count, sign


def _what_data(message: dict[str, Any]) -> tuple[str, int, Any]:
    """Recognize results on their way to who asked for them; not those that are passed on unread."""
    data = message.get("data")
    if message.get("status") != "OK" or type(data) is not dict or not data:
        return "", 0, None
    kind = type(next(iter(data.values())))  # whose metaclass is not asked
    name = type.__dict__["__name__"].__get__(kind, type(kind))
    return "" if name in ("Serialized", "Serialize") else "data", len(data), None


def _note_message(
    op: str, way: str, times: tuple[int, int, int], frames: Any, count: int, sign: Any
) -> None:
    try:
        size = sum(getattr(frame, "nbytes", None) or len(frame) for frame in frames)
    except Exception:  # ours fails, theirs runs
        return
    note("message", op, way, *times, size, count, sign)
