"""What a trial of a remedy says: its gain, the stage that shrinks, and the finding.

A trial is a number of pairs: the way it goes now and the remedy, side by side, in turns. The gain
is the ratio of the times that are shown. Its 95 % interval is that of the pairs, wide enough to
hold it; where it contains 1, nothing is told.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jupyter_serprof.experiments.compare.statistics import paired_shift
from jupyter_serprof.experiments.engine.document import what_text
from jupyter_serprof.experiments.remedies.table import REMEDIES, known, pasted
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Finding, stage
from jupyter_serprof.model.sweep import middle_run
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import counted, format_count, format_ns, format_ratio

_FINDINGS = ("faster", "unsure", "slower")
#: Ends of an interval that are so many times apart are told apart.
_WIDE = 1.1


@dataclass(slots=True)
class Trial:
    """A remedy that applies, and what its pairs gave.

    ``code``: The line to paste, where the table of remedies does not know it; None where none can
        be.
    ``cold``, ``trips``: The first trip of each way, and those of the pairs: the means of ``loops``
        trips.
    ``now``: The way it goes now in all trials against it; those of the pairs stand for it where
        empty.
    ``equal``: None where that cannot be told.
    ``prepare_ns``: What is paid once: the conversion, the scatter.
    ``changes``: What comes back otherwise, in words.
    ``reason``: Why it failed.
    """

    key: str
    baseline: str = ""
    code: str | None = ""
    cold: tuple[Trip, Trip] | None = None
    trips: Sequence[list[Trip]] = field(default_factory=lambda: ([], []))
    now: Sequence[Trip] = ()
    loops: int = 1
    equal: bool | None = None
    prepare_ns: int | None = None
    changes: tuple[str, ...] = ()
    reason: str = ""
    is_over: bool = False

    @property
    def pairs(self) -> int:
        """How many there are."""
        return min(map(len, self.trips))

    @property
    def sides_left(self) -> tuple[int, ...]:
        """Which sides a pair still needs: each begins in every other one."""
        # Neither always runs in the wake of the other.
        order = (0, 1) if self.pairs % 2 == 0 else (1, 0)
        return order if len(self.trips[0]) == len(self.trips[1]) else order[1:]

    @property
    def shown(self) -> tuple[Trip, Trip] | None:
        """The trips whose times are shown: the way it goes now, and the remedy."""
        before, after = map(middle_trip, (self.now or self.trips[0], self.trips[1]))
        return (before, after) if before and after else None

    @property
    def stages(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Stages of the trips that are shown, ns."""
        return (self.shown[0].stages, self.shown[1].stages) if self.shown else ({}, {})


def middle_trip(trips: Sequence[Trip]) -> Trip | None:
    """Return the trip whose time stands for all of them; None without any."""
    return middle_run(trips, lambda trip: trip.wall_ns) if trips else None


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times faster; ``low`` and ``high`` are None where too few pairs allow none."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        """``faster``, ``slower`` or ``unsure``."""
        if self.low is None or self.high is None or self.low <= 1 <= self.high:
            return "unsure"
        return "faster" if self.low > 1 else "slower"


def gain_of(trial: Trial) -> Gain | None:
    """Return the gain of a trial; None without pairs."""
    if not trial.pairs or trial.shown is None:
        return None
    before, after = trial.shown
    value = before.wall_ns / max(1, after.wall_ns)
    old, new = ([trip.wall_ns for trip in trips[: trial.pairs]] for trips in trial.trips)
    shift = paired_shift(old, new)
    if shift.low is None or shift.high is None:
        return Gain(value)
    return Gain(value, min(value, math.exp(-shift.high)), max(value, math.exp(-shift.low)))


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Return what helps, the best first; then what cannot be told, what hurts, what is unequal."""
    return sorted(trials, key=_rank)


def _rank(trial: Trial) -> tuple[int, float]:
    gain = gain_of(trial)
    if gain is None or trial.equal is False:
        return len(_FINDINGS), 0.0
    return _FINDINGS.index(gain.verdict), -gain.value


