"""The variables that a function captures, which travel with it: by name, of Ray's and of Dask's.

A function that is given its array as an argument is another function; what the user's own code
would do with it is unknown here.
"""

import ast
import dis
import inspect
import linecache
import math
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from textwrap import dedent
from typing import NamedTuple

from jupyter_serprof.objects import ask
from jupyter_serprof.objects.labels import is_by_value

#: A chain of helpers longer than this is not followed, nor the parts of a container behind so many.
_FUNCTIONS, _WRAPPERS, _PARTS = 100, 9, 1_000
#: What changes a list, a dict or a set; what classes of others mean by it is theirs.
_CHANGES = {"add", "append", "extend", "insert", "setdefault", "update"}
_KEPT, _MODULE, _STORE = (list, dict, set), types.ModuleType, "STORE_GLOBAL"
_WAITS, _LIBRARIES = {"ray.get", "ray.wait"}, (sys.prefix, sys.base_prefix)
_GRAPH_CALLS = {"compute", "delayed", "persist"}
_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


class Variable(NamedTuple):
    """A variable that a function captures; ``kind`` is ``closure``, ``global`` or ``default``."""

    name: str
    kind: str
    value: object


def variables_of(function: types.FunctionType) -> Iterator[Variable]:
    """Yield the variables of a closure, the globals that the code reads, and the defaults."""
    # Code inside it reads for it: comprehensions, lambdas, local functions.
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


def globals_written(function: object) -> list[str]:
    """Return the globals that the code of the user's function assigns to, or to a part of them."""
    if not isinstance(function, types.FunctionType):
        return []
    if function.__code__.co_filename.startswith(_LIBRARIES):
        return []  # it may keep what it knows in each process
    reads, known, names = _reads(function.__code__), function.__globals__, list[str]()
    for name, is_call in _changed(_nodes(function)):
        value = known.get(name)  # a module is configured
        is_own = ask.is_exactly(value, _KEPT) if is_call else not ask.is_a(value, _MODULE)
        names += [name] if is_own and name in reads else []
    stored = (one for one in dis.get_instructions(function.__code__) if one.opname == _STORE)
    return list(dict.fromkeys([*names, *(one.argval for one in stored)]))


def _nodes(function: types.FunctionType) -> list[ast.AST]:
    """Return what the code of a function is made of, if its source is there and still its own."""
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    linecache.checkcache(file)
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        # Not `inspect.getsource`: it looks for the module first, in the files of all there are.
        block = inspect.getblock(linecache.getlines(file, function.__globals__)[line - 1 :])
        return [*ast.walk(ast.parse(dedent("".join(block))))]
    return []


def _changed(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, bool]]:
    """Yield the names of which a part is written, and whether a method of theirs is called."""
    for node in nodes:
        call = node.func if isinstance(node, ast.Call) else None
        is_call = getattr(call, "attr", "") in _CHANGES
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        part = whole = call if is_call else node if is_stored else None
        while isinstance(part, ast.Subscript | ast.Attribute):
            part = part.value
        if isinstance(part, ast.Name) and part is not whole:
            yield part.id, is_call


def inputs_changed(function: types.FunctionType) -> dict[str, bool]:
    """Return the arguments that the code of a function changes in place, if it does so with any."""
    # ``x += 1`` does with an array or a list, with a number it does not. What is bound to another
    # object before may be the function's own.
    code = function.__code__
    nodes = [] if code.co_filename.startswith(_LIBRARIES) else _nodes(function)
    added = {node.target for node in nodes if isinstance(node, ast.AugAssign)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store) and n not in added}
    sure = {name for name, is_call in _changed(nodes) if not is_call}
    found = dict.fromkeys(node.id for node in names if node in added)
    given = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]} - bound
    return {name: name in sure for name in (*sure, *found) if name in given}


