"""What a remote function or actor class captures: the variables that travel with it, by name."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator

from jupyter_serprof.model.sizes import size_bytes

_SHOWN = 5


def captured_variables(remote: object) -> list[dict[str, object]]:
    """Return the largest captured variables: name, kind (global or closure), type and size.

    Parameters
    ----------
    remote
        A Ray remote function, an actor class or None (it is gone).

    Notes
    -----
    Names and sizes only, never values. A global is captured if the code names it and it is not a
    module; sizes are those of the live objects, which for arrays equals what is pickled.
    """
    found: dict[str, dict[str, object]] = {}
    for function in _functions(remote):
        for name, kind, value in _variables(function):
            size = size_bytes(value)
            if size is not None and not isinstance(value, types.ModuleType):
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


def _functions(remote: object) -> Iterator[types.FunctionType]:
    inner = getattr(remote, "_function", None)
    if isinstance(inner, types.FunctionType):
        yield inner
    elif isinstance(remote, type):
        for value in vars(remote).values():
            function = inspect.unwrap(getattr(value, "__func__", value))
            if isinstance(function, types.FunctionType):
                yield function


def _variables(function: types.FunctionType) -> Iterator[tuple[str, str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, "closure", cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, "global", function.__globals__[name]
