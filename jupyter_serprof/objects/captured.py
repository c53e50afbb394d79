"""What a remote function or actor class captures: the variables that travel with it, by name."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator

from jupyter_serprof.objects.sizes import size_bytes

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
