"""A Comparison: stage by stage, is it faster, slower, or can nobody tell."""

from __future__ import annotations

from dataclasses import dataclass

#: Said where nothing tells the code from the machine.
TIMES_APART = (
    "before was measured at another time, without fixed work beside the runs of both: a machine "
    "that is slower or faster than it was then looks like slower or faster code. Run both in "
    "turns: sp.compare(f, g), or make both again with --repeat 15"
)

#: ``only before`` and ``only after`` have no ratio.
VERDICTS = ("faster", "slower", "cannot tell", "only before", "only after")


@dataclass(frozen=True, slots=True)
class Change:
    """One stage, or the wall time, before and after.

    Attributes
    ----------
    stage, title
        Key and title of the stage; the key is empty for the wall time.
    variant, size_bytes, cold
        Which points of a sweep it compares; empty, None and None for two traces.
    before_ns, after_ns
        Medians (`model.times`); None where the stage is missing.
    ratio, low, high
        After over before with its 95 % interval; None without enough runs.
    verdict
        One of `VERDICTS`.
    reason
        Why it cannot be told; empty otherwise.
    """

    stage: str
    title: str
    before_ns: float | None
    after_ns: float | None
    verdict: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    before_runs: int = 1
    after_runs: int = 1
    variant: str = ""
    size_bytes: int | None = None
    cold: bool | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two documents, or a document and runs of now, stage by stage.

    Attributes
    ----------
    before, after
        Names of the two.
    changes
        The wall time first, then the stages in the order of the road.
    control
        The fixed work between the runs, a line for each kind (its key is ``stage``); empty where
        one of the two has none. How the machine itself has changed: no verdict on the code in
        ``changes`` lies within what this work differed by.
    noise_share
        Half width of the interval of A against A, as a share, measured on the spot; None when
        nothing could be run.
    method
        How the intervals were made, one sentence.
    notes
        What cannot be compared, and why.
    """

    before: str
    after: str
    changes: tuple[Change, ...] = ()
    noise_share: float | None = None
    method: str = ""
    notes: tuple[str, ...] = ()
    control: tuple[Change, ...] = ()
