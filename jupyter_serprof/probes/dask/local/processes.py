"""The processes of Dask's multiprocessing scheduler: pickling on both sides and a clock for tasks.

Dask hands the functions that pickle tasks and results to its workers by itself; here they are
replaced, for the time of one computation, by ones that read the clock around the same calls.
Functions of the user (``func_dumps``, ``func_loads``) and pools that may be on other machines are
left alone.
"""

import inspect
import pkgutil
import sys
from _pickle import loads  # what ``pickle.loads`` is, unwatched
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from jupyter_serprof.objects.ask import is_a, kind_module, kind_name
from jupyter_serprof.probes.dask.local import process_clock as dask_process_clock
from jupyter_serprof.probes.dask.local.columns import CallColumns, Log

_MODULE = "dask.multiprocessing"
_MARK = dask_process_clock.MARK
_TAIL = len(_MARK) + 4
_POOL = "concurrent.futures.process", "ProcessPoolExecutor"
#: Gives the clock of a worker; its source is run there once.
_GET_CLOCK = (
    "(lambda modules, make: (modules.get(name) or (lambda m: exec(source, m.__dict__) or "
    "modules.setdefault(name, m))(make(name))).CLOCK)"
    "(__import__('sys').modules, __import__('types').ModuleType)"
)


class Roads(NamedTuple):
    """Where the times of one recording are kept."""

    encode: Log
    gather: Log
    #: Of workers, by process.
    decode: dict[int, CallColumns]
    execute: dict[int, CallColumns]
    outputs: dict[int, CallColumns]


def with_clocks(
    args: tuple[Any, ...], kwargs: dict[str, Any], roads: Sequence[Roads]
) -> tuple[tuple[Any, ...], dict[str, Any], object]:
    """Return the arguments of ``get_async`` with functions that read the clock."""
    dask = sys.modules[_MODULE]
    pool = getattr(args[0], "__self__", None)
    is_dasks = kwargs.get("dumps") is dask._dumps and kwargs.get("loads") is dask._loads  # noqa: SLF001  (no public name)
    if roads and is_dasks:
        clock = _Clock() if is_local(pool) else None
        loads = _Loads(kwargs["loads"], clock, roads)
        kwargs = kwargs | {"dumps": _Dumps(kwargs["dumps"], clock, roads), "loads": loads}
    return args, kwargs, None


def is_local(pool: object) -> bool:
    """Tell whether the processes of a pool are on this machine, with the same Python."""
    return (kind_module(type(pool)), kind_name(type(pool))) == _POOL


class _Clock:
    """Pickles as the clock of the worker."""

    def __reduce__(self) -> tuple[Any, ...]:
        source = inspect.getsource(dask_process_clock)
        name = f"task_clock_{blake2b(source.encode(), digest_size=8).hexdigest()}"
        return eval, (_GET_CLOCK, {"name": name, "source": source})


class _Call:
    """A function of Dask that is called here with the clock, and by workers with theirs."""

    name = ""

    def __init__(
        self, original: Callable[[Any], Any], clock: _Clock | None, roads: Sequence[Roads]
    ) -> None:
        self.original, self.clock, self.roads = original, clock, roads

    def __reduce__(self) -> tuple[Any, ...]:
        if self.clock is not None:
            return getattr, (self.clock, self.name)
        return pkgutil.resolve_name, (f"{_MODULE}:_{self.name}",)


class _Dumps(_Call):
    name = "dumps"

    def __call__(self, value: Any) -> bytes:  # noqa: ANN401  (a task with its inputs)
        start = perf_counter_ns()
        data: bytes = self.original(value)
        end = perf_counter_ns()
        key = getattr(value[0], "key", "task")
        for road in self.roads:
            road.encode.track(get_ident()).add(start, end, key, len(data))
        return data


class _Loads(_Call):
    name = "loads"

    def __call__(self, data: bytes) -> Any:  # noqa: ANN401  (a result or an exception)
        start = perf_counter_ns()
        value = self.original(data)
        end = perf_counter_ns()
        noted = _notes(data)
        is_error = is_a(value[0], BaseException) and not is_a(value[1], int)
        for road in self.roads:
            if noted is None:
                road.gather.track(get_ident()).add(start, end, "result", len(data))
            else:
                road.gather.track(get_ident()).add(start, end, noted.key, noted.size_bytes)
                _keep(noted, road, is_error=is_error)
        return value


class _Noted(NamedTuple):
    """What a worker noted of one task; ns."""

    process: int
    key: Any
    begin: int
    loaded: int
    start: int
    size_bytes: int
    end: int


def _notes(data: bytes) -> _Noted | None:
    if data[-len(_MARK) :] != _MARK:
        return None
    length = int.from_bytes(data[-_TAIL : -len(_MARK)], "little")
    return _Noted(*loads(data[-_TAIL - length : -_TAIL]))


def _keep(noted: _Noted, road: Roads, *, is_error: bool) -> None:
    process, key, begin, loaded, start, size_bytes, end = noted
    road.decode.setdefault(process, CallColumns()).add(begin, loaded, key)
    tasks = road.execute.setdefault(process, CallColumns())
    tasks.add(loaded, start, key)
    if is_error:
        tasks.failed.append(key)
    road.outputs.setdefault(process, CallColumns()).add(start, end, key, size_bytes)
