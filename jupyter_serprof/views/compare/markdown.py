"""A comparison in Markdown: each stage before and after, with the verdict and how it was made."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_serprof.analysis.comparison import (
    RATIO,
    headline,
    interval_text,
    notes_of,
    point_text,
    ratio_text,
    time_text,
)
from jupyter_serprof.model import Change, Comparison
from jupyter_serprof.views.kit.markdown_cells import Line, listed, plain, table

_HEADS = ("stage", "verdict", "before", "after", RATIO, "95 % interval")


def comparison_blocks(comparison: Comparison, *, has_headline: bool = True) -> Iterator[str]:
    """Yield the headline, the table, and what has to be known of the two."""
    if has_headline:
        yield plain(headline(comparison))
    yield table(_HEADS, (_line(change) for change in comparison.changes), 2)
    yield from listed(notes_of(comparison))


def _line(change: Change) -> Line:
    point = point_text(change)
    return (
        plain(f"{change.title} ({point})" if point else change.title),
        plain(f"{change.verdict}: {change.reason}" if change.reason else change.verdict),
        *map(time_text, (change.before_ns, change.after_ns)),
        ratio_text(change.ratio),
        plain(interval_text(change)),
    )
