"""From passes that leave something out to the parts of one dumps and one loads.

Each pass does all that the one before it did, and one thing more: the difference is that thing.
Differences are cut where they would go beyond the whole or back; what no pass explains stays with
the whole as *not split*, and a sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from jupyter_serprof.analysis.findings.pickle import (
    FRESH_BYTES,
    FRESH_REMEDY,
    FRESH_SHARE,
    PAGE_BYTES,
)
from jupyter_serprof.analysis.outline import Entry, entries_of
from jupyter_serprof.capture.freeze import MAIN_LANE
from jupyter_serprof.model import Finding, Group, Lane, Span, Summary, Trace, stage
from jupyter_serprof.model.units import (
    column,
    column_unit,
    format_bytes,
    format_count,
    format_ns,
)

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


class Timed(NamedTuple):
    """One real run: how long it took and how many pages it touched for the first time."""

    duration_ns: int
    minor_faults: int | None = None


@dataclass(slots=True)
class Half:
    """What was measured of dumps or of loads.

    Attributes
    ----------
    whole
        ``pickle.dumps`` or ``pickle.loads``.
    cold
        The very first run; None where not even that one ended.
    runs
        Those of each pass after it.
    levels
        How long the pass took that ends with each stage, in the order of the passes.
    raised
        Why a pass was left out.
    """

    whole: str
    cold: Timed | None = None
    runs: dict[str, list[Timed]] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)

    def least(self, name: str) -> Timed | None:
        """Return the shortest run of a pass; None without any."""
        return min(self.runs.get(name, ()), key=lambda run: run.duration_ns, default=None)

    def least_ns(self, name: str) -> int | None:
        """Return how long it took."""
        least = self.least(name)
        return None if least is None else least.duration_ns

    @property
    def warm(self) -> Timed | None:
        """The shortest later run; None where there was no time: then the first one is split."""
        return self.least(WHOLE)

    @property
    def last(self) -> Timed:
        """The run that the levels are the parts of."""
        return self.warm or self.cold or Timed(0)

    @property
    def verb(self) -> str:
        """What it is called in a sentence."""
        return self.whole.partition(".")[2]


@dataclass(slots=True)
class Measured:
    """Both halves as far as they came, the sizes of the pickles, and how often it was made."""

    dumped: Half = field(default_factory=partial(Half, DUMPS))
    loaded: Half = field(default_factory=partial(Half, LOADS))
    sizes: list[int] = field(default_factory=list)
    pickled: int = 0
    unpickled: int = 0

    @property
    def halves(self) -> list[Half]:
        """Those of which at least the first run ended."""
        return [half for half in (self.dumped, self.loaded) if half.cold is not None]

    @property
    def in_band_bytes(self) -> int | None:
        """Of the first pickle."""
        return self.sizes[0] if self.sizes else None


def parts_of(total_ns: int, levels: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return what each pass adds; never negative, together at most the whole.

    >>> parts_of(10, {"a": 4, "c": 3, "d": 12})
    [('a', 4), ('c', 0), ('d', 6)]
    """
    reached, parts = 0, []
    for key, until_ns in levels.items():
        until = min(total_ns, max(reached, until_ns))
        parts.append((key, until - reached))
        reached = until
    return parts


def cut_notes(half: Half) -> Iterator[str]:
    """Say which passes took longer than the whole of which they are a part, or than a later one."""
    reached, whole_ns = 0, half.last.duration_ns
    worth = _WORTH_SHARE * whole_ns
    for key, until in half.levels.items():
        title = stage(key).title
        if until > whole_ns + worth:
            over = format_ns(until - whole_ns)
            yield f"{title}: its pass took {over} longer than the whole; cut to the whole"
        elif until < reached - worth:
            less = format_ns(reached - until)
            yield f"{title}: its pass took {less} less than the one without it; told as 0"
        reached = max(reached, until)


