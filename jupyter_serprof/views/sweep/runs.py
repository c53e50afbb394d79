"""The lines of a sweep: for each variant and size the cold run and the median warm one.

Cold runs are never mixed with warm ones. The time of several is that of `model.sweep`: of a run
that happened, so that its stages add up to the printed total.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.ranking import cost_of, is_comparable, matters
from jupyter_serprof.model import stages_of
from jupyter_serprof.model.sweep import groups_text, quartiles, spread
from jupyter_serprof.model.sweep import runs_of as all_runs
from jupyter_serprof.model.units import (
    NOT_APPLICABLE,
    NOT_SEEN,
    RATE_FLOOR_BYTES,
    clean,
    column,
    column_unit,
    format_bytes,
    format_count,
    format_ns,
    format_ratio,
)
from jupyter_serprof.views.kit.table import Quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_serprof.model import Point, Sweep, Trace, Variant
    from jupyter_serprof.model.sweep import SweepRuns

_SMALLEST_RATIO = 0.05
_TIED, _ALONE, _APART = "≈", "1 run", "2 groups"
#: The time of an even number of runs is the faster of the two in the middle.
_PAIR = 2
#: What stands below a table in which it occurs.
_LEGENDS = {
    _TIED: f"{_TIED} no difference that matters to the fastest",
    _ALONE: f"{_ALONE}: no comparison",
    _APART: f"{_APART}: no ratio, the times of both stand below",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One line: a variant at one size, cold or warm.

    Attributes
    ----------
    point
        The one whose time is that of all its points.
    walls_ns
        (n,) wall times of all its points, ascending.
    trace
        The representative trace, where one is stored.
    """

    variant: Variant
    cold: bool
    point: Point
    walls_ns: tuple[int, ...]
    trace: Trace | None

    @property
    def label(self) -> str:
        """``cold`` or ``warm``."""
        return "cold" if self.cold else "warm"

    @property
    def wall_ns(self) -> int:
        """Their time."""
        return self.point.wall_ns

    @property
    def size_bytes(self) -> int:
        """Of the value; 0 where that is unknown."""
        return self.point.size_bytes or 0

    @property
    def range_ns(self) -> tuple[int, int]:
        """The middle half of the times, of few all of them."""
        return spread(self.walls_ns)

    @property
    def groups(self) -> str:
        """Both times of runs in two groups, in words; empty otherwise."""
        return groups_text(self.walls_ns)


@dataclass(frozen=True, slots=True)
class Slice:
    """A stage of a run: how long it owned the wall time, as a number and as text."""

    title: str
    family: str
    self_ns: int
    self_text: str


def runs_of(sweep: Sweep, variant: Variant) -> list[Bar]:
    """Return the runs of a variant: sizes ascending, warm before cold."""
    return [_run(sweep, variant, runs) for runs in all_runs(sweep) if runs.variant == variant.key]


def _run(sweep: Sweep, variant: Variant, runs: SweepRuns) -> Bar:
    wanted = (variant.key, runs.size_bytes, runs.cold)
    traces = (
        entry.trace
        for entry in sweep.traces
        if (entry.variant, entry.size_bytes, entry.cold) == wanted
    )
    walls = tuple(sweep.points[place].wall_ns for place in runs.points)
    return Bar(variant, runs.cold, sweep.points[runs.middle], walls, next(traces, None))


def parts_of(run: Bar) -> list[Slice]:
    """Return the stages of a run in the order of the road, then what is unaccounted.

    Their texts add up to the wall time in the unit of ``column_unit(wall_ns)``.
    """
    stages = stages_of(*([run.trace] if run.trace else []))
    known = [(stages[key], ns) for key, ns in run.point.stages.items()]
    known.sort(key=lambda pair: pair[0].order)
    rest_ns = max(0, run.wall_ns - sum(ns for _, ns in known))
    values = [*(ns for _, ns in known), rest_ns]
    unit = column_unit(run.wall_ns)
    texts = column(values, sum(values), unit.decimals, unit.unit_ns)
    parts = [
        Slice(clean(entry.title), entry.family, ns, text)
        for (entry, ns), text in zip(known, texts, strict=False)
    ]
    return [*parts, Slice("unaccounted", "", rest_ns, texts[-1])]


def time_text(run: Bar) -> str:
    """Return the time of a line; of runs in two groups that of both."""
    return run.groups or format_ns(run.wall_ns)


def spread_text(run: Bar) -> str:
    """Return how many runs there were and how far apart they lie; nothing for one run."""
    count = len(run.walls_ns)
    if count == 1:
        return ""
    if run.groups:
        return run.groups
    low, high = run.range_ns
    word = "quartiles" if quartiles(run.walls_ns) else "range"
    which = "faster" if count == _PAIR else "middle one"
    return f"{which} of {count} ({word} {format_ns(low)} to {format_ns(high)})"


