"""A sheet as a small PNG, by Pillow, which comes with matplotlib.

matplotlib draws the same sheet ten times slower and needs half a second to load, so it is left to
those who ask for a figure. What this draws is the same on every machine: one font (matplotlib's
own, found without importing it), whole pixels, a palette.
"""

from __future__ import annotations

import io
import math
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_serprof.views.kit.sheet import WIDTH, Box, Label, Rule, Sheet, Stroke
from jupyter_serprof.views.kit.theme import mix

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont


_FILES = {False: "DejaVuSans.ttf", True: "DejaVuSans-Bold.ttf"}
_HATCH_STEP = 6
_DOTS = 4
#: A curve is painted larger by this factor, and a dash of it has this length, pixels.
_FINE, _DASH = 4, 4
#: How much ink the smoothed edges of text may have; fewer steps make a smaller file.
_STEPS = (0.33, 0.67)
#: Of a row of tables 12.3 kB in 14 ms; "optimize" made 12.7 kB in 51 ms.
_COMPRESSION = 8


def png_of(sheet: Sheet, description: str) -> bytes:
    """Return the picture as a PNG; the description stands in it, where image viewers look."""
    from PIL import PngImagePlugin

    about = PngImagePlugin.PngInfo()
    about.add_itxt("Description", description)
    content = io.BytesIO()
    image = _with_palette(_painted(sheet), sheet)
    image.save(content, "png", pnginfo=about, compress_level=_COMPRESSION)
    return content.getvalue()


def measure(text: str, size: float, is_bold: bool) -> float:
    """Return the width of a text in pixels."""
    return _font(size, is_bold).getlength(text)


@cache
def _font(size: float, is_bold: bool) -> FreeTypeFont:
    from PIL import ImageFont

    file = _FILES[is_bold]
    spec = find_spec("matplotlib")
    home = Path(spec.origin).parent / "mpl-data/fonts/ttf" if spec and spec.origin else Path()
    # Some distributions keep the fonts elsewhere: by its name alone the system's own is found.
    # As text: Pillow 10.0 and 10.1 take no path.
    path = str(home / file) if (home / file).exists() else file
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def _painted(sheet: Sheet) -> Image:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, sheet.height), sheet.theme.background)
    draw = ImageDraw.Draw(image)
    for mark in sheet.marks:
        if isinstance(mark, Box):
            _paint_box(draw, mark)
        elif isinstance(mark, Rule):
            _paint_rule(draw, mark)
        elif isinstance(mark, Stroke):
            _paint_curve(image, mark)
        else:
            _paint_label(draw, mark)
    return image


def _paint_box(draw: ImageDraw, box: Box) -> None:
    x0, y0, x1, y1 = box.pixels
    draw.rectangle((x0, y0, x1 - 1, y1 - 1), fill=box.color)
    if box.hatch:
        leans = 1 if box.hatch == "/" else -1
        for y in range(y0, y1):
            first = (leans * y + x0) % _HATCH_STEP
            for x in range(x0 - first, x1, _HATCH_STEP):
                span = (max(x0, x), y, min(x1 - 1, x + box.hatch_width - 1), y)
                if span[0] <= span[2]:
                    draw.line(span, fill=box.hatch_color)
    if box.outline:
        draw.rectangle((x0, y0, x1 - 1, y1 - 1), outline=box.outline)


def _paint_rule(draw: ImageDraw, rule: Rule) -> None:
    x0, y0, x1, y1 = (round(end) for end in (rule.x0, rule.y0, rule.x1, rule.y1))
    if not rule.is_dotted:
        draw.line((x0, y0, x1, y1), fill=rule.color)
        return
    for y in range(y0, y1, _DOTS):
        draw.line((x0, y, x1, min(y + 1, y1)), fill=rule.color)


def _paint_curve(image: Image, curve: Stroke) -> None:
    """Paint a curve several times as large as it is and scale it down: that smooths its edges."""
    from PIL import Image as Pixels
    from PIL import ImageDraw

    reach = curve.width + 1
    left, upper = (math.floor(min(p[i] for p in curve.points) - reach) for i in (0, 1))
    right, lower = (math.ceil(max(p[i] for p in curve.points) + reach) for i in (0, 1))
    size = (right - left, lower - upper)
    mask = Pixels.new("L", (size[0] * _FINE, size[1] * _FINE), 0)
    draw = ImageDraw.Draw(mask)
    fine = [((x - left + 0.5) * _FINE, (y - upper + 0.5) * _FINE) for x, y in curve.points]
    if curve.is_filled:
        draw.polygon(fine, fill=255)
    else:
        for piece in _dashes(fine) if curve.is_dotted else [fine]:
            draw.line(piece, fill=255, width=round(curve.width * _FINE), joint="curve")
    image.paste(curve.color, (left, upper), mask.resize(size, Pixels.Resampling.BOX))


def _dashes(points: list[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    (x0, y0), (x1, y1) = points
    length = math.hypot(x1 - x0, y1 - y0) / _DASH / _FINE
    ends = [(at / length, min(1.0, (at + 1) / length)) for at in range(0, math.ceil(length), 2)]
    return [[(x0 + (x1 - x0) * t, y0 + (y1 - y0) * t) for t in pair] for pair in ends]


def _paint_label(draw: ImageDraw, label: Label) -> None:
    font = _font(label.size, label.is_bold)
    shift = {"left": 0.0, "center": 0.5, "right": 1.0}[label.side] * font.getlength(label.text)
    # The middle of an x-height, so that all labels of a line share one base line.
    place = (round(label.x - shift), round(label.y + label.size * 0.36))
    draw.text(place, label.text, fill=label.color, font=font, anchor="ls")


def _with_palette(image: Image, sheet: Sheet) -> Image:
    from PIL import Image as Pixels

    colors = palette_of(sheet)
    holder = Pixels.new("P", (1, 1))
    holder.putpalette([part for color in colors for part in bytes.fromhex(color[1:])])
    return image.quantize(palette=holder, dither=Pixels.Dither.NONE)


def palette_of(sheet: Sheet) -> list[str]:
    """Return the colours of a sheet, and those between text and what it stands on."""
    theme = sheet.theme
    colors = dict.fromkeys([theme.background])
    colors |= dict.fromkeys(mix(theme.ink, theme.background, step) for step in (*_STEPS, 1))
    for mark in sheet.marks:
        colors |= dict.fromkeys([mark.color])
        if isinstance(mark, Label) and mark.on:
            colors |= dict.fromkeys([mix(mark.color, mark.on, 0.5)])
        elif isinstance(mark, Stroke):
            smooth = (mix(mark.color, theme.background, step) for step in _STEPS)
            colors |= dict.fromkeys(smooth)
        elif isinstance(mark, Box) and (mark.hatch or mark.outline):
            colors |= dict.fromkeys([mark.hatch_color or mark.outline])
    return list(colors)
