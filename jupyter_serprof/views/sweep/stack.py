"""One run of a sweep as a bar: its stages side by side from 0, with labels where they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_serprof.model.units import format_ns
from jupyter_serprof.views.kit.sheet import SMALL, Box, Label
from jupyter_serprof.views.kit.theme import family_color, label_color
from jupyter_serprof.views.sweep.runs import parts_of
from jupyter_serprof.views.waterfall.marks import hatched

if TYPE_CHECKING:
    from jupyter_serprof.views.kit.sheet import Sheet
    from jupyter_serprof.views.sweep.runs import Part, Run

_BAR = 18
_PAD = 6
_STRIPE = 2
#: Below this width a bar is drawn as one mark, in the colour of its largest stage.
_SEEN_WIDTH = 3
#: Families whose bytes can travel beside the pickle.
_CARRIES_BUFFERS = frozenset({"store", "move"})


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis of all bars: where it is, pixels, how long, and where the guide line stands."""

    x: float
    width: float
    end_ns: int
    guide_x: float | None

    def at(self, at_ns: float) -> float:
        """Return where an instant stands, pixels."""
        return self.x + self.width * min(1.0, at_ns / self.end_ns)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stage on the bar, pixels; ``is_striped``: its bytes travel beside the pickle."""

    part: Part
    x: float
    width: float
    is_striped: bool


def put_stack(sheet: Sheet, axis: Axis, run: Run, middle: float) -> None:
    """Put the bar of a run around a line in the middle of it."""
    segments = _segments(axis, run)
    for segment in segments:
        sheet.add(_box(sheet, segment, middle - _BAR / 2))
    labelled = [segment for segment in segments if _put_inside(sheet, axis, segment, middle)]
    if segments and not labelled:
        _put_beside(sheet, axis, segments, middle)


def _segments(axis: Axis, run: Run) -> list[_Segment]:
    parts = [part for part in parts_of(run) if part.self_ns]
    if axis.at(run.point.wall_ns) - axis.x < _SEEN_WIDTH:
        largest = sorted(parts, key=lambda part: (not part.family, -part.self_ns))[:1]
        return [_Segment(part, axis.x, 2, is_striped=False) for part in largest]
    segments, at_ns = [], 0
    for part in parts:
        x, end = axis.at(at_ns), axis.at(at_ns + part.self_ns)
        at_ns += part.self_ns
        if end - x > 1 / 2:
            width = max(1.0, end - x - 1)
            segments.append(_Segment(part, x, width, is_out_of_band(run, part)))
    return segments


def is_out_of_band(run: Run, part: Part) -> bool:
    """Say whether the buffers of a value, and not its pickle, are most of what the stage moves."""
    beside, inside = (run.variant.facts.get(f"{way}_bytes") for way in ("out_of_band", "in_band"))
    if part.family not in _CARRIES_BUFFERS or not isinstance(beside, int):
        return False
    return beside > (inside if isinstance(inside, int) else 0)


def striped(x: float, y: float, width: float, height: float, colors: tuple[str, str]) -> Box:
    """Return a box with the texture of bytes that travel beside the pickle."""
    return Box(x, y, width, height, colors[0], "/", colors[1], hatch_width=_STRIPE)


def _box(sheet: Sheet, segment: _Segment, y: float) -> Box:
    place = (segment.x, y, segment.width, _BAR)
    if not segment.part.family:
        return hatched(*place, sheet.theme)
    color = family_color(segment.part.family)
    if segment.is_striped:
        return striped(*place, (color, sheet.theme.tint(color)))
    return Box(*place, color)


def _put_inside(sheet: Sheet, axis: Axis, segment: _Segment, middle: float) -> bool:
    """Put a label into a segment where it fits beside the guide line; say whether it did."""
    part = segment.part
    value = format_ns(part.self_ns)
    for text in (f"{part.title} {value}", part.title, value) if part.family else ():
        taken = sheet.measure(text, SMALL, False)  # noqa: FBT003
        x = segment.x + _PAD
        if axis.guide_x is not None and x - 3 <= axis.guide_x <= x + taken + 3:
            x = axis.guide_x + _PAD
        if x + taken + _PAD <= segment.x + segment.width:
            color = family_color(part.family)
            if segment.is_striped:
                sheet.add(Box(x - 3, middle - _BAR / 2, taken + 6, _BAR, color))
            sheet.add(Label(x, middle, text, label_color(part.family), SMALL, on=color))
            return True
    return False


def _put_beside(sheet: Sheet, axis: Axis, segments: list[_Segment], middle: float) -> None:
    """Name the largest stage on the right of a bar that is too short for labels."""
    end = segments[-1].x + segments[-1].width
    largest = max(segments, key=lambda segment: segment.part.self_ns).part
    text = f"{largest.title} {format_ns(largest.self_ns)}"
    taken = sheet.measure(text, SMALL, False)  # noqa: FBT003
    x = end + 8
    if axis.guide_x is not None and x - 3 <= axis.guide_x <= x + taken + 3:
        x = axis.guide_x + 8
    if x + taken <= axis.x + axis.width:
        sheet.add(Label(x, middle, text, sheet.theme.muted, SMALL))
