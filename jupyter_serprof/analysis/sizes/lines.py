"""The fitted lines of a sweep, as its document holds them: each ends where measurements end.

Straight extrapolation is not offered: on real sweeps it missed the next decade by 13 to 92 %.
"""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_serprof.analysis.sizes.curve import Curve, curve_of
from jupyter_serprof.analysis.sizes.fit import LinePiece, pieces
from jupyter_serprof.model import Fit, Point

#: Stages with less of the wall time than this, at every size, get no line.
_STAGE_SHARE = 0.05
_MEMORY = {1: "new memory pages", -1: "memory pages used again"}


def fits_of(points: Sequence[Point]) -> tuple[Fit, ...]:
    """Return the lines of every variant and large stage, cold and warm, as a document holds them.

    Small sizes first; three sizes at least, or there is no line. Where none can be told ``cause``
    says why.
    """
    return tuple(
        _entry(curve, piece, variant, stage, cold=cold)
        for variant, cold in sorted({(point.variant, point.cold) for point in points})
        for stage in (None, *_large_stages(points, variant, cold=cold))
        for curve in [curve_of(points, variant, cold=cold, stage=stage)]
        for piece in pieces(curve)
    )


def _large_stages(points: Sequence[Point], variant: str, *, cold: bool) -> list[str]:
    chosen = [point for point in points if point.variant == variant and point.cold == cold]
    return sorted(
        {
            stage
            for point in chosen
            for stage, self_ns in point.stages.items()
            if self_ns >= _STAGE_SHARE * point.wall_ns > 0
        }
    )


def _entry(curve: Curve, piece: LinePiece, variant: str, stage: str | None, *, cold: bool) -> Fit:
    """Return a piece as a document holds it; a constant has no interval of its slope."""
    rate, is_line = piece.ns_per_byte, piece.growth == "linear"
    return Fit(
        variant=variant,
        cold=cold,
        from_bytes=piece.from_bytes,
        to_bytes=piece.to_bytes,
        growth=piece.growth,
        stage=stage or "",
        fixed_ns=piece.fixed_ns,
        ns_per_byte=rate.value if rate else None,
        low=rate.low if rate and is_line else None,
        high=rate.high if rate and is_line else None,
        cause="; ".join(filter(None, (_memory(curve, piece), piece.doubt))),
    )


def _memory(curve: Curve, piece: LinePiece) -> str:
    """Say what page faults did where a later piece starts; a break is known to one size."""
    start = curve.sizes_bytes.index(piece.from_bytes)
    near = [at for at in (start, start - 1, start + 1) if at < len(curve.sizes_bytes)]
    turns = [turn for at in near if start and (turn := curve.faults_turn(at))]
    return _MEMORY[turns[0]] if turns else ""
