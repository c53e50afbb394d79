"""The machine beside the runs: how fast it was in fixed work between them, and what is free on it.

The work is of three kinds, because no one of them follows every program: pickling dicts
(computing), copying a block beyond the second-level cache into known pages, and copying into new
pages (what the kernel and the hypervisor have to give). The work never changes: another one gets
another key.

The memory guard asks before a size is made what it will need at its peak. Free is the memory of
this machine or container and, for what goes through Ray, Ray's store.
"""

from __future__ import annotations

import mmap
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pickle import dumps

from jupyter_serprof.capture.machine import available_bytes, copy_ns, new_block, touch
from jupyter_serprof.model.units import format_bytes, format_fixed
from jupyter_serprof.probes.ray.alive import is_alive

#: Fewer runs on a side give no interval, hence no verdict that a control could hold back.
FEWEST = 4
#: So often each time.
EACH = 5
#: Between runs it is due once they have taken this multiple of its time.
REST = 20
#: The most checks between the runs.
MOST = 15
_BLOCK_BYTES, _NEW_BYTES = 4 * 2**20, 2**20
_LOOPS = 8
#: Few dicts with many keys: those of many small ones would set off the garbage collector.
_DICTS, _KEYS = 4, 500


class MachineCheck:
    """Fixed work that is timed before the warm runs of a document, after them, and in between.

    ``runs``: How many warm runs there will be. With fewer than `FEWEST` it does nothing.

    ``times_ns``: Durations by kind (``pickle``, ``copy``, ``pages``), five of each time, in order.
        Empty where nothing was measured.

    It stands outside of every recording and never fails a run: where the machine refuses memory, it
    ends without a trace. Interrupts pass.

    Cost: 10 ms each time on two quiet cores, about 25 ms for a document, and a twentieth of what
    longer runs take; 9 MiB meanwhile. Blocks come from ``mmap`` and the pickles are small, so that
    neither ``malloc`` changes its ways nor the garbage collector has anything to count. Runs behind
    it meet cold caches, hence it does not stand between short ones (medians of fifteen took 1.04 to
    1.06 times as long below 1 MB, in twenty documents with it and without, in turns). Both sides of
    a comparison have it.

    What it cannot see: other machines, disks, the network; and it follows the memory behind the
    last cache by half. Code that begins to leave much more in the caches makes its copies up to
    1.16 times slower, and hides that much of its own change.
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

        ``number``: Of the warm run, from 0; the number of runs once the last one has ended.
        ``ran_ns``: How long the run before it took.
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
    work["pickle"]()  # into the caches, whatever the run before has left there
    return {key: _duration_ns(call) for key, call in work.items()}


def _duration_ns(call: Callable[[], object]) -> int:
    start_ns = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start_ns


def _work() -> Mapping[str, Callable[[], object]]:
    rows = [
        {f"{number}-{at}": (at + 0.5 if number % 2 else at * 1000) for at in range(_KEYS)}
        for number in range(_DICTS)
    ]
    # Memory of this process alone.
    ways = ("MAP_PRIVATE", "MAP_ANONYMOUS")
    own = {"flags": sum(getattr(mmap, way) for way in ways)} if hasattr(mmap, ways[0]) else {}
    source, target = new_block(_BLOCK_BYTES, **own), new_block(_BLOCK_BYTES, **own)
    touch(source)

    def computed() -> None:
        for _ in range(_LOOPS):
            dumps(rows, protocol=5)

    def copied() -> None:
        copy_ns(source, target, _BLOCK_BYTES)

    def into_new_pages() -> None:
        with new_block(_NEW_BYTES, **own) as new:
            copy_ns(source, new, _NEW_BYTES)

    return {"copy": copied, "pages": into_new_pages, "pickle": computed}


#: Of the memory that is free, so much may be taken.
_SHARE = 0.8
#: They hand the same memory back.
_WITHOUT_COPY = ("pickle-oob",)
_RAY, _STORE = "ray", "object_store_memory"
#: Its store frees the copy of the run before late.
_STORE_COPIES = 2.0
#: A smaller value says nothing: the allocator has room for it anyway.
_TELLING_BYTES = 1_000_000
_MOST_SHARE = 100.0


@dataclass(slots=True)
class MemoryGuard:
    """Bounds the sizes of a sweep by the memory that is free now.

    ``keys``: The transports that take part: an in-band one holds the bytes and the result beside
        the value, Ray's store up to two copies, out-of-band pickle none.

    A value of Python objects holds more memory than its size (a list of dicts several times): that
    ratio is measured as the growth of this process while the largest value so far was made.
    What Ray's store has free is asked once: what a sweep puts there itself is freed late.
    """

    keys: Sequence[str]
    _held_share: float = field(default=1.0, init=False)
    _is_stored: bool = field(default=False, init=False)
    _store_free_bytes: float | None = field(default=None, init=False)

    def learn(self, size_bytes: int | None, grown_bytes: int | None) -> None:
        """Take what the process grew by while a value of this size was made."""
        if size_bytes and grown_bytes and size_bytes >= _TELLING_BYTES:
            self._held_share = min(_MOST_SHARE, max(1.0, grown_bytes / size_bytes))

    def learn_stages(self, stages: Iterable[str]) -> None:
        """Take which stages a run of code had: with one of Ray's its bytes go through the store."""
        self._is_stored = self._is_stored or any(key.startswith("ray.") for key in stages)

    @property
    def copies(self) -> float:
        """How many times its size a value needs at the peak, itself included."""
        held = self._held_share
        beside = [0.0 if key in _WITHOUT_COPY else 1.0 + held for key in self.keys]
        stored = _STORE_COPIES if _RAY in self.keys else 0.0
        return held + max(beside, default=0.0) + stored

    @property
    def most_bytes(self) -> int | None:
        """The largest size that fits into what is free now; None where unknown."""
        free, stored = available_bytes(), self._most_in_store
        known = [] if free is None else [int(_SHARE * free / self.copies)]
        return min([*known, *([] if stored is None else [stored])], default=None)

    @property
    def bound(self) -> str:
        """The bound in words, for people; "" where unknown."""
        free, most, stored = available_bytes(), self.most_bytes, self._most_in_store
        if most is None:
            return ""
        fit = f"sizes up to {format_bytes(most)} fit"
        if free is None or most == stored:
            return (
                f"{fit}: {format_bytes(self._store_bytes())} of Ray's store are free, "
                "and what is larger goes to disk"
            )
        return (
            f"{fit}: {format_bytes(free)} of memory are free, "
            f"and the peak holds {format_fixed(self.copies, 1)} times the size"
        )

    @property
    def _most_in_store(self) -> int | None:
        """What fits into Ray's store, where everything goes there; else `store_problem` tells."""
        is_stored = self._is_stored or set(self.keys) == {_RAY}
        free = self._store_bytes() if is_stored else None
        return None if free is None else int(_SHARE * free)

    def _store_bytes(self) -> float | None:
        if self._store_free_bytes is None:
            self._store_free_bytes = _store_free_bytes()
        return self._store_free_bytes

    def problem(self, size_bytes: float | None) -> str:
        """Return why a size is left out; "" if it fits or is unknown."""
        most = self.most_bytes
        if size_bytes is None or most is None or size_bytes <= most:
            return ""
        return f"left out for lack of memory; {self.bound}"

    def store_problem(self, key: str, size_bytes: int | None) -> str:
        """Return why a size does not fit into Ray's store; "" if it does or is unknown."""
        free = self._store_bytes() if key == _RAY and size_bytes else None
        if free is None or not size_bytes or size_bytes <= _SHARE * free:
            return ""
        return f"left out: it does not fit into what is free of Ray's store, {format_bytes(free)}"


def _store_free_bytes() -> float | None:
    ray = sys.modules.get("ray")
    with suppress(Exception):  # Ray is gone, or does not say
        if ray is not None and is_alive() and ray.cluster_resources().get(_STORE):
            # A store that is full is not listed.
            return float(ray.available_resources().get(_STORE, 0.0))
    return None