def blocks_its_loop(function: object) -> bool:
    """Tell whether the code of a coroutine itself waits by Ray, where all others stand still."""
    bare = function.__dict__.get("__wrapped__") if ask.is_a(function, types.FunctionType) else None
    if not isinstance(bare, types.FunctionType) or not inspect.iscoroutinefunction(bare):
        return False  # Ray wraps all methods
    nodes = _nodes(bare)
    inner = [node for node in nodes[2:] if isinstance(node, ast.FunctionDef | ast.Lambda)]
    elsewhere = {part for node in inner for part in ast.walk(node)}
    own = (node for node in nodes if isinstance(node, ast.Call) and node not in elsewhere)
    return any(ast.unparse(node.func) in _WAITS for node in own)


def makes_graphs(function: types.FunctionType) -> bool:
    """Tell whether the code of a function calls what makes or computes graphs of Dask."""
    known, names = function.__globals__, _reads(function.__code__)
    read = [known.get(name) for name in names if name in _GRAPH_CALLS | {"dask"}]
    homes = [one.__name__ for one in read if ask.is_a(one, types.ModuleType)]
    homes += [one.__module__ or "" for one in read if ask.is_a(one, types.FunctionType)]
    is_dasks = any(home.partition(".")[0] == "dask" for home in homes)
    return is_dasks and not _GRAPH_CALLS.isdisjoint(function.__code__.co_names)


def captured_variables(remote: object) -> list[dict[str, object]]:
    """Return the largest captured variables: name, kind, type and size.

    ``remote``: A Ray remote function, an actor class or None (it is gone).

    Names and sizes only, never values. A global is captured if the code, or code inside it, reads
    it; what local helpers capture travels too. Sizes are those of the living objects, which for
    arrays equals what is pickled; None for many small things. Of an object that travels by its
    state it is an attribute: ``self.data``. What a default was made of has another name,
    ``variable``, "" if that is unknown.
    """
    found: dict[str, tuple[float, dict[str, object]]] = {}
    for (name, kind, value), size, known in _travelling(getattr(remote, "_function", remote)):
        entry: dict[str, object] = {"name": name, "kind": kind, "size_bytes": size}
        entry["type"] = ask.kind_name(type(value))
        if kind == "default":
            entry["variable"] = ask.name_in(known, value)
        found.setdefault(name, (math.inf if size is None else size, entry))
    return [entry for _, entry in sorted(found.values(), key=lambda one: -one[0])[:5]]


def _travelling(value: object) -> Iterator[tuple[Variable, int | None, dict[str, object]]]:
    """Yield what is pickled by value with a function or class, and helpers that it captures."""
    # With its size, and the variables that the code around the function knows.
    waiting, seen = deque(_functions(value)), set[types.FunctionType]()
    while waiting and len(seen) < _FUNCTIONS:
        function = waiting.popleft()
        for variable in variables_of(function) if function not in seen else ():
            for one in (variable, *_attributes(variable)):
                if (size := _known_bytes(one.value)) != 0:
                    yield one, size, function.__globals__
            if is_by_value(variable.value):
                waiting.extend(_functions(variable.value))
        seen.add(function)


def _known_bytes(value: object) -> int | None:
    """Return the bytes of a value; of nested containers those that are known, None of many."""
    waiting, seen, known = deque([value]), set[int](), 0
    if (size := ask.size_bytes(value)) is not None:
        return size
    for _ in range(_PARTS):
        if not waiting:
            return known
        part = waiting.popleft()
        if id(part) not in seen:
            seen.add(id(part))
            waiting.extend(inner := list(ask.items_of(part, _PARTS)))
            known += 0 if inner else ask.size_bytes(part) or 0
    return None


def _attributes(variable: Variable) -> Iterator[Variable]:
    """Yield the attributes of an object that is pickled by them: no method of its own says how."""
    name, kind, value = variable
    state = ask.state_of(value) if ask.is_plain(type(value)) else {}
    yield from (Variable(f"{name}.{at}", kind, part) for at, part in state.items())


def _functions(value: object) -> Iterator[types.FunctionType]:
    if ask.is_a(value, types.FunctionType):
        yield value
    elif ask.is_a(value, type):
        for part in ask.own_names(value).values():
            bare = part.__func__ if ask.is_a(part, staticmethod | classmethod) else part
            for _ in range(_WRAPPERS):
                if ask.is_a(bare, types.FunctionType):
                    bare = bare.__dict__.get("__wrapped__", bare)
            if ask.is_a(bare, types.FunctionType):
                yield bare
