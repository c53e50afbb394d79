"""The waterfall of a trace in Markdown: computations, stages, and the parts of stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jupyter_serprof.model import Row, Trace, stage
from jupyter_serprof.model.units import format_bytes, format_ns, format_share
from jupyter_serprof.views.kit.cells import Line, plain, table

_HEADS = ("stage", "where", "time", "share", "bytes")
#: A part stands below its stage, whose time holds it; the first run below the group of it.
_PART = "- "


def stages_table(trace: Trace) -> str:
    """Return the stages with what they own of the wall time, then what nobody owns.

    The time of a stage is that of all its parts, which follow it with a dash; of several
    computations, or of a first run and those that follow, each is a line in bold with its sum.
    """
    return table(_HEADS, _lines(trace), 2)


def _lines(trace: Trace) -> Iterator[Line]:
    rows = trace.waterfall.rows if trace.waterfall else ()
    groups = range(len(trace.groups)) if len(trace.groups) > 1 else ()
    for group in (*groups, None):
        own = [row for row in rows if (row.group if row.group in groups else None) == group]
        if group is not None and own:
            title = f"**{plain(trace.groups[group].title)}**"
            yield _line(trace, title, "", sum(row.self_ns for row in own))
        yield from _stages(trace, own)
    if trace.waterfall is not None:
        yield _line(trace, "Unaccounted", "", trace.waterfall.unaccounted_ns)
    guess = " (predicted, not measured)" if trace.prediction else ""
    yield _line(trace, f"Wall time{guess}", "", trace.wall_ns)


def _stages(trace: Trace, rows: Sequence[Row]) -> Iterator[Line]:
    titles = {entry.key: entry.title for entry in trace.stages}
    parents = {entry.key: entry.parent for entry in trace.stages}
    families: dict[str, list[Row]] = {}
    for row in rows:
        parent = parents.get(row.stage, stage(row.stage).parent)
        families.setdefault(parent or row.stage, []).append(row)

    def title(key: str) -> str:
        return plain(titles.get(key) or stage(key).title)

    for key, found in families.items():
        if {row.stage for row in found} == {found[0].stage}:
            yield from (_row(trace, title(row.stage), row) for row in found)
            continue
        sizes = [row.size_bytes for row in found if row.stage == key and row.size_bytes is not None]
        sum_ns = sum(row.self_ns for row in found)
        yield _line(trace, title(key), found[0].lane, sum_ns, sum(sizes) if sizes else None)
        for row in found:
            name = "itself" if row.stage == key else title(row.stage)
            yield _row(trace, _PART + name, row)


def _row(trace: Trace, title: str, row: Row) -> Line:
    return _line(trace, title, row.lane, row.self_ns, row.size_bytes)


def _line(trace: Trace, title: str, lane: str, self_ns: int, size: int | None = None) -> Line:
    share = format_share(self_ns / trace.wall_ns) if trace.wall_ns else ""
    size_text = "" if size is None else format_bytes(size)
    return title, plain(lane), format_ns(self_ns), share, size_text
