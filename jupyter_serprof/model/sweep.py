"""A Sweep: traces over variant x size x repeat, and the time of several runs of one.

It is the wall time of a run that was made, so that the stages of that run add up to it: the middle
one by time, of an even number the faster of the two in the middle; of two runs the slower one: that
the other will come again nobody knows. No number lies between two runs. Where the runs fall into
two groups, no single time tells them: it is then the middle run of the larger group (the faster one
of two as large), and `groups_text` tells both.

A document carries it (`SweepRuns`), so that the front end draws what is told and computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import TypeVar

from jupyter_serprof.model.errors import Displayed
from jupyter_serprof.model.trace import Comparison, Finding, Limits, Quality, Scalar, Summary, Trace
from jupyter_serprof.model.units import format_count, format_ns


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of doing the same thing: for a round trip, one transport.

    ``state``: ``ok``, ``failed``, ``not installed``, ``not running`` or ``skipped``.
    ``reason``: Why it is not ``ok``, one sentence with a remedy; empty otherwise.
    ``result``: What came back: ``zero-copy, read-only``, ``a copy, writeable``, ``aliases the
        original``.
    ``facts``: ``in_band_bytes``, ``out_of_band_bytes``, ``buffers``, ``minor_faults``, ``equal``
        ...
    ``buffers``: (size_bytes, place) of each large payload; place is ``in-band`` or ``out-of-band``.
    ``notes``: Sentences for the reader: a changed type, an unstable result.
    """

    key: str
    title: str
    state: str = "ok"
    reason: str = ""
    result: str = ""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    buffers: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_alias(self) -> bool:
        """Tell whether what came back lies in the memory of the original: it was not moved."""
        return self.facts.get("is_alias") is True

    @property
    def unranked(self) -> str:
        """Why its time is compared with none, as ``gave the same memory back``; "" if it is."""
        told = self.facts.get("unranked")
        return str(told) if told else "gave the same memory back" if self.is_alias else ""


@dataclass(frozen=True, slots=True)
class Point:
    """One run of one variant at one size.

    ``size_bytes`` is the size of the value; ``moved_bytes`` what was written on its road.
    ``stages`` gives the wall time owned by each stage (ns); what is missing is unaccounted.
    ``parameter`` is the number that was asked for: of elements, of rows, the chunk size.
    ``loops`` is how many runs one recording held, for runs of microseconds; all numbers are of one
    of them, rounded down. None: one.
    """

    variant: str
    size_bytes: int | None
    repeat: int
    cold: bool
    wall_ns: int
    moved_bytes: int | None
    stages: Mapping[str, int]
    minor_faults: int | None = None
    parameter: float | None = None
    loops: int | None = None


