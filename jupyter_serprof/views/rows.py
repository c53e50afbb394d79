"""The waterfall of a trace as the texts of a table, for characters and for pixels alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_serprof.model import Row, Waterfall, stage
from jupyter_serprof.model.units import (
    NOT_APPLICABLE,
    NOT_SEEN,
    RATE_FLOOR_BYTES,
    bytes_per_s,
    column,
    column_unit,
    format_bytes,
    format_count,
    format_rate,
    format_share,
)
from jupyter_serprof.views.cells import clean

if TYPE_CHECKING:
    from jupyter_serprof.model import Stage, Trace

#: Their stages carry bytes: an unknown size was not seen there, elsewhere it does not apply.
_CARRIES_BYTES = frozenset({"pickle", "move", "store"})
ZERO_COPY = "zero-copy"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: a row of the waterfall, or the unaccounted time (``row`` is None)."""

    title: str
    row: Row | None
    family: str
    waits: bool
    count: str
    lane: str
    self_text: str
    share_text: str
    size_text: str = NOT_APPLICABLE
    rate_text: str = NOT_APPLICABLE
    memcpy_text: str = NOT_APPLICABLE
    faults_text: str = NOT_APPLICABLE


@dataclass(frozen=True, slots=True)
class Table:
    """The lines of a waterfall; ``self_text`` and ``share_text`` add up to the two totals."""

    unit: str
    lines: tuple[Line, ...]
    wall_text: str
    wall_share_text: str


def has_faults(table: Table) -> bool:
    """Tell whether some stage touched new pages: only then they have a column."""
    return any(line.row is not None and line.row.minor_faults for line in table.lines)


def waterfall_of(trace: Trace) -> Waterfall:
    """Return the stored waterfall; a trace without one is unaccounted as a whole."""
    return trace.waterfall or Waterfall((), trace.wall_ns)


def table_of(trace: Trace) -> Table:
    """Return the table of a trace: its rows in the order of the road, then what is unaccounted."""
    waterfall = waterfall_of(trace)
    unit = column_unit(trace.wall_ns)
    owned = [*(row.self_ns for row in waterfall.rows), waterfall.unaccounted_ns]
    selves = column(owned, trace.wall_ns, unit.decimals, unit.unit_ns)
    shares = column(owned, trace.wall_ns, 1, trace.wall_ns / 100)
    stages = {entry.key: entry for entry in trace.stages}
    lanes = _lane_names(trace, waterfall)
    lines = [
        _line(trace, row, stages.get(row.stage) or stage(row.stage), lanes[row.lane], texts)
        for row, texts in zip(waterfall.rows, zip(selves, shares, strict=True), strict=False)
    ]
    rest = Line("Unaccounted", None, "other", False, "", "", selves[-1], shares[-1])  # noqa: FBT003
    total = "100.0" if trace.wall_ns else NOT_APPLICABLE
    return Table(unit.name, (*lines, rest), unit.text(trace.wall_ns), total)


def _lane_names(trace: Trace, waterfall: Waterfall) -> dict[str, str]:
    """Name lanes by their kind, and by their key where two of one kind are drawn."""
    keys = dict.fromkeys(row.lane for row in waterfall.rows)
    kinds = {lane.key: lane.kind for lane in trace.lanes}
    counts = Counter(kinds.get(key, key) for key in keys)
    names = {key: kinds.get(key, key) for key in keys}
    return {key: clean(name if counts[name] == 1 else key) for key, name in names.items()}


def _line(trace: Trace, row: Row, entry: Stage, lane: str, texts: tuple[str, str]) -> Line:
    unknown = NOT_SEEN if entry.family in _CARRIES_BYTES else NOT_APPLICABLE
    rate = bytes_per_s(row.copied_bytes, row.busy_ns)
    return Line(
        title=clean(entry.title),
        row=row,
        family=entry.family,
        waits=entry.waits,
        count=f"×{format_count(row.count)}" if row.count > 1 else "",  # noqa: RUF001
        lane=lane,
        self_text=texts[0],
        share_text=texts[1],
        size_text=unknown if row.size_bytes is None else format_bytes(row.size_bytes),
        rate_text=_rate_text(row, rate, unknown),
        memcpy_text=_memcpy_text(rate, trace.limits.memcpy_bytes_per_s),
        faults_text=NOT_APPLICABLE if row.minor_faults is None else format_count(row.minor_faults),
    )


def _rate_text(row: Row, rate: float | None, unknown: str) -> str:
    if rate is not None:
        return format_rate(rate)
    if row.size_bytes is None or row.size_bytes < RATE_FLOOR_BYTES:
        return NOT_APPLICABLE
    if row.copied_bytes is None:
        return unknown
    return ZERO_COPY if row.copied_bytes == 0 else NOT_APPLICABLE


def _memcpy_text(rate: float | None, memcpy_bytes_per_s: float | None) -> str:
    if rate is None:
        return NOT_APPLICABLE
    if not memcpy_bytes_per_s or memcpy_bytes_per_s < 0:
        return NOT_SEEN
    share = rate / memcpy_bytes_per_s
    return "< 1 %" if share < 0.005 else format_share(share, decimals=0)  # noqa: PLR2004
