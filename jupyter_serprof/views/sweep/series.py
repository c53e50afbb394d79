"""The series of a sweep over sizes and its sentences: lines, crossovers, the best chunk.

Fits and crossovers are those of the document. Names match ``labextension/src/sweep/series.ts``,
which reads the same one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import clean, counted, format_bytes, format_ns, format_rate
from jupyter_serprof.views.sweep.runs import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_serprof.model import Fit, Sweep, Variant
    from jupyter_serprof.views.sweep.runs import Bar

_KINDS = ("sweep", "chunks")


@dataclass(frozen=True, slots=True)
class Series:
    """The line of a variant, cold or warm: its runs by size, and the pieces of the line."""

    variant: Variant
    cold: bool
    points: tuple[Bar, ...]
    pieces: tuple[Fit, ...]


def is_over_sizes(sweep: Sweep) -> bool:
    """Tell whether a sweep is one over sizes, and has two of them at least."""
    sizes = {point.size_bytes for point in sweep.points if point.size_bytes and point.wall_ns > 0}
    return sweep.kind in _KINDS and len(sizes) > 1


def series_of(sweep: Sweep, *, cold: bool) -> list[Series]:
    """Return the lines of a sweep, of the variants that were measured, in their order."""
    found = []
    for variant in sweep.variants:
        points = tuple(
            run
            for run in runs_of(sweep, variant)
            if run.cold == cold and run.size_bytes and run.walls_ns[0] > 0
        )
        if points:
            found.append(Series(variant, cold, points, pieces_of(sweep, variant.key, cold=cold)))
    return found


def pieces_of(sweep: Sweep, key: str, *, cold: bool) -> tuple[Fit, ...]:
    """Return the pieces of the whole time of a variant, by size.

    None over the size of a chunk: there time falls and rises.
    """
    if sweep.kind == "chunks":
        return ()
    found = (fit for fit in sweep.fits if fit.variant == key and fit.cold is cold and not fit.stage)
    return tuple(sorted(found, key=lambda fit: fit.from_bytes))


def decades(values: Iterable[float]) -> tuple[int, int]:
    """Return the powers of ten around all values."""
    logs = [math.log10(value) for value in values if value > 0]
    low = math.floor(min(logs) + 1e-9)
    return low, max(low + 1, math.ceil(max(logs) - 1e-9))


_WHOLE = 1e-9


def growth_lines(series: Series) -> list[str]:
    """Return a sentence for each piece of a line."""
    if not series.pieces:
        count = len(series.points)
        few = ", three are needed" if count < 3 else ""  # noqa: PLR2004
        return [f"{counted(count, 'size')}: no line{few}"]
    return [_piece_text(piece, is_alias=series.variant.is_alias) for piece in series.pieces]


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
    for each in (turn for turn in sweep.crossovers if turn.cold == cold):
        sizes = f"{format_bytes(each.from_bytes)} and {format_bytes(each.to_bytes)}"
        yield f"{mark}{clean(each.title)} between {sizes}"


def chunk_line(sweep: Sweep) -> str:
    """Return the recommended chunk, its interval and what limits on either side; "" without one."""
    best = sweep.best
    if best is None:
        return ""
    number = None if best.parameter is None else plain_number(best.parameter)
    asked = f"{sweep.parameter} = {number}, " if sweep.parameter and number else ""
    sizes = f"{format_bytes(best.low_bytes)} to {format_bytes(best.high_bytes)}"
    limits = (("below", best.below), ("above", best.above))
    said = "".join(f"; {side} it {clean(why)} limits" for side, why in limits if why)
    return f"best chunk: {asked}{format_bytes(best.size_bytes)} [{sizes}]{said}"


def plain_number(number: float) -> str:
    """Return a number as it was typed: without a point where it is whole."""
    return (
        f"{number:,.0f}"
        if abs(number - round(number)) <= _WHOLE * abs(number)
        else f"{number:,.3g}"
    )
