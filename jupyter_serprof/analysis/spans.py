"""Small questions that findings and summaries ask of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jupyter_serprof.analysis.tree import nearest, walk
from jupyter_serprof.model import Row, Span, Trace


def indexed(trace: Trace, key: str) -> Iterator[tuple[int, Span]]:
    """Yield (index, span) of the spans of a stage."""
    return ((index, span) for index, span in enumerate(trace.spans) if span.stage == key)


def number(span: Span, key: str) -> int | None:
    """Return a whole number from the details of a span, or None."""
    value = span.details.get(key) if span.details else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(span: Span, key: str) -> str:
    """Return a text from the details of a span, or an empty one."""
    value = span.details.get(key) if span.details else None
    return value if isinstance(value, str) else ""


def captured(span: Span) -> list[Mapping[str, object]]:
    """Return the captured variables of an export."""
    value = span.details.get("captured") if span.details else None
    entries = value if isinstance(value, list | tuple) else ()
    return [entry for entry in entries if isinstance(entry, Mapping)]


def inside(trace: Trace, *stages: str) -> set[int]:
    """Return the indices of the spans that lie in a span of one of the stages."""
    around = nearest(trace.spans, walk(trace.spans), lambda span: span.stage in stages)
    return {index for index, above in enumerate(around) if above >= 0}


def around_or_itself(trace: Trace, index: int, holds: Callable[[Span], object]) -> Span | None:
    """Return the innermost span for which `holds` is true: the given one or one around it."""
    met: set[int] = set()
    while 0 <= index < len(trace.spans) and index not in met:
        if holds(trace.spans[index]):
            return trace.spans[index]
        met.add(index)
        index = trace.spans[index].parent
    return None


def row_of(trace: Trace, key: str) -> Row | None:
    """Return the row of a stage."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    return next((row for row in rows if row.stage == key), None)


def self_share(trace: Trace, key: str) -> float:
    """Return the share (0..1) of the wall time that a stage owns."""
    row = row_of(trace, key)
    return row.self_ns / trace.wall_ns if row and trace.wall_ns else 0.0
