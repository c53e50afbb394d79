"""The waterfall of a trace as a sheet: rows in the order of the road, bars at their true time."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from jupyter_serprof.model import Row, Trace, Waterfall
from jupyter_serprof.model.units import NOT_APPLICABLE, NOT_SEEN
from jupyter_serprof.views.blame import put_anatomies
from jupyter_serprof.views.kit import parts
from jupyter_serprof.views.kit.bars import density, pieces_of, unaccounted_shares
from jupyter_serprof.views.kit.pages import stage_page
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, TEXT, Box, Sheet
from jupyter_serprof.views.kit.theme import Theme, family_color
from jupyter_serprof.views.waterfall import table as tables

#: A piece is drawn by itself from this width on, pixels; smaller ones share buckets this wide.
_OWN_WIDTH = 2
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
    """Yield the boxes of a row: as high as its share of the instant, never nothing."""
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
    for _, run in groupby(enumerate(buckets), key=lambda pair: pair[1] - pair[0]):
        yield [bucket for _, bucket in run]


def rest_boxes(waterfall: Waterfall, wall_ns: int, area: Area, theme: Theme) -> Iterator[Box]:
    """Yield hatched boxes for unknown time, low ones for instants known in part."""
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


_GAP = 16
_SWATCH = 18
_INDENT = 12
#: The columns of numbers of a brief picture.
_BRIEF = 3
_WIDEST_NAME, _WIDEST_LANE = 216, 80
#: (most rows, height of a row, size of its text), pixels.
_PITCHES = ((24, 24, TEXT), (40, 20, 12.0))
_SMALLEST_PITCH = (17, 11.0)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where things stand from left to right, and how high a row is; pixels."""

    names: float
    lane_x: float
    has_lanes: bool
    plot_x: float
    plot_width: float
    #: The columns of numbers, and their right edges.
    numbers: parts.Placed[tables.Line]
    pitch: int
    size: float


def put_trace(sheet: Sheet, trace: Trace, most_rows: int) -> None:
    """Put the waterfall of a trace at ``y``, with at most ``most_rows`` rows."""
    table = tables.table_of(trace, most_rows)
    frame = _frame(sheet, table)
    put_anatomies(sheet, trace)
    if not trace.is_of_a_run:
        return
    places = _put_heads(sheet, frame, trace)
    bottom = sheet.y + frame.pitch * len(table.lines)
    parts.put_grid(sheet, places, sheet.y, bottom)
    largest_ns = max((_stage_ns(line) for line in table.lines), default=0)
    for line in table.lines:
        is_largest = _stage_ns(line) == largest_ns > 0
        _put_line(sheet, frame, trace, line, is_bold=is_largest or line.kind == "group")
    _put_total(sheet, frame)
    cells = {one.cell(line) for one, _ in frame.numbers for line in table.lines}
    has_waits = any(line.waits for line in table.lines)
    parts.put_legend(sheet, _legend(sheet, cells, has_waits=has_waits))


def _frame(sheet: Sheet, table: tables.StageTable) -> _Frame:
    count = len(table.lines)
    pitch, size = next(((p, s) for most, p, s in _PITCHES if count <= most), _SMALLEST_PITCH)
    named = [line for line in table.lines if line.kind != "group"]
    names = max(
        sheet.measure(f"{line.title}  {line.count}".rstrip(), size, False) + _INDENT * line.depth  # noqa: FBT003
        for line in named
    )
    names = min(_WIDEST_NAME, max(names, sheet.measure("Wall time", size, True)))  # noqa: FBT003
    lanes = max(sheet.measure(line.lane, SMALL, False) for line in table.lines)  # noqa: FBT003
    lane_x = MARGIN + _SWATCH + names + _GAP
    lanes = max(lanes, sheet.measure("lane", SMALL, False)) if lanes else -_GAP  # noqa: FBT003
    plot_x = lane_x + min(_WIDEST_LANE, lanes) + _GAP
    columns = tables.quantities(table)[: _BRIEF if sheet.is_brief else None]
    numbers, width = parts.placed(sheet, columns, table.lines, size, _GAP, plot_x, tables.SPARE)
    return _Frame(names, lane_x, lanes > 0, plot_x, width, numbers, pitch, size)


def _put_heads(sheet: Sheet, frame: _Frame, trace: Trace) -> list[float]:
    parts.put_number_heads(sheet, frame.numbers)
    sheet.put(MARGIN, sheet.y + 22, "stage", sheet.theme.muted, SMALL)
    if frame.has_lanes:
        sheet.put(frame.lane_x, sheet.y + 22, "lane", sheet.theme.muted, SMALL)
    sheet.y += 31
    places = parts.put_axis(sheet, frame.plot_x, frame.plot_width, trace.wall_ns)
    sheet.line()
    sheet.y += 2
    return places


def _stage_ns(line: tables.Line) -> int:
    """Return what a whole stage owned; parts and sums of stages are not compared with it."""
    return line.row.self_ns if line.row is not None and line.kind in {"stage", "heading"} else 0


