"""What the passes of a stage split pickle with: into nowhere, into a known block, watched."""

from __future__ import annotations

import copyreg
import pickle
import time
import types
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.objects.picklers import CountingFile

PROTOCOL = 5
#: A block has room for a pickle that has grown a little since its size was taken.
_ROOM_SHARE, _ROOM_BYTES = 0.1, 4_096


class TooLongError(Exception):
    """A pass writes far more than the pickle has."""


class Block:
    """A file in one block of memory, which is used again and again; its pages are touched."""

    def __init__(self, size_bytes: int) -> None:
        room = _ROOM_BYTES + int(_ROOM_SHARE * size_bytes)
        self._view = memoryview(bytearray(size_bytes + room))
        self._at = 0

    def rewind(self) -> None:
        """Begin at the front again."""
        self._at = 0

    def write(self, data: Any) -> int:  # noqa: ANN401  (bytes or a PickleBuffer)
        """Copy; raises `TooLongError` for a pickle that has grown beyond the block."""
        view = flat(data)
        end = self._at + view.nbytes
        if end > self._view.nbytes:
            raise TooLongError
        self._view[self._at : end] = view
        self._at = end
        return view.nbytes

    def written(self) -> bytes:
        """Return a copy of what was written since the last `rewind`."""
        return bytes(self._view[: self._at])


def flat(data: Any) -> memoryview:  # noqa: ANN401  (anything with a buffer)
    """Return the bytes of a buffer as one view."""
    return data.raw() if isinstance(data, pickle.PickleBuffer) else memoryview(data).cast("B")


def watching(base: Any) -> Any:  # noqa: ANN401  (a class of picklers)
    """Return a pickler that adds up the time inside reducers, in ``spent_ns``.

    ``has_own_ways`` tells that it took a reducer that pickle does not have, as for classes and
    functions that are written by value.
    """
    above = getattr(base, "reducer_override", None)
    now, known_to_pickle = time.perf_counter_ns, copyreg.dispatch_table
    # Of pickle itself the attribute is a slot for those of an instance.
    by_type = known_to_pickle if base is pickle.Pickler else base.dispatch_table

    class Watching(base):  # type: ignore[misc]  # chosen at run time
        spent_ns = 0
        has_own_ways = False

        def reducer_override(self, value: Any) -> Any:  # noqa: ANN401
            start = now()
            try:
                return self._reduced(value)
            finally:
                self.spent_ns += now() - start

        def _reduced(self, value: Any) -> Any:  # noqa: ANN401
            known = above(self, value) if above is not None else NotImplemented
            if known is not NotImplemented:
                self.has_own_ways = True
                return known
            own = type(value)
            if issubclass(own, type | types.FunctionType):
                return NotImplemented
            reduce = by_type.get(own)
            if reduce is None:
                return value.__reduce_ex__(PROTOCOL)
            self.has_own_ways = self.has_own_ways or own not in known_to_pickle
            return reduce(value)

    return Watching


@dataclass(frozen=True, slots=True)
class Watched:
    """What one watched pass into nowhere found out.

    ``size_bytes`` is the pickle without its large buffers, ``large_bytes`` those.
    """

    duration_ns: int
    spent_ns: int
    size_bytes: int
    large_bytes: int
    has_own_ways: bool


def watch(value: object, base: Any) -> Watched:  # noqa: ANN401  (a class of picklers)
    """Pickle once into nowhere, watched; raises what the pickler raises."""
    sink = CountingFile()
    pickler = watching(base)(sink, protocol=PROTOCOL, buffer_callback=sink.take)
    start = time.perf_counter_ns()
    pickler.dump(value)
    duration_ns = time.perf_counter_ns() - start
    return Watched(
        duration_ns, pickler.spent_ns, sink.size_bytes, sink.buffer_bytes, pickler.has_own_ways
    )
