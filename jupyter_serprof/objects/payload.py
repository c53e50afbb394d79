"""Which buffers of a value travel inside the pickle and which beside it; moves no bytes itself."""

from __future__ import annotations

import pickle
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from jupyter_serprof.capture.memory import Buffer

#: The C pickler hands payloads of at least this size to ``write`` on their own, without a copy.
_OWN_WRITE_BYTES = 64 * 1024
_LISTED = 50
#: What a pickle says of a class and its attributes, and of each buffer, is not what it moves.
_NAMES_BYTES, _SHAPE_BYTES = 1024, 256


class _Sink:
    """A file that keeps only how much was written, and the sizes of large writes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.total_bytes = 0

    def write(self, data: object) -> int:
        size = memoryview(data).nbytes  # type: ignore[arg-type]  # bytes or a PickleBuffer
        self.total_bytes += size
        if size >= _OWN_WRITE_BYTES:
            self.sizes.append(size)
        return size


def buffer_places(value: object, *, hands_over: bool) -> tuple[tuple[int, str], ...]:
    """Return (size in bytes, ``in-band`` or ``out-of-band``) of the largest payloads of a value.

    Parameters
    ----------
    value
        What is sent; must be picklable by cloudpickle.
    hands_over
        True if the transport takes buffers out-of-band.

    Notes
    -----
    Runs the pickler once into a sink that keeps nothing, so large arrays cost no copy. Payloads up
    to 128 KiB inside the pickle are not listed: many small objects reach the sink in frames of
    about 64 KiB, which are not buffers.
    """
    sink, beside = _pickled(value, hands_over=hands_over)
    inside = [size for size in sink.sizes if size > 2 * _OWN_WRITE_BYTES]
    found = [(size, "in-band") for size in inside]
    found += [(memoryview(buffer).nbytes, "out-of-band") for buffer in beside]
    return tuple(sorted(found, key=lambda entry: -entry[0])[:_LISTED])


def _pickled(value: object, *, hands_over: bool = True) -> tuple[_Sink, list[pickle.PickleBuffer]]:
    """Return what was written of a value, and the buffers that stayed beside it."""
    import cloudpickle

    sink, beside = _Sink(), list[pickle.PickleBuffer]()
    callback = beside.append if hands_over else None
    cloudpickle.Pickler(sink, protocol=5, buffer_callback=callback).dump(value)
    return sink, beside


@dataclass(frozen=True, slots=True)
class Held:
    """The memory that a value holds, of whatever class: the buffers that protocol 5 takes of it.

    Attributes
    ----------
    buffers
        (address, bytes) of each; empty ones do not count.
    total_bytes
        Those, and what is pickled beside them but names and shapes.
    """

    buffers: tuple[Buffer, ...]
    total_bytes: int

    def shared_bytes(self, other: Held) -> int:
        """Return how many bytes, from the beginning of each buffer, lie in those of another."""
        ranges = sorted((start, start + size) for start, size in other.buffers)
        # The end of all that begins at or below a start: ranges may lie within each other.
        ends = list(accumulate((end for _, end in ranges), max))
        return sum(
            max(0, min(start + size, ends[at - 1]) - start)
            for start, size in self.buffers
            if (at := bisect_right(ranges, (start, sys.maxsize)))
        )


def held_by_both(before: object, after: object) -> tuple[Held, Held] | None:
    """Return what memory two values hold at the same time; None if one cannot be pickled.

    Without buffers in the first nobody looks at the second, which holds nothing of it.
    """
    try:
        written, beside = _pickled(before)
        if not beside:
            return (held := _held(written, ())), held
        # Both are held until the end: what a reducer made for one must not lie where another's was.
        again, other = _pickled(after)
        return _held(written, beside), _held(again, other)
    except Exception:  # noqa: BLE001  (reducers of the user's classes)
        return None


def _held(sink: _Sink, beside: Sequence[pickle.PickleBuffer]) -> Held:
    buffers = tuple(_place(buffer) for buffer in beside if memoryview(buffer).nbytes)
    inside = max(0, sink.total_bytes - _NAMES_BYTES - _SHAPE_BYTES * len(buffers))
    return Held(buffers, inside + sum(size for _, size in buffers))


def _place(buffer: pickle.PickleBuffer) -> Buffer:
    import numpy as np

    return np.frombuffer(buffer.raw(), "u1").ctypes.data, memoryview(buffer).nbytes
