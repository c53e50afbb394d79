"""The large objects inside a value: the innermost ones, with the bytes of their pickle."""

from __future__ import annotations

import pickle
import sys
import time
import types
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from jupyter_serprof.objects.ask import (
    attribute,
    bases_of,
    is_a,
    is_exactly,
    is_known,
    kind_module,
    kind_name,
    qualified_name,
)
from jupyter_serprof.objects.picklers import OutOfTime
from jupyter_serprof.probes.dask.graph.picklers import (
    CountingPickler,
    KeptWrites,
    PicklerKind,
    by_value,
    size_of,
)
from jupyter_serprof.probes.dask.graph.sections import Section, sections

LARGE_BYTES = 1_000_000
_TEXT = 120

#: What is inside an object of these is told as that object: a frame, not its blocks.
_CLOSED_LIBRARIES = frozenset({"numpy", "pandas", "polars", "pyarrow", "scipy"})
#: Their objects are the graph; what they hold are the objects.
_GRAPH_LIBRARIES = frozenset({"dask", "distributed"})
_CONTAINERS = (list, tuple, dict, set, frozenset)
#: Longer containers without a large payload are measured in one step and not opened.
_WIDE = 200
#: Writes of more than two frames are payloads. Source: CPython, Modules/_pickle.c.
_PAYLOAD_BYTES = 2 * 64 * 1024
#: State, slots, globals: containers that cloudpickle makes for a function.
_FUNCTION_DEPTH = 3


class Large(NamedTuple):
    """An object, the bytes of its pickle, and what it is inside of, the innermost first."""

    value: object
    size_bytes: int
    owners: tuple[object, ...] = ()


def large_objects(
    value: object, kind: PicklerKind, least_bytes: int, deadline: float
) -> tuple[list[Large], bool]:
    """Return the innermost objects of at least ``least_bytes``, and whether there was time for all.

    Of a bound method of a model that is the array in the model; of a frame it is the frame. A list
    of small things counts as one object.

    Parameters
    ----------
    deadline
        On the clock of `time.monotonic`; then the object that is being opened is returned whole.
    """
    tracer = _tracer(kind)(kind, least_bytes, deadline)
    try:
        tracer.save(value)
    except (OutOfTime, Exception):  # noqa: BLE001  (too deep for Python, or changed meanwhile)
        return tracer.at_stop(), False
    return tracer.found, True


def label(value: object) -> str:
    """Return type, dtype and shape of an object, never its value.

    >>> label(b"abc"), label([1, 2])
    ('bytes', 'list (2)')
    """
    kind = type(value)
    library = kind_module(kind).partition(".")[0]
    name = qualified_name(kind) if library == "builtins" else f"{library}.{qualified_name(kind)}"
    if container := _container_name(value):
        return container
    if is_a(value, types.FunctionType):
        name = f"function {value.__name__}"
    dtype = attribute(attribute(value, "dtype"), "name") if is_known(value) else None
    said = (name, dtype if type(dtype) is str else "", _shape(value))
    return " ".join(part for part in said if part)


def _container_name(value: object) -> str:
    """Return ``list`` for Dask's node of a list; empty for what is no such node."""
    kind = getattr(sys.modules.get("dask._task_spec"), "NestedContainer", None)
    own = type(value)
    return kind_name(own).lower() if any(base is kind for base in bases_of(own)) else ""


def _shape(value: object) -> str:
    shape = attribute(value, "shape") if is_known(value) else None
    if type(shape) is tuple and all(type(length) is int for length in shape):
        return str(shape)
    return f"({len(value)})" if is_exactly(value, _CONTAINERS) else ""  # type: ignore[arg-type]


class _Open:
    """An object that is being pickled."""

    __slots__ = ("found", "product", "reduces", "start", "value")

    def __init__(self, value: object, start: int, found: int, product: int) -> None:
        self.value = value
        self.start = start
        self.found = found
        #: How many containers lie between it and the object whose reducer made them; 0: a real one.
        self.product = product
        self.reduces = False


def _tracer(kind: PicklerKind) -> Any:  # noqa: ANN401  (a class)
    """Return pickle's pickler in Python, which can be asked where it is, with a kind's reducers."""

    class Tracer(_Tracing, pickle._Pickler):  # noqa: SLF001  (no other)
        dispatch_table = kind.table()

    return Tracer


