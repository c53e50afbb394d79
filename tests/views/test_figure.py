"""Pictures of documents: where things stand, what is touched, and what is not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO

import pytest
from compare_samples import FOUND, PICKLE, WALL
from dask_samples import computation, several
from hypothesis import given, settings
from PIL import Image
from pythons import python
from real import real_documents
from size_samples import make_sizes
from strategies import sweeps, traces
from test_text import (
    MS,
    make_empty,
    make_long_names,
    make_many,
    make_put_get,
    make_row,
    make_sweep,
    make_trace,
)

from jupyter_serprof.model import Limits, Sweep, Trace, from_document
from jupyter_serprof.views.figure import alt_text, png, sheet_of, svg
from jupyter_serprof.views.kit.raster import _font, measure
from jupyter_serprof.views.kit.sheet import WIDTH, Box, Label, Rule, Sheet, Stroke
from jupyter_serprof.views.kit.theme import FAMILY_COLORS, LIGHT, WAY_COLORS
from jupyter_serprof.views.waterfall.table import table_of

LONG = "compute a name that somebody wrote without thought for the reader"
#: Made by the test that looks at one: to collect them costs nothing.
DOCUMENTS: dict[str, Callable[[], Trace | Sweep]] = {
    "put and get": make_put_get,
    "empty": make_empty,
    "60 rows": partial(make_many, 60),
    "long names": make_long_names,
    "round trip": make_sweep,
    "stages with parts": computation,
    "computations": partial(several, 3, LONG),
    "many computations": partial(several, 75),
    "interrupted": lambda: replace(make_put_get(), outcome="interrupted", summary=None),
}
documents = pytest.mark.parametrize("doc", DOCUMENTS, indirect=True)


@pytest.fixture
def doc(request: pytest.FixtureRequest) -> Trace | Sweep:
    return DOCUMENTS[request.param]()


@documents
def test_labels_neither_overlap_nor_leave_the_picture(doc: Trace | Sweep) -> None:
    """Every word of the picture can be read, whatever the names and however many the rows."""
    _check_labels(sheet_of(doc))
    _check_labels(sheet_of(doc, is_brief=True))


@pytest.mark.parametrize("stored", [pytest.param(d, id=n) for n, d in real_documents().items()])
def test_labels_of_a_real_document_can_be_read(stored: dict[str, object]) -> None:
    _check_labels(sheet_of(from_document(stored)))


@settings(max_examples=40)
@given(traces() | sweeps())
def test_labels_of_any_document_can_be_read(doc: Trace | Sweep) -> None:
    _check_labels(sheet_of(doc))


def test_a_memcpy_of_next_to_no_speed_is_drawn() -> None:
    slow = replace(make_put_get(), limits=Limits(memcpy_bytes_per_s=5e-324))

    _check_labels(sheet_of(slow))


@pytest.mark.parametrize("count", range(2, 9))
def test_labels_of_many_ways_can_be_read(count: int) -> None:
    sizes = make_sizes()
    ways = [replace(sizes.variants[0], key=f"way{i}", title=f"way {i}") for i in range(count)]
    own = [point for point in sizes.points if point.variant == "pickle"]
    points = [replace(point, variant=way.key) for way in ways for point in own]

    sheet = sheet_of(replace(sizes, variants=tuple(ways), points=tuple(points), fits=()))

    _check_labels(sheet)
    solid = [mark for mark in sheet.marks if isinstance(mark, Stroke) and not mark.is_filled]
    assert len({stroke.color for stroke in solid if not stroke.is_dotted}) == count


@documents
def test_boxes_stay_on_the_sheet(doc: Trace | Sweep) -> None:
    sheet = sheet_of(doc)

    for box in _boxes(sheet):
        left, upper, right, lower = box.pixels
        assert 0 <= left < right <= WIDTH
        assert 0 <= upper < lower <= sheet.height


def test_a_bar_stands_at_its_true_time() -> None:
    """Half of the time is half of the axis, from where it began."""
    rows = (make_row("ray.store", 25 * MS, 50 * MS), make_row("ray.map", 75 * MS, 25 * MS))

    sheet = sheet_of(make_trace(rows, 100 * MS))

    store, mapped = (box for box in _boxes(sheet, FAMILY_COLORS["store"]) if box.width > 10)
    assert store.width == pytest.approx(2 * mapped.width, abs=1)
    assert store.x + store.width == pytest.approx(mapped.x, abs=1)


def test_a_stage_that_is_smaller_than_a_pixel_is_still_there() -> None:
    rows = (make_row("pickle.dumps", 500 * MS, 1_000), make_row("ray.store", 0, 400 * MS))

    sheet = sheet_of(make_trace(rows, 10_000 * MS))

    marks = [box for box in _boxes(sheet, FAMILY_COLORS["pickle"]) if box.width < 10]
    assert len(marks) == 1


def test_further_stages_are_drawn_as_one_row_that_keeps_the_sum() -> None:
    trace = make_many(60)

    texts = [label.text for label in _labels(sheet_of(trace, most_rows=8))]

    assert "53 more stages" in texts
    table = table_of(trace, 8)
    assert len(table.lines) == 9
    assert sum(float(line.self_text) for line in table.lines) == pytest.approx(
        float(table.wall_text)
    )


@documents
def test_a_brief_picture_is_smaller_and_keeps_the_times(doc: Trace | Sweep) -> None:
    """What is left out for size is said in the text beside it; the headline and bars stay."""
    full, brief = png(doc), png(doc, is_brief=True)

    assert len(brief) < len(full)
    assert next(_labels(sheet_of(doc, is_brief=True))) == next(_labels(sheet_of(doc)))


def test_the_guide_line_of_one_memcpy_crosses_no_label() -> None:
    sheet = sheet_of(make_sweep())

    guides = {mark.x0 for mark in sheet.marks if isinstance(mark, Rule) and mark.is_dotted}
    inside = [label for label in _labels(sheet) if label.text.startswith(("Pickle", "Store"))]
    assert len(guides) == 1
    assert inside
    for label in inside[:6]:
        left, _, right, _ = _extent(label)
        assert not left < next(iter(guides)) < right


def test_a_place_that_is_too_long_is_told_by_its_first_part() -> None:
    lanes = ("scheduler/offload-of-all", "scheduler/tasks-of-all")
    rows = tuple(replace(make_row("ray.store", 0, 5 * MS), lane=lane) for lane in lanes)

    assert "scheduler" in {label.text for label in _labels(sheet_of(make_trace(rows, 5 * MS)))}


def test_parts_step_back_and_computations_stand_out() -> None:
    """A heading is read before its parts, the name of a computation before its stages."""
    labels = {label.text: label for label in _labels(sheet_of(several(2)))}

    block, heading = labels["1: compute sum"], labels["Graph optimization"]
    part = labels["Make single tasks"]
    assert block.is_bold
    assert block.x < heading.x < part.x
    assert (heading.color, part.color) == (LIGHT.ink, LIGHT.muted)


def test_the_bar_of_a_computation_has_the_colours_of_its_stages() -> None:
    """One look tells what a computation consisted of, also when its stages are folded."""
    sheet = sheet_of(several(75), most_rows=8)

    first = next(label for label in _labels(sheet) if label.text.endswith(": compute sum"))
    colors = {box.color for box in _boxes(sheet) if box.y <= first.y <= box.y + box.height}
    assert {FAMILY_COLORS[name] for name in ("build", "schedule", "execute")} <= colors


def test_a_wait_inside_of_a_heading_is_grey_and_as_heavy_as_work() -> None:
    rows = (
        make_row("dask.communicate.batch", 0, 80 * MS),
        make_row("dask.communicate.wire", 80 * MS, 20 * MS),
    )

    sheet = sheet_of(make_trace(rows, 100 * MS))

    heading = next(label for label in _labels(sheet) if label.text == "Graph communication")
    boxes = (mark for mark in sheet.marks if isinstance(mark, Box))
    bars = [box for box in boxes if box.width > 10 and abs(box.y - heading.y) < 12]
    wait, work = sorted(bars, key=lambda box: box.x)
    assert (wait.height, wait.color) == (work.height, LIGHT.wait)
    assert work.height > 12
    assert wait.width == pytest.approx(4 * work.width, abs=4)


def test_a_picture_says_which_tables_there_are() -> None:
    """They have no place on the time axis; who sees only the picture knows where they are."""
    said = "in the text and the document: Tasks by prefix (15 rows), Computations (1 row), "

    texts = [label.text for label in _labels(sheet_of(computation()))]

    assert f"{said}Who holds the bytes of the graph (2 rows)" in texts


@pytest.mark.parametrize(
    ("doc", "names", "most_bytes"),
    [(make_put_get(), ("store",), 18_000), (make_sizes(), ("pickle", "ray"), 30_000)],
    ids=["rows", "smooth lines"],
)
def test_a_png_is_small_and_exact_in_its_colours(
    doc: Trace | Sweep, names: tuple[str, ...], most_bytes: int
) -> None:
    picture, colors = png(doc), FAMILY_COLORS | WAY_COLORS

    pixels = Image.open(BytesIO(picture)).convert("RGB")
    found = {color for _, color in pixels.getcolors() or []}
    assert {tuple(bytes.fromhex(colors[name][1:])) for name in names} <= found
    assert (255, 255, 255) in found
    assert len(picture) < most_bytes
    assert png(doc) == picture


def test_an_svg_is_the_same_bytes_every_time_and_carries_no_date() -> None:
    drawn = svg(make_put_get())

    assert drawn == svg(make_put_get())
    assert b"<dc:date>" not in drawn
    assert b"/home/" not in drawn


OURS = "import sys; sys.path[:0] = 'tests/views', 'tests/support'\n"
PROGRAMS = {
    "no figure in pyplot, no other backend, no setting changed": (
        "import matplotlib; matplotlib.use('svg'); matplotlib.rcParams['font.size'] = 33\n"
        "before = dict(matplotlib.rcParams)\n"
        "from test_text import make_put_get\n"
        "from jupyter_serprof.views.figure import png, svg\n"
        "png(make_put_get()); svg(make_put_get())\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert dict(matplotlib.rcParams) == before\n"
        "assert matplotlib.get_backend() == 'svg'\n"
        "import matplotlib.pyplot as plt; assert not plt.get_fignums()"
    ),
    "a PNG loads no matplotlib": (
        "from test_text import make_put_get\n"
        "import jupyter_serprof.views.figure as figure\n"
        "assert 'PIL' not in sys.modules\n"
        "figure.png(make_put_get())\n"
        "assert not {'matplotlib', 'numpy'} & set(sys.modules)"
    ),
}


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_matplotlib_of_the_user_stays_as_it_is(code: str) -> None:
    """And the picture of an output costs neither its import nor its drawing."""
    python(OURS + code)


def test_the_alternative_text_says_what_the_picture_says() -> None:
    said = alt_text(make_put_get())

    assert said.startswith("1.21 s: 80 % is copying 800 MB into the store")
    assert "Store 80 %, First-use imports 18 %" in said
    assert "Ray 65.0 ms warm and 1.21 s cold" in alt_text(make_sweep())
    assert "Dask not running" in alt_text(make_sweep())
    assert len(alt_text(make_long_names())) <= 400
    assert "Waterfall of 13 stages of 2 computations over 1.51 s: " in alt_text(several(2))
    assert "Execution 52 %, Graph optimization 20 %, Scheduling 17 %" in alt_text(computation())


def _check_labels(sheet: Sheet) -> None:
    extents = [(_extent(label), label.text) for label in _labels(sheet)]
    for index, (one, text) in enumerate(extents):
        assert one[0] >= 0, text
        assert one[2] <= WIDTH + 0.5, text
        assert one[3] <= sheet.height, text
        for other, other_text in extents[index + 1 :]:
            assert not _overlap(one, other), (text, other_text)


def test_the_font_is_asked_for_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow 10.0 and 10.1 raise on a path: there was no picture at all."""
    asked: list[object] = []
    monkeypatch.setattr("PIL.ImageFont.truetype", lambda font, *_, **__: asked.append(font))

    _font.__wrapped__(10.0, is_bold=False)

    assert [type(font) for font in asked] == [str]


