"""What a sweep over sizes says: medians, regimes and their breaks, held-out points, crossovers.

Fits and crossovers are read as the document has them; what lacks a number is left out. Names match
``labextension/src/core/series.ts``, which reads the same document.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from jupyter_serprof.model.times import middle_ns, quartiles
from jupyter_serprof.views.sweep.runs import runs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_serprof.model import Finding, Sweep, Variant

_KINDS = ("sweep", "chunks")
_CHUNK_RULE = "dask.chunk-sweep"
_LINE = {"fixed_ns", "ns_per_byte"}
_WITHOUT_LINE = ("superlinear", "sublinear", "cannot tell")


@dataclass(frozen=True, slots=True)
class SizePoint:
    """All runs of a variant at one size: their time, and the middle half or (of few) all."""

    size_bytes: int
    median_ns: float
    low_ns: float
    high_ns: float
    count: int


@dataclass(frozen=True, slots=True)
class Regime:
    """A stretch of sizes over which time grows by one law, ``fixed_ns + ns_per_byte * size``.

    Both are None for a power, which has an ``exponent`` of time over size, and where nothing can be
    told; ``cause`` says what is different from ``from_bytes`` on, or why nothing can be told.
    """

    from_bytes: int
    to_bytes: int
    fixed_ns: float | None
    ns_per_byte: float | None
    growth: str
    exponent: float | None
    low: float | None
    high: float | None
    cause: str
    holdout: Holdout | None

    def line_ns(self, size_bytes: float) -> float | None:
        """Return what the line says, ns; None where there is no straight line."""
        if self.fixed_ns is None or self.ns_per_byte is None:
            return None
        return self.fixed_ns + self.ns_per_byte * size_bytes


@dataclass(frozen=True, slots=True)
class Holdout:
    """A size that was measured and not used for the line; below 0 the line promises too little."""

    size_bytes: int
    error_share: float


@dataclass(frozen=True, slots=True)
class Break:
    """Where a line breaks: between the last size of one regime and the first of the next.

    ``jump`` is how many times longer it takes behind the break.
    """

    from_bytes: int
    to_bytes: int
    cause: str
    jump: float


@dataclass(frozen=True, slots=True)
class Series:
    """The line of a variant, cold or warm."""

    variant: Variant
    cold: bool
    points: tuple[SizePoint, ...]
    regimes: tuple[Regime, ...]

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Return the breaks between its regimes."""
        return tuple(_break(*pair) for pair in pairwise(self.regimes))

    @property
    def is_alias(self) -> bool:
        """Tell whether its result is the value itself: it moves nothing and has no rate."""
        return self.variant.is_alias

    @property
    def held(self) -> Holdout | None:
        """Return the held-out point of its last regime."""
        return self.regimes[-1].holdout if self.regimes else None


def is_over_sizes(sweep: Sweep) -> bool:
    """Tell whether a sweep is one over sizes, and has two of them at least."""
    sizes = {point.size_bytes for point in sweep.points if point.size_bytes and point.wall_ns > 0}
    return sweep.kind in _KINDS and len(sizes) > 1


def series_of(sweep: Sweep, *, cold: bool) -> list[Series]:
    """Return the lines of a sweep, of the variants that were measured, in their order."""
    found = []
    for variant in sweep.variants:
        points = tuple(
            _size_point(run.point.size_bytes, run.walls_ns)
            for run in runs_of(sweep, variant)
            if run.cold == cold and run.point.size_bytes and run.walls_ns[0] > 0
        )
        if points:
            found.append(Series(variant, cold, points, regimes_of(sweep, variant.key, cold=cold)))
    return found


def _size_point(size_bytes: int, walls_ns: tuple[int, ...]) -> SizePoint:
    low, high = quartiles(walls_ns) or (walls_ns[0], walls_ns[-1])
    return SizePoint(size_bytes, middle_ns(walls_ns), low, high, len(walls_ns))


