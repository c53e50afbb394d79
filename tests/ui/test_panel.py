"""The panel in a real JupyterLab: choose, sweep, see points arrive, stop, save, open without it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from jupyter_serprof.model import Sweep, from_document
from jupyter_serprof.model.document import MIME_TYPE
from ui.samples import code_cell, write_notebook
from ui.test_widget import IN_OUTPUT, IN_WIDGET, SAVED, run

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from ui.screen import Screen

LOAD = "%load_ext jupyter_serprof\nimport numpy as np\nx = np.random.default_rng(1).random(10**6)"
POINTS = "() => Number(document.querySelector('.jp-OutputArea .widget-label')?.innerText)"


def shown(screen: Screen, jupyter: str, path: Path, line: str = "%serprof -o doc") -> Page:
    """Open a notebook with a panel in its second cell."""
    write_notebook(path, [code_cell(LOAD), code_cell(line), code_cell("")])
    page = screen.open_lab(jupyter, path.name)
    run(screen, 0)
    run(screen, 1)
    screen.shoot("-first")
    button(page, "Sweep").wait_for()
    return page


def button(page: Page, name: str) -> Locator:
    """Return a button of the panel."""
    return page.locator(".jp-OutputArea").get_by_role("button", name=name, exact=True)


def saved(screen: Screen, path: Path) -> list[dict[str, object]]:
    """Save the notebook; return the data of the outputs of the panel's cell."""
    screen.command("docmanager:save")
    screen.page.wait_for_function(SAVED)
    outputs = json.loads(path.read_text("utf-8"))["cells"][1]["outputs"]
    return [output["data"] for output in outputs]


def test_points_arrive_stop_keeps_them_and_the_saved_notebook_replays(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The main job: generator, sweep, stop, save; then the size slider moves without a kernel."""
    # given
    path = jupyter_root / "panel.ipynb"
    page = shown(screen, jupyter, path)
    screen.shoot("-ready")
    page.get_by_label("Measure").select_option(label="generated: list of dicts")

    # when
    clicked_s = time.monotonic()
    button(page, "Sweep").click()
    page.locator(IN_WIDGET).wait_for()
    screen.drawn()
    first_s = time.monotonic() - clicked_s
    page.get_by_text("24 points").or_(page.get_by_text("25 points")).first.wait_for()
    screen.shoot("-live")
    clicked_s = time.monotonic()
    button(page, "Stop").click()
    page.get_by_text("Stopped; what was measured stays").wait_for()
    stopped_s = time.monotonic() - clicked_s
    page.locator(IN_OUTPUT).wait_for()
    screen.shoot("-stopped")
    print(f"first point on the screen after {first_s:.2f} s, stopped after {stopped_s:.2f} s")

    # then
    panel, document = saved(screen, path)
    assert "run this cell" in str(panel["text/plain"])
    assert {"text/plain", "image/png", MIME_TYPE} == document.keys()
    sweep = from_document(document[MIME_TYPE])  # type: ignore[arg-type]
    assert isinstance(sweep, Sweep)
    assert len(sweep.points) >= 20
