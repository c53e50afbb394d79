"""Fixed work between the runs: how fast the machine itself was while they were made.

Three kinds, because no one of them follows every program: pickling dicts (computing), copying a
block beyond the second-level cache into known pages, and copying into new pages (what the kernel
and the hypervisor have to give). The work never changes: another one gets another key.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

# Bound here, so that a recording around all that does not see it.
from pickle import dumps

#: Runs of one document that have a control before them, at most; more are chosen evenly.
MOST = 20
#: Fewer runs on a side give no interval, hence no verdict that a control could hold back.
FEWEST = 4
_BLOCK_BYTES = 4 * 2**20
_NEW_BYTES = 2**20
_LOOPS = 8
#: Few dicts with many keys: those of many small ones would set off the garbage collector.
_DICTS, _KEYS = 4, 500


class Control:
    """Fixed work that is timed before each warm run of a document.

    Parameters
    ----------
    runs
        How many warm runs there will be. With fewer than `FEWEST` it does nothing.

    Attributes
    ----------
    times_ns
        Durations by kind (``pickle``, ``copy``, ``pages``), each in the order of the runs: a copy,
        as it is stored. Empty where nothing was measured.

    Notes
    -----
    It stands outside of every recording and never fails a run: where the machine refuses memory, it
    ends without a trace. Interrupts pass.

    Cost: 2 to 5 ms before a run, and before 20 of them at most; 9 MiB for the time of the runs.
    Blocks come from ``mmap`` and the pickles are small (31 kB), so that neither ``malloc`` changes
    its ways nor the garbage collector has anything to count. What it costs the caches of the
    processor is in ``tests/benchmarks/control_cost.py``.

    What it cannot see: other machines, disks, the network.
    """

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._work: Mapping[str, Callable[[], object]] | None = None
        self._times: dict[str, list[int]] = {}
        self._is_off = runs < FEWEST

    @property
    def times_ns(self) -> Mapping[str, tuple[int, ...]]:
        """Return what was measured so far."""
        return {key: tuple(times) for key, times in self._times.items()}

    def measure(self, number: int) -> None:
        """Do the work once and note how long it took, if it is due before this run (from 0)."""
        if self._is_off or not _is_due(number, self._runs):
            return
        try:
            if self._work is None:
                self._work = _work()
                for call in self._work.values():
                    call()  # the first time is another one
            taken = {key: _duration_ns(call) for key, call in self._work.items()}
        except Exception:  # noqa: BLE001  (no control must not cost the run)
            self._is_off = True
            self._work, self._times = None, {}
            return
        for key, duration_ns in taken.items():
            self._times.setdefault(key, []).append(duration_ns)


def _is_due(number: int, runs: int) -> bool:
    """Tell whether a run is one of the evenly chosen ones."""
    return runs <= MOST or number * MOST // runs != (number - 1) * MOST // runs


def _duration_ns(call: Callable[[], object]) -> int:
    start_ns = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start_ns


def _work() -> Mapping[str, Callable[[], object]]:
    """Return the three kinds of work on data of their own."""
    rows = [
        {f"{number}-{at}": (at + 0.5 if number % 2 else at * 1000) for at in range(_KEYS)}
        for number in range(_DICTS)
    ]
    source, target = _block(_BLOCK_BYTES), _block(_BLOCK_BYTES)
    # Memory that nobody has written is one page of zeros, which never leaves the cache.
    for at in range(0, _BLOCK_BYTES, mmap.PAGESIZE):
        source[at] = 1

    def computed() -> None:
        for _ in range(_LOOPS):
            dumps(rows, protocol=5)

    def copied() -> None:
        _copy(source, target, _BLOCK_BYTES)

    def into_new_pages() -> None:
        with _block(_NEW_BYTES) as new:
            _copy(source, new, _NEW_BYTES)

    # The one that leaves least in the caches of the user is the first, computing the last.
    return {"copy": copied, "pages": into_new_pages, "pickle": computed}


def _block(size_bytes: int) -> mmap.mmap:
    """Return new memory of this process alone, in small pages as most buffers of pickle have."""
    if hasattr(mmap, "MAP_PRIVATE"):
        block = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    else:  # Windows
        block = mmap.mmap(-1, size_bytes)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages knows no such advice
            block.madvise(mmap.MADV_NOHUGEPAGE)
    return block


def _copy(source: mmap.mmap, target: mmap.mmap, size_bytes: int) -> None:
    to_address = ctypes.addressof(view := ctypes.c_char.from_buffer(target))
    from_address = ctypes.addressof(other := ctypes.c_char.from_buffer(source))
    ctypes.memmove(to_address, from_address, size_bytes)
    del view, other  # they keep the blocks from being closed
