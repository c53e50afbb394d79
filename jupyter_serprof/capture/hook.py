"""Hooks: what stands in the place of a watched callable.

A hook behaves like what it stands for: same result, same exception, same signature, same pickle. A
captured one, behind its recording, pickles as a reference to its place: it still travels to workers
that do not have this package, and resolves to the original there.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import pkgutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from operator import attrgetter
from threading import get_ident
from time import perf_counter_ns
from traceback import walk_tb
from types import MethodType
from typing import Any, Literal, Protocol

Before = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any], object]]
After = Callable[[object, tuple[Any, ...], dict[str, Any], object], object]


def parted_number(noted: object) -> tuple[object, int] | None:
    """Return (kind, size) of a number size << 8 | kind, also of nothing; None of all else."""
    if type(noted) is int:
        return noted & 255, noted >> 8
    return (None, 0) if noted is None else None


def whole_number(kind: int | None, size: int) -> int | None:
    """Return size << 8 | kind, or nothing."""
    return None if kind is None else size << 8 | kind


@dataclass(frozen=True, eq=False)
class Place:
    """A place that is watched while a recording runs.

    ``path``: ``module:attribute`` or ``module:Class.attribute``; the module is imported already.
    ``stage``: Key of the stage that owns the time spent here, without the watched calls inside.
    ``role``: What `inside` of other places refers to.
    ``inside``: Another stage for calls made inside a place of a role (the nearest one decides).
    ``before``, ``after``, ``failed``: Small functions that note sizes, or what was raised. They see
        the call; ``before`` may replace its arguments by equivalent ones. If they fail, the call
        goes on, and it is counted.
    ``faults``: Whose page faults to note around the call: ``thread`` (0.9 us), ``process`` (1.6 us,
        sees helper threads too) or none. Not where thousands of calls were short.
    ``least_ns``: Shorter calls leave no record: a wait that did not wait is called for each task.
    ``joins``: Whether many short calls may be told as one (`joining`).
    ``parted``, ``whole``: Of such a place: from what ``after`` noted to (kind, size), or None if
        the call must be told by itself; and back, for the sizes of all calls of one kind.
    """

    path: str
    stage: str
    role: str = ""
    inside: Mapping[str, str] = field(default_factory=dict)
    before: Before | None = None
    after: After | None = None
    failed: Callable[[BaseException, tuple[Any, ...]], object] | None = None
    faults: Literal["", "thread", "process"] = ""
    least_ns: int = 0
    joins: bool = False
    parted: Callable[[Any], tuple[object, int] | None] = parted_number
    whole: Callable[[Any, int], object] = whole_number

    @property
    def name(self) -> str:
        """The qualified name of the callable, for people."""
        return self.path.partition(":")[2]

    def owner(self) -> tuple[Any, str]:
        """Return the object that holds the attribute, and the attribute's name.

        Raises ``AttributeError``, ``ImportError``: If the installed version has no such place.
        """
        module_name, _, names = self.path.partition(":")
        *path, attribute = names.split(".")
        # import_module would go through the import seam, and be seen there by other recordings.
        module = sys.modules.get(module_name) or import_module(module_name)
        return reduce(getattr, path, module), attribute


#: What a hook writes down for one call; everything else is worked out at freeze:
#: (place, thread, start_ns, end_ns, page faults, what ``after`` noted, name of the exception).
#: A plain tuple: building a named one costs as much as the rest of the hook.
Record = tuple["Place", int, int, int, int | None, object, str | None]
_Call = tuple["Place", int, int | None]


class Sink(Protocol):
    """Whoever takes records: a recorder."""

    @property
    def now(self) -> Callable[[], int]:
        """The clock, ns."""

    def add(self, record: Record) -> None:
        """Take one record."""

    def failed(self, place: Place, error: BaseException) -> None:
        """Take the failure of our own part of a call."""


try:
    import resource as _resource
except ImportError:  # Windows counts no page faults
    _resource = None  # type: ignore[assignment]  # the module is not there

getrusage: Any = getattr(_resource, "getrusage", None)
#: macOS counts those of the process only; what cannot be counted stays unknown.
WHOSE: dict[str, int | None] = {
    "": None,
    "thread": getattr(_resource, "RUSAGE_THREAD", None),
    "process": getattr(_resource, "RUSAGE_SELF", None),
}


#: Where a call of our own is too much; then there is no room to say so.
_FULL = (RecursionError, MemoryError)
#: What hooks took before the start and after the end of calls, ns, by path: all of the long ones,
#: one of so many short ones for the others.
OWN_NS: Counter[str] = Counter()
_LONG_NS, _WEIGHED = 20_000, 16
#: Noting faults takes a microsecond, twice, and five times that between calls of Ray; those of a
#: process add up all its threads. Nobody waits for the faults of so many calls that are shorter
#: than this; a longer one that was not noted makes room for the next.
_WORTH_NS = {"thread": _LONG_NS, "process": 500_000}
COUNTED = 200


def _of_original(name: str) -> property:
    """Return an attribute read from the original each time, absent where it has none."""
    # Not in the hook's `__dict__`: `functools.wraps` would copy the globals of a library into a
    # function of the user, and cloudpickle would ship them.
    return property(lambda hook: getattr(hook.original, name))


class Hook:
    """A callable that notes each call of a place while somebody listens, and passes it on."""

    # Slots beside the dict: reading these three is most of what an idle hook costs.
    __slots__ = ("__dict__", "__weakref__", "left", "original", "place", "sinks", "turn")

    def __init__(self, original: Callable[..., Any], place: Place) -> None:
        functools.update_wrapper(self, original)
        self.original = original
        self.place = place
        self.sinks: tuple[Sink, ...] = ()
        #: Short calls around which page faults are still noted.
        self.left = COUNTED
        self.turn = 0

    # inspect duck-types functions by these (signature, iscoroutinefunction).
    __code__ = _of_original("__code__")
    __defaults__ = _of_original("__defaults__")
    __kwdefaults__ = _of_original("__kwdefaults__")
    __globals__ = _of_original("__globals__")
    __closure__ = _of_original("__closure__")
    __repr__ = _of_original("__repr__")
    # functools.lru_cache
    cache_info = _of_original("cache_info")
    cache_clear = _of_original("cache_clear")

    # One function: each one more would be a level of recursion more for the user.
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, C901, PLR0912, PLR0915
        """Call the original; note when, how long and what if somebody listens."""
        sinks = self.sinks
        if not sinks:
            return self.original(*args, **kwargs)
        place, token, start = self.place, None, None
        whose = faults = extra = None
        turn = self.turn = (self.turn + 1) % _WEIGHED
        entered = 0 if turn else perf_counter_ns()
        try:
            if place.before is not None:
                args, kwargs, token = place.before(args, kwargs)
            if place.faults and self.left > 0:
                whose = WHOSE[place.faults]
                faults = None if whose is None else getrusage(whose).ru_minflt
            start = sinks[0].now()
        except BaseException as error:  # noqa: BLE001  (the guard around hooks)
            try:
                start = fell(sinks, place, error)
            except _FULL:
                start = None
        try:
            # Not unpacked where one is given: C code would go one level of recursion deeper.
            if kwargs or len(args) != 1:
                result = self.original(*args, **kwargs)
            else:
                result = self.original(args[0])
        except BaseException as error:
            try:  # noqa: SIM105  (suppress is a call)
                _note_raised(sinks, (place, get_ident(), start), error, args)
            except _FULL:
                pass
            raise
        try:
            end = sinks[0].now()
            if start is None or end - start < place.least_ns:
                return result
            is_long = end - start > _LONG_NS
            if place.faults:
                is_worth = end - start > _WORTH_NS[place.faults]
                if faults is not None:
                    faults = getrusage(whose).ru_minflt - faults
                    self.left += 1 if is_worth else -1
                elif is_worth:
                    self.left = 1
            if place.after is not None:
                try:
                    extra = place.after(token, args, kwargs, result)
                except BaseException as error:  # noqa: BLE001  (the guard around hooks)
                    fell(sinks, place, error)
            if is_long:
                OWN_NS[place.path] += perf_counter_ns() - end
            elif not turn:
                own_ns = perf_counter_ns() - end + start - entered
                OWN_NS[place.path] += min(own_ns, _LONG_NS) * _WEIGHED  # more is others' time
            record = (place, get_ident(), start, end, faults, extra, None)
            for sink in sinks:
                sink.add(record)
        except BaseException as error:  # noqa: BLE001  (the guard around hooks)
            try:  # noqa: SIM105  (as above)
                fell(sinks, place, error)
            except _FULL:
                pass
        return result

    def __reduce__(self) -> str | tuple[Callable[[str], Any], tuple[str]]:
        """Pickle as the original does while this stands under its name, else as the place."""
        with suppress(AttributeError, KeyError):
            name, module = self.original.__qualname__, sys.modules[self.original.__module__]
            if attrgetter(name)(module) is self:
                return name
        return pkgutil.resolve_name, (self.place.path,)


class MethodHook(Hook):
    """A hook for a Python function: binds to an instance as the function would."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # noqa: ANN401
        """Bind like a function."""
        return self if instance is None else MethodType(self, instance)