def fastest_text(run: Bar, runs: Sequence[Bar]) -> str:
    """Return the wall time over that of the fastest run of its size, cold or warm like itself.

    ``≈`` where the difference does not matter; nothing of a variant outside the ranking or alone in
    it; none of one run among others, or of two groups of runs, its own or those of the fastest.
    """
    rivals = [
        other
        for other in runs
        if (other.point.size_bytes, other.cold) == (run.point.size_bytes, run.cold)
        and not other.variant.unranked
    ]
    if run not in rivals or len(rivals) == 1:
        return NOT_APPLICABLE
    judged = [other for other in rivals if is_comparable(other.walls_ns)]
    if run not in judged:
        return _ALONE
    best = min(judged, key=lambda other: other.wall_ns)
    if run.groups:
        return _APART
    if best.groups or not best.wall_ns:
        return NOT_APPLICABLE
    cost_ns = cost_of(run.variant, best.variant)
    if run is not best and not matters(run.walls_ns, best.walls_ns, cost_ns):
        return _TIED
    return format_ratio(run.wall_ns / best.wall_ns)


def legends(sweep: Sweep, runs: Sequence[Bar]) -> list[str]:
    """Return what the signs beside the times mean, of those that occur."""
    used = set[str]() if has_gains(sweep) else {fastest_text(run, runs) for run in runs}
    return [said for sign, said in _LEGENDS.items() if sign in used]


def has_gains(sweep: Sweep) -> bool:
    """Tell whether remedies were tried: their gain is of pairs, and no quotient of two rows."""
    return any(_gain(variant) is not None for variant in sweep.variants)


def gain_text(run: Bar) -> str:
    """Return how many times faster a remedy is by its pairs, on the line of its warm runs."""
    gain = None if run.cold else _gain(run.variant)
    return NOT_APPLICABLE if gain is None else format_ratio(gain)


def _gain(variant: Variant) -> float | None:
    gain = variant.facts.get("gain")
    return gain if isinstance(gain, float) and variant.facts.get("tried") is True else None


def memcpy_ns(sweep: Sweep, size_bytes: int | None) -> float | None:
    """Return how long this machine takes to copy ``size_bytes`` once, ns.

    None if unknown, and below the size from which on a rate says something (64 kB).
    """
    rate = sweep.limits.memcpy_bytes_per_s
    if not size_bytes or size_bytes < RATE_FLOOR_BYTES or not rate or rate <= 0:
        return None
    return size_bytes / rate * 1e9


def memcpy_text(sweep: Sweep, run: Bar) -> str:
    """Return the wall time in copies: how often the data could have been copied meanwhile.

    Nothing of what was not moved: it is no faster than a copy.
    """
    if run.variant.is_alias:
        return NOT_APPLICABLE
    once_ns = memcpy_ns(sweep, run.point.size_bytes)
    if not once_ns:
        return NOT_SEEN
    ratio = run.wall_ns / once_ns
    return format_ratio(ratio) if ratio >= _SMALLEST_RATIO else "< 0.1×"  # noqa: RUF001


def fact_bytes_text(fact: str, run: Bar) -> str:
    """Return a fact of the variant that counts bytes."""
    value = run.variant.facts.get(fact)
    return format_bytes(value) if isinstance(value, int) else NOT_SEEN


def quantities(sweep: Sweep, runs: Sequence[Bar]) -> list[Quantity[Bar]]:
    """Return the columns of numbers beside the runs, for characters and pixels."""
    silent = (NOT_APPLICABLE, NOT_SEEN)
    # Remedies are held against what they replace, which is not the same for all.
    of_pairs = has_gains(sweep)
    return [
        Quantity(("", "total"), lambda run: format_ns(run.wall_ns), is_bold=True),
        Quantity(("gain of", "pairs"), gain_text)
        if of_pairs
        else Quantity(("times", "fastest"), lambda run: fastest_text(run, runs)),
        Quantity(("", "in-band"), partial(fact_bytes_text, "in_band_bytes")),
        Quantity(("out-of-", "band"), partial(fact_bytes_text, "out_of_band_bytes")),
        # Pages that a run touched for the first time.
        Quantity(("page", "faults"), lambda run: format_count(run.point.minor_faults)),
        Quantity(("times", "memcpy"), partial(memcpy_text, sweep), silent=silent),
    ]


def label_of(run: Bar, *, has_size: bool) -> str:
    """Return what stands before the numbers of a run; of one size that is not told."""
    return f"{format_bytes(run.point.size_bytes)} {run.label}" if has_size else run.label


def incomplete(sweep: Sweep) -> list[Variant]:
    """Return the variants without runs, or not with all of them."""
    measured = {point.variant for point in sweep.points}
    return [one for one in sweep.variants if one.state != "ok" or one.key not in measured]


def state_text(variant: Variant) -> str:
    """Return why a variant has no complete runs: its state and the reason, once each."""
    state = "no runs" if variant.state == "ok" else variant.state
    if state in variant.reason:
        return variant.reason
    return f"{state}: {variant.reason}" if variant.reason else state
