"""The lines of a sweep: runs of each variant and size, series over sizes, and their sentences.

Cold runs are never mixed with warm ones. The time of several is that of `model.sweep`: of a run
that happened, so that its stages add up to the printed total. Fits and crossovers are those of the
document.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from jupyter_serprof.analysis.ranking import GROUPED, NOT_SURE, TIED, VS_FASTEST
from jupyter_serprof.model import Crossover, Fit, Point, Sweep, Trace, Variant, stages_of, units
from jupyter_serprof.model.sweep import groups_text, quartiles, spread
from jupyter_serprof.model.sweep import runs_of as all_runs
from jupyter_serprof.views.kit.table import Quantity

_SMALLEST_RATIO = 0.05
#: Stands beside a line that may lie below all others, and is no choice.
NOT_COMPARED = "not compared"
#: What stands below a table in which it occurs.
_LEGENDS = {
    TIED: f"{TIED} as fast as the fastest, as far as these runs can tell",
    NOT_SURE: f"{NOT_SURE} a guess: these runs took very different times",
    GROUPED: f"{GROUPED} some of its runs were fast, some slow: the bar is one of the more",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One line: a variant at one size, cold or warm.

    ``point``: The one whose time is that of all its points.
    ``points``: All of them, by time.
    ``trace``: The representative trace, where one is stored.
    """

    variant: Variant
    cold: bool
    point: Point
    points: tuple[Point, ...]
    trace: Trace | None

    @property
    def walls_ns(self) -> tuple[int, ...]:
        """(n,) wall times of all its points, ascending."""
        return tuple(point.wall_ns for point in self.points)

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
    traces = {(e.variant, e.size_bytes, e.cold): e.trace for e in reversed(sweep.traces)}
    return [
        Bar(
            variant,
            runs.cold,
            sweep.points[runs.middle],
            tuple(sweep.points[place] for place in runs.points),
            traces.get((variant.key, runs.size_bytes, runs.cold)),
        )
        for runs in all_runs(sweep)
        if runs.variant == variant.key
    ]


def parts_of(run: Bar) -> list[Slice]:
    """Return the stages of a run in the order of the road, then what is unaccounted."""
    # Their texts add up to the wall time in the unit of ``column_unit(wall_ns)``.
    stages = stages_of(*([run.trace] if run.trace else []))
    known = [(stages[key], ns) for key, ns in run.point.stages.items() if ns]
    known.sort(key=lambda pair: pair[0].order)
    rest_ns = max(0, run.wall_ns - sum(ns for _, ns in known))
    values = [*(ns for _, ns in known), rest_ns]
    unit = units.column_unit(run.wall_ns)
    texts = units.column(values, sum(values), unit.decimals, unit.unit_ns)
    parts = [
        Slice(units.clean(entry.title), entry.family, ns, text)
        for (entry, ns), text in zip(known, texts, strict=False)
    ]
    return [*parts, Slice("unaccounted", "", rest_ns, texts[-1])]


def time_text(run: Bar) -> str:
    """Return the time of a line; of runs in two groups that of both."""
    return run.groups or units.format_ns(run.wall_ns)


def range_text(run: Bar) -> str:
    """Return how far the runs lie apart; one has no spread."""
    ends = " to ".join(map(units.format_ns, run.range_ns))
    return run.groups or (ends if len(run.walls_ns) > 1 else units.NOT_APPLICABLE)


def spread_text(run: Bar) -> str:
    """Return how many runs there were and how far apart they lie; nothing for one run."""
    count = len(run.walls_ns)
    if count == 1:
        return ""
    if run.groups:
        return run.groups
    word = "quartiles" if quartiles(run.walls_ns) else "range"
    return f"{which_text([count])} of {count} ({word} {range_text(run)})"


def which_text(counts: Iterable[int]) -> str:
    """Return which of so many runs has their time: of two the slower."""
    known = {*counts}
    return "slower one" if max(known) == 2 else f"middle one{' (of two the slower)' * (2 in known)}"  # noqa: PLR2004


