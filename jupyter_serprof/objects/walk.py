"""The parts of a value that a pickler would visit, each with its step in a path.

Dask makes a new graph for each call, and the notebook a new lambda in each turn of a loop; the
frame in all of them is one. Only what is met first is looked at, so that a hook takes no time.
"""

import functools
import threading
import types
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from contextlib import suppress
from itertools import islice
from traceback import walk_stack
from typing import Any, NamedTuple

from jupyter_serprof.objects import ask
from jupyter_serprof.objects.captured import variables_of
from jupyter_serprof.objects.labels import KEY_LENGTH, as_text, is_by_value, key_label

_LONG_TEXT = 1000
_FACTORY = vars(defaultdict)["default_factory"]
_ATOMS = (int, float, bool, type(None), complex, type(...), type(NotImplemented))

Part = tuple[str, object]

#: Parts of one value; a list of this length is about 30 MB while it is searched.
_MOST = 200_000
#: Their attributes lead through half of the interpreter, and a pickler does not take them apart.
_CLOSED = (types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)


def parts_of(value: object, *, takes_functions: bool) -> Iterator[Part]:
    """Yield (step, part) of a container, function or object, at most 200,000.

    What raises while it is opened (properties and mappings of users) has no more parts.

    ``takes_functions``: False if the pickler takes functions and classes by name only: then they
        have no parts.
    """
    with suppress(Exception):
        yield from islice(_parts(value, takes_functions=takes_functions), _MOST)


