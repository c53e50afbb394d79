"""A Trace: all spans of one run and the facts about the run, as immutable data.

Times are integer nanoseconds from ``Trace.started``; sizes are integer bytes; unknown is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jupyter_serprof.model.anatomy import Anatomy
from jupyter_serprof.model.errors import Displayed

#: Said where nothing tells the code from the machine.
TIMES_APART = (
    "before was measured at another time, without fixed work beside the runs of both: a machine "
    "that is slower or faster than it was then looks like slower or faster code. Run both in "
    "turns: sp.compare(f, g), or make both again with --repeat 15"
)

#: In a note on a recording: its waits are for a process that is no more, or that stands still.
DIED, WAS_DEAD = "died during the recording", "was dead before the recording began"
SILENT = "does not answer"
LOST = "the client lost its scheduler"
FORKED = "of this process while Ray ran"
NO_WORKER = "there was no worker: nothing could run"
HELD = " held the interpreter for "
#: Before why nothing moved, as the line said it last, in the note of a run that was stopped.
STOOD = "when it was stopped: "
#: Between what goes on after a stop, and the line that ends it.
STAYED = " left on the cluster: "
#: Behind the kind of an object that a function captures, or that a method is bound to.
IN_CODE = " in a function"


@dataclass(frozen=True, slots=True)
class Change:
    """One stage, or the wall time, before and after.

    ``stage``, ``title``: Key and title of the stage; the key is empty for the wall time.
    ``variant``, ``size_bytes``, ``cold``: Which points of a sweep it compares; empty, None and None
        for two traces.
    ``before_ns``, ``after_ns``: Of one run, whose wall time is that of all of them (`model.sweep`);
        None where no run has the stage.
    ``before_groups``, ``after_groups``: Both times of a side whose runs fall into two groups, in
        words; empty otherwise.
    ``ratio``, ``low``, ``high``: After over before with its 95 % interval; None without enough
        runs.
    ``verdict``: ``faster``, ``slower``, ``cannot tell``, ``only before`` or ``only after``.
    ``reason``: Why it cannot be told; empty otherwise.
    ``is_small``: Below 1 % of the wall time before and after: told in one line with others.
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
    before_groups: str = ""
    after_groups: str = ""
    is_small: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Displayed):
    """Two documents, or a document and runs of now, stage by stage.

    ``before``, ``after``: Names of the two.
    ``changes``: The wall time first, then the stages in the order of the road.
    ``noise_share``: Half width of the interval of A against A, as a share, measured on the spot;
        None when nothing could be run.
    ``is_paired``: Whether the runs of both were made in turns: ratios are of pairs, not of all.
    ``method``: How the intervals were made, one sentence.
    ``notes``: What cannot be compared, and why.
    """

    before: str
    after: str
    changes: tuple[Change, ...] = ()
    noise_share: float | None = None
    is_paired: bool = False
    method: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step on the road.

    ``key``: ``library.step``, stable for ever.
    ``title``: What people read; a term of the library's documentation.
    ``order``: Position on the road; smaller is earlier.
    ``family``: One of ``build``, ``pickle``, ``move``, ``schedule``, ``store``, ``execute``,
        ``other``; it gives the colour.
    ``waits``: True if the caller does nothing but wait in it.
    ``note``: What the number contains and what it does not.
    ``parent``: Key of the stage that this one is a part of, under whose row its own is drawn.
    """

    key: str
    title: str
    order: int
    family: str = "other"
    waits: bool = False
    note: str = ""
    parent: str = ""


Scalar = str | int | float | bool | None
Details = Mapping[str, object]


class Span(NamedTuple):
    """One timed interval.

    ``parent`` is the index of the enclosing span in ``Trace.spans`` (-1: none). ``details`` holds
    what only some stages know (``in_band_bytes``, ``out_of_band_bytes``, ``buffers``,
    ``minor_faults``, ``error`` ...).
    """

    stage: str
    name: str
    lane: str
    start_ns: int
    duration_ns: int
    size_bytes: int | None = None
    parent: int = -1
    details: Details | None = None

    @property
    def end_ns(self) -> int:
        """End of the interval, ns from the start of the trace."""
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class Lane:
    """Who did it: a client thread, a scheduler, a worker thread, a raylet; and how good its clock.

    ``clock_offset_ns`` was already subtracted from the spans; ``clock_error_ns`` is half the width
    of what remains unknown.
    """

    key: str
    kind: str = "client"
    process: int = 0
    clock_offset_ns: int = 0
    clock_error_ns: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a waterfall: what a stage owned of the wall time, and the work it did in parallel.

    ``self_ns``: Wall time owned by the stage; the rows and the unaccounted time add up to the wall
        time.
    ``busy_ns``: Length of its spans without their children, over all lanes; never added to
        ``self_ns``.
    ``size_bytes``: Bytes that passed through; None when the stage carries none or they were not
        seen.
    ``copied_bytes``: The part of them that was copied (a zero-copy stage has 0); rates use only
        these.
    ``minor_faults``: Pages touched for the first time; None when not counted.
    ``pieces``: (start_ns, duration_ns) of what it owned, in order, merged to at most 64.
    ``group``: Index in ``Trace.groups``; None where there are no groups.
    """

    stage: str
    lane: str
    start_ns: int
    self_ns: int
    busy_ns: int
    size_bytes: int | None
    count: int
    copied_bytes: int | None = None
    minor_faults: int | None = None
    pieces: tuple[tuple[int, int], ...] = ()
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One of several computations of a run: a block of rows of its own.

    An instant belongs to the last group that began; the first one begins with the run.
    """

    title: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a `Table`; its unit is ``text``, ``count``, ``bytes``, ``ns`` or ``ratio``."""

    key: str
    title: str
    unit: str = "text"

    @classmethod
    def each(cls, *told: str) -> tuple[TableColumn, ...]:
        """Return columns, each told as ``key: title`` or ``key: title, unit``."""
        return tuple(cls(key, *rest.split(", ")) for key, rest in (x.split(": ") for x in told))