def fastest_text(run: Bar) -> str:
    """Return the time over that of the fastest variant; nothing of a cold run."""
    told = None if run.cold else run.variant.facts.get(VS_FASTEST)
    return units.NOT_APPLICABLE if told is None else str(told)


def legends(runs: Iterable[Bar]) -> list[str]:
    """Return what the signs beside the times mean, of those that occur."""
    used = " ".join(map(fastest_text, runs))
    return [said for sign, said in _LEGENDS.items() if sign in used]


def gain_text(run: Bar) -> str:
    """Return how many times faster a remedy is, on the line of its warm runs."""
    gain, is_tried = run.variant.facts.get("gain"), run.variant.facts.get("tried") is True
    is_told = isinstance(gain, float) and is_tried and not run.cold
    return units.format_ratio(gain) if is_told else units.NOT_APPLICABLE  # type: ignore[arg-type]  # a float


def memcpy_ns(sweep: Sweep, size_bytes: int | None) -> float | None:
    """Return how long this machine takes to copy ``size_bytes`` once, ns."""
    # None if unknown, and below the size from which on a rate says something (64 kB).
    rate = sweep.limits.memcpy_bytes_per_s
    if not size_bytes or size_bytes < units.RATE_FLOOR_BYTES or not rate or rate <= 0:
        return None
    return size_bytes / rate * 1e9


def memcpy_text(sweep: Sweep, run: Bar) -> str:
    """Return the wall time in copies: how often the data could have been copied meanwhile."""
    # Nothing of what was not moved: it is no faster than a copy.
    if run.variant.is_alias:
        return units.NOT_APPLICABLE
    once_ns = memcpy_ns(sweep, run.point.size_bytes)
    if not once_ns:
        return units.NOT_SEEN
    ratio = run.wall_ns / once_ns
    return units.format_ratio(ratio) if ratio >= _SMALLEST_RATIO else "< 0.1×"  # noqa: RUF001


def fact_bytes_text(fact: str, run: Bar) -> str:
    """Return a fact of the variant that counts bytes."""
    value = run.variant.facts.get(fact)
    return units.format_bytes(value) if isinstance(value, int) else units.NOT_SEEN


def quantities(sweep: Sweep, runs: Iterable[Bar]) -> list[Quantity[Bar]]:
    """Return the columns of numbers beside the runs, the same in every form."""
    every: Sequence[Quantity[Bar]] = (
        Quantity(("", "total"), lambda run: units.format_ns(run.wall_ns), is_bold=True),
        Quantity(("vs", "fastest"), fastest_text),
        # Of remedies: against what they replace, which is not the same for all.
        Quantity(("", "gain"), gain_text),
        Quantity(("", "in-band"), partial(fact_bytes_text, "in_band_bytes")),
        Quantity(("out-of-", "band"), partial(fact_bytes_text, "out_of_band_bytes")),
        # Pages that a run touched for the first time.
        Quantity(("page", "faults"), lambda run: units.format_count(run.point.minor_faults)),
        Quantity(("vs", "memcpy"), partial(memcpy_text, sweep)),
        Quantity(("", "spread"), range_text),
    )
    return [one for one in every if one.speaks(runs)]


def label_of(run: Bar, *, has_size: bool) -> str:
    """Return what stands before the numbers of a run; of one size that is not told."""
    count = len(run.walls_ns)
    label = f"{run.label} ×{count}" if count > 1 else run.label  # noqa: RUF001
    return f"{units.format_bytes(run.point.size_bytes)} {label}" if has_size else label


def incomplete(sweep: Sweep) -> dict[str, str]:
    """Return by title why variants have no runs, or not all of them; each reason once."""
    measured = {point.variant for point in sweep.points}
    said: dict[str, str] = {}
    for one in sweep.variants:
        if one.state != "ok" or one.key not in measured:
            text = _state_text(one)
            said[units.clean(one.title)] = "as above" if text in said.values() else text
    return said


