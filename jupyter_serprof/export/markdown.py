"""A document as a Markdown table, for an issue or a pull request."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence

from jupyter_serprof.model import Change, Comparison, Sweep, Trace, Variant, stage
from jupyter_serprof.model.units import format_bytes, format_ns, format_share

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$])")
#: GitHub makes links of them, and tells the people who are named.
_LINKING = re.compile(r"([@#])(?=\w)")
_Line = Sequence[str]


def markdown(doc: Trace | Sweep) -> str:
    """Return headline and tables; whatever a name holds, it stays text in its cell."""
    body = _trace_table(doc) if isinstance(doc, Trace) else _sweep_table(doc)
    blocks = [f"**{_plain(_headline(doc))}**", body]
    if doc.comparison is not None:
        blocks += [f"Compared with {_plain(doc.comparison.before)}:", _changes(doc.comparison)]
    environment = ", ".join(f"{key} {value}" for key, value in doc.environment.items())
    said = ", ".join(part for part in (doc.producer, environment) if part)
    return "\n\n".join([*blocks, *([_plain(said)] if said else [])]) + "\n"


def _headline(doc: Trace | Sweep) -> str:
    return doc.summary.headline if doc.summary else doc.name or "unnamed"


def _plain(text: str) -> str:
    """Return text as Markdown that shows it: on one line, nothing in it means anything."""
    line = " ".join(text.split())
    printable = "".join(character for character in line if character.isprintable())
    return _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", printable))


def _table(heads: _Line, lines: Iterator[_Line], texts: int) -> str:
    """Return a table; so many columns at first lean to the left, the others are numbers."""
    marks = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, marks, *lines))


def _trace_table(trace: Trace) -> str:
    return _table(("stage", "where", "time", "share", "bytes"), _trace_lines(trace), 2)


def _trace_lines(trace: Trace) -> Iterator[_Line]:
    def line(title: str, lane: str, self_ns: int, size: int | None = None) -> _Line:
        share = format_share(self_ns / trace.wall_ns) if trace.wall_ns else ""
        size_text = "" if size is None else format_bytes(size)
        return _plain(title), _plain(lane), format_ns(self_ns), share, size_text

    if trace.waterfall is not None:
        titles = {entry.key: entry.title for entry in trace.stages}
        for row in trace.waterfall.rows:
            title = titles.get(row.stage) or stage(row.stage).title
            yield line(title, row.lane, row.self_ns, row.size_bytes)
        yield line("Unaccounted", "", trace.waterfall.unaccounted_ns)
    yield line("Wall time", "", trace.wall_ns)


def _sweep_table(sweep: Sweep) -> str:
    heads = ("variant", "size", "cold", "warm (median)", "runs", "moved")
    lines = (line for variant in sweep.variants for line in _variant_lines(sweep, variant))
    return _table(heads, lines, 1)


def _variant_lines(sweep: Sweep, variant: Variant) -> Iterator[_Line]:
    own = [point for point in sweep.points if point.variant == variant.key]
    if not own:
        why = _plain(f"{variant.title} ({variant.reason or variant.state})")
        yield why, "", "", "", "0", ""
    for size in dict.fromkeys(point.size_bytes for point in own):
        here = [point for point in own if point.size_bytes == size]
        cold = [point.wall_ns for point in here if point.cold]
        warm = [point.wall_ns for point in here if not point.cold]
        yield (
            _plain(variant.title),
            "" if size is None else format_bytes(size),
            format_ns(cold[0]) if cold else "",
            format_ns(statistics.median(warm)) if warm else "",
            str(len(warm)),
            "" if here[0].moved_bytes is None else format_bytes(here[0].moved_bytes),
        )


def _changes(comparison: Comparison) -> str:
    heads = ("stage", "verdict", "before", "after", "ratio", "95 % interval")
    lines = (_change_line(change) for change in comparison.changes)
    return "\n\n".join([_table(heads, lines, 2), *(f"- {_plain(n)}" for n in comparison.notes)])


def _change_line(change: Change) -> _Line:
    heat = "" if change.cold is None else "cold" if change.cold else "warm"
    size = "" if change.size_bytes is None else format_bytes(change.size_bytes)
    point = ", ".join(part for part in (change.variant, size, heat) if part)
    ends = [f"{end:.2f}" for end in (change.low, change.high) if end is not None]
    return (
        _plain(f"{change.title} ({point})" if point else change.title),
        _plain(f"{change.verdict}: {change.reason}" if change.reason else change.verdict),
        *("" if ns is None else format_ns(ns) for ns in (change.before_ns, change.after_ns)),
        "" if change.ratio is None else f"{change.ratio:.2f}",
        " to ".join(ends),
    )
