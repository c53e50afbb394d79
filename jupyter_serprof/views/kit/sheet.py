"""A sheet of labels and boxes, in pixels.

Where things go is decided here, with measured text, so that labels neither overlap nor leave the
sheet; ``figure.py`` turns a sheet into a matplotlib figure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from jupyter_serprof.model.units import clean
from jupyter_serprof.views.kit.theme import Theme

WIDTH = 960
MARGIN = 16
HEADLINE, TEXT, SMALL = 15, 12.5, 11.0
Side = Literal["left", "center", "right"]
#: Width in pixels of a text of some size (pixels), bold or not.
Measure = Callable[[str, float, bool], float]


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle; a hatch is drawn over it, and an outline inside its edge."""

    x: float
    y: float
    width: float
    height: float
    color: str
    hatch: Literal["", "/", "\\"] = ""
    hatch_color: str = ""
    hatch_width: int = 1
    outline: str = ""

    @property
    def pixels(self) -> tuple[int, int, int, int]:
        """Left, upper, right and lower edge on whole pixels; what is there has one at least."""
        x, y = round(self.x), round(self.y)
        right, lower = round(self.x + self.width), round(self.y + self.height)
        return x, y, max(right, x + 1), max(lower, y + 1)


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text: ``x`` is its left end, its middle or its right end; ``y`` its middle.

    ``on`` is the colour that it stands on, where that is not the background; ``link`` a page that
    it leads to, in formats that have links.
    """

    x: float
    y: float
    text: str
    color: str
    size: float = TEXT
    is_bold: bool = False
    side: Side = "left"
    on: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line, one pixel thick."""

    x0: float
    y0: float
    x1: float
    y1: float
    color: str
    is_dotted: bool = False


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points, or with ``is_filled`` the area inside them; smooth at its edges.

    ``points`` are pairs of pixels; ``width`` is that of the line.
    """

    points: tuple[tuple[float, float], ...]
    color: str
    width: float = 2.0
    is_dotted: bool = False
    is_filled: bool = False


Mark = Box | Label | Rule | Stroke


@dataclass(slots=True)
class Sheet:
    """The marks of a picture, in the order of drawing; ``y`` is where the next thing goes.

    ``is_brief`` leaves out what is said in words elsewhere.
    """

    theme: Theme
    measure: Measure
    marks: list[Mark] = field(default_factory=list)
    y: float = MARGIN
    is_brief: bool = False
    link: str = ""

    @contextmanager
    def leading_to(self, page: str) -> Iterator[None]:
        """Let the text that is put meanwhile lead to a page; empty: to none."""
        self.link = page
        yield
        self.link = ""

    @property
    def height(self) -> int:
        """Height of the picture, pixels."""
        return round(self.y + MARGIN)

    def add(self, *marks: Mark) -> None:
        """Put marks on the sheet."""
        self.marks += marks

    def put(  # noqa: PLR0913  (a line of text has as many properties)
        self,
        x: float,
        y: float,
        text: str,
        color: str,
        size: float = TEXT,
        *,
        room: float | None = None,
        is_bold: bool = False,
        side: Side = "left",
    ) -> None:
        """Put a line of text, as much of it as fits into its room (pixels)."""
        shown = text if room is None else self.fit(text, room, size, is_bold=is_bold)
        self.add(Label(x, y, shown, color, size, is_bold, side, link=self.link))

    def line(self, color: str | None = None) -> None:
        """Put a horizontal line across the sheet at ``y``."""
        self.add(Rule(MARGIN, self.y, WIDTH - MARGIN, self.y, color or self.theme.line))

    def fit(self, text: str, room: float, size: float = TEXT, *, is_bold: bool = False) -> str:
        """Return the text, or as much of it as fits into ``room`` pixels, with an ellipsis."""
        if self.measure(text, size, is_bold) <= room:
            return text

        def width(end: int) -> float:
            return self.measure(f"{text[:end].rstrip()}…", size, is_bold)

        fits = bisect_right(range(1, len(text) + 1), room, key=width)
        return f"{text[:fits].rstrip()}…" if fits else ""

    def wrap(
        self, text: str, room: float, size: float, *, is_bold: bool = False, most: int = 3
    ) -> list[str]:
        """Return the text in at most ``most`` lines that fit into ``room`` pixels."""
        lines: list[str] = []
        words = re.sub("`([^`]+)`", r"\1", clean(text)).split()  # no other letters for code
        while words and len(lines) < most - 1:
            count = self._words_that_fit(words, room, size, is_bold)
            lines.append(self.fit(" ".join(words[:count]), room, size, is_bold=is_bold))
            words = words[count:]
        rest = " ".join(words)
        return [*lines, self.fit(rest, room, size, is_bold=is_bold)] if rest else lines

    def _words_that_fit(self, words: list[str], room: float, size: float, is_bold: bool) -> int:
        taken = (self.measure(" ".join(words[:n]), size, is_bold) for n in range(2, len(words) + 1))
        return 1 + sum(1 for _ in takewhile(lambda wide: wide <= room, taken))

    def paragraph(  # noqa: PLR0913  (a paragraph has as many properties)
        self,
        text: str,
        color: str,
        size: float = TEXT,
        *,
        is_bold: bool = False,
        indent: float = 0,
        most: int = 3,
    ) -> None:
        """Put text across the sheet at ``y``, in at most ``most`` lines."""
        x = MARGIN + indent
        for line in self.wrap(text, WIDTH - MARGIN - x, size, is_bold=is_bold, most=most) or [""]:
            self.put(x, self.y + size * 0.65, line, color, size, is_bold=is_bold)
            self.y += round(size * 1.4)
