"""A comparison as a table on a sheet: before, after, ratio, interval and verdict of each stage."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.comparison import (
    interval_text,
    lines_of,
    notes_of,
    point_of,
    point_text,
    ratio_text,
    runs_text,
    times_of,
)
from jupyter_serprof.model.units import clean, format_count
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, TEXT, WIDTH, Label

if TYPE_CHECKING:
    from jupyter_serprof.model import Change, Comparison
    from jupyter_serprof.views.kit.sheet import Sheet

_PITCH = 21
#: Right edges of the numbers; the verdict begins behind the last one.
_RIGHTS = (300.0, 390.0, 510.0, 680.0)
_NAMES, _VERDICT_X, _GAP = 190, 700.0, 8
_MOST_LINES, _MOST_NOTES = 24, 2


def put_comparison(sheet: Sheet, comparison: Comparison) -> None:
    """Put the table of a comparison at ``y``; its headline is that of the document."""
    muted = sheet.theme.muted
    heads = ("before", "after", f"ratio of {runs_text(comparison)}", "95 % interval")
    for right, head in zip(_RIGHTS, heads, strict=True):
        sheet.add(Label(right, sheet.y + 8, head, muted, SMALL, side="right"))
    sheet.add(Label(_VERDICT_X, sheet.y + 8, "verdict", muted, SMALL))
    sheet.y += 18
    sheet.line()
    lines, times = lines_of(comparison), times_of(comparison)
    has_points = len({point_of(change) for change in lines}) > 1
    for _, group in groupby(lines[:_MOST_LINES], point_of):
        changes = list(group)
        if has_points:
            title = sheet.fit(clean(point_text(changes[0])), WIDTH - 2 * MARGIN, SMALL)
            sheet.add(Label(MARGIN, sheet.y + _PITCH / 2, title, muted, SMALL))
            sheet.y += _PITCH
        for change in changes:
            _put_line(sheet, change, times[change])
    sheet.line()
    _put_notes(sheet, comparison, len(lines))
    sheet.y += 10


def _put_line(sheet: Sheet, change: Change, times: tuple[str, str]) -> None:
    theme, middle, is_wall = sheet.theme, sheet.y + _PITCH / 2, not change.stage
    title = sheet.fit(clean(change.title), _NAMES, TEXT, is_bold=is_wall)
    sheet.add(Label(MARGIN, middle, title, theme.ink, TEXT, is_wall))
    cells = (*times, ratio_text(change.ratio), interval_text(change))
    for left, right, cell in zip((MARGIN + _NAMES, *_RIGHTS), _RIGHTS, cells, strict=False):
        shown = sheet.fit(cell, right - left - _GAP, TEXT, is_bold=is_wall)
        sheet.add(Label(right, middle, shown, theme.ink, TEXT, is_wall, "right"))
    is_told = change.verdict != "cannot tell"
    said = f"{change.verdict}: {change.reason}" if change.reason else change.verdict
    color = theme.warn if change.verdict == "slower" else theme.ink if is_told else theme.muted
    verdict = sheet.fit(clean(said), WIDTH - MARGIN - _VERDICT_X, TEXT, is_bold=is_told)
    sheet.add(Label(_VERDICT_X, middle, verdict, color, TEXT, is_told))
    sheet.y += _PITCH


def _put_notes(sheet: Sheet, comparison: Comparison, shown: int) -> None:
    notes = list(notes_of(comparison, shown))[:_MOST_NOTES] if not sheet.is_brief else []
    left = shown - _MOST_LINES
    more = [f"{format_count(left)} more lines are in the document"] if left > 0 else []
    sheet.y += 4
    for note in (*more, *notes):
        sheet.paragraph(note, sheet.theme.muted, SMALL, most=2)
