"""Straight pieces of a curve: a fixed time and a rate, from one measured size to another.

Method: a curve is cut into pieces ``fixed + rate * size``, so that the misfit plus a price for each
piece is least (dynamic programming over all cuts). Errors are relative, as they are with times. The
misfit is measured in units of the noise: the spread of the runs, or how much neighbouring sizes
disagree where that is more. A cut where page faults per byte change is cheaper.

No line is told where it would not hold: over fewer than three sizes, where it misses its own
points, and where its slope may be 0 as well as not.

What it cannot see: a piece of fewer than three sizes (two at the end, if page faults change there);
anything beyond the last size; noise that differs from size to size, which is taken as equal
everywhere; a power or a logarithm, which come out as several pieces.
``tests/benchmarks/fit_calibration.py`` says how often it is right. Straight extrapolation is not
offered: on real sweeps it missed the next decade by 13 to 92 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.sizes.curve import Curve, curve_of
from jupyter_serprof.model import Fit, Point

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Sizes in a piece, at least; the last one or two may stand apart from those before.
SHORTEST = 3
#: Sizes before a last one that stands apart: fewer do not tell what the noise is.
_SHORTEST_BEFORE_LAST = 4
#: Price of a number and of a cut, in squared units of noise. One more number lowers the misfit of a
#: true model by more than 7 in 1 of 120 cases.
_NUMBER_PRICE, _CUT_PRICE, _FAULTS_CUT_PRICE = 7.0, 4.0, -6.0
#: Noise of a median, at least; and where nothing tells it.
_LEAST_NOISE, _ASSUMED_NOISE = 0.005, 0.05
#: What grows by more over its sizes is not called flat, nor what varies by more, however noisy.
_FLAT_CHANGE, _FLAT_RATIO = 1.5, 2.0
#: A line that misses half of its points, or one of them, by more (ratios) is none.
_MISSED_HALF, _MISSED_ONE = 1.35, 2.0
_CONFIDENCE, _ITERATIONS, _MOST_FREEDOM, _HALVINGS = 0.95, 8, 1_000, 60
UNTOLD = "cannot tell"


@dataclass(frozen=True, slots=True)
class _Cut:
    """Sizes ``start`` to ``stop`` (exclusive), with the line that suits them best."""

    start: int
    stop: int
    fixed_ns: float
    ns_per_byte: float
    misfit: float
    rate_error: float

    @property
    def numbers(self) -> int:
        return min(2, self.stop - self.start)


def pieces(curve: Curve) -> tuple[Fit, ...]:
    """Return the straight pieces of a curve, small sizes first; none for fewer than three sizes.

    ``low`` to ``high`` is the 95 % interval of a slope above 0; ``cause`` says why nothing can be
    told. In a later piece ``fixed_ns`` is no cost of a call, and it may be below 0.
    """
    if len(curve.sizes_bytes) < SHORTEST:
        return ()
    noise = _noise(curve)
    cuts = _best_cuts(curve, noise)
    scale = _interval_scale(curve, cuts, noise)
    return _joined([_piece(curve, cut, noise, scale) for cut in cuts])


def _joined(found: Sequence[Fit]) -> tuple[Fit, ...]:
    """Return pieces where those of which nothing can be told are one: nothing parts them."""
    joined: list[Fit] = []
    for piece in found:
        if joined and joined[-1].growth == piece.growth == UNTOLD:
            joined[-1] = replace(joined[-1], to_bytes=piece.to_bytes)
        else:
            joined.append(piece)
    return tuple(joined)


@cache
def t_quantile(freedom: int, confidence: float = _CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t, for 1 to 1,000 degrees of freedom.

    More of them count as 1,000: an interval is 0.5 % too wide at most.
    Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    count = min(max(1, freedom), _MOST_FREEDOM)
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        low, high = (angle, high) if _likely(angle, count) < confidence else (low, angle)
    return math.sqrt(count) * math.tan(low)


def _likely(angle: float, freedom: int) -> float:
    is_odd, cosine = freedom % 2, math.cos(angle)
    term = math.sin(angle) * cosine**is_odd
    total = term if freedom > 1 else 0.0
    for number in range(1 + is_odd, freedom - 2, 2):
        term *= cosine**2 * number / (number + 1)
        total += term
    return 2 / math.pi * (angle + total) if is_odd else total


def _noise(curve: Curve) -> float:
    """Return the relative noise of a median: of the runs, or between neighbouring sizes."""
    import numpy as np

    known = [_LEAST_NOISE]
    of_runs = curve.noise_share(float(np.median(curve.counts)))
    known += [] if of_runs is None else [of_runs]
    size_count = len(curve.sizes_bytes)
    windows = [(at, at + 4) for at in range(size_count - 3)] if size_count > SHORTEST + 1 else []
    # Where page faults change, neighbours disagree for another reason than noise.
    windows = [(a, z) for a, z in windows if not any(map(curve.faults_turn, range(a + 1, z)))]
    if windows:
        misfits = [cut.misfit for cut in _lines(curve, windows, has_free_start=True)]
        # Two degrees of freedom each: the median of a chi-square over them is ln 2.
        known.append(math.sqrt(float(np.median(misfits)) / 2 / math.log(2)))
    return max(known) if len(known) > 1 else _ASSUMED_NOISE


def _best_cuts(curve: Curve, noise: float) -> list[_Cut]:
    size_count = len(curve.sizes_bytes)
    best: dict[int, tuple[float, list[_Cut]]] = {0: (0.0, [])}
    by_stop: dict[int, list[_Cut]] = {}
    for cut in _lines(curve, _spans(curve)):
        by_stop.setdefault(cut.stop, []).append(cut)
    for stop in range(SHORTEST, size_count + 1):
        options = [
            (best[cut.start][0] + _price(curve, cut, noise), [*best[cut.start][1], cut])
            for cut in by_stop.get(stop, ())
            if cut.start in best
        ]
        best[stop] = min(options, key=lambda option: option[0])
    return best[size_count][1]


def _spans(curve: Curve) -> list[tuple[int, int]]:
    size_count = len(curve.sizes_bytes)
    spans = [
        (start, stop)
        for start in range(size_count)
        for stop in range(start + SHORTEST, size_count + 1)
    ]
    for start in (size_count - 2, size_count - 1):
        is_turn = start >= SHORTEST and curve.faults_turn(start)
        if is_turn or start == size_count - 1 >= _SHORTEST_BEFORE_LAST:
            spans.append((start, size_count))
    return spans


def _price(curve: Curve, cut: _Cut, noise: float) -> float:
    price = cut.misfit / noise**2 + _NUMBER_PRICE * cut.numbers
    if cut.start == 0:
        return price
    if not curve.faults_turn(cut.start):
        return price + _CUT_PRICE
    # One number less than a line has is saved already.
    return price + (_FAULTS_CUT_PRICE if cut.numbers > 1 else 0.0)


def _lines(
    curve: Curve, spans: Sequence[tuple[int, int]], *, has_free_start: bool = False
) -> list[_Cut]:
    """Return the line of each stretch of sizes; its slope is 0 or above."""
    # So is its fixed part where it begins at the first size, but not with ``has_free_start``.
    # Relative least squares by weights of one over the fitted time, squared, until they settle.
    import numpy as np

    sizes, times = np.array(curve.sizes_bytes, float), np.array(curve.medians_ns)
    x = sizes / sizes[-1]
    starts, stops = np.array(spans).T[:, :, None]
    inside = (np.arange(sizes.size) >= starts) & (np.arange(sizes.size) < stops)
    is_bound = (starts[:, 0] == 0) & (not has_free_start)
    fitted: Floats = np.broadcast_to(times, inside.shape)
    for _ in range(_ITERATIONS):
        v = inside / fitted**2
        s0, s1, s2 = v.sum(-1), (v * x).sum(-1), (v * x * x).sum(-1)
        y0, y1 = (v * times).sum(-1), (v * x * times).sum(-1)
        area = np.maximum(s0 * s2 - s1**2, 1e-12 * s0 * s2)
        slope = np.maximum(0.0, (s0 * y1 - s1 * y0) / area)
        fixed = (y0 - slope * s1) / s0
        is_low = (fixed < 0) & is_bound
        fixed, slope = np.where(is_low, 0.0, fixed), np.where(is_low, y1 / s2, slope)
        fitted = np.maximum(fixed[:, None] + slope[:, None] * x, 1e-6 * times)
    misfits = (inside * np.log(times / fitted) ** 2).sum(-1)
    errors = np.sqrt(s0 / area)
    columns = (fixed, slope / sizes[-1], misfits, errors / sizes[-1])
    return [_Cut(*span, *map(float, line)) for span, *line in zip(spans, *columns, strict=True)]


def _interval_scale(curve: Curve, cuts: Sequence[_Cut], noise: float) -> float:
    freedom = len(curve.sizes_bytes) - sum(cut.numbers for cut in cuts)
    left = math.sqrt(sum(cut.misfit for cut in cuts) / freedom) if freedom > 0 else 0.0
    sure = max(freedom, curve.spread_freedom) if noise > left else freedom
    return max(noise, left) * t_quantile(sure)


def _piece(curve: Curve, cut: _Cut, noise: float, scale: float) -> Fit:
    import numpy as np

    sizes = np.array(curve.sizes_bytes[cut.start : cut.stop])
    logs = np.log(curve.medians_ns[cut.start : cut.stop])
    low, high = int(sizes[0]), int(sizes[-1])
    untold = Fit(variant="", cold=False, from_bytes=low, to_bytes=high, growth=UNTOLD)
    if sizes.size < SHORTEST:
        cause = f"fewer than {SHORTEST} sizes; {SHORTEST - sizes.size} more would tell"
        return replace(untold, cause=cause)
    line_ns = np.maximum(cut.fixed_ns + cut.ns_per_byte * sizes, 1e-9)
    off = np.abs(logs - np.log(line_ns))
    if np.median(off) > math.log(_MISSED_HALF) or off.max() > math.log(_MISSED_ONE):
        return replace(untold, cause="the times are on no line; more sizes or runs would tell")
    rate, error = cut.ns_per_byte, scale * cut.rate_error
    if rate > error:
        line = replace(untold, growth="linear", fixed_ns=cut.fixed_ns, ns_per_byte=rate)
        return replace(line, low=rate - error, high=rate + error)
    level = math.exp(float(logs.mean()))
    # Surely not in proportion to size.
    is_slow = 1 + (rate + error) * (high - low) / level < high / low
    is_level = line_ns[-1] < _FLAT_CHANGE * line_ns[0] and np.ptp(logs) < math.log(_FLAT_RATIO)
    is_near = logs.var() * sizes.size < cut.misfit + _NUMBER_PRICE * noise**2
    if not (is_slow and is_level and is_near):
        return replace(untold, cause="the noise hides the growth; more runs would tell")
    return replace(untold, growth="constant", fixed_ns=level, ns_per_byte=0.0)


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
