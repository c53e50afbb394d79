"""What this machine's memory can do: the speed of copying, measured once in a process.

Method: ``memmove`` through ctypes (one thread, as pickle copies) between blocks of 32 MiB; smaller
ones run faster out of a cache, and say less about data. First touch is the copy into a new block,
by its best quarter; warm is the best of the copies after it. About 100 ms. It is "memcpy on this
machine", not the bandwidth of its memory: a shared cache of the host may hold the blocks.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from contextlib import suppress
from functools import cache

from jupyter_serprof.model import Limits

_BLOCK_BYTES = 32 * 2**20
_PARTS = 4
_WARM_COPIES = 6


@cache
def measure_limits() -> Limits:
    """Return the memory limits of this machine (bytes per second), measured at the first call.

    Unknown (None) where there is no memory to spare for it: 64 MiB for the time of the measurement.
    """
    try:
        return _measured()
    except (OSError, MemoryError):
        return Limits()


def _measured() -> Limits:
    with _block() as source, _block() as target:
        _touch(source)
        quarter = _BLOCK_BYTES // _PARTS
        first_ns = min(_copy_ns(source, target, i * quarter, quarter) for i in range(_PARTS))
        warm_ns = min(_copy_ns(source, target, 0, _BLOCK_BYTES) for _ in range(_WARM_COPIES))
    return Limits(_BLOCK_BYTES / warm_ns * 1e9, quarter / first_ns * 1e9)


def _block() -> mmap.mmap:
    block = mmap.mmap(-1, _BLOCK_BYTES)
    # Small pages, as the object store and most buffers of pickle have: no transparent huge pages.
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages knows no such advice
            block.madvise(mmap.MADV_NOHUGEPAGE)
    return block


def _touch(block: mmap.mmap) -> None:
    for position in range(0, _BLOCK_BYTES, mmap.PAGESIZE):
        block[position] = 1


def _copy_ns(source: mmap.mmap, target: mmap.mmap, offset: int, size_bytes: int) -> int:
    to_address = ctypes.addressof(view := ctypes.c_char.from_buffer(target)) + offset
    from_address = ctypes.addressof(other := ctypes.c_char.from_buffer(source)) + offset
    try:
        start = time.perf_counter_ns()
        ctypes.memmove(to_address, from_address, size_bytes)
        duration = time.perf_counter_ns() - start
    finally:
        del view, other  # they keep the blocks from being closed, also after Ctrl-C
    return duration
