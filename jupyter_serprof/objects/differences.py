"""What a round trip changed, in words; and a witness of the bytes that were there before it.

A result that aliases the value is equal to it whatever happened to both. So a part of the bytes is
remembered before the value travels, and the value is held against that afterwards.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

_LEAVES = 16
#: Of each buffer so many blocks of so many bytes are remembered: 4 MB, a millisecond.
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
    """Say in words what came back otherwise: type, dtype, order in memory, writeability.

    Values are compared by `same_value`. Elements of containers are named by their kind, up to the
    first 16, each difference once.
    """
    try:
        return list(dict.fromkeys(_differences(before, after)))
    except Exception:  # noqa: BLE001  (attributes of the user's own classes)
        return []


def _differences(before: Any, after: Any) -> Iterator[str]:  # noqa: ANN401
    if type(before) is not type(after):
        yield f"a {type(before).__name__} comes back as {type(after).__name__}"
    elif _is_of(before, "numpy", "ndarray"):
        yield from _array_differences(before, after)
    elif _is_of(before, "pandas", "DataFrame"):
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


def _is_of(value: object, library: str, name: str) -> bool:
    """Tell whether a value is of a class of a library that may not be imported."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


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
        if _is_of(buffer, "numpy", "ndarray"):
            yield from _array_blocks(buffer)
        else:
            view = memoryview(buffer).cast("B")
            for start in _starts(len(view), _BLOCK_BYTES):
                yield bytes(view[start : start + _BLOCK_BYTES])


def _buffers(leaf: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield what holds the bytes of a leaf: arrays and objects of the buffer protocol."""
    if isinstance(leaf, bytes | bytearray | memoryview) or _is_of(leaf, "numpy", "ndarray"):
        yield leaf
    elif _is_of(leaf, "pandas", "DataFrame") or _is_of(leaf, "pandas", "Series"):
        for block in leaf._mgr.blocks:  # noqa: SLF001  (its public values are copies)
            yield from _buffers(getattr(block.values, "_pa_array", block.values))
    elif _is_of(leaf, "pyarrow", "Table"):
        for column in leaf.columns:
            yield from _buffers(column)
    elif _is_of(leaf, "pyarrow", "ChunkedArray"):
        for chunk in leaf.chunks:
            yield from _buffers(chunk)
    elif _is_of(leaf, "pyarrow", "Array"):
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
    """Return where blocks begin: all of them, or so many spread from the start to the end."""
    count = -(-length // step)
    return range(0, length, step * -(-count // _BLOCKS) if count > _BLOCKS else step)
