"""What may be said about growth: regimes of a curve, and fixed cost, rate and exponent in each.

Method: a curve is cut into regimes, each constant, straight (``fixed + rate * size``) or a power
(``fixed + rate * size**exponent``), so that misfit plus a price for each number and each cut is
least (dynamic programming over all cuts). Errors are relative, as they are with times. The misfit
is measured in units of the noise: the spread of the runs, or the disagreement of neighbouring sizes
where that is larger. A cut where page faults per byte change is cheaper.

No law is told where it would not hold: over fewer than three sizes, at a last size that alone is
off the line, where the law misses its own points, and where a slope may be 0 as well as not. A
power runs over no change of page faults, and has to be there without the last size too.

What it cannot see: a regime of fewer than three sizes (two, if page faults change there); anything
beyond the last size; noise that differs from size to size, which is taken as equal everywhere.
``tests/benchmarks/fit_calibration.py`` says how often it is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.sizes.curve import Curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Sizes in a regime, at least; one less suffices where page faults say that it is another one. A
#: power needs more, or it follows noise.
SHORTEST = 3
_SHORTEST_SEEN = 2
_SHORTEST_POWER = 5
#: Sizes before a last one that stands apart: fewer do not tell what the noise is.
_SHORTEST_BEFORE_LAST = 4
#: Price of a number of the model and of a cut, in squared units of noise. One more number lowers
#: the misfit of a true model by more than 7 in 1 of 120 cases.
_NUMBER_PRICE = 7.0
_CUT_PRICE = 4.0
_FAULTS_CUT_PRICE = -6.0
#: The same before a last size apart: two numbers less are saved there than before a line.
_FAULTS_LAST_PRICE = 0.0
#: Noise of a median, at least; and where nothing tells it.
_LEAST_NOISE = 0.005
_ASSUMED_NOISE = 0.05
#: What grows by more over its sizes is not called flat, nor what varies by more, however noisy.
_FLAT_CHANGE = 1.5
_FLAT_RATIO = 2.0
#: A law that misses half of its points, or one of them, by more (ratios) is none.
_MISSED_HALF = 1.35
_MISSED_ONE = 2.0
_CONFIDENCE = 0.95
_ITERATIONS = 8
UNTOLD = "cannot tell"
_CURVED = ("superlinear", "sublinear")
_FEW = "{} sizes, three are needed"
_LONE = "the last size stands apart; one more size would tell"
_MISSED = "no law comes near all points; more sizes or runs would tell"
_LEVEL = "growth and noise are alike; more runs would tell"


@dataclass(frozen=True, slots=True)
class Estimate:
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
        ``constant``, ``linear``, ``superlinear``, ``sublinear`` or ``cannot tell``.
    fixed_ns
        The line at size 0; in a later regime no cost of a call, and it may be below 0. None where
        there is no straight line.
    ns_per_byte
        Slope of the line; None where there is no straight line.
    exponent
        Of time, without its fixed part, over size; None for a constant and for few sizes.
    doubt
        Why no law can be told; "" where one is.
    """

    from_bytes: int
    to_bytes: int
    growth: str
    fixed_ns: Estimate | None = None
    ns_per_byte: Estimate | None = None
    exponent: Estimate | None = None
    doubt: str = ""

    def line_ns(self, size_bytes: float) -> float | None:
        """Return the line at a size; None where there is no straight line."""
        if self.fixed_ns is None or self.ns_per_byte is None:
            return None
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
        return {"lone": 1, "constant": 1, "linear": 2, "power": 3}[self.law]


def regimes(curve: Curve) -> tuple[Regime, ...]:
    """Return the regimes of a curve, small sizes first; none for fewer than three sizes."""
    if len(curve.sizes_bytes) < SHORTEST:
        return ()
    noise = _noise(curve)
    cuts = _best_cuts(curve, noise)
    scale = _interval_scale(curve, cuts, noise)
    return _joined([_regime(curve, cut, scale) for cut in cuts])


