"""The large objects inside a value: the innermost ones, with the bytes of their pickle."""

from __future__ import annotations

import pickle
import sys
import time
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from jupyter_serprof.objects.ask import (
    attribute,
    bases_of,
    is_a,
    is_exactly,
    kind_module,
    kind_name,
    qualified_name,
)
from jupyter_serprof.objects.picklers import OutOfTime
from jupyter_serprof.probes.dask.graph.picklers import (
    KeptWrites,
    PicklerKind,
    node_reducers,
    size_of,
)

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
    dtype = attribute(attribute(value, "dtype"), "name")
    shape = _shape(value)
    return " ".join(part for part in (name, dtype if isinstance(dtype, str) else "", shape) if part)


def _container_name(value: object) -> str:
    """Return ``list`` for Dask's node of a list; empty for what is no such node."""
    kind = getattr(sys.modules.get("dask._task_spec"), "NestedContainer", None)
    own = type(value)
    return kind_name(own).lower() if any(base is kind for base in bases_of(own)) else ""


def _shape(value: object) -> str:
    shape = attribute(value, "shape")
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
        self._sink = KeptWrites()
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
                new(KeptWrites()).dump(value)
            self._inside[id(value)] = frozenset(seen)
        return self._inside[id(value)]


def _looking(
    kind: PicklerKind,
    inside: dict[int, frozenset[int]],
    function: Callable[[object], frozenset[int]],
    seen: set[int],
    *,
    first: object = None,
) -> Callable[[KeptWrites], Any]:
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
