"""Two documents, stage by stage: faster, slower, or unknown.

Of runs in turns a change is told where all of its 99 % interval is beyond a hundredth: what drifts,
drifts for both. Of documents that were made apart, where its 95 % interval is, and exceeds what the
machine may have done (`machine_between`), too. Of several wall times, and of several stages, each
has to pass a stricter interval, so that a comparison of many lines raises no more false alarms than
one of a single line (Bonferroni).

A change has its time before and after, for people to read: of the run whose time is that of all
runs (``model.sweep``), with its stages, as the rows of the document show it. Its ratio is theirs if
the interval of all runs, or of pairs (Hodges-Lehmann), has it in it, else that estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jupyter_serprof.experiments.compare import samples, statistics
from jupyter_serprof.model import Change, Comparison, Sweep, Trace, stage
from jupyter_serprof.model.stages import UNACCOUNTED
from jupyter_serprof.model.sweep import groups_text, middle_ns, middle_run
from jupyter_serprof.model.trace import TIMES_APART
from jupyter_serprof.model.units import counted, format_share

#: Less is nothing that anybody acts on, and the interval has to exceed it.
WORTH_FACTOR = 1.01
#: Stages below this share of the wall time, before and after, get no verdict.
SMALLEST_SHARE = 0.01
_TIMES = (
    "before and after are of one run, the middle one (of two groups, of the larger), with its "
    "stages; the 95 % intervals of their ratios are of "
)
_APART = f"{_TIMES}all runs, by the order of their times"
_PAIRED = f"{_TIMES}pairs run in turns, by which is faster how often. A verdict needs 99 %"
#: An interval may be there, and be too wide for a verdict.
TOO_FEW = "are too few for "
_AGAIN = ". Run each side again: --repeat 15"


@dataclass(frozen=True, slots=True)
class _Times:
    """One line: a stage (or the wall time) in the runs of both sides, and in the middle ones."""

    key: str
    match: samples.Match
    before_ns: Sequence[int]
    after_ns: Sequence[int]
    shown_ns: tuple[int, int]
    is_small: bool
    is_paired: bool

    def shift(self, alpha: float = statistics.ALPHA) -> statistics.Shift:
        """Return the shift between both sides; of runs in turns that of the pairs."""
        method = statistics.paired_shift if self.is_paired else statistics.shift_of
        return method(self.before_ns, self.after_ns, alpha)

    @property
    def has_both(self) -> bool:
        """Tell whether it took time on both sides, in most runs and in those that are shown."""
        sides = (middle_ns(self.before_ns), middle_ns(self.after_ns), *self.shown_ns)
        return all(time > 0 for time in sides)

    @property
    def is_judged(self) -> bool:
        """Tell whether it can have a verdict of its own, by runs enough for an interval."""
        is_meant = self.has_both and not self.is_small and not self.match.failure
        return is_meant and self.shift().low is not None


def compare(
    before: Trace | Sweep, after: Trace | Sweep, *, is_now: bool = False, is_paired: bool = False
) -> Comparison:
    """Compare two documents stage by stage.

    ``is_now``: The runs of ``after`` were made for this: they tell the noise of this machine.
    ``is_paired``: The runs of both were made in turns, a pair for each repeat.

    The wall time first, then the stages in the order of the road, for each point in common.

    Raises ``UsageError``: If the documents have nothing in common that could be compared: two
        kinds, no stage, or different code without one name. What ran in turns was put side by side
        by the user.
    """
    if not is_paired:
        samples.check_kinds(before, after)
        samples.check_question(before.name, after.name)
    matches, notes = samples.match(before, after)
    notes += samples.notes_on(before, after)
    lines = [line for found in matches for line in _lines(found, is_paired=is_paired)]
    judged = [line for line in lines if line.is_judged]
    walls = sum(line.key == "" for line in judged)
    families = max(1, walls), max(1, len(judged) - walls)
    machine = None if is_paired else statistics.machine_between(before, after)
    changes = [_change(line, families, machine) for line in lines]
    if not is_paired and any(change.low is not None for change in changes):
        notes.append(statistics.machine_text(machine) if machine else TIMES_APART)
    return Comparison(
        before=before.name,
        after=after.name,
        changes=tuple(changes),
        noise_share=_noise_share(matches, is_paired=is_paired) if is_now else None,
        is_paired=is_paired,
        method=_PAIRED if is_paired else _APART,
        notes=tuple(notes),
    )


def _lines(found: samples.Match, *, is_paired: bool) -> Iterator[_Times]:
    sides = found.before.runs, found.after.runs
    shown = [middle_run(runs, lambda run: run.wall_ns) for runs in sides]
    keys = {key for runs in sides for run in runs for key in run.stages}
    road = sorted(keys, key=lambda key: (key == UNACCOUNTED, stage(key).order, key))
    for key in ("", *road):
        before, after = ([samples.owned_ns(run, key) for run in runs] for runs in sides)
        shares = [
            max(middle_ns(times), samples.owned_ns(run, key)) / max(1, run.wall_ns)
            for times, run in zip((before, after), shown, strict=True)
        ]
        if not key or any(before) or any(after):
            middles = samples.owned_ns(shown[0], key), samples.owned_ns(shown[1], key)
            is_small = bool(key) and max(shares) < SMALLEST_SHARE
            yield _Times(key, found, before, after, middles, is_small, is_paired)


def _change(line: _Times, families: tuple[int, int], machine: statistics.Machine | None) -> Change:
    one, other = line.shown_ns
    sample = line.match.before
    titles = {UNACCOUNTED: "Your own code, or not seen", "": "Wall time"}
    change = Change(
        stage=line.key,
        title=titles.get(line.key) or stage(line.key).title,
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
        is_small=line.is_small,
    )
    if not line.has_both:
        return _one_sided(change)
    family = families[0] if line.key == "" else families[1]
    found = _judged(change, line, family)
    return found if line.is_paired else _over_machine(found, line, machine)


def _over_machine(change: Change, line: _Times, machine: statistics.Machine | None) -> Change:
    if change.verdict not in {"slower", "faster"}:
        return change
    reason = samples.NO_CONTROL
    if machine:
        reason = statistics.held_back(line.before_ns, line.after_ns, line.match.pages, machine)
    return replace(change, verdict="cannot tell", reason=reason) if reason else change


def _one_sided(change: Change) -> Change:
    if change.before_ns is not None and change.after_ns is not None:
        return replace(change, reason="only in some of the runs")
    if change.before_ns is None and change.after_ns is None:
        return replace(change, reason="took no time")
    return replace(change, verdict="only before" if change.after_ns is None else "only after")


def _judged(change: Change, line: _Times, family: int) -> Change:
    shown = line.shift()
    low, high = (None if it is None else math.exp(it) for it in (shown.low, shown.high))
    # The ratio is that of the two times beside it, and the interval holds it.
    before_ns, after_ns = line.shown_ns
    ratio = after_ns / before_ns if before_ns and after_ns else math.exp(shown.value)
    if low is not None and high is not None:
        low, high = min(low, ratio), max(high, ratio)
    known = replace(change, ratio=ratio, low=low, high=high)
    if reason := _doubt(line, shown, family):
        return replace(known, reason=reason)
    if (ratio > 1) != (shown.value > 0):
        return replace(known, reason="the middle runs say otherwise")
    return replace(known, verdict="slower" if shown.value > 0 else "faster")


def _doubt(line: _Times, shown: statistics.Shift, family: int) -> str:
    """Return why it is unknown; nothing if it is known."""
    if failure := line.match.failure:
        return failure
    if line.is_small:
        return f"below {format_share(SMALLEST_SHARE, decimals=0)} of the wall time"
    alpha = (statistics.PAIRED_ALPHA if line.is_paired else statistics.ALPHA) / family
    strict = line.shift(alpha)
    if strict.low is None:
        before, after = counted(len(line.before_ns), "run"), len(line.after_ns)
        fewest = statistics.fewest_runs(alpha, is_paired=line.is_paired)
        what = "an interval" if shown.low is None else f"a verdict, which needs {fewest}"
        return f"{before} before and {after} after {TOO_FEW}{what}{_AGAIN}"
    if strict.factor > WORTH_FACTOR:
        return ""
    return f"chance, among {family} lines" if shown.factor > 1 and family > 1 else "within chance"


def _noise_share(matches: Sequence[samples.Match], *, is_paired: bool) -> float | None:
    sides = [found.after for found in matches]
    sides += [found.before for found in matches] if is_paired else []
    known = [statistics.noise([run.wall_ns for run in side.runs]) for side in sides]
    return max((math.expm1(half) for half in known if half is not None), default=None)
