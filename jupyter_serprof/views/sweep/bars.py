"""A sweep as a sheet: each variant cold and warm as a bar of its stages."""

from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_serprof.model import Sweep, Variant
from jupyter_serprof.model.units import NOT_SEEN, clean, format_ns
from jupyter_serprof.views.kit import parts
from jupyter_serprof.views.kit.sheet import MARGIN, SMALL, TEXT, WIDTH, Box, Label, Rule, Sheet
from jupyter_serprof.views.kit.theme import family_color, label_color
from jupyter_serprof.views.sweep import runs as sweeps
from jupyter_serprof.views.sweep.runs import Bar, Slice
from jupyter_serprof.views.waterfall.sheet import hatched

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

    def beside(self, x: float, wide: float, gap: float) -> float:
        """Return where a text begins that would begin here, off the guide line."""
        is_crossed = self.guide_x is not None and x - 3 <= self.guide_x <= x + wide + 3
        return (self.guide_x or 0) + gap if is_crossed else x


def put_stack(sheet: Sheet, axis: Axis, run: Bar, middle: float) -> None:
    """Put the bar of a run around a line in the middle of it."""
    segments = list(_segments(sheet, axis, run, middle - _BAR / 2))
    sheet.add(*(box for _, box in segments))
    labelled = [part for part, box in segments if _put_inside(sheet, axis, part, box)]
    if segments and not labelled:
        _put_beside(sheet, axis, segments, middle)


def _segments(sheet: Sheet, axis: Axis, run: Bar, y: float) -> Iterator[tuple[Slice, Box]]:
    stages = [part for part in sweeps.parts_of(run) if part.self_ns]
    if axis.at(run.wall_ns) - axis.x < _SEEN_WIDTH:
        for part in sorted(stages, key=lambda part: (not part.family, -part.self_ns))[:1]:
            yield part, _box(sheet, part, (axis.x, y, 2, _BAR), is_striped=False)
        return
    at_ns = 0
    for part in stages:
        x, end = axis.at(at_ns), axis.at(at_ns + part.self_ns)
        at_ns += part.self_ns
        if end - x > 1 / 2:
            place = (x, y, max(1.0, end - x - 1), _BAR)
            yield part, _box(sheet, part, place, is_striped=is_out_of_band(run, part))


def is_out_of_band(run: Bar, part: Slice) -> bool:
    """Say whether the buffers of a value, and not its pickle, are most of what the stage moves."""
    beside, inside = (run.variant.facts.get(f"{way}_bytes") for way in ("out_of_band", "in_band"))
    if part.family not in _CARRIES_BUFFERS or not isinstance(beside, int):
        return False
    return beside > (inside if isinstance(inside, int) else 0)


def striped(x: float, y: float, width: float, height: float, colors: tuple[str, str]) -> Box:
    """Return a box with the texture of bytes that travel beside the pickle."""
    return Box(x, y, width, height, colors[0], "/", colors[1], hatch_width=_STRIPE)


def _box(
    sheet: Sheet, part: Slice, place: tuple[float, float, float, float], *, is_striped: bool
) -> Box:
    if not part.family:
        return hatched(*place, sheet.theme)
    color = family_color(part.family)
    return striped(*place, (color, sheet.theme.tint(color))) if is_striped else Box(*place, color)


def _put_inside(sheet: Sheet, axis: Axis, part: Slice, box: Box) -> bool:
    """Put a label into a segment where it fits beside the guide line; say whether it did."""
    value = format_ns(part.self_ns)
    for text in (f"{part.title} {value}", part.title, value) if part.family else ():
        taken = sheet.measure(text, SMALL, False)  # noqa: FBT003
        x = axis.beside(box.x + _PAD, taken, _PAD)
        if x + taken + _PAD <= box.x + box.width:
            if box.hatch:
                sheet.add(Box(x - 3, box.y, taken + 6, _BAR, box.color))
            color = label_color(part.family)
            sheet.add(Label(x, box.y + _BAR / 2, text, color, SMALL, on=box.color))
            return True
    return False


def _put_beside(sheet: Sheet, axis: Axis, segments: list[tuple[Slice, Box]], middle: float) -> None:
    last = segments[-1][1]
    largest = max((part for part, _ in segments), key=lambda part: part.self_ns)
    text = f"{largest.title} {format_ns(largest.self_ns)}"
    taken = sheet.measure(text, SMALL, False)  # noqa: FBT003
    x = axis.beside(last.x + last.width + 8, taken, 8)
    if x + taken <= axis.x + axis.width:
        sheet.put(x, middle, text, sheet.theme.muted, SMALL)


_NAMES = 178
_WIDEST_LABEL = 110
_GAP = 12
_LABELS_X = MARGIN + _NAMES + _GAP
_PITCH = 26
_LINES_SHOWN = 60
#: The first columns of numbers, this many, are in a brief picture.
_BRIEF = 2
#: What goes first to leave room for the time, by its head.
_SPARE = ("spread", "page faults", "vs memcpy", "out-of-band", "in-band")


@dataclass(frozen=True, slots=True)
class _Scene:
    """What all lines share: the runs, the places of the columns (pixels), and the time axis."""

    sweep: Sweep
    runs: tuple[Bar, ...]
    has_sizes: bool
    numbers: parts.Placed[Bar]
    axis: Axis
    memcpy_ns: float | None


def put_sweep(sheet: Sheet, sweep: Sweep) -> None:
    """Put the runs of a sweep at ``y``, each as a bar."""
    scene = _scene(sheet, sweep)
    places = _put_heads(sheet, scene)
    for variant in sweep.variants:
        _put_variant(sheet, scene, variant, places)
    parts.put_legend(sheet, _legend(sheet, scene) if scene.runs else ())