def _labels(sheet: Sheet) -> Iterator[Label]:
    return (mark for mark in sheet.marks if isinstance(mark, Label) and mark.text)


def _boxes(sheet: Sheet, color: str | None = None) -> Iterator[Box]:
    boxes = (mark for mark in sheet.marks if isinstance(mark, Box))
    return (box for box in boxes if color in (None, box.color) and box.height > 10)


def _extent(label: Label) -> tuple[float, float, float, float]:
    wide = measure(label.text, label.size, label.is_bold)
    left = label.x - {"left": 0.0, "center": 0.5, "right": 1.0}[label.side] * wide
    return left, label.y - label.size * 0.4, left + wide, label.y + label.size * 0.4


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    across = one[0] < other[2] - 1 and other[0] < one[2] - 1
    return across and one[1] < other[3] and other[1] < one[3]


def test_a_reason_that_fits_into_no_cell_stands_below_the_comparison() -> None:
    """Whole, once, with its lines where others have another."""
    why = "1 run before and 1 after are too few for an interval. Run each side again: --repeat 15"
    warm = replace(WALL, cold=False, verdict="cannot tell", reason=why)
    pair = warm, replace(PICKLE, cold=False, verdict="cannot tell", reason="within chance")

    for changes, said in ((warm,), ""), ((replace(warm, cold=True), *pair), "Wall time, warm: "):
        doc = replace(make_put_get(), comparison=replace(FOUND, changes=changes))
        texts = " ".join(label.text for label in _labels(sheet_of(doc)))
        assert texts.count("1 run before and 1 after") == 1
        assert f"{said}cannot tell, 1 run before" in texts
