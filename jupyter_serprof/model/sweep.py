"""A Sweep: traces over variant x size x repeat. A round trip is a sweep with one size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_serprof.model.trace import (
    Comparison,
    Finding,
    Limits,
    Quality,
    Scalar,
    Summary,
    Trace,
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of doing the same thing: for a round trip, one transport.

    Attributes
    ----------
    state
        ``ok``, ``failed``, ``not installed``, ``not running`` or ``skipped``.
    reason
        Why it is not ``ok``, one sentence with a remedy; empty otherwise.
    result
        What came back: ``zero-copy, read-only``, ``a copy, writeable``, ``aliases the original``.
    facts
        ``in_band_bytes``, ``out_of_band_bytes``, ``buffers``, ``minor_faults``, ``equal`` ...
    buffers
        (size_bytes, place) of each large payload; place is ``in-band`` or ``out-of-band``.
    notes
        Sentences for the reader: a changed type, an unstable result.
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
        # Older documents say it with the result alone.
        return self.facts.get("is_alias", "aliases the original" in self.result) is True

    @property
    def unranked(self) -> str:
        """Why its time is compared with nobody's, as ``gave the same memory back``; "" if it is."""
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


@dataclass(frozen=True, slots=True)
class Holdout:
    """A size that was measured and not used for a line; below 0 the line promises too little."""

    size_bytes: int
    error_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A stretch of sizes over which time grows by one law, of a variant or one of its stages.

    Attributes
    ----------
    stage
        Key of the stage; "" for the whole time.
    growth
        ``constant``, ``linear``, ``superlinear``, ``sublinear`` or ``cannot tell``.
    fixed_ns, ns_per_byte
        The straight line, with the intervals ``fixed_low``, ``fixed_high``, ``low`` and ``high``;
        None where there is none.
    exponent
        Of time over size, with its interval; None for a constant and for few sizes.
    cause
        What is different from ``from_bytes`` on, or why nothing can be told; "": nobody knows.
    """

    variant: str
    cold: bool
    from_bytes: int
    to_bytes: int
    growth: str
    stage: str = ""
    fixed_ns: float | None = None
    ns_per_byte: float | None = None
    fixed_low: float | None = None
    fixed_high: float | None = None
    low: float | None = None
    high: float | None = None
    exponent: float | None = None
    exponent_low: float | None = None
    exponent_high: float | None = None
    cause: str = ""
    holdout: Holdout | None = None

    def line_ns(self, size_bytes: float) -> float | None:
        """Return what the line says, ns; None where there is no straight line."""
        if self.fixed_ns is None or self.ns_per_byte is None:
            return None
        return self.fixed_ns + self.ns_per_byte * size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """Two measured sizes between which one variant overtakes another.

    ``faster`` and ``slower`` are the keys of the two beyond it. Both sizes are None where the
    medians change places but the runs cannot tell.
    """

    title: str
    cold: bool
    faster: str = ""
    slower: str = ""
    from_bytes: int | None = None
    to_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
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
    summary: Summary | None = None
    findings: tuple[Finding, ...] = ()
    comparison: Comparison | None = None
    control: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    quality: Quality = field(default_factory=Quality)
    environment: Mapping[str, Scalar] = field(default_factory=dict)
