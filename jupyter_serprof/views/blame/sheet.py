"""An anatomy on a sheet: the first lines of its tree, each with its share of the bytes as a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.analysis.anatomy import blame_sentence
from jupyter_serprof.model.units import (
    NOT_APPLICABLE,
    clean,
    format_bytes,
    format_count,
    format_share,
)
from jupyter_serprof.views.blame.text import anatomy_notes, bad_sentences, tree_rows
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, TEXT, WIDTH, Box, Label
from jupyter_serprof.views.kit.theme import family_color

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_serprof.model import Anatomy, Trace
    from jupyter_serprof.views.blame.text import TreeRow
    from jupyter_serprof.views.kit.sheet import Sheet

_MOST_ROWS, _MOST_BAD, _MOST_NOTES = 12, 4, 4
_PITCH, _INDENT = 22, 14
#: Where columns begin, or end for numbers; pixels.
_KIND_X, _BAR_X, _BYTES_X = 400, 620, WIDTH - MARGIN - 60
_GAP, _NUMBER = 12, 70


def put_anatomies(sheet: Sheet, trace: Trace) -> None:
    """Put the tree of the first anatomy, and say how many more there are."""
    if not trace.anatomies:
        return
    first, *others = trace.anatomies
    if not trace.summary or blame_sentence(first) not in trace.summary.headline:
        sheet.paragraph(blame_sentence(first), sheet.theme.ink, is_bold=True)
    rows = tree_rows(first)
    for row in rows[:_MOST_ROWS]:
        _put_row(sheet, row, first)
    for said in _remarks(first, rows, others):
        sheet.paragraph(said, sheet.theme.muted, SMALL, most=2)
    sheet.y += 10


def _remarks(anatomy: Anatomy, rows: list[TreeRow], others: Sequence[Anatomy]) -> Iterator[str]:
    """Yield why parts cannot be pickled, notes, and what else is in the document."""
    yield from bad_sentences(anatomy, _MOST_BAD)
    # No times are shown here.
    notes = [note for note in anatomy_notes(anatomy, rows) if not note.startswith("times: ")]
    yield from notes[:_MOST_NOTES]
    yield from (f"opened, too: {blame_sentence(other)}" for other in others)
    rest = len(rows) - _MOST_ROWS
    if rest > 0:
        yield f"in the document: {format_count(rest)} more lines"


def _put_row(sheet: Sheet, row: TreeRow, anatomy: Anatomy) -> None:
    theme, middle = sheet.theme, sheet.y + _PITCH / 2
    x = min(MARGIN + _INDENT * row.depth, _KIND_X // 2)
    label = sheet.fit(clean(row.label), _KIND_X - _GAP - x, TEXT)
    kind = sheet.fit(clean(row.kind), _BAR_X - _GAP - _KIND_X, SMALL)
    is_bad = any(part.state == "unpicklable" for part in row.parts)
    share = row.bytes / anatomy.total_bytes if anatomy.total_bytes else 0.0
    size = sheet.fit(NOT_APPLICABLE if row.is_refused else format_bytes(row.bytes), _NUMBER, TEXT)
    room = _BYTES_X - _BAR_X - _GAP - _NUMBER
    sheet.add(Label(x, middle, label, theme.warn if is_bad else theme.ink))
    sheet.add(Label(_KIND_X, middle, kind, theme.warn if is_bad else theme.muted, SMALL))
    if row.bytes and not row.is_refused:
        width = room * min(1.0, share)
        sheet.add(Box(_BAR_X, middle - 6, width, 12, family_color("pickle")))
    sheet.add(Label(_BYTES_X, middle, size, theme.ink, side="right"))
    said = NOT_APPLICABLE if row.is_refused else format_share(share)
    text = sheet.fit(said, WIDTH - MARGIN - _BYTES_X - 6, TEXT)
    sheet.add(Label(WIDTH - MARGIN, middle, text, theme.muted, side="right"))
    sheet.y += _PITCH
