"""What is reached by a right click: a cell to profile, two files to compare; what is missing."""

import json
from pathlib import Path

from playwright.sync_api import Locator

import jupyter_serprof as sp
from browser.samples import code_cell, full_trace, write_notebook
from browser.screen import Screen

SOURCE = (
    "() => globalThis.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.source"
)
IS_RUN = """() =>
  globalThis.jupyterapp.shell.currentWidget.content.widgets[0].model.executionCount > 0"""
READY = "() => globalThis.jupyterapp.shell.currentWidget.sessionContext.ready"
#: As in a kernel of an environment of its own.
WITHOUT = """import sys
class Without:
    def find_spec(name, *rest):
        if name == "jupyter_serprof":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without)"""
MENU = ".lm-Menu-item:visible"


def test_a_right_click_on_a_cell_profiles_it(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The cell below the pointer, not the one that was active before."""
    write_notebook(jupyter_root / "clicked.ipynb", [code_cell("1"), code_cell("2")])
    page = screen.open_lab(jupyter, "clicked.ipynb")
    page.locator(".jp-CodeCell .jp-InputArea-editor").nth(1).click(button="right")

    page.locator(MENU, has_text="Profile this cell").click()

    page.wait_for_function(f"() => ({SOURCE})() === '%%serprof\\n2'")
    screen.shoot()


def test_two_chosen_files_are_compared(screen: Screen, jupyter: str, jupyter_root: Path) -> None:
    """Of one or of three files no comparison is offered; each has the icon of a profile."""
    folder = jupyter_root / "profiles"
    folder.mkdir()
    for name in "abc":
        document = {**full_trace(), "name": name, "comparison": None}
        (folder / f"{name}.serprof.json").write_text(json.dumps(document), "utf-8")
    page = screen.open_lab(jupyter, "saved.ipynb")
    screen.command("filebrowser:open-path", path="profiles")
    files = page.locator(".jp-DirListing-item", has_text=".serprof.json")
    files.locator("[data-icon='jupyter-serprof:waterfall']").nth(2).wait_for()

    assert page.locator("[data-icon='jupyter-serprof:waterfall']").locator("visible=true").count()
    assert not is_offered(files.nth(0), [])
    assert not is_offered(files.nth(0), [files.nth(1), files.nth(2)])
    assert is_offered(files.nth(0), [files.nth(1)])
    screen.shoot("-menu")
    page.locator(MENU, has_text="Compare").last.click()
    compared = page.locator('.jsp-comparison .jsp-root[data-ready="1"]')
    compared.wait_for()
    screen.shoot()
    assert "before: " in compared.inner_text()
    line = compared.locator(".jsp-remedy pre").inner_text()
    found = eval(line.removeprefix("import jupyter_serprof as sp; "), {"sp": sp})  # noqa: S307
    assert found.changes[0].title == "Wall time"
    screen.command("filebrowser:open-path", path="/")


def is_offered(file: Locator, others: list[Locator]) -> bool:
    """Whether the menu over chosen files has our item."""
    page = file.page
    page.keyboard.press("Escape")
    file.click()
    for other in others:
        other.click(modifiers=["Control"])
    file.click(button="right")
    page.locator(MENU).first.wait_for()
    return bool(page.locator(f"{MENU}[data-command='serprof:compare-files']").count())


def test_a_kernel_without_the_package_says_what_to_install_where(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The environment of a kernel need not be that of the server, as on a JupyterHub."""
    write_notebook(jupyter_root / "elsewhere.ipynb", [code_cell(WITHOUT), code_cell("2")])
    page = screen.open_lab(jupyter, "elsewhere.ipynb")
    page.locator(".jp-CodeCell .jp-InputArea-editor").nth(0).click()
    page.evaluate(READY)
    screen.command("notebook:run-cell-and-select-next")
    page.wait_for_function(IS_RUN)

    screen.command("serprof:profile-cell")

    said = page.get_by_text("has no jupyter_serprof").first
    said.wait_for(timeout=20_000)
    screen.shoot()
    assert "%pip install jupyter_serprof" in said.inner_text()