def _scene(sheet: Sheet, sweep: Sweep) -> _Scene:
    runs = tuple(run for variant in sweep.variants for run in sweeps.runs_of(sweep, variant))
    sizes = {run.point.size_bytes for run in runs}
    once_ns = sweeps.memcpy_ns(sweep, next(iter(sizes))) if len(sizes) == 1 else None
    end_ns = max([1, *(run.wall_ns for run in runs)])
    has_sizes = len(sizes) > 1
    labels = [sweeps.label_of(run, has_size=has_sizes) for run in runs]
    columns = sweeps.quantities(sweep, runs)[: _BRIEF if sheet.is_brief else None]
    widest = max((sheet.measure(label, SMALL, False) for label in labels), default=0)  # noqa: FBT003
    x = _LABELS_X + min(_WIDEST_LABEL, widest) + _GAP
    numbers, width = parts.placed(sheet, columns, runs, TEXT, _GAP, x, _SPARE)
    is_inside = once_ns is not None and once_ns <= end_ns
    guide = x + width * once_ns / end_ns if is_inside and once_ns else None
    return _Scene(sweep, runs, has_sizes, numbers, Axis(x, width, end_ns, guide), once_ns)


def _put_heads(sheet: Sheet, scene: _Scene) -> list[float]:
    """Put the heads of the columns and the axis; return where the grid lines go."""
    parts.put_number_heads(sheet, scene.numbers)
    _put_guide_name(sheet, scene)
    sheet.y += 31
    axis = scene.axis
    places = parts.put_axis(sheet, axis.x, axis.width, axis.end_ns) if scene.runs else []
    sheet.line()
    return places


def _put_guide_name(sheet: Sheet, scene: _Scene) -> None:
    axis = scene.axis
    if axis.guide_x is None:
        return
    text = f"one memcpy {format_ns(scene.memcpy_ns)}"
    half = sheet.measure(text, SMALL, False) / 2  # noqa: FBT003
    middle = min(max(axis.guide_x, _LABELS_X + half), axis.x + axis.width - half)
    sheet.put(middle, sheet.y + 6, text, sheet.theme.muted, SMALL, side="center")


def _put_variant(sheet: Sheet, scene: _Scene, variant: Variant, places: list[float]) -> None:
    """Put a variant: its name and result on the left, its runs or why there are none beside."""
    top = sheet.y = sheet.y + 8
    theme = sheet.theme
    title, y = clean(variant.title), top + _PITCH / 2
    sheet.put(MARGIN, y, title, theme.ink, TEXT + 0.5, room=_NAMES, is_bold=True)
    left = top + _PITCH / 2 + 19
    for line in sheet.wrap(variant.result, _NAMES, SMALL, most=2):
        sheet.put(MARGIN, left, line, theme.muted, SMALL)
        left += 16
    runs = [run for run in scene.runs if run.variant.key == variant.key]
    parts.put_grid(sheet, places, top - 8, top + _PITCH * len(runs[:_LINES_SHOWN]) + 8 * bool(runs))
    for run in runs[:_LINES_SHOWN]:
        _put_run(sheet, scene, run)
        if run.groups:
            label = sweeps.label_of(run, has_size=scene.has_sizes)
            _put_words(sheet, f"{label}: {sweeps.time_text(run)}")
    if reason := sweeps.incomplete(scene.sweep).get(title):
        _put_words(sheet, reason)
    sheet.y = max(sheet.y, left - 4) + 8
    sheet.line(theme.grid)


def _put_words(sheet: Sheet, text: str) -> None:
    room = WIDTH - MARGIN - _LABELS_X
    sheet.y += 5
    for line in sheet.wrap(text, room, TEXT, most=3):
        sheet.put(_LABELS_X, sheet.y + 8, line, sheet.theme.ink)
        sheet.y += 18


def _put_run(sheet: Sheet, scene: _Scene, run: Bar) -> None:
    theme, middle = sheet.theme, sheet.y + _PITCH / 2
    label = sweeps.label_of(run, has_size=scene.has_sizes)
    sheet.put(_LABELS_X, middle, label, theme.muted, SMALL, room=_WIDEST_LABEL)
    put_stack(sheet, scene.axis, run, middle)
    if scene.axis.guide_x is not None:
        x, y = scene.axis.guide_x, sheet.y
        sheet.add(Rule(x, y, x, y + _PITCH, theme.ink, is_dotted=True))
    for one, right in scene.numbers:
        text, bold = one.cell(run), one.is_bold and not run.cold
        color = theme.muted if text == NOT_SEEN else theme.ink
        sheet.put(right, middle, text, color, room=parts.WIDEST_NUMBER, is_bold=bold, side="right")
    sheet.y += _PITCH


def _legend(sheet: Sheet, scene: _Scene) -> Iterator[tuple[Box | None, str]]:
    titles: dict[str, dict[str, None]] = {}
    has_buffers = False
    for run in scene.runs:
        for part in sweeps.parts_of(run):
            if part.self_ns and part.family:
                titles.setdefault(part.family, {})[part.title] = None
                has_buffers |= is_out_of_band(run, part)
    for family, named in titles.items():
        yield Box(0, 0, 0, 0, family_color(family)), ", ".join(named)
    if has_buffers:
        colors = (sheet.theme.muted, sheet.theme.background)
        yield striped(0, 0, 0, 0, colors), "striped: out-of-band bytes"
    yield hatched(0, 0, 0, 0, sheet.theme), "unaccounted"
    for legend in sweeps.legends(scene.runs):
        yield None, legend
    which = sweeps.which_text(len(run.walls_ns) for run in scene.runs)
    yield None, f"warm: the {which}; its stages add up to the total"