class _Tracing:
    """What a pickler in Python does at each object: note where it began, and how long it was."""

    def __init__(self, kind: PicklerKind, least_bytes: int, deadline: float) -> None:
        super().__init__(KeptWrites(), protocol=5, buffer_callback=self._beside)  # type: ignore[call-arg]
        self.write = self._count
        self._write_large_bytes = self._count_payload
        self._kind = kind
        self._least_bytes = least_bytes
        self._deadline = deadline
        self._reduce = getattr(kind.make(KeptWrites()), "reducer_override", None)
        self._stack: list[_Open] = []
        self.position = 0
        self.found: list[Large] = []

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  (pickle's protocol)
        """Reduce as the kind of pickler does."""
        return NotImplemented if self._reduce is None else self._reduce(value)

    def save(self, value: object, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Pickle an object and keep it if it is large and nothing inside it is."""
        if time.monotonic() > self._deadline:
            raise OutOfTime
        node = _Open(value, self.position, len(self.found), self._product(value))
        self._stack.append(node)
        if not self._is_measured(value):
            super().save(value, *args, **kwargs)  # type: ignore[misc]
        self._stack.pop()
        self._close(node)

    def save_reduce(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Note that what follows was made by a reducer."""
        self._stack[-1].reduces = True
        return super().save_reduce(*args, **kwargs)  # type: ignore[misc]

    def at_stop(self) -> list[Large]:
        """Return what was found, and the object that was being opened, whole.

        The innermost that is known to be large, else the outermost.
        """
        opened = [n for n in self._stack if not n.product and not _is_graph(n.value)]
        large = [node for node in opened if self._is_large(node)]
        whole = large[-1:] or opened[:1]
        if whole and len(self.found) == whole[0].found:
            with suppress(Exception):  # what cannot be pickled has no size
                self._keep(whole[0], _measure(whole[0].value, self._kind)[0])
        return self.found

    def _count(self, data: Any) -> None:  # noqa: ANN401  (anything with a buffer)
        self.position += size_of(data)

    def _count_payload(self, header: bytes, data: Any) -> None:  # noqa: ANN401  (as above)
        self.position += len(header) + size_of(data)

    def _beside(self, buffer: pickle.PickleBuffer) -> None:
        self.position += memoryview(buffer).nbytes

    def _product(self, value: object) -> int:
        """Tell whether a container was made for the pickler only: it is gone afterwards."""
        if not self._stack or not is_exactly(value, _CONTAINERS):
            return 0
        above = self._stack[-1]
        if above.reduces:
            return 1
        is_deep = 0 < above.product < _FUNCTION_DEPTH and self._belongs_to_function()
        return above.product + 1 if is_deep else 0

    def _belongs_to_function(self) -> bool:
        owner = next(node.value for node in reversed(self._stack) if not node.product)
        return isinstance(owner, types.FunctionType | type)

    def _is_measured(self, value: Any) -> bool:  # noqa: ANN401  (any object)
        """Measure a long container of small parts without opening it."""
        memo: dict[int, object] = self.memo  # type: ignore[attr-defined]  # of pickle's pickler
        if not is_exactly(value, _CONTAINERS) or len(value) <= _WIDE or id(value) in memo:
            return False
        size, largest = _measure(value, self._kind)
        if largest >= self._least_bytes:
            return False
        self.position += size
        self.memoize(value)  # type: ignore[attr-defined]  # as above
        return True

    def _is_large(self, node: _Open) -> bool:
        size = self.position - node.start
        return size >= self._least_bytes and not node.product and not _is_graph(node.value)

    def _close(self, node: _Open) -> None:
        if not self._is_large(node):
            return
        if kind_module(type(node.value)).partition(".")[0] in _CLOSED_LIBRARIES:
            del self.found[node.found :]
        if len(self.found) == node.found:
            self._keep(node, self.position - node.start)

    def _keep(self, node: _Open, size: int) -> None:
        above = (owner for owner in reversed(self._stack) if owner is not node)
        owners = (owner.value for owner in above if not owner.product)
        own = tuple(owner for owner in owners if not _is_graph(owner))
        self.found.append(Large(node.value, size, own))


def _is_graph(value: object) -> bool:
    """Tell whether it is a part of the graph: a node, a layer, a task as a tuple.

    A list among the arguments, which Dask keeps as a node, is the user's.
    """
    if type(value) is tuple:
        return bool(value) and callable(value[0])
    if _container_name(value):
        return False
    return kind_module(type(value)).partition(".")[0] in _GRAPH_LIBRARIES


def _measure(value: object, kind: PicklerKind) -> tuple[int, int]:
    """Return the bytes of a pickle and of the largest single payload in it."""
    sink = KeptWrites()
    kind.make(sink).dump(value)
    written, beside = sink.take(), sink.take_buffers()
    payloads = [*beside, *(size for size in written if size >= _PAYLOAD_BYTES)]
    return sum(written) + sum(beside), max(payloads, default=0)


@dataclass(frozen=True, slots=True)
class Found:
    """A large object, and where in the graph it was met first."""

    large: Large
    layer: str
    key: str


def graph_objects(graph: object, deadline: float) -> list[Found]:
    """Return the large objects of a graph themselves, for a closer look: it is pickled for that.

    Parameters
    ----------
    deadline
        On the clock of `time.monotonic`.

    Notes
    -----
    One pickler with one memo pickles the pieces of the graph one after the other into a file that
    only counts, so each piece gets the bytes that it adds; those of a megabyte are opened.
    """
    kind, found = by_value(), dict[int, Found]()
    pickler = CountingPickler(kind)
    for section in sections(graph):
        for key, value in section.items if section.times != 0 else ():
            if time.monotonic() > deadline:
                break
            if pickler.size_bytes(value) >= LARGE_BYTES:
                for large in large_objects(value, kind, LARGE_BYTES, deadline)[0]:
                    one = Found(large, section.layer, text_of(section, key))
                    found.setdefault(id(large.value), one)
    return list(found.values())


def text_of(section: Section, key: object) -> str:
    """Return where in a layer an item is: its key, or the template of all tasks."""
    is_template = section.times is not None and section.times > 1
    if not section.has_keys:
        return "every task" if is_template else ""
    text = str(key)
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."
