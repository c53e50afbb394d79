"""An anatomy as a tree of paths with exact bytes: in characters, in Markdown and on a sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from jupyter_serprof.analysis.anatomy import (
    blame_facts,
    blame_sentence,
    kind_of,
    parts_inside,
    unpicklable_parts,
)
from jupyter_serprof.analysis.spans import total
from jupyter_serprof.model import Anatomy, Part, Summary, Trace, units
from jupyter_serprof.views.kit.lines import clip, coded, hang, listed, plain, wrap
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, WIDTH, Box, Sheet
from jupyter_serprof.views.kit.table import Column, Line, fewer, fitted, markdown_table, table_lines
from jupyter_serprof.views.kit.theme import family_color

_MOST_ROWS, _MOST_BAD = 40, 10
#: Smaller parts are told together.
_SMALL_SHARE = 0.005
#: Siblings of one type are opened once if their sizes differ by less.
_ALIKE = 0.01
_PATHS = (44, 36, 28, 20, 12)
_KINDS = (28, 20, 14)
_UNPICKLABLE, _NOT_OPENED = "unpicklable", "not opened"


def anatomy_trace(anatomy: Anatomy) -> Trace:
    """Return a document that has nothing but an anatomy: what can be drawn, and loaded again."""
    fact, *more = blame_facts(anatomy) or [""]
    said = Summary(units.shortened(blame_sentence(anatomy)), (fact,), details=tuple(more))
    return Trace(name=anatomy.name, started="", wall_ns=0, anatomies=(anatomy,), summary=said)


def anatomy_blocks(trace: Trace, columns: int) -> Iterator[list[str]]:
    """Yield the lines of each anatomy, of at most ``columns`` characters."""
    for anatomy in trace.anatomies:
        said = trace.summary.headline if trace.summary else ""
        is_told = units.shortened(blame_sentence(anatomy)) in said
        yield anatomy_lines(anatomy, columns, has_title=not is_told)


def anatomy_lines(anatomy: Anatomy, columns: int, *, has_title: bool = True) -> list[str]:
    """Return an anatomy as a table: what cannot be pickled first, then the largest."""
    bad = [
        line for said in bad_sentences(anatomy, _MOST_BAD) for line in hang("bad", said, columns)
    ]
    rows = tree_rows(anatomy)
    title = wrap(units.clean(blame_sentence(anatomy)), columns) if has_title else []
    table = table_lines(_fitting(anatomy, rows, columns), columns) if rows else []
    said = anatomy_notes(anatomy, rows)
    notes = [line for text in said for line in hang("note", text, columns)]
    return [*title, *bad, *table, *notes]


def bad_sentences(anatomy: Anatomy, most: int) -> list[str]:
    """Return why parts cannot be pickled, and how many are not told."""
    bad = unpicklable_parts(anatomy)
    said = [f"{part.path} ({kind_of(part)}): {part.note}" for part in bad[:most]]
    more = units.format_count(len(bad) - most)
    return [*said, f"{more} more in the document"] if len(bad) > most else said


def anatomy_notes(anatomy: Anatomy, rows: list[TreeRow]) -> list[str]:
    """Return what there is to know about the whole, and about the parts on the lines."""
    alone = (row.parts[0] for row in rows if len(row.parts) == 1)
    # A reference says what it is by its type.
    return [*anatomy.notes, *(f"{p.path}: {p.note}" for p in alone if p.note and not p.state)]


class TreeRow:
    """A line of the tree: a part, or what is told together."""

    def __init__(self, title: str, parts: Sequence[Part], depth: int) -> None:
        self.label, self.depth = title, depth
        self.title = "  " * depth + title
        self.parts = parts
        self.in_band_bytes = sum(part.in_band_bytes for part in parts)
        self.out_of_band_bytes = sum(part.out_of_band_bytes for part in parts)

    @property
    def bytes(self) -> int:
        """In-band and out-of-band bytes."""
        return self.in_band_bytes + self.out_of_band_bytes

    @property
    def kind(self) -> str:
        """Type and state of a part, nothing for several."""
        if len(self.parts) != 1:
            return ""
        [part] = self.parts
        return f"{kind_of(part)}, {part.state}" if part.state else kind_of(part)

    @property
    def is_refused(self) -> bool:
        """Tell whether it has no bytes of its own: a placeholder of ours, or never measured."""
        return all(
            part.state == _UNPICKLABLE or (part.state == _NOT_OPENED and not part.bytes)
            for part in self.parts
        )

    @property
    def duration_ns(self) -> int | None:
        """Time of all, as far as it is known."""
        return total(part.duration_ns for part in self.parts)


def tree_rows(anatomy: Anatomy) -> list[TreeRow]:
    """Return the lines of the tree: the largest first, small ones told together."""
    if not anatomy.parts:
        return []
    parts, inside, rows = anatomy.parts, parts_inside(anatomy), list[TreeRow]()
    least = _SMALL_SHARE * anatomy.total_bytes
    holds_bad = set[int]()
    for at, part in reversed(list(enumerate(parts))):  # what holds a part is before it
        holds_bad |= {part.parent} if part.state == _UNPICKLABLE or at in holds_bad else set()

    def is_worth(at: int) -> bool:
        part = parts[at]
        return part.bytes >= least or part.state == _UNPICKLABLE or at in holds_bad

    def is_told(at: int, before: Sequence[int]) -> bool:
        """Tell whether a sibling of the same type and size has shown what is inside."""
        part, alike = parts[at], [parts[one] for one in before]
        return at not in holds_bad and any(
            other.kind == part.kind and abs(other.bytes - part.bytes) <= _ALIKE * part.bytes
            for other in alike
        )

    def add(at: int, depth: int, *, is_opened: bool = True) -> None:
        rows.append(TreeRow(parts[at].label, [parts[at]], depth))
        order = sorted(inside[at] if is_opened else (), key=lambda index: _rank(parts[index]))
        worth = [index for index in order if is_worth(index)]
        shown = worth[:8] if len(rows) < _MOST_ROWS else worth[:1]
        for place, index in enumerate(shown):
            add(index, depth + 1, is_opened=not is_told(index, shown[:place]))
        if rest := [parts[index] for index in order if index not in shown]:
            more = f"{units.format_count(sum(part.count for part in rest))} more"
            rows.append(TreeRow(more if len(rest) > 1 else rest[0].label, rest, depth + 1))

    add(0, 0)
    return rows


def _rank(part: Part) -> tuple[bool, int]:
    return part.state != _UNPICKLABLE, -part.bytes


def _fitting(anatomy: Anatomy, rows: list[TreeRow], columns: int) -> list[Column]:
    """Return as many columns as fit: kinds are cut, then paths, then spare columns go."""
    # What goes first when lines get narrow.
    spare = "type", f"pickle {_unit(anatomy).name}", _bands(anatomy)[1]
    attempts = [
        *((paths, kind, 0) for paths in _PATHS[:3] for kind in _KINDS),
        *((paths, _KINDS[-1], n + 1) for n in range(len(spare)) for paths in _PATHS),
    ]
    return fitted(
        (fewer(_columns(anatomy, rows, paths, kind), spare[:n]) for paths, kind, n in attempts),
        columns,
    )


def _columns(anatomy: Anatomy, rows: list[TreeRow], paths: int, kinds: int) -> list[Column]:
    total, (inside, beside) = anatomy.total_bytes, _bands(anatomy)
    took = [row.duration_ns for row in rows]
    unit = _unit(anatomy)
    texts = (units.NOT_APPLICABLE if ns is None else unit.text(ns) for ns in took)
    times = [Column(f"pickle {unit.name}", tuple(texts))] if any(took) else []
    named = partial(Column, leans_right=False)
    return [
        named("part", tuple(clip(units.clean(row.title), paths) for row in rows)),
        named("type", tuple(clip(units.clean(row.kind), kinds) for row in rows)),
        Column(inside, tuple(_number(row, row.in_band_bytes) for row in rows)),
        Column(beside, tuple(_number(row, row.out_of_band_bytes) for row in rows)),
        Column("share %", tuple(_share(row, total) for row in rows)),
        *times,
    ]


def _bands(anatomy: Anatomy) -> tuple[str, str]:
    """Return what the two kinds of bytes are: of a pickle, or of objects in stores."""
    return ("in-band", "out-of-band") if anatomy.pickler else ("not spilled", "spilled")


def _number(row: TreeRow, size_bytes: int) -> str:
    return units.NOT_APPLICABLE if row.is_refused else f"{size_bytes:,}"


def _share(row: TreeRow, total: int) -> str:
    if not total or row.is_refused:
        return units.NOT_APPLICABLE
    return units.format_share(row.bytes / total).removesuffix(" %")


def _unit(anatomy: Anatomy) -> units.ColumnUnit:
    """Return the unit of the times; that of a part is no better known than to two digits."""
    unit = units.column_unit(max((part.duration_ns or 0 for part in anatomy.parts), default=0))
    return replace(unit, decimals=max(0, unit.decimals - 2))


#: Parts below this share of all bytes get no line, unless they cannot be pickled.
_WORTH_SHARE = 0.01
_MOST_LINES = 40
#: Of a longer path the beginning and the end are shown.
_LONGEST_PATH = 120


def anatomy_markdown(anatomy: Anatomy, said: str) -> Iterator[str]:
    """Yield who is to blame, the parts, and the notes; nothing that was said already."""
    sentence = blame_sentence(anatomy)
    if sentence not in said:
        yield f"**{coded(sentence)}**"
    bad = [part for part in unpicklable_parts(anatomy) if part.note][:_MOST_LINES]
    yield from listed(f"{part.path} ({kind_of(part)}): {part.note}" for part in bad)
    if shown := _worth(anatomy):
        heads = ("part", "type", *_bands(anatomy), "share", "pickle", "state")
        yield markdown_table(heads, (_markdown_line(anatomy, part) for part in shown), 2)
    left = len(anatomy.parts) - len(shown)
    told = f"{units.format_count(left)} more parts in the document (.csv has all)"
    more = [told] if left > 0 else []
    facts = (fact for fact in blame_facts(anatomy) if fact not in said)
    yield from listed([*more, *facts, *anatomy.notes])


def _worth(anatomy: Anatomy) -> list[Part]:
    """Return the parts that are shown, in the order of the pickle: what holds them first."""
    least = _WORTH_SHARE * anatomy.total_bytes
    worth = [
        at
        for at, part in enumerate(anatomy.parts)
        if part.bytes >= max(1, least) or part.state == _UNPICKLABLE or part.parent < 0
    ]
    largest = sorted(worth, key=lambda at: _rank(anatomy.parts[at]))[:_MOST_LINES]
    return [anatomy.parts[at] for at in sorted(largest)]


def _markdown_line(anatomy: Anatomy, part: Part) -> Line:
    share = units.format_share(part.bytes / anatomy.total_bytes) if anatomy.total_bytes else ""
    time = "" if part.duration_ns is None else units.format_ns(part.duration_ns)
    sizes = (units.format_bytes(part.in_band_bytes), units.format_bytes(part.out_of_band_bytes))
    return plain(_clipped(part.path)), plain(kind_of(part)), *sizes, share, time, part.state


def _clipped(path: str) -> str:
    half = _LONGEST_PATH // 2
    return path if len(path) <= _LONGEST_PATH else f"{path[:half]} … {path[-half:]}"


_DRAWN_ROWS, _DRAWN_BAD, _MOST_NOTES = 12, 4, 4
_PITCH, _DRAWN_INDENT = 22, 14
#: Where columns begin, or end for numbers; pixels.
_KIND_X, _BAR_X, _BYTES_X = 400, 620, WIDTH - MARGIN - 60
_GAP, _NUMBER = 12, 70


def put_anatomies(sheet: Sheet, trace: Trace) -> None:
    """Put the tree of the first anatomy, and say how many more there are."""
    if not trace.anatomies:
        return
    first, *others = trace.anatomies
    if not trace.summary or units.shortened(blame_sentence(first)) not in trace.summary.headline:
        sheet.paragraph(blame_sentence(first), sheet.theme.ink, is_bold=True)
    rows = tree_rows(first)
    for row in rows[:_DRAWN_ROWS]:
        _put_row(sheet, row, first)
    for said in _remarks(first, rows, others):
        sheet.paragraph(said, sheet.theme.muted, SMALL, most=2)
    sheet.y += 10


def _remarks(anatomy: Anatomy, rows: list[TreeRow], others: Sequence[Anatomy]) -> Iterator[str]:
    yield from bad_sentences(anatomy, _DRAWN_BAD)
    # No times are shown here.
    notes = [note for note in anatomy_notes(anatomy, rows) if not note.startswith("times: ")]
    yield from notes[:_MOST_NOTES]
    yield from (f"opened, too: {blame_sentence(other)}" for other in others)
    rest = len(rows) - _DRAWN_ROWS
    if rest > 0:
        yield f"in the document: {units.format_count(rest)} more lines"


def _put_row(sheet: Sheet, row: TreeRow, anatomy: Anatomy) -> None:
    theme, middle = sheet.theme, sheet.y + _PITCH / 2
    x = min(MARGIN + _DRAWN_INDENT * row.depth, _KIND_X // 2)
    ink, muted = theme.ink, theme.muted
    if any(part.state == _UNPICKLABLE for part in row.parts):
        ink = muted = theme.warn
    share = row.bytes / anatomy.total_bytes if anatomy.total_bytes else 0.0
    told = (units.format_bytes(row.bytes), units.format_share(share))
    size, said = (units.NOT_APPLICABLE, units.NOT_APPLICABLE) if row.is_refused else told
    sheet.put(x, middle, units.clean(row.label), ink, room=_KIND_X - _GAP - x)
    sheet.put(_KIND_X, middle, units.clean(row.kind), muted, SMALL, room=_BAR_X - _GAP - _KIND_X)
    if row.bytes and not row.is_refused:
        width = (_BYTES_X - _BAR_X - _GAP - _NUMBER) * min(1.0, share)
        sheet.add(Box(_BAR_X, middle - 6, width, 12, family_color("pickle")))
    sheet.put(_BYTES_X, middle, size, theme.ink, room=_NUMBER, side="right")
    room = WIDTH - MARGIN - _BYTES_X - 6
    sheet.put(WIDTH - MARGIN, middle, said, theme.muted, room=room, side="right")
    sheet.y += _PITCH
