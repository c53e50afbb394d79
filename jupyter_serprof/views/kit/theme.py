"""Colours: one for each family of stages, the same everywhere, on white and on near black."""

from __future__ import annotations

from dataclasses import dataclass

#: Each has a contrast of at least 3:1 on both backgrounds.
FAMILY_COLORS = {
    "build": "#2d6c7e",
    "pickle": "#8c27d6",
    "move": "#c16dfd",
    "schedule": "#b43802",
    "store": "#e76c1d",
    "execute": "#699a98",
    "other": "#7a7a7a",
}
#: Black on these is easier to read than white (at least 4.5:1).
_LIGHT_FAMILIES = frozenset({"move", "store", "execute"})


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a picture apart from those of the families.

    Attributes
    ----------
    ink, muted
        Text, and text that steps back.
    line, grid
        The lines of a table, and those behind the bars.
    wait
        The thin line where somebody waits.
    warn
        The word ``warn`` and the edge beside it.
    """

    background: str
    ink: str
    muted: str
    line: str
    grid: str
    wait: str
    warn: str

    def tint(self, color: str) -> str:
        """Return a colour mixed into the background: the extent in which small things lie."""
        return mix(color, self.background, 0.2)


LIGHT = Theme("#ffffff", "#1a1a1a", "#616161", "#9e9e9e", "#e4e4e4", "#8a8a8a", "#b43802")
DARK = Theme("#111111", "#ececec", "#a6a6a6", "#6e6e6e", "#2e2e2e", "#8a8a8a", "#f09a4c")


def family_color(family: str) -> str:
    """Return the colour of a family; one that nobody knows is drawn as ``other``."""
    return FAMILY_COLORS.get(family, FAMILY_COLORS["other"])


def label_color(family: str) -> str:
    """Return the colour of a label inside a bar of this family."""
    return "#000000" if family in _LIGHT_FAMILIES else "#ffffff"


def mix(color: str, other: str, share: float) -> str:
    """Return a colour of which a share (0..1) is the first one and the rest the second."""
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