def missing_notes(half: Half) -> Iterator[str]:
    """Say what was not told apart, and why."""
    verb, took = half.verb, format_ns(half.cold.duration_ns if half.cold else 0)
    if WHOLE in half.raised:
        yield f"{verb} raised when it was repeated: {half.raised[WHOLE]}"
    if half.warm is None:
        yield f"one {verb} takes {took}: it was not made again"
    elif len(half.runs[WHOLE]) == 1:
        yield f"one {verb} takes {took}: each pass was made once at most"
    if "objects" in half.raised:
        yield "loads was not split: it writes into the buffers that it is given"
    elif "buffers" in half.raised:
        yield f"loads was not split: dumps raised {half.raised['buffers']}"
    elif half.warm and half.levels.keys().isdisjoint({"pickle.copy", "unpickle.copy", _BUILT}):
        yield f"{verb}: copy and new pages n/a, they are in it: no pass could leave them out"


def whole_notes(measured: Measured, name: str) -> Iterator[str]:
    """Say what is not known of the passes as a whole; a half tells its own."""
    sizes, loaded, dumped = measured.sizes, measured.loaded, measured.dumped
    if sizes and max(sizes) > min(sizes):
        yield (
            f"{name} changes while it is pickled: its pickle had {sizes[0]:,} B at first "
            f"and {sizes[-1]:,} B at last; the passes did not all do the same work"
        )
    if loaded.cold is None and WHOLE in loaded.raised:
        yield f"loads was not measured: it raised {loaded.raised[WHOLE]}"
    elif loaded.cold is None and WHOLE in dumped.raised:
        yield "loads was not measured: there is no pickle for it"


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
    apart = (note for h in measured.halves for note in (*missing_notes(h), *cut_notes(h)))
    notes = (*base.quality.notes, *whole_notes(measured, base.name), *apart)
    return replace(
        base,
        wall_ns=at,
        lanes=(Lane(MAIN_LANE),),
        spans=tuple(spans),
        groups=tuple(groups),
        quality=replace(base.quality, notes=notes),
    )


def _title(measured: Measured, *, is_cold: bool) -> str:
    runs = min((len(h.runs[WHOLE]) for h in measured.halves if WHOLE in h.runs), default=1)
    return "first run" if is_cold else f"again{f': best of {runs}' if runs > 1 else ''}"


def _add_half(spans: list[Span], half: Half, at: int, measured: Measured, *, is_cold: bool) -> int:
    run = (is_cold and half.cold) or half.last
    details = {
        "in_band_bytes": measured.in_band_bytes,
        "copied_bytes": measured.in_band_bytes,
        "minor_faults": run.minor_faults,
    }
    known = {key: value for key, value in details.items() if value is not None}
    parent = len(spans)
    size = measured.in_band_bytes
    spans.append(Span(half.whole, half.whole, MAIN_LANE, at, run.duration_ns, size, -1, known))
    start = at
    # No passes were made of the first run: what it did beside the work of all runs is not known.
    is_whole = is_cold and half.warm is not None
    for key, duration in () if is_whole else parts_of(run.duration_ns, half.levels):
        spans.append(Span(key, key, MAIN_LANE, start, duration, None, parent))
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
    size, faults = measured.in_band_bytes or 0, measured.dumped.last.minor_faults or 0
    if size < FRESH_BYTES or faults * PAGE_BYTES < FRESH_SHARE * size:
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
    # Rounded so that they are no more than 100 % together.
    known = [ns for _, ns in parts]
    texts = column(known, sum(known), 0, total_ns / 100) if total_ns else []
    shares = sorted(zip(parts, texts, strict=False), key=lambda each: -each[0][1])[:2]
    told = [
        f"{text} % {stage(key).title}" for (key, ns), text in shares if ns >= _TOLD_SHARE * total_ns
    ]
    return f"{half.verb} {printed}{': ' if told else ''}{', '.join(told)}"


def _cold_facts(measured: Measured, printed: Mapping[str, str]) -> Sequence[str]:
    first = [f"{half.verb} {printed[half.whole]}" for half in measured.halves]
    faults = [
        f"{half.verb} {format_count(half.warm.minor_faults)} new pages"
        for half in measured.halves
        if half.warm is not None and half.warm.minor_faults is not None
    ]
    facts = [f"first run: {', '.join(first)}"] if first else []
    if faults:
        facts.append(f"again: {', '.join(faults)}")
    times = f"pickled {_times(measured.pickled)}, unpickled {_times(measured.unpickled)}"
    return [*facts, times]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count) or f"{format_count(count)} times"
