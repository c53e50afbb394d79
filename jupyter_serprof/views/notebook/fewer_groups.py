"""A trace with fewer computations: the largest stay, the others become one, stage by stage.

The rows still add up to the wall time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.spans import joined
from jupyter_serprof.model import Group
from jupyter_serprof.model.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_serprof.model import Row, Trace


def with_fewer_groups(trace: Trace, most_rows: int) -> Trace:
    """Return the trace with so few computations that it has about so many rows at most."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    if trace.waterfall is None or len(rows) <= most_rows or len(trace.groups) <= 1:
        return trace
    kept = _kept(rows, most_rows)
    places = {old: new for new, old in enumerate(sorted(kept))}
    others = [group for at, group in enumerate(trace.groups) if at not in kept]
    if not others:
        return trace
    title = f"{format_count(len(others))} smaller computations"
    ends = max(group.end_ns for group in others)
    rest = Group(title, min(group.start_ns for group in others), ends)
    stay = [_moved(row, places) for row in rows if row.group is None or row.group in kept]
    gone = [row for row in rows if row.group is not None and row.group not in kept]
    note = f"{title} are one in this output, all totals are exact. Save the whole with --save FILE"
    return replace(
        trace,
        groups=(*(trace.groups[at] for at in sorted(kept)), rest),
        waterfall=replace(trace.waterfall, rows=(*stay, *(_by_stage(gone, len(kept))))),
        quality=replace(trace.quality, notes=(*trace.quality.notes, note)),
    )


def _kept(rows: Sequence[Row], most_rows: int) -> set[int]:
    """Return the largest computations, while there is room for their rows and those of one more."""
    owned: Counter[int] = Counter()
    counts: Counter[int] = Counter()
    for row in rows:
        if row.group is not None:
            owned[row.group] += row.self_ns
            counts[row.group] += 1
    room = most_rows - len({row.stage for row in rows})
    kept: set[int] = set()
    for group, _ in owned.most_common():
        room -= counts[group]
        if room < 0:
            break
        kept.add(group)
    return kept


def _moved(row: Row, places: dict[int, int]) -> Row:
    return row if row.group is None else replace(row, group=places[row.group])


def _by_stage(rows: Sequence[Row], group: int) -> Iterator[Row]:
    by_stage: dict[str, list[Row]] = {}
    for row in rows:
        by_stage.setdefault(row.stage, []).append(row)
    return (replace(joined(found), group=group) for found in by_stage.values())
