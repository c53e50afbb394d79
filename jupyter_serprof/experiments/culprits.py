"""Why a value cannot be pickled: the path to each culprit, bounded in time and in steps.

Method: descend by parts that the pickler would visit (items, attributes, closures, named globals),
and stop at a part that fails while none of its own parts does. A part that pickles is not opened.
"""

from __future__ import annotations

import time
import types
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

_SECONDS = 1.0
_CHILDREN = 10_000
_DEPTH = 50
_CULPRITS = 10
_KEY_LENGTH = 40


class Culprit(NamedTuple):
    """A part that cannot be pickled, its type, and what the pickler said."""

    path: str
    type_name: str
    error: str


def find_culprits(value: object, name: str = "value", seconds: float = _SECONDS) -> list[Culprit]:
    """Return the parts of a value that cannot be pickled, in the order in which they are met.

    Parameters
    ----------
    value
        Anything.
    name
        What the paths begin with.
    seconds
        Time after which the search stops and returns what it has. One single part that takes longer
        to pickle can exceed it.

    Returns
    -------
    list of Culprit
        At most 10; empty if everything can be pickled or time ran out before the first.
    """
    found: list[Culprit] = []
    _descend(value, name, time.monotonic() + seconds, found, set(), _DEPTH)
    return found


def _descend(  # noqa: PLR0913, PLR0917  (the state of one search)
    value: object, path: str, deadline: float, found: list[Culprit], seen: set[int], depth: int
) -> bool:
    """Add the culprits below a value; tell whether there was one."""
    error = _error_of(value)
    if error is None:
        return False
    before = len(found)
    if depth > 0 and id(value) not in seen:
        seen.add(id(value))
        for step, part in _parts(value):
            if len(found) >= _CULPRITS or time.monotonic() > deadline:
                return True
            _descend(part, path + step, deadline, found, seen, depth - 1)
    elif id(value) in seen:
        return True
    if len(found) == before:
        found.append(Culprit(path, type(value).__name__, error))
    return True


def _error_of(value: object) -> str | None:
    import cloudpickle

    try:
        cloudpickle.Pickler(_Nowhere(), protocol=5, buffer_callback=_take).dump(value)
    except Exception as error:  # noqa: BLE001  (reducers raise anything)
        return f"{type(error).__name__}: {error}"
    return None


class _Nowhere:
    def write(self, data: object) -> int:
        return memoryview(data).nbytes  # type: ignore[arg-type]


def _take(buffer: object) -> bool:  # noqa: ARG001
    return False


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"[{_key(key)}]", part) for key, part in islice(value.items(), _CHILDREN))
    elif isinstance(value, list | tuple):
        yield from ((f"[{i}]", part) for i, part in enumerate(islice(value, _CHILDREN)))
    elif isinstance(value, set | frozenset):
        yield from ((".<element>", part) for part in islice(value, _CHILDREN))
    elif isinstance(value, types.FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, types.MethodType):
        yield from ((".__self__", value.__self__), (".__func__", value.__func__))
    else:
        yield from _object_parts(value)


def _key(key: object) -> str:
    text = repr(key) if isinstance(key, str | int | float | bool | None) else type(key).__name__
    return text if len(text) <= _KEY_LENGTH else f"{text[: _KEY_LENGTH - 3]}..."


def _function_parts(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f".<closure {name}>", cell.cell_contents
        except ValueError:  # an empty cell
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield f".<global {name}>", function.__globals__[name]
    yield from ((f".<default {i}>", part) for i, part in enumerate(function.__defaults__ or ()))


def _object_parts(value: object) -> Iterator[tuple[str, object]]:
    for name, part in islice(getattr(value, "__dict__", {}).items(), _CHILDREN):
        yield f".{name}", part
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield f".{name}", getattr(value, name)
