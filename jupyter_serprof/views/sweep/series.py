"""What a sweep over sizes says: medians, regimes and their breaks, held-out points, crossovers.

Fits and crossovers are those of the document. Names match ``labextension/src/sweep/series.ts``,
which reads the same one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jupyter_serprof.model.times import middle_ns, quartiles
from jupyter_serprof.views.sweep.runs import runs_of

if TYPE_CHECKING:
    from jupyter_serprof.model import Crossover, Finding, Fit, Holdout, Sweep, Variant

_KINDS = ("sweep", "chunks")
_CHUNK_RULE = "dask.chunk-sweep"


@dataclass(frozen=True, slots=True)
class SizePoint:
    """All runs of a variant at one size: their time, and the middle half or (of few) all."""

    size_bytes: int
    median_ns: float
    low_ns: float
    high_ns: float
    count: int


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
    regimes: tuple[Fit, ...]

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


def regimes_of(sweep: Sweep, key: str, *, cold: bool) -> tuple[Fit, ...]:
    """Return the regimes of the whole time of a variant, by size.

    None over the size of a chunk: there time falls and rises, which no law of growth says.
    """
    if sweep.kind == "chunks":
        return ()
    found = (fit for fit in sweep.fits if fit.variant == key and fit.cold is cold and not fit.stage)
    return tuple(sorted(found, key=lambda fit: fit.from_bytes))


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _break(before: Fit, after: Fit) -> Break:
    start, end = before.to_bytes, max(before.to_bytes, after.from_bytes)
    old, new = before.line_ns(end), after.line_ns(end)
    jump = new / old if old and new and old > 0 and new > 0 else 1.0
    return Break(start, end, after.cause, jump)


def crossovers(sweep: Sweep, *, cold: bool) -> list[Crossover]:
    """Return the crossovers, those with sizes first."""
    found = [each for each in sweep.crossovers if each.cold == cold]
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
