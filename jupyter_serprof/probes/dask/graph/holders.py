"""The large objects of a Dask graph: what they are, and which argument of a task holds them."""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from jupyter_serprof.objects.ask import (
    attribute,
    bases_of,
    is_a,
    is_exactly,
    is_known,
    items_of,
    kind_module,
    kind_name,
    qualified_name,
    size_bytes,
    state_of,
)
from jupyter_serprof.objects.captured import variables_of
from jupyter_serprof.objects.labels import is_by_value
from jupyter_serprof.objects.picklers import Counter, OutOfTime
from jupyter_serprof.probes.dask.graph.picklers import arguments
from jupyter_serprof.probes.dask.graph.sections import LARGE_BYTES, Section, sections

_TEXT = 120
_CONTAINERS = (list, tuple, dict, set, frozenset)
#: Of one task; what is longer than this in a task is no small matter, and said.
_MOST_IN_A_TASK = 2_000
_SLOTS = ("func", "args", "kwargs", "value", "klass")


def label(value: object) -> str:
    """Return type, dtype and shape of an object, never its value.

    >>> label(b"abc"), label([1, 2])
    ('bytes', 'list (2)')
    """
    kind = type(value)
    library = kind_module(kind).partition(".")[0]
    name = qualified_name(kind) if library == "builtins" else f"{library}.{qualified_name(kind)}"
    # Dask's node of a list; it is abstract, so that issubclass would ask the metaclass.
    nested = getattr(sys.modules.get("dask._task_spec"), "NestedContainer", None)
    if any(base is nested for base in bases_of(kind)):
        return kind_name(kind).lower()
    if is_a(value, types.FunctionType):
        name = f"function {value.__name__}"
    dtype = attribute(attribute(value, "dtype"), "name") if is_known(value) else None
    said = (name, dtype if type(dtype) is str else "", _shape(value))
    return " ".join(part for part in said if part)


def _shape(value: object) -> str:
    shape = attribute(value, "shape") if is_known(value) else None
    if type(shape) is tuple and all(type(length) is int for length in shape):
        return str(shape)
    return f"({len(value)})" if is_exactly(value, _CONTAINERS) else ""  # type: ignore[arg-type]


def large_inside(value: object) -> Iterator[tuple[object, int]]:
    """Yield the large objects inside of a piece, each once, with its bytes; nothing is asked."""
    waiting, seen = deque([value]), set[int]()
    while waiting and len(seen) < _MOST_IN_A_TASK:
        part = waiting.popleft()
        if id(part) in seen:
            continue
        seen.add(id(part))
        size = None if is_exactly(part, (list, tuple, dict)) else size_bytes(part)
        if size is None:
            waiting.extend(_inside(part))
        elif size >= LARGE_BYTES:
            yield part, size


def _inside(value: object) -> Iterator[object]:
    """Yield what an object holds, without asking it."""
    if is_a(value, types.FunctionType):
        if is_by_value(value):
            yield from (variable.value for variable in variables_of(value))
    elif is_a(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif kind_module(type(value)) == "dask._task_spec":
        yield from (attribute(value, name) for name in _SLOTS)
    elif not is_a(value, type | types.ModuleType):
        yield from (*items_of(value, _MOST_IN_A_TASK), *state_of(value).values())


@dataclass(frozen=True, slots=True)
class Found:
    """An argument of a task that is large, or holds what is, and where it was met first."""

    value: object
    size_bytes: int
    layer: str
    key: str


def graph_objects(graph: object, deadline: float) -> list[Found]:
    """Return the large arguments of a graph themselves, for a closer look: it is pickled for that.

    Parameters
    ----------
    deadline
        On the clock of `time.monotonic`.

    Notes
    -----
    One pickler with one memo pickles the pieces of the graph one after the other into a file that
    only counts, so each piece gets the bytes that it adds; those of a megabyte are opened.
    """
    counter, found = Counter(deadline), dict[int, Found]()
    with suppress(OutOfTime):
        for section in sections(graph):
            for key, value in section.items if section.times != 0 else ():
                if _added_bytes(counter, value) >= LARGE_BYTES:
                    for argument, size in _large_arguments(value, deadline):
                        one = Found(argument, size, section.layer, text_of(section, key))
                        found.setdefault(id(argument), one)
    return list(found.values())


def _added_bytes(counter: Counter, value: object) -> int:
    beside = counter.sink.buffer_bytes
    return counter.add(value) + counter.sink.buffer_bytes - beside


def _large_arguments(value: object, deadline: float) -> Iterator[tuple[object, int]]:
    """Yield the arguments with large objects in them; without any, those of many small things."""
    every = list(_arguments(value))
    known = [(each, sum(size for _, size in large_inside(each))) for each in every]
    if not any(size for _, size in known):
        known = [(each, _added_bytes(Counter(deadline), each)) for each in every]
    yield from (entry for entry in known if entry[1] >= LARGE_BYTES)


def _arguments(value: object) -> Iterator[object]:
    """Yield what tasks, also those inside of tasks, were given; of what is no task, itself."""
    parts = [part for _, part in arguments(value)]
    for part in parts:
        yield from _arguments(part)
    if not parts:
        yield value


def text_of(section: Section, key: object) -> str:
    """Return where in a layer an item is: its key, or the template of all tasks."""
    is_template = section.times is not None and section.times > 1
    if not section.has_keys:
        return "every task" if is_template else ""
    text = str(key)
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."