def _joined(found: Sequence[Regime]) -> tuple[Regime, ...]:
    """Return regimes where those of which nothing can be told are one: nothing parts them."""
    joined: list[Regime] = []
    for regime in found:
        if joined and joined[-1].growth == regime.growth == UNTOLD:
            joined[-1] = replace(joined[-1], to_bytes=regime.to_bytes)
        else:
            joined.append(regime)
    return tuple(joined)


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
    windows = [(at, at + 4) for at in range(size_count - 3)] if size_count > SHORTEST + 1 else []
    # Where page faults change, neighbours disagree for another reason than noise.
    windows = [span for span in windows if not _is_turning(curve, *span)]
    if windows:
        misfits = _solved(curve, windows, np.ones((1, 1)), np.ones(len(windows), bool))[2][:, 0]
        # Two degrees of freedom each: the median of a chi-square over them is ln 2.
        known.append(math.sqrt(float(np.median(misfits)) / 2 / math.log(2)))
    return max(known) if len(known) > 1 else _ASSUMED_NOISE


def _is_turning(curve: Curve, start: int, stop: int) -> bool:
    """Tell whether page faults change within a stretch of sizes."""
    return any(curve.faults_turn(at) for at in range(start + 1, stop))


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
    seen = _FAULTS_LAST_PRICE if cut.law == "lone" else _FAULTS_CUT_PRICE
    return price + (seen if curve.faults_turn(cut.start) else _CUT_PRICE)


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
    fixed, slope, straight = (each[:, 0] for each in _solved(curve, spans, np.ones((1, 1)), later))
    bends = dict(zip(spans, zip(straight, _curved(curve, spans), strict=True), strict=True))
    logs = np.log(curve.medians_ns)
    x = np.array(curve.sizes_bytes) / curve.sizes_bytes[-1]
    cuts = []
    for (start, stop), level, rate, line in zip(spans, fixed, slope, straight, strict=True):
        options = [_Cut(start, stop, "linear", float(line))]
        change = (level + rate * x[stop - 1]) / max(level + rate * x[start], 1e-9)
        if change < _FLAT_CHANGE and np.ptp(logs[start:stop]) < math.log(_FLAT_RATIO):
            flat = float(logs[start:stop].var() * (stop - start))
            options.append(_Cut(start, stop, "constant", flat))
        if _may_bend(curve, (start, stop), bends, noise):
            options.append(_Cut(start, stop, "power", float(bends[start, stop][1])))
        cuts.append(min(options, key=lambda cut: _price(curve, cut, noise)))
    return [*cuts, *_lone(curve)]


def _lone(curve: Curve) -> list[_Cut]:
    """Return the last size as a stretch of its own, where enough sizes lie before it."""
    last = len(curve.sizes_bytes) - 1
    fewest = SHORTEST if curve.faults_turn(last) else _SHORTEST_BEFORE_LAST
    return [_Cut(last, last + 1, "lone", 0.0)] if last >= fewest else []


def _may_bend(
    curve: Curve,
    span: tuple[int, int],
    bends: Mapping[tuple[int, int], tuple[float, float]],
    noise: float,
) -> bool:
    """Tell whether a power may be claimed: no faults change, and it is not made by the last size.

    ``bends`` has the misfit of the best line and of the best power in each span.
    """
    start, stop = span
    if stop - start < _SHORTEST_POWER or _is_turning(curve, start, stop):
        return False
    if stop < len(curve.sizes_bytes):
        return True
    line, power = bends[start, stop - 1]
    return (line - power) / noise**2 > _NUMBER_PRICE


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
    size_count = cut.stop - cut.start
    ends = curve.sizes_bytes[cut.start], curve.sizes_bytes[cut.stop - 1]
    if size_count >= SHORTEST:
        return _told(curve, cut, scale, ends)
    doubt = _LONE if cut.law == "lone" else _FEW.format(size_count)
    return Regime(*ends, UNTOLD, doubt=doubt)


