"""From passes that leave something out to the parts of one dumps and one loads.

Each pass does all that the one before it did, and one thing more: the difference is that thing.
Differences are cut where they would go beyond the whole or back; what no pass explains stays with
the whole as *not split*, and a sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.findings.pickle import (
    FRESH_BYTES,
    FRESH_REMEDY,
    FRESH_SHARE,
    PAGE_BYTES,
)
from jupyter_serprof.analysis.outline import Entry, entries_of
from jupyter_serprof.model import Finding, Group, Lane, Span, Summary, Trace, stage
from jupyter_serprof.model.units import (
    column_unit,
    format_bytes,
    format_count,
    format_ns,
    format_share,
)

_LANE = "client/main"
DUMPS, LOADS = "pickle.dumps", "pickle.loads"
#: The name of the pass that is real dumps or loads.
WHOLE = "whole"
#: Without large buffers loads does nothing but build objects.
_BUILT = "unpickle.objects"
_FIRST_TOUCH = "memory.first-touch"
#: A cut of less than this share of the whole is noise of the clock.
_WORTH_SHARE = 0.02
#: What would be told as 0 % is not told in the headline.
_TOLD_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Level:
    """How long the pass took that ends with the stage."""

    stage: str
    until_ns: int


@dataclass(frozen=True, slots=True)
class Timed:
    """One real run: how long it took and how many pages it touched for the first time."""

    duration_ns: int
    minor_faults: int | None = None


@dataclass(frozen=True, slots=True)
class Half:
    """Everything that was measured of dumps or of loads.

    ``whole`` is ``pickle.dumps`` or ``pickle.loads``; ``levels`` are in the order of the passes.
    ``warm`` is None where there was no time for another run: then the first one is split.
    ``raised`` says why a pass was left out.
    """

    whole: str
    cold: Timed
    warm: Timed | None
    levels: tuple[Level, ...]
    runs: int = 1
    raised: Mapping[str, str] = field(default_factory=dict)

    @property
    def last(self) -> Timed:
        """The run that the levels are the parts of."""
        return self.warm or self.cold


@dataclass(frozen=True, slots=True)
class Measured:
    """Both halves as far as they came, what the pickle holds, and how often it was made."""

    halves: tuple[Half, ...]
    in_band_bytes: int | None = None
    notes: tuple[str, ...] = ()
    pickled: int | None = None
    unpickled: int | None = None


def parts_of(total_ns: int, levels: Iterable[Level]) -> list[tuple[str, int]]:
    """Return what each pass adds; never negative, together at most the whole.

    >>> parts_of(10, [Level("a", 4), Level("c", 3), Level("d", 12)])
    [('a', 4), ('c', 0), ('d', 6)]
    """
    reached, parts = 0, []
    for level in levels:
        until = min(total_ns, max(reached, level.until_ns))
        parts.append((level.stage, until - reached))
        reached = until
    return parts


def cut_notes(half: Half) -> list[str]:
    """Say which passes took longer than the whole of which they are a part, or than a later one."""
    reached, notes = 0, []
    for level in half.levels:
        until, title = level.until_ns, stage(level.stage).title
        worth = _WORTH_SHARE * half.last.duration_ns
        if until > half.last.duration_ns + worth:
            over = format_ns(until - half.last.duration_ns)
            notes.append(f"{title}: its pass took {over} longer than the whole; cut to the whole")
        elif until < reached - worth:
            less = format_ns(reached - until)
            notes.append(f"{title}: its pass took {less} less than the one without it; told as 0")
        reached = max(reached, until)
    return notes


def missing_notes(half: Half) -> Iterator[str]:
    """Say what was not told apart, and why."""
    verb, took = _verb(half), format_ns(half.cold.duration_ns)
    stages = {level.stage for level in half.levels}
    if WHOLE in half.raised:
        yield f"{verb} raised when it was repeated: {half.raised[WHOLE]}"
    if half.warm is None:
        yield f"one {verb} takes {took}: it was not made again"
    elif half.runs == 1:
        yield f"one {verb} takes {took}: each pass was made once at most"
    if "objects" in half.raised:
        yield "loads was not split: it writes into the buffers that it is given"
    elif "buffers" in half.raised:
        yield f"loads was not split: dumps raised {half.raised['buffers']}"
    elif half.warm is not None and stages.isdisjoint({"pickle.copy", "unpickle.copy", _BUILT}):
        yield f"{verb}: copy and new pages n/a, they are in it: no pass could leave them out"


def split_trace(base: Trace, measured: Measured) -> Trace:
    """Return the document: first run and again as two groups; the parts add up exactly.

    Parameters
    ----------
    base
        Name, start, environment and limits; its spans and its wall time are replaced.
    """
    spans: list[Span] = []
    groups: list[Group] = []
    at = 0
    for is_cold in (True, False):
        start = at
        for half in measured.halves:
            if is_cold or half.warm is not None:
                at = _add_half(spans, half, at, measured, is_cold=is_cold)
        if at > start:
            groups.append(Group(_title(measured, is_cold=is_cold), start, at))
    halves = measured.halves
    notes = [note for half in halves for note in (*missing_notes(half), *cut_notes(half))]
    return replace(
        base,
        wall_ns=at,
        lanes=(Lane(_LANE),),
        spans=tuple(spans),
        groups=tuple(groups),
        quality=replace(base.quality, notes=(*base.quality.notes, *measured.notes, *notes)),
    )


def _title(measured: Measured, *, is_cold: bool) -> str:
    runs = min((half.runs for half in measured.halves if half.warm is not None), default=1)
    return "first run" if is_cold else f"again{f': best of {runs}' if runs > 1 else ''}"


def _add_half(spans: list[Span], half: Half, at: int, measured: Measured, *, is_cold: bool) -> int:
    run = half.cold if is_cold else half.last
    details = {
        "in_band_bytes": measured.in_band_bytes,
        "copied_bytes": measured.in_band_bytes,
        "minor_faults": run.minor_faults,
    }
    known = {key: value for key, value in details.items() if value is not None}
    parent = len(spans)
    size = measured.in_band_bytes
    spans.append(Span(half.whole, half.whole, _LANE, at, run.duration_ns, size, -1, known))
    start = at
    # Of the first run nobody made passes: what it did beside the work of all runs is not known.
    is_whole = is_cold and half.warm is not None
    for key, duration in () if is_whole else parts_of(run.duration_ns, half.levels):
        spans.append(Span(key, key, _LANE, start, duration, None, parent))
        start += duration
    return at + run.duration_ns


def split_summary(trace: Trace, measured: Measured) -> Summary:
    """Return the sentence above the picture: the runs after the first, and their largest part."""
    first, last = _printed(trace)
    told = [_half_text(half, last[half.whole]) for half in measured.halves]
    size = f" ({format_bytes(measured.in_band_bytes)} in-band)" if measured.in_band_bytes else ""
    old = trace.summary or Summary("")
    limits = (fact for fact in old.facts if fact.startswith("memcpy"))
    facts = [*_cold_facts(measured, first), *limits]
    said = f"{trace.name}{size}: {'; '.join(told) or 'nothing was measured'}"
    if trace.outcome == "interrupted":
        said += "; interrupted: this is what was measured until then" if told else ": interrupted"
    return replace(old, headline=f"{said}.", facts=tuple(facts))


def split_findings(trace: Trace, measured: Measured) -> tuple[Finding, ...]:
    """Return the findings of the passes: new pages in warm runs are no matter of the first run."""
    others = tuple(found for found in trace.findings if found.rule != _FIRST_TOUCH)
    dumps = next((half for half in measured.halves if half.whole == "pickle.dumps"), None)
    size, faults = measured.in_band_bytes or 0, dumps.last.minor_faults if dumps else None
    is_fresh = size >= FRESH_BYTES and (faults or 0) * PAGE_BYTES >= FRESH_SHARE * size
    if not is_fresh or faults is None:
        return others
    allocated = [index for index, span in enumerate(trace.spans) if span.stage == "pickle.allocate"]
    found = Finding(
        "pickle.fresh-buffers",
        "info",
        f"every dumps, also a later one, writes its {format_bytes(size)} into new pages: "
        f"{format_count(faults)}",
        {"in_band_bytes": size, "minor_faults": faults},
        FRESH_REMEDY,
        spans=tuple(allocated),
    )
    return (found, *others)


def _printed(trace: Trace) -> tuple[dict[str, str], dict[str, str]]:
    """Return the times of dumps and of loads as the table prints them: of the first and last run.

    A column is rounded so that it adds up: of 5.166 ms it may print 5.16.
    """
    unit, found = column_unit(trace.wall_ns), list[dict[str, str]]()
    blocks = entries_of(trace)
    if len(trace.groups) < 2:  # noqa: PLR2004  (of one alone there is no line)
        blocks = [Entry("group", "", "", "", False, (), trace.wall_ns, tuple(blocks))]  # noqa: FBT003
    totals = unit.texts([block.self_ns for block in blocks], unit.text(trace.wall_ns))
    for block, total in zip(blocks, totals, strict=True):
        texts = unit.texts([entry.self_ns for entry in block.inside], total)
        keys = (entry.key for entry in block.inside)
        found.append({key: f"{said} {unit.name}" for key, said in zip(keys, texts, strict=True)})
    return found[0], {**found[0], **found[-1]}


def _half_text(half: Half, printed: str) -> str:
    total_ns = half.last.duration_ns
    parts = parts_of(total_ns, half.levels)
    shares = sorted(parts, key=lambda part: -part[1])[:2]
    told = [
        f"{format_share(ns / total_ns, decimals=0)} {stage(key).title}"
        for key, ns in shares
        if total_ns and ns >= _TOLD_SHARE * total_ns
    ]
    return f"{_verb(half)} {printed}{': ' if told else ''}{', '.join(told)}"


def _cold_facts(measured: Measured, printed: Mapping[str, str]) -> Sequence[str]:
    first = [f"{_verb(half)} {printed[half.whole]}" for half in measured.halves]
    faults = [
        f"{_verb(half)} {format_count(half.warm.minor_faults)} new pages"
        for half in measured.halves
        if half.warm is not None and half.warm.minor_faults is not None
    ]
    facts = [f"first run: {', '.join(first)}"] if first else []
    if faults:
        facts.append(f"again: {', '.join(faults)}")
    if measured.pickled is not None:
        times = f"pickled {_times(measured.pickled)}"
        facts.append(f"{times}, unpickled {_times(measured.unpickled or 0)}")
    return facts


def _verb(half: Half) -> str:
    return half.whole.partition(".")[2]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count) or f"{format_count(count)} times"
