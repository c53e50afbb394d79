"""One look at a Dask graph that was sent: its large objects, who holds them, and how often.

No code of the user runs: pieces are read from the dictionaries of Dask's own objects, arrays,
tables and buffers say how long they are. Inside of objects of the user their attributes are looked
at, inside of functions what these capture. Only `graph_objects` pickles.
"""

import sys
import types
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from time import monotonic

from jupyter_serprof.model.trace import IN_CODE
from jupyter_serprof.objects import ask
from jupyter_serprof.objects.captured import variables_of
from jupyter_serprof.objects.labels import is_by_value
from jupyter_serprof.objects.picklers import Counter, OutOfTime
from jupyter_serprof.probes.dask.graph.picklers import arguments, pickled_bytes
from jupyter_serprof.probes.dask.graph.sections import LARGE_BYTES, Section, sections

_SECONDS, _TEXT = 0.3, 120
_CONTAINERS = (list, tuple, dict, set, frozenset)
#: Of one task; what is longer than this in a task is no small matter, and said.
_MOST_IN_A_TASK = 2_000
#: Containers from here on are themselves an object of a graph, where small things are in them.
_MANY_ITEMS, _ASKED_ITEMS = 5_000, 20
_MOST_FUNCTIONS, _REFS = 20, {"Alias", "TaskRef"}
_SLOTS = ("func", "args", "kwargs", "value", "klass")


def label(value: object) -> str:
    """Return type, dtype and shape of an object, never its value.

    >>> label(b"abc"), label([1, 2])
    ('bytes', 'list (2)')
    """
    kind = type(value)
    library = ask.kind_module(kind).partition(".")[0]
    own = ask.qualified_name(kind)
    name = own if library == "builtins" else f"{library}.{own}"
    # Dask's node of a list; it is abstract, so that issubclass would ask the metaclass.
    nested = getattr(sys.modules.get("dask._task_spec"), "NestedContainer", None)
    if any(base is nested for base in ask.bases_of(kind)):
        return ask.kind_name(kind).lower()
    if ask.is_a(value, types.FunctionType):
        name = f"function {value.__name__}"
    dtype = ask.attribute(ask.attribute(value, "dtype"), "name") if ask.is_known(value) else None
    dtype = "object" if ask.holds_objects(value) else dtype
    said = (name, dtype if type(dtype) is str else "", _shape(value))
    return " ".join(part for part in said if part)


def _shape(value: object) -> str:
    shape = ask.attribute(value, "shape") if ask.is_known(value) else None
    if type(shape) is tuple and all(type(length) is int for length in shape):
        return str(shape)
    return f"({len(value)})" if ask.is_exactly(value, _CONTAINERS) else ""  # type: ignore[arg-type]


_CODE = types.FunctionType | types.MethodType


def large_inside(value: object, *, opens_code: bool = True) -> Iterator[tuple[object, int]]:
    """Yield the large objects inside of a piece, each once, with its bytes; nothing is asked."""
    # What functions capture, and what methods are bound to, is inside unless it is said otherwise.
    # Of a container of many small things only the pickler knows the bytes: it has 0.
    waiting, seen = deque([value]), set[int]()
    while waiting and len(seen) < _MOST_IN_A_TASK:
        part = waiting.popleft()
        if id(part) in seen:
            continue
        seen.add(id(part))
        size = None if ask.is_exactly(part, (list, tuple, dict)) else ask.size_bytes(part)
        if is_crowd(part):
            yield part, 0
        elif size is None and (opens_code or not ask.is_a(part, _CODE)):
            waiting.extend(_inside(part))
        elif (size or 0) >= LARGE_BYTES:
            yield part, size or 0


def is_crowd(value: object) -> bool:
    """Tell a container of many things of which the first ones hold nothing large."""
    is_long = ask.is_exactly(value, _CONTAINERS) and (ask.length(value) or 0) >= _MANY_ITEMS
    first = ask.items_of(value, _ASKED_ITEMS) if is_long else ()
    return is_long and not any(True for item in first for _ in large_inside(item))


