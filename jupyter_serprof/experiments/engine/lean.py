"""A recording as a sweep keeps it: a sweep has a hundred of them, and one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jupyter_serprof.analysis.segments import Segment, merged
from jupyter_serprof.model import Span, Trace

#: The longest ones; the waterfall is stored, so no total changes.
_MOST_SPANS = 12
#: Of one row: garbage collection cuts it into hundreds.
_MOST_PIECES = 8
#: Of a row of a graph: it has one for each batch of tasks.
_MOST_OF_GRAPHS = 12
_DIGITS = 4

Piece = tuple[int, int]


def leaner(trace: Trace) -> Trace:
    """Return a recording with its waterfall, its longest spans, and nothing that says no more."""
    waterfall, summary = trace.waterfall, trace.summary
    if waterfall:
        rows = tuple(replace(row, pieces=fewer(row.pieces)) for row in waterfall.rows)
        waterfall = replace(waterfall, rows=rows)
    if summary:
        strict, total = (
            None if share is None else round(share, _DIGITS)
            for share in (summary.strict_share, summary.total_share)
        )
        summary = replace(summary, strict_share=strict, total_share=total)
    return replace(
        trace, spans=longest(trace.spans), waterfall=waterfall, summary=summary, producer=""
    )


def thinned(trace: Trace, most: int) -> Trace:
    """Keep the longest spans of an analysed trace: its rows, tables and findings stay exact.

    Findings point at no span any more: a sweep has many traces.
    """
    waterfall = trace.waterfall
    if waterfall:
        rows = tuple(
            replace(row, pieces=fewer(row.pieces, _MOST_OF_GRAPHS)) for row in waterfall.rows
        )
        trace = replace(trace, waterfall=replace(waterfall, rows=rows))
    if len(trace.spans) <= most:
        return trace
    findings = tuple(replace(finding, spans=()) for finding in trace.findings)
    return replace(trace, spans=longest(trace.spans, most), findings=findings)


def fewer(pieces: Sequence[Piece], most: int = _MOST_PIECES) -> tuple[Piece, ...]:
    """Return at most so many pieces (start, duration): the smallest gaps between them close."""
    return merged((Segment(start, start + length, 0) for start, length in pieces), most)


def longest(spans: Sequence[Span], most: int = _MOST_SPANS) -> tuple[Span, ...]:
    """Return the longest spans in their order; each points at the nearest one around it."""
    if len(spans) <= most:
        return tuple(spans)
    by_length = sorted(range(len(spans)), key=lambda at: -spans[at].duration_ns)
    kept = sorted(by_length[:most])
    places = {old: new for new, old in enumerate(kept)}

    def around(parent: int) -> int:
        while parent >= 0 and parent not in places:
            parent = spans[parent].parent
        return places.get(parent, -1)

    return tuple(spans[at]._replace(parent=around(spans[at].parent)) for at in kept)
