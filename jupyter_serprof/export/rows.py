"""A document as one flat table: its spans, its stages, or its points."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from jupyter_serprof.model import Row, Sweep, Trace, UsageError, stage
from jupyter_serprof.model.trace import Scalar

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
_KINDS = {Trace: ("spans", "summary"), Sweep: ("points", "summary")}


@dataclass(frozen=True, slots=True)
class Rows:
    """Heads and lines of a table; unknown is None."""

    heads: tuple[str, ...]
    lines: Sequence[tuple[Scalar, ...]]


def rows_of(doc: Trace | Sweep, what: str | None = None) -> Rows:
    """Return ``spans`` or ``summary`` of a trace, ``points`` or ``summary`` of a sweep.

    Raises
    ------
    UsageError
        If the document has no such table.
    """
    kinds = _KINDS[type(doc)]
    if what is not None and what not in kinds:
        kind = type(doc).__name__.lower()
        message = f"a {kind} has no {what!r}. Choose one of: {', '.join(kinds)}"
        raise UsageError(message)
    if isinstance(doc, Sweep):
        return _sweep_summary(doc) if what == "summary" else _points(doc)
    return Rows(_SUMMARY, list(_summary(doc))) if what == "summary" else _spans(doc)


def csv_text(rows: Rows) -> str:
    """Return a table as CSV (RFC 4180); unknown is empty."""
    stream = StringIO()
    writer = csv.writer(stream)
    writer.writerow(rows.heads)
    writer.writerows(rows.lines)
    return stream.getvalue()


def _spans(trace: Trace) -> Rows:
    titles = {entry.key: entry.title for entry in trace.stages}
    lines: list[tuple[Scalar, ...]] = [
        (
            *(index, None if span.parent < 0 else span.parent, span.stage),
            *(titles.get(span.stage) or stage(span.stage).title, span.name, span.lane),
            *(span.start_ns, span.duration_ns, span.size_bytes),
        )
        for index, span in enumerate(trace.spans)
    ]
    return Rows(_SPANS, lines)


def _summary(trace: Trace) -> Iterator[tuple[Scalar, ...]]:
    """Yield the rows of the waterfall, and what no stage owned."""
    if trace.waterfall is None:
        return
    for row in trace.waterfall.rows:
        yield _summary_line(row)
    rest = trace.waterfall.unaccounted_ns
    yield ("", "Unaccounted", "", None, None, rest, rest, None, None, None, None)


def _summary_line(row: Row) -> tuple[Scalar, ...]:
    return (
        *(row.stage, stage(row.stage).title, row.lane, row.group, row.start_ns),
        *(row.self_ns, row.busy_ns, row.size_bytes, row.count, row.copied_bytes),
        row.minor_faults,
    )


def _points(sweep: Sweep) -> Rows:
    keys = sorted({key for point in sweep.points for key in point.stages}, key=_road)
    lines: list[tuple[Scalar, ...]] = [
        (
            *(point.variant, point.size_bytes, point.parameter, point.repeat, point.cold),
            *(point.wall_ns, point.moved_bytes, point.minor_faults),
            *(point.stages.get(key, 0) for key in keys),
        )
        for point in sweep.points
    ]
    return Rows((*_POINTS, *(f"{key}_ns" for key in keys)), lines)


def _road(key: str) -> tuple[int, str]:
    return stage(key).order, key


def _sweep_summary(sweep: Sweep) -> Rows:
    lines: list[tuple[Scalar, ...]] = [
        (entry.variant, entry.size_bytes, entry.cold, *line)
        for entry in sweep.traces
        for line in _summary(entry.trace)
    ]
    return Rows(("variant", "value_bytes", "cold", *_SUMMARY), lines)
