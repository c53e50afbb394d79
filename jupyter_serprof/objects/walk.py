"""The parts of a value that a pickler would visit, each with its step in a path."""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice

from jupyter_serprof.objects.ask import is_exactly

_LONG_TEXT = 1000
_ATOMS = (int, float, bool, type(None), complex, type(...), type(NotImplemented))

Part = tuple[str, object]

#: Parts of one value; a list of so many is about 30 MB while it is searched.
_MOST = 200_000
_KEY_LENGTH = 40
#: Their attributes lead through half of the interpreter, and a pickler does not take them apart.
_CLOSED = (types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)


def parts_of(value: object, *, takes_functions: bool) -> Iterator[Part]:
    """Yield (step, part) of a container, function or object, at most 200,000.

    Parameters
    ----------
    takes_functions
        False if the pickler takes functions and classes by name only: then they have no parts.
    """
    return islice(_parts(value, takes_functions=takes_functions), _MOST)


def _parts(value: object, *, takes_functions: bool) -> Iterator[Part]:  # noqa: C901  (a kind each)
    if isinstance(value, Mapping):
        yield from _mapping_parts(value)
    elif isinstance(value, list | tuple | deque):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
        yield from _attributes(value)
    elif isinstance(value, set | frozenset):
        yield from ((".<element>", part) for part in value)
    elif isinstance(value, functools.partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    elif isinstance(value, types.MethodType):
        yield from ((".__self__", value.__self__), (".__func__", value.__func__))
    elif isinstance(value, types.FunctionType):
        yield from _function_parts(value) if takes_functions else ()
    elif isinstance(value, type):
        yield from _class_parts(value) if takes_functions and _is_taken_apart(value) else ()
    elif _holds_objects(value):
        yield from _array_parts(value)
    elif not isinstance(value, _CLOSED):
        yield from _object_parts(value)
        if takes_functions and _is_taken_apart(type(value)):
            yield ".__class__", type(value)


def _mapping_parts(value: Mapping[object, object]) -> Iterator[Part]:
    for key, part in value.items():
        yield f"[{_key(key)}]", part
        if not isinstance(key, str | int | float | bool | None):
            yield f".<key {type(key).__name__}>", key
    factory = getattr(value, "default_factory", None)
    if factory is not None:
        yield ".default_factory", factory
    yield from _attributes(value)


def _key(key: object) -> str:
    if isinstance(key, str):
        key = key if len(key) <= _KEY_LENGTH else f"{key[: _KEY_LENGTH - 3]}..."
        return repr(key)
    return repr(key) if isinstance(key, int | float | bool | None) else type(key).__name__


def _function_parts(function: types.FunctionType) -> Iterator[Part]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f".<closure {name}>", cell.cell_contents
        except ValueError:  # an empty cell
            continue
    for name in dict.fromkeys(_global_names(function.__code__)):
        if name in function.__globals__:
            yield f".<global {name}>", function.__globals__[name]
    yield from ((f".<default {i}>", part) for i, part in enumerate(function.__defaults__ or ()))
    yield from ((f".<default {k}>", part) for k, part in (function.__kwdefaults__ or {}).items())


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that a function may look up, also in functions written inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _is_taken_apart(kind: type) -> bool:
    """Tell whether a class travels by value: it is from the notebook, or was made by a function."""
    return kind.__module__ == "__main__" or "<locals>" in kind.__qualname__


def _class_parts(kind: type) -> Iterator[Part]:
    own = vars(kind).items()
    yield from ((f".{name}", part) for name, part in own if not name.startswith("__"))


def _holds_objects(value: object) -> bool:
    return bool(getattr(getattr(value, "dtype", None), "hasobject", False)) and hasattr(
        value, "ndim"
    )


def _array_parts(array: object) -> Iterator[Part]:
    """Yield the elements (of more than one dimension the rows) of an object array."""
    for i, part in enumerate(array.tolist()):  # type: ignore[attr-defined]  # an array
        yield f"[{i}]", part


def _object_parts(value: object) -> Iterator[Part]:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, getattr(pandas, "DataFrame", ())):
        yield from ((f"[{_key(name)}]", column.to_numpy()) for name, column in value.items())  # type: ignore[attr-defined]
        return
    yield from _attributes(value)


def _attributes(value: object) -> Iterator[Part]:
    for name, part in getattr(value, "__dict__", {}).items():
        yield f".{name}", part
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield f".{name}", getattr(value, name)


def is_small_atom(value: object) -> bool:
    """Tell what is not worth a part: a number, a short text."""
    is_text = is_exactly(value, (str, bytes))
    return is_exactly(value, _ATOMS) or (is_text and len(value) <= _LONG_TEXT)  # type: ignore[arg-type]  # sized
