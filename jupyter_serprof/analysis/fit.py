"""What may be said about growth: regimes of a curve, and fixed cost, rate and exponent in each.

Method: a curve is cut into regimes, each constant, straight (``fixed + rate * size``) or a power
(``fixed + rate * size**exponent``), so that misfit plus a price for each number and each cut is
least (dynamic programming over all cuts). Errors are relative, as they are with times. The misfit
is measured in units of the noise: the spread of the runs, or the disagreement of neighbouring sizes
where that is larger. A cut where page faults per byte change is cheaper.

What it cannot see: a regime of fewer than three sizes (two, if page faults change there); anything
beyond the last size; noise that differs from size to size, which is taken as equal everywhere.
``tests/benchmarks/fit_calibration.py`` says how often it is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.curve import Curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Sizes in a regime, at least; one less suffices where page faults say that it is another one. A
#: power needs more, or it follows noise.
SHORTEST = 3
_SHORTEST_SEEN = 2
_SHORTEST_POWER = 5
#: Price of a number of the model and of a cut, in squared units of noise. One more number lowers
#: the misfit of a true model by more than 7 in 1 of 120 cases.
_NUMBER_PRICE = 7.0
_CUT_PRICE = 4.0
_FAULTS_CUT_PRICE = -6.0
#: Noise of a median, at least; and where nothing tells it.
_LEAST_NOISE = 0.005
_ASSUMED_NOISE = 0.05
#: What changes by more is not called flat, however noisy the machine was.
_FLAT_RATIO = 3.0
_CONFIDENCE = 0.95
_ITERATIONS = 8


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Regime:
    """A stretch of sizes in which one law holds.

    Attributes
    ----------
    growth
        ``constant``, ``linear``, ``superlinear`` or ``sublinear``.
    fixed_ns
        The line at size 0; in a later regime no cost of a call, and it may be below 0.
    ns_per_byte
        Slope of the line; for a curved regime the line is only the nearest one.
    exponent
        Of time, without its fixed part, over size; None for a constant and for few sizes.
    """

    from_bytes: int
    to_bytes: int
    growth: str
    fixed_ns: Interval
    ns_per_byte: Interval
    exponent: Interval | None

    def line_ns(self, size_bytes: float) -> float:
        """Return the line at a size."""
        return self.fixed_ns.value + self.ns_per_byte.value * size_bytes


@dataclass(frozen=True, slots=True)
class _Cut:
    """Sizes ``start`` to ``stop`` (exclusive), with the law that suits them best."""

    start: int
    stop: int
    law: str
    misfit: float

    @property
    def numbers(self) -> int:
        return {"constant": 1, "linear": 2, "power": 3}[self.law]


def regimes(curve: Curve) -> tuple[Regime, ...]:
    """Return the regimes of a curve, small sizes first; none for fewer than three sizes."""
    if len(curve.sizes_bytes) < SHORTEST:
        return ()
    noise = _noise(curve)
    cuts = _best_cuts(curve, noise)
    scale = _interval_scale(curve, cuts, noise)
    return tuple(_regime(curve, cut, scale) for cut in cuts)


def t_quantile(freedom: float, confidence: float = _CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1.0, freedom), (1 + confidence) / 2))


# Where to cut


def _noise(curve: Curve) -> float:
    """Return the relative noise of a median: of the runs, or between neighbouring sizes."""
    import numpy as np

    known = [_LEAST_NOISE]
    of_runs = curve.noise_share(float(np.median(curve.counts)))
    known += [] if of_runs is None else [of_runs]
    size_count = len(curve.sizes_bytes)
    if size_count > SHORTEST + 1:
        windows = [(at, at + 4) for at in range(size_count - 3)]
        misfits = _solved(curve, windows, np.ones((1, 1)), np.ones(len(windows), bool))[2][:, 0]
        # Two degrees of freedom each: the median of a chi-square over them is ln 2.
        known.append(math.sqrt(float(np.median(misfits)) / 2 / math.log(2)))
    return max(known) if len(known) > 1 else _ASSUMED_NOISE


def _best_cuts(curve: Curve, noise: float) -> list[_Cut]:
    size_count = len(curve.sizes_bytes)
    best: dict[int, tuple[float, list[_Cut]]] = {0: (0.0, [])}
    by_stop: dict[int, list[_Cut]] = {}
    for cut in _laws(curve, noise):
        by_stop.setdefault(cut.stop, []).append(cut)
    for stop in range(SHORTEST, size_count + 1):
        options = [
            (best[cut.start][0] + _price(curve, cut, noise), [*best[cut.start][1], cut])
            for cut in by_stop.get(stop, ())
            if cut.start in best
        ]
        best[stop] = min(options, key=lambda option: option[0])
    return best[size_count][1]


def _price(curve: Curve, cut: _Cut, noise: float) -> float:
    price = cut.misfit / noise**2 + _NUMBER_PRICE * cut.numbers
    if cut.start == 0:
        return price
    return price + (_FAULTS_CUT_PRICE if curve.faults_turn(cut.start) else _CUT_PRICE)


def _shortest(curve: Curve, start: int) -> int:
    return _SHORTEST_SEEN if curve.faults_turn(start) else SHORTEST


def _laws(curve: Curve, noise: float) -> list[_Cut]:
    """Return every stretch of sizes with the law that costs least."""
    import numpy as np

    size_count = len(curve.sizes_bytes)
    spans = [
        (start, stop)
        for start in range(size_count)
        for stop in range(start + _shortest(curve, start), size_count + 1)
    ]
    later = np.array([start > 0 for start, _ in spans])
    straight = _solved(curve, spans, np.ones((1, 1)), later)[2][:, 0]
    curved = _curved(curve, spans)
    logs = np.log(curve.medians_ns)
    cuts = []
    for (start, stop), line, power in zip(spans, straight, curved, strict=True):
        flat = float(logs[start:stop].var() * (stop - start))
        options = [_Cut(start, stop, "linear", float(line))]
        if np.ptp(logs[start:stop]) < math.log(_FLAT_RATIO):
            options.append(_Cut(start, stop, "constant", flat))
        if stop - start >= _SHORTEST_POWER:
            options.append(_Cut(start, stop, "power", float(power)))
        cuts.append(min(options, key=lambda cut: _price(curve, cut, noise)))
    return cuts


def _curved(curve: Curve, spans: Sequence[tuple[int, int]]) -> Floats:
    """Return the misfit of the best power in each span: on a coarse grid, then around its best."""
    import numpy as np

    fixed = np.zeros(len(spans), bool)
    powers = np.arange(0.3, 2.5, 0.05)[None, :]
    coarse = powers[0, _solved(curve, spans, powers, fixed)[2].argmin(axis=1)]
    fine = coarse[:, None] + np.arange(-0.05, 0.051, 0.01)
    best: Floats = _solved(curve, spans, fine, fixed)[2].min(axis=1)
    return best


def _solved(
    curve: Curve, spans: Sequence[tuple[int, int]], powers: Floats, is_free: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """Return fixed, slope and squared relative misfit of ``fixed + slope * (size/last)**power``.

    Each is (n_spans, n_powers); ``powers`` has a row for each span, or one for all. Fixed and slope
    are kept at 0 or above, fixed not where ``is_free``.
    Relative least squares by weights of one over the fitted time, squared, until they settle.
    """
    import numpy as np

    sizes, times = np.array(curve.sizes_bytes, float), np.array(curve.medians_ns)
    x = (sizes / sizes[-1]) ** powers[..., None]
    starts, stops = np.array(spans).T[:, :, None, None]
    weight = ((np.arange(sizes.size) >= starts) & (np.arange(sizes.size) < stops)).astype(float)
    fitted: Floats = np.broadcast_to(times, (len(spans), *x.shape[1:]))
    for _ in range(_ITERATIONS):
        v = weight / fitted**2
        s0, s1, s2 = v.sum(-1), (v * x).sum(-1), (v * x * x).sum(-1)
        y0, y1 = (v * times).sum(-1), (v * x * times).sum(-1)
        slope = (s0 * y1 - s1 * y0) / np.maximum(s0 * s2 - s1**2, 1e-12 * s0 * s2)
        is_flat = slope < 0
        slope = np.where(is_flat, 0.0, slope)
        fixed = (y0 - slope * s1) / s0
        is_low = (fixed < 0) & ~is_free[:, None]
        fixed, slope = np.where(is_low, 0.0, fixed), np.where(is_low, y1 / s2, slope)
        fitted = np.maximum(fixed[..., None] + slope[..., None] * x, 1e-6 * times)
    return fixed, slope, (weight * np.log(times / fitted) ** 2).sum(-1)


# What holds between two cuts


def _interval_scale(curve: Curve, cuts: Sequence[_Cut], noise: float) -> float:
    """Return half the width of an interval, in standard errors of noise 1."""
    freedom = len(curve.sizes_bytes) - sum(cut.numbers for cut in cuts)
    left = math.sqrt(sum(cut.misfit for cut in cuts) / freedom) if freedom > 0 else 0.0
    sure = max(freedom, curve.spread_freedom) if noise > left else freedom
    return max(noise, left) * t_quantile(sure)


def _regime(curve: Curve, cut: _Cut, scale: float) -> Regime:
    import numpy as np

    span, is_later = (cut.start, cut.stop), np.array([cut.start > 0])
    ends = curve.sizes_bytes[cut.start], curve.sizes_bytes[cut.stop - 1]
    if cut.law == "constant":
        level = math.exp(float(np.log(curve.medians_ns[cut.start : cut.stop]).mean()))
        half = scale / math.sqrt(cut.stop - cut.start)
        fixed = Interval(level, level * math.exp(-half), level * math.exp(half))
        return Regime(*ends, "constant", fixed, Interval(0.0, 0.0, 0.0), None)
    fixed_ns, slope, _ = _solved(curve, [span], np.ones((1, 1)), is_later)
    rate = float(slope[0, 0]) / curve.sizes_bytes[-1]
    line = _line_intervals(curve, cut, float(fixed_ns[0, 0]), rate, scale)
    power = _exponent(curve, cut, scale)
    growth = "linear"
    if cut.law == "power" and power:
        growth = "superlinear" if power.value > 1 else "sublinear"
    return Regime(*ends, growth, *line, power)


def _line_intervals(
    curve: Curve, cut: _Cut, fixed_ns: float, rate: float, scale: float
) -> tuple[Interval, Interval]:
    import numpy as np

    sizes = np.array(curve.sizes_bytes[cut.start : cut.stop], float)
    fitted = fixed_ns + rate * sizes
    design = np.stack([1 / fitted, sizes / sizes[-1] / fitted], axis=1)
    errors = scale * np.sqrt(np.diag(np.linalg.pinv(design.T @ design)))
    fixed_error, rate_error = float(errors[0]), float(errors[1] / sizes[-1])
    least = 0.0 if cut.start == 0 else -math.inf
    return (
        Interval(fixed_ns, max(least, fixed_ns - fixed_error), fixed_ns + fixed_error),
        Interval(rate, max(0.0, rate - rate_error), rate + rate_error),
    )


def _exponent(curve: Curve, cut: _Cut, scale: float) -> Interval | None:
    """Return the exponent with the interval of its profile likelihood; None for few sizes."""
    import numpy as np

    if cut.stop - cut.start < _SHORTEST_POWER:
        return None
    powers = np.arange(0.1, 3.0, 0.005)
    fixed = np.zeros(1, bool)
    misfits = _solved(curve, [(cut.start, cut.stop)], powers[None, :], fixed)[2][0]
    inside = powers[misfits <= misfits.min() + scale**2]
    return Interval(float(powers[misfits.argmin()]), float(inside[0]), float(inside[-1]))
