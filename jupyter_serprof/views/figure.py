"""A document as a picture: a small PNG, an SVG, and what they say in words.

matplotlib is loaded by the first SVG, without pyplot: the figures, the backend and the settings
of the user stay as they are.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.outline import stage_sums
from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.model.units import clean, format_bytes, format_count, format_ns, format_share
from jupyter_serprof.views.compare import put_comparison
from jupyter_serprof.views.kit import sheet as sheets
from jupyter_serprof.views.kit.parts import put_head, put_remarks
from jupyter_serprof.views.kit.raster import measure, png_of
from jupyter_serprof.views.kit.remarks import headline_of, outcome_of
from jupyter_serprof.views.kit.theme import LIGHT
from jupyter_serprof.views.sweep.bars import put_sweep
from jupyter_serprof.views.sweep.chart import put_sizes
from jupyter_serprof.views.sweep.runs import is_over_sizes, runs_of, series_of, time_text
from jupyter_serprof.views.waterfall.sheet import put_trace
from jupyter_serprof.views.waterfall.table import MOST_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties


DPI = 100
_LINE = 72 / DPI
#: matplotlib brings this one along, so that every machine draws the same picture.
_FONT = "DejaVu Sans"
_MISSING = "\u25a1"
#: Settings of matplotlib that reach this picture.
_DRAWING = frozenset({"font", "hatch", "lines", "patch", "path", "savefig", "svg", "text"})
_HATCH = {"": None, "/": "////", "\\": "\\\\\\\\"}


def sheet_of(
    doc: Trace | Sweep, *, most_rows: int = MOST_ROWS, is_brief: bool = False
) -> sheets.Sheet:
    """Return everything that the picture of a document consists of, with its place in pixels."""
    sheet = sheets.Sheet(LIGHT, measure, is_brief=is_brief)
    put_head(sheet, doc)
    if doc.comparison is not None:
        put_comparison(sheet, doc.comparison)
    if isinstance(doc, Trace):
        put_trace(sheet, doc, most_rows)
    elif is_over_sizes(doc):
        put_sizes(sheet, doc)
    else:
        put_sweep(sheet, doc)
    put_remarks(sheet, doc)
    return sheet


def png(doc: Trace | Sweep, *, most_rows: int = MOST_ROWS, is_brief: bool = False) -> bytes:
    """Return the picture of a document as a small PNG, the same bytes every time.

    ``doc``: A trace (its waterfall) or a sweep (its round trips, cold and warm).
    ``most_rows``: Further stages of a trace are drawn as one row; at least 2.
    ``is_brief``: Leave out what is said in words elsewhere: legend, findings, rates.

    A PNG, 960 pixels wide, that contains its own description (`alt_text`).
    """
    sheet = sheet_of(doc, most_rows=most_rows, is_brief=is_brief)
    return png_of(sheet, alt_text(doc))


def svg(doc: Trace | Sweep) -> bytes:
    """Return the picture of a document as an SVG, the same bytes every time."""
    content = io.BytesIO()
    with _own_settings():
        drawn = _drawn(sheet_of(doc))
        about = {"Date": None, "Creator": None, "Description": alt_text(doc)}
        drawn.savefig(content, format="svg", metadata=about)
    return content.getvalue()


@contextmanager
def _own_settings() -> Iterator[None]:
    """Draw with matplotlib's defaults; afterwards the user's settings are as they were."""
    import matplotlib as mpl

    own = {
        key: value
        for key, value in mpl.rcParamsDefault.items()
        if key.partition(".")[0] in _DRAWING
    }
    same = {"svg.hashsalt": "jupyter_serprof", "svg.fonttype": "path"}
    with mpl.rc_context(own | same):  # type: ignore[arg-type]  # keys are checked at run time
        yield


def _drawn(sheet: sheets.Sheet) -> Figure:
    from matplotlib.figure import Figure

    size = (sheets.WIDTH / DPI, sheet.height / DPI)
    drawn = Figure(figsize=size, dpi=DPI, facecolor=sheet.theme.background)
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(0, sheets.WIDTH), ylim=(sheet.height, 0))
    axes.set_axis_off()
    for order, mark in enumerate(sheet.marks):
        _DRAWN_BY[type(mark)](axes, mark, order)
    return drawn


def _draw_box(axes: Axes, box: sheets.Box, order: int) -> None:
    """Draw on whole pixels: edges are crisp, and nothing that is there disappears."""
    from matplotlib.patches import Rectangle

    x0, y0, x1, y1 = box.pixels
    place = ((x0, y0), x1 - x0, y1 - y0)
    axes.add_patch(
        Rectangle(
            *place,
            facecolor=box.color,
            edgecolor=box.hatch_color or None,
            hatch=_HATCH[box.hatch],
            linewidth=_LINE if box.outline else 0,
            antialiased=False,
            zorder=order,
        )
    )


def _draw_rule(axes: Axes, rule: sheets.Rule, order: int) -> None:
    from matplotlib.lines import Line2D

    ends = ((rule.x0, rule.x1), (rule.y0, rule.y1))
    places = [[round(end) + 0.5 for end in pair] for pair in ends]
    line = Line2D(*places, color=rule.color, linewidth=_LINE, zorder=order)
    line.set_linestyle(":" if rule.is_dotted else "-")
    line.set_antialiased(False)
    axes.add_line(line)


def _draw_curve(axes: Axes, curve: sheets.Stroke, order: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    points = [(x + 0.5, y + 0.5) for x, y in curve.points]
    if curve.is_filled:
        axes.add_patch(Polygon(points, closed=True, facecolor=curve.color, lw=0, zorder=order))
        return
    xs, ys = zip(*points, strict=True)
    line = Line2D(xs, ys, color=curve.color, linewidth=curve.width * _LINE, zorder=order)
    if curve.is_dotted:
        line.set_linestyle((0, (4 / curve.width, 4 / curve.width)))
    axes.add_line(line)


def _draw_label(axes: Axes, label: sheets.Label, order: int) -> None:
    axes.text(
        round(label.x),
        round(label.y),
        _drawable(label.text, label.is_bold),
        color=label.color,
        fontproperties=_font(label.size, label.is_bold),
        ha=label.side,
        va="center_baseline",
        parse_math=False,
        url=label.link or None,
        zorder=order,
    )


@cache
def _font(size: float, is_bold: bool) -> FontProperties:
    from matplotlib.font_manager import FontProperties

    weight = "bold" if is_bold else "normal"
    return FontProperties(family=[_FONT], size=size * 72 / DPI, weight=weight)


@cache
def _characters(is_bold: bool) -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(_font(10, is_bold))).get_charmap())


def _drawable(text: str, is_bold: bool) -> str:
    known = _characters(is_bold)
    return "".join(letter if ord(letter) in known else _MISSING for letter in text)


_DRAWN_BY: dict[type[sheets.Mark], Callable[..., None]] = {
    sheets.Box: _draw_box,
    sheets.Rule: _draw_rule,
    sheets.Stroke: _draw_curve,
    sheets.Label: _draw_label,
}

_LONGEST = 400


def alt_text(doc: Trace | Sweep) -> str:
    """Return what the picture of a document says, in one or two sentences (at most 400 characters).

    It names the headline and the largest stages of a trace, or the time of each variant of a sweep.
    """
    outcome = outcome_of(doc)
    headline = clean(headline_of(doc)).strip().rstrip(".")
    headline = f"{headline} ({outcome})" if outcome else headline
    said = _trace_sentence(doc) if isinstance(doc, Trace) else _sweep_sentence(doc)
    sentences = f"{headline}. {said}"
    return sentences if len(sentences) <= _LONGEST else f"{sentences[: _LONGEST - 1]}…"


def _trace_sentence(trace: Trace) -> str:
    if not trace.wall_ns:
        return "Waterfall without time."
    rest_ns = trace.waterfall.unaccounted_ns if trace.waterfall else trace.wall_ns
    sums = [*stage_sums(trace), ("Unaccounted", rest_ns)]
    largest = sorted(sums, key=lambda pair: -pair[1])[:3]
    named = ", ".join(
        f"{title} {format_share(ns / trace.wall_ns, decimals=0)}" for title, ns in largest if ns
    )
    blocks = len(trace.groups)
    of = f" of {format_count(blocks)} computations" if blocks > 1 else ""
    return f"Waterfall of {len(sums) - 1} stages{of} over {format_ns(trace.wall_ns)}: {named}."


def _sweep_sentence(sweep: Sweep) -> str:
    if is_over_sizes(sweep):
        return _sizes_sentence(sweep)
    named = []
    for variant in sweep.variants:
        runs = runs_of(sweep, variant)[-2:]
        times = " and ".join(f"{time_text(run)} {run.label}" for run in runs)
        named.append(f"{clean(variant.title)} {times or variant.state}")
    return f"Bars of {len(named)} variants: {', '.join(named)}."


def _sizes_sentence(sweep: Sweep) -> str:
    found = series_of(sweep, cold=False) or series_of(sweep, cold=True)
    sizes = sorted({point.size_bytes for each in found for point in each.points})
    ends = f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
    named = ", ".join(
        f"{clean(each.variant.title)} {format_ns(each.points[-1].wall_ns)} at "
        f"{format_bytes(each.points[-1].size_bytes)}"
        for each in found
    )
    return f"Time over {len(sizes)} sizes, {ends}, of {len(found)} variants: {named}."
