"""The views of anatomies, comparisons and links, moved by mouse and keyboard."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from real import real_documents

from browser.samples import (
    anatomy,
    chunk_sweep,
    code_cell,
    full_trace,
    lane_trace,
    output,
    sized_sweep,
    told,
    tried_sweep,
    write_notebook,
)
from browser.screen import Screen, bundle_for
from browser.test_axe import COLOURS
from jupyter_serprof.model.document import MIME_TYPE, from_document
from jupyter_serprof.views.text import markdown, text

WIDTHS = (1280, 640, 480, 360)


def blamed(count: int = 0) -> dict[str, Any]:
    """Return a trace with one anatomy; of so many parts where a count is given."""
    document = {**full_trace(), "comparison": None}
    made = anatomy("job")
    if count:
        width = 100
        parents = [-1, *(0 if at < width else 1 + at % width for at in range(count - 1))]
        sizes = [0] * count
        for at in range(count - 1, 0, -1):
            sizes[at] += 50 + at % 997
            sizes[parents[at]] += sizes[at]
        nothing = [0] * count
        parts = dict.fromkeys(made["parts"], nothing)
        label = {"label": [5] * count, "kind": [6] * count, "count": [1] * count}
        made["parts"] = {**parts, **label, "parent": parents, "in_band_bytes": sizes}
        made |= {"in_band_bytes": sizes[0], "out_of_band_bytes": 0}
    return {**document, "anatomies": [made]}


def test_a_block_becomes_the_root_by_click_and_escape_goes_back(screen: Screen) -> None:
    page = screen.mount(blamed())
    icicle = page.get_by_role("application")
    trail = page.get_by_label("Path of what is shown")

    icicle.click(position={"x": 200, "y": 40})

    assert trail.inner_text().split() == ["job", ".cache"]
    assert page.locator(".jsp-parts tbody th").first.inner_text() == ".cache"
    icicle.press("Escape")
    assert trail.inner_text() == "job"


def test_parts_are_found_and_told_with_their_paths(screen: Screen) -> None:
    page = screen.mount(blamed())
    page.get_by_role("application").press("/")

    page.keyboard.type("lock")

    page.locator(".jsp-panel").get_by_text("1 part has").wait_for()
    found = page.locator(".jsp-parts tbody th")
    assert found.all_inner_texts() == ["job.cache.lock"]


def test_a_card_tells_what_is_known_of_a_part(screen: Screen) -> None:
    page = screen.mount(blamed())

    page.get_by_role("application").hover(position={"x": 8, "y": 66})

    card = page.locator(".jsp-tip")
    card.wait_for()
    assert "job.cache.lock" in card.inner_text()
    assert "cannot pickle '_thread.lock' object" in card.inner_text()
    screen.shoot()


#: Which texts of a chart or of heads cover each other, by their boxes, and what is not seen whole.
_COVERED = """() => {
  const nodes = document.querySelectorAll(".jsp-chart text, .jsp-table thead *, .jsp-remedy pre");
  const texts = [...nodes].flatMap((node) => [...node.childNodes])
    .filter((text) => text.nodeType === 3 && text.parentNode.checkVisibility());
  const boxes = texts.map((text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return [...range.getClientRects()];
  });
  // From the top down, each beside those that reach down to it: a page has 10,000 texts.
  const rows = boxes.flatMap((each, i) => each.map((box) => [i, box]));
  const covered = new Set();
  let above = [];
  for (const [i, a] of rows.sort(([, one], [, other]) => one.top - other.top)) {
    above = above.filter(([, b]) => a.top < b.bottom - 2);
    const near = above.filter(([j, b]) => j !== i && b.top < a.bottom - 2
      && a.left < b.right && b.left < a.right);
    near.forEach(([j]) => covered.add(Math.max(i, j)));
    above.push([i, a]);
  }
  const isCut = ({ parentNode: pre }) => pre.tagName === "PRE" && pre.scrollWidth > pre.clientWidth;
  return texts.filter((text, i) => isCut(text) || covered.has(i)).map((text) => text.data);
}"""
DOCUMENTS = {
    "anatomy": full_trace,
    "compare": full_trace,
    "sweep": sized_sweep,
    "chunks": chunk_sweep,
    "roundtrip": tried_sweep,
}


@pytest.mark.parametrize("view", DOCUMENTS)
def test_a_view_fits_its_output(screen: Screen, view: str) -> None:
    """Nothing has to be scrolled sideways, save a table in its own frame, light and dark."""
    page = screen.mount(DOCUMENTS[view](), view="sweep" if view == "chunks" else view)
    if view == "sweep":
        page.get_by_label("Network").fill("6")

    for scheme, width in itertools.product(("light", "dark"), WIDTHS):
        screen.look(scheme, width)

        screen.shoot(f"-{view}-{scheme}-{width}")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.evaluate(_COVERED) == []
        assert screen.violations("main", rules=COLOURS if scheme == "dark" else ()) == []


def test_a_narrow_verdict_is_one_line_within_the_margin(screen: Screen) -> None:
    document = full_trace()
    document["comparison"]["changes"][0] |= {"ratio": 0.00729, "before_ns": 17_880_000}
    page = screen.mount(document, view="compare")
    screen.look("light", 360)

    below = page.locator(".jsp-below").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
    right = "(node) => node.getBoundingClientRect().right"
    ends = [page.locator(each).first.evaluate(right) for each in ("table", ".jsp-panel")]

    assert max(below) < 20
    assert page.evaluate(_COVERED) == []
    assert ends[0] <= ends[1] + 0.5


@pytest.mark.parametrize("width", [1100, 800, 360])
def test_the_time_axis_keeps_its_part(screen: Screen, width: int) -> None:
    """At least 45 % of the output and 120 px at any width; columns leave for it, in their order."""
    leaving = ["faults", "memcpy", "rate", "bytes", "busy", "lane", "share"]
    views = {"waterfall": lane_trace(), "roundtrip": tried_sweep(), "compare": full_trace()}
    for view, document in views.items():
        page = screen.mount(document, view=view)
        screen.look("light", width)

        parts = map(page.locator, (".jsp-root", ".jsp-panel .jsp-axis"))
        whole, axis = (each.first.evaluate("(node) => node.offsetWidth") for each in parts)
        left = page.evaluate("document.querySelector('[data-left]')?.dataset.left ?? ''").split()

        screen.shoot(f"-{view}-{width}")
        is_wide = width == 1100 or (width > WIDTHS[-1] and view != "compare")
        assert axis >= (0.45 * whole if is_wide else 120)
        in_order = next(n for n in range(len(left), -1, -1) if left[:n] == leaving[:n])
        cells = "tbody tr:not([hidden]) > td.jsp-column-{}"
        silent = [page.locator(cells.format(name)).all_text_contents() for name in left[in_order:]]
        assert {text for texts in silent for text in texts} <= {"\N{EN DASH}", "n/a", "0"}


def crossing_sweep(count: int) -> dict[str, Any]:
    """Return a sweep of so many transports; each is the fastest at one size or another."""
    document = sized_sweep()
    keys = [f"transport number {at}" for at in range(count)]
    (first, *_), (point, *_) = document["variants"], document["points"]
    sizes = [10 ** (3 + at) for at in range(count + 1)]
    points = [
        point
        | {"variant": key, "size_bytes": size, "cold": False}
        | {"wall_ns": round(10 ** (3 + at / 2) + size * 10 ** (-at / 2))}
        for at, key in enumerate(keys)
        for size in sizes
    ]
    crossovers = [
        {"cold": False, "title": f"{new} overtakes {old}", "faster": new, "slower": old}
        | {"from_bytes": low, "to_bytes": high}
        for old, new in itertools.pairwise(keys)
        for low, high in itertools.pairwise(sizes)
    ]
    free = {keys[0]: {"unranked": "is free"}}
    variants = [{**first, "key": k, "title": k, "facts": free.get(k, {})} for k in keys]
    shown = {"variants": variants, "points": points, "crossovers": crossovers, "best": None}
    said = f"{keys[0]} and {keys[1]} gave the same memory back, so not compared"
    summary = {"headline": "It varies", "facts": [], "details": [said]}
    return told({**document, **shown, "summary": summary})


@pytest.mark.parametrize("count", range(2, 9))
def test_no_label_of_a_sweep_covers_another(screen: Screen, count: int) -> None:
    """At two to eight transports, wide and narrow: sizes, times, names and crossovers."""
    page = screen.mount(crossing_sweep(count), view="sweep")

    for width in WIDTHS:
        screen.look("light", width)

        screen.shoot(f"-{width}")
        assert page.locator(".jsp-bracket").count() > 0
        assert page.evaluate(_COVERED) == []
        # The legend takes no room from the times beside the chart.
        beside = page.locator(".jsp-at-size").evaluate("(node) => node.clientWidth")
        assert beside >= min(280, width - 80)
        assert "not compared" in page.locator(".jsp-legend").first.inner_text()


#: Of each document, what stands in the columns that add up, of stages and of runs.
_NUMBERS = """(roots) => roots.map((root) => [...root.querySelectorAll(":scope td.jsp-number")]
  .filter((cell) => cell.matches(":is(.jsp-waterfall, .jsp-sweep) :not([class*=jsp-column-]), "
    + ".jsp-column-share") && cell.checkVisibility() && !cell.closest(".jsp-replay"))
  .map((cell) => cell.textContent.replaceAll("\\u00a0", " ")))"""


@pytest.mark.parametrize("kind", ["trace", "sweep", "anatomy"])
def test_real_documents_can_be_read_and_have_the_numbers_of_python(
    screen: Screen, kind: str
) -> None:
    """All of a kind on one page: no label on another one, and no number that the text has not."""
    real = [each for each in real_documents().values() if bundle_for(each) == kind]
    page = screen.mount(*real)
    for width in (360, 800, 1100):
        screen.look("light", width)

        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.evaluate(_COVERED) == []
    shown = screen.drawn(len(real)).evaluate_all(_NUMBERS)
    assert sum(map(len, shown)) > len(real) or kind == "anatomy"
    for document, numbers in zip(map(from_document, real), shown, strict=True):
        said = text(document, width=400) + markdown(document) + "–"  # noqa: RUF001
        assert [each for each in numbers if each.strip("()") not in said] == []


def test_the_network_slider_steps_through_links_by_keyboard(screen: Screen) -> None:
    """Off, 10 Mbit/s, and so on; the wire is marked as predicted, in the bars and in words."""
    page = screen.mount(sized_sweep(), view="sweep")
    slider = page.get_by_label("Network")
    assert page.locator(".jsp-wire").count() == 0

    slider.press("ArrowRight")

    assert slider.get_attribute("aria-valuetext") == "10\N{NO-BREAK SPACE}Mbit/s"
    assert page.locator(".jsp-at-bar .jsp-wire").count() > 0
    assert "would arrive first" in page.locator(".jsp-link-words").inner_text()
    slider.press("Home")
    assert page.locator(".jsp-wire").count() == 0


def test_ten_thousand_parts_are_drawn_and_paged(screen: Screen) -> None:
    """The icicle has as many blocks as there are pixels, the tree shows fifty parts at once."""
    page = screen.mount(blamed(10_000))

    rows = page.locator(".jsp-parts tbody tr")
    before = rows.count()
    page.get_by_role("button", name="Show more").first.click()

    assert before < rows.count() < 200
    assert page.get_by_role("application").bounding_box() is not None
    screen.shoot()


def test_jupyterlab_draws_an_anatomy_from_a_saved_notebook(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    outputs = [output({MIME_TYPE: document}, {}) for document in (blamed(), chunk_sweep())]
    write_notebook(jupyter_root / "blame.ipynb", [code_cell("%serprof --blame job", *outputs)])

    page = screen.open_lab(jupyter, "blame.ipynb")
    screen.drawn(2)

    screen.shoot()
    assert page.get_by_role("application").is_visible()
    page.get_by_role("application").press("ArrowDown")
    page.get_by_role("application").press("Enter")
    assert "cache" in page.get_by_label("Path of what is shown").inner_text()
    assert page.get_by_role("radio", name="Chunk sizes").count() == 1