def _parts(value: Any, *, takes_functions: bool) -> Iterator[Part]:  # noqa: ANN401, C901, PLR0912  (a kind each)
    if ask.is_a(value, dict):
        yield from _mapping_parts(value)
    elif kind := next((kind for kind in (list, tuple, deque) if ask.is_a(value, kind)), None):
        yield from ((f"[{i}]", part) for i, part in enumerate(kind.__iter__(value)))
        yield from _attributes(value)
    elif ask.is_a(value, set | frozenset):
        each = set.__iter__(value) if ask.is_a(value, set) else frozenset.__iter__(value)
        yield from ((".<element>", part) for part in each)
    elif ask.is_a(value, functools.partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    elif ask.is_a(value, types.MethodType):
        yield from ((".__self__", value.__self__), (".__func__", value.__func__))
    elif ask.is_a(value, types.FunctionType):
        if takes_functions:
            yield from ((f".<{one.kind} {one.name}>", one.value) for one in variables_of(value))
    elif ask.is_a(value, type):
        own = vars(value).items() if takes_functions and is_by_value(value) else ()
        yield from ((f".{at}", part) for at, part in own if at[:2] != "__" or callable(part))
    elif ask.is_array(value) and value.dtype.hasobject:
        # Of more than one dimension the rows.
        yield from ((f"[{i}]", part) for i, part in enumerate(value.tolist()))
    elif not ask.is_a(value, _CLOSED):
        if ask.is_of(value, "pandas", "DataFrame") and ask.is_known(value):
            yield from ((f"[{_key(name)}]", column.to_numpy()) for name, column in value.items())
        elif ask.is_of(value, "pandas", "Series") and ask.is_known(value):
            yield ".values", value.to_numpy()
        else:
            yield from _attributes(value)
        if takes_functions and is_by_value(type(value)):
            yield ".__class__", type(value)


def _mapping_parts(value: dict[object, object]) -> Iterator[Part]:
    for key, part in dict.items(value):
        yield f"[{_key(key)}]", part
        if not ask.is_a(key, (*_ATOMS, str)):
            yield f".<key {ask.kind_name(type(key))}>", key
    if ask.is_a(value, defaultdict):
        yield ".default_factory", _FACTORY.__get__(value, defaultdict)
    yield from _attributes(value)


def _key(key: object) -> str:
    """Return a key as code; a long text may be data, and is told by its type as any object."""
    text = as_text(key)
    return key_label(key)[1:-1] if text is None or len(text) > KEY_LENGTH else repr(text)


def _attributes(value: object) -> Iterator[Part]:
    own = object.__getattribute__  # whatever the class makes of it
    with suppress(AttributeError):
        yield from ((f".{name}", part) for name, part in own(value, "__dict__").items())
    yield from ((f".{name}", part) for name, part in ask.slots_of(value).items())


def is_small_atom(value: object) -> bool:
    """Tell what is not worth a part: a number, a short text."""
    is_text = ask.is_exactly(value, (str, bytes))
    return ask.is_exactly(value, _ATOMS) or (is_text and len(value) <= _LONG_TEXT)  # type: ignore[arg-type]  # sized


_GRAPHS = frozenset({"Expr", "HighLevelGraph"})
#: Threads in which distributed works, for a client or as a scheduler in this process: what they
#: send are copies, of what other spans name.
DASK_THREADS = ("IO loop", "Dask-Offload")
_MOST_LOOKED_AT = 500
#: A longer container is told as one.
_WIDE = 200
#: Containers in containers that a graph keeps for itself: the iterables of ``client.map``.
_GRAPH_LEVELS = 3
#: What has less of the bytes of a message is not what makes it large.
_WORTH_SHARE = 0.1
_NEVER_LARGE = (types.ModuleType, types.BuiltinFunctionType, range, slice)
_CONTAINERS = (list, tuple, dict, set, frozenset)


class Payload(NamedTuple):
    """An object of the user in something that was pickled.

    ``key``: The same for the same object; for functions with the same code and the same captures.
    ``value``, ``holder``: The object, and the outermost object of the user that it was met in.
    ``size_bytes``: Its share of what was written, as far as that can be told without pickling it.
    """

    key: Hashable
    value: object
    holder: object
    size_bytes: int


def payloads(value: object, size_bytes: int) -> list[Payload]:
    """Return what was pickled: the value itself, of a graph of Dask the large objects in it.

    What a scheduler answers (`Server._handle_comm`) or sends on is not the user's: nothing of it.

    ``size_bytes``: What was written for the value, buffers included.
    """
    callers = (frame.f_code.co_name for frame, _ in walk_stack(None))
    is_of_dask = threading.current_thread().name.startswith(DASK_THREADS)
    is_sent_on = is_of_dask and (_is_task(value) or "_handle_comm" in callers)
    if is_sent_on or ask.kind_module(type(value)) == "dask._task_spec":
        return []
    if not _is_graph(value):
        return [Payload(_held_key(value), value, value, size_bytes)]
    found = {_held_key(leaf): (leaf, holder) for leaf, holder in _carried(value)}
    known = {key: _known_bytes(leaf) for key, (leaf, _) in found.items()}
    unknown = [key for key, size in known.items() if size is None]
    rest = max(0, size_bytes - sum(size or 0 for size in known.values()))
    shares = {key: rest // len(unknown) if s is None else s for key, s in known.items()}
    made = [
        Payload(key, leaf, holder, min(shares[key], size_bytes))
        for key, (leaf, holder) in found.items()
        if shares[key] >= _WORTH_SHARE * size_bytes
    ]
    return made or [Payload(_held_key(value), value, value, size_bytes)]


def _is_graph(value: object) -> bool:
    kinds = ask.bases_of(type(value))
    return any(ask.kind_name(kind) in _GRAPHS and _is_of_library(kind) for kind in kinds)


def _is_task(value: object) -> bool:
    return type(value) is tuple and bool(value) and callable(value[0])


def _held_key(value: object) -> Hashable:
    if not ask.is_a(value, types.FunctionType):
        return id(value)
    return (id(value.__code__), *sorted(id(part) for part in _captured(value)))


def _captured(function: types.FunctionType) -> list[object]:
    return [one.value for one in variables_of(function) if not _is_nothing(one.value)]


def _is_nothing(value: object) -> bool:
    """Tell what adds next to nothing to a pickle: small atoms, and what travels by name."""
    if ask.is_a(value, type | types.FunctionType):
        return not is_by_value(value)
    return is_small_atom(value) or ask.is_a(value, _NEVER_LARGE)


def _known_bytes(value: object) -> int | None:
    """Return the bytes of an array or a buffer; None for what only a pickler can tell."""
    if ask.is_a(value, types.FunctionType) and not _captured(value):
        return 0
    is_held_apart = ask.is_array(value) and value.dtype.hasobject  # type: ignore[attr-defined]
    is_pandas = ask.kind_module(type(value)).partition(".")[0] == "pandas"
    return None if is_held_apart or is_pandas else ask.size_bytes(value)


def _carried(graph: object) -> Iterator[tuple[object, object]]:
    waiting, seen = deque[tuple[object, object, int]]([(graph, None, 0)]), set[int]()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        value, holder, levels = waiting.popleft()
        if id(value) in seen or _is_nothing(value):
            continue
        seen.add(id(value))
        is_container = ask.is_exactly(value, _CONTAINERS)
        if holder is None and is_container and (levels > 0 or _is_task(value)):
            inside = ask.items_of(value, _MOST_LOOKED_AT)
            waiting.extend((part, None, levels - 1) for part in inside)
        elif holder is None and _is_of_library(type(value)):
            levels = _GRAPH_LEVELS if _is_graph(value) else 1
            # Its properties are not asked.
            slots = (part for _, part in _attributes(value) if part is not None)
            waiting.extend((part, None, levels) for part in slots)
        else:
            outer = value if holder is None else holder
            is_wide = is_container and len(value) > _WIDE  # type: ignore[arg-type]  # sized
            parts = [] if is_wide else list(ask.items_of(value, _WIDE + 2))
            waiting.extend((part, outer, 0) for part in parts)
            if not parts:
                yield value, outer


def _is_of_library(kind: type) -> bool:
    return ask.kind_module(kind).partition(".")[0] in {"dask", "distributed", "dask_expr"}
