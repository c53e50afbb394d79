"""The variables that a function captures, which travel with it: by name, of Ray's and of Dask's.

A function that is given its array as an argument is another function; what the user's own code
would do with it is unknown here.
"""

from __future__ import annotations

import dis
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import counted, format_bytes
from jupyter_serprof.objects.ask import (
    attribute,
    is_a,
    items_of,
    kind_module,
    kind_name,
    own_names,
    size_bytes,
)
from jupyter_serprof.objects.labels import is_by_value

_SHOWN = 5
#: A chain of helpers longer than this is not followed.
_FUNCTIONS = 100
_WIDE = 200
_WRAPPERS = 9
_MOST_IN_A_TASK = 500
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
    values, positional = function.__defaults__ or (), code.co_varnames[: code.co_argcount]
    named = zip(positional[len(positional) - len(values) :], values, strict=False)
    defaults = dict(named) | (function.__kwdefaults__ or {})
    yield from (Variable(name, "default", part) for name, part in defaults.items())


@lru_cache(maxsize=1_000)
def _reads(code: types.CodeType) -> tuple[str, ...]:
    """Return the globals that code reads; ``co_names`` has the names of attributes as well."""
    names = [one.argval for one in dis.get_instructions(code) if one.opname in _GLOBAL_READS]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _reads(constant)
    return tuple(dict.fromkeys(names))


def captured_variables(remote: object) -> list[dict[str, object]]:
    """Return the largest captured variables: name, kind, type and size.

    Parameters
    ----------
    remote
        A Ray remote function, an actor class or None (it is gone).

    Notes
    -----
    Names and sizes only, never values. A global is captured if the code, or code inside it, reads
    it; what local helpers capture travels too. Sizes are those of the living objects, which for
    arrays equals what is pickled.
    """
    found: dict[str, tuple[int, dict[str, object]]] = {}
    for (name, kind, value), size in _travelling(getattr(remote, "_function", remote)):
        entry = {"name": name, "kind": kind, "type": kind_name(type(value)), "size_bytes": size}
        found.setdefault(name, (size, entry))
    largest = sorted(found.values(), key=lambda one: -one[0])[:_SHOWN]
    return [entry for _, entry in largest]


def _travelling(value: object) -> Iterator[tuple[Variable, int]]:
    """Yield what is pickled by value with a function or class, and helpers that it captures."""

    def helpers(function: types.FunctionType) -> Iterator[object]:
        values = (variable.value for variable in variables_of(function))
        return (inner for part in values if is_by_value(part) for inner in _functions(part))

    for function in reached(_functions(value), helpers, _FUNCTIONS):
        for variable in variables_of(function):
            size = size_bytes(variable.value)
            if size is not None:
                yield variable, size


def _functions(value: object) -> Iterator[types.FunctionType]:
    if is_a(value, types.FunctionType):
        yield value
    elif is_a(value, type):
        for part in own_names(value).values():
            bare = part.__func__ if is_a(part, staticmethod | classmethod) else part
            for _ in range(_WRAPPERS):
                if is_a(bare, types.FunctionType):
                    bare = bare.__dict__.get("__wrapped__", bare)
            if is_a(bare, types.FunctionType):
                yield bare


def reached(
    first: Iterable[object], inside: Callable[[Any], Iterable[object]], most: int
) -> Iterator[Any]:
    """Yield objects and what is inside of them, each once, the nearest first."""
    waiting, seen = deque(first), dict[int, object]()
    while waiting and len(seen) < most:
        value = waiting.popleft()
        if id(value) not in seen:
            seen[id(value)] = value
            yield value
            waiting.extend(inside(value))


class Captured(NamedTuple):
    """A large object that a function holds, as which variable, and how many tasks have that."""

    function: str
    name: str
    kind: str
    size_bytes: int
    tasks: int

    def __str__(self) -> str:
        """Name it, its size, and where it sits."""
        tasks = counted(self.tasks, "task")
        return (
            f"{self.name} ({format_bytes(self.size_bytes)}) sits inside the function "
            f"{self.function} of {tasks}, as its {self.kind}"
        )


def captured_in(graph: Mapping[Any, Any], least_bytes: int) -> list[Captured]:
    """Return what functions of tasks hold of at least ``least_bytes``, the largest first."""
    known = [f for task in graph.values() for f in {id(f): f for f in functions_in(task)}.values()]
    tasks = Counter(map(id, known))
    found = [
        Captured(function.__name__, variable.name, variable.kind, size, tasks[id(function)])
        for function in {id(each): each for each in known}.values()
        for variable, size in _travelling(function)
        if size >= least_bytes
    ]
    return sorted(found, key=lambda one: -one.size_bytes)


def functions_in(task: object) -> Iterator[types.FunctionType]:
    """Yield the functions of a task that travel by value: of the notebook, or made by another."""
    met = reached([task], _inside, _MOST_IN_A_TASK)
    return (value for value in met if is_a(value, types.FunctionType) and is_by_value(value))


def _inside(met: object) -> Iterator[object]:
    if is_a(met, types.MethodType):
        yield met.__func__
    elif kind_module(type(met)) == "dask._task_spec":
        kept = (attribute(met, name) for name in ("func", "args", "kwargs", "value"))
        yield from (part for part in kept if part is not None)
    else:
        yield from items_of(met, _WIDE)


def captured_findings(captured: Sequence[Captured], name: str) -> Iterator[Finding]:
    """Yield a suggestion for each: it was not tried, and why."""
    for one in captured:
        function = one.function if one.function.isidentifier() else "the function"
        yield Finding(
            "dask.large-object",
            "warn",
            f"{one} of {name}: it travels with the code. Not tried: with an argument in its place "
            "it is another function",
            one._asdict(),
            f"value = dask.delayed({one.name})   # make it an argument of {function}, and "
            f"pass value for it, e.g. y.map({function}, value)",
        )


def captured_text(captured: Sequence[Captured], name: str) -> str:
    """Say where the large objects are that cannot be tried."""
    return (
        f"no large object is an argument of the tasks of {name}, but {captured[0]}: that cannot be "
        "tried safely, since with an argument in its place it is another function"
    )
