"""What a worker of Ray learns of its tasks: exact totals, and the details of a few of each."""

from __future__ import annotations

import os
import time
from heapq import heappush, heappushpop
from random import Random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Of each function the slowest tasks are kept with all that was seen in them, and a fair sample.
SLOWEST, SAMPLED = 5, 20
#: Functions of which details are kept, and spans of one task; totals have all of them.
MOST_FUNCTIONS, MOST_SPANS = 50, 100
#: Shorter spans are in the totals only, ns.
_LEAST_NS = 20_000
#: Of both clocks at a time.
_READINGS = 5

clock = time.perf_counter_ns


class Errand:
    """One attempt of a task: what it is, and when it did what by the clock of its worker, ns."""

    __slots__ = (
        *("ident", "name", "attempt", "loading", "begin", "body", "returned", "end"),
        *("spans", "dropped"),
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

    @property
    def phase(self) -> str:
        """Which part of its way it is on."""
        return "outputs" if self.returned else "task" if self.body else "arguments"

    def facts(self) -> tuple[Any, ...]:
        """Return all of it as plain data, in the order of the slots."""
        return tuple(getattr(self, name) for name in self.__slots__)


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
        #: Of its own, as a seed of the user's is his.
        self.random = Random(0)  # noqa: S311  (which task is drawn is no secret)
        self.failures = 0

    def add(self, errand: Errand, stage: str, start: int, end: int, size: int = 0) -> None:
        """Add what a task did in between."""
        self._count(errand.name, stage, end - start, size)
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
        errand.end = clock()
        # Arguments that cannot be had have no body; a killed one does not return.
        errand.body = errand.body or errand.end
        errand.returned = errand.returned or errand.end
        name = errand.name
        self._count(name, "ray.arguments", errand.body - errand.begin)
        self._count(name, "ray.execute", errand.returned - errand.body)
        self._count(name, "ray.outputs", errand.end - errand.returned)
        count = self.tasks[name] = self.tasks.get(name, 0) + 1
        if name in self.sampled or len(self.sampled) < MOST_FUNCTIONS:
            self._keep(errand, count)

    def _keep(self, errand: Errand, count: int) -> None:
        """Keep one of the slowest, or of the others one of those that are drawn."""
        slowest = self.slowest.setdefault(errand.name, [])
        sampled = self.sampled.setdefault(errand.name, [])
        entry = (errand.end - errand.begin, count, errand)
        if len(slowest) < SLOWEST:
            heappush(slowest, entry)
            return
        other = heappushpop(slowest, entry)[2]
        if len(sampled) < SAMPLED:
            sampled.append(other)
        elif (at := self.random.randrange(count - SLOWEST)) < SAMPLED:
            sampled[at] = other

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
