"""What watching costs: the time of one recorded call on this machine, measured once."""

from __future__ import annotations

import statistics
import time
from functools import cache

from jupyter_serprof.capture.hook import Hook
from jupyter_serprof.capture.point import Point, Record

_CALLS = 200
_ROUNDS = 9


class _Page:
    """A sink that forgets nothing until it is dropped."""

    now = staticmethod(time.perf_counter_ns)

    def __init__(self) -> None:
        self.page: list[Record] = []

    def add(self, record: Record) -> None:
        self.page.append(record)

    def failed(self, point: Point, error: Exception) -> None:
        """Never called: the calibration point has no functions of its own."""


@cache
def span_cost_ns() -> int:
    """Return the cost of one recorded call, ns: armed minus bare, median of alternating rounds."""
    hook = Hook(_nothing, Point("calibration:nothing", "user"))
    hook.sinks = (_Page(),)
    differences = [_round_ns(hook) - _round_ns(_nothing) for _ in range(_ROUNDS)]
    return max(0, round(statistics.median(differences) / _CALLS))


def _nothing() -> None:
    return None


def _round_ns(call: object) -> int:
    start = time.perf_counter_ns()
    for _ in range(_CALLS):
        call()  # type: ignore[operator]  # a Hook or a function
    return time.perf_counter_ns() - start
