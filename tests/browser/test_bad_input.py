"""Documents that are newer, damaged, empty, strange or huge: a sentence, never an exception."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from browser.samples import DATA, code_cell, full_trace, output, sized_sweep, write_notebook
from browser.screen import Screen
from browser.test_injection import TOUR
from jupyter_serprof.model.document import MIME_TYPE

DAMAGED = "damaged or incomplete"
NO_DOCUMENT = "no jupyter_serprof document"
#: 50 MB, as a notebook or a file holds them.
HUGE_BYTES = 50_000_000


def changed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a copy with other values at keys; ``a__b`` is ``b`` inside ``a``."""
    made = copy.deepcopy(document)
    for name, value in changes.items():
        *places, key = name.split("__")
        inner = made
        for place in places:
            inner = inner[place]
        inner[key] = value
    return made


def empty(document: dict[str, Any]) -> dict[str, Any]:
    """Return a trace in which nothing was seen."""
    rows = {"rows": [], "unaccounted_ns": document["wall_ns"]}
    columns: dict[str, list[int]] = {key: [] for key in document["spans"]}
    less: dict[str, Any] = {
        "findings": [],
        "groups": [],
        "tables": [],
        "details": {},
        "summary": None,
    }
    return changed(document, spans=columns, strings=[], waterfall=rows, **less)


def timeless(document: dict[str, Any]) -> dict[str, Any]:
    """Return a trace that took no time at all."""
    count = len(document["spans"]["stage"])
    made = changed(document, wall_ns=0, spans__start_ns=[0] * count, spans__duration_ns=[0] * count)
    nothing = {"start_ns": 0, "self_ns": 0, "busy_ns": 0, "pieces": []}
    made["waterfall"] = {
        "rows": [{**row, **nothing} for row in made["waterfall"]["rows"]],
        "unaccounted_ns": 0,
    }
    return made


def early(document: dict[str, Any]) -> dict[str, Any]:
    """Return a trace in which a worker's clock is 5 s behind: its spans start before the run."""
    lane = {"key": "worker/1", "kind": "worker", "process": 1}
    made = changed(document)
    made["lanes"].append({**lane, "clock_offset_ns": -5_000_000_000, "clock_error_ns": 10**9})
    made["spans"]["lane"][-1] = 1
    made["spans"]["start_ns"][-1] = -4_000_000_000
    made["waterfall"]["rows"][-1]["start_ns"] = -4_000_000_000
    return made


