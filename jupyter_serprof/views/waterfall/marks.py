"""Bars as boxes: a row of a waterfall at its true time, and the time that nobody explains."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from jupyter_serprof.views.kit.buckets import density, pieces_of, unaccounted_shares
from jupyter_serprof.views.kit.sheet import Box

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_serprof.model import Row, Waterfall
    from jupyter_serprof.views.kit.theme import Theme

#: A piece is drawn by itself from this width on, pixels; smaller ones share buckets this wide.
_OWN_WIDTH = 2
_WAIT_HEIGHT = 3
_HATCHED_WIDTH = 5
#: From this share on, a bucket counts as owned or as unaccounted as a whole.
_WHOLE, _TRACE = 0.9, 0.02
_MERGED = 0.98


class Area(NamedTuple):
    """Where a bar may be drawn, pixels."""

    x: float
    y: float
    width: float
    height: float


def row_boxes(row: Row, wall_ns: int, area: Area, color: str, tint: str) -> Iterator[Box]:
    """Yield the boxes of a row that works: as high as its share of the instant, never nothing."""
    pieces = pieces_of(row, wall_ns)
    if not pieces:
        return
    scale = area.width / wall_ns
    share = density(row, pieces)
    is_merged = share < _MERGED
    small: dict[int, float] = {}
    for start, length in pieces:
        if length * scale >= _OWN_WIDTH:
            left, right = area.x + start * scale, area.x + (start + length) * scale
            if is_merged:
                yield Box(left, area.y, right - left, area.height, tint)
            yield _standing(left, right - left, share, area, color)
        else:
            bucket = min(int(start * scale / _OWN_WIDTH), int(area.width / _OWN_WIDTH) - 1)
            small[bucket] = small.get(bucket, 0.0) + share * length * scale / _OWN_WIDTH
    yield from _small_boxes(small, area, color, tint)


def _standing(x: float, width: float, share: float, area: Area, color: str) -> Box:
    """Return a box that stands on the lower edge of the area."""
    height = max(1.0, min(1.0, share) * area.height)
    return Box(x, area.y + area.height - height, width, height, color)


def _small_boxes(small: dict[int, float], area: Area, color: str, tint: str) -> Iterator[Box]:
    for group in _neighbours(sorted(small)):
        x = area.x + group[0] * _OWN_WIDTH
        if len(group) == 1:
            yield Box(x, area.y, 1, area.height, color)
            continue
        yield Box(x, area.y, len(group) * _OWN_WIDTH, area.height, tint)
        for bucket in group:
            left = area.x + bucket * _OWN_WIDTH
            yield _standing(left, _OWN_WIDTH, small[bucket], area, color)


def _neighbours(buckets: Sequence[int]) -> Iterator[list[int]]:
    """Yield runs of numbers that follow each other."""
    for _, run in groupby(enumerate(buckets), key=lambda pair: pair[1] - pair[0]):
        yield [bucket for _, bucket in run]


def wait_boxes(row: Row, wall_ns: int, area: Area, color: str) -> Iterator[Box]:
    """Yield thin boxes where somebody waited."""
    y = area.y + (area.height - _WAIT_HEIGHT) / 2
    scale = area.width / wall_ns if wall_ns else 0.0
    for start, length in pieces_of(row, wall_ns):
        x = area.x + min(start * scale, area.width - 1)
        yield Box(x, y, max(1.0, length * scale), _WAIT_HEIGHT, color)


def rest_boxes(waterfall: Waterfall, wall_ns: int, area: Area, theme: Theme) -> Iterator[Box]:
    """Yield hatched boxes where nobody knows, low ones where nobody knows all of an instant."""
    shares = unaccounted_shares(waterfall, wall_ns, int(area.width / _OWN_WIDTH))
    seen = [i for i, share in enumerate(shares) if share > _TRACE]
    whole = [i for i in seen if shares[i] >= _WHOLE]
    for group in _neighbours(whole):
        x = area.x + group[0] * _OWN_WIDTH
        yield hatched(x, area.y, len(group) * _OWN_WIDTH, area.height, theme)
    for bucket in sorted(set(seen) - set(whole)):
        left = area.x + bucket * _OWN_WIDTH
        yield _standing(left, _OWN_WIDTH, shares[bucket], area, theme.wait)


def hatched(x: float, y: float, width: float, height: float, theme: Theme) -> Box:
    """Return a box with the texture of what is unaccounted; plain where no texture would show."""
    if 0 < width < _HATCHED_WIDTH:
        return Box(x, y, width, height, theme.wait)
    return Box(x, y, width, height, theme.background, "\\", theme.wait, outline=theme.wait)


def guessed(box: Box, theme: Theme) -> Box:
    """Return a box with the texture of what was predicted and not measured."""
    return replace(box, color=theme.background, hatch="/", hatch_color=box.color, outline=box.color)