def _put_line(
    sheet: Sheet, frame: _Frame, trace: Trace, line: tables.Line, *, is_bold: bool
) -> None:
    theme, middle = sheet.theme, sheet.y + frame.pitch / 2
    area = Area(frame.plot_x, sheet.y + 3, frame.plot_width, frame.pitch - 6)
    x = MARGIN + _INDENT * line.depth
    if line.kind == "group":
        sheet.line(theme.grid)
    if line.row is None:
        sheet.add(hatched(x, middle - 5, 10, 10, theme))
        sheet.add(*rest_boxes(tables.waterfall_of(trace), trace.wall_ns, area, theme))
    elif line.kind == "group":
        sheet.add(*_block_boxes(line, trace.wall_ns, area, theme))
    else:
        if line.kind not in {"part", "more"}:
            sheet.add(Box(x, middle - 5, 10, 10, family_color(line.family)))
        sheet.add(*_stage_boxes(line, trace.wall_ns, area, theme))
    _put_name(sheet, frame, line, middle)
    _put_numbers(sheet, frame, line, middle, is_bold=is_bold)
    sheet.y += frame.pitch


def _stage_boxes(line: tables.Line, wall_ns: int, area: Area, theme: Theme) -> Iterator[Box]:
    """Yield grey boxes where the stage waits and those of its colour, over them, where it works."""
    color = family_color(line.family)
    work, wait = tables.work_and_wait(line)
    if wait is not None:
        yield from row_boxes(wait, wall_ns, area, theme.wait, theme.tint(theme.wait))
    if work is not None:
        yield from row_boxes(work, wall_ns, area, color, theme.tint(color))


def _block_boxes(line: tables.Line, wall_ns: int, area: Area, theme: Theme) -> Iterator[Box]:
    """Yield the stages of a computation in one bar: at each instant one of them owns the time."""
    for row, stage in sorted(line.members, key=lambda member: not member[1].waits):
        color = theme.wait if stage.waits else family_color(stage.family)
        yield from row_boxes(row, wall_ns, area, color, theme.tint(color))


def _put_name(sheet: Sheet, frame: _Frame, line: tables.Line, middle: float) -> None:
    theme, x = sheet.theme, MARGIN + _INDENT * line.depth
    if line.kind == "group":
        room = frame.plot_x - _GAP - x
        sheet.put(x, middle, line.title, theme.ink, frame.size, room=room, is_bold=True)
        return
    x += _SWATCH
    count_wide = sheet.measure(f"  {line.count}", frame.size, False) if line.count else 0  # noqa: FBT003
    room = frame.names - _INDENT * line.depth - count_wide
    title = sheet.fit(line.title, room, frame.size)
    color = theme.muted if line.kind == "part" else theme.ink
    with sheet.leading_to(stage_page(line.row.stage if line.row else "")):
        sheet.put(x, middle, title, color, frame.size)
    if line.count:
        at = x + sheet.measure(f"{title}  ", frame.size, False)  # noqa: FBT003
        sheet.put(at, middle, line.count, theme.muted, SMALL)
    if line.lane:
        fits = sheet.measure(line.lane, SMALL, False) <= _WIDEST_LANE  # noqa: FBT003
        lane = line.lane if fits else line.lane.partition("/")[0]
        sheet.put(frame.lane_x, middle, lane, theme.muted, SMALL, room=_WIDEST_LANE)


def _put_numbers(
    sheet: Sheet, frame: _Frame, line: tables.Line, middle: float, *, is_bold: bool
) -> None:
    theme, put = (
        sheet.theme,
        partial(sheet.put, size=frame.size, room=parts.WIDEST_NUMBER, side="right"),
    )
    for one, right in frame.numbers:
        text = one.cell(line)
        is_number = text[0].isdigit() or text[0] == "<"
        color = theme.ink if is_number and line.kind != "part" else theme.muted
        put(right, middle, text, color, is_bold=is_bold and one.is_bold)


def _put_total(sheet: Sheet, frame: _Frame) -> None:
    sheet.y += 2
    sheet.line()
    middle, ink = sheet.y + 14, sheet.theme.ink
    sheet.put(MARGIN + _SWATCH, middle, "Wall time", ink, frame.size, is_bold=True)
    put = partial(sheet.put, size=frame.size, room=parts.WIDEST_NUMBER, side="right")
    for one, right in frame.numbers:
        put(right, middle, one.total, ink, is_bold=True)
    sheet.y += 26


def _legend(
    sheet: Sheet, cells: Collection[str], *, has_waits: bool
) -> Iterator[tuple[Box | None, str]]:
    theme = sheet.theme
    yield None, "bars stand at their true time"
    if has_waits:
        yield Box(0, 0, 0, 0, theme.wait), "wait"
    yield hatched(0, 0, 0, 0, theme), "unaccounted: drawn, never spread"
    if NOT_APPLICABLE in cells:
        yield None, f"{NOT_APPLICABLE} does not apply"
    if NOT_SEEN in cells:
        yield None, f"{NOT_SEEN} not seen"
    yield from ((None, word) for word in tables.words_of(cells))
