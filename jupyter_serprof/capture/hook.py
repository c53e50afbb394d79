"""Hooks: what stands in the place of a watched callable.

A hook behaves like what it stands for: same result, same exception, same signature, same pickle. It
pickles as a reference to its place, so that a function captured while it was armed still travels to
workers that do not have this package, and resolves to the original there.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from threading import get_ident
from types import MethodType
from typing import Any, Literal, Protocol

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Before = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any], object]]
After = Callable[[object, tuple[Any, ...], dict[str, Any], object], object]


@dataclass(frozen=True, eq=False)
class Place:
    """A place that is watched while a recording runs.

    Attributes
    ----------
    path
        ``module:attribute`` or ``module:Class.attribute``; the module must be imported already.
    stage
        Key of the stage that owns the time spent here, without the watched calls inside.
    role
        What `inside` of other places refers to.
    inside
        Another stage for calls made inside a place of a given role (the nearest one decides).
    before, after
        Small functions that note sizes. They see the call; ``before`` may replace its arguments by
        equivalent ones. If they fail, the call goes on and the failure is counted.
    faults
        Whose page faults to note around the call: ``thread`` (0.9 us), ``process`` (1.6 us, sees
        helper threads too) or none.
    least_ns
        Shorter calls leave no record: a wait that did not wait is called once for each task.
    """

    path: str
    stage: str
    role: str = ""
    inside: Mapping[str, str] = field(default_factory=dict)
    before: Before | None = None
    after: After | None = None
    faults: Literal["", "thread", "process"] = ""
    least_ns: int = 0

    @property
    def name(self) -> str:
        """The qualified name of the callable, for people."""
        return self.path.partition(":")[2]

    def owner(self) -> tuple[Any, str]:
        """Return the object that holds the attribute, and the attribute's name.

        Raises
        ------
        AttributeError, ImportError
            If the installed version of the library has no such place.
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


class Sink(Protocol):
    """Whoever takes records: a recorder."""

    @property
    def now(self) -> Callable[[], int]:
        """The clock, ns."""

    def add(self, record: Record) -> None:
        """Take one record."""

    def failed(self, place: Place, error: Exception) -> None:
        """Take the failure of a ``before`` or ``after``."""


try:
    import resource as _resource
except ImportError:  # Windows counts no page faults
    _resource = None  # type: ignore[assignment]  # the module is not there

getrusage: Any = getattr(_resource, "getrusage", None)
#: macOS counts those of the process only; what cannot be counted stays unknown.
_WHOSE: dict[str, int | None] = {
    "": None,
    "thread": getattr(_resource, "RUSAGE_THREAD", None),
    "process": getattr(_resource, "RUSAGE_SELF", None),
}


def _of_original(name: str) -> property:
    """Return an attribute that is read from the original each time, and absent where it has none.

    Not copied into the hook's ``__dict__``: ``functools.wraps`` would copy the globals of a library
    into a function of the user, and cloudpickle would ship them.
    """
    return property(lambda hook: getattr(hook.original, name))


class Hook:
    """A callable that notes each call while somebody listens, and passes it on untouched.

    Parameters
    ----------
    original
        The callable that is watched.
    place
        Where it lives and what to note.
    """

    # Slots beside the dict: reading these three is most of what an idle hook costs.
    __slots__ = ("__dict__", "__weakref__", "original", "place", "sinks")

    def __init__(self, original: Callable[..., Any], place: Place) -> None:
        functools.update_wrapper(self, original)
        self.original = original
        self.place = place
        self.sinks: tuple[Sink, ...] = ()

    # inspect duck-types functions by these (signature, iscoroutinefunction).
    __code__ = _of_original("__code__")
    __defaults__ = _of_original("__defaults__")
    __kwdefaults__ = _of_original("__kwdefaults__")
    __globals__ = _of_original("__globals__")
    __closure__ = _of_original("__closure__")
    # functools.lru_cache
    cache_info = _of_original("cache_info")
    cache_clear = _of_original("cache_clear")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  (any callable's)
        """Call the original; note when, how long and what if somebody listens."""
        sinks = self.sinks
        if not sinks:
            return self.original(*args, **kwargs)
        place = self.place
        token = faults = extra = None
        if place.before is not None:
            args, kwargs, token = _before(place, sinks, args, kwargs)
        whose = _WHOSE[place.faults]
        if whose is not None:
            faults = getrusage(whose).ru_minflt
        now = sinks[0].now
        start = now()
        try:
            result = self.original(*args, **kwargs)
        except BaseException as error:
            _note(sinks, (place, get_ident(), start, now(), None, None, type(error).__name__))
            _leave_out_this_frame(error)
            raise
        end = now()
        if end - start < place.least_ns:
            return result
        if faults is not None:
            faults = getrusage(whose).ru_minflt - faults
        if place.after is not None:
            extra = _after(place, sinks, token, (args, kwargs), result)
        record = (place, get_ident(), start, end, faults, extra, None)
        for sink in sinks:
            sink.add(record)
        return result

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Pickle as a reference to the place."""
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
        """Await the original; its span lies on the lane of its asyncio task, not of the thread.

        Page faults are not noted: those of other tasks would be among them.
        """
        sinks = self.sinks
        if not sinks:
            return await self.original(*args, **kwargs)
        place, ident, now = self.place, _task_ident(), sinks[0].now
        token = extra = None
        if place.before is not None:
            args, kwargs, token = _before(place, sinks, args, kwargs)
        start = now()
        try:
            result = await self.original(*args, **kwargs)
        except BaseException as error:
            _note(sinks, (place, ident, start, now(), None, None, type(error).__name__))
            _leave_out_this_frame(error)
            raise
        end = now()
        if place.after is not None:
            extra = _after(place, sinks, token, (args, kwargs), result)
        _note(sinks, (place, ident, start, end, None, extra, None))
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


def _leave_out_this_frame(error: BaseException) -> None:
    """Take the frame of the hook out of the user's traceback; a bare ``raise`` adds none."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _task_ident() -> int:
    """Return what tells asyncio's tasks apart; the thread where a coroutine runs without it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # driven by IPython for a cell that does not wait, by trio ...
        task = None
    return get_ident() if task is None else -id(task)


def _note(sinks: tuple[Sink, ...], record: Record) -> None:
    for sink in sinks:
        sink.add(record)


def _before(
    place: Place, sinks: tuple[Sink, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], object]:
    try:
        args_now, kwargs_now, token = place.before(args, kwargs)  # type: ignore[misc]  # checked
    except Exception as error:  # noqa: BLE001  (the guard around hooks: ours fails, theirs runs)
        _report(place, sinks, error)
        return args, kwargs, None
    else:
        return args_now, kwargs_now, token


def _after(
    place: Place, sinks: tuple[Sink, ...], token: object, given: Arguments, result: object
) -> object:
    try:
        return place.after(token, *given, result)  # type: ignore[misc]  # the caller checked it
    except Exception as error:  # noqa: BLE001  (the guard around hooks)
        _report(place, sinks, error)
        return None


def _report(place: Place, sinks: tuple[Sink, ...], error: Exception) -> None:
    for sink in sinks:
        sink.failed(place, error)
