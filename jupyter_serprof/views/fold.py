"""A trace with fewer rows: the largest stages in the order of the road, the others as one row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_serprof.model import Row, Stage, Waterfall
from jupyter_serprof.model.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_serprof.model import Trace

_KEY = "serprof.folded"


def folded(trace: Trace, most_rows: int) -> Trace:
    """Return the trace with at most so many rows; the last one then holds what the others sum to.

    The rows still add up to the wall time. For pictures only: the document keeps every row.
    """
    waterfall = trace.waterfall
    if waterfall is None or len(waterfall.rows) <= most_rows:
        return trace
    by_size = sorted(range(len(waterfall.rows)), key=lambda i: -waterfall.rows[i].self_ns)
    kept = set(by_size[: most_rows - 1])
    rows = [row for i, row in enumerate(waterfall.rows) if i in kept]
    others = [row for i, row in enumerate(waterfall.rows) if i not in kept]
    entry = Stage(_KEY, f"{format_count(len(others))} smaller stages", 0, "other")
    return replace(
        trace,
        stages=(*trace.stages, entry),
        waterfall=Waterfall((*rows, _sum(others)), waterfall.unaccounted_ns),
    )


def _sum(rows: Sequence[Row]) -> Row:
    pieces = [piece for row in rows for piece in row.pieces or ((row.start_ns, row.self_ns),)]
    return Row(
        stage=_KEY,
        lane="",
        start_ns=min(row.start_ns for row in rows),
        self_ns=sum(row.self_ns for row in rows),
        busy_ns=sum(row.busy_ns for row in rows),
        size_bytes=None,
        count=1,
        pieces=tuple(sorted(pieces)),
    )
