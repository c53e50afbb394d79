"""cloudpickle's pickler for many dumps with one memo: it keeps nothing, counts, and can forgive.

Of each dump the envelope is taken off: PROTO (2 bytes), the header of each FRAME (9), STOP (1).
"""

from __future__ import annotations

import io
import math
import pickle
import sys
import time
import types
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import accumulate
from operator import or_
from typing import Any, ClassVar

from jupyter_serprof.capture.machine import Buffer
from jupyter_serprof.objects import ask
from jupyter_serprof.objects.ask import is_a, is_known, kind_module

#: The C pickler hands payloads of at least this size to ``write`` on their own, without a copy.
_OWN_WRITE_BYTES = 64 * 1024
_FRAME, _FRAME_BYTES = 0x95, 9
_ENVELOPE_BYTES, _HEAD = 2 + 1, b"\x80"
_LOOKS = 256
#: A memo of this allocated size is read in well under a millisecond. Entries take 16 bytes.
_SMALL_MEMO_BYTES = 16 * 8192
_PARTS_OF_RV = range(2, 7)


class OutOfTime(BaseException):  # reducers of users catch Exception
    """The time budget has ended."""


class CountingFile:
    """A file that counts bytes and the headers of frames, and looks at the clock.

    It keeps nothing, or what is written where a plain dumps of cloudpickle keeps it. ``large`` has
    the sizes of writes of at least 64 KiB, which reach it without a copy.
    """

    def __init__(self, deadline: float = math.inf, *, keeps: bool = False) -> None:
        self.deadline = deadline
        self._kept = io.BytesIO() if keeps else None
        self.size_bytes = 0
        self.frames = 0
        self.large: list[int] = []
        self.buffer_bytes = 0
        self.buffers = 0

    def write(self, data: Any) -> int:  # noqa: ANN401  (bytes or a PickleBuffer)
        """Count what is written: a frame, or a payload of at least 64 KiB."""
        if self._kept is not None:
            self._kept.write(data)
        if type(data) is bytes:
            size = len(data)
            self.frames += _has_frame(data, size)
        else:
            size = memoryview(data).nbytes
        self.size_bytes += size
        if size >= _OWN_WRITE_BYTES:
            self.large.append(size)
        self.look()
        return size

    def look(self) -> None:
        """Raise `OutOfTime` after the deadline."""
        if time.monotonic() > self.deadline:
            raise OutOfTime

    def take(self, buffer: pickle.PickleBuffer) -> bool:
        """Count a buffer that goes out-of-band."""
        self.buffer_bytes += buffer.raw().nbytes
        self.buffers += 1
        return False


def flat(data: Any) -> memoryview:  # noqa: ANN401  (anything with a buffer)
    """Return the bytes of a buffer as one view."""
    return data.raw() if isinstance(data, pickle.PickleBuffer) else memoryview(data).cast("B")


def _has_frame(data: bytes, size: int) -> bool:
    at = 2 if data[:1] == _HEAD else 0
    if size < at + _FRAME_BYTES or data[at] != _FRAME:
        return False
    return int.from_bytes(data[at + 1 : at + _FRAME_BYTES], "little") <= size - at - _FRAME_BYTES


def _nothing() -> None:
    """Stand for the reducer of what cannot be pickled."""


