"""Picklers that count the bytes of a Dask graph, and find what in it cannot be pickled.

They reduce objects as the last one does that ``distributed.protocol.pickle.dumps`` tries.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.objects.picklers import by_value_pickler, careful
from jupyter_serprof.probes.dask.graph.sections import Section, sections


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


class CountingPickler:
    """One pickler with one memo for many dumps, so that what is repeated counts once."""

    def __init__(self, kind: PicklerKind) -> None:
        self._sink = KeptWrites()
        self._dump = kind.make(self._sink).dump

    def size_bytes(self, value: object) -> int:
        """Return the bytes that a further object adds to the pickle."""
        self._dump(value)
        return sum(self._sink.take_buffers()) + sum(self._sink.take())


class PicklerKind(NamedTuple):
    """A pickler with the short reducers."""

    base: Any

    def make(self, sink: KeptWrites) -> Any:  # noqa: ANN401  (an instance of the base)
        """Return one that writes to a sink."""
        return self.base(sink, protocol=5, buffer_callback=sink.hand_over)

    def table(self) -> dict[Any, Any]:
        """Return its reducers by type, with short ones for the nodes of a graph."""
        own = getattr(self.base, "dispatch_table", None)
        reducers = own if isinstance(own, Mapping) else {}  # of pickle itself: a descriptor
        return {**copyreg.dispatch_table, **reducers, **node_reducers()}


def by_value() -> PicklerKind:
    """Return cloudpickle's pickler, which takes functions and classes by value."""
    return PicklerKind(by_value_pickler())


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

    No reducer of the user runs for that: one that raises is not found, its error says where.

    Raises
    ------
    UsageError
        If it is nothing of Dask.
    """
    deadline = time.monotonic() + seconds
    kind = PicklerKind(careful(by_value_pickler()))
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