class CoroutineHook(Hook):
    """A hook for a coroutine function: the span lasts until the coroutine is done."""

    __slots__ = ()

    #: asyncio.iscoroutinefunction of Python 3.11 looks for this marker.
    _is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)

    async def __call__(self, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Await the original; its span lies on the lane of its asyncio task, not of the thread."""
        # Page faults are not noted: those of other tasks would be among them.
        sinks = self.sinks
        if not sinks:
            return await self.original(*args, **kwargs)
        place, ident = self.place, 0
        token = start = end = extra = None
        try:
            ident = _task_ident()
            if place.before is not None:
                args, kwargs, token = place.before(args, kwargs)
            start = sinks[0].now()
        except BaseException as error:  # noqa: BLE001  (the guard around hooks)
            start = fell(sinks, place, error)
        try:
            result = await self.original(*args, **kwargs)
        except BaseException as error:
            _note_raised(sinks, (place, ident, start), error, args)
            raise
        if start is not None:
            try:
                end = sinks[0].now()
                if place.after is not None:
                    extra = place.after(token, args, kwargs, result)
            except BaseException as error:  # noqa: BLE001  (the guard around hooks)
                fell(sinks, place, error)
            if end is not None:
                note(sinks, (place, ident, start, end, None, extra, None))
        return result


class CoroutineMethodHook(CoroutineHook, MethodHook):
    """A hook for a coroutine function that binds to an instance."""

    __slots__ = ()


def hook_for(original: Callable[..., Any], place: Place) -> Hook:
    """Return the hook that fits a callable: C functions do not bind, Python functions do."""
    # Python 3.10 and 3.13 show a __get__ of bound methods; it binds nothing.
    binds = hasattr(type(original), "__get__") and not isinstance(original, MethodType)
    if inspect.iscoroutinefunction(original):
        return (CoroutineMethodHook if binds else CoroutineHook)(original, place)
    return (MethodHook if binds else Hook)(original, place)


def _task_ident() -> int:
    """Return what tells asyncio's tasks apart; the thread where a coroutine runs without it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # driven by IPython for a cell that does not wait, by trio ...
        task = None
    return get_ident() if task is None else -id(task)


def note(sinks: Iterable[Sink], record: Record) -> None:
    """Write a record down wherever it can be; the user's code goes on."""
    for sink in sinks:
        try:
            sink.add(record)
        except BaseException as error:  # noqa: BLE001  (the guard around hooks)
            fell((sink,), record[0], error)


def _note_raised(sinks: Sequence[Sink], call: _Call, error: BaseException, args: Any) -> None:  # noqa: ANN401
    """Note a call that raised, and take the frame of the hook out of the user's traceback."""
    place, ident, start = call
    try:
        if start is not None:
            end = sinks[0].now()
            note(sinks, (place, ident, start, end, None, None, type(error).__name__))
        if place.failed is not None:
            place.failed(error, args)
    except BaseException as ours:  # noqa: BLE001  (the guard around hooks)
        fell(sinks, place, ours)
    finally:
        # After the sinks, which may look for it. A bare ``raise`` behind this adds no frame.
        if error.__traceback__ is not None:
            error.__traceback__ = error.__traceback__.tb_next


def fell(sinks: Sequence[Sink], place: Place, error: BaseException) -> int | None:
    """Tell the sinks that our part of a call failed, if they can hear it; return the time, if any.

    Whatever was raised, also by code of the user that we came across: his call goes on. Ctrl-C, and
    what a handler of a signal raises, is for him: it would have reached him without us.
    """
    if isinstance(error, KeyboardInterrupt) or _is_of_a_signal(error):
        raise error
    try:
        for sink in sinks:
            sink.failed(place, error)
        return sinks[0].now()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  (deaf)
        return None


def _is_of_a_signal(error: BaseException) -> bool:
    """Tell whether a handler of a signal raised it: an alarm that ends a call which takes long."""
    try:
        codes = {frame.f_code for frame, _ in walk_tb(error.__traceback__)}
        handlers = [signal.getsignal(number) for number in signal.valid_signals()]
        return any(getattr(handler, "__code__", None) in codes for handler in handlers)
    except BaseException:  # noqa: BLE001  (no room left for the question)
        return False
