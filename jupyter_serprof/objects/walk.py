"""The parts of a value that a pickler would visit, each with its step in a path.

Dask makes a new graph for each call, and the notebook a new lambda in each turn of a loop; the
frame in all of them is one. Only what is met first is looked at, so that a hook takes no time.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jupyter_serprof.objects.ask import bases_of, is_a, is_exactly, items_of, kind_module, kind_name
from jupyter_serprof.objects.ask import size_bytes as size_bytes_of
from jupyter_serprof.objects.captured import variables_of
from jupyter_serprof.objects.labels import is_array, is_by_value

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

    What raises while it is opened (properties and mappings of users) has no more parts.

    Parameters
    ----------
    takes_functions
        False if the pickler takes functions and classes by name only: then they have no parts.
    """
    with suppress(Exception):
        yield from islice(_parts(value, takes_functions=takes_functions), _MOST)


def _parts(value: Any, *, takes_functions: bool) -> Iterator[Part]:  # noqa: ANN401, C901  (a kind each)
    if is_a(value, Mapping):
        yield from _mapping_parts(value)
    elif is_a(value, list | tuple | deque):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
        yield from _attributes(value)
    elif is_a(value, set | frozenset):
        yield from ((".<element>", part) for part in value)
    elif is_a(value, functools.partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    elif is_a(value, types.MethodType):
        yield from ((".__self__", value.__self__), (".__func__", value.__func__))
    elif is_a(value, types.FunctionType):
        if takes_functions:
            yield from ((f".<{one.kind} {one.name}>", one.value) for one in variables_of(value))
    elif is_a(value, type):
        yield from _class_parts(value) if takes_functions and is_by_value(value) else ()
    elif _holds_objects(value):
        yield from _array_parts(value)
    elif not is_a(value, _CLOSED):
        yield from _object_parts(value)
        if takes_functions and is_by_value(type(value)):
            yield ".__class__", type(value)


def _mapping_parts(value: Mapping[object, object]) -> Iterator[Part]:
    for key, part in value.items():
        yield f"[{_key(key)}]", part
        if not is_a(key, str | int | float | bool | None):
            yield f".<key {kind_name(type(key))}>", key
    factory = getattr(value, "default_factory", None)
    if factory is not None:
        yield ".default_factory", factory
    yield from _attributes(value)


def _key(key: object) -> str:
    if is_a(key, str):
        key = key if len(key) <= _KEY_LENGTH else f"{key[: _KEY_LENGTH - 3]}..."
        return repr(key)
    return repr(key) if is_a(key, int | float | bool | None) else kind_name(type(key))


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
    if pandas is not None and is_a(value, getattr(pandas, "DataFrame", ())):
        yield from ((f"[{_key(name)}]", column.to_numpy()) for name, column in value.items())  # type: ignore[attr-defined]
        return
    yield from _attributes(value)


def _attributes(value: object) -> Iterator[Part]:
    for name, part in getattr(value, "__dict__", {}).items():
        yield f".{name}", part
    for kind in bases_of(type(value)):
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield f".{name}", getattr(value, name)


def is_small_atom(value: object) -> bool:
    """Tell what is not worth a part: a number, a short text."""
    is_text = is_exactly(value, (str, bytes))
    return is_exactly(value, _ATOMS) or (is_text and len(value) <= _LONG_TEXT)  # type: ignore[arg-type]  # sized


_LIBRARIES = frozenset({"dask", "distributed", "dask_expr"})
_GRAPHS = frozenset({"Expr", "HighLevelGraph"})
#: The threads of a scheduler that runs in this process: what it sends are copies.
_SCHEDULER_THREADS = ("IO loop", "Dask-Offload")
_MOST_LOOKED_AT = 500
#: A longer container is told as one.
_WIDE = 200
#: Containers in containers that a graph keeps for itself: the iterables of ``client.map``.
_GRAPH_LEVELS = 3
#: What has less of the bytes of a message is not what makes it large.
_WORTH_SHARE = 0.1
_NEVER_LARGE = (types.ModuleType, types.BuiltinFunctionType, range, slice)
_CONTAINERS = (list, tuple, dict, set, frozenset)


@dataclass(frozen=True, slots=True)
class Payload:
    """An object of the user in something that was pickled.

    Attributes
    ----------
    key
        The same for the same object; for functions with the same code and the same captures.
    value, holder
        The object, and the outermost object of the user that it was met in.
    size_bytes
        Its share of what was written, as far as that can be told without pickling it.
    """

    key: Hashable
    value: object
    holder: object
    size_bytes: int


def payloads(value: object, size_bytes: int) -> list[Payload]:
    """Return what was pickled: the value itself, of a graph of Dask the large objects in it.

    What the scheduler sends on to its workers is nothing of the user's: the list is empty.

    Parameters
    ----------
    size_bytes
        What was written for the value, buffers included.
    """
    if _is_sent_on(value):
        return []
    if not _is_graph(value):
        return [Payload(_held_key(value), value, value, size_bytes)]
    found = {_held_key(leaf): (leaf, holder) for leaf, holder in _carried(value)}
    known = {key: _known_bytes(leaf) for key, (leaf, _) in found.items()}
    unknown = [key for key, size in known.items() if size is None]
    rest = max(0, size_bytes - sum(size or 0 for size in known.values()))
    made = []
    for key, (leaf, holder) in found.items():
        size = known[key]
        share = rest // len(unknown) if size is None else size
        if share >= _WORTH_SHARE * size_bytes:
            made.append(Payload(key, leaf, holder, min(share, size_bytes)))
    return made or [Payload(_held_key(value), value, value, size_bytes)]


def _is_sent_on(value: object) -> bool:
    if kind_module(type(value)) == "dask._task_spec":
        return True
    name = threading.current_thread().name
    return _is_task(value) and name.startswith(_SCHEDULER_THREADS)


def _is_graph(value: object) -> bool:
    return any(
        kind_name(kind) in _GRAPHS and kind_module(kind).partition(".")[0] in _LIBRARIES
        for kind in bases_of(type(value))
    )


def _is_task(value: object) -> bool:
    return type(value) is tuple and bool(value) and callable(value[0])


def _held_key(value: object) -> Hashable:
    if not is_a(value, types.FunctionType):
        return id(value)
    return (id(value.__code__), *sorted(id(part) for part in _captured(value)))


def _captured(function: types.FunctionType) -> Iterator[object]:
    """Yield what a function drags along and is worth a look."""
    yield from (one.value for one in variables_of(function) if not _is_nothing(one.value))


def _is_nothing(value: object) -> bool:
    """Tell what adds next to nothing to a pickle: small atoms, and what travels by name."""
    if is_a(value, type | types.FunctionType):
        return not is_by_value(value)
    return is_small_atom(value) or is_a(value, _NEVER_LARGE)


def _known_bytes(value: object) -> int | None:
    """Return the bytes of an array or a buffer; None for what only a pickler can tell."""
    if kind_module(type(value)).partition(".")[0] == "pandas":
        return None
    if is_array(value) and value.dtype.hasobject:  # type: ignore[attr-defined]  # an array
        return None
    if is_a(value, types.FunctionType) and not any(True for _ in _captured(value)):
        return 0
    return size_bytes_of(value)


@dataclass(slots=True)
class _Met:
    """An object on the way through a graph: who holds it, and whether the graph made it."""

    value: Any
    holder: object = None
    levels: int = 0


def _carried(graph: object) -> Iterator[tuple[object, object]]:
    """Yield the objects of the user in a graph, each with the outermost that holds it."""
    waiting, seen = deque([_Met(graph)]), set[int]()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        met = waiting.popleft()
        if id(met.value) in seen or _is_nothing(met.value):
            continue
        seen.add(id(met.value))
        inside = list(_inside(met))
        waiting.extend(inside)
        if not inside and not _is_of_graph(met):
            yield met.value, met.value if met.holder is None else met.holder


def _is_of_graph(met: _Met) -> bool:
    if met.holder is not None:
        return False
    is_made = is_exactly(met.value, _CONTAINERS) and (met.levels > 0 or _is_task(met.value))
    return is_made or kind_module(type(met.value)).partition(".")[0] in _LIBRARIES


def _inside(met: _Met) -> Iterator[_Met]:
    value = met.value
    if _is_of_graph(met):
        if is_exactly(value, _CONTAINERS):
            yield from (
                _Met(part, None, met.levels - 1) for part in items_of(value, _MOST_LOOKED_AT)
            )
        else:
            levels = _GRAPH_LEVELS if _is_graph(value) else 1
            yield from (_Met(part, None, levels) for part in _slots(value))
        return
    holder = value if met.holder is None else met.holder
    if not (is_exactly(value, _CONTAINERS) and len(value) > _WIDE):
        yield from (_Met(part, holder) for part in items_of(value, _WIDE + 2))


def _slots(value: object) -> Iterator[object]:
    """Yield the attributes of an object of Dask; its properties are not asked."""
    yield from (part for step, part in _attributes(value) if part is not None)