def _told(curve: Curve, cut: _Cut, scale: float, ends: tuple[int, int]) -> Regime:
    """Return the law of a cut, or why it is none."""
    import numpy as np

    power = _exponent(curve, cut, scale)
    of_law = power.value if cut.law == "power" and power else 1.0
    is_later = np.array([cut.start > 0 and cut.law != "power"])
    solved = _solved(curve, [(cut.start, cut.stop)], np.full((1, 1), of_law), is_later)
    fixed_ns, slope = float(solved[0][0, 0]), float(solved[1][0, 0])
    level = math.exp(float(np.log(curve.medians_ns[cut.start : cut.stop]).mean()))
    shares = np.array(curve.sizes_bytes[cut.start : cut.stop]) / curve.sizes_bytes[-1]
    law_ns = fixed_ns + slope * shares**of_law
    if _is_missed(curve, cut, np.full(shares.size, level) if cut.law == "constant" else law_ns):
        return Regime(*ends, UNTOLD, doubt=_MISSED)
    if cut.law == "power" and power:
        return Regime(*ends, _CURVED[power.value <= 1], exponent=power)
    line = _line_intervals(curve, cut, fixed_ns, slope / curve.sizes_bytes[-1], scale)
    if not _is_told(cut, line[1], level, ends):
        return Regime(*ends, UNTOLD, doubt=_LEVEL)
    if cut.law == "linear":
        return Regime(*ends, "linear", *line, power)
    half = scale / math.sqrt(cut.stop - cut.start)
    flat = Estimate(level, level * math.exp(-half), level * math.exp(half))
    return Regime(*ends, "constant", flat, Estimate(0.0, 0.0, 0.0))


def _is_missed(curve: Curve, cut: _Cut, law_ns: Floats) -> bool:
    """Tell whether a law is far off half of its points, or off one by a factor."""
    import numpy as np

    off = np.abs(np.log(np.array(curve.medians_ns[cut.start : cut.stop]) / law_ns))
    return bool(np.median(off) > math.log(_MISSED_HALF) or off.max() > math.log(_MISSED_ONE))


def _is_told(cut: _Cut, rate: Estimate, level: float, ends: tuple[int, int]) -> bool:
    """Tell whether a line surely grows, or a flat one surely not in proportion to size."""
    if cut.law == "linear":
        return rate.low > 0
    return 1 + rate.high * (ends[1] - ends[0]) / level < ends[1] / ends[0]


def _line_intervals(
    curve: Curve, cut: _Cut, fixed_ns: float, rate: float, scale: float
) -> tuple[Estimate, Estimate]:
    import numpy as np

    sizes = np.array(curve.sizes_bytes[cut.start : cut.stop], float)
    fitted = fixed_ns + rate * sizes
    design = np.stack([1 / fitted, sizes / sizes[-1] / fitted], axis=1)
    errors = scale * np.sqrt(np.diag(np.linalg.pinv(design.T @ design)))
    fixed_error, rate_error = float(errors[0]), float(errors[1] / sizes[-1])
    least = 0.0 if cut.start == 0 else -math.inf
    return (
        Estimate(fixed_ns, max(least, fixed_ns - fixed_error), fixed_ns + fixed_error),
        Estimate(rate, max(0.0, rate - rate_error), rate + rate_error),
    )


def _exponent(curve: Curve, cut: _Cut, scale: float) -> Estimate | None:
    """Return the exponent with the interval of its profile likelihood; None for few sizes."""
    import numpy as np

    if cut.stop - cut.start < _SHORTEST_POWER:
        return None
    powers = np.arange(0.1, 3.0, 0.005)
    fixed = np.zeros(1, bool)
    misfits = _solved(curve, [(cut.start, cut.stop)], powers[None, :], fixed)[2][0]
    inside = powers[misfits <= misfits.min() + scale**2]
    return Estimate(float(powers[misfits.argmin()]), float(inside[0]), float(inside[-1]))
