"""The widget, for work in progress and for front ends without our extension."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.widget import WIDGET_VIEW
from ui.samples import SWEEP, TRACE, code_cell, write_notebook

if TYPE_CHECKING:
    from pathlib import Path

    from ui.screen import Screen

WIDGET = f"""\
from jupyter_serprof.model import load
from jupyter_serprof.views.widget import widget_for
widget = widget_for(load({str(TRACE)!r}))
widget"""
GROW = """\
widget.extend({"findings": [{"rule": "r", "severity": "warn", "title": "It has grown",
                            "evidence": {}, "remedy": "none", "gain": None}]})"""
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
with api.Live() as live:
    live.show(load({str(SWEEP)!r}))
    live.show(load({str(TRACE)!r}))"""


def run(screen: Screen, cell: int) -> None:
    """Run one cell of the notebook on the screen and wait until it is done."""
    screen.page.evaluate(RUN, cell)


def test_a_widget_draws_the_document_and_grows(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The same picture through anywidget; what is appended appears without sending all again."""
    # given
    write_notebook(jupyter_root / "widget.ipynb", [code_cell(WIDGET), code_cell(GROW)])
    page = screen.open_lab(jupyter, "widget.ipynb")

    # when
    run(screen, 0)
    drawn = screen.drawn().first

    # then
    screen.shoot()
    assert "Store" in drawn.inner_text()
    run(screen, 1)
    page.get_by_text("It has grown").first.wait_for()


def test_a_live_view_leaves_the_document_and_nothing_else(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """What is saved is readable without a kernel: the widget is gone."""
    # given
    path = jupyter_root / "growing.ipynb"
    write_notebook(path, [code_cell(LIVE)])
    screen.open_lab(jupyter, path.name)

    # when
    run(screen, 0)
    screen.drawn()
    screen.command("docmanager:save")
    screen.page.wait_for_function(
        "() => !globalThis.jupyterapp.shell.currentWidget.context.model.dirty"
    )

    # then
    (output,) = json.loads(path.read_text("utf-8"))["cells"][0]["outputs"]
    assert {"text/plain", "image/png", MIME_TYPE} == output["data"].keys()
    assert WIDGET_VIEW not in path.read_text("utf-8")
    assert output["data"][MIME_TYPE]["format"] == "serprof.trace"
