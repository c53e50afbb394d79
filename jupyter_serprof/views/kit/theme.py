"""The colours of pictures: of the families of stages, and of what stands around them."""

import json
from dataclasses import dataclass
from importlib.resources import files

#: Read by the front end too: ``npm run generate`` writes ``style/theme.css`` from it.
_THEME = json.loads(files("jupyter_serprof.views.kit").joinpath("theme.json").read_text("utf-8"))
#: Each has a contrast of at least 3:1 on both backgrounds.
FAMILY_COLORS: dict[str, str] = {key: own["color"] for key, own in _THEME["families"].items()}
#: The line of a transport has one colour in every sweep.
WAY_COLORS: dict[str, str] = _THEME["ways"]
#: At least 4.5:1 on the family.
_LABELS: dict[str, str] = {key: own["label"] for key, own in _THEME["families"].items()}


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a picture apart from those of the families.

    ``ink``, ``muted``: Text, and text that steps back.
    ``line``, ``grid``: The lines of a table, and those behind the bars.
    ``wait``: The thin line where somebody waits.
    ``warn``: The word ``warn`` and the edge beside it.
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


LIGHT = Theme(**_THEME["light"])


def family_color(family: str) -> str:
    """Return the colour of a family; an unknown one is drawn as ``other``."""
    return FAMILY_COLORS.get(family, FAMILY_COLORS["other"])


def label_color(family: str) -> str:
    """Return the colour of a label inside a bar of this family."""
    return _LABELS.get(family, _LABELS["other"])


def mix(color: str, other: str, share: float) -> str:
    """Return a colour of which a share (0..1) is the first one and the rest the second."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)
