"""What a sweep over sizes says in words: growth, breaks, held-out points, crossovers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.model.units import clean, format_bytes, format_fixed, format_ns, format_rate
from jupyter_serprof.views.sweep.series import best_chunk, crossovers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_serprof.model import Crossover, Fit, Holdout, Sweep
    from jupyter_serprof.views.sweep.series import Best, Series

_GROWTH = {
    "constant": "constant",
    "linear": "linear",
    "superlinear": "grows faster than its size",
    "sublinear": "grows slower than its size",
}
#: Growth of which analysis/fit.py can tell no law; the cause says why.
_UNTOLD = "cannot tell"
_WHOLE = 1e-9
_UNSURE_NAMED = 3
#: How analysis/crossovers.py ends the title of a pair of which it cannot tell.
_UNSURE = ": cannot tell where they cross"


def growth_lines(series: Series) -> list[str]:
    """Return a sentence for each regime of a line, and one for what was held out."""
    said = [_regime_text(series, at) for at in range(len(series.regimes))]
    if not said:
        count = len(series.points)
        few = "three are needed" if count < 3 else "no law holds over them"  # noqa: PLR2004
        return [f"{count} size{'' if count == 1 else 's'}: no line, {few}"]
    held = series.held
    return [*said, holdout_text(held)] if held else said


def _regime_text(series: Series, at: int) -> str:
    regime = series.regimes[at]
    ends = (format_bytes(regime.from_bytes), format_bytes(regime.to_bytes))
    sizes = " to ".join(ends if regime.from_bytes < regime.to_bytes else ends[:1])
    cause = f" ({clean(regime.cause)})" if regime.cause else ""
    is_new = "from here on another regime, " if at and regime.growth != _UNTOLD else ""
    return f"{sizes}: {is_new}{_law(regime, is_alias=series.is_alias)}{cause}"


def _law(regime: Fit, *, is_alias: bool) -> str:
    growth = _GROWTH.get(regime.growth, regime.growth) or "a line"
    if regime.growth in ("superlinear", "sublinear") and regime.exponent is not None:
        return f"{growth}, time ~ size^{format_fixed(regime.exponent, 2)}"
    if regime.fixed_ns is None or regime.ns_per_byte is None:
        return growth
    if regime.growth == "constant" or regime.ns_per_byte <= 0:
        said = growth if regime.growth == "constant" else "no growth was seen"
        return f"{said}, {format_ns(regime.fixed_ns)}"
    if is_alias:
        return f"{growth}; nothing is moved, so there is no rate"
    fixed = f"{format_ns(regime.fixed_ns)} + " if regime.fixed_ns > 0 else ""
    return f"{growth}, {fixed}{format_rate(1e9 / regime.ns_per_byte)}{_interval(regime)}"


def _interval(regime: Fit) -> str:
    if not regime.low or not regime.high or regime.low <= 0:
        return ""
    return f" [{format_rate(1e9 / regime.high)}, {format_rate(1e9 / regime.low)}]"


def holdout_text(held: Holdout) -> str:
    """Say how far the line is off where nothing was used for it."""
    return f"held out {format_bytes(held.size_bytes)}: the line is off by {signed_error(held)}"


def signed_error(held: Holdout) -> str:
    """Return the error of a line as a share with its sign."""
    sign = "+" if held.error_share > 0 else "−" if held.error_share < 0 else ""  # noqa: RUF001
    return f"{sign}{format_fixed(abs(held.error_share) * 100, 1)} %"


def crossover_lines(sweep: Sweep, *, cold: bool) -> Iterator[str]:
    """Yield where one way overtakes another, cold or warm, and what cannot be told."""
    mark = "cold: " if cold else ""
    found = crossovers(sweep, cold=cold)
    yield from (f"{mark}{crossover_text(each)}" for each in found if each.from_bytes)
    unsure = [clean(each.title).removesuffix(_UNSURE) for each in found if not each.from_bytes]
    if unsure:
        more = len(unsure) - _UNSURE_NAMED
        named = "; ".join([*unsure[:_UNSURE_NAMED], *([f"{more} more pairs"] if more > 0 else [])])
        yield f"{mark}cannot tell where these cross: {named}"


def crossover_text(each: Crossover) -> str:
    """Return what overtakes what, and between which measured sizes."""
    sizes = f"{format_bytes(each.from_bytes)} and {format_bytes(each.to_bytes)}"
    return f"{clean(each.title)} between {sizes}"


def chunk_line(sweep: Sweep) -> str:
    """Return the recommended chunk, its interval and what limits on either side; "" without one."""
    best = best_chunk(sweep)
    if best is None:
        return ""
    name = best.parameter or sweep.parameter
    asked = f"{name} = {plain_number(best.best)}, " if name and best.best is not None else ""
    sizes = f"{format_bytes(best.low_bytes)} to {format_bytes(best.high_bytes)}"
    return f"best chunk: {asked}{format_bytes(best.best_bytes)} [{sizes}]{_limits(best)}"


def _limits(best: Best) -> str:
    below = f"; below it {clean(best.limits_below)} limits" if best.limits_below else ""
    above = f"; above it {clean(best.limits_above)} limits" if best.limits_above else ""
    return below + above


def plain_number(number: float) -> str:
    """Return a number as it was typed: without a point where it is whole."""
    return (
        f"{number:,.0f}"
        if abs(number - round(number)) <= _WHOLE * abs(number)
        else f"{number:,.3g}"
    )
