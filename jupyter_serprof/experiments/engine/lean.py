"""A recording as a sweep keeps it: a sweep has a hundred of them, and one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from jupyter_serprof.model import Span, Trace

#: The longest ones; the waterfall is stored, so no total changes.
_MOST_SPANS = 12
#: Of one row: garbage collection cuts it into hundreds.
_MOST_PIECES = 8
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


def fewer(pieces: Sequence[Piece], most: int = _MOST_PIECES) -> tuple[Piece, ...]:
    """Return at most so many pieces (start, duration): the smallest gaps between them close."""
    kept = list(pieces)
    while len(kept) > most:
        gaps = [after[0] - sum(before) for before, after in pairwise(kept)]
        at = gaps.index(min(gaps))
        start, (last, length) = kept[at][0], kept[at + 1]
        kept[at : at + 2] = [(start, last + length - start)]
    return tuple(kept)


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
