"""The parts of a log-log chart on a sheet: its axes, and lines with marks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import format_bytes, format_ns
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, Label, Rule, Stroke

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_serprof.views.kit.sheet import Sheet
    from jupyter_serprof.views.kit.theme import Theme

LINE_HEIGHT = 15
_TICK_ROOM = 62
_MARK = 4.5
_SIDES = 20
MARKS = ("circle", "square", "triangle", "diamond", "wedge")
_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "wedge": ((0, 1.2), (1.2, -1), (-1.2, -1)),
}


@dataclass(frozen=True, slots=True)
class Chart:
    """Where sizes and times stand: powers of ten at the edges, pixels."""

    left: float
    right: float
    top: float
    bottom: float
    sizes: tuple[int, int]
    times: tuple[int, int]

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
) -> tuple[Stroke, ...]:
    """Return the mark of a point; a hollow one is filled with the colour that it stands on."""
    x, y = place
    turns = (2 * math.pi * i / _SIDES for i in range(_SIDES))
    round_corners = tuple((math.cos(t), math.sin(t)) for t in turns)
    corners: Sequence[tuple[float, float]] = _CORNERS.get(kind) or round_corners
    points = tuple((x + _MARK * dx, y + _MARK * dy) for dx, dy in corners)
    inside = Stroke(points, hollow or color, is_filled=True)
    return (inside, Stroke((*points, points[0]), color, 1.5)) if hollow else (inside,)


def soft(theme: Theme, color: str) -> str:
    """Return the colour of the band around a line."""
    return theme.tint(color)
