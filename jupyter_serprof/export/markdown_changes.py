"""A comparison in Markdown: each stage before and after, with the verdict and how it was made."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_serprof.export.markdown_cells import Line, listed, plain, table
from jupyter_serprof.model import Change, Comparison
from jupyter_serprof.model.units import format_bytes, format_ns, format_share

_HEADS = ("stage", "verdict", "before", "after", "ratio", "95 % interval")


def comparison_blocks(comparison: Comparison) -> Iterator[str]:
    """Yield a title, the table, and what has to be known of the two."""
    yield f"Compared with {plain(comparison.before)}:"
    yield table(_HEADS, (_line(change) for change in comparison.changes), 2)
    yield from listed(_notes(comparison))


def _notes(comparison: Comparison) -> Iterator[str]:
    yield from comparison.notes
    if comparison.noise_share is not None:
        share = format_share(comparison.noise_share)
        yield f"noise here, the wall time of now against itself: ±{share}; stages have their own"
    if comparison.method and any(change.low is not None for change in comparison.changes):
        yield comparison.method


def _line(change: Change) -> Line:
    heat = "" if change.cold is None else "cold" if change.cold else "warm"
    size = "" if change.size_bytes is None else format_bytes(change.size_bytes)
    point = ", ".join(part for part in (change.variant, size, heat) if part)
    ends = [f"{end:.2f}" for end in (change.low, change.high) if end is not None]
    return (
        plain(f"{change.title} ({point})" if point else change.title),
        plain(f"{change.verdict}: {change.reason}" if change.reason else change.verdict),
        *("" if ns is None else format_ns(ns) for ns in (change.before_ns, change.after_ns)),
        "" if change.ratio is None else f"{change.ratio:.2f}",
        " to ".join(ends),
    )
