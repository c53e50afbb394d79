"""Picklers that count the bytes of a Dask graph, and find what in it cannot be pickled.

They reduce objects as ``distributed.protocol.pickle.dumps`` does: pickle, then its own pickler,
then cloudpickle; cloudpickle also if a name of ``__main__`` is written.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.objects.picklers import by_value_pickler
from jupyter_serprof.probes.dask.graph.sections import Section, sections

#: Of each dump PROTO (2 bytes), the header of its FRAME (9) and STOP (1).
#: Source: CPython 3.11, Modules/_pickle.c.
_ENVELOPE_BYTES = 2 + 9 + 1
#: A dump of less than 4 bytes has no FRAME. Source: as above, FRAME_SIZE_MIN.
_BARE_BYTES = 2 + 1
_FRAMED_BYTES = 2 + 9 + 4
#: Of the list around several items EMPTY_LIST, MEMOIZE, MARK and APPENDS.
_LIST_BYTES = 4
_FEW = 2
_MAIN = b"__main__"


class KeptWrites:
    """A file that keeps what is written until it is counted, and the buffers handed over."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self.write = self.written.append
        self.buffers: list[pickle.PickleBuffer] = []
        self.hand_over = self.buffers.append

    def take(self) -> list[int]:
        """Return the sizes of what was written, bytes, and forget it."""
        sizes = [size_of(part) for part in self.written]
        self.written.clear()
        return sizes

    def take_buffers(self) -> list[int]:
        """Return the sizes of the buffers, bytes, and forget them."""
        sizes = [memoryview(buffer).nbytes for buffer in self.buffers]
        self.buffers.clear()
        return sizes


def size_of(part: Any) -> int:  # noqa: ANN401  (anything with a buffer)
    """Return the bytes of one write."""
    return len(part) if isinstance(part, bytes) else memoryview(part).nbytes


class NeedsCloudpickle(Exception):  # noqa: N818  (it says what is to be done next)
    """A name of ``__main__`` was written: distributed pickles once more, with cloudpickle."""


class CountingPickler:
    """One pickler with one memo for many dumps, so that what is repeated counts once."""

    def __init__(self, kind: PicklerKind) -> None:
        self._sink = KeptWrites()
        self._is_final = kind.name == "cloudpickle"
        self._dump = kind.make(self._sink).dump

    def size_bytes(self, values: Sequence[object]) -> int:
        """Return the bytes that further objects add to the pickle.

        Raises
        ------
        NeedsCloudpickle
            If one names ``__main__`` and this is not cloudpickle.
        """
        if len(values) > _FEW:
            return self._added(list(values)) - _LIST_BYTES
        # Without a list: each entry in the memo makes later references to others longer.
        return sum(map(self._added, values))

    def _added(self, value: object) -> int:
        self._dump(value)
        if not self._is_final and any(_names_main(part) for part in self._sink.written):
            raise NeedsCloudpickle
        beside = sum(self._sink.take_buffers())
        written = sum(self._sink.take())
        return written + beside - (_ENVELOPE_BYTES if written >= _FRAMED_BYTES else _BARE_BYTES)


def _names_main(part: object) -> bool:
    return type(part) is bytes and _MAIN in part


class PicklerKind(NamedTuple):
    """One of the picklers that distributed tries, in order."""

    name: str
    base: Any

    def make(self, sink: KeptWrites) -> Any:  # noqa: ANN401  (an instance of the base)
        """Return one that writes to a sink."""
        return self.base(sink, protocol=5, buffer_callback=sink.hand_over)

    def table(self) -> dict[Any, Any]:
        """Return its reducers by type, with short ones for the nodes of a graph."""
        own = getattr(self.base, "dispatch_table", None)
        reducers = own if isinstance(own, Mapping) else {}  # of pickle itself: a descriptor
        return {**copyreg.dispatch_table, **reducers, **node_reducers()}


def pickler_kinds() -> Iterator[PicklerKind]:
    """Yield the picklers in the order in which distributed tries them."""
    yield PicklerKind("pickle", pickle.Pickler)
    own = getattr(sys.modules.get("distributed.protocol.pickle"), "_DaskPickler", None)
    if own is not None:
        yield PicklerKind("dask", own)
    yield by_value()


