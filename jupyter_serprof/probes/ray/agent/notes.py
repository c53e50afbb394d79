"""What workers of Ray learn of their tasks: details of a few of each function, sums of all others.

The sums are by windows of time, each stage as long as they were in no other one inside it. What
several have learned is put together in any order: the same tasks are kept, the sums are the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from heapq import heappush, heappushpop
from operator import attrgetter
from random import Random
from typing import Any

#: By part of the way and stage: how often, how long in no other stage inside of it, bytes; how
#: long in all, how long at most, ns.
Sums = dict[tuple[str, str], list[int]]
#: Of a task: its draw, its worker, what is in the slots of `Errand`, its sums.
Facts = tuple[Any, ...]

#: Of each function the slowest tasks are kept with all that was seen in them, and a fair sample.
SLOWEST, SAMPLED = 5, 20
#: Functions of which details are kept, and spans of one task; totals have all of them.
MOST_FUNCTIONS, MOST_SPANS = 50, 100
#: Where in the facts of a task something stands.
_WORKER, _NAME, _LOADING, _BEGIN, _END = 1, 3, 5, 6, 9
#: Shorter spans are in the totals only, ns.
_LEAST_NS = 20_000
#: Windows of a ledger, and how long the first ones are, ns: where there are more, twice as long.
MOST_WINDOWS, _WINDOW_NS = 200, 1_000_000
#: The parts of a way, and their stages; what is before a task where it meets us: our own way there.
PARTS = {"arguments": "ray.arguments", "task": "ray.execute", "outputs": "ray.outputs"}
WAY, RECORDING = {"load": "ray.load", **PARTS}, "recording"
#: So many of the last spans may be inside of the next one.
_INNER = 8
#: Of both clocks at a time.
_READINGS = 5
#: Of its own, as a seed of the user's is his.
_RANDOM = Random()  # noqa: S311  (which task is drawn is no secret)

clock = time.perf_counter_ns


class Errand:
    """One attempt of a task: what it is, and when it did what by the clock of its worker, ns."""

    __slots__ = (
        *("ident", "name", "attempt", "loading", "begin", "body", "returned", "end"),
        *("spans", "dropped", "sums", "inner"),
    )
    _told = attrgetter(*__slots__[:-2])

    def __init__(self, ident: bytes, name: str, loading: int, ours_until: int = 0) -> None:
        self.ident, self.name, self.attempt = ident, name, 0
        #: When its function or class began to be loaded; 0: it was there.
        self.loading = loading
        #: When the code of the user began, when it returned, when its results were stored.
        self.begin = self.body = self.returned = self.end = 0
        self.spans: list[tuple[str, int, int, int]] = []
        self.dropped = 0
        self.sums: Sums = {}
        self.inner: list[tuple[int, int]] = []
        if ours_until:
            self.note(RECORDING, loading, ours_until)
        self.begin = clock()

    @property
    def phase(self) -> str:
        """Which part of its way it is on."""
        before = "arguments" if self.begin else "load"
        return "outputs" if self.returned else "task" if self.body else before

    def note(self, stage: str, start: int, end: int, size: int = 0) -> None:
        """Note what it did in between: add it up without what was in others inside of it."""
        took, inner = end - start, self.inner
        own = took
        while inner and inner[-1][0] >= start:
            own -= inner.pop()[1]
        del inner[:-_INNER]
        inner.append((start, took))
        _add(self.sums, (self.phase, stage), (1, own, size, took, took))
        if took >= _LEAST_NS:
            if len(self.spans) < MOST_SPANS:
                self.spans.append((stage, start, end, size))
            else:
                self.dropped += 1

    def close(self) -> Errand:
        """End it, if it has not ended: arguments that cannot be had have no body, for example."""
        self.end = self.end or clock()
        self.body = self.body or self.end
        self.returned = self.returned or self.end
        return self

    def facts(self, worker: bytes) -> Facts:
        """Return what is told of it as plain data."""
        return (_RANDOM.random(), worker, *self._told(self), self._whole())

    def _whole(self) -> Sums:
        parts = self.body - self.begin, self.returned - self.body, self.end - self.returned
        sums, noted = {}, self.sums
        for key, took in zip(PARTS.items(), parts):  # noqa: B905  (this is done for each task)
            sums[key] = [1, took, 0, took, took]
        if self.loading:
            took = self.begin - self.loading
            sums["load", "ray.load"] = [1, took, 0, took, took]
        for (phase, stage), known in noted.items():
            sums[phase, stage] = known
            sums[phase, WAY[phase]][1] -= known[1]
        return sums


def _add(sums: Sums, key: tuple[str, str], more: Sequence[int]) -> None:
    if (known := sums.get(key)) is None:
        sums[key] = [*more]
        return
    count, own, size, took, most = more
    known[0] += count  # one by one: a loop would take five times as long
    known[1] += own
    known[2] += size
    known[3] += took
    known[4] = max(known[4], most)


class Few:
    """Of the tasks of a function the slowest, and of the others those of the lowest draw.

    Which tasks these are depends on the tasks only, not on their order.
    """

    def __init__(self) -> None:
        self.slowest: list[tuple[int, Facts]] = []
        self.sampled: list[tuple[float, Facts]] = []

    def take(self, one: Facts) -> Facts | None:
        """Take one in; return who goes for it."""
        entry = one[_END] - one[_BEGIN], one
        if len(self.slowest) < SLOWEST:
            heappush(self.slowest, entry)
            return None
        other = heappushpop(self.slowest, entry)[1]
        drawn = -other[0], other
        if len(self.sampled) < SAMPLED:
            heappush(self.sampled, drawn)
            return None
        return heappushpop(self.sampled, drawn)[1]


class Ledger:
    """Tasks of a worker, or of several: a few of each function, all others in windows of time.

    What is kept is bounded, whatever runs; counts and sums are exact, in whatever order ledgers are
    put together.
    """

    def __init__(self) -> None:
        self.few: dict[str, Few] = {}
        #: By worker, function and number: when the first began and the last ended, how many, sums.
        self.windows: dict[tuple[bytes, str, int], list[Any]] = {}
        self._window_ns, self._kinds = _WINDOW_NS, set[tuple[bytes, str]]()

    def take(self, one: Facts) -> None:
        """Take in a task that is over."""
        name = one[_NAME]
        few = self.few.get(name)
        if few is None and len(self.few) < MOST_FUNCTIONS:
            few = self.few[name] = Few()
        other = few.take(one) if few else one
        if other is not None:
            start = other[_LOADING] or other[_BEGIN]
            self._fold(other[_WORKER], other[_NAME], start, other[_END], 1, other[-1])
            self._thin()

    def _fold(self, worker: bytes, name: str, start: int, end: int, count: int, sums: Sums) -> None:
        key = worker, name, start // self._window_ns
        if (known := self.windows.get(key)) is None:
            self._kinds.add(key[:2])
            known = self.windows[key] = [start, end, 0, {}]
        known[:3] = min(known[0], start), max(known[1], end), known[2] + count
        for stage, more in sums.items():
            _add(known[3], stage, more)

    def _thin(self) -> None:
        while len(self.windows) > MOST_WINDOWS and len(self.windows) > 2 * len(self._kinds):
            self._window_ns, before, self.windows = 2 * self._window_ns, self.windows, {}
            for (worker, name, _), known in before.items():
                self._fold(worker, name, *known)

    def add(self, told: Mapping[str, Any]) -> None:
        """Add what another one has told."""
        for one in told["kept"]:
            self.take(one)
        for one in told["windows"]:
            self._fold(*one)
        self._thin()

    def told(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        few = list(self.few.values())
        return {
            "kept": [entry[1] for one in few for entry in (*one.slowest, *one.sampled)],
            "windows": [(*key[:2], *known) for key, known in self.windows.items()],
        }


def bridge() -> dict[str, Any]:
    """Return what makes of our clock the time of day, ns, and what tells the clock apart."""
    # Read several times: a thread that must pause between the two clocks reads them apart.
    readings = ((clock(), time.time_ns(), clock()) for _ in range(_READINGS))
    before, of_day, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return {"bridge": of_day - (before + after) // 2, "boot": _boot()}


@cache  # for each node and look else
def _boot() -> str:
    """Return what names the run of the machine: processes of one run share their clock on Linux."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/time')}"  # noqa: PTH115
    except OSError:
        return ""
