"""The machine: its versions, memory and caches, and the speed of copying, measured once.

Flags lie: a small Ray result on the heap is read-only and has a base, as a zero-copy one. The
address decides: it is zero-copy if it falls into a mapping of the object store (/proc/self/maps).

Method: ``memmove`` through ctypes (one thread, as pickle copies) between blocks of 32 MiB; smaller
ones run faster out of a cache, and say less about data. First touch is the copy into a new block,
by its best quarter; warm is the best of the copies after it. About 100 ms. It is "memcpy on this
machine", not the bandwidth of its memory: a shared cache of the host may hold the blocks.
"""

import ctypes
import mmap
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

from jupyter_serprof.model import Limits
from jupyter_serprof.model.trace import Scalar

#: Libraries whose versions matter to serialization; only the imported ones are reported.
_LIBRARIES = ("ray", "dask", "distributed", "cloudpickle", "numpy", "pandas", "pyarrow", "polars")


def describe_environment() -> dict[str, Scalar]:
    """Return Python's version, the platform, its cores and the versions of imported libraries."""
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        "machine": platform.machine(),
        "cores": usable_cores(),
        **imported_versions(_LIBRARIES),
    }


def system_facts() -> dict[str, Scalar]:
    """Return what a report of a bug needs: all installed libraries, imported or not."""
    names = ("jupyter_serprof", *_LIBRARIES, "ipython", "jupyterlab", "notebook", "ipywidgets")
    versions = {name: installed_version(name) or "not installed" for name in names}
    return {**describe_environment(), **versions}


def imported_versions(names: Iterable[str]) -> dict[str, Scalar]:
    """Return the installed versions of those libraries that are imported."""
    return {name: installed_version(name) for name in names if name in sys.modules}


@cache
def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def usable_cores() -> int | None:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def free_memory_bytes() -> int | None:
    """Return the memory of the machine that can be taken without swapping; None where unknown."""
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except (ImportError, OSError, RuntimeError):  # in a browser; no /proc
        return None


def resident_bytes() -> int | None:
    """Return the memory that this process holds now; None where unknown."""
    try:
        import psutil
    except ImportError:  # in a browser
        return None
    try:
        return int(psutil.Process().memory_info().rss)
    except (OSError, psutil.Error):
        return None


def producer() -> str:
    """Return the name and version of this package, as documents carry it."""
    from jupyter_serprof import __version__

    return f"jupyter_serprof {__version__}"


_GROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the memory that can still be taken without swapping; None if unknown.

    Where a control group (of a container) allows less than the machine has, that counts.

    Source: psutil.virtual_memory().available; memory.max and memory.current of Linux's cgroup v2.
    """
    known = [size for size in (free_memory_bytes(), _group_bytes()) if size is not None]
    return min(known) if known else None


def _group_bytes() -> int | None:
    limit, used = (_number(_GROUP / name) for name in ("memory.max", "memory.current"))
    return None if limit is None or used is None else max(0, limit - used)


def _number(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(path.read_text("ascii"))
    return None


#: Mappings of Ray's object store: shared memory, and files when it fell back to disk.
#: Source: Ray 2.60.0, src/ray/object_manager/plasma/dlmalloc.cc: mkstemp of plasmaXXXXXX, unlinked.
_STORE_FILE = re.compile(r"/plasma\w{6}( \(deleted\))?\s*$", re.MULTILINE)
_LEAVES = 16
#: Have no buffers that could be asked for; and what is not opened inside another container.
ATOMS = (bool, bytes, float, int, str, type(None))
_CLOSED = (*ATOMS, dict, list, set, tuple)
#: A line of maps: address, permissions, offset, device, inode and, if there is one, the path.
_FIELDS_WITH_PATH = 6

Buffer = tuple[int, int]


def buffers_of(value: object, limit: int = _LEAVES) -> list[Buffer]:
    """Return (address, size in bytes) of the first buffers of arrays, frames, tables, containers.

    Values without buffers, or of libraries that are not imported, give nothing.
    """
    # Exactly: classes of the user answer with code of their own.
    if type(value) is list or type(value) is tuple:
        parts: Iterable[object] = islice(value, limit)
    elif type(value) is dict:
        parts = islice(value.values(), limit)
    else:
        return _leaf_buffers(value)[:limit]
    return [buffer for part in parts for buffer in _leaf_buffers(part)][:limit]


def _leaf_buffers(value: object) -> list[Buffer]:
    kind = type(value)
    if type(kind) is type and kind in _CLOSED:  # a metaclass is not asked for its hash
        return []
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and issubclass(kind, numpy.ndarray):
        own = numpy.ndarray  # not what a class of the user makes of it
        size = int(own.nbytes.__get__(value, kind))
        return [_array_buffer(own.__array_interface__.__get__(value, kind), size)]
    if pandas is not None and (kind is pandas.DataFrame or kind is pandas.Series):
        return _pandas_buffers(value)
    return _arrow_buffers(value)


def _array_buffer(interface: dict[str, Any], size_bytes: int) -> Buffer:
    """Return where an array begins: with negative strides its pointer is not the lowest address."""
    steps = zip(interface["shape"], interface.get("strides") or (), strict=False)
    below = sum((count - 1) * stride for count, stride in steps if stride < 0 and count)
    return int(interface["data"][0]) + below, size_bytes


def _pandas_buffers(value: object) -> list[Buffer]:
    blocks = getattr(getattr(value, "_mgr", None), "blocks", ())
    found: list[Buffer] = []
    for block in islice(blocks, _LEAVES):
        values = block.values
        found += _leaf_buffers(getattr(values, "_pa_array", values))
    return found


def _arrow_buffers(value: Any) -> list[Buffer]:  # noqa: ANN401  (anything)
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not hasattr(arrow, "Table"):
        return []
    kind = type(value)
    if issubclass(kind, arrow.Table):
        chunks = [chunk for column in value.columns for chunk in column.chunks]
    elif issubclass(kind, arrow.ChunkedArray):
        chunks = value.chunks
    else:
        chunks = [value] if issubclass(kind, arrow.Array) else []
    every = (buffer for chunk in chunks for buffer in chunk.buffers() if buffer is not None)
    return [(buffer.address, buffer.size) for buffer in islice(every, _LEAVES)]


def store_ranges() -> list[tuple[int, int]] | None:
    """Return the address ranges of Ray's object store in this process; None where unknown."""
    # Source: /proc/self/maps of Linux; other systems have none.
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    content, ranges = maps.read_text("utf-8", "replace"), []
    # With thousands of lines and no store, as in most processes, looking at each takes 2 ms.
    for line in content.splitlines() if _STORE_FILE.search(content) else ():
        fields = line.split(maxsplit=5)
        if len(fields) == _FIELDS_WITH_PATH and _STORE_FILE.search(fields[5]):
            low, _, high = fields[0].partition("-")
            ranges.append((int(low, 16), int(high, 16)))
    return ranges


