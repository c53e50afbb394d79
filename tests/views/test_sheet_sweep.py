"""The picture of a sweep over sizes: places, breaks, crossovers, chunks."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from size_samples import make_chunks, make_sizes
from test_figure import _boxes, _check_labels, _labels
from test_text_sizes import size_sweeps

from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS
from jupyter_serprof.model import Limits, Sweep
from jupyter_serprof.views.figure import _drawn, alt_text, sheet_of, svg
from jupyter_serprof.views.kit.sheet import WIDTH, Sheet, Stroke
from jupyter_serprof.views.kit.theme import LIGHT, WAY_COLORS
from jupyter_serprof.views.text import text

PURPLE, ORANGE = WAY_COLORS["pickle"], WAY_COLORS["ray"]


def lines_of(sheet: Sheet, color: str, *, dotted: bool = False) -> list[Stroke]:
    """Return the lines of a colour; the outlines of hollow marks are closed."""
    curves = (mark for mark in sheet.marks if isinstance(mark, Stroke) and mark.color == color)
    lines = (c for c in curves if not c.is_filled and c.is_dotted is dotted)
    return [line for line in lines if line.points[0] != line.points[-1]]


@pytest.mark.parametrize("doc", [make_sizes(), make_chunks()], ids=["sizes", "chunks"])
@pytest.mark.parametrize("is_brief", [True, False])
def test_labels_can_be_read(doc: Sweep, is_brief: bool) -> None:
    sheet = sheet_of(doc, is_brief=is_brief)

    _check_labels(sheet)


@settings(max_examples=60, deadline=None)
@given(size_sweeps())
def test_any_sweep_over_sizes_is_drawn(sweep: Sweep) -> None:
    """Whatever the document holds: no error, no label over another, no mark outside."""
    sheet = sheet_of(sweep)

    _check_labels(sheet)
    for curve in (mark for mark in sheet.marks if isinstance(mark, Stroke)):
        assert all(-6 <= x <= WIDTH + 6 and 0 <= y <= sheet.height for x, y in curve.points)


def test_both_axes_are_logarithmic() -> None:
    stored = lines_of(sheet_of(make_sizes()), ORANGE)[0].points
    behind = lines_of(sheet_of(make_sizes()), PURPLE)[1].points

    steps = [right[0] - left[0] for left, right in pairwise(stored)]
    assert steps == pytest.approx([steps[0]] * 4)
    assert len({round(y) for _, y in stored}) == 1
    (x0, y0), (x1, y1) = behind
    ticks = {label.text: label.y for label in _labels(sheet_of(make_sizes()))}
    decade_of_time = (ticks["100 µs"] - ticks["10 ms"]) / 2
    assert x1 - x0 == pytest.approx(steps[0])
    assert y0 - y1 == pytest.approx(decade_of_time, abs=1)


def test_a_line_ends_where_measurements_end_and_does_not_cross_a_break() -> None:
    sheet = sheet_of(make_sizes())
    first, second = lines_of(sheet, PURPLE)

    assert (len(first.points), len(second.points)) == (3, 2)
    texts = [label.text for label in _labels(sheet)]
    assert "gap in a line: from there on time grows faster or slower" in texts


def test_a_crossover_is_a_bracket_between_its_two_sizes() -> None:
    """Named, as wide as what is known, and as high as the lines there."""
    sheet = sheet_of(make_sizes())

    texts = {label.text: label for label in _labels(sheet)}
    at = texts["Ray overtakes pickle in-band between 100 kB and 1.00 MB"]
    stored = lines_of(sheet, ORANGE)[0].points
    (left, top), (right, low) = sorted(stored[2:4], key=lambda place: place[0])
    rules = [mark for mark in sheet.marks if getattr(mark, "y0", None) == getattr(mark, "y1", 0)]
    high = [r.y0 for r in rules if (r.x0, r.x1) == pytest.approx((left, right))]  # type: ignore[union-attr]
    assert min(top, low) - 40 < high[0] < max(top, low) + 40 < at.y


def test_one_memcpy_is_a_dotted_line_where_it_belongs() -> None:
    """At 10 GB/s 10 MB take a millisecond; without a limit there is no line."""
    sheet = sheet_of(make_sizes())
    (line,) = lines_of(sheet, LIGHT.wait, dotted=True)

    (x0, y0), (x1, y1) = line.points
    stored = lines_of(sheet, ORANGE)[0].points
    y = y0 + (y1 - y0) * (stored[4][0] - x0) / (x1 - x0)
    ticks = {label.text: label.y for label in _labels(sheet)}
    assert y == pytest.approx(ticks["1 ms"], abs=1)
    assert "grey dashes: one memcpy" in ticks
    bare = sheet_of(replace(make_sizes(), limits=Limits()))
    assert lines_of(bare, LIGHT.wait, dotted=True) == []


def test_a_transport_has_one_colour_and_one_mark_in_every_sweep() -> None:
    """Whatever stands beside it and whatever its stages are; what is none takes another one."""
    sizes, names = make_sizes(), {"pickle": "own", "ray": "pickle"}
    points = [replace(p, variant=names[p.variant], stages={"gc": 1}) for p in sizes.points]
    variants = tuple(replace(v, key=names.get(v.key, "")) for v in sizes.variants)
    other = replace(sizes, variants=variants, points=tuple(points), fits=())

    assert len(lines_of(sheet_of(other), PURPLE)) == len(lines_of(sheet_of(sizes), ORANGE)) == 1
    strokes = (mark for mark in sheet_of(other).marks if isinstance(mark, Stroke))
    circles = {len(each.points) for each in strokes if each.is_filled and each.color == PURPLE}
    assert circles == {20}  # the mark of pickle, second or first
    assert WAY_COLORS.keys() == TRANSPORTS.keys()


def test_a_line_below_the_fastest_that_is_no_choice_says_so_in_the_smallest_picture() -> None:
    free = tuple(replace(v, facts={"unranked": "is free"}) for v in make_sizes().variants[:1])
    sheet = sheet_of(replace(make_sizes(), variants=free), is_brief=True)

    texts = [each.text for each in _labels(sheet)]
    assert {"pickle in-band is free, so not compared", "not compared"} < {*texts}


def test_the_best_chunk_is_a_band_over_its_interval() -> None:
    """From the smallest to the largest chunk that is as good, with the best one named."""
    sheet = sheet_of(make_chunks())

    (line,) = lines_of(sheet, WAY_COLORS["pickle"])
    (band,) = _boxes(sheet, LIGHT.grid)
    assert (band.x, band.x + band.width) == pytest.approx((line.points[1][0], line.points[3][0]))
    texts = [label.text for label in _labels(sheet)]
    assert any(text.startswith("dotted line and band: best chunk 8.00 MB, ") for text in texts)
    assert not any("one memcpy" in text for text in texts)


def test_matplotlib_draws_the_same_lines() -> None:
    drawn = _drawn(sheet_of(make_sizes()))

    axes = drawn.axes[0]
    widths = [line.get_linewidth() for line in axes.get_lines()]
    assert sum(math.isclose(width, 2 * 0.72) for width in widths) == 3
    assert b"<path" in svg(make_sizes())


def test_the_alternative_text_says_where_the_lines_end() -> None:
    said = alt_text(make_sizes())

    assert "Time over 5 sizes, 1.00 kB to 10.0 MB, of 2 variants: " in said
    assert "pickle in-band 20.0 ms at 10.0 MB, Ray 500 µs at 10.0 MB." in said


@pytest.mark.parametrize("kind", ["sweep", "roundtrip"])
def test_the_faster_of_two_runs_is_no_middle_one(kind: str) -> None:
    """In characters and pixels, as the line under the headline says."""
    every = replace(
        make_sizes(), kind=kind, points=make_sizes().points[: 4 if kind != "sweep" else 20]
    )
    pair = replace(every, points=tuple(point for point in every.points if point.repeat < 3))

    told = [
        (text(each), " ".join(each.text for each in _labels(sheet_of(each))))
        for each in (pair, every)
    ]

    words = [[set(re.findall("slower one|middle", said)) for said in each] for each in told]
    assert words == [[{"slower one"}] * 2, [{"middle"}] * 2]