def _state_text(variant: Variant) -> str:
    state = "no runs" if variant.state == "ok" else variant.state
    if state in variant.reason:
        return variant.reason
    return f"{state}: {variant.reason}" if variant.reason else state


@dataclass(frozen=True, slots=True)
class Series:
    """The line of a variant, cold or warm: its runs by size, and the pieces of the line."""

    variant: Variant
    cold: bool
    points: tuple[Bar, ...]
    pieces: tuple[Fit, ...]


def is_over_sizes(sweep: Sweep) -> bool:
    """Tell whether a sweep is one over sizes, and has two of them at least."""
    sizes = {point.size_bytes for point in sweep.points if point.size_bytes and point.wall_ns > 0}
    return sweep.kind in ("sweep", "chunks") and len(sizes) > 1


def series_of(sweep: Sweep, *, cold: bool) -> list[Series]:
    """Return the lines of a sweep, of the variants that were measured, in their order."""
    found = []
    for variant in sweep.variants:
        points = tuple(
            run
            for run in runs_of(sweep, variant)
            if run.cold == cold and run.size_bytes and run.walls_ns[0] > 0
        )
        if points:
            found.append(Series(variant, cold, points, _pieces(sweep, variant.key, cold=cold)))
    return found


def _pieces(sweep: Sweep, key: str, *, cold: bool) -> tuple[Fit, ...]:
    # None over the size of a chunk: there time falls and rises.
    if sweep.kind == "chunks":
        return ()
    found = (fit for fit in sweep.fits if fit.variant == key and fit.cold is cold and not fit.stage)
    return tuple(sorted(found, key=lambda fit: fit.from_bytes))


def growth_lines(series: Series) -> list[str]:
    """Return a sentence for each piece of a line."""
    if not series.pieces:
        count = len(series.points)
        few = ", three are needed" if count < 3 else ""  # noqa: PLR2004
        return [f"{units.counted(count, 'size')}: no line{few}"]
    return [_piece_text(piece, is_alias=series.variant.is_alias) for piece in series.pieces]


def _piece_text(piece: Fit, *, is_alias: bool) -> str:
    ends = (units.format_bytes(piece.from_bytes), units.format_bytes(piece.to_bytes))
    sizes = " to ".join(ends if piece.from_bytes < piece.to_bytes else ends[:1])
    cause = f" ({units.clean(piece.cause)})" if piece.cause else ""
    return f"{sizes}: {_line_text(piece, is_alias=is_alias)}{cause}"


def _line_text(piece: Fit, *, is_alias: bool) -> str:
    if piece.fixed_ns is None or piece.ns_per_byte is None:
        return piece.growth
    if piece.growth == "constant" or piece.ns_per_byte <= 0:
        return f"{units.format_ns(piece.fixed_ns)} at every size"
    if is_alias:
        return "longer for more bytes; nothing is moved, so there is no rate"
    fixed = f"{units.format_ns(piece.fixed_ns)} + " if piece.fixed_ns > 0 else ""
    said = f"{fixed}{units.format_rate(1e9 / piece.ns_per_byte)}"
    if not piece.low or not piece.high or piece.low <= 0:
        return said
    return f"{said} [{units.format_rate(1e9 / piece.high)}, {units.format_rate(1e9 / piece.low)}]"


def crossover_text(each: Crossover) -> str:
    """Return where one way overtakes another."""
    sizes = f"{units.format_bytes(each.from_bytes)} and {units.format_bytes(each.to_bytes)}"
    return f"{units.clean(each.title)} between {sizes}"


def crossover_lines(sweep: Sweep) -> Iterator[str]:
    """Yield where ways overtake each other, warm, then cold."""
    for each in sorted(sweep.crossovers, key=lambda turn: turn.cold):
        yield f"{'cold: ' if each.cold else ''}{crossover_text(each)}"


_WHOLE = 1e-9


def plain_number(number: float) -> str:
    """Return a number as it was typed: without a point where it is whole."""
    is_whole = abs(number - round(number)) <= _WHOLE * abs(number)
    return f"{number:,.0f}" if is_whole else f"{number:,.3g}"
