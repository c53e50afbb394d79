"""The fitted lines of a sweep, as its document holds them: each ends where measurements end.

Past its last size a line has at most one held-out point, and the error that it makes there.
Straight extrapolation is not offered: on real sweeps it missed the next decade by 13 to 92 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jupyter_serprof.analysis.sizes.curve import Curve, curve_of
from jupyter_serprof.analysis.sizes.fit import Regime, regimes
from jupyter_serprof.model import Fit, Holdout, Point

#: A held-out point farther out than this leaves a decade in between that was not measured.
_HOLDOUT_REACH = 10.5
#: Stages with less of the wall time than this, at every size, get no line.
_STAGE_SHARE = 0.05
_MEMORY = {1: "fresh pages", -1: "pages used again"}


def fits_of(points: Sequence[Point], *, holdout_bytes: int | None = None) -> tuple[Fit, ...]:
    """Return the lines of every variant and large stage, cold and warm, as a document holds them.

    Parameters
    ----------
    points
        The points of a sweep; three sizes at least, or there is no line.
    holdout_bytes
        A size that no line may use; each last line gets its error there. It is left out when it is
        more than ten times beyond the last size used.

    Returns
    -------
    tuple of Fit
        Small sizes first. Where no law can be told there is neither line nor exponent, and
        ``cause`` says why.
    """
    used = [point for point in points if point.size_bytes != holdout_bytes]
    held = [point for point in points if point.size_bytes == holdout_bytes]
    keys = sorted({(point.variant, point.cold) for point in points})
    lines: list[Fit] = []
    for variant, cold in keys:
        for stage in (None, *_large_stages(used, variant, cold=cold)):
            curve = curve_of(used, variant, cold=cold, stage=stage)
            found = regimes(curve)
            head = Fit(variant=variant, cold=cold, from_bytes=1, to_bytes=1, growth="")
            head = replace(head, stage=stage or "")
            entries = [
                _entry(head, regime, cause)
                for regime, cause in zip(found, _causes(curve, found), strict=True)
            ]
            error = _holdout(found, curve_of(held, variant, cold=cold, stage=stage))
            if error:
                entries[-1] = replace(entries[-1], holdout=error)
            lines += entries
    return tuple(lines)


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


def _entry(head: Fit, regime: Regime, cause: str) -> Fit:
    """Return a regime as a document holds it; a constant has no interval of its slope."""
    fixed, rate, power = regime.fixed_ns, regime.ns_per_byte, regime.exponent
    said = "; ".join(part for part in (cause, regime.doubt) if part)
    fit = replace(head, from_bytes=regime.from_bytes, to_bytes=regime.to_bytes)
    fit = replace(fit, growth=regime.growth, cause=said)
    if fixed and rate:
        fit = replace(fit, fixed_ns=fixed.value, fixed_low=fixed.low, fixed_high=fixed.high)
        fit = replace(fit, ns_per_byte=rate.value)
    if regime.growth == "linear" and rate:
        return replace(fit, low=rate.low, high=rate.high)
    if power is None:
        return fit
    return replace(fit, exponent=power.value, exponent_low=power.low, exponent_high=power.high)


def _holdout(found: Sequence[Regime], held: Curve) -> Holdout | None:
    """Return the error of the last line at the held-out size: below 0 it promises too little."""
    if not found or not held.sizes_bytes:
        return None
    size, measured_ns = held.sizes_bytes[-1], held.medians_ns[-1]
    said_ns = found[-1].line_ns(size)
    if said_ns is None or not 1 < size / found[-1].to_bytes <= _HOLDOUT_REACH:
        return None
    return Holdout(size, said_ns / measured_ns - 1)


def _causes(curve: Curve, found: Sequence[Regime]) -> list[str]:
    """Say what page faults did at the start of each regime but the first; "" where nothing."""
    starts = [curve.sizes_bytes.index(regime.from_bytes) for regime in found]
    return ["" if not number else _memory(curve, at) for number, at in enumerate(starts)]


def _memory(curve: Curve, start: int) -> str:
    """Name what page faults say; a break is known to one step of the grid."""
    near = [at for at in (start, start - 1, start + 1) if at < len(curve.sizes_bytes)]
    turns = [turn for at in near if (turn := curve.faults_turn(at))]
    return _MEMORY[turns[0]] if turns else ""
