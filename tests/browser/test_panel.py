"""The panel in a real JupyterLab: choose, sweep, see points arrive, stop, save, open without it."""

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from browser.samples import code_cell, write_notebook
from browser.screen import Screen
from browser.test_widget import IN_OUTPUT, IN_WIDGET, SAVED, run
from jupyter_serprof.model import Sweep, from_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.notebook.widget import WIDGET_VIEW

LOAD = "%load_ext jupyter_serprof\nimport numpy as np\nx = np.random.default_rng(1).random(10**6)"
AT_LEAST_20 = re.compile(r"^Measuring\. [2-9]\d points")
AT_SIZE = ".jsp-at-size"
#: The two handles of a range slider have no names of their own in ipywidgets 8.1.
OF_IPYWIDGETS = ("aria-input-field-name",)
#: What JupyterLab says where the kernel of a widget is gone.
DEAD = ("Loading widget...", "Error displaying widget")


def shown(screen: Screen, jupyter: str, path: Path, *lines: str) -> Page:
    """Open a notebook with a panel in its last cell."""
    write_notebook(path, [code_cell(line) for line in lines])
    page = screen.open_lab(jupyter, path.name)
    for at in range(len(lines)):
        run(screen, at)
    button(page, "Sweep").wait_for()
    return page


def button(page: Page, name: str) -> Locator:
    """Return a button of the panel."""
    return page.locator(".jp-OutputArea").get_by_role("button", name=name, exact=True)


def saved(screen: Screen, path: Path) -> list[dict[str, Any]]:
    """Save the notebook; return the data of the outputs of the panel's cell."""
    screen.command("docmanager:save")
    screen.page.wait_for_function(SAVED)
    outputs = json.loads(path.read_text("utf-8"))["cells"][-1]["outputs"]
    return [output["data"] for output in outputs if "data" in output]


def choose(page: Page, generator: str, runs: int) -> None:
    """Choose a generator, and after how many warm runs it ends."""
    page.get_by_label("Measure").select_option(label=f"generated: {generator}")
    page.get_by_label("Ends by").select_option("a number of warm runs")
    page.get_by_label("Warm runs").fill(str(runs))
    page.keyboard.press("Tab")


def test_points_arrive_stop_keeps_them_and_the_saved_notebook_replays(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The main job: generator, sweep, stop, save; then the size slider moves without a kernel."""
    # Resumed it is finished, and a closed panel leaves nothing of itself in the notebook.
    path = jupyter_root / "panel.ipynb"
    page = shown(screen, jupyter, path, LOAD, "%serprof -o doc")
    screen.shoot("-ready")
    choose(page, "list of dicts", 2)

    button(page, "Sweep").click()
    page.locator(IN_WIDGET).wait_for()
    screen.drawn()
    page.get_by_text(AT_LEAST_20).wait_for()
    page.locator(IN_WIDGET).get_by_role("radio", name="Sweep", checked=True).wait_for()
    screen.shoot("-live")
    button(page, "Stop").click()
    page.get_by_text("Stopped; what was measured stays").wait_for()
    page.locator(IN_OUTPUT).wait_for()
    screen.shoot("-stopped")

    panel, document = saved(screen, path)
    assert "pip install jupyter_serprof" in str(panel["text/plain"])
    assert {"text/plain", "image/png", MIME_TYPE} == document.keys()
    sweep = from_document(document[MIME_TYPE])
    assert isinstance(sweep, Sweep)
    assert 20 <= len(sweep.points) < 72
    button(page, "Resume").click()
    page.get_by_text("Done. 72 points").wait_for()
    page.locator(IN_OUTPUT).wait_for()
    button(page, "Close panel").click()
    button(page, "Sweep").wait_for(state="detached")
    *_, document = saved(screen, path)
    assert MIME_TYPE in document
    assert WIDGET_VIEW not in path.read_text("utf-8")
    screen.command("notebook:shutdown-kernel")
    screen.reopen(path.name)
    slider = screen.drawn().first.get_by_role("slider", name="Size whose")
    before = page.locator(AT_SIZE).inner_text()
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    screen.shoot("-replayed")
    assert page.locator(AT_SIZE).inner_text() != before
    assert not any(page.get_by_text(words).is_visible() for words in DEAD)


RESTART = """async () => {
  const { sessionContext } = globalThis.jupyterapp.shell.currentWidget;
  await sessionContext.restartKernel();
}"""


def test_without_its_kernel_a_panel_is_a_sentence_above_its_picture(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """After a restart, and in the notebook that was saved: no control that does nothing."""
    path = jupyter_root / "panel-dead.ipynb"
    page = shown(screen, jupyter, path, LOAD, "%serprof")
    choose(page, "float64 array", 1)
    button(page, "Sweep").click()
    page.get_by_text("Done. ").wait_for()
    page.locator(IN_OUTPUT).wait_for()
    sentence = page.locator(".jp-OutputArea").get_by_text("ends with its kernel")
    assert not sentence.is_visible()
    saved(screen, path)

    for again in ("-restarted", "-saved"):
        if again == "-restarted":
            page.evaluate(RESTART)
        else:
            screen.command("notebook:shutdown-kernel")
            screen.open_lab(jupyter, path.name, anew=True)

        sentence.wait_for()
        page.locator(IN_OUTPUT).wait_for()
        screen.shoot(again)
        for broken in (*map(page.get_by_text, DEAD), button(page, "Sweep")):
            assert not broken.is_visible()
        assert page.locator(".jupyter-widgets-disconnected").locator("visible=true").count() == 0


def test_the_panel_can_be_read_and_used_with_the_keyboard(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """In the dark, in a narrow window, and without a mouse; axe-core finds nothing of ours."""
    page = shown(screen, jupyter, jupyter_root / "panel-keys.ipynb", LOAD, "%serprof")
    with screen.dark():
        choose(page, "float64 array", 1)

        button(page, "Sweep").focus()
        page.keyboard.press("Enter")

        page.get_by_text("Done. ").wait_for()
        page.locator(IN_OUTPUT).wait_for()
        for width in (1280, 640):
            screen.page.set_viewport_size({"width": width, "height": 900})
            screen.shoot(f"-{width}")
            assert screen.violations(".jp-OutputArea .widget-vbox", ignored=OF_IPYWIDGETS) == []
        screen.command("application:toggle-left-area")
