"""The log-log chart of a sweep over sizes on a sheet: axes, lines, marks, and its legend."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle

from jupyter_serprof.analysis.ranking import outside_texts
from jupyter_serprof.model import Crossover, Sweep
from jupyter_serprof.model.units import clean, format_bytes, format_ns
from jupyter_serprof.views.kit.bars import log_axis, log_ticks
from jupyter_serprof.views.kit.parts import put_legend
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, WIDTH, Box, Rule, Sheet, Stroke
from jupyter_serprof.views.kit.theme import WAY_COLORS
from jupyter_serprof.views.sweep import runs as sweeps

LINE_HEIGHT = 15
_TICK_ROOM = 62
_MARK = 4.5
_TURNS = [2 * math.pi * at / 20 for at in range(20)]
#: The corners of each: circle, square, triangle, diamond, wedge.
_MARKS: tuple[tuple[tuple[float, float], ...], ...] = (
    tuple((math.cos(turn), math.sin(turn)) for turn in _TURNS),
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.2), (1.2, 1), (-1.2, 1)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, 1.2), (1.2, -1), (-1.2, -1)),
)


@dataclass(frozen=True, slots=True)
class Chart:
    """Where sizes and times stand: logarithms of the ends of both axes, pixels."""

    left: float
    right: float
    top: float
    bottom: float
    sizes: tuple[float, float]
    times: tuple[float, float]

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


def put_axes(sheet: Sheet, chart: Chart) -> None:
    """Put the grid, the sizes below it and the times beside it."""
    theme = sheet.theme
    for size in log_ticks(chart.sizes, (chart.right - chart.left) / _TICK_ROOM):
        x = chart.x(size)
        sheet.add(Rule(x, chart.top, x, chart.bottom, theme.grid))
        text = _short(format_bytes(size))
        half = sheet.measure(text, SMALL, False) / 2  # noqa: FBT003
        middle = max(x, MARGIN + half)
        sheet.put(middle, chart.bottom + 13, text, theme.muted, SMALL, side="center")
    for ns in log_ticks(chart.times, (chart.bottom - chart.top) * 3 / _TICK_ROOM):
        y = chart.y(ns)
        sheet.add(Rule(chart.left, y, chart.right, y, theme.grid))
        text, room = _short(format_ns(ns)), chart.left - MARGIN - 8
        sheet.put(chart.left - 8, y, text, theme.muted, SMALL, room=room, side="right")
    sheet.add(Rule(chart.left, chart.bottom, chart.right, chart.bottom, theme.line))


def _short(text: str) -> str:
    """Return a round number without its zeros: 1.00 kB is 1 kB."""
    number, gap, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{gap}{unit}"


_LEFT = 62
_NAMES = 206
_HEIGHT, _BRIEF_HEIGHT = 340, 270
_SENTENCES = 14


@dataclass(frozen=True, slots=True)
class _ChartLine:
    """A series with its colour, which also has a mark."""

    series: sweeps.Series
    color: str

    def mark(self, x: float, y: float) -> Stroke:
        corners = _MARKS[[*WAY_COLORS.values()].index(self.color) % len(_MARKS)]
        points = tuple((x + _MARK * dx, y + _MARK * dy) for dx, dy in corners)
        return Stroke(points, self.color, is_filled=True)


def put_sizes(sheet: Sheet, sweep: Sweep) -> None:
    """Put the lines of a sweep over sizes at ``y``."""
    warm = sweeps.series_of(sweep, cold=False)
    found = warm or sweeps.series_of(sweep, cold=True)
    lines = [_ChartLine(*each) for each in zip(found, _colors(found), strict=True)]
    chart = _chart(sheet, sweep, lines)
    _put_best(sheet, chart, sweep)
    put_axes(sheet, chart)
    key = list(_put_memcpy(sheet, chart, sweep))
    # The widest first: no band hides a narrower one.
    for line in sorted(lines, key=lambda line: -_spread(line.series)):
        _put_band(sheet, chart, line)
    for line in lines:
        _put_line(sheet, chart, line)
    key += _put_best_line(sheet, chart, sweep)
    turns = (each for each in sweep.crossovers if each.cold != bool(warm))
    pairs = {frozenset((each.faster, each.slower)): each for each in turns}
    known = list(pairs.values())[:2]
    key += [_put_crossover(sheet, chart, lines, each, at) for at, each in enumerate(known)]
    outside = outside_texts(each.variant for each in found)
    key += [f"{clean(said)}, so not compared" for said in outside]
    _put_names(sheet, chart, lines)
    sheet.y = chart.bottom + 28
    for said in key:
        sheet.paragraph(said, sheet.theme.muted, SMALL, most=1)
    put_legend(sheet, _legend(sheet, sweep, lines))
    if not sheet.is_brief:
        _put_sentences(sheet, sweep)


def _colors(found: Sequence[sweeps.Series]) -> Iterator[str]:
    """Yield the colour of each line: that of its transport; what is none takes one that is free."""
    keys = {each.variant.key for each in found}
    turns = cycle(sorted(WAY_COLORS, key=keys.__contains__))
    for each, turn in zip(found, turns, strict=False):
        yield WAY_COLORS.get(each.variant.key, WAY_COLORS[turn])


def _chart(sheet: Sheet, sweep: Sweep, lines: Sequence[_ChartLine]) -> Chart:
    points = [point for line in lines for point in line.series.points]
    names = (sum(len(_names_of(line)) for line in lines) + 1) * LINE_HEIGHT
    high = max(_BRIEF_HEIGHT if sheet.is_brief else _HEIGHT, names)
    kind = "cold, first" if lines and lines[0].series.cold else "warm"
    what = "size of a chunk" if sweep.kind == "chunks" else "size"
    text = f"time of a {kind} run over {what}, both logarithmic"
    sheet.put(MARGIN, sheet.y + 6, text, sheet.theme.muted, SMALL)
    top = sheet.y + 24
    times = log_axis(ns for point in points for ns in (point.wall_ns, *point.range_ns))
    sizes = log_axis(point.size_bytes for point in points)
    right = WIDTH - MARGIN - _NAMES
    return Chart(MARGIN + _LEFT, right, top, top + high, sizes, times)


def _put_best(sheet: Sheet, chart: Chart, sweep: Sweep) -> None:
    if (best := sweep.best) is not None:
        low, high = (_inside(chart, size) for size in (best.low_bytes, best.high_bytes))
        wide, tall = max(2, high - low), chart.bottom - chart.top
        sheet.add(Box(low, chart.top, wide, tall, sheet.theme.grid))


def _put_best_line(sheet: Sheet, chart: Chart, sweep: Sweep) -> Iterator[str]:
    """Put a line at the best chunk; yield what it is."""
    if (best := sweep.best) is not None:
        x = _inside(chart, best.size_bytes)
        sheet.add(Rule(x, chart.top, x, chart.bottom, sheet.theme.ink, is_dotted=True))
        ends = f"{format_bytes(best.low_bytes)} to {format_bytes(best.high_bytes)}"
        yield f"dotted line and band: best chunk {format_bytes(best.size_bytes)}, {ends}"


def _inside(chart: Chart, size_bytes: int) -> float:
    return min(max(chart.x(size_bytes), chart.left), chart.right)


def _put_memcpy(sheet: Sheet, chart: Chart, sweep: Sweep) -> Iterator[str]:
    """Put the time of one copy of as many bytes, and yield so; a chunk is not what is moved."""
    rate = sweep.limits.memcpy_bytes_per_s
    if sweep.kind == "chunks" or not rate or rate <= 0:
        return
    low = max(chart.sizes[0], chart.times[0] + math.log10(rate / 1e9))
    high = min(chart.sizes[1], chart.times[1] + math.log10(rate / 1e9))
    if low < high:
        ends = tuple((chart.x(10**p), chart.y(10**p / rate * 1e9)) for p in (low, high))
        sheet.add(Stroke(ends, sheet.theme.wait, 1.2, is_dotted=True))
        yield "grey dashes: one memcpy"


def _spread(series: sweeps.Series) -> float:
    ranges = (point.range_ns for point in series.points)
    return sum(math.log10(high / low) for low, high in ranges)


def _put_band(sheet: Sheet, chart: Chart, line: _ChartLine) -> None:
    for points in _unbroken(line.series):
        lower, upper = (
            [(chart.x(point.size_bytes), chart.y(point.range_ns[end])) for point in points]
            for end in (0, 1)
        )
        if len(points) > 1:
            around = (*upper, *reversed(lower))
            sheet.add(Stroke(around, sheet.theme.tint(line.color), is_filled=True))


def _unbroken(series: sweeps.Series) -> Iterator[tuple[sweeps.Bar, ...]]:
    """Yield stretches of points: a line breaks behind the last size of a piece."""
    rest = series.points
    for end in (*(piece.to_bytes for piece in series.pieces[:-1]), None):
        here = [p for p in rest if end is None or p.size_bytes <= end]
        rest = rest[len(here) :]
        if here:
            yield tuple(here)


def _put_line(sheet: Sheet, chart: Chart, line: _ChartLine) -> None:
    for points in _unbroken(line.series):
        places = tuple((chart.x(p.size_bytes), chart.y(p.wall_ns)) for p in points)
        if len(places) > 1:
            sheet.add(Stroke(places, line.color, 2))
        for place in places:
            sheet.add(line.mark(*place))


def _put_crossover(
    sheet: Sheet, chart: Chart, lines: Sequence[_ChartLine], each: Crossover, at: int
) -> str:
    ends, own = (each.from_bytes, each.to_bytes), each.title.split(" overtakes ")
    points = [p for line in lines if line.series.variant.title in own for p in line.series.points]
    turns = [chart.y(p.wall_ns) for p in points if p.size_bytes in ends] or [chart.top]
    y = min(sum(turns) / len(turns) + LINE_HEIGHT * at, chart.bottom - 4)
    (left, right), ink = map(chart.x, ends), sheet.theme.ink
    sheet.add(Rule(left, y, right, y, ink))
    sheet.add(*(Rule(x, y - 4, x, y + 4, ink) for x in (left, right)))
    return sweeps.crossover_text(each)


def _put_names(sheet: Sheet, chart: Chart, lines: Sequence[_ChartLine]) -> None:
    """Put names at the ends of the lines, moved apart where they would cover each other."""
    ends = sorted(lines, key=lambda line: chart.y(line.series.points[-1].wall_ns))
    rows = [(line, said) for line in ends for said in _names_of(line)]
    tops = _apart([chart.y(line.series.points[-1].wall_ns) - 7 for line, _ in rows], chart)
    x, theme = chart.right + 14, sheet.theme
    room = WIDTH - MARGIN - x - 12
    for (line, said), top in zip(rows, tops, strict=True):
        middle, is_name = top + LINE_HEIGHT / 2, said != sweeps.NOT_COMPARED
        ink = theme.ink if is_name else theme.muted
        sheet.add(*([line.mark(x, middle)] if is_name else []))
        sheet.put(x + 12, middle, said, ink, room=room, is_bold=is_name)


def _names_of(line: _ChartLine) -> tuple[str, ...]:
    """Return what stands at the end of a line: its name, and that it is no choice."""
    variant = line.series.variant
    return clean(variant.title), *([sweeps.NOT_COMPARED] if variant.unranked else [])


def _apart(wanted: Sequence[float], chart: Chart) -> list[float]:
    # Down the chart each gives way to the one above it, then up from the end to the one below.
    inside = (max(top, chart.top - 8) for top in wanted)
    tops = list(accumulate(inside, lambda up, top: max(top, up + LINE_HEIGHT)))
    inside = (min(top, chart.bottom + 8 - LINE_HEIGHT) for top in reversed(tops))
    return list(accumulate(inside, lambda low, top: min(top, low - LINE_HEIGHT)))[::-1]


def _legend(
    sheet: Sheet, sweep: Sweep, lines: Sequence[_ChartLine]
) -> Iterator[tuple[Box | None, str]]:
    counts = [len(point.walls_ns) for line in lines for point in line.series.points]
    low, high = min(counts), max(counts)
    if high > 1:
        color = sheet.theme.tint(lines[0].color)
        yield Box(0, 0, 0, 0, color), "middle half of the runs" if high > 3 else "all runs"  # noqa: PLR2004
        yield None, f"{sweeps.which_text(counts)} of {low}" + (f" to {high}" if high > low else "")
    yield None, "lines end at measured sizes"
    if any(len(line.series.pieces) > 1 for line in lines):
        yield None, "gap in a line: from there on time grows faster or slower"
    if any(point.cold for point in sweep.points) and lines and not lines[0].series.cold:
        yield None, "cold runs: in the text and the document"


def _put_sentences(sheet: Sheet, sweep: Sweep) -> None:
    """Say why a variant is missing; the text has the laws."""
    wanted = [f"{title}: {reason}" for title, reason in sweeps.incomplete(sweep).items()]
    hidden = len(wanted) - _SENTENCES
    if hidden > 0:
        wanted[_SENTENCES - 1 :] = [f"{hidden + 1} more sentences are in the text"]
    sheet.y += 6
    for sentence in wanted:
        sheet.paragraph(sentence, sheet.theme.muted, SMALL, most=2)
