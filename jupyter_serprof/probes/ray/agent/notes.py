"""What a worker of Ray learns of its tasks: exact totals, and the details of a few of each.

All others are told by windows of time, each stage as long as they were in no other one inside it.
"""

from __future__ import annotations

import os
import threading
import time
from heapq import heappush, heappushpop
from random import Random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: Of each function the slowest tasks are kept with all that was seen in them, and a fair sample.
SLOWEST, SAMPLED = 5, 20
#: Functions of which details are kept, and spans of one task; totals have all of them.
MOST_FUNCTIONS, MOST_SPANS = 50, 100
#: Shorter spans are in the totals only, ns.
_LEAST_NS = 20_000
#: Windows of a worker, and how long the first ones are, ns: where there are more, twice as long.
MOST_WINDOWS, _WINDOW_NS = 200, 1_000_000
#: The parts of a way, and their stages.
PARTS = {"arguments": "ray.arguments", "task": "ray.execute", "outputs": "ray.outputs"}
#: So many of the last spans may be inside of the next one.
_INNER = 8
#: Of both clocks at a time.
_READINGS = 5

clock = time.perf_counter_ns


class Errand:
    """One attempt of a task: what it is, and when it did what by the clock of its worker, ns."""

    __slots__ = (
        *("ident", "name", "attempt", "loading", "begin", "body", "returned", "end"),
        *("spans", "dropped", "sums", "inner"),
    )

    def __init__(self, ident: bytes, name: str, loading: int) -> None:
        self.ident, self.name, self.attempt = ident, name, 0
        #: When its function or class began to be loaded; 0: it was there.
        self.loading = loading
        self.begin = clock()
        #: When the code of the user began, when it returned, when its results were stored.
        self.body = self.returned = self.end = 0
        self.spans: list[tuple[str, int, int, int]] = []
        self.dropped = 0
        #: As in a window.
        self.sums: dict[tuple[str, str], list[int]] = {}
        self.inner: list[tuple[int, int]] = []

    @property
    def phase(self) -> str:
        """Which part of its way it is on."""
        return "outputs" if self.returned else "task" if self.body else "arguments"

    def facts(self) -> tuple[Any, ...]:
        """Return what is told of it as plain data, in the order of the slots."""
        return tuple(getattr(self, name) for name in self.__slots__[:-2])

    def take(self, stage: str, start: int, end: int, size: int) -> None:
        """Add up a span, without what was in others inside of it."""
        own, inner = end - start, self.inner
        while inner and inner[-1][0] >= start:
            own -= inner.pop()[1]
        del inner[:-_INNER]
        inner.append((start, end - start))
        _add(self.sums, (self.phase, stage), (1, own, size))

    def whole(self) -> dict[tuple[str, str], list[int]]:
        """Return the sums, with what is left of each part of its way."""
        parts = self.body - self.begin, self.returned - self.body, self.end - self.returned
        left = dict(zip(PARTS, parts, strict=True))
        for (phase, _), known in self.sums.items():
            left[phase] -= known[1]
        whole = {(phase, PARTS[phase]): [1, own, 0] for phase, own in left.items()}
        loaded = {("load", "ray.load"): [1, self.begin - self.loading, 0]} if self.loading else {}
        return {**loaded, **self.sums, **whole}


class Window:
    """Tasks of a function that began at about one time: from when, until when, how many.

    And by part of the way and stage: how often, how long in no other stage inside of it, ns, bytes.
    """

    def __init__(self, start: int) -> None:
        self.start, self.end, self.count = start, 0, 0
        self.sums: dict[tuple[str, str], list[int]] = {}

    def add(self, start: int, end: int, count: int, sums: dict[Any, list[int]]) -> None:
        """Add more."""
        self.start, self.end = min(self.start, start), max(self.end, end)
        self.count += count
        for key, more in sums.items():
            _add(self.sums, key, more)

    def facts(self) -> tuple[Any, ...]:
        """Return it as plain data."""
        return self.start, self.end, self.count, self.sums


def _add(sums: dict[Any, list[int]], key: object, more: Sequence[int]) -> None:
    known = sums.setdefault(key, [0, 0, 0])
    for at, each in enumerate(more):
        known[at] += each