def lies_inside(buffers: Sequence[Buffer], ranges: Sequence[tuple[int, int]]) -> bool:
    """Tell whether all buffers lie in the ranges; empty ones do not count, none lie nowhere."""
    filled = [(address, address + size) for address, size in buffers if size]
    return bool(filled) and all(
        any(low <= start and end <= high for low, high in ranges) for start, end in filled
    )


def overlaps(left: Sequence[Buffer], right: Sequence[Buffer]) -> bool:
    """Tell whether two sets of buffers share memory."""
    return any(a < b + m and b < a + n for a, n in left if n for b, m in right if m)


_BLOCK_BYTES = 32 * 2**20
_PARTS = 4
_WARM_COPIES = 6


@cache
def measure_limits() -> Limits:
    """Return the memory limits of this machine (bytes per second), measured at the first call."""
    # Unknown (None) where there is no memory to spare for it: 64 MiB for the time of the
    # measurement.
    try:
        return _measured()
    except (OSError, MemoryError):
        return Limits()


def _measured() -> Limits:
    with new_block(_BLOCK_BYTES) as source, new_block(_BLOCK_BYTES) as target:
        touch(source)
        quarter = _BLOCK_BYTES // _PARTS
        first_ns = min(copy_ns(source, target, quarter, i * quarter) for i in range(_PARTS))
        warm_ns = min(copy_ns(source, target, _BLOCK_BYTES) for _ in range(_WARM_COPIES))
    return Limits(_BLOCK_BYTES / warm_ns * 1e9, quarter / first_ns * 1e9)


def new_block(size_bytes: int, **options: int) -> mmap.mmap:
    """Return new memory in small pages, as the object store and most buffers of pickle have."""
    block = mmap.mmap(-1, size_bytes, **options)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages knows no such advice
            block.madvise(mmap.MADV_NOHUGEPAGE)
    return block


def touch(block: mmap.mmap) -> None:
    """Write to each page: memory that was never written is one page of zeros, in the cache."""
    for position in range(0, len(block), mmap.PAGESIZE):
        block[position] = 1


def copy_ns(source: mmap.mmap, target: mmap.mmap, size_bytes: int, offset: int = 0) -> int:
    """Copy a part of a block, and return how long that took."""
    to_address = ctypes.addressof(view := ctypes.c_char.from_buffer(target)) + offset
    from_address = ctypes.addressof(other := ctypes.c_char.from_buffer(source)) + offset
    try:
        start = time.perf_counter_ns()
        ctypes.memmove(to_address, from_address, size_bytes)
        duration = time.perf_counter_ns() - start
    finally:
        del view, other  # they keep the blocks from being closed, also after Ctrl-C
    return duration
