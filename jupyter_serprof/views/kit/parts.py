"""The parts of every picture: head, time axis, legend, one finding, remarks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jupyter_serprof.model import Finding, Sweep, Trace
from jupyter_serprof.model.units import clean, column_unit, format_fixed
from jupyter_serprof.views.kit import remarks
from jupyter_serprof.views.kit.pages import finding_page, headline_page
from jupyter_serprof.views.kit.sheet import HEADLINE, MARGIN, SMALL, TEXT, WIDTH, Box, Rule, Sheet
from jupyter_serprof.views.kit.table import Of, Quantity

_TICK_GAP = 18
_SENTENCES_SHOWN = 3
_REMEDY_LINES = 6


def put_head(sheet: Sheet, doc: Trace | Sweep) -> None:
    """Put the headline, how the run ended early, the first remedy, and the facts."""
    theme = sheet.theme
    headline = remarks.headline_of(doc)
    with sheet.leading_to(headline_page(doc, headline)):
        sheet.paragraph(headline, theme.ink, HEADLINE, is_bold=True)
    sheet.y += 2
    if outcome := remarks.outcome_of(doc):
        sheet.paragraph(outcome, theme.warn)
    if not sheet.is_brief:
        for label, said in remarks.first_remedy(doc):
            sheet.put(MARGIN, sheet.y + TEXT * 0.65, label, theme.muted, is_bold=True)
            sheet.paragraph(said, theme.ink, indent=48, most=_REMEDY_LINES)
    if doc.summary and doc.summary.facts:
        sheet.paragraph("  ·  ".join(doc.summary.facts), theme.muted, SMALL + 0.5)
    sheet.y += 10


def put_axis(sheet: Sheet, x: float, width: float, wall_ns: int) -> list[float]:
    """Put the numbers of a time axis whose lower edge is ``y``; return where its grid lines go."""
    unit = column_unit(wall_ns)
    ticks = _ticks(sheet, width, wall_ns / unit.unit_ns)
    places = [x + width * tick / (wall_ns / unit.unit_ns) if wall_ns else x for tick in ticks]
    texts = [_tick_text(tick) for tick in ticks]
    texts[-1] += f" {unit.name}"
    for i, (place, text) in enumerate(zip(places, texts, strict=True)):
        half = sheet.measure(text, SMALL, False) / 2  # noqa: FBT003
        middle = min(max(place, x + half) if i else max(place, x), x + width - half)
        sheet.put(middle, sheet.y - 9, text, sheet.theme.muted, SMALL, side="center")
    return places


def _ticks(sheet: Sheet, width: float, end: float) -> list[float]:
    if end <= 0:
        return [0.0]
    smallest = 10.0 ** math.floor(math.log10(end) - 2)
    steps = (smallest * 10**power * digit for power in range(5) for digit in (1, 2, 5))
    for step in steps:
        room = sheet.measure(f"{_tick_text(end + step)} ms", SMALL, False) + _TICK_GAP  # noqa: FBT003
        if width * step / end >= room:
            return [step * i for i in range(int(end / step + 1e-9) + 1)]
    return [0.0]


def _tick_text(tick: float) -> str:
    text = format_fixed(tick, 2)
    return text.rstrip("0").rstrip(".") if "." in text else text


#: Of the whole width, for the time.
_LEAST_SHARE = 0.45
#: Of a cell of a table, pixels.
_NARROWEST_NUMBER, WIDEST_NUMBER = 34, 84
Placed = tuple[tuple[Quantity[Of], float], ...]


def placed(  # noqa: PLR0913, PLR0917  (what decides about a width)
    sheet: Sheet,
    columns: Sequence[Quantity[Of]],
    rows: Sequence[Of],
    size: float,
    gap: float,
    x: float,
    spare: Sequence[str],
) -> tuple[Placed[Of], float]:
    """Return columns of numbers with their right edges, and how wide the time from ``x`` on is."""
    # Spare columns, by their heads, go one after the other before the time gets too little.
    for head in ("", *spare):
        columns = [one for one in columns if one.head != head]
        right, found = float(WIDTH - MARGIN), list[tuple[Quantity[Of], float]]()
        for one in reversed(columns):
            cells = (*map(one.cell, rows), *one.heads, one.total)
            widest = max(sheet.measure(cell, size, one.is_bold) for cell in cells)
            found.append((one, right))
            right -= min(WIDEST_NUMBER, max(widest, _NARROWEST_NUMBER)) + gap
        if right - x >= _LEAST_SHARE * WIDTH:
            break
    return tuple(reversed(found)), right - x


def put_number_heads(sheet: Sheet, columns: Placed[Of]) -> None:
    """Put the heads of columns of numbers, on two lines."""
    for one, right in columns:
        for text, y in zip(one.heads, (8, 22), strict=True):
            sheet.put(right, sheet.y + y, text, sheet.theme.muted, SMALL, side="right")


def put_grid(sheet: Sheet, places: Iterable[float], top: float, bottom: float) -> None:
    """Put the grid lines; call it before the bars are put over them."""
    sheet.add(*(Rule(x, top, x, bottom, sheet.theme.grid) for x in places))


def put_legend(sheet: Sheet, entries: Iterable[tuple[Box | None, str]]) -> None:
    """Put samples with what they mean, in as many lines as they need."""
    if sheet.is_brief:
        return
    x = float(MARGIN)
    sheet.y += 8
    for sample, said in entries:
        text = sheet.fit(clean(said), WIDTH - 2 * MARGIN - 26, SMALL)
        wide = (22 if sample else 0) + sheet.measure(text, SMALL, False)  # noqa: FBT003
        if x > MARGIN and x + wide > WIDTH - MARGIN:
            x, sheet.y = MARGIN, sheet.y + 17
        if sample:
            high = sample.height or 10
            sheet.add(replace(sample, x=x, y=sheet.y + 7 - high / 2, width=16, height=high))
        sheet.put(x + (22 if sample else 0), sheet.y + 7, text, sheet.theme.muted, SMALL)
        x += wide + 20
    sheet.y += 18


def put_remarks(sheet: Sheet, doc: Trace | Sweep) -> None:
    """Put what the first finding is known by, how many more there are, how good the numbers are."""
    if sheet.is_brief:
        return
    if doc.findings:
        sheet.y += 8
        with sheet.leading_to(finding_page(doc.findings[0].rule)):
            _put_finding(sheet, doc, doc.findings[0])
    sentences = list(remarks.note_sentences(doc))
    tables = remarks.table_sentence(doc) if isinstance(doc, Trace) else ""
    more = [f"{len(doc.findings) - 1} more: {doc.findings[1].title}"] if doc.findings[1:] else []
    hidden = len(sentences) - _SENTENCES_SHOWN
    if hidden > 0:
        sentences[_SENTENCES_SHOWN - 1 :] = [f"{hidden + 1} more remarks are in the document"]
    for sentence in (*more, *([tables] if tables else []), *sentences):
        sheet.paragraph(sentence, sheet.theme.muted, SMALL, most=2)


def _put_finding(sheet: Sheet, doc: Trace | Sweep, finding: Finding) -> None:
    """Put what is told beside its severity, the remedy below unless it stands above the picture."""
    # A coloured edge marks a warning.
    theme = sheet.theme
    color = theme.warn if finding.severity == "warn" else theme.muted
    (_, title), *remedy = remarks.finding_remarks(finding, remarks.headline_of(doc))
    remedy = [] if remedy == list(remarks.first_remedy(doc)) else remedy
    if not title and not remedy:
        return
    top = sheet.y
    sheet.y += 5
    for label, said, is_bold in [(finding.severity, title, True), *((*r, False) for r in remedy)]:
        sheet.put(MARGIN + 12, sheet.y + TEXT * 0.65, label, color, is_bold=True)
        for line in said.splitlines()[:_REMEDY_LINES] or [""]:
            sheet.paragraph(line, theme.ink, is_bold=is_bold, indent=60, most=4)
    sheet.y += 5
    sheet.add(Box(MARGIN, top, 3, sheet.y - top, color))
    sheet.y += 6
