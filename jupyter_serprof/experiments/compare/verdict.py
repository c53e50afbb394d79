"""Two documents, stage by stage: faster, slower, or unknown.

A change is told where its interval leaves no change out and it is larger than the noise floor: the
reach of chance and drift inside the runs of each side (``compare_statistics``); and, of documents
that were made apart, larger than the reach of the machine (`machine_between`). Of several
wall times, and of several stages, each has to pass a stricter interval, so that one comparison in
twenty raises a false alarm, not one line in twenty (Bonferroni).

A change has its time before and after, for people to read: of the run whose time is that of all
runs (``model.sweep``), with its stages, as the rows of the document show it. Its ratio is of all
runs, or of pairs (Hodges-Lehmann), and has an interval. Of steady runs both say the same. Where
half of the runs of a side are fast and half are slow, the middle run is of whichever group has one
run more: then neither number is the change, and whoever divides the columns has to learn why they
give something else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jupyter_serprof.analysis.comparison import ratio_text
from jupyter_serprof.experiments.compare import statistics as statistics_of
from jupyter_serprof.experiments.compare.samples import (
    ALIKE,
    NO_CONTROL,
    UNACCOUNTED,
    Match,
    check_kinds,
    check_question,
    check_stages,
    match,
    notes_on,
)
from jupyter_serprof.experiments.compare.statistics import (
    Machine,
    held_back,
    machine_between,
    machine_text,
)
from jupyter_serprof.model import Change, Comparison, Sweep, Trace, stage
from jupyter_serprof.model.sweep import groups_of, groups_text, middle_ns, middle_run, quartiles
from jupyter_serprof.model.trace import TIMES_APART
from jupyter_serprof.model.units import counted, format_ns, format_ratio, format_share

#: Medians and ratio may differ so much by chance, and by the digits that are shown.
_FAR_APART = math.log(1.1)


_TOO_LOOSE = {
    "cannot tell": "Take neither for the change",
    **{word: f"That it got {word} holds, how much is not sure" for word in ("faster", "slower")},
}


def _are_apart(shown: float, runs: float) -> bool:
    """Tell whether two ratios differ by a tenth."""
    return abs(math.log(shown / runs)) > _FAR_APART


def _apart_text(line: _Times, change: Change, runs: str) -> str:
    """Return why the columns of a line do not give its ratio; nothing if they do."""
    if not _is_apart(line, change):
        return ""
    sides = (line.before_ns, line.after_ns)
    why = "fall into groups" if any(map(_is_split, sides)) else "scatter"
    before, after = map(_spread_text, sides)
    return (
        f"{ratio_text(line.columns_ratio)} by the columns and {ratio_text(change.ratio)} by "
        f"{runs}, because the "
        f"runs {why} (before {before}; after {after}). {_TOO_LOOSE[change.verdict]}: run more, on "
        "a quieter machine"
    )


def _is_apart(line: _Times, change: Change) -> bool:
    """Tell whether the columns give another ratio, of a stage also another one than its interval.

    The columns are of one run, and a stage scatters more from run to run than the wall time does.
    """
    if change.ratio is None or change.low is None or change.high is None:
        return False
    is_within = bool(line.key) and change.low <= line.columns_ratio <= change.high
    return not is_within and _are_apart(line.columns_ratio, change.ratio)


def gain_apart_text(now: Sequence[float], tried: Sequence[float], gain: float) -> str:
    """Return why the medians of a remedy do not give its gain; nothing if they do.

    Parameters
    ----------
    now, tried
        The runs whose medians people see, ns: those of the way it goes now may be of more pairs.
    gain
        How many times faster, of the pairs.
    """
    shown = max(1.0, middle_ns(now)) / max(1.0, middle_ns(tried))
    if not _are_apart(shown, gain):
        return ""
    why = "fall into groups" if any(map(_is_split, (now, tried))) else "scatter"
    return (
        f"the times above give {format_ratio(shown)} and the pairs "
        f"{format_ratio(gain)}, because the runs {why} (now {_spread_text(now)}; with it "
        f"{_spread_text(tried)}). The gain is of runs side by side, within its interval: for a "
        "closer one, try again on a quieter machine"
    )


def _spread_text(times: Sequence[float]) -> str:
    """Return how the runs of a side lie: the two groups, or the middle half of them."""
    fast, *slow = _groups(times)
    if slow:
        return (
            f"{len(fast)} runs up to {format_ns(fast[-1])} and "
            f"{len(slow[0])} from {format_ns(slow[0][0])} on"
        )
    if len(fast) == 1:
        return f"one run of {format_ns(fast[0])}"
    if (middle := quartiles(fast)) is None:
        return f"{len(fast)} runs from {format_ns(fast[0])} to {format_ns(fast[-1])}"
    return f"the middle half from {format_ns(middle[0])} to {format_ns(middle[1])}"


def _is_split(times: Sequence[float]) -> bool:
    """Tell whether there is a gap in the times, with enough runs on either side."""
    return len(_groups(times)) > 1


def _groups(times: Sequence[float]) -> list[list[float]]:
    return groups_of(times, lambda time: time)


#: Stages below this share of the wall time, before and after, get no verdict.
SMALLEST_SHARE = 0.01
_TIMES = (
    "before and after are of one run, the middle one (of two groups, of the larger), with its "
    "stages; ratios are of "
)
_DOUBT = (
    "A verdict also has to exceed what is told as noise (every other run of a side against the "
    "rest)"
)
_APART = (
    f"{_TIMES}all runs, with 95 % intervals (Hodges-Lehmann, Mann-Whitney). {_DOUBT} and drift "
    "(the first half against the second), of that line, the worse side"
)
_PAIRED = (
    f"{_TIMES}pairs run in turns, with 95 % intervals (Hodges-Lehmann, signed ranks). {_DOUBT}, "
    "of that line, the worse side"
)
_AGAIN = "too few for an interval. Run each side again: --repeat 15"


@dataclass(frozen=True, slots=True)
class _Times:
    """One line: a stage (or the wall time) in the runs of both sides, and in the middle ones."""

    key: str
    match: Match
    before_ns: Sequence[int]
    after_ns: Sequence[int]
    shown_ns: tuple[int, int]
    is_small: bool = False

    @property
    def has_both(self) -> bool:
        """Tell whether it took time on both sides, in most runs and in those that are shown."""
        sides = (middle_ns(self.before_ns), middle_ns(self.after_ns), *self.shown_ns)
        return all(time > 0 for time in sides)

    @property
    def columns_ratio(self) -> float:
        """Return what somebody gets who divides the columns."""
        before, after = (max(1.0, time) for time in self.shown_ns)
        return after / before

    @property
    def is_judged(self) -> bool:
        """Tell whether it can have a verdict of its own."""
        return self.has_both and not self.is_small and not self.match.failure


def compare(
    before: Trace | Sweep,
    after: Trace | Sweep,
    *,
    is_now: bool = False,
    is_paired: bool = False,
) -> Comparison:
    """Compare two documents stage by stage.

    Parameters
    ----------
    is_now
        The runs of ``after`` were made for this comparison: they tell the noise of this machine.
    is_paired
        The runs of both were made in turns, a pair for each repeat.

    Returns
    -------
    Comparison
        The wall time first, then the stages in the order of the road, for each point in common.

    Raises
    ------
    UsageError
        If the documents have nothing in common that could be compared: two kinds, no stage, or
        different code without one name. What ran in turns was put side by side by the user.
    """
    if not is_paired:
        check_kinds(before, after, ALIKE)
        check_stages(before, after)
        check_question(before.name, after.name)
    matches, unmatched = match(before, after)
    lines = [line for found in matches for line in _lines(found)]
    judged = [line for line in lines if line.is_judged and _is_enough(line, is_paired=is_paired)]
    walls = sum(line.key == "" for line in judged)
    families = max(1, walls), max(1, len(judged) - walls)
    machine = None if is_paired else machine_between(before, after)
    changes = [_change(line, families, machine, is_paired=is_paired) for line in lines]
    is_told = any(change.low is not None for change in changes)
    return Comparison(
        before=before.name,
        after=after.name,
        changes=tuple(changes),
        noise_share=_noise_share(matches, is_paired=is_paired) if is_now else None,
        is_paired=is_paired,
        method=_PAIRED if is_paired else _APART,
        notes=(
            *unmatched,
            *notes_on(before, after),
            *_groups_notes(lines, changes, "the pairs" if is_paired else "all runs"),
            *(
                [machine_text(machine) if machine else TIMES_APART]
                if is_told and not is_paired
                else []
            ),
        ),
        control=machine.changes if machine else (),
    )


def _groups_notes(lines: Sequence[_Times], changes: Sequence[Change], runs: str) -> Iterator[str]:
    """Yield why the columns of a line do not give its ratio; of each point for one line."""
    told = set[int]()
    for line, change in zip(lines, changes, strict=True):
        is_asked = not line.is_small and id(line.match) not in told
        if is_asked and (said := _apart_text(line, change, runs)):
            told.add(id(line.match))
            point = f"{line.match.before.told}: " if line.match.before.title else ""
            yield f"{point}{change.title} is {said}"


def _lines(found: Match) -> Iterator[_Times]:
    sides = found.before.runs, found.after.runs
    shown = [middle_run(runs, lambda run: run.wall_ns) for runs in sides]
    keys = {key for runs in sides for run in runs for key in run.stages}
    for key in ("", *sorted(keys, key=_road)):
        before, after = ([run.owned_ns(key) for run in runs] for runs in sides)
        shares = [
            middle_ns(times) / max(1, run.wall_ns)
            for times, run in zip((before, after), shown, strict=True)
        ]
        if not key or any(before) or any(after):
            middles = shown[0].owned_ns(key), shown[1].owned_ns(key)
            is_small = bool(key) and max(shares) < SMALLEST_SHARE
            yield _Times(key, found, before, after, middles, is_small)


def _road(key: str) -> tuple[bool, int, str]:
    return key == UNACCOUNTED, stage(key).order, key


def _title(key: str) -> str:
    if key == UNACCOUNTED:
        return "Unaccounted"
    return stage(key).title if key else "Wall time"


def _change(
    line: _Times, families: tuple[int, int], machine: Machine | None, *, is_paired: bool
) -> Change:
    one, other = line.shown_ns
    sample = line.match.before
    change = Change(
        stage=line.key,
        title=_title(line.key),
        before_ns=one if any(line.before_ns) else None,
        after_ns=other if any(line.after_ns) else None,
        verdict="cannot tell",
        before_runs=len(line.before_ns),
        after_runs=len(line.after_ns),
        variant=sample.variant,
        size_bytes=sample.size_bytes,
        cold=sample.cold,
        before_groups=groups_text(line.before_ns),
        after_groups=groups_text(line.after_ns),
    )
    if not line.has_both:
        return _one_sided(change)
    family = families[0] if line.key == "" else families[1]
    found = _judged(change, line, family, is_paired=is_paired)
    return found if is_paired else _over_machine(found, line, machine)


def _over_machine(change: Change, line: _Times, machine: Machine | None) -> Change:
    """Return a change without its verdict where the machine may have changed as much."""
    if change.verdict not in {"slower", "faster"}:
        return change
    reason = NO_CONTROL
    if machine:
        reason = held_back(line.before_ns, line.after_ns, line.match, machine)
    return replace(change, verdict="cannot tell", reason=reason) if reason else change


def _one_sided(change: Change) -> Change:
    """Return the change of a stage that only one side has, or has in most runs only."""
    if change.before_ns is not None and change.after_ns is not None:
        return replace(change, reason="only in some of the runs")
    if change.before_ns is None and change.after_ns is None:
        return replace(change, reason="took no time")
    return replace(change, verdict="only before" if change.after_ns is None else "only after")


def _judged(change: Change, line: _Times, family: int, *, is_paired: bool) -> Change:
    single = _shift(line, statistics_of.ALPHA, is_paired=is_paired)
    strict = _shift(line, statistics_of.ALPHA / family, is_paired=is_paired)
    known = replace(
        change,
        ratio=math.exp(single.value),
        low=None if single.low is None else math.exp(single.low),
        high=None if single.high is None else math.exp(single.high),
    )
    reason = _doubt(line, single, strict, family, is_paired=is_paired)
    if reason and line.is_judged and _is_apart(line, known):
        reason = f"{reason}; the columns give {ratio_text(line.columns_ratio)}"
    if reason:
        return replace(known, reason=reason)
    return replace(known, verdict="slower" if single.value > 0 else "faster")


def _is_enough(line: _Times, *, is_paired: bool) -> bool:
    """Tell whether there are enough runs for an interval; the others are no test of anything."""
    return _shift(line, statistics_of.ALPHA, is_paired=is_paired).low is not None


def _shift(line: _Times, alpha: float, *, is_paired: bool) -> statistics_of.Shift:
    measure = statistics_of.paired_shift if is_paired else statistics_of.shift_of
    return measure(line.before_ns, line.after_ns, alpha)


def _doubt(
    line: _Times,
    single: statistics_of.Shift,
    strict: statistics_of.Shift,
    family: int,
    *,
    is_paired: bool,
) -> str:
    """Return why it is unknown; nothing if it is known."""
    if failure := line.match.failure:
        return failure
    if line.is_small:
        return f"below {format_share(SMALLEST_SHARE, decimals=0)} of the wall time"
    if single.low is None or strict.low is None:
        before, after = counted(len(line.before_ns), "run"), len(line.after_ns)
        return f"{before} before and {after} after are {_AGAIN}"
    if not strict.is_told:
        return f"chance, among {family} lines" if single.is_told else "within chance"
    floor, cause = _floor(line, is_paired=is_paired)
    is_lost = abs(single.value) <= floor
    return f"within {cause} (±{format_share(math.expm1(floor))})" if is_lost else ""


def _floor(line: _Times, *, is_paired: bool) -> tuple[float, str]:
    """Return what a shift has to exceed, and whether noise or drift sets it."""
    sides = (line.before_ns, line.after_ns)
    noise = max(statistics_of.chance(times) or 0.0 for times in sides)
    if is_paired:
        return noise, "noise"
    reach = max(statistics_of.floor(times) or 0.0 for times in sides)
    return reach, "drift" if reach > noise else "noise"


def _noise_share(matches: Sequence[Match], *, is_paired: bool) -> float | None:
    """Return A against A of the wall times of now, of the noisiest point."""
    samples = [found.after for found in matches]
    samples += [found.before for found in matches] if is_paired else []
    known = [statistics_of.chance([run.wall_ns for run in sample.runs]) for sample in samples]
    seen = [half for half in known if half is not None]
    return math.expm1(max(seen)) if seen else None