def _inside(value: object) -> Iterator[object]:
    if ask.is_a(value, types.FunctionType):
        if is_by_value(value):
            yield from (variable.value for variable in variables_of(value))
    elif ask.is_a(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif ask.kind_module(type(value)) == "dask._task_spec":
        yield from (ask.attribute(value, name) for name in _SLOTS)
    elif not ask.is_a(value, type | types.ModuleType):
        yield from (*ask.items_of(value, _MOST_IN_A_TASK), *ask.state_of(value).values())


def functions_of(graph: object) -> Iterator[tuple[types.FunctionType, dict[str, object]]]:
    """Yield functions of a graph, each once, and the keys that give its arguments."""
    seen = set[types.FunctionType]()
    for section in sections(graph):
        for _, value in islice(section.items, _MOST_FUNCTIONS):
            given = {name.removeprefix("argument "): part for name, part in arguments(value)}
            part = given.get("function")
            if ask.is_a(part, types.FunctionType) and part not in seen:
                seen.add(part)
                refs = [(n, one) for n, one in given.items() if ask.kind_name(type(one)) in _REFS]
                yield part, {name: ask.attribute(one, "key") for name, one in refs}


@dataclass(frozen=True, slots=True)
class Found:
    """An argument of a task that is large, or holds what is, and where it was met first."""

    value: object
    size_bytes: int
    layer: str
    key: str


def graph_objects(graph: object, deadline: float) -> list[Found]:
    """Return the large arguments of a graph themselves, for a closer look: it is pickled for that.

    ``deadline``: On the clock of `time.monotonic`.

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


@dataclass(slots=True)
class ObjectBytes:
    """A large object, where it was met first, and how many task specifications hold it.

    ``key``: The key of a task, or "every task" of a layer whose template holds it.
    ``kind``: Type, dtype and shape; and whether a function captures it, or a method is bound to it.
    ``name``: The variable of the notebook that it is, if it is one.
    ``size_bytes``: What it holds, as it lies in memory.
    ``references``: None if only materializing would tell, or if there was no time to count them.
    ``crowd``: A container of many small things: its bytes are those of a pickle.
    """

    layer: str
    key: str
    kind: str
    size_bytes: int
    references: int | None = 0
    name: str = ""
    crowd: object = None

    @property
    def crossing_bytes(self) -> int | None:
        """Bytes to the workers: each message of a task pickles its own specification."""
        return None if self.references is None else self.size_bytes * self.references


@dataclass(frozen=True, slots=True)
class GraphBytes:
    """The large objects of a graph, the largest first; ``sent_bytes`` is what was written of it."""

    sent_bytes: int
    objects: tuple[ObjectBytes, ...]
    not_opened: tuple[str, ...] = ()


def graph_bytes(graph: object, sent_bytes: int, *, seconds: float = _SECONDS) -> GraphBytes:
    """Return who holds the bytes of a graph; it is neither changed nor materialized.

    ``graph``: A collection, its graph, or the expression that was sent to the scheduler.
    ``seconds``: Time budget.

    Raises ``UsageError``: If it is nothing of Dask.

    Large are arrays, tables, texts and buffers of a megabyte, and containers of many small things,
    as their pickle. What the scheduler's optimization fuses or culls later is not known here:
    crossing bytes are predicted.
    """
    deadline = monotonic() + seconds
    found: dict[int, ObjectBytes] = {}
    skipped = 0
    for section in sections(graph):
        if section.times == 0:  # it stays on the scheduler
            continue
        for number, (key, value) in enumerate(section.items):
            if monotonic() > deadline:
                skipped += len(section.items) - number
                break
            _refer(found, section, key, value)
    crowds = [one for one in found.values() if one.crowd is not None]
    rest = max(0, sent_bytes - sum(one.size_bytes for one in found.values()))
    for one in crowds:
        with suppress(Exception):  # what cannot be pickled
            try:
                one.size_bytes = pickled_bytes(one.crowd, deadline)
            except OutOfTime:  # so long takes what most of the graph is made of
                one.size_bytes = rest * (len(crowds) == 1)
    if skipped:
        for one in found.values():
            one.references = None
    late = [f"{skipped} tasks were not asked which large objects they hold"] if skipped else []
    known = (one for one in found.values() if one.size_bytes)
    largest = sorted(known, key=lambda one: -one.size_bytes)
    return GraphBytes(sent_bytes, tuple(largest), tuple(late))


def _refer(found: dict[int, ObjectBytes], section: Section, key: object, value: object) -> None:
    """Count one more holder, with what it is a template of, for each large object in a piece."""
    for large, size in large_inside(value):
        one = found.get(id(large))
        if one is None:
            where = text_of(section, key)
            name = ask.notebook_name(large)
            crowd = None if size else large
            given = {id(each) for each, _ in large_inside(value, opens_code=False)}
            kind = label(large) + IN_CODE * (id(large) not in given)
            one = ObjectBytes(section.layer, where, kind, size, name=name, crowd=crowd)
            found[id(large)] = one
        if section.times is None or one.references is None:
            one.references = None
        else:
            one.references += section.times
