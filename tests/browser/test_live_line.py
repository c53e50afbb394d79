"""The line that is shown while a cell waits, in a real JupyterLab and Notebook 7."""

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from browser.samples import code_cell, write_notebook
from browser.screen import Screen
from jupyter_serprof.model.document import MIME_TYPE

START = """\
%load_ext jupyter_serprof
import time
from dask import delayed
from distributed import Client, LocalCluster
client = Client(LocalCluster(n_workers=2, processes=False, dashboard_address=None))
table = list(map(str, range(100_000)))
@delayed
def load(x, table=()): time.sleep(0.7); return x"""
WAITS = """\
%%graphstages
print('before')
load(0).compute()
delayed(sum)([load(x, table) for x in range(10)]).compute()
print('after')"""
SLEEPS = "%%serprof\npickle.dumps([1])\ntime.sleep(300)"
GROWS = "%serprof --sweep n=1:4:4 (pickle.dumps(n), time.sleep(n > 2 and 300 or 0.6))"
LATE = "%%serprof\npickle.dumps([1])\ntime.sleep(8)\nprint('late')"
CLEARED = "%%serprof\npickle.dumps([1])\ntime.sleep(4)\nprint('after')\n'a value'"
OUTPUTS = (
    """() => globalThis.jupyterapp.shell.currentWidget.content.widgets[1].model.outputs.toJSON()"""
)

#: Of the headline and the summary bar of a picture.
BOXES = """(root) => [".jsp-headline", ".jsp-summary"].map((one) => {
  const box = document.querySelector(`${root} ${one}`).getBoundingClientRect();
  return [box.x, box.y, box.height].map(Math.round); })"""

#: Of the outputs of the cell, in each frame from now on.
HEIGHTS = """() => { const heights = (globalThis.heights = []); const look = () => {
  heights.push(document.querySelectorAll(".jp-OutputArea")[1].offsetHeight);
  requestAnimationFrame(look); }; look(); }"""
FACT_IS_NEW = "(old) => document.querySelector('.jsp-facts span').textContent !== old"

#: Not waited for.
_COMMAND = "() => {{ globalThis.jupyterapp.commands.execute('{}'); }}"
RUN, CLEAR = map(_COMMAND.format, ("notebook:run-all-cells", "notebook:clear-all-cell-outputs"))
#: Of a notebook with a cell that nobody ran JupyterLab trusts only the outputs of those that ran.
RUN_TWO = """() => { const { commands, shell } = globalThis.jupyterapp;
  shell.currentWidget.content.activeCellIndex = 2; commands.execute('notebook:run-all-above'); }"""
RESTART = """() => {
  globalThis.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"""
#: What styles do after six seconds without news, at once.
QUIET = "() => document.getAnimations().forEach((one) => one.finish())"
SAVED = "() => globalThis.jupyterapp.commands.execute('docmanager:save')"
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
    line = page.evaluate(BOXES, ".jsp-live")
    screen.drawn()
    screen.shoot("-picture")

    assert page.locator(".jsp-head .jsp-remedy").count() == 1
    assert line == page.evaluate(BOXES, ".jsp-root")
    outputs = page.evaluate(OUTPUTS)
    assert sum(MIME_TYPE in one.get("data", {}) for one in outputs) == 1


def waiting(
    screen: Screen, jupyter: str, path: Path, code: str, *, anew: bool = False
) -> tuple[Page, Locator]:
    """Open a notebook, trusted if anew; run its cell; return the page, the button of the line."""
    start = "%load_ext jupyter_serprof\nimport pickle, time"
    never = [code_cell("'never'")] * (not anew)  # opened anew, an untrusted one has no widget
    write_notebook(path, [code_cell(start), code_cell(code), *never])
    open_lab = partial(screen.open_lab, anew=anew)
    page = (screen.open_notebook if "notebook" in path.name else open_lab)(jupyter, path.name)
    page.wait_for_function(READY)
    page.evaluate(RUN if anew else RUN_TWO)
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.and_(page.locator(".jsp-stop" if code == GROWS else ".jsp-button")).wait_for()
    return page, stop


def quiet(page: Page, old: Locator) -> None:
    """Let the time without news go by."""
    old.wait_for(state="attached")
    page.evaluate(QUIET)
    old.wait_for()


@pytest.mark.parametrize("code", [SLEEPS, GROWS])
@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_stop_interrupts_the_kernel(
    screen: Screen, jupyter: str, jupyter_root: Path, host: str, code: str
) -> None:
    """A click is heard while the thread of the cells is blocked; what was measured is drawn."""
    page, stop = waiting(screen, jupyter, jupyter_root / f"stops-{host}-{len(code)}.ipynb", code)
    if code == GROWS:  # beside the picture, which says on how far it is
        said = page.locator(".jsp-facts span").first.inner_text()
        page.wait_for_function(FACT_IS_NEW, arg=said)
        assert " runs, " in said

    screen.shoot("-line")
    page.evaluate(HEIGHTS)
    stop.click(delay=100)
    stop.wait_for(state="hidden")
    screen.drawn()
    screen.shoot("-stopped")

    page.get_by_text("KeyboardInterrupt").first.wait_for()
    assert page.locator(".jp-Dialog").count() == 0
    outputs = page.evaluate(OUTPUTS)
    assert MIME_TYPE in outputs[0]["data"]
    assert outputs[1]["ename"] == "KeyboardInterrupt"
    first, *later = page.evaluate("() => globalThis.heights")
    assert min(later) > first / 2, "for a moment nothing was there"


@pytest.mark.parametrize(
    ("host", "code"), [("lab", SLEEPS), ("notebook", SLEEPS), ("lab", LATE), ("lab", GROWS)]
)
def test_a_line_of_a_kernel_or_page_that_is_gone_has_no_stop(
    screen: Screen, jupyter: str, jupyter_root: Path, host: str, code: str
) -> None:
    """After some seconds; in the file, opened again, too."""
    # Of a cell whose page is loaded anew JupyterLab shows nothing that comes later, no print.
    # Loaded anew, one that others have left would open theirs again.
    path = jupyter_root / f"gone-{host}-{len(code)}.ipynb"
    page, stop = waiting(screen, jupyter, path, code, anew=True)
    old = page.get_by_text("(no news since)")

    was_old = old.is_visible()
    page.evaluate(SAVED if code == LATE else RESTART)
    if code == LATE:
        page.reload()
    quiet(page, old)
    has_stop = stop.is_visible()
    screen.shoot("-gone")
    if code == GROWS:  # what has taken its place by now, without a kernel
        page.wait_for_function(f"() => ({OUTPUTS})().some(({{ data }}) => '{MIME_TYPE}' in data)")
    page.evaluate(SAVED)
    page.reload()
    quiet(page, old) if code != GROWS else screen.drawn()
    page.wait_for_function(READY)  # what ran is over

    assert (was_old, has_stop) == (False, False)
    kinds = [one["output_type"] for one in page.evaluate(OUTPUTS)]
    assert kinds == ["display_data"] or code != LATE


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_a_picture_comes_where_outputs_were_cleared(
    screen: Screen, jupyter: str, jupyter_root: Path, host: str
) -> None:
    page, _ = waiting(screen, jupyter, jupyter_root / f"cleared-{host}.ipynb", CLEARED)

    page.evaluate(CLEAR)
    screen.drawn()
    screen.shoot("-cleared")

    outputs = page.evaluate(OUTPUTS)
    assert [MIME_TYPE in one.get("data", {}) for one in outputs] == [False, False, True]
