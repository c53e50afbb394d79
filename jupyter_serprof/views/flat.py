"""A document for other programs: one flat table, or the Trace Event format of Chrome.

The table has spans, stages, points, parts of a pickle, or changes. The events open in the Perfetto
UI, in speedscope and chrome://tracing. Source: "Trace Event Format" (the document that Chromium's
catapult project refers to): complete events ``X`` in us and metadata events ``M``. Events of one
thread have to nest: spans of a lane that overlap without nesting get a second track.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from jupyter_serprof.model import Anatomy, Sweep, UsageError, WrongTypeError, stage, stages_of
from jupyter_serprof.model.trace import Comparison, Scalar, Span, Stage, Trace
from jupyter_serprof.model.units import a_kind, format_bytes
from jupyter_serprof.views.kit.table import csv_table

if TYPE_CHECKING:
    import pandas as pd


PARTS = (
    *("anatomy", "index", "parent", "path", "kind", "count", "self_bytes", "in_band_bytes"),
    *("out_of_band_bytes", "total_bytes", "share", "duration_ns", "state", "note"),
)
CHANGES = (
    *("before", "after", "variant", "size_bytes", "cold", "stage", "title", "before_ns"),
    *("after_ns", "ratio", "low", "high", "verdict", "reason", "before_runs", "after_runs"),
)
_Line = tuple[Scalar, ...]


_part = attrgetter("path", "kind", "count", *PARTS[6:9], "bytes")


def _parts(anatomies: Sequence[Anatomy]) -> Rows:
    """Return a line for each part; ``share`` is that of all bytes of its anatomy, 0 to 1."""
    lines = [
        (
            *(anatomy.name, index, None if part.parent < 0 else part.parent, *_part(part)),
            part.bytes / anatomy.total_bytes if anatomy.total_bytes else None,
            *(part.duration_ns, part.state, part.note),
        )
        for anatomy in anatomies
        for index, part in enumerate(anatomy.parts)
    ]
    return Rows(PARTS, lines)


def _changes(comparison: Comparison) -> Rows:
    """Return a line for each change; a median of an even number of runs is whole ns, too."""
    sides, told = (comparison.before, comparison.after), attrgetter(*CHANGES[2:])
    changes = (
        replace(change, before_ns=_whole(change.before_ns), after_ns=_whole(change.after_ns))
        for change in comparison.changes
    )
    return Rows(CHANGES, [(*sides, *told(change)) for change in changes])


def _whole(duration_ns: float | None) -> int | None:
    return None if duration_ns is None else round(duration_ns)


_SPANS = (
    *("index", "parent", "stage", "title", "name", "lane"),
    *("start_ns", "duration_ns", "size_bytes"),
)
_SUMMARY = (
    *("stage", "title", "lane", "group", "start_ns", "self_ns", "busy_ns"),
    *("size_bytes", "count", "copied_bytes", "minor_faults"),
)
_POINTS = (
    *("variant", "size_bytes", "parameter", "repeat", "cold"),
    *("wall_ns", "moved_bytes", "minor_faults"),
)
#: Only of traces with several computations.
_GROUP = ("group", "group_title")
Given = Trace | Sweep | Anatomy | Comparison


@dataclass(frozen=True, slots=True)
class Rows:
    """Heads and lines of a table; unknown is None."""

    heads: tuple[str, ...]
    lines: Sequence[_Line]


def rows_of(doc: Given, what: str | None = None) -> Rows:
    """Return a table of a document; the first one that it has by default.

    That is ``changes`` of what was compared, ``parts`` of what has anatomies, else ``spans`` of a
    trace and ``points`` of a sweep; there is also ``summary``.

    Raises ``UsageError``: If it is no document, or has no such table.
    """
    tables = _tables(doc)
    if what is not None and what not in tables:
        kind = a_kind(type(doc).__name__.lower())
        message = f"{kind} has no {what!r}. Choose one of: {', '.join(tables)}"
        raise UsageError(message)
    return tables[what or next(iter(tables))]()


def _tables(doc: Given) -> dict[str, Callable[[], Rows]]:
    if isinstance(doc, Anatomy):
        return {"parts": lambda: _parts([doc])}
    if isinstance(doc, Comparison):
        return {"changes": lambda: _changes(doc)}
    if not isinstance(doc, Trace | Sweep):
        raise no_document(doc)
    compared = {} if doc.comparison is None else _tables(doc.comparison)
    if isinstance(doc, Sweep):
        return {**compared, "points": lambda: _points(doc), "summary": lambda: _sweep_summary(doc)}
    opened = {"parts": lambda: _parts(doc.anatomies)} if doc.anatomies else {}
    whole = {"spans": lambda: _spans(doc), "summary": lambda: Rows(_SUMMARY, list(_summary(doc)))}
    return {**compared, **opened, **whole}


def no_document(given: object) -> WrongTypeError:
    """Return the error for what is none of ours."""
    return WrongTypeError(
        f"{type(given).__name__} is no document. Give what sp.record, sp.roundtrip, sp.blame, "
        "sp.compare or sp.load returned, e.g. sp.roundtrip(value)"
    )


def csv_text(rows: Rows) -> str:
    """Return a table as CSV (RFC 4180); unknown is empty."""
    return csv_table(rows.heads, rows.lines)


def _spans(trace: Trace) -> Rows:
    known = stages_of(trace)
    begins = [group.start_ns for group in trace.groups]
    lines: list[_Line] = [
        (
            *(index, None if span.parent < 0 else span.parent, span.stage),
            *(known[span.stage].title, span.name, span.lane),
            *(span.start_ns, span.duration_ns, span.size_bytes),
            *(_group_of(trace, begins, span) if begins else ()),
        )
        for index, span in enumerate(trace.spans)
    ]
    return Rows((*_SPANS, *(_GROUP if trace.groups else ())), lines)


def _group_of(trace: Trace, begins: Sequence[int], span: Span) -> tuple[int, str]:
    at = max(0, bisect_right(begins, span.start_ns) - 1)
    return at, trace.groups[at].title


def _summary(trace: Trace) -> Iterator[_Line]:
    if trace.waterfall is None:
        return
    known, at = stages_of(trace), _SUMMARY.index("busy_ns")
    before, behind = attrgetter(*_SUMMARY[2:at]), attrgetter(*_SUMMARY[at + 1 :])
    for row in trace.waterfall.rows:
        own = known[row.stage]
        busy_ns = None if own.waits else row.busy_ns
        yield row.stage, own.title, *before(row), busy_ns, *behind(row)
    rest = trace.waterfall.unaccounted_ns
    yield ("", "Unaccounted", "", None, None, rest, rest, None, None, None, None)


def _points(sweep: Sweep) -> Rows:
    known = {key for point in sweep.points for key in point.stages}
    keys = sorted(known, key=lambda key: (stage(key).order, key))
    lines: list[_Line] = [
        (
            *(point.variant, point.size_bytes, point.parameter, point.repeat, point.cold),
            *(point.wall_ns, point.moved_bytes, point.minor_faults),
            *(point.stages.get(key, 0) for key in keys),
        )
        for point in sweep.points
    ]
    if not lines:  # who is to blame for that
        return Rows(("variant", "reason"), [(each.key, each.reason) for each in sweep.variants])
    return Rows((*_POINTS, *(f"{key}_ns" for key in keys)), lines)


def _sweep_summary(sweep: Sweep) -> Rows:
    lines: list[_Line] = [
        (entry.variant, entry.size_bytes, entry.cold, *line)
        for entry in sweep.traces
        for line in _summary(entry.trace)
    ]
    return Rows(("variant", "value_bytes", "cold", *_SUMMARY), lines)


#: Columns of whole numbers, some of them unknown.
_WHOLE = ("_ns", "_bytes", "_faults", "index", "parent", "group", "count", "repeat")


def to_dataframe(document: Given, what: str | None = None) -> pd.DataFrame:
    """Return a document as a pandas data frame.

    ``document``: A trace or a sweep, an anatomy of ``sp.blame``, or a comparison.
    ``what``: ``parts`` of an anatomy or of a trace that has some, ``spans`` or ``summary`` of a
        trace, ``points`` or ``summary`` of a sweep, ``changes`` of a comparison or of what holds
        one; None takes the first that it has. Spans: (n_spans, 9), with groups (computations) 11;
        parts: (n_parts, 14); changes: (n_changes, 16). Times in ns and sizes in bytes, as Int64,
        which knows unknown.
    Raises ``UsageError``: If it is no document, or has no such table.
    Raises ``ImportError``: If pandas is not installed: ``pip install
        "jupyter_serprof[dataframe]"``.
    """
    rows = rows_of(document, what)
    import pandas as pd

    frame = pd.DataFrame(rows.lines, columns=list(rows.heads))
    return frame.astype({head: "Int64" for head in rows.heads if head.endswith(_WHOLE)})


def _takes(ends: list[int], span: Span) -> bool:
    """Put a span on a track, by the ends of those open there, if it nests; spans come in order."""
    while ends and ends[-1] <= span.start_ns:
        ends.pop()
    is_inside = not ends or ends[-1] >= span.end_ns
    ends += [span.end_ns] if is_inside else []
    return is_inside


def chrome_trace(doc: Trace | Sweep) -> dict[str, object]:
    """Return a document as the JSON data of a Chrome trace."""
    traces = [("", doc)] if isinstance(doc, Trace) else list(_titled(doc))
    events, first_pid = list[dict[str, object]](), 1
    for title, trace in traces:
        events += _events(title, trace, first_pid)
        first_pid += len(_processes(trace))
    facts = {"name": doc.name, "started": doc.started, "producer": doc.producer}
    wall = {"wall_ns": doc.wall_ns} if isinstance(doc, Trace) else {}
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {**facts, **wall, **doc.environment},
    }


def _titled(sweep: Sweep) -> Iterator[tuple[str, Trace]]:
    titles = {variant.key: variant.title for variant in sweep.variants}
    for entry in sweep.traces:
        size = "" if entry.size_bytes is None else f" {format_bytes(entry.size_bytes)}"
        heat = "cold" if entry.cold else "warm"
        yield f"{titles.get(entry.variant, entry.variant)}{size} {heat}: ", entry.trace


def _processes(trace: Trace) -> list[int]:
    return sorted({lane.process for lane in trace.lanes} | {0})


def _events(title: str, trace: Trace, first_pid: int) -> Iterator[dict[str, object]]:
    pids = {process: first_pid + at for at, process in enumerate(_processes(trace))}
    lanes = {lane.key: pids[lane.process] for lane in trace.lanes}
    named: dict[int, str] = {}
    for key, pid in lanes.items():
        named.setdefault(pid, key.partition("/")[0])
    for pid, name in named.items():
        yield _named("process_name", pid, 0, f"{title}{name}")
    # Clocks of others may put a span before the start; a time below 0 is not drawn everywhere.
    known = stages_of(trace)
    moved_ns = -min([0, *(span.start_ns for span in trace.spans)])
    tid = 0
    for key in dict.fromkeys([*lanes, *(span.lane for span in trace.spans)]):
        pid = lanes.get(key, first_pid)
        tracks = _tracks(trace.spans, key)
        for number, indices in enumerate(tracks):
            tid += 1
            yield _named("thread_name", pid, tid, f"{key} ({number + 1})" if number else key)
            track = pid, tid
            yield from (_complete(trace, index, track, moved_ns, known) for index in indices)


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _tracks(spans: Sequence[Span], lane: str) -> list[list[int]]:
    own = [index for index, span in enumerate(spans) if span.lane == lane]
    own.sort(key=lambda index: (spans[index].start_ns, -spans[index].end_ns, index))
    tracks: list[tuple[list[int], list[int]]] = []
    for index in own:
        place = next((found for ends, found in tracks if _takes(ends, spans[index])), None)
        if place is None:
            tracks.append(([spans[index].end_ns], [index]))
        else:
            place.append(index)
    return [found for _, found in tracks]


def _complete(
    trace: Trace, index: int, track: tuple[int, int], moved_ns: int, known: Mapping[str, Stage]
) -> dict[str, object]:
    span = trace.spans[index]
    size = {} if span.size_bytes is None else {"size_bytes": span.size_bytes}
    parent = {"parent": span.parent} if span.parent >= 0 else {}
    return {
        "ph": "X",
        "name": f"{known[span.stage].title}: {span.name}" if span.name else span.stage,
        "cat": span.stage,
        "pid": track[0],
        "tid": track[1],
        "ts": (span.start_ns + moved_ns) / 1000,
        "dur": span.duration_ns / 1000,
        "args": {**(span.details or {}), **size, "span": index, **parent, "call": span.name},
    }
