"""The widget, for work in progress and for front ends without our extension."""

import json
from pathlib import Path

from browser.samples import SWEEP, TRACE, code_cell, write_notebook
from browser.screen import Screen
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.notebook.widget import WIDGET_VIEW

WIDGET = f"""\
from jupyter_serprof.model import load
from jupyter_serprof.views.notebook.widget import widget_for
widget = widget_for(load({str(TRACE)!r}))
widget"""
GROW = f"""\
from dataclasses import replace
widget.show(replace(load({str(TRACE)!r}), name="It has grown"))"""
RUN = """async (cell) => {
  const { commands, shell } = globalThis.jupyterapp;
  const { content, sessionContext } = shell.currentWidget;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
  content.activeCellIndex = cell;
  await commands.execute("notebook:run-cell");
}"""
LIVE = f"""\
from jupyter_serprof import api
from jupyter_serprof.model import load
live = api.Live()
live.show(load({str(SWEEP)!r}))
live.show(load({str(TRACE)!r}))
live.replace(load({str(TRACE)!r}));"""

TRIP = """\
%load_ext jupyter_serprof
import time
class Slow:
    def __init__(self): self.x = 1
    def __reduce__(self):
        time.sleep(0.25)
        return (Slow, ())
%serprof --transports pickle --repeat 1000 Slow()"""
START = """(cell) => {
  const { commands, shell } = globalThis.jupyterapp;
  shell.currentWidget.content.activeCellIndex = cell;
  void commands.execute("notebook:run-cell");
}"""
READY_KERNEL = """async () => {
  const { sessionContext } = globalThis.jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
}"""
IN_OUTPUT = ".jp-OutputArea-output > .jsp-root"
IN_WIDGET = f".jsp-root:not({IN_OUTPUT})"
SAVED = "() => !globalThis.jupyterapp.shell.currentWidget.context.model.dirty"


def run(screen: Screen, cell: int) -> None:
    """Run one cell of the notebook on the screen and wait until it is done."""
    screen.page.evaluate(RUN, cell)


def test_a_widget_draws_the_document_and_grows(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The same picture through anywidget, in which another document may be shown."""
    write_notebook(jupyter_root / "widget.ipynb", [code_cell(WIDGET), code_cell(GROW)])
    page = screen.open_lab(jupyter, "widget.ipynb")

    run(screen, 0)
    drawn = screen.drawn().first

    screen.shoot()
    assert "Store" in drawn.inner_text()
    run(screen, 1)
    page.get_by_text("It has grown").first.wait_for()


def test_a_live_view_leaves_the_document_and_nothing_else(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    path = jupyter_root / "growing.ipynb"
    write_notebook(path, [code_cell(LIVE)])
    screen.open_lab(jupyter, path.name)

    run(screen, 0)
    screen.drawn()
    screen.command("docmanager:save")
    screen.page.wait_for_function(SAVED)

    (output,) = json.loads(path.read_text("utf-8"))["cells"][0]["outputs"]
    assert {"text/plain", "image/png", MIME_TYPE} == output["data"].keys()
    assert WIDGET_VIEW not in path.read_text("utf-8")
    assert output["data"][MIME_TYPE]["format"] == "serprof.trace"


def test_a_round_trip_grows_on_the_screen_until_it_is_stopped(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """Runs appear one after the other in the view that was chosen; stopped, the document stays."""
    # In Notebook 7, for both: the widget that grows in JupyterLab stands above.
    path = jupyter_root / "trip.ipynb"
    write_notebook(path, [code_cell(TRIP)])
    page = screen.open_notebook(jupyter, path.name)
    page.evaluate(READY_KERNEL)

    page.evaluate(START, 0)
    widget = page.locator(IN_WIDGET)
    widget.get_by_text("runs so far").wait_for()
    screen.shoot("-live")
    widget.get_by_role("radio", name="Table").click()
    rows = widget.locator("tbody tr")
    count = rows.count()
    rows.nth(count + 2).wait_for()

    assert widget.locator("[role=radio][aria-checked=true]").inner_text() == "Table"
    screen.command("notebook:interrupt-kernel")
    page.locator(IN_OUTPUT).wait_for()
    page.locator(".jp-OutputArea-output", has_text="KeyboardInterrupt").first.wait_for()
    assert widget.count() == 0
    screen.shoot()
    screen.command("docmanager:save")
    page.wait_for_function(SAVED)
    shown, error = json.loads(path.read_text("utf-8"))["cells"][0]["outputs"]
    assert error["ename"] == "KeyboardInterrupt"
    assert {"text/plain", "image/png", MIME_TYPE} == shown["data"].keys()
    assert len(shown["data"][MIME_TYPE]["points"]) >= count + 2
