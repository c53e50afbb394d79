"""An answer with its check: what a held-out size says about it, and when it is refused.

Two models answer a question, one that takes the stages apart and one straight line. Both predict a
size that was measured and held out. The line answers where it was clearly better there; nothing
answers where the better one was off by more than a factor of 2.

It never leaves the bracket of the two, and no size beyond them has a say. To check it, the nearest
size that has measured ones on both sides is left out and interpolated from those.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from jupyter_serprof.model import Point, Sweep, UsageError
from jupyter_serprof.model.sweep import middle_ns
from jupyter_serprof.model.units import format_bytes, format_ns, format_share

#: The key of what no stage explains.
REST = ""
#: Errors at the held-out size that are still answered: a factor of 2 to either side.
MOST_OVER, MOST_UNDER = 1.0, -0.5
#: An error below it is good enough, whatever the line does.
_GOOD_SHARE = 0.25
#: The line is clearly better when its error, as a power, is below this share of the other one.
_CLEARLY = 0.5
#: One end of the interval is no further away than this factor.
_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Checked:
    """A size that was measured, held out, and predicted from others (``trained``: in words)."""

    size_bytes: int
    trained: str
    measured_ns: float
    guess_ns: float
    line_ns: float

    @property
    def error_share(self) -> float:
        """(predicted - measured) / measured, of what answers."""
        return self.guess_ns / self.measured_ns - 1

    @property
    def straight_share(self) -> float:
        """The same of the straight line."""
        return self.line_ns / self.measured_ns - 1

    @property
    def is_line_better(self) -> bool:
        """Whether the line was clearly better, and the other one not good."""
        off, line_off = _off(self.error_share), _off(self.straight_share)
        return off > _off(_GOOD_SHARE) and line_off < _CLEARLY * off

    def around(self, wall_ns: float) -> tuple[float, float]:
        """Return the wall time, lower and upper end, that an error as large leaves possible."""
        error = abs(self.error_share)
        return wall_ns / (1 + error), wall_ns / max(_LEAST, 1 - error)


@dataclass(frozen=True, slots=True)
class Answer:
    """Time by stage (ns; the key of what no stage explains is empty), and how good it is."""

    stages: Mapping[str, float]
    checked: Checked | None = None
    assumptions: tuple[str, ...] = ()
    #: The least and the most that a run took where it is known, over the median there.
    spread: tuple[float, float] = (1.0, 1.0)

    @property
    def wall_ns(self) -> float:
        """The time of all stages and of the rest."""
        return sum(self.stages.values())

    def interval(self) -> tuple[float, float]:
        """Return the wall time, lower and upper end, by the check and by the spread of runs."""
        wall_ns = self.wall_ns
        low_ns, high_ns = self.checked.around(wall_ns) if self.checked else (wall_ns, wall_ns)
        return min(low_ns, self.spread[0] * wall_ns), max(high_ns, self.spread[1] * wall_ns)


def better(answer: Answer, line: Mapping[str, float], size: int, line_name: str) -> Answer:
    """Return the answer, or that of the straight line where it held out clearly better.

    Raises
    ------
    UsageError
        Where the better one missed the held-out size by more than a factor of 2; measure the size
        that is asked for, or more runs near it.
    """
    checked = answer.checked
    if checked is not None and checked.is_line_better and sum(line.values()) > 0:
        by_line = replace(checked, guess_ns=checked.line_ns)
        said = (
            f"a straight line answers, {line_name}: held out, it missed by "
            f"{signed(by_line.error_share)}, stage by stage it was {signed(checked.error_share)}"
        )
        answer = replace(answer, stages=line, checked=by_line, assumptions=(said,))
    if answer.checked is None:
        return answer
    _refuse_if_off(answer.checked, size)
    held, trained = format_bytes(answer.checked.size_bytes), answer.checked.trained
    return replace(
        answer, assumptions=(*answer.assumptions, f"to check it, {held} was predicted {trained}")
    )


def signed(share: float | None) -> str:
    """Return an error in percent with its sign."""
    if share is None:
        return "unknown"
    sign = "+" if share >= 0 else "\N{MINUS SIGN}"
    return f"{sign}{format_share(abs(share), decimals=0)}"


def _off(error_share: float) -> float:
    """Return an error as a power of e: half and double are as far off."""
    return abs(math.log1p(error_share)) if error_share > -1 else math.inf


def _refuse_if_off(checked: Checked, size: int) -> None:
    if MOST_UNDER <= checked.error_share <= MOST_OVER:
        return
    message = (
        f"{format_bytes(size)} is not predicted, since the check failed: "
        f"{format_bytes(checked.size_bytes)} took {format_ns(checked.measured_ns)}, and predicted "
        f"{checked.trained} it came out as {format_ns(checked.guess_ns)}, an error of "
        f"{signed(checked.error_share)} (a straight line: {signed(checked.straight_share)}); more "
        f"than a factor of 2 ({signed(MOST_UNDER)} or {signed(MOST_OVER)}) is refused. Measure "
        f"that size, with more runs: sp.sweep(make, sizes=[..., {size}], repeat=5)"
    )
    raise UsageError(message)


def names_of(points: Sequence[Point]) -> list[str]:
    """Return the keys of all stages, and that of the rest."""
    return [*sorted({name for point in points for name in point.stages if name}), REST]


def time_ns(point: Point, name: str) -> float:
    """Return the time of a stage in a run, or what no stage explains."""
    if name == REST:
        return point.wall_ns - sum(time for key, time in point.stages.items() if key)
    return point.stages.get(name, 0)


def medians(sweep: Sweep, key: str, name: str | None) -> dict[int, float]:
    """Return the median warm time by size of a stage, of the rest (""), or of the whole (None)."""
    times: dict[int, list[float]] = {}
    for point in sweep.points:
        if point.variant == key and not point.cold and point.size_bytes:
            took_ns = point.wall_ns if name is None else time_ns(point, name)
            times.setdefault(point.size_bytes, []).append(took_ns)
    return {size: middle_ns(found) for size, found in sorted(times.items())}


def sizes_of(sweep: Sweep, key: str) -> list[int]:
    """Return the sizes that have warm runs, in order (bytes)."""
    return list(medians(sweep, key, None))


def stage_names(sweep: Sweep, key: str) -> list[str]:
    """Return the keys of all stages of a variant, and that of the rest."""
    return names_of([point for point in sweep.points if point.variant == key])


def stages_at(sweep: Sweep, key: str, size: int) -> Mapping[str, float]:
    """Return the median of each stage at a measured size (ns); the rest up to that of the whole."""
    named = {name: medians(sweep, key, name)[size] for name in stage_names(sweep, key) if name}
    return with_rest(named, medians(sweep, key, None)[size])


def spread_at(sweep: Sweep, key: str, sizes: Collection[int]) -> tuple[float, float]:
    """Return the least and the most that a warm run took there, over the median of its size."""
    middle = medians(sweep, key, None)
    shares = [
        point.wall_ns / middle[point.size_bytes]
        for point in sweep.points
        if point.variant == key and not point.cold and point.size_bytes in sizes
        if point.size_bytes
    ]
    return min(shares), max(shares)


def with_rest(named: Mapping[str, float], wall_ns: float) -> Mapping[str, float]:
    """Add what the stages leave of the whole.

    A median of sums is no sum of medians, and the whole is what was measured best.
    """
    return {**named, REST: max(0.0, wall_ns - sum(named.values()))}


def straight_ns(medians: Mapping[int, float], size_bytes: int) -> float:
    """Return one straight line through all sizes (ordinary least squares), at a size."""
    sizes, times = list(medians), list(medians.values())
    slope, fixed = statistics.linear_regression(sizes, times)
    return fixed + slope * size_bytes


def line_stages(
    sweep: Sweep, key: str, known: Sequence[int], size: int
) -> tuple[float, Mapping[str, float]]:
    """Return one straight line through known sizes, and what it gives each stage (ns).

    The line of the whole is what is checked, so the lines of the stages are brought to its sum.
    """

    def line(name: str | None) -> float:
        found = medians(sweep, key, name)
        return straight_ns({there: found[there] for there in known}, size)

    wall_ns = line(None)
    stages = {name: max(0.0, line(name)) for name in stage_names(sweep, key)}
    total = sum(stages.values())
    if wall_ns <= 0 or total <= 0:
        return wall_ns, {REST: max(0.0, wall_ns)}
    return wall_ns, {name: time * wall_ns / total for name, time in stages.items()}


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