def by_value() -> PicklerKind:
    """Return cloudpickle's pickler, which takes functions and classes by value."""
    return PicklerKind("cloudpickle", by_value_pickler())


# Short reducers for the nodes of a graph, which give what they hold: their own take longer.


def node_reducers() -> dict[Any, Any]:
    """Return the short reducers; read in Dask 2026.8.0, ``_task_spec.py``."""
    table: dict[Any, Any] = dict.fromkeys(node_kinds(), _no_parts)
    spec = sys.modules.get("dask._task_spec")
    reducers: dict[str, Any] = {"Task": _task_parts, "DataNode": _data_parts}
    for name, reducer in reducers.items():
        kind = getattr(spec, name, None)
        table |= dict.fromkeys(_with_subclasses(kind), reducer) if kind is not None else {}
    return table


def node_kinds() -> set[type]:
    """Return the classes of nodes of a graph; empty where Dask has none."""
    spec = sys.modules.get("dask._task_spec")
    node, ref = getattr(spec, "GraphNode", None), getattr(spec, "TaskRef", None)
    found = set(_with_subclasses(node)) if node is not None else set()
    return found | ({ref} if ref is not None else set())


def _with_subclasses(kind: Any) -> Iterator[type]:  # noqa: ANN401  (a class)
    yield kind
    for below in kind.__subclasses__():
        yield from _with_subclasses(below)


def _task_parts(task: Any) -> tuple[Any, ...]:  # noqa: ANN401  (a Task)
    return object, (task.func, *task.args, *task.kwargs.values())


def _data_parts(node: Any) -> tuple[Any, ...]:  # noqa: ANN401  (a DataNode)
    return object, (node.value,)


def _no_parts(_: object) -> tuple[Any, ...]:
    return object, ()


_SECONDS = 5.0
_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Unpicklable:
    """The innermost argument of a task that cannot be pickled.

    Attributes
    ----------
    argument
        ``function``, ``argument 0``, ``argument name``, nested with dots; the name of a parameter
        of an expression; empty if the value of the key itself is to blame.
    value
        The object, for a closer look at its attributes.
    """

    layer: str
    key: str
    argument: str
    value: object


def find_unpicklable(graph: object, *, seconds: float = _SECONDS) -> Unpicklable | None:
    """Return the first object of a graph that cannot be pickled; None if there was none in time.

    Raises
    ------
    UsageError
        If it is nothing of Dask.
    """
    deadline = time.monotonic() + seconds
    kind = by_value()
    with paused_collector():
        for section in sections(graph):
            for key, value in section.items:
                if time.monotonic() > deadline:
                    return None
                if _fails(value, kind):
                    return _inside(section, key, value, kind)
    return None


def _fails(value: object, kind: PicklerKind) -> bool:
    try:
        kind.make(KeptWrites()).dump(value)
    except Exception:  # noqa: BLE001  (reducers raise anything)
        return True
    return False


def _inside(section: Section, key: object, value: object, kind: PicklerKind) -> Unpicklable:
    """Descend through arguments of tasks, as long as one of them fails."""
    steps = [] if section.has_keys else [str(key)]
    for _ in range(_DEPTH):
        failing = ((step, part) for step, part in _arguments(value) if _fails(part, kind))
        step, value = next(failing, ("", value))
        if not step:
            break
        steps.append(step)
    return Unpicklable(section.layer, str(key) if section.has_keys else "", ".".join(steps), value)


def _arguments(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  (a task or not)
    """Yield the function and the arguments of a task, as an object or as a tuple."""
    if type(value) in node_kinds():
        for name, slot in (("function", "func"), ("value", "value")):
            if hasattr(value, slot):
                yield name, getattr(value, slot)
        yield from ((f"argument {i}", part) for i, part in enumerate(getattr(value, "args", ())))
        named = getattr(value, "kwargs", {})
        yield from ((f"argument {name}", part) for name, part in named.items())
    elif type(value) is tuple and value and callable(value[0]):
        yield "function", value[0]
        yield from ((f"argument {i}", part) for i, part in enumerate(value[1:]))
