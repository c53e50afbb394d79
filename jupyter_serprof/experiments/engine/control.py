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

#: Fewer runs on a side give no interval, hence no verdict that a control could hold back.
FEWEST = 4
#: So often each time.
EACH = 5
#: Between runs it is due once they have taken so many times as long as it did.
REST = 20
#: So many times between the runs, at most.
MOST = 15
_BLOCK_BYTES = 4 * 2**20
_NEW_BYTES = 2**20
_LOOPS = 8
#: Few dicts with many keys: those of many small ones would set off the garbage collector.
_DICTS, _KEYS = 4, 500


class Control:
    """Fixed work that is timed before the warm runs of a document, after them, and in between.

    Parameters
    ----------
    runs
        How many warm runs there will be. With fewer than `FEWEST` it does nothing.

    Attributes
    ----------
    times_ns
        Durations by kind (``pickle``, ``copy``, ``pages``), five of each time, in order. Empty
        where nothing was measured.

    Notes
    -----
    It stands outside of every recording and never fails a run: where the machine refuses memory, it
    ends without a trace. Interrupts pass.

    Cost: 10 ms each time on two quiet cores (five times 2.1 ms), about 25 ms for a document with
    what it prepares, and a twentieth of what longer runs take; 9 MiB meanwhile. Blocks come from
    ``mmap`` and the pickles are small (31 kB), so that neither ``malloc`` changes its ways nor the
    garbage collector has anything to count. Runs behind it meet cold caches, hence it does not
    stand between short ones. Against documents without it (``tests/benchmarks/control_cost.py``, 20
    in turns) the first three runs of a pickled number took 1.8, 1.5 and 1.2 times as long, and 1.6,
    1.5 and 1.6 of 300 kB; medians of fifteen 1.04 to 1.06 times as long below 1 MB, with quartiles
    on both sides of 1, and 0.9 to 1.02 of longer ones. Both sides of a comparison have it.

    What it cannot see: other machines, disks, the network; and it follows the memory behind the
    last cache by half: with one neighbour that copies 24 MB all the time, pickles of 40 MB took 1.7
    times as long, its copies 1.1 to 1.3 times. Code that begins to leave much more in the caches
    makes its copies up to 1.16 times slower, and hides that much of its own change.
    """

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._work: Mapping[str, Callable[[], object]] | None = None
        self._times: dict[str, list[int]] = {}
        self._is_off = runs < FEWEST
        self._took_ns = self._ran_ns = self._last = 0

    @property
    def times_ns(self) -> Mapping[str, tuple[int, ...]]:
        """Return what was measured so far."""
        return {key: tuple(times) for key, times in self._times.items()}

    def measure(self, number: int, ran_ns: int = 0) -> None:
        """Do the work and note how long it took, if it is due before this run.

        Parameters
        ----------
        number
            Of the warm run, from 0; the number of runs once the last one has ended.
        ran_ns
            How long the run before it took.
        """
        self._ran_ns += ran_ns
        if self._is_off or not self._is_due(number):
            return
        start_ns = time.perf_counter_ns()
        try:
            if self._work is None:
                self._work = _work()
                _timed(self._work)  # the first time is another one
                start_ns = time.perf_counter_ns()
            taken = [_timed(self._work) for _ in range(EACH)]
        except Exception:  # noqa: BLE001  (no control must not cost the run)
            self._is_off = True
            self._work, self._times = None, {}
            return
        for times in taken:
            for key, duration_ns in times.items():
                self._times.setdefault(key, []).append(duration_ns)
        self._took_ns = time.perf_counter_ns() - start_ns
        self._ran_ns, self._last = 0, number

    def _is_due(self, number: int) -> bool:
        if number in {0, self._runs}:
            return True
        is_paid = self._ran_ns >= REST * self._took_ns
        return is_paid and number - self._last >= self._runs / MOST


def _timed(work: Mapping[str, Callable[[], object]]) -> dict[str, int]:
    """Return how long each kind took, ns."""
    work["pickle"]()  # into the caches, whatever the run before has left there
    return {key: _duration_ns(call) for key, call in work.items()}


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
