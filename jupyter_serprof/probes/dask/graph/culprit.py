"""Where in a Dask graph the object is that cannot be pickled: layer, key, argument."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.probes.dask.graph.picklers import KeptWrites, PicklerKind, by_value, node_kinds
from jupyter_serprof.probes.dask.graph.sections import Section, sections

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
    error
        What the pickler raised.
    """

    layer: str
    key: str
    argument: str
    value: object
    error: Exception

    @property
    def path(self) -> str:
        """The steps in one text."""
        return " -> ".join(step for step in (self.layer, self.key, self.argument) if step)


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
                error = _error(value, kind)
                if error is not None:
                    return _inside(section, key, value, error, kind)
    return None


def _error(value: object, kind: PicklerKind) -> Exception | None:
    try:
        kind.make(KeptWrites()).dump(value)
    except Exception as error:  # noqa: BLE001  (reducers raise anything)
        return error
    return None


def _inside(
    section: Section, key: object, value: object, error: Exception, kind: PicklerKind
) -> Unpicklable:
    """Descend through arguments of tasks, as long as one of them fails."""
    steps = [] if section.has_keys else [str(key)]
    for _ in range(_DEPTH):
        failing = next(_failing(value, kind), None)
        if failing is None:
            break
        step, value, error = failing
        steps.append(step)
    name = str(key) if section.has_keys else ""
    return Unpicklable(section.layer, name, ".".join(steps), value, error)


def _failing(value: object, kind: PicklerKind) -> Iterator[tuple[str, object, Exception]]:
    for step, part in _arguments(value):
        error = _error(part, kind)
        if error is not None:
            yield step, part, error


def _arguments(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  (a task or not)
    """Yield the function and the arguments of a task, as an object or as a tuple."""
    if type(value) in node_kinds():
        yield from ((name, part) for name, part in _slots(value) if name in ("function", "value"))
        yield from ((f"argument {i}", part) for i, part in enumerate(getattr(value, "args", ())))
        named = getattr(value, "kwargs", {})
        yield from ((f"argument {name}", part) for name, part in named.items())
    elif type(value) is tuple and value and callable(value[0]):
        yield "function", value[0]
        yield from ((f"argument {i}", part) for i, part in enumerate(value[1:]))


def _slots(node: object) -> Iterator[tuple[str, object]]:
    for name, slot in (("function", "func"), ("value", "value")):
        if hasattr(node, slot):
            yield name, getattr(node, slot)