@dataclass(frozen=True, slots=True)
class SweepTrace:
    """The representative trace of one variant and size: the cold run, or the median warm one."""

    variant: str
    size_bytes: int | None
    cold: bool
    trace: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A stretch of sizes over which time is on one line, of a variant or one of its stages.

    ``stage``: Key of the stage; "" for the whole time.
    ``growth``: ``constant``, ``linear`` or ``cannot tell``.
    ``fixed_ns``, ``ns_per_byte``: The straight line, with the interval ``low`` to ``high`` of its
        slope; None where there is none.
    ``cause``: What is different from ``from_bytes`` on, or why nothing can be told; "": unknown.
    """

    variant: str
    cold: bool
    from_bytes: int
    to_bytes: int
    growth: str
    stage: str = ""
    fixed_ns: float | None = None
    ns_per_byte: float | None = None
    low: float | None = None
    high: float | None = None
    cause: str = ""

    def line_ns(self, size_bytes: float) -> float | None:
        """Return what the line says, ns; None where there is no straight line."""
        if self.fixed_ns is None or self.ns_per_byte is None:
            return None
        return self.fixed_ns + self.ns_per_byte * size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """Two measured sizes between which one variant overtakes another.

    ``faster`` and ``slower`` are the keys of the two beyond it.
    """

    title: str
    cold: bool
    from_bytes: int
    to_bytes: int
    faster: str = ""
    slower: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSize:
    """The recommended size of a sweep over chunks, and the sizes that are as good.

    ``parameter`` is what was asked for it; ``below`` and ``above`` name what limits on either side.
    """

    size_bytes: int
    low_bytes: int
    high_bytes: int
    parameter: float | None = None
    below: str = ""
    above: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sweep(Displayed):
    """Points over variant x size x repeat, and a representative trace for each variant and size.

    ``kind`` is ``roundtrip`` (one size), ``sweep`` (size of the value) or ``chunks`` (size of a
    chunk). ``parameter`` is the name of what was varied: ``n``, ``chunk``. ``control`` has the
    durations of fixed work between the warm runs (ns), in order, by kind; kinds of one name are the
    same work in every version.
    """

    name: str
    started: str
    kind: str = "roundtrip"
    parameter: str = ""
    producer: str = ""
    variants: tuple[Variant, ...] = ()
    points: tuple[Point, ...] = ()
    traces: tuple[SweepTrace, ...] = ()
    fits: tuple[Fit, ...] = ()
    crossovers: tuple[Crossover, ...] = ()
    best: BestSize | None = None
    summary: Summary | None = None
    findings: tuple[Finding, ...] = ()
    comparison: Comparison | None = None
    control: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    quality: Quality = field(default_factory=Quality)
    environment: Mapping[str, Scalar] = field(default_factory=dict)


Measured = TypeVar("Measured")


@dataclass(frozen=True, slots=True)
class SweepRuns:
    """All runs of a variant at one size, cold or warm: a line of a table, a mark of a curve.

    ``points``: Places in the points of the sweep, by time.
    ``middle``: Place of the one whose time is that of all.
    ``quartiles_ns``: First and third quartile of the times; None below four.
    ``groups``: Both times of runs in two groups, in words; empty otherwise.
    ``stages``: (time, low, high) of each stage of the one in the middle; empty of a single run.
    """

    variant: str
    size_bytes: int | None
    cold: bool
    points: tuple[int, ...]
    middle: int
    quartiles_ns: tuple[int, int] | None = None
    groups: str = ""
    stages: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)


def runs_of(sweep: Sweep) -> list[SweepRuns]:
    """Return the runs of a sweep by variant, sizes ascending, warm before cold."""
    known: dict[tuple[str, int, bool], list[int]] = {}
    for place, point in enumerate(sweep.points):
        known.setdefault((point.variant, point.size_bytes or 0, point.cold), []).append(place)
    return [_runs(sweep.points, known[key]) for key in sorted(known)]


def _runs(points: Sequence[Point], places: Iterable[int]) -> SweepRuns:
    ordered = tuple(sorted(places, key=lambda place: points[place].wall_ns))
    middle = middle_run(ordered, lambda place: points[place].wall_ns)
    own = [points[place] for place in ordered]
    walls = [point.wall_ns for point in own]
    keys = {key: None for point in own for key in point.stages} if len(own) > 1 else {}
    times = {key: [ns for point in own if (ns := point.stages.get(key, 0)) > 0] for key in keys}
    shown = {key: points[middle].stages.get(key, 0) for key in times}
    ends = {key: (shown[key], spread(each)) for key, each in times.items() if shown[key] > 0}
    stages = {key: (ns, min(ns, low), max(ns, high)) for key, (ns, (low, high)) in ends.items()}
    first, quarters = own[0], quartiles(walls)
    known = (first.variant, first.size_bytes, first.cold, ordered, middle)
    return SweepRuns(*known, quarters, groups_text(walls), stages)


def spread(times: Sequence[float]) -> tuple[int, int]:
    """Return the middle half of times, of fewer than four all of them; there must be one."""
    return quartiles(times) or (round(min(times)), round(max(times)))


#: Fewer runs have no quartiles: they would say little.
_QUARTILES_FROM = 4
#: Between groups nothing lies over this multiple of the time, and each has a fifth of the runs.
_GAP_RATIO = 1.5
_SMALLEST_GROUP_SHARE = 0.2
_FEWEST_RUNS = _TWO = 2


def middle_run(runs: Iterable[Measured], time_of: Callable[[Measured], float]) -> Measured:
    """Return the run whose time is the time of all of them; there must be one at least."""
    fast, *slow = groups_of(runs, time_of)
    return fast[1] if len(fast) == _TWO and not slow else _middle(max((fast, *slow), key=len))


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


def _middle(group: Sequence[Measured]) -> Measured:
    return group[(len(group) - 1) // 2]


def groups_text(times: Iterable[float]) -> str:
    """Return ``10.0 ms in 2 runs, 200 ms in 2`` of runs in two groups; nothing of one group."""
    fast, *slow = groups_of(times, lambda time: time)
    if not slow:
        return ""
    return (
        f"{format_ns(_middle(fast))} in {format_count(len(fast))} runs, "
        f"{format_ns(_middle(slow[0]))} in {format_count(len(slow[0]))}"
    )


def quartiles(times: Iterable[float]) -> tuple[int, int] | None:
    """Return the first and the third quartile (between neighbours linear); None below four."""
    ordered = list(times)
    if len(ordered) < _QUARTILES_FROM:
        return None
    # Of numbers beyond 2**53 a mean may be rounded above all of them.
    low, _, high = (min(each, max(ordered)) for each in quantiles(ordered, n=4, method="inclusive"))
    return round(low), round(high)


def _gap(ordered: Sequence[float]) -> int | None:
    """Return how many runs are below the widest gap; None if it is no gap between groups."""
    least = max(_FEWEST_RUNS, math.ceil(_SMALLEST_GROUP_SHARE * len(ordered)))
    places = range(least, len(ordered) - least + 1)
    ratios = {at: ordered[at] / max(1.0, ordered[at - 1]) for at in places}
    widest = max(ratios, key=lambda at: ratios[at], default=None)
    return widest if widest is not None and ratios[widest] >= _GAP_RATIO else None