class Ledger:
    """The tasks of one worker: how many of each function, how long in which stage, a few of them.

    What is kept is bounded, whatever runs; counts and sums are exact.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, int] = {}
        #: By function and stage: how often, how long in all, how long at most, how many bytes.
        self.totals: dict[str, dict[str, list[int]]] = {}
        self.slowest: dict[str, list[tuple[int, int, Errand]]] = {}
        self.sampled: dict[str, list[Errand]] = {}
        #: Those that are not kept, by function and number of the window in which they began.
        self.windows: dict[tuple[str, int], Window] = {}
        self._window_ns, self._lock = _WINDOW_NS, threading.Lock()
        #: Of its own, as a seed of the user's is his.
        self.random = Random(0)  # noqa: S311  (which task is drawn is no secret)
        self.failures = 0

    def add(self, errand: Errand, stage: str, start: int, end: int, size: int = 0) -> None:
        """Add what a task did in between."""
        self._count(errand.name, stage, end - start, size)
        errand.take(stage, start, end, size)
        if end - start >= _LEAST_NS:
            if len(errand.spans) < MOST_SPANS:
                errand.spans.append((stage, start, end, size))
            else:
                errand.dropped += 1

    def _count(self, name: str, stage: str, took: int, size: int = 0) -> None:
        known = self.totals.setdefault(name, {}).setdefault(stage, [0, 0, 0, 0])
        known[0] += 1
        known[1] += took
        known[2] = max(known[2], took)
        known[3] += size

    def close(self, errand: Errand) -> None:
        """Take in a task that is over."""
        errand.end = errand.end or clock()
        # Arguments that cannot be had have no body; a killed one does not return.
        errand.body = errand.body or errand.end
        errand.returned = errand.returned or errand.end
        name = errand.name
        self._count(name, "ray.arguments", errand.body - errand.begin)
        self._count(name, "ray.execute", errand.returned - errand.body)
        self._count(name, "ray.outputs", errand.end - errand.returned)
        count = self.tasks[name] = self.tasks.get(name, 0) + 1
        is_few = name in self.sampled or len(self.sampled) < MOST_FUNCTIONS
        other = self._keep(errand, count) if is_few else errand
        if other is not None:
            with self._lock:
                self._fold(other)

    def _fold(self, errand: Errand) -> None:
        """Add a task to its window; where there are too many, they become longer."""
        start = errand.loading or errand.begin
        key = errand.name, start // self._window_ns
        self.windows.setdefault(key, Window(start)).add(start, errand.end, 1, errand.whole())
        while len(self.windows) > max(MOST_WINDOWS, 2 * len(self.tasks)):
            self._window_ns, fewer = 2 * self._window_ns, dict[tuple[str, int], Window]()
            for (name, _), one in self.windows.items():
                key = name, one.start // self._window_ns
                fewer.setdefault(key, Window(one.start)).add(*one.facts())
            self.windows = fewer

    def _keep(self, errand: Errand, count: int) -> Errand | None:
        """Keep one of the slowest, of the others one of those that are drawn; return who goes."""
        slowest = self.slowest.setdefault(errand.name, [])
        sampled = self.sampled.setdefault(errand.name, [])
        entry = (errand.end - errand.begin, count, errand)
        if len(slowest) < SLOWEST:
            heappush(slowest, entry)
            return None
        other = heappushpop(slowest, entry)[2]
        if len(sampled) < SAMPLED:
            sampled.append(other)
            return None
        if (at := self.random.randrange(count - SLOWEST)) < SAMPLED:
            sampled[at], other = other, sampled[at]
        return other

    def report(self, process: dict[str, Any]) -> dict[str, Any]:
        """Return all of it as plain data, with the clock that it was noted by."""
        slowest = [entry[2] for kept in list(self.slowest.values()) for entry in kept]
        sampled = [errand for kept in list(self.sampled.values()) for errand in kept]
        return {
            **process,
            **bridge(),
            "tasks": dict(self.tasks),
            "totals": {name: dict(known) for name, known in list(self.totals.items())},
            "kept": [errand.facts() for errand in (*slowest, *sampled)],
            "windows": [(key[0], *one.facts()) for key, one in list(self.windows.items())],
            "failures": self.failures,
        }


def bridge() -> dict[str, Any]:
    """Return what makes of our clock the time of day, ns, and what tells the clock apart.

    Read several times: a thread that must pause between the two clocks reads them apart.
    """
    readings = ((clock(), time.time_ns(), clock()) for _ in range(_READINGS))
    before, of_day, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return {"bridge": of_day - (before + after) // 2, "boot": _boot()}


def _boot() -> str:
    """Return what names the run of the machine: processes of one run share their clock on Linux."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/time')}"  # noqa: PTH115
    except OSError:
        return ""


def begun_ns() -> int:
    """Return when this process was made, by our clock, ns; 0 where that is not told."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        return 0
    return clock() - round(age_s * 1e9)