TRACE = full_trace()
SWEEP = sized_sweep()
PACKED = json.loads((DATA / "trace.v1.packed.serprof.json").read_text("utf-8"))
#: What is said about it; "" where it is drawn like any other.
BAD: dict[str, tuple[Any, str]] = {
    "newer": (changed(TRACE, version=99), "version 99; this front end knows version 1"),
    "newer sweep": (changed(SWEEP, version=99), "version 99; this front end knows version 1"),
    "newer, other keys": (
        {"format": "serprof.trace", "version": 99, "name": "x"},
        "version 99, which this front end cannot draw",
    ),
    "no version": (changed(TRACE, version=None), "no version that exists"),
    "another format": (changed(TRACE, format="x"), 'unknown format "x"'),
    "no object": ([TRACE], NO_DOCUMENT),
    "no wall time": (changed(TRACE, wall_ns="soon"), DAMAGED),
    "no rows": (changed(TRACE, waterfall__rows=7), DAMAGED),
    "no stages": (changed(TRACE, stages=[1]), DAMAGED),
    "no points": (changed(SWEEP, points={}), DAMAGED),
    "zero spans": (empty(TRACE), ""),
    "zero duration": (timeless(TRACE), ""),
    "negative clock offsets": (early(TRACE), ""),
    "columns of unequal length": (changed(TRACE, spans__stage=[0]), ""),
    "columns of nothing": (changed(TRACE, spans={}), ""),
    "half a packed column": (changed(PACKED, spans__start_ns__data="eJz"), ""),
    "a packed column of another length": (changed(PACKED, spans__start_ns__n=10**9), ""),
    "indices of nothing": (changed(TRACE, spans__name=[99] * 5, spans__stage=[99] * 5), ""),
    "odd extras": (changed(TRACE, groups=[1], tables=[{}], findings=[0], summary=3), ""),
    "odd cells": (changed(TRACE, tables=[{**TRACE["tables"][0], "rows": [[{}], [], 1]}]), ""),
    "an empty sweep": (changed(SWEEP, points=[], traces=[], variants=[]), ""),
    "a sweep of damaged traces": (
        changed(SWEEP, traces=[{**SWEEP["traces"][0], "trace": {"wall_ns": "x"}}]),
        "",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_told_or_drawn_without_an_exception(screen: Screen, name: str) -> None:
    document, sentence = BAD[name]

    page = screen.mount(document)
    seen = page.evaluate(TOUR)

    screen.shoot()
    assert sentence in page.locator(".jsp-root").inner_text()
    assert (page.get_by_role("alert").count() == 0) is (seen == [0])
    assert screen.complaints == []


def complaints(screen: Screen) -> list[str]:
    """Return the console's errors that are ours: JupyterLab asks for files that need not exist."""
    return [said for said in screen.complaints if "Failed to load resource" not in said]


def test_a_notebook_of_bad_outputs_says_what_and_keeps_the_text(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The sentence, and below it the text of the output; the others are drawn."""
    outputs = [output({MIME_TYPE: doc, "text/plain": "in words"}, {}) for doc, _ in BAD.values()]
    # JupyterLab itself takes only objects as JSON; what else there is never comes to us.
    write_notebook(jupyter_root / "bad.ipynb", [code_cell("bad", *outputs)])

    page = screen.open_lab(jupyter, "bad.ipynb")
    screen.drawn(len(outputs))

    screen.shoot()
    alerts = page.locator(".jsp-root > [role=alert]")
    fallbacks = page.locator(".jp-OutputArea-output > pre", has_text="in words")
    assert alerts.count() == fallbacks.count() > 5
    for _, sentence in BAD.values():
        assert page.get_by_text(sentence).count() > 0
    assert screen.violations(".jp-OutputArea", ignored=("heading-order",)) == []
    assert complaints(screen) == []


def test_bad_files_are_told(screen: Screen, jupyter: str, jupyter_root: Path) -> None:
    """Double-clicked, each is a sentence or a picture, and no dialog of JupyterLab's."""
    files = {
        "newer": (json.dumps(BAD["newer"][0]), BAD["newer"][1]),
        "damaged": (json.dumps(BAD["no rows"][0]), DAMAGED),
        "cut": (json.dumps(TRACE)[:500], NO_DOCUMENT),
        "empty": ("", NO_DOCUMENT),
        "text": ("<b>hello</b>", NO_DOCUMENT),
    }
    for name, (written, _) in files.items():
        (jupyter_root / f"{name}.serprof.json").write_text(written, "utf-8")
    page = screen.open_lab(jupyter, "trace.serprof.json")
    screen.drawn()

    for name, (_, sentence) in files.items():
        screen.command("docmanager:open", path=f"{name}.serprof.json")

        page.locator(".jsp-root", has_text=sentence).last.wait_for()
        screen.shoot(f"-{name}")
        assert page.locator(".jp-Dialog").count() == 0
    assert complaints(screen) == []


#: Columns of so many spans, made in the page: JupyterLab's server alone takes half a minute to
#: read and check a notebook of this size.
ADD_HUGE = f"""([trace, count]) => {{
  const columns = {{ parent: -1, stage: 2, lane: 0, name: 2, size_bytes: 8000136 }};
  const spans = Object.fromEntries(
    Object.entries(columns).map(([key, value]) => [key, new Array(count).fill(value)]));
  spans.start_ns = Array.from({{ length: count }}, (_, at) => 1e9 + at * 5000);
  spans.duration_ns = new Array(count).fill(4000);
  const data = {{ "{MIME_TYPE}": {{ ...trace, spans }} }};
  const cell = globalThis.jupyterapp.shell.currentWidget.content.widgets[1];
  cell.model.outputs.add({{ output_type: "display_data", data, metadata: {{}} }});
}}"""


def wide(count: int) -> dict[str, Any]:
    """Return a trace with the wall time of so many spans, but without them."""
    return changed(TRACE, spans={}, wall_ns=10**9 + count * 5_000, details={})


def lanes_of(screen: Screen) -> None:
    """Look at the lanes of the only document: they need every span."""
    root = screen.drawn().first
    root.get_by_role("radio", name="Lanes").click()
    root.get_by_role("application").wait_for()
    screen.shoot()
    assert screen.page.get_by_role("alert").count() == 0
    assert complaints(screen) == []


def test_a_file_of_50_mb_is_drawn(screen: Screen, jupyter: str, jupyter_root: Path) -> None:
    one = {"parent": -1, "stage": 2, "lane": 0, "name": 2, "size_bytes": 8_000_136}
    count = HUGE_BYTES // len(json.dumps([*one.values(), 10**9, 10**3]))
    columns: dict[str, list[int]] = {key: [value] * count for key, value in one.items()}
    columns["start_ns"] = list(range(10**9, 10**9 + count * 5_000, 5_000))
    columns["duration_ns"] = [4_000] * count
    path = jupyter_root / "huge.serprof.json"
    path.write_text(json.dumps({**wide(count), "spans": columns}), "utf-8")
    assert path.stat().st_size > 0.9 * HUGE_BYTES

    screen.open_lab(jupyter, path.name)

    lanes_of(screen)
    path.unlink()


def test_an_output_of_50_mb_is_drawn(screen: Screen, jupyter: str) -> None:
    page = screen.open_lab(jupyter, "live.ipynb")
    page.locator(".jp-CodeCell").nth(1).wait_for()
    count = 1_200_000

    page.evaluate(ADD_HUGE, [wide(count), count])

    lanes_of(screen)
