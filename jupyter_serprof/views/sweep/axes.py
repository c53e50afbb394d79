"""The parts of a log-log chart on a sheet: axes, lines with marks, and words that find room."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import format_bytes, format_ns
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, Box, Curve, Label, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_serprof.views.kit.sheet import Sheet
    from jupyter_serprof.views.kit.theme import Theme

LINE_HEIGHT = 15
_TICK_ROOM = 62
_MARK = 4.5
_SIDES = 20
#: A line of words keeps this distance from lines, marks and other words, pixels.
_CLEAR = 3
_HEIGHTS = 16
#: A segment counts as this many places that words should not cover.
_SAMPLES = 12
MARKS = ("circle", "square", "triangle", "diamond", "wedge")
_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "wedge": ((0, 1.2), (1.2, -1), (-1.2, -1)),
}


@dataclass(slots=True)
class Chart:
    """Where sizes and times stand (powers of ten at the edges, pixels), and what is taken."""

    left: float
    right: float
    top: float
    bottom: float
    sizes: tuple[int, int]
    times: tuple[int, int]
    places: list[tuple[float, float]] = field(default_factory=list)
    blocks: list[tuple[float, float, float, float]] = field(default_factory=list)

    def x(self, size_bytes: float) -> float:
        """Return where a size stands."""
        low, high = self.sizes
        share = (math.log10(max(size_bytes, 1e-9)) - low) / (high - low)
        return self.left + share * (self.right - self.left)

    def y(self, ns: float) -> float:
        """Return where a time stands; kept inside the chart."""
        low, high = self.times
        share = (math.log10(max(ns, 1e-9)) - low) / (high - low)
        return self.bottom - min(max(share, 0.0), 1.0) * (self.bottom - self.top)

    def take(self, points: Sequence[tuple[float, float]]) -> None:
        """Note where a line runs, so that no words stand on it."""
        self.places += points
        for (x0, y0), (x1, y1) in pairwise(points):
            steps = (i / _SAMPLES for i in range(1, _SAMPLES))
            self.places += [(x0 + (x1 - x0) * t, y0 + (y1 - y0) * t) for t in steps]

    def crowd(self, block: tuple[float, float, float, float]) -> float:
        """Return how many places of lines a block would cover; infinite: words, or an edge."""
        x0, y0, x1, y1 = block
        if y1 > self.bottom or any(
            x0 < d and b < x1 and y0 < e and c < y1 for b, c, d, e in self.blocks
        ):
            return math.inf
        low, high = y0 - _CLEAR, y1 + _CLEAR
        return sum(x0 - _CLEAR <= x <= x1 + _CLEAR and low <= y <= high for x, y in self.places)


def decades(values: Iterable[float]) -> tuple[int, int]:
    """Return the powers of ten around all values."""
    logs = [math.log10(value) for value in values if value > 0]
    low = math.floor(min(logs) + 1e-9)
    return low, max(low + 1, math.ceil(max(logs) - 1e-9))


def put_axes(sheet: Sheet, chart: Chart) -> None:
    """Put the grid, the sizes below it and the times beside it."""
    theme = sheet.theme
    for power in _powers(chart.sizes, chart.right - chart.left):
        x = chart.x(10.0**power)
        sheet.add(Rule(x, chart.top, x, chart.bottom, theme.grid))
        text = _short(format_bytes(10.0**power))
        half = sheet.measure(text, SMALL, False) / 2  # noqa: FBT003
        middle = max(x, MARGIN + half)
        sheet.add(Label(middle, chart.bottom + 13, text, theme.muted, SMALL, side="center"))
    for power in _powers(chart.times, (chart.bottom - chart.top) * 3):
        y = chart.y(10.0**power)
        sheet.add(Rule(chart.left, y, chart.right, y, theme.grid))
        text = sheet.fit(_short(format_ns(10.0**power)), chart.left - MARGIN - 8, SMALL)
        sheet.add(Label(chart.left - 8, y, text, theme.muted, SMALL, side="right"))
    sheet.add(Rule(chart.left, chart.bottom, chart.right, chart.bottom, theme.line))


def _powers(limits: tuple[int, int], room: float) -> range:
    low, high = limits
    return range(low, high + 1, max(1, math.ceil(_TICK_ROOM * (high - low) / room)))


def _short(text: str) -> str:
    """Return a round number without its zeros: 1.00 kB is 1 kB."""
    number, gap, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{gap}{unit}"


def mark_of(
    kind: str, place: tuple[float, float], color: str, *, hollow: str = ""
) -> tuple[Curve, ...]:
    """Return the mark of a point; a hollow one is filled with the colour that it stands on."""
    x, y = place
    turns = (2 * math.pi * i / _SIDES for i in range(_SIDES))
    round_corners = tuple((math.cos(t), math.sin(t)) for t in turns)
    corners: Sequence[tuple[float, float]] = _CORNERS.get(kind) or round_corners
    points = tuple((x + _MARK * dx, y + _MARK * dy) for dx, dy in corners)
    inside = Curve(points, hollow or color, is_filled=True)
    return (inside, Curve((*points, points[0]), color, 1.5)) if hollow else (inside,)


def put_words(  # noqa: PLR0913  (where words may stand has as many sides)
    sheet: Sheet,
    chart: Chart,
    lines: Sequence[str],
    xs: Sequence[float],
    ys: Sequence[float] = (),
    *,
    above: float = 0,
) -> float | None:
    """Put words where they cover neither lines nor other words, or nowhere.

    Parameters
    ----------
    lines
        The first is in ink, the others step back.
    xs
        Where the left edge may be; kept inside the chart.
    ys
        Where the upper edge may be; else anywhere in the chart.
    above
        Room to keep free above the words, e.g. for a bracket.

    Returns
    -------
    float or None
        The upper edge of the words; None if they found no room.
    """
    texts = [sheet.fit(line, chart.right - chart.left - 12, SMALL) for line in lines if line]
    wide = max(sheet.measure(text, SMALL, False) for text in texts)  # noqa: FBT003
    high = LINE_HEIGHT * len(texts)
    room = chart.bottom - chart.top - high - above - 8
    heights = ys or [chart.top + 4 + above + room * i / _HEIGHTS for i in range(_HEIGHTS + 1)]
    lefts = [min(max(x, chart.left + 6), chart.right - wide - 6) for x in xs]
    blocks = [(x, y - above, x + wide, y + high) for y in heights for x in lefts]
    best = min(blocks, key=chart.crowd)
    if chart.crowd(best):
        return None
    chart.blocks.append(best)
    top = best[1] + above
    # Lines of the grid and dotted ones end before words, as before a label on a map.
    sheet.add(Box(best[0] - 2, top, wide + 4, high, sheet.theme.background))
    for at, text in enumerate(texts):
        color = sheet.theme.muted if at else sheet.theme.ink
        sheet.add(Label(best[0], top + LINE_HEIGHT * (at + 0.5), text, color, SMALL))
    return top


def soft(theme: Theme, color: str) -> str:
    """Return the colour of the band around a line."""
    return theme.tint(color)
