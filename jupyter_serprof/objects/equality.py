"""Did the value survive its round trip? Compared by parts, without copies of large arrays.

Also what came back otherwise, in words, and a witness of the bytes that were there before it: a
result that aliases the value is equal to it whatever happened to both.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

from jupyter_serprof.objects.ask import is_array, is_of, kind_module

_PART, _ELEMENTS = 2**18, 100_000
_DEPTH = 8
#: Floats, complex numbers, dates and spans of time: their "not a number" is not equal to itself.
_WITH_NAN = "fcmM"
#: Their ``equals`` takes missing values for equal.
_FRAMES = ("pandas", "polars")


def same_value(before: object, after: object) -> bool | None:
    """Tell whether two values are equal; None if that cannot be told."""
    # Arrays are compared in parts that the cache holds, NaN equal to NaN; of containers and arrays
    # of objects 100,000 elements in all. An object whose class does not define equality cannot be
    # told, nor can one whose ``__eq__`` raises.
    try:
        return _SameValue().same(before, after, _DEPTH)
    except Exception:  # noqa: BLE001  (comparing runs the user's own __eq__)
        return None


class _SameValue:
    """One comparison, with the number of elements that it may still look at."""

    def __init__(self) -> None:
        self.left = _ELEMENTS

    def same(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401, PLR0911  (a kind each)
        library = kind_module(type(before)).partition(".")[0] if type(before) is type(after) else ""
        if is_array(before) and is_array(after):
            return self._same_array(before, after, depth)
        if library == "pyarrow" and hasattr(before, "equals"):
            return _same_arrow(before, after)
        if library in _FRAMES and hasattr(before, "equals"):
            return bool(before.equals(after))
        if isinstance(before, Mapping) and isinstance(after, Mapping) and depth > 0:
            return self._same_mapping(before, after, depth)
        if isinstance(before, list | tuple) and isinstance(after, list | tuple) and depth > 0:
            return len(before) == len(after) and self._all_same(zip(before, after), depth)  # noqa: B905
        if is_dataclass(before) and type(before) is type(after) and depth > 0:
            return self._same_fields(before, after, depth)
        return _equal(before, after)

    def _all_same(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> bool | None:
        verdict: bool | None = True
        for before, after in pairs:
            if self.left <= 0:
                return verdict
            self.left -= 1
            same = self.same(before, after, depth - 1)
            if same is False:
                return False
            verdict = None if same is None else verdict
        return verdict

    def _same_mapping(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
        if len(before) != len(after):
            return False
        if len(before) <= self.left and before.keys() == after.keys():
            return self._all_same(((before[key], after[key]) for key in before), depth)
        # Pickle keeps the order; keys like NaN or plain objects are not found by value.
        return self._all_same(zip(before.items(), after.items()), depth)  # noqa: B905

    def _same_fields(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
        if _equal(before, after):
            return True
        # Its generated __eq__ raises for arrays and takes NaN for a difference.
        names = [field.name for field in fields(before) if field.compare]
        pairs = ((getattr(before, name), getattr(after, name)) for name in names)
        return self._all_same(pairs, depth)

    def _same_array(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        if before.dtype.hasobject and not before.dtype.names:
            return self._all_same(zip(before.flat, after.flat), depth)  # noqa: B905
        if before.dtype.names:
            columns = ((before[name], after[name]) for name in before.dtype.names)
            return self._all_same(columns, depth)
        return _same_numbers(before, after)


def _equal(before: Any, after: Any) -> bool | None:  # noqa: ANN401
    """Ask the values; one without equality, or whose ``__eq__`` raises, cannot tell."""
    if before is after:
        return True
    defined: object = type(before).__eq__
    if defined is object.__eq__:
        return None
    try:
        if bool(before == after) or bool(before != before and after != after):  # noqa: PLR0124  (NaN)
            return True
    except Exception:  # noqa: BLE001  (the user's own __eq__)
        return None
    is_container = isinstance(before, Mapping | list | tuple | AbstractSet)
    return None if is_container and len(before) == len(after) else False


def _same_arrow(before: Any, after: Any) -> bool | None:  # noqa: ANN401
    """Compare Arrow data, for which NaN differs from itself: what differs may be only that."""
    if before.equals(after):
        return True
    one, other = (getattr(x, "schema", None) or getattr(x, "type", None) for x in (before, after))
    return None if one == other and len(before) == len(after) else False


def _same_numbers(before: Any, after: Any) -> bool:  # noqa: ANN401
    if before.__array_interface__ == after.__array_interface__:  # the same memory
        return True
    if before.ndim == 0 or before.size <= _PART:
        return _same_part(before, after)
    rows = max(1, _PART // max(1, before.size // before.shape[0]))
    starts = range(0, before.shape[0], rows)
    if rows == 1:
        return all(_same_numbers(before[i], after[i]) for i in starts)
    return all(_same_part(before[i : i + rows], after[i : i + rows]) for i in starts)


def _same_part(before: Any, after: Any) -> bool:  # noqa: ANN401
    import numpy as np

    # To look for NaN takes ten times as long: only where there may be one.
    is_same, can_be_nan = np.array_equal(before, after), before.dtype.kind in _WITH_NAN
    return is_same or (can_be_nan and np.array_equal(before, after, equal_nan=True))


#: Elements of a container that are named, or remembered.
_LEAVES = 16
#: Number and bytes of the blocks of a buffer that are remembered: 4 MB, a millisecond.
_BLOCKS, _BLOCK_BYTES = 64, 65_536
_NAMED = 3


class Witness:
    """Remembers what the buffers of a value held: at most 64 blocks of 64 kB of each, spread out.

    Arrays, bytes, frames and Arrow data are seen, at the top or as one of the first 16 elements of
    a list, tuple or dict; other values cannot be aliased by a result and have no buffers here.
    """

    def __init__(self, value: object) -> None:
        self._sums = _sums(value)

    def is_unchanged(self, value: object) -> bool:
        """Tell whether the same bytes are still there."""
        return _sums(value) == self._sums


def differences(before: object, after: object) -> list[str]:
    """Say in words what came back otherwise: type, dtype, order in memory, writeability."""
    # Values are compared by `same_value`. Elements of containers are named by their kind, up to the
    # first 16, each difference once.
    try:
        return list(dict.fromkeys(_differences(before, after)))
    except Exception:  # noqa: BLE001  (attributes of the user's own classes)
        return []


def _differences(before: Any, after: Any) -> Iterator[str]:  # noqa: ANN401
    if type(before) is not type(after):
        yield f"a {type(before).__name__} comes back as {type(after).__name__}"
    elif is_array(before):
        yield from _array_differences(before, after)
    elif is_of(before, "pandas", "DataFrame"):
        yield from _frame_differences(before, after)
    elif isinstance(before, list | tuple | dict):
        pairs = zip(_parts(before), _parts(after), strict=False)
        for said in dict.fromkeys(s for pair in pairs for s in _differences(*pair)):
            yield said if said.startswith("in it: ") else f"in it: {said}"


def _array_differences(before: Any, after: Any) -> Iterator[str]:  # noqa: ANN401
    if before.dtype != after.dtype:
        yield f"{before.dtype} comes back as {after.dtype}"
    if before.shape != after.shape:
        yield f"the shape {before.shape} comes back as {after.shape}"
    elif _order(before) != _order(after):
        yield f"a {_order(before)} array comes back {_order(after)}"
    if before.flags.writeable != after.flags.writeable:
        yield "comes back writeable" if after.flags.writeable else "comes back read-only"


def _order(array: Any) -> str:  # noqa: ANN401
    """Name the order in memory; one that is both C and Fortran is C."""
    if array.flags.c_contiguous:
        return "C-contiguous"
    return "Fortran-contiguous" if array.flags.f_contiguous else "strided"


def _frame_differences(before: Any, after: Any) -> Iterator[str]:  # noqa: ANN401
    if len(before.columns) != len(after.columns):
        return
    changed = [
        f"column {at}: {old} comes back as {new}"
        for at, (old, new) in enumerate(zip(before.dtypes, after.dtypes, strict=True))
        if old != new
    ]
    yield from changed[:_NAMED]
    if changed[_NAMED:]:
        yield f"{len(changed) - _NAMED} more columns come back with another dtype"
    if type(before.index) is not type(after.index):
        kinds = type(before.index).__name__, type(after.index).__name__
        yield f"its {kinds[0]} comes back as {kinds[1]}"
    if _is_writeable(before) and not _is_writeable(after):
        yield "comes back read-only"


def _is_writeable(frame: Any) -> bool:  # noqa: ANN401
    """Tell whether all columns that numpy holds may be written to; blocks of Arrow never may."""
    flags = (getattr(block.values, "flags", None) for block in frame._mgr.blocks)  # noqa: SLF001
    return all(flag.writeable for flag in flags if flag is not None)


def _parts(value: Any) -> Iterable[Any]:  # noqa: ANN401  (a list, tuple or dict)
    return islice(value.values() if isinstance(value, Mapping) else value, _LEAVES)


def _sums(value: object) -> tuple[int, ...]:
    """Return a checksum of each buffer; one that cannot be read has none."""
    leaves = _parts(value) if isinstance(value, list | tuple | dict) else [value]
    try:
        return tuple(zlib.crc32(block) for leaf in leaves for block in _blocks(leaf))
    except Exception:  # noqa: BLE001  (a buffer of the user's own class)
        return ()


def _blocks(leaf: Any) -> Iterator[bytes]:  # noqa: ANN401
    for buffer in islice(_buffers(leaf), _LEAVES):
        if is_array(buffer):
            yield from _array_blocks(buffer)
        else:
            view = memoryview(buffer).cast("B")
            for start in _starts(len(view), _BLOCK_BYTES):
                yield bytes(view[start : start + _BLOCK_BYTES])


def _buffers(leaf: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield what holds the bytes of a leaf: arrays and objects of the buffer protocol."""
    if isinstance(leaf, bytes | bytearray | memoryview) or is_array(leaf):
        yield leaf
    elif is_of(leaf, "pandas", "DataFrame", "Series"):
        for block in leaf._mgr.blocks:  # noqa: SLF001  (its public values are copies)
            yield from _buffers(getattr(block.values, "_pa_array", block.values))
    elif is_of(leaf, "pyarrow", "Table", "ChunkedArray"):
        for part in leaf.columns if is_of(leaf, "pyarrow", "Table") else leaf.chunks:
            yield from _buffers(part)
    elif is_of(leaf, "pyarrow", "Array"):
        yield from (buffer for buffer in leaf.buffers() if buffer is not None)


def _array_blocks(array: Any) -> Iterator[bytes]:  # noqa: ANN401
    """Yield parts of an array, copied: it need not be contiguous."""
    if array.dtype.hasobject:
        return
    if array.ndim == 0 or not array.size:
        yield array.tobytes()
        return
    rows = max(1, _BLOCK_BYTES // max(1, array.nbytes // array.shape[0]))
    for start in _starts(array.shape[0], rows):
        part = array[start : start + rows]
        # A row of its own may be as large as all of it.
        small = part if part.nbytes <= 2 * _BLOCK_BYTES else part.flat[: _BLOCK_BYTES // 8]
        yield small.tobytes()


def _starts(length: int, step: int) -> range:
    """Return where blocks begin: all of them, or some, spread from the start to the end."""
    count = -(-length // step)
    return range(0, length, step * -(-count // _BLOCKS) if count > _BLOCKS else step)
