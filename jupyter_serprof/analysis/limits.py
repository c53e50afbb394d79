"""What this machine's memory can do: the speed of copying, measured once in a process.

Method: ``memmove`` through ctypes (one thread, as pickle copies) between two blocks of 32 MiB. First
touch is the first write into new pages; warm is the best of the copies after it. About 100 ms. The
blocks are larger than usual second-level caches, but this is "memcpy on this machine", not DRAM.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from functools import cache

from jupyter_serprof.model import Limits

_BLOCK_BYTES = 32 * 2**20
_WARM_COPIES = 7


@cache
def measure_limits() -> Limits:
    """Return the memory limits of this machine (bytes per second), measured at the first call."""
    with mmap.mmap(-1, _BLOCK_BYTES) as source, mmap.mmap(-1, _BLOCK_BYTES) as target:
        for block in (source, target):
            # Small pages, as plasma and most buffers of pickle have: no transparent huge pages.
            if hasattr(mmap, "MADV_NOHUGEPAGE"):
                block.madvise(mmap.MADV_NOHUGEPAGE)
        _touch(source)
        first_ns = _copy_ns(source, target)
        warm_ns = min(_copy_ns(source, target) for _ in range(_WARM_COPIES))
    return Limits(_BLOCK_BYTES / warm_ns * 1e9, _BLOCK_BYTES / first_ns * 1e9)


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
