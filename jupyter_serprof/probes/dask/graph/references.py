"""Which of some large objects a task holds, however deep: in closures, partials, bound methods."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from jupyter_serprof.probes.dask.graph.picklers import PicklerKind, Sink, node_reducers

#: The memo of a pickler never shrinks, and is cleared whole after each task.
_TASKS_OF_A_PICKLER = 64
_NOTHING: frozenset[int] = frozenset()
_FUNCTIONS = (types.FunctionType, type)
_ATOMS = (int, float, complex, bool, str, bytes, types.NoneType, types.EllipsisType)


class References:
    """Looks for some objects inside values, each value on its own as in a message of one task.

    Method: pickle into nowhere; the pickler asks ``persistent_id`` for each object it meets. An
    object looked for is not opened, a function once for all tasks, and of a task only arguments
    that are neither.

    Parameters
    ----------
    targets
        The objects; kept alive by the caller.
    kind
        The pickler that the graph needs.
    """

    def __init__(self, targets: Sequence[object], kind: PicklerKind) -> None:
        self._kind = kind
        self._inside = {id(target): frozenset((i,)) for i, target in enumerate(targets)}
        self._inside[id(object)] = _NOTHING
        self._kept: list[object] = []
        self._sink = Sink()
        self._seen: set[int] = set()
        self._uses = 0
        self._reducers = node_reducers()
        self._atoms = {*_ATOMS, *_references()}
        self._new_pickler = _looking(kind, self._inside, self._function, self._seen)
        self._pickler: Any = None

    def inside(self, value: object) -> frozenset[int]:
        """Return the indices of the objects that a value holds."""
        if id(value) in self._inside:
            return self._inside[id(value)]
        self._seen.clear()
        unknown = [part for part in self._parts(value) if not self._is_known(part)]
        if unknown:
            self._open(unknown)
        return frozenset(self._seen) if self._seen else _NOTHING

    def _parts(self, value: Any) -> Sequence[object]:  # noqa: ANN401  (a task or not)
        reducer = self._reducers.get(type(value))
        if reducer is not None:
            return reducer(value)[1]  # type: ignore[no-any-return]  # a tuple
        return value if type(value) is tuple else (value,)

    def _is_known(self, part: object) -> bool:
        found = self._inside.get(id(part))
        if found is None:
            if not callable(part):
                return type(part) in self._atoms
            found = self._function(part)
        self._seen.update(found)
        return True

    def _open(self, values: Sequence[object]) -> None:
        if self._uses % _TASKS_OF_A_PICKLER == 0:
            self._pickler = self._new_pickler(self._sink)
        self._uses += 1
        with suppress(Exception):  # it was pickled before; what changed meanwhile holds nothing
            self._pickler.dump(values)
        self._pickler.clear_memo()
        self._sink.written.clear()
        self._sink.buffers.clear()

    def _function(self, value: object) -> frozenset[int]:
        """Open what is called with a pickler of its own, once for all tasks."""
        self._kept.append(value)
        self._inside[id(value)] = _NOTHING
        is_by_name = self._kind.name != "cloudpickle" or _is_named(value)
        if not (is_by_name and isinstance(value, _FUNCTIONS)):
            seen = set[int]()
            new = _looking(self._kind, self._inside, self._function, seen, first=value)
            with suppress(Exception):  # as above
                new(Sink()).dump(value)
            self._inside[id(value)] = frozenset(seen)
        return self._inside[id(value)]


def _looking(
    kind: PicklerKind,
    inside: dict[int, frozenset[int]],
    function: Callable[[object], frozenset[int]],
    seen: set[int],
    *,
    first: object = None,
) -> Callable[[Sink], Any]:
    """Return what makes picklers that note in ``seen`` what they meet of what is known."""

    class Looking(kind.base):  # type: ignore[misc,name-defined]  # one of three at run time
        dispatch_table = kind.table()

        def persistent_id(self, value: object) -> str | None:
            found = inside.get(id(value))
            if found is None:
                if not isinstance(value, _FUNCTIONS):
                    return None
                found = function(value)
            elif value is first:
                return None
            if found:
                seen.update(found)
            return ""

    return lambda sink: Looking(sink, protocol=5, buffer_callback=sink.hand_over)


def _references() -> list[type]:
    """Return the classes of references to other tasks, which hold nothing."""
    spec = sys.modules.get("dask._task_spec")
    kinds = (getattr(spec, name, None) for name in ("TaskRef", "Alias"))
    return [kind for kind in kinds if kind is not None]


def _is_named(value: Any) -> bool:  # noqa: ANN401  (a function or a class)
    """Tell whether a function or class travels by name: found again, and not in ``__main__``."""
    if not isinstance(value, _FUNCTIONS):
        return False
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    if module is None or module.__name__ == "__main__":
        return False
    found: object = module
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value
