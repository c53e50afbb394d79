"""A comparison in characters, in Markdown and on a sheet: before, after, ratio and verdict."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise

from jupyter_serprof.analysis import comparison as words
from jupyter_serprof.model import Change, Comparison
from jupyter_serprof.model.stages import UNACCOUNTED
from jupyter_serprof.model.units import clean, format_count
from jupyter_serprof.views.kit import table as tables
from jupyter_serprof.views.kit.lines import clip, coded, hang, listed, plain, wrap
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, WIDTH, Sheet

_Numbers = Sequence[tables.Quantity[Change]]

_NAMES = (32, 24, 16)
#: What goes first when the lines get narrow.
_SPARE = ("why", "95 % interval of", "before", "after")


def _numbers(comparison: Comparison, lines: Sequence[Change]) -> _Numbers:
    times = words.times_of(lines)
    every: Sequence[tables.Quantity[Change]] = (
        tables.Quantity(("before", ""), lambda change: times[change][0]),
        tables.Quantity(("after", ""), lambda change: times[change][1]),
        tables.Quantity(("after /", "before"), lambda change: words.ratio_text(change.ratio)),
        tables.Quantity(("95 % interval of", words.runs_text(comparison)), words.interval_text),
    )
    return [one for one in every if one.speaks(lines)]


def _blocks(
    lines: Sequence[Change], most: int | None = None
) -> Iterator[tuple[list[str], list[Change]]]:
    has_points = len({words.point_of(change) for change in lines}) > 1
    for _, group in groupby(lines[:most], words.point_of):
        changes = list(group)
        yield [clean(words.point_text(changes[0]))] if has_points else [], changes


def comparison_lines(comparison: Comparison, columns: int) -> list[str]:
    """Return a comparison in lines of at most ``columns`` characters."""
    head = wrap(clean(words.headline(comparison)), columns)
    return [*head, *(line for part in comparison_parts(comparison, columns) for line in part)]


def comparison_parts(comparison: Comparison, columns: int) -> Iterator[list[str]]:
    """Yield the table of a comparison, and what has to be known of it, without its headline."""
    shown = words.lines_of(comparison)
    first = words.first_of(shown)
    yield _table(comparison, first, columns)
    notes = [*words.reasons_of(comparison), *words.notes_of(comparison, shown)]
    yield [line for note in notes for line in hang("note", note, columns)]
    if cold := [change for change in shown if change not in first]:
        yield ["Cold runs", *_table(comparison, cold, columns)]


def _table(comparison: Comparison, lines: Sequence[Change], columns: int) -> list[str]:
    numbers, table = _numbers(comparison, lines), list[str]()
    for titles, changes in _blocks(lines):
        chosen = tables.fitted(
            tables.narrower(partial(_columns, numbers, changes), _NAMES, _SPARE), columns
        )
        table += [*(clip(title, columns) for title in titles), *tables.table_lines(chosen, columns)]
    return table


def _columns(numbers: _Numbers, changes: Sequence[Change], names: int) -> list[tables.Column]:
    titles = tuple(clip(clean(change.title), names) for change in changes)
    verdicts = tuple(clean(change.verdict) for change in changes)
    reasons = tuple(clean(words.short_reason(change)) for change in changes)
    return [
        tables.Column("stage", titles, leans_right=False),
        *(
            tables.Column("\n".join(one.heads).strip(), tuple(map(one.cell, changes)))
            for one in numbers
            if one.speaks(changes)
        ),
        tables.Column("verdict", verdicts, leans_right=False),
        *([tables.Column("why", reasons, leans_right=False)] if any(reasons) else []),
    ]


def comparison_blocks(comparison: Comparison, *, has_headline: bool = True) -> Iterator[str]:
    """Yield the headline, the table, and what has to be known of the two, in Markdown."""
    if has_headline:
        yield coded(words.headline(comparison))
    shown = words.lines_of(comparison)
    numbers = _numbers(comparison, shown)
    lines = (
        [*map(plain, (*_texts(change), *(one.cell(change) for one in numbers)))] for change in shown
    )
    yield tables.markdown_table(("stage", "verdict", *(one.head for one in numbers)), lines, 2)
    yield from listed([*words.reasons_of(comparison), *words.notes_of(comparison, shown)])


def _texts(change: Change) -> tuple[str, str]:
    """Return what a line is of, and what it says; a long reason stands below the table."""
    point, reason = words.point_text(change), words.short_reason(change)
    title = f"{change.title} ({point})" if point else change.title
    return title, f"{change.verdict}: {reason}" if reason else change.verdict


_PITCH = 21
#: Right edges of the numbers, pixels; the verdict begins behind the last one.
_RIGHTS = (300.0, 390.0, 510.0, 680.0)
_TITLES, _VERDICT_X, _GAP = 190, 700.0, 8
_MOST_LINES, _MOST_NOTES = 24, 2


def put_comparison(sheet: Sheet, comparison: Comparison) -> None:
    """Put the table of a comparison at ``y``; its headline is that of the document."""
    muted, lines = sheet.theme.muted, words.first_of(words.lines_of(comparison))
    numbers = _numbers(comparison, lines)
    for right, one in zip(reversed(_RIGHTS), reversed(numbers), strict=False):
        sheet.put(right, sheet.y + 8, one.head, muted, SMALL, side="right")
    sheet.put(_VERDICT_X, sheet.y + 8, "verdict", muted, SMALL)
    sheet.y += 18
    sheet.line()
    for titles, changes in _blocks(lines, _MOST_LINES):
        for title in titles:
            room = WIDTH - 2 * MARGIN
            sheet.put(MARGIN, sheet.y + _PITCH / 2, title, muted, SMALL, room=room)
            sheet.y += _PITCH
        for change in changes:
            _put_line(sheet, change, [one.cell(change) for one in numbers])
    sheet.line()
    _put_notes(sheet, comparison, lines)
    sheet.y += 10


def _put_line(sheet: Sheet, change: Change, cells: Sequence[str]) -> None:
    theme, middle, is_wall = sheet.theme, sheet.y + _PITCH / 2, not change.stage
    sheet.put(MARGIN, middle, clean(change.title), theme.ink, room=_TITLES, is_bold=is_wall)
    places = pairwise((MARGIN + _TITLES, *_RIGHTS[-len(cells) :]))
    for (left, right), cell in zip(places, cells, strict=False):
        room = right - left - _GAP
        sheet.put(right, middle, cell, theme.ink, room=room, is_bold=is_wall, side="right")
    is_told = change.verdict != "cannot tell" and change.stage != UNACCOUNTED
    said = _texts(change)[1]
    warns = is_told and change.verdict == "slower"
    color = theme.warn if warns else theme.ink if is_told else theme.muted
    room = WIDTH - MARGIN - _VERDICT_X
    sheet.put(_VERDICT_X, middle, clean(said), color, room=room, is_bold=is_told)
    sheet.y += _PITCH


def _put_notes(sheet: Sheet, comparison: Comparison, shown: Sequence[Change]) -> None:
    notes = [*words.reasons_of(comparison), *list(words.notes_of(comparison, shown))[:_MOST_NOTES]]
    left = len(shown) - _MOST_LINES
    more = [f"{format_count(left)} more lines are in the document"] if left > 0 else []
    sheet.y += 4
    for note in (*more, *([] if sheet.is_brief else notes)):
        sheet.paragraph(note, sheet.theme.muted, SMALL, most=2)
