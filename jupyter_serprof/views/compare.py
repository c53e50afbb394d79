"""A comparison in characters and in Markdown: each stage before and after, ratio and verdict."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.comparison import (
    headline,
    interval_text,
    lines_of,
    notes_of,
    point_of,
    point_text,
    ratio_text,
    reasons_of,
    runs_text,
    short_reason,
    times_of,
)
from jupyter_serprof.model import Change, Comparison
from jupyter_serprof.model.units import clean
from jupyter_serprof.views.kit.table import (
    Column,
    Line,
    clip,
    fitted,
    hang,
    listed,
    markdown_table,
    narrower,
    plain,
    table_lines,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAMES = (32, 24, 16)
#: What goes first when the lines get narrow.
_SPARE = ("why", "95 % interval", "before", "after")


def comparison_lines(comparison: Comparison, columns: int) -> list[str]:
    """Return a comparison in lines of at most ``columns`` characters."""
    head = wrap(clean(headline(comparison)), columns)
    return [*head, *(line for part in comparison_parts(comparison, columns) for line in part)]


def comparison_parts(comparison: Comparison, columns: int) -> Iterator[list[str]]:
    """Yield the table of a comparison, and what has to be known of it, without its headline."""
    shown = lines_of(comparison)
    blocks = [_block(comparison, list(g), columns, shown) for _, g in groupby(shown, point_of)]
    notes = [*reasons_of(comparison), *notes_of(comparison, shown)]
    yield [line for block in blocks for line in block]
    yield [line for note in notes for line in hang("note", note, columns)]


def _block(
    comparison: Comparison, changes: Sequence[Change], columns: int, all_shown: Sequence[Change]
) -> list[str]:
    has_title = len({point_of(change) for change in all_shown}) > 1
    title = [clip(clean(point_text(changes[0])), columns)] if has_title else []
    chosen = fitted(narrower(partial(_columns, comparison, changes), _NAMES, _SPARE), columns)
    return [*title, *table_lines(chosen, columns)]


def _columns(comparison: Comparison, changes: Sequence[Change], names: int) -> list[Column]:
    def column(head: str, cells: Iterator[str], *, leans_right: bool = True) -> Column:
        return Column(head, tuple(cells), leans_right=leans_right)

    times = times_of(changes)
    reasons = [clean(short_reason(change)) for change in changes]
    titles = (clip(clean(change.title), names) for change in changes)
    return [
        column("stage", titles, leans_right=False),
        column("before", (times[change][0] for change in changes)),
        column("after", (times[change][1] for change in changes)),
        column(f"ratio of\n{runs_text(comparison)}", (ratio_text(c.ratio) for c in changes)),
        column("95 % interval", (interval_text(change) for change in changes)),
        column("verdict", (clean(change.verdict) for change in changes), leans_right=False),
        *([column("why", iter(reasons), leans_right=False)] if any(reasons) else []),
    ]


def comparison_blocks(comparison: Comparison, *, has_headline: bool = True) -> Iterator[str]:
    """Yield the headline, the table, and what has to be known of the two."""
    if has_headline:
        yield plain(headline(comparison))
    ratio, times = f"ratio of {runs_text(comparison)}", times_of(comparison.changes)
    heads = ("stage", "verdict", "before", "after", ratio, "95 % interval")
    warm_first = sorted(comparison.changes, key=lambda change: bool(change.cold))
    yield markdown_table(heads, (_line(change, times[change]) for change in warm_first), 2)
    yield from listed(notes_of(comparison, comparison.changes))


def _line(change: Change, times: tuple[str, str]) -> Line:
    point = point_text(change)
    return (
        plain(f"{change.title} ({point})" if point else change.title),
        plain(f"{change.verdict}: {change.reason}" if change.reason else change.verdict),
        *times,
        ratio_text(change.ratio),
        plain(interval_text(change)),
    )
