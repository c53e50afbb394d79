"""Freezing: from the page of a recorder through drafts, its spans to be completed, to a trace."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jupyter_serprof.capture.hook import Record
from jupyter_serprof.capture.joining import Written, entries_of, joined_note
from jupyter_serprof.capture.machine import describe_environment, producer
from jupyter_serprof.capture.recorder import Recorder, Watcher, describe_failure
from jupyter_serprof.model import Group, Lane, ProbeReport, Quality, Span, Table, Trace
from jupyter_serprof.model.stages import MARK, RECORDING
from jupyter_serprof.model.trace import HELD, STOOD

MAIN_LANE = "client/main"
_MOST_MARKS = 5_000
#: Less is not told: a tenth of a millisecond, a hundredth of the wall time.
_LEAST_NS, _LEAST_SHARE = 100_000, 0.01
#: So long a line may be older than the end: what it said then still holds.
_LATELY_NS = 1_500_000_000


@dataclass(slots=True, eq=False)
class Draft:
    """One span that may still change; times are ns of the recorder's clock."""

    stage: str
    name: str
    lane: str
    start: int
    end: int
    role: str = ""
    parent: Draft | None = None
    size_bytes: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    extra: Any = None
    is_dropped: bool = False
    #: Where it was noted (``module:attribute``); empty for what a probe added.
    place: str = ""

    def ancestors(self) -> Iterator[Draft]:
        """Yield the enclosing drafts, innermost first."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    def is_inside(self, *roles: str) -> bool:
        """Tell whether an enclosing draft has one of the roles."""
        return any(above.role in roles for above in self.ancestors())


@dataclass(slots=True)
class Page:
    """Everything that probes may complete after a run; groups are on the clock of the drafts.

    ``start`` and ``end`` are on the clock of the drafts; ``wall_offset`` added to a draft's time
    gives the time of day in ns.
    """

    start: int
    end: int
    wall_offset: int
    drafts: list[Draft]
    lanes: dict[str, Lane]
    notes: list[str] = field(default_factory=list)
    clock_error_ns: int = 0
    #: By worker elsewhere, what its clock was ahead of ours, and half of what is unknown, ns.
    clocks: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    #: The key of the lane of each thread that wrote records.
    threads: dict[int, str] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    #: Whoever pressed Ctrl-C waits for the prompt: nothing is waited for. A get may time out, too.
    is_interrupted: bool = False
    is_given_up: bool = False
    is_failed: bool = False


def freeze(recorder: Recorder, *, name: str, outcome: str = "ok", run: Page | None = None) -> Trace:
    """Return the trace of a stopped recorder, without waterfall, findings and summary.

    ``recorder``: Stopped; it is not changed.
    ``name``: What was run, for people.
    ``outcome``: ``ok``, ``error`` or ``interrupted``.
    ``run``: What `page_of` made of it, if that was asked for apart.
    """
    run = page_of(recorder) if run is None else run
    run.is_interrupted, run.is_failed = outcome == "interrupted", outcome == "error"
    errors = {draft.details.get("error") for draft in run.drafts}
    run.is_given_up = run.is_interrupted or (run.is_failed and "GetTimeoutError" in errors)
    why, told_ns = recorder.stood
    if run.is_given_up and why and HELD not in why and run.end - told_ns < _LATELY_NS:
        run.notes.append(f"{STOOD}{why}")
    if (s := recorder.held[0]) > 0:
        run.notes.append(f"one call{recorder.held[1]}{HELD}{s:.1f} s or more")
    for probe in recorder.probes:
        _refine(probe, run)
    seen = [draft for draft in run.drafts if not draft.is_dropped]
    kept = [draft for draft in seen if draft.start <= run.end and draft.end >= run.start]
    kept.sort(key=lambda draft: (draft.start, -draft.end))
    calls, taken = _taken(kept, recorder)
    _join_marks(kept, run)
    used = {draft.lane for draft in kept} | {MAIN_LANE}
    return Trace(
        name=name,
        started=recorder.started,
        wall_ns=run.end - run.start,
        outcome=outcome,
        producer=producer(),
        lanes=tuple(lane for key, lane in run.lanes.items() if key in used),
        spans=(*_spans(kept, run), *_recording(calls, taken, run.end - run.start)),
        groups=_groups(run),
        tables=tuple(run.tables),
        quality=_quality(recorder, run, round(sum(taken.values()) / calls) if calls else None),
        environment=describe_environment(),
    )


def _join_marks(drafts: Iterable[Draft], run: Page) -> None:
    """Give the marks beyond the first few thousand names one stage; each would be a row."""
    marks = [draft for draft in drafts if draft.stage.startswith(MARK)]
    more = set(list(dict.fromkeys(draft.stage for draft in marks))[_MOST_MARKS:])
    for draft in marks if more else ():
        draft.stage = f"{MARK}{len(more):,} more names" if draft.stage in more else draft.stage
    if more:
        run.notes.append(
            f"sp.span had {len(more) + _MOST_MARKS:,} names; those after the first "
            f"{_MOST_MARKS:,} are one row. Give the steps of a loop one name"
        )


def _refine(probe: Watcher, run: Page) -> None:
    try:
        probe.refine(run)
    except Exception as error:  # noqa: BLE001  (what was measured must survive a failing probe)
        run.notes.append(f"a probe could not complete its spans: {describe_failure(error)}")


def _report(probe: Watcher) -> ProbeReport:
    try:
        return probe.report()
    except Exception as error:  # noqa: BLE001  (as in _refine)
        return ProbeReport(probe.library, None, "failed", unseen=(describe_failure(error),))


def page_of(recorder: Recorder) -> Page:
    """Return the drafts of a stopped recorder; whoever interrupts it may ask again."""
    if not recorder.costs and len(recorder.page):
        recorder.weigh(next(reversed(recorder.page))[0])
    end = recorder.end_ns if recorder.end_ns is not None else recorder.now()
    lanes = {MAIN_LANE: Lane(MAIN_LANE)}
    entries = entries_of(recorder.page)
    by_thread: dict[int, list[Written]] = {}
    for entry in entries:
        by_thread.setdefault(entry.record[1], []).append(entry)
    drafts: list[Draft] = []
    threads: dict[int, str] = {}
    for ident, own in by_thread.items():
        key = _lane_key(ident, recorder.thread, lanes)
        lanes.setdefault(key, Lane(key))
        threads[ident] = key
        drafts += _nested(own, key)
    offset_start = recorder.wall_start_ns - recorder.start_ns
    offset_end = recorder.wall_end_ns - end
    return Page(
        start=recorder.start_ns,
        end=end,
        wall_offset=offset_start,
        drafts=drafts,
        lanes=lanes,
        threads=threads,
        notes=[*joined_note(entries)],
        clock_error_ns=abs(offset_end - offset_start) if recorder.wall_end_ns else 0,
    )


def _lane_key(ident: int, main: int, lanes: dict[str, Lane]) -> str:
    if ident == main:
        return MAIN_LANE
    # Numbers instead of the threads' own names, which may say more than the user wants to share.
    return f"client/{'task' if ident < 0 else 'thread'} {len(lanes)}"


def _nested(entries: list[Written], lane: str) -> list[Draft]:
    """Find the parents: on one thread, calls nest as their intervals do."""
    # A child is written before its parent: of two equal intervals the later one is outside, and a
    # call that was written later is not inside, even if it began when the other one ended.
    ordered = sorted(entries, key=lambda entry: (entry[1][2], -entry[1][3], -entry[0]))
    around: list[tuple[int, Draft]] = []
    drafts = []
    for position, record, calls in ordered:
        while around and (around[-1][1].end < record[3] or around[-1][0] < position):
            around.pop()
        draft = _draft(record, lane, around[-1][1] if around else None)
        if calls > 1:
            draft.details["calls"] = calls
        drafts.append(draft)
        around.append((position, draft))
    return drafts


def _draft(record: Record, lane: str, parent: Draft | None) -> Draft:
    place, _, start, end, faults, extra, error = record
    draft = Draft(place.stage, place.name, lane, start, end, place.role, parent, extra=extra)
    draft.place = place.path
    if place.inside:
        roles = (above.role for above in draft.ancestors() if above.role in place.inside)
        draft.stage = place.inside.get(next(roles, ""), place.stage)
    if faults is not None:
        draft.details["minor_faults"] = faults
    if error is not None:
        draft.details["error"] = error
    return draft


def _spans(drafts: Sequence[Draft], run: Page) -> tuple[Span, ...]:
    index = {id(draft): position for position, draft in enumerate(drafts)}
    return tuple(
        Span(
            stage=draft.stage,
            name=draft.name,
            lane=draft.lane,
            start_ns=draft.start - run.start,
            duration_ns=draft.end - draft.start,
            size_bytes=draft.size_bytes,
            parent=next((index[id(a)] for a in draft.ancestors() if id(a) in index), -1),
            details=draft.details or None,
        )
        for draft in drafts
    )


def _groups(run: Page) -> tuple[Group, ...]:
    ordered = sorted(run.groups, key=lambda group: group.start_ns)
    return tuple(
        replace(group, start_ns=group.start_ns - run.start, end_ns=group.end_ns - run.start)
        for group in ordered
    )


def _taken(drafts: Sequence[Draft], recorder: Recorder) -> tuple[int, Mapping[str, float]]:
    """Return how many calls of the caller were written down, and their cost by stage, ns."""
    # Between its two times it went to its own stage, the rest to what is around it, or to "".
    own = [draft for draft in drafts if draft.place and draft.lane == MAIN_LANE]
    if not own or not recorder.costs:
        return 0, {}
    outer_ns, inner_ns = (statistics.median(column) for column in zip(*recorder.costs, strict=True))
    seen, taken = Counter[str](), Counter[str]({"": recorder.moved_ns})
    for draft in drafts:
        seen[draft.place] += draft.details.get("calls", 1)
    for draft in own:
        around = next((above for above in draft.ancestors() if not above.is_dropped), None)
        calls = draft.details.get("calls", 1)
        beside_ns = outer_ns + recorder.own_ns[draft.place] / seen[draft.place]
        taken[draft.stage] += calls * inner_ns
        taken[around.stage if around else ""] += calls * beside_ns
    return sum(draft.details.get("calls", 1) for draft in own), taken


def _recording(calls: int, taken: Mapping[str, float], wall_ns: int) -> tuple[Span, ...]:
    """Return the span without length that says what recording took, if that is worth a row."""
    if sum(taken.values()) < max(_LEAST_NS, _LEAST_SHARE * wall_ns):
        return ()
    told = {key: max(0, round(ns)) for key, ns in taken.items()}
    details = {"calls": calls, "taken_ns": told}
    return (Span(RECORDING, "Recording", MAIN_LANE, wall_ns, 0, details=details),)


def _quality(recorder: Recorder, run: Page, span_cost_ns: int | None) -> Quality:
    known = recorder.failures.items()
    failures = (f"{what} ({count} times)" if count > 1 else what for what, count in known)
    return Quality(
        spans_dropped=recorder.dropped_count,
        span_cost_ns=span_cost_ns,
        clock_error_ns=run.clock_error_ns,
        probes=tuple(_report(probe) for probe in recorder.probes),
        notes=(*run.notes, *failures),
    )