def shrinking_stage(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the stage that loses most of its time; "" where none does."""
    saved = {key: ns - after.get(key, 0) for key, ns in before.items()}
    key = max(saved, key=lambda name: saved[name], default="")
    return key if saved.get(key, 0) > 0 else ""


def interval_text(gain: Gain) -> str:
    """Return the gain as it is printed.

    >>> interval_text(Gain(3.2, 2.9, 3.5)), interval_text(Gain(1.1))
    ('3.2× [2.9×, 3.5×]', '1.1×')
    """  # noqa: RUF002
    if gain.low is None or gain.high is None:
        return format_ratio(gain.value)
    return f"{format_ratio(gain.value)} [{format_ratio(gain.low)}, {format_ratio(gain.high)}]"


def verdict_text(trial: Trial) -> str:
    """Return what a trial says: how much faster, from how many pairs, and whether it is equal."""
    gain = gain_of(trial)
    if gain is None:
        return "not measured"
    pairs = counted(trial.pairs, "pair")
    equal = {True: "equal", False: "NOT equal", None: "equality cannot be told"}[trial.equal]
    verdict = {"faster": "faster", "slower": "as fast: slower", "unsure": "cannot tell"}
    said = verdict[gain.verdict] if gain.low is not None else "cannot tell from so few"
    return f"{interval_text(gain)} {said}, {pairs}, {equal}"


def notes_of(trial: Trial) -> tuple[str, ...]:
    """Return the sentences about a trial: the verdict, the stage, what it costs and changes."""
    notes, gain = [verdict_text(trial)], gain_of(trial)
    if (key := shrinking_stage(*trial.stages)) and gain and gain.verdict == "faster":
        before, after = (format_ns(stages.get(key, 0)) for stages in trial.stages)
        notes.append(f"{stage(key).title} shrinks from {before} to {after}")
    if trial.prepare_ns is not None:
        sends = sends_to_pay(trial)
        often = "the first send" if sends == 1 else f"{format_count(sends or 0)} sends"
        once = f"made once in {format_ns(trial.prepare_ns)}, which is not in the gain"
        notes.append(f"{once}; pays from {often} on" if sends else once)
    return (*notes, *trial.changes)


def sends_to_pay(trial: Trial) -> int | None:
    """Return after how many sends what is paid once is earned; None where it never is."""
    gain = gain_of(trial)
    if not trial.shown or not gain or gain.verdict != "faster" or trial.prepare_ns is None:
        return None
    saved_ns = trial.shown[0].wall_ns - trial.shown[1].wall_ns
    return max(1, math.ceil(trial.prepare_ns / saved_ns)) if saved_ns > 0 else None


def measured_of(trial: Trial) -> Mapping[str, Scalar]:
    """Return what `Finding.measured` holds.

    ``before_ns`` and ``after_ns`` are of the whole trip, and their ratio is the gain; those of the
    stage that shrinks most are ``stage_before_ns`` and ``stage_after_ns``.
    """
    gain, (before, after) = gain_of(trial), trial.stages
    key = shrinking_stage(before, after)
    return {
        "stage": key or None,
        "before_ns": trial.shown and trial.shown[0].wall_ns,
        "after_ns": trial.shown and trial.shown[1].wall_ns,
        "low": gain.low if gain else None,
        "high": gain.high if gain else None,
        "pairs": trial.pairs,
        "equal": trial.equal,
        "stage_before_ns": before.get(key),
        "stage_after_ns": after.get(key, 0) if key else None,
        "prepare_ns": trial.prepare_ns,
    }


def finding_of(trial: Trial, name: str) -> Finding | None:
    """Return the finding of a remedy that is faster and gives the same; else None."""
    gain, remedy = gain_of(trial), REMEDIES[trial.key]
    if gain is None or gain.verdict != "faster" or trial.equal is False:
        return None
    return Finding(
        remedy.rule,
        "warn",
        f"{name}: {remedy.cause} (gain: against {trial.baseline})",
        {"remedy": trial.key, "changes": "; ".join(trial.changes) or None},
        "" if trial.code is None else known(trial.code or pasted(remedy.code, name), name),
        gain=gain.value,
        measured=measured_of(trial),
    )


def headline(name: str, size_bytes: int | None, trials: Sequence[Trial], trying: str = "") -> str:
    """Return the verdict, the times that it follows from, and the name, which may be cut off."""
    what, best = what_text(name, size_bytes), next(iter(ranked(trials)), None)
    # While it runs more is to come: nothing can be said of all of them.
    if trying and (best is None or _rank(best)[0] >= _FINDINGS.index("slower")):
        return f"trying {trying}, {what}"
    if best is None:
        return f"nothing to try: --try has no line to measure for {what}"
    title, gain = REMEDIES[best.key].title, gain_of(best)
    if best.equal is False:
        return f"nothing to use: the result is another one with {title}, {what}"
    if gain is None or best.shown is None:
        return f"{what}: no pair was measured, so {best.baseline} stays"
    before, after = (format_ns(trip.wall_ns) for trip in best.shown)
    least, most = format_ratio(gain.low), format_ratio(gain.high)
    # The times that are shown can lie at an end of what the pairs allow, or beyond it.
    is_wide = gain.low and gain.high and gain.high > _WIDE * gain.low
    is_at_an_end = is_wide and format_ratio(gain.value) in (least, most)
    times = "" if is_at_an_end else f", {before} → {after}"  # their ratio is another one
    verdict = {
        "faster": f"{f'at least {least}' if is_at_an_end else format_ratio(gain.value)} faster "
        f"with {title}",
        "slower": f"nothing is faster, {title} is {format_ratio(1 / gain.value)} slower",
        "unsure": f"{title} cannot be told from {best.baseline}",
    }[gain.verdict]
    if gain.low is None:
        verdict = f"{counted(best.pairs, 'pair')} cannot tell {title} from {best.baseline}"
    equal = f"results {'equal' if best.equal else 'not compared'}, " * (gain.verdict == "faster")
    return f"{verdict}{times}, {equal}{what}"
