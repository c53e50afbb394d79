"""The time of several runs: the one definition behind headline, row, ratio, picture and export.

It is the wall time of a run that was made, so that the stages of that run add up to it: the middle
one by time, of an even number the faster of the two in the middle. No number lies between two runs.
Where the runs fall into two groups, no single time tells them: it is then the middle run of the
larger group (the faster one of two as large), and `groups_text` tells both.

``labextension/src/core/times.ts`` holds the same definition for documents, which have the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from jupyter_serprof.model.units import format_count, format_ns

Measured = TypeVar("Measured")

#: Fewer runs have no quartiles: they would say little.
_QUARTILES_FROM = 4
#: Between groups nothing lies for so many times the time, and each has a fifth of the runs.
_GAP_RATIO = 1.5
_SMALLEST_GROUP_SHARE = 0.2
_FEWEST_RUNS = 2


def middle_run(runs: Iterable[Measured], time_of: Callable[[Measured], float]) -> Measured:
    """Return the run whose time is the time of all of them; there must be one at least."""
    groups = groups_of(runs, time_of)
    largest = max(groups, key=len)
    return largest[(len(largest) - 1) // 2]


def middle_ns(times: Iterable[float]) -> float:
    """Return the time of runs; an int of ints."""
    return middle_run(times, lambda time: time)


def groups_of(
    runs: Iterable[Measured], time_of: Callable[[Measured], float]
) -> list[list[Measured]]:
    """Return the runs by time: as one group, or as two with a gap between them."""
    ordered = sorted(runs, key=time_of)
    cut = _gap([time_of(run) for run in ordered])
    return [ordered[:cut], ordered[cut:]] if cut else [ordered]


def groups_text(times: Iterable[float]) -> str:
    """Return ``10.0 ms in 2 runs, 200 ms in 2`` of runs in two groups; nothing of one group."""
    fast, *slow = groups_of(times, lambda time: time)
    if not slow:
        return ""
    return (
        f"{format_ns(middle_ns(fast))} in {format_count(len(fast))} runs, "
        f"{format_ns(middle_ns(slow[0]))} in {format_count(len(slow[0]))}"
    )


def quartiles(times: Iterable[float]) -> tuple[float, float] | None:
    """Return the first and the third quartile (between neighbours linear); None below four."""
    ordered = sorted(times)
    if len(ordered) < _QUARTILES_FROM:
        return None
    return _at(ordered, 0.25), _at(ordered, 0.75)


def _at(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _gap(ordered: Sequence[float]) -> int | None:
    """Return how many runs are below the widest gap; None if it is no gap between groups."""
    least = max(_FEWEST_RUNS, math.ceil(_SMALLEST_GROUP_SHARE * len(ordered)))
    places = range(least, len(ordered) - least + 1)
    ratios = {at: ordered[at] / max(1.0, ordered[at - 1]) for at in places}
    widest = max(ratios, key=lambda at: ratios[at], default=None)
    return widest if widest is not None and ratios[widest] >= _GAP_RATIO else None