class Counter:
    """A pickler and its sink.

    ``forgives``: True to write a placeholder for what cannot be pickled and go on; the objects and
        their errors are in `holes`, by id. Every reducer is then called through Python.
    ``takes_buffers``: False to write buffers in-band.
    ``keeps``: True to copy into memory all that is written, as a plain dumps does.
    """

    def __init__(
        self,
        deadline: float,
        *,
        forgives: bool = False,
        takes_buffers: bool = True,
        keeps: bool = False,
        globals_ref: dict[int, Any] | None = None,
    ) -> None:
        self.sink = CountingFile(deadline, keeps=keeps)
        self.holes: dict[int, tuple[object, BaseException]] = {}
        self.met: list[int] = []
        callback = self.sink.take if takes_buffers else None
        kind = _kinds()[forgives]
        self.pickler = kind(self, protocol=5, buffer_callback=callback)
        if globals_ref is not None:
            self.pickler.globals_ref = globals_ref
        # The dump of C: that of cloudpickle only words an error differently.
        self._dump: Callable[[object], None] = pickle.Pickler.dump.__get__(self.pickler, kind)

    def add(self, value: object) -> int:
        """Return the in-band bytes that an object adds to one pickle, without envelope."""
        sink = self.sink
        written, frames = sink.size_bytes, sink.frames
        self._dump(value)
        written, frames = sink.size_bytes - written, sink.frames - frames
        return written - _ENVELOPE_BYTES - _FRAME_BYTES * frames

    def whole(self, value: object) -> int:
        """Return the length of one pickle, envelope included."""
        self._dump(value)
        return self.sink.size_bytes

    @property
    def envelope_bytes(self) -> int:
        """What one pickle has besides its parts: PROTO, the headers of its frames, STOP."""
        return _ENVELOPE_BYTES + _FRAME_BYTES * self.sink.frames

    @property
    def has_small_memo(self) -> bool:
        """Tell whether reading the memo takes next to no time."""
        return sys.getsizeof(self.pickler) < _SMALL_MEMO_BYTES + _BUFFER_BYTES

    def reduce(self, value: Any) -> Any:  # noqa: ANN401  (pickle's protocol)
        """Return what the pickler would ask the object for; never for exact containers.

        Raises ``Exception``: Whatever the reducer raises; `pickle.PicklingError` for nonsense.
        """
        found = self.pickler.by_value(value)
        if found is NotImplemented:
            reducer = self.pickler.dispatch_table.get(type(value))
            if isinstance(value, types.FunctionType | type):
                found = value.__qualname__
            elif reducer is not None:
                found = reducer(value)
            else:
                found = value.__reduce_ex__(self.pickler.proto)
        _check(value, found)
        return found

    def forgive(self, value: object, error: BaseException) -> tuple[Any, tuple[()]]:
        """Note a hole and return a placeholder."""
        self.holes.setdefault(id(value), (value, error))
        self.met.append(id(value))
        return _nothing, ()


#: What `sys.getsizeof` of a pickler has besides its memo: the buffer of a frame, and itself.
_BUFFER_BYTES = 300_000


def _check(value: object, found: Any) -> None:  # noqa: ANN401  (whatever a reducer returned)
    name = type(value).__name__
    problem = ""
    if isinstance(found, str):
        pickle.Pickler(CountingFile()).dump(value)
        return
    if type(found) is not tuple:
        problem = f"__reduce__ of {name} must return a string or tuple"
    elif len(found) not in _PARTS_OF_RV:
        problem = f"the tuple that __reduce__ of {name} returned has {len(found)} elements"
    elif not callable(found[0]):
        problem = f"the first element of __reduce__ of {name} must be callable"
    elif type(found[1]) is not tuple:
        problem = f"the second element of __reduce__ of {name} must be a tuple"
    elif any(part is not None and not hasattr(part, "__next__") for part in found[3:5]):
        problem = f"the fourth and fifth element of __reduce__ of {name} must be iterators"
    if problem:
        raise pickle.PicklingError(problem)


def _flat_table() -> dict[Any, Any]:
    """Return the reducers of now: a look-up in the ChainMap takes as long as a small object."""
    import cloudpickle

    # Item by item a ChainMap takes a hundred times longer: 1.4 ms of 593 reducers.
    return reduce(or_, reversed(cloudpickle.Pickler.dispatch_table.maps), {})


def by_value_pickler() -> Any:  # noqa: ANN401  (a class)
    """Return cloudpickle's pickler, which takes functions and classes by value: flat."""
    import cloudpickle

    class ByValue(cloudpickle.Pickler):  # type: ignore[misc]  # it ships no types
        dispatch_table: ClassVar = _flat_table()

        def by_value(self, value: object) -> Any:  # noqa: ANN401  (pickle's protocol)
            """Reduce functions and classes as cloudpickle does."""
            return super().reducer_override(value)

        def reducer_override(self, value: object) -> Any:  # noqa: ANN401  (pickle's protocol)
            if isinstance(value, types.FunctionType | type):
                return super().reducer_override(value)
            return NotImplemented

    return ByValue


#: Their reducers are known; those of other classes are code of the user.
_TRUSTED = sys.stdlib_module_names | {"dask", "distributed", "cloudpickle", "toolz"}


def _contents(value: Any) -> object:  # noqa: ANN401  (anything)
    """Return what a list, tuple or dict of a class of the user holds, by Python's own ways."""
    if is_a(value, dict):
        return dict.copy(value)
    kind = next((kind for kind in (list, tuple) if is_a(value, kind)), None)
    return list(kind.__iter__(value)) if kind else None


def careful(base: Any) -> Any:  # noqa: ANN401  (a class of picklers)
    """Return a pickler that runs no reducer of the user: of plain objects it takes attributes."""
    above = getattr(base, "reducer_override", lambda *_: NotImplemented)

    class Careful(base):  # type: ignore[misc]  # chosen at run time
        def reducer_override(self, value: object) -> Any:  # noqa: ANN401  (pickle's protocol)
            kind = type(value)
            is_trusted = kind_module(kind).partition(".")[0] in _TRUSTED or is_known(value)
            if is_trusted or issubclass(kind, types.FunctionType | type):
                return above(self, value)
            if not ask.is_plain(kind):  # code decides
                return object, ()
            return object, (kind, ask.state_of(value), ask.slots_of(value), _contents(value))

    return Careful


