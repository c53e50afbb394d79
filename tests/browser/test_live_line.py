"""The line that is shown while a cell waits, in a real JupyterLab and Notebook 7."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser.samples import code_cell, write_notebook
from jupyter_serprof.model.document import MIME_TYPE

if TYPE_CHECKING:
    from pathlib import Path

    from browser.screen import Screen

START = """\
%load_ext jupyter_serprof
import time
from dask import delayed
from distributed import Client, LocalCluster
client = Client(LocalCluster(n_workers=2, processes=False, dashboard_address=None))
@delayed
def load(x): time.sleep(0.7); return x"""
WAITS = """\
%%graphstages
print('before')
load(0).compute()
delayed(sum)([load(x) for x in range(10)]).compute()
print('after')"""
OUTPUTS = (
    """() => globalThis.jupyterapp.shell.currentWidget.content.widgets[1].model.outputs.toJSON()"""
)

#: Not waited for.
RUN = "() => { globalThis.jupyterapp.commands.execute('notebook:run-all-cells'); }"
READY = """() =>
  globalThis.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === "idle\""""


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_a_line_grows_while_the_cell_waits_and_becomes_the_picture(
    screen: Screen, jupyter: str, jupyter_root: Path, host: str
) -> None:
    """Nobody serves a comm meanwhile; the notebook holds the picture only, where the line was."""
    write_notebook(jupyter_root / "waits.ipynb", [code_cell(START), code_cell(WAITS)])
    page = (screen.open_lab if host == "lab" else screen.open_notebook)(jupyter, "waits.ipynb")

    page.wait_for_function(READY)
    page.evaluate(RUN)
    page.locator(".jp-OutputArea-output", has_text=" of 12 tasks").first.wait_for()
    screen.shoot("-line")
    screen.drawn()
    screen.shoot("-picture")

    outputs = page.evaluate(OUTPUTS)
    assert [MIME_TYPE in one.get("data", {}) for one in outputs] == [False, True, False]


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_stop_beside_the_line_interrupts_the_kernel(
    screen: Screen, jupyter: str, jupyter_root: Path, host: str
) -> None:
    """A click is heard while the thread of the cells is blocked; what was measured is drawn."""
    start = "%load_ext jupyter_serprof\nimport pickle, time"
    sleeps = "%%serprof\npickle.dumps([1])\ntime.sleep(300)"
    write_notebook(jupyter_root / "stops.ipynb", [code_cell(start), code_cell(sleeps)])
    page = (screen.open_lab if host == "lab" else screen.open_notebook)(jupyter, "stops.ipynb")

    page.wait_for_function(READY)
    page.evaluate(RUN)
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.wait_for()
    screen.shoot("-line")
    stop.click(delay=100)
    screen.drawn()
    screen.shoot("-stopped")

    assert page.locator(".jp-Dialog").count() == 0
    outputs = page.evaluate(OUTPUTS)
    assert MIME_TYPE in outputs[0]["data"]
    assert outputs[1]["ename"] == "KeyboardInterrupt"
