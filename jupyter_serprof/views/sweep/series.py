"""The series of a sweep over sizes and its sentences: lines, breaks, crossovers.

Fits and crossovers are those of the document. Names match ``labextension/src/sweep/series.ts``,
which reads the same one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jupyter_serprof.model.sweep import groups_text, middle_ns, spread
from jupyter_serprof.model.units import (
    clean,
    counted,
    format_bytes,
    format_ns,
    format_rate,
)
from jupyter_serprof.views.sweep.runs import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_serprof.model import Crossover, Fit, Sweep, Variant

_KINDS = ("sweep", "chunks")
_CHUNK_RULE = "dask.chunk-sweep"


@dataclass(frozen=True, slots=True)
class SizePoint:
    """All runs of a variant at one size: their time, and the middle half or (of few) all.

    ``groups`` gives both times of runs in two groups, in words; empty otherwise.
    """

    size_bytes: int
    median_ns: float
    low_ns: float
    high_ns: float
    count: int
    groups: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """Where a line breaks: between the last size of one piece and the first of the next.

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
    pieces: tuple[Fit, ...]

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Return the breaks between its pieces."""
        return tuple(_break(*pair) for pair in pairwise(self.pieces))

    @property
    def is_alias(self) -> bool:
        """Tell whether its result is the value itself: it moves nothing and has no rate."""
        return self.variant.is_alias


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
            found.append(Series(variant, cold, points, pieces_of(sweep, variant.key, cold=cold)))
    return found


def _size_point(size_bytes: int, walls_ns: tuple[int, ...]) -> SizePoint:
    middle, groups = middle_ns(walls_ns), groups_text(walls_ns)
    return SizePoint(size_bytes, middle, *spread(walls_ns), len(walls_ns), groups)


def pieces_of(sweep: Sweep, key: str, *, cold: bool) -> tuple[Fit, ...]:
    """Return the pieces of the whole time of a variant, by size.

    None over the size of a chunk: there time falls and rises.
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


def decades(values: Iterable[float]) -> tuple[int, int]:
    """Return the powers of ten around all values."""
    logs = [math.log10(value) for value in values if value > 0]
    low = math.floor(min(logs) + 1e-9)
    return low, max(low + 1, math.ceil(max(logs) - 1e-9))


def crossovers(sweep: Sweep, *, cold: bool) -> list[Crossover]:
    """Return the crossovers of cold or of warm runs."""
    return [each for each in sweep.crossovers if each.cold == cold]


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
    for finding in sweep.findings:
        told = finding.evidence
        sizes = [_number(told.get(key)) or 0 for key in ("best_bytes", "low_bytes", "high_bytes")]
        if finding.rule == _CHUNK_RULE and min(sizes) > 0:
            best, low, high = map(int, sizes)
            words = (
                str(told.get(key) or "") for key in ("parameter", "limits_below", "limits_above")
            )
            return Best(best, low, max(low, high), _number(told.get("best")), *words)
    return None


_WHOLE = 1e-9


def growth_lines(series: Series) -> list[str]:
    """Return a sentence for each piece of a line."""
    if not series.pieces:
        count = len(series.points)
        few = ", three are needed" if count < 3 else ""  # noqa: PLR2004
        return [f"{counted(count, 'size')}: no line{few}"]
    return [_piece_text(piece, is_alias=series.is_alias) for piece in series.pieces]


def _piece_text(piece: Fit, *, is_alias: bool) -> str:
    ends = (format_bytes(piece.from_bytes), format_bytes(piece.to_bytes))
    sizes = " to ".join(ends if piece.from_bytes < piece.to_bytes else ends[:1])
    cause = f" ({clean(piece.cause)})" if piece.cause else ""
    return f"{sizes}: {_line_text(piece, is_alias=is_alias)}{cause}"


def _line_text(piece: Fit, *, is_alias: bool) -> str:
    """Say what a run costs whatever its size, and how fast its bytes go."""
    if piece.fixed_ns is None or piece.ns_per_byte is None:
        return piece.growth
    if piece.growth == "constant" or piece.ns_per_byte <= 0:
        return f"{format_ns(piece.fixed_ns)} at every size"
    if is_alias:
        return "longer for more bytes; nothing is moved, so there is no rate"
    fixed = f"{format_ns(piece.fixed_ns)} + " if piece.fixed_ns > 0 else ""
    return f"{fixed}{format_rate(1e9 / piece.ns_per_byte)}{_interval(piece)}"


def _interval(piece: Fit) -> str:
    if not piece.low or not piece.high or piece.low <= 0:
        return ""
    return f" [{format_rate(1e9 / piece.high)}, {format_rate(1e9 / piece.low)}]"


def crossover_lines(sweep: Sweep, *, cold: bool) -> Iterator[str]:
    """Yield where one way overtakes another, cold or warm."""
    mark = "cold: " if cold else ""
    for each in crossovers(sweep, cold=cold):
        sizes = f"{format_bytes(each.from_bytes)} and {format_bytes(each.to_bytes)}"
        yield f"{mark}{clean(each.title)} between {sizes}"


def chunk_line(sweep: Sweep) -> str:
    """Return the recommended chunk, its interval and what limits on either side; "" without one."""
    best = best_chunk(sweep)
    if best is None:
        return ""
    name = best.parameter or sweep.parameter
    asked = f"{name} = {plain_number(best.best)}, " if name and best.best is not None else ""
    sizes = f"{format_bytes(best.low_bytes)} to {format_bytes(best.high_bytes)}"
    below = f"; below it {clean(best.limits_below)} limits" if best.limits_below else ""
    above = f"; above it {clean(best.limits_above)} limits" if best.limits_above else ""
    return f"best chunk: {asked}{format_bytes(best.best_bytes)} [{sizes}]{below}{above}"


def plain_number(number: float) -> str:
    """Return a number as it was typed: without a point where it is whole."""
    return (
        f"{number:,.0f}"
        if abs(number - round(number)) <= _WHOLE * abs(number)
        else f"{number:,.3g}"
    )
