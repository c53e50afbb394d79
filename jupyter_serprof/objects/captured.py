"""The variables that a function captures, which travel with it: by name, of Ray's and of Dask's.

A function that is given its array as an argument is another function; what the user's own code
would do with it, nobody here knows.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import counted, format_bytes
from jupyter_serprof.objects.ask import attribute, is_a, items_of, kind_module, size_bytes
from jupyter_serprof.objects.labels import is_by_value

_SHOWN = 5
#: A chain of helpers longer than this is not followed.
_FUNCTIONS = 100
_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


class Variable(NamedTuple):
    """A variable that a function captures; ``kind`` is ``closure``, ``global`` or ``default``."""

    name: str
    kind: str
    value: object


def variables_of(function: types.FunctionType) -> Iterator[Variable]:
    """Yield the variables of a closure, the globals that the code reads, and the defaults.

    Code inside it reads for it: comprehensions, lambdas, local functions.
    """
    code, known = function.__code__, function.__globals__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        with suppress(ValueError):  # a cell that is not filled yet
            yield Variable(name, "closure", cell.cell_contents)
    yield from (Variable(name, "global", known[name]) for name in _reads(code) if name in known)
    yield from (Variable(name, "default", part) for name, part in _defaults(function).items())


@lru_cache(maxsize=1_000)
def _reads(code: types.CodeType) -> tuple[str, ...]:
    """Return the globals that code reads; ``co_names`` has the names of attributes as well."""
    names = [one.argval for one in dis.get_instructions(code) if one.opname in _GLOBAL_READS]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _reads(constant)
    return tuple(dict.fromkeys(names))


def _defaults(function: types.FunctionType) -> dict[str, object]:
    code, values = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    named = zip(positional[len(positional) - len(values) :], values, strict=False)
    return dict(named) | (function.__kwdefaults__ or {})


def captured_variables(remote: object) -> list[dict[str, object]]:
    """Return the largest captured variables: name, kind, type and size.

    Parameters
    ----------
    remote
        A Ray remote function, an actor class or None (it is gone).

    Notes
    -----
    Names and sizes only, never values. The kind is ``closure``, ``global`` or ``default``. A global
    is captured if the code, or code inside it, reads it; what local helpers capture travels too.
    Sizes are those of the living objects, which for arrays equals what is pickled.
    """
    found: dict[str, dict[str, object]] = {}
    for function in _travelling(remote):
        for name, kind, value in variables_of(function):
            size = size_bytes(value)
            if size is not None:
                entry = {
                    "name": name,
                    "kind": kind,
                    "type": type(value).__name__,
                    "size_bytes": size,
                }
                found.setdefault(name, entry)
    return sorted(found.values(), key=lambda entry: -_size(entry))[:_SHOWN]


def _size(entry: dict[str, object]) -> int:
    size = entry["size_bytes"]
    return size if isinstance(size, int) else 0


def _travelling(remote: object) -> Iterator[types.FunctionType]:
    """Yield the functions that are pickled by value, each once: it, and the helpers it captures."""
    waiting = list(_functions(getattr(remote, "_function", remote)))
    seen: set[int] = set()
    while waiting and len(seen) < _FUNCTIONS:
        function = waiting.pop(0)
        if id(function) not in seen:
            seen.add(id(function))
            yield function
            values = (variable.value for variable in variables_of(function))
            waiting += [inner for v in values if is_by_value(v) for inner in _functions(v)]


def _functions(value: object) -> Iterator[types.FunctionType]:
    if is_a(value, types.FunctionType):
        yield value
    elif is_a(value, type):
        for part in vars(value).values():
            function = inspect.unwrap(getattr(part, "__func__", part))
            if isinstance(function, types.FunctionType):
                yield function


_WIDE = 200
_MOST_IN_A_TASK = 500
#: Functions that functions hold.
_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Captured:
    """A large object that a function holds.

    Attributes
    ----------
    function
        Its name.
    variable
        What the function calls it, and ``kind``: global, closure, or default.
    size_bytes
        Of the object.
    tasks
        How many of them have the function.
    """

    function: str
    variable: str
    kind: str
    size_bytes: int
    tasks: int

    def __str__(self) -> str:
        """Name it, its size, and where it sits."""
        tasks = counted(self.tasks, "task")
        return (
            f"{self.variable} ({format_bytes(self.size_bytes)}) sits inside the function "
            f"{self.function} of {tasks}, as its {self.kind}"
        )


def captured_in(graph: Mapping[Any, Any], least_bytes: int) -> list[Captured]:
    """Return what functions of tasks hold that has at least so many bytes, the largest first."""
    known: dict[int, tuple[Any, int]] = {}
    for task in graph.values():
        for function in {id(each): each for each in functions_in(task)}.values():
            count = known.get(id(function), (function, 0))[1]
            known[id(function)] = function, count + 1
    found = [
        Captured(function.__name__, variable, kind, size, tasks)
        for function, tasks in known.values()
        for variable, kind, size in _held(function, least_bytes)
    ]
    return sorted(found, key=lambda one: -one.size_bytes)


def functions_in(task: object) -> Iterator[types.FunctionType]:
    """Yield the functions of a task that travel by value: of the notebook, or made by another."""
    waiting = [task]
    for _ in range(_MOST_IN_A_TASK):
        if not waiting:
            return
        met = waiting.pop()
        if is_a(met, types.FunctionType):
            if is_by_value(met):
                yield met
        else:
            waiting.extend(_inside(met))


def _inside(met: object) -> Iterator[object]:
    if is_a(met, types.MethodType):
        yield met.__func__
    elif kind_module(type(met)) == "dask._task_spec":
        kept = (attribute(met, name) for name in ("func", "args", "kwargs", "value"))
        yield from (part for part in kept if part is not None)
    else:
        yield from items_of(met, _WIDE)


def _held(
    function: types.FunctionType, least_bytes: int, depth: int = _DEPTH
) -> Iterator[tuple[str, str, int]]:
    """Yield (variable, kind, bytes) of what is large, also in functions that it holds."""
    for name, kind, part in variables_of(function):
        size = size_bytes(part) or 0
        if size >= least_bytes:
            yield name, kind, size
        elif _is_opened(part) and part is not function and depth > 0:
            yield from _held(part, least_bytes, depth - 1)


def _is_opened(part: object) -> TypeGuard[types.FunctionType]:
    return is_a(part, types.FunctionType) and is_by_value(part)


def captured_findings(captured: Sequence[Captured], name: str) -> Iterator[Finding]:
    """Yield a suggestion for each: it was not tried, and why."""
    for one in captured:
        yield Finding(
            "dask.large-object",
            "warn",
            f"{one} of {name}: it travels with the code. Not tried: with an argument in its place "
            "it is another function",
            {
                "function": one.function,
                "name": one.variable,
                "kind": one.kind,
                "size_bytes": one.size_bytes,
                "tasks": one.tasks,
            },
            f"value = dask.delayed({one.variable})   # make it an argument of {_code(one)}, and "
            f"pass value for it, e.g. y.map({_code(one)}, value)",
        )


def _code(one: Captured) -> str:
    return one.function if one.function.isidentifier() else "the function"


def captured_text(captured: Sequence[Captured], name: str) -> str:
    """Say where the large objects are that cannot be tried."""
    return (
        f"no large object is an argument of the tasks of {name}, but {captured[0]}: that cannot be "
        "tried safely, since with an argument in its place it is another function"
    )
