"""Between two measured sizes: each stage between its medians there, on a line of logarithms.

It never leaves the bracket of the two, and no size beyond them has a say. To check it, the nearest
size that has measured ones on both sides is left out and interpolated from those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from jupyter_serprof.experiments.predict.answer import Answer, Checked, better
from jupyter_serprof.experiments.predict.measured import (
    medians,
    sizes_of,
    spread_at,
    stage_names,
    with_rest,
)
from jupyter_serprof.model import Sweep, UsageError
from jupyter_serprof.model.units import format_bytes

#: Bytes and the time there (ns).
_Known = tuple[int, float]
_Law = Callable[[_Known, _Known, int], float]


def between(sweep: Sweep, key: str, size: int, *, reach: float) -> Answer:
    """Return what a size between two measured ones takes.

    Parameters
    ----------
    sweep, key
        Warm runs of this variant at three sizes or more.
    size
        Bytes; smaller and larger ones were measured, this one was not.
    reach
        The largest factor between it and the size that checks it.

    Raises
    ------
    UsageError
        Where no size is in reach to check it, or the check failed.
    """
    sizes = sizes_of(sweep, key)
    held = _held_out(sizes, size, reach)
    others = [known for known in sizes if known != held]
    ends, held_ends = _ends(sizes, size), _ends(others, held)
    names = _named(held_ends)
    checked = Checked(
        size_bytes=held,
        trained=f"from {names}",
        measured_ns=medians(sweep, key, None)[held],
        guess_ns=_whole(_stages(sweep, key, held_ends, held, by_power)),
        line_ns=_whole(_stages(sweep, key, held_ends, held, by_line)),
    )
    said = f"each stage is interpolated between {_named(ends)}"
    answer = Answer(
        _stages(sweep, key, ends, size, by_power),
        checked,
        (said,),
        spread=spread_at(sweep, key, ends),
    )
    line_name = f"interpolated between {_named(ends)}"
    return better(answer, _stages(sweep, key, ends, size, by_line), size, line_name)


def by_power(small: _Known, large: _Known, size_bytes: int) -> float:
    """Return the time at a size from (bytes, ns) of a smaller and a larger one.

    On a line of logarithms; where a time is zero and has none, evenly by the logarithm of the size.
    """
    share = math.log(size_bytes / small[0]) / math.log(large[0] / small[0])
    low_ns, high_ns = small[1], large[1]
    if low_ns > 0 and high_ns > 0:
        return low_ns * math.exp(share * math.log(high_ns / low_ns))
    return low_ns + share * (high_ns - low_ns)


def by_line(small: _Known, large: _Known, size_bytes: int) -> float:
    """Return the same on the straight line through both."""
    share = (size_bytes - small[0]) / (large[0] - small[0])
    return small[1] + share * (large[1] - small[1])


def _stages(
    sweep: Sweep, key: str, ends: Sequence[int], size: int, law: _Law
) -> Mapping[str, float]:
    """Return each stage (ns) and the rest, so that the whole is between the two as well."""
    small, large = ends

    def at(name: str | None) -> float:
        times = medians(sweep, key, name)
        return law((small, times[small]), (large, times[large]), size)

    named = {name: at(name) for name in stage_names(sweep, key) if name}
    return with_rest(named, at(None))


def _whole(stages: Mapping[str, float]) -> float:
    return sum(stages.values())


def _ends(sizes: Sequence[int], size: int) -> tuple[int, int]:
    """Return the measured sizes next to one that is not among them."""
    return max(n for n in sizes if n < size), min(n for n in sizes if n > size)


def _named(ends: Sequence[int]) -> str:
    return " and ".join(format_bytes(size) for size in ends)


def _held_out(sizes: Sequence[int], size: int, reach: float) -> int:
    """Return the nearest size that has measured ones on both sides."""
    inner = sizes[1:-1]
    held = min(inner, key=lambda known: abs(math.log(known / size)), default=None)
    if held is not None and 1 / reach <= held / size <= reach:
        return held
    message = (
        f"{format_bytes(size)} is not predicted: to check it, a measured size within a factor of "
        f"{reach:.0f} with others on both sides is left out, so it takes at least three sizes "
        f"around it; measured were {', '.join(format_bytes(known) for known in sizes)}. "
        f"Measure more there: sp.sweep(make, sizes=[..., {size}])"
    )
    raise UsageError(message)