@dataclass(frozen=True, slots=True)
class Table:
    """Facts that have no place on the time axis: quantiles of tasks, who holds the bytes."""

    key: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above others, and their sum: a stage with parts, a computation, or what is small.

    ``self_ns``: Sum of the rows below it.
    ``stage``: Key of the stage; "" for a computation, and for small lines that are told together.
    ``group``: Index in ``Trace.groups``; None for a stage, and for small lines.
    ``inside``: What stands below it, in order: indices of rows, and headings.
    """

    self_ns: int
    stage: str = ""
    group: int | None = None
    inside: tuple[int | Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The rows that a picture is drawn from, in the order of the road.

    ``sum(row.self_ns for row in rows) + unaccounted_ns`` is the wall time, to the nanosecond.
    ``outline`` says what stands below what, each row once, as an index; empty where no row stands
    below another.
    """

    rows: tuple[Row, ...]
    unaccounted_ns: int
    outline: tuple[int | Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause with its evidence and a remedy that can be pasted.

    ``title`` names the cause in at most 70 characters, ``because`` is its evidence in one sentence,
    and ``share`` the part of the wall time that it explains (0..1; None where that is unknown).
    ``gain`` is how many times faster the remedy is, if it was measured; ``measured`` then says on
    what: ``stage``, ``before_ns``, ``after_ns``, ``low`` and ``high`` (the 95 % interval of the
    gain), ``pairs``, ``equal``.
    """

    rule: str
    severity: str
    title: str
    evidence: Mapping[str, Scalar]
    remedy: str
    gain: float | None = None
    spans: tuple[int, ...] = ()
    measured: Mapping[str, Scalar] | None = None
    because: str = ""
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What this machine can do: one thread copying memory, pages known and pages new (bytes/s)."""

    memcpy_bytes_per_s: float | None = None
    first_touch_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a probe says about itself: version seen, how far it got, and what it could not see."""

    name: str
    version: str | None = None
    state: str = "armed"
    level: str = ""
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quality:
    """How good the numbers are."""

    spans_dropped: int = 0
    span_cost_ns: int | None = None
    clock_error_ns: int = 0
    probes: tuple[ProbeReport, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """The sentence above the picture, one line of facts, and how much is explained.

    ``details`` are the facts that stand behind the picture, not above it.
    ``strict_share`` counts stages that work; ``total_share`` also those that only wait (0..1).
    """

    headline: str
    facts: tuple[str, ...] = ()
    strict_share: float | None = None
    total_share: float | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trace(Displayed):
    """All spans of one run and the facts about the run.

    The waterfall, the summary and the findings are computed once (``analysis``) and stored here.
    """

    name: str
    started: str
    wall_ns: int
    outcome: str = "ok"
    producer: str = ""
    stages: tuple[Stage, ...] = ()
    lanes: tuple[Lane, ...] = ()
    spans: tuple[Span, ...] = ()
    waterfall: Waterfall | None = None
    summary: Summary | None = None
    findings: tuple[Finding, ...] = ()
    groups: tuple[Group, ...] = ()
    tables: tuple[Table, ...] = ()
    anatomies: tuple[Anatomy, ...] = ()
    comparison: Comparison | None = None
    limits: Limits = field(default_factory=Limits)
    quality: Quality = field(default_factory=Quality)
    environment: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def is_of_a_run(self) -> bool:
        """Whether code ran, as against what objects and stores hold."""
        return self.wall_ns > 0 or not (self.anatomies or self.tables)
