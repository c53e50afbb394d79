"""The waterfall of a trace in Markdown: computations, stages, and the parts of stages."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_serprof.analysis.outline import Entry, entries_of
from jupyter_serprof.model import Trace
from jupyter_serprof.model.units import format_bytes, format_ns, format_share
from jupyter_serprof.views.kit.cells import plain
from jupyter_serprof.views.kit.table import Line, markdown_table

_HEADS = ("stage", "where", "time", "share", "bytes")
#: A part stands below its stage, whose time holds it; the first run below the group of it.
_PART = "- "


def stages_table(trace: Trace) -> str:
    """Return the stages with what they own of the wall time, then what nobody owns.

    The time of a stage is that of all its parts, which follow it with a dash; of several
    computations, or of a first run and those that follow, each is a line in bold with its sum.
    """
    return markdown_table(_HEADS, _lines(trace), 2)


def _lines(trace: Trace) -> Iterator[Line]:
    for entry in entries_of(trace):
        if entry.kind == "group":
            yield _line(trace, f"**{plain(entry.title)}**", "", entry.self_ns)
        for family in entry.inside if entry.kind == "group" else (entry,):
            yield _family(trace, family, plain(family.title))
            for part in family.inside:
                yield _family(trace, part, _PART + plain(part.title))
    if trace.waterfall is not None:
        yield _line(trace, "Unaccounted", "", trace.waterfall.unaccounted_ns)
    guess = " (predicted, not measured)" if trace.prediction else ""
    yield _line(trace, f"Wall time{guess}", "", trace.wall_ns)


def _family(trace: Trace, entry: Entry, title: str) -> Line:
    """Return the line of a stage: with parts, its bytes are those of its own rows."""
    rows = [trace.waterfall.rows[at] for at in entry.at] if trace.waterfall else []
    own = [row for row in rows if row.stage == entry.key and row.size_bytes is not None]
    size = sum(row.size_bytes or 0 for row in own) if own else None
    return _line(trace, title, rows[0].lane, entry.self_ns, size)


def _line(trace: Trace, title: str, lane: str, self_ns: int, size: int | None = None) -> Line:
    share = format_share(self_ns / trace.wall_ns) if trace.wall_ns else ""
    size_text = "" if size is None else format_bytes(size)
    return title, plain(lane), format_ns(self_ns), share, size_text