@cache
def _kinds() -> tuple[Any, Any]:
    """Return two classes (cloudpickle ships no types): a plain pickler, and one that forgives."""
    base = by_value_pickler()

    class Counting(base):  # type: ignore[misc,valid-type]  # made at run time
        def __init__(self, owner: Counter, **options: Any) -> None:  # noqa: ANN401
            self.owner = owner
            self.looks = 0
            self.dispatch_table = _flat_table()
            super().__init__(owner.sink, **options)

        def reducer_override(self, value: object) -> Any:  # noqa: ANN401  (pickle's protocol)
            self.looks += 1
            if self.looks % _LOOKS == 0:
                self.owner.sink.look()
            if isinstance(value, types.FunctionType | type):
                return self.by_value(value)
            return NotImplemented

    class Forgiving(Counting):
        def reducer_override(self, value: object) -> Any:  # noqa: ANN401  (pickle's protocol)
            self.owner.sink.look()
            if value is _nothing:
                return NotImplemented
            try:
                found = self.owner.reduce(value)
            except RecursionError:
                raise
            except Exception as error:  # noqa: BLE001  (reducers raise anything)
                return self.owner.forgive(value, error)
            is_global = isinstance(found, str) and isinstance(value, types.FunctionType | type)
            return NotImplemented if is_global else found

    return Counting, Forgiving


#: What a pickle says of a class and its attributes, and of each buffer, is not what it moves.
_NAMES_BYTES, _SHAPE_BYTES = 1024, 256
#: To look at what a value holds is no measurement: it may not take long.
_LOOK_S = 0.5


def buffer_places(value: object, *, hands_over: bool) -> tuple[tuple[int, str], ...]:
    """Return (size in bytes, ``in-band`` or ``out-of-band``) of the largest payloads of a value.

    ``hands_over``: True if the transport takes buffers out-of-band.

    Runs the pickler once into a sink that keeps nothing, so large arrays cost no copy. Payloads up
    to 128 KiB inside the pickle are not listed: many small objects reach the sink in frames of
    about 64 KiB, which are not buffers. Of what takes too long or is refused there are none.
    """
    try:
        sink, beside = _pickled(value, hands_over=hands_over)
    except (Exception, OutOfTime):  # noqa: BLE001  (reducers of the user's classes)
        return ()
    found = [(size, "in-band") for size in sink.large if size > 2 * _OWN_WRITE_BYTES]
    found += [(memoryview(buffer).nbytes, "out-of-band") for buffer in beside]
    return tuple(sorted(found, key=lambda entry: -entry[0])[:50])


def _pickled(
    value: object, *, hands_over: bool = True
) -> tuple[CountingFile, list[pickle.PickleBuffer]]:
    import cloudpickle

    sink, beside = CountingFile(time.monotonic() + _LOOK_S), list[pickle.PickleBuffer]()
    callback = beside.append if hands_over else None
    cloudpickle.Pickler(sink, protocol=5, buffer_callback=callback).dump(value)
    return sink, beside


@dataclass(frozen=True, slots=True)
class Held:
    """The memory that a value holds, of whatever class: the buffers that protocol 5 takes of it.

    ``buffers``: (address, bytes) of each; empty ones do not count.
    ``total_bytes``: Those, and what is pickled beside them but names and shapes.
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
    """Return what memory two values hold at the same time; None if that was not found out."""
    # Without buffers in the first the second is not opened, which holds nothing of it.
    try:
        written, beside = _pickled(before)
        if not beside:
            return (held := _held(written, ())), held
        # Both are held until the end: what a reducer made for one must not lie where another's was.
        again, other = _pickled(after)
        return _held(written, beside), _held(again, other)
    except (Exception, OutOfTime):  # noqa: BLE001  (reducers of the user's classes)
        return None


def _held(sink: CountingFile, beside: Sequence[pickle.PickleBuffer]) -> Held:
    buffers = tuple(_place(buffer) for buffer in beside if memoryview(buffer).nbytes)
    inside = max(0, sink.size_bytes - _NAMES_BYTES - _SHAPE_BYTES * len(buffers))
    return Held(buffers, inside + sum(size for _, size in buffers))


def _place(buffer: pickle.PickleBuffer) -> Buffer:
    import numpy as np

    return np.frombuffer(buffer.raw(), "u1").ctypes.data, memoryview(buffer).nbytes
