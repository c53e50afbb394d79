"""What this machine's memory can do: the speed of copying, measured once in a process.

Method: ``memmove`` through ctypes (one thread, as pickle copies) between blocks of 32 MiB; smaller
ones run faster out of a cache, and say less about data. First touch is the copy into a new block,
better of two; warm the best of the copies after it. About 100 ms. It is "memcpy on this machine", not
the bandwidth of its memory: a shared cache of the host may hold the blocks.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from functools import cache

from jupyter_serprof.model import Limits

_BLOCK_BYTES = 32 * 2**20
_NEW_BLOCKS = 2
_WARM_COPIES = 4


@cache
def measure_limits() -> Limits:
    """Return the memory limits of this machine (bytes per second), measured at the first call."""
    with _block() as source:
        _touch(source)
        rounds = [_round_ns(source) for _ in range(_NEW_BLOCKS)]
    first_ns = min(first for first, _ in rounds)
    warm_ns = min(warm for _, warm in rounds)
    return Limits(_BLOCK_BYTES / warm_ns * 1e9, _BLOCK_BYTES / first_ns * 1e9)


def _block() -> mmap.mmap:
    block = mmap.mmap(-1, _BLOCK_BYTES)
    # Small pages, as the object store and most buffers of pickle have: no transparent huge pages.
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        block.madvise(mmap.MADV_NOHUGEPAGE)
    return block


def _round_ns(source: mmap.mmap) -> tuple[int, int]:
    """Return the time of the first copy into a new block, and the best of the later ones."""
    with _block() as target:
        return _copy_ns(source, target), min(_copy_ns(source, target) for _ in range(_WARM_COPIES))


def _touch(block: mmap.mmap) -> None:
    for position in range(0, _BLOCK_BYTES, mmap.PAGESIZE):
        block[position] = 1


def _copy_ns(source: mmap.mmap, target: mmap.mmap) -> int:
    to_address = ctypes.addressof(view := ctypes.c_char.from_buffer(target))
    from_address = ctypes.addressof(other := ctypes.c_char.from_buffer(source))
    start = time.perf_counter_ns()
    ctypes.memmove(to_address, from_address, _BLOCK_BYTES)
    duration = time.perf_counter_ns() - start
    del view, other  # they keep the blocks from being closed
    return duration