def regimes_of(sweep: Sweep, key: str, *, cold: bool) -> tuple[Regime, ...]:
    """Return the regimes of the whole time of a variant, by size.

    None over the size of a chunk: there time falls and rises, which no law of growth says.
    """
    if sweep.kind == "chunks":
        return ()
    found = (
        _regime(fit)
        for fit in sweep.fits
        if fit.get("variant") == key and fit.get("cold") is cold and not fit.get("stage")
    )
    return tuple(sorted((r for r in found if r), key=lambda regime: regime.from_bytes))


def _regime(fit: Mapping[str, Any]) -> Regime | None:
    sizes = [_number(fit.get(key)) for key in ("from_bytes", "to_bytes")]
    fixed, rate = _number(fit.get("fixed_ns")), _number(fit.get("ns_per_byte"))
    has_line = fixed is not None and rate is not None
    is_curved = fit.get("growth") in _WITHOUT_LINE and not fit.keys() & _LINE
    if not (has_line or is_curved) or not all(size and size > 0 for size in sizes):
        return None
    low, high = (int(size or 0) for size in sizes)
    limits = _number(fit.get("low")), _number(fit.get("high"))
    growth, cause = str(fit.get("growth") or ""), str(fit.get("cause") or "")
    exponent, held = _number(fit.get("exponent")), _holdout(fit.get("holdout"))
    return Regime(low, high, fixed, rate, growth, exponent, *limits, cause, held)


def _holdout(entry: object) -> Holdout | None:
    if not hasattr(entry, "get"):
        return None
    size, error = _number(entry.get("size_bytes")), _number(entry.get("error_share"))
    return Holdout(int(size), error) if size and size > 0 and error is not None else None


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _break(before: Regime, after: Regime) -> Break:
    start, end = before.to_bytes, max(before.to_bytes, after.from_bytes)
    old, new = before.line_ns(end), after.line_ns(end)
    jump = new / old if old and new and old > 0 and new > 0 else 1.0
    return Break(start, end, after.cause, jump)


@dataclass(frozen=True, slots=True)
class Crossover:
    """Two measured sizes between which one variant overtakes another; None: cannot tell."""

    title: str
    cold: bool
    from_bytes: int | None
    to_bytes: int | None


def crossovers(sweep: Sweep, *, cold: bool) -> list[Crossover]:
    """Return the crossovers, those with sizes first."""
    found = []
    for entry in sweep.crossovers:
        low, high = _number(entry.get("from_bytes")), _number(entry.get("to_bytes"))
        is_told = low is not None and high is not None and 0 < low <= high
        sizes = (int(low), int(high)) if is_told and low and high else (None, None)
        title = entry.get("title")
        if title and (entry.get("cold") is True) == cold:
            found.append(Crossover(str(title), cold, *sizes))
    return sorted(found, key=lambda each: each.from_bytes is None)


@dataclass(frozen=True, slots=True)
class Best:
    """The recommended chunk: its size, the interval of it, and what limits on either side."""

    best_bytes: int
    low_bytes: int
    high_bytes: int
    best: float | None
    parameter: str
    limits_below: str
    limits_above: str


def best_chunk(sweep: Sweep) -> Best | None:
    """Return what the finding about a sweep of chunks says; None without one."""
    found = (each for each in sweep.findings if each.rule == _CHUNK_RULE)
    return next((best for each in found if (best := _best(each))), None)


def _best(finding: Finding) -> Best | None:
    evidence = finding.evidence
    sizes = [_number(evidence.get(key)) for key in ("best_bytes", "low_bytes", "high_bytes")]
    if not all(size and size > 0 for size in sizes):
        return None
    best, low, high = (int(size or 0) for size in sizes)
    words = (str(evidence.get(key) or "") for key in ("parameter", "limits_below", "limits_above"))
    return Best(best, low, max(low, high), _number(evidence.get("best")), *words)
