"""The fitted lines of a sweep, as its document holds them: each ends where measurements end.

Straight extrapolation is not offered: on real sweeps it missed the next decade by 13 to 92 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jupyter_serprof.analysis.sizes.curve import Curve, curve_of
from jupyter_serprof.analysis.sizes.fit import pieces
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
        replace(piece, variant=variant, cold=cold, stage=stage or "", cause=_cause(curve, piece))
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


def _cause(curve: Curve, piece: Fit) -> str:
    """Say also what page faults did where a later piece starts; a break is known to one size."""
    start = curve.sizes_bytes.index(piece.from_bytes)
    near = [at for at in (start, start - 1, start + 1) if at < len(curve.sizes_bytes)]
    turns = [turn for at in near if start and (turn := curve.faults_turn(at))]
    return "; ".join(filter(None, (_MEMORY[turns[0]] if turns else "", piece.cause)))
