"""What a remote function or actor class captures: the variables that travel with it, by name.

A function that is given its array as an argument is another function; what the user's own code
would do with it, nobody here knows.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeGuard

from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.labels import is_by_value
from jupyter_serprof.objects.sizes import size_bytes
from jupyter_serprof.objects.walk import parts_of

_SHOWN = 5
#: A chain of helpers longer than this is not followed.
_FUNCTIONS = 100
_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


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
        for name, kind, value in _variables(function):
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
            values = (value for _, _, value in _variables(function))
            waiting += [inner for v in values if _is_by_value(v) for inner in _functions(v)]


def _is_by_value(value: object) -> bool:
    """Tell what cloudpickle sends whole instead of by name: what workers cannot import."""
    if not isinstance(value, types.FunctionType | type):
        return False
    return value.__module__ == "__main__" or "<l" in value.__qualname__  # <locals> or <lambda>


def _functions(value: object) -> Iterator[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, type):
        for part in vars(value).values():
            function = inspect.unwrap(getattr(part, "__func__", part))
            if isinstance(function, types.FunctionType):
                yield function


def _variables(function: types.FunctionType) -> Iterator[tuple[str, str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, "closure", cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            continue
    for name in _globals_read(function.__code__):
        if name in function.__globals__:
            yield name, "global", function.__globals__[name]
    for name, parameter in _defaults(function).items():
        yield name, "default", parameter


def _globals_read(code: types.CodeType) -> dict[str, None]:
    """Return the globals that code reads, comprehensions and lambdas inside it too.

    ``co_names`` would not do: it holds the names of attributes as well.
    """
    names = {
        instruction.argval: None
        for instruction in dis.get_instructions(code)
        if instruction.opname in _GLOBAL_READS
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_read(constant)
    return names


def _defaults(function: types.FunctionType) -> dict[str, object]:
    code, values = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    named = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    return named | (function.__kwdefaults__ or {})


_CONTAINERS = (list, tuple, set, frozenset)
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
        tasks = f"{format_count(self.tasks)} task{'' if self.tasks == 1 else 's'}"
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
        if isinstance(met, types.FunctionType):
            if is_by_value(met):
                yield met
        else:
            waiting.extend(_inside(met))


def _inside(met: Any) -> Iterator[object]:  # noqa: ANN401  (what tasks are made of)
    if type(met) in _CONTAINERS:
        yield from islice(met, _WIDE)
    elif type(met) is dict:
        yield from islice(met.values(), _WIDE)
    elif isinstance(met, functools.partial):
        yield from (met.func, *met.args, *met.keywords.values())
    elif isinstance(met, types.MethodType):
        yield met.__func__
    elif type(met).__module__ == "dask._task_spec":
        kept = (getattr(met, name, None) for name in ("func", "args", "kwargs", "value"))
        yield from (part for part in kept if part is not None)


def _is_opened(part: object) -> TypeGuard[types.FunctionType]:
    return isinstance(part, types.FunctionType) and is_by_value(part)


def _held(
    function: types.FunctionType, least_bytes: int, depth: int = _DEPTH
) -> Iterator[tuple[str, str, int]]:
    """Yield (variable, kind, bytes) of what is large, also in functions that it holds."""
    for step, part in parts_of(function, takes_functions=True):
        kind, _, variable = step.strip(".<>").partition(" ")
        size = size_bytes(part) or 0
        if size >= least_bytes:
            yield _argument(function, variable) if kind == "default" else variable, kind, size
        elif _is_opened(part) and part is not function and depth > 0:
            yield from _held(part, least_bytes, depth - 1)


def _argument(function: types.FunctionType, place: str) -> str:
    """Return the name of the argument whose default this is; defaults are counted, or named."""
    if not place.isdigit():
        return place
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    named = [
        parameter.name
        for parameter in parameters
        if parameter.default is not parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    return named[int(place)]


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
