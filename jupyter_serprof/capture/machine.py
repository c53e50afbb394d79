"""What this machine can hold: free memory, memory of this process, sizes of its caches."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from jupyter_serprof.capture.environment import free_memory_bytes

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_GROUP = Path("/sys/fs/cgroup")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def available_bytes() -> int | None:
    """Return the memory that can still be taken without swapping; None if nobody can say.

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


def cache_sizes() -> dict[int, int]:
    """Return the bytes of the data caches from level 2 on, by level; empty where unknown.

    Source: /sys/devices/system/cpu/cpu0/cache of Linux; in a virtual machine it may describe the
    host.
    """
    found: dict[int, int] = {}
    with suppress(OSError, ValueError, KeyError):
        for index in sorted(_CACHES.glob("index*")):
            level, kind, size = (
                (index / name).read_text("ascii").strip() for name in ("level", "type", "size")
            )
            if int(level) > 1 and kind != "Instruction":
                found[int(level)] = int(size[:-1]) * _UNITS[size[-1]]
    return found
