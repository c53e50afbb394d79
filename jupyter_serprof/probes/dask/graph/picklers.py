"""What in a Dask graph cannot be pickled, and what its tasks were given.

Objects are reduced as the last pickler does that ``distributed.protocol.pickle.dumps`` tries.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.objects.ask import is_of
from jupyter_serprof.objects.picklers import CountingFile, by_value_pickler, careful
from jupyter_serprof.probes.dask.graph.sections import Section, sections

_SECONDS, _DEPTH = 5.0, 20


@dataclass(frozen=True, slots=True)
class Unpicklable:
    """The innermost argument of a task that cannot be pickled.

    ``argument``: ``function``, ``argument 0``, ``argument name``, nested with dots; the name of a
        parameter of an expression; empty if the value of the key itself is to blame.
    ``value``: The object, for a closer look at its attributes.
    """

    layer: str
    key: str
    argument: str
    value: object


def find_unpicklable(graph: object, *, seconds: float = _SECONDS) -> Unpicklable | None:
    """Return the first object of a graph that cannot be pickled; None if there was none in time.

    No reducer of the user runs for that: one that raises is not found, its error says where.

    Raises ``UsageError``: If it is nothing of Dask.
    """
    deadline = time.monotonic() + seconds
    kind = careful(by_value_pickler())
    with paused_collector():
        for section in sections(graph):
            for key, value in section.items:
                if time.monotonic() > deadline:
                    return None
                if _fails(value, kind):
                    return _inside(section, key, value, kind)
    return None


def _fails(value: object, kind: Any) -> bool:  # noqa: ANN401  (a class of picklers)
    try:
        kind(CountingFile(), protocol=5, buffer_callback=lambda _: None).dump(value)
    except Exception:  # noqa: BLE001  (reducers raise anything)
        return True
    return False


def pickled_bytes(value: object, deadline: float) -> int:
    """Return what a pickle of a value takes, by no reducer of the user; it may raise OutOfTime."""
    sink = CountingFile(deadline)
    careful(by_value_pickler())(sink, protocol=5, buffer_callback=sink.take).dump(value)
    return sink.size_bytes + sink.buffer_bytes


def _inside(section: Section, key: object, value: object, kind: Any) -> Unpicklable:  # noqa: ANN401
    steps = [] if section.has_keys else [str(key)]
    for _ in range(_DEPTH):
        failing = ((step, part) for step, part in arguments(value) if _fails(part, kind))
        step, value = next(failing, ("", value))
        if not step:
            break
        steps.append(step)
    return Unpicklable(section.layer, str(key) if section.has_keys else "", ".".join(steps), value)


def arguments(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  (a task or not)
    """Yield the function and the arguments of a task, as an object or as a tuple."""
    if is_of(value, "dask._task_spec", "GraphNode", "TaskRef"):
        for name, slot in (("function", "func"), ("value", "value")):
            if hasattr(value, slot):
                yield name, getattr(value, slot)
        yield from ((f"argument {i}", part) for i, part in enumerate(getattr(value, "args", ())))
        named = getattr(value, "kwargs", {})
        yield from ((f"argument {name}", part) for name, part in named.items())
    elif type(value) is tuple and value and callable(value[0]):
        yield "function", value[0]
        yield from ((f"argument {i}", part) for i, part in enumerate(value[1:]))
