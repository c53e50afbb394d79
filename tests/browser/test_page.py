"""The self-contained page: from a file, with the network off, light, dark, narrow, scriptless."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.samples import SWEEP, TRACE, full_trace, saved_cell, write_notebook
from browser.screen import READY, Screen
from browser.test_saved import WIDTH
from jupyter_serprof import save
from jupyter_serprof.model import from_document, load


@pytest.fixture(params=["trace", "sweep", "anatomy"])
def page_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Save a document of each kind as a page."""
    path = tmp_path / "saved.html"
    makers = {
        "trace": lambda: load(TRACE),
        "sweep": lambda: load(SWEEP),
        "anatomy": lambda: from_document(full_trace()),
    }
    save(makers[request.param](), path)
    return path


def test_a_page_is_drawn_from_a_file_and_asks_for_nothing(screen: Screen, page_file: Path) -> None:
    """One request, for the file itself; nothing that axe-core finds wrong, light and dark."""
    page = screen.open_file(page_file)

    assert screen.drawn().count() == 1
    assert screen.requests == [page_file.as_uri()]
    assert page.locator("#serprof-fallback").count() == 0
    for scheme in ("light", "dark"):
        screen.look(scheme, 1280)
        screen.shoot(f"-{scheme}")
        assert screen.violations("html") == []


def test_a_page_fits_its_window(screen: Screen, page_file: Path) -> None:
    """On a telephone nothing has to be scrolled sideways, save a table in its own frame."""
    page = screen.open_file(page_file)
    for width in (1280, 640, 360):
        screen.look("light", width)

        screen.shoot(f"-{width}")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_a_reader_without_scripts_sees_picture_and_text(browser: Browser, page_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)

    page = context.new_page()
    page.goto(page_file.as_uri())

    assert page.locator("#serprof-fallback img").bounding_box() is not None
    assert page.locator("#serprof-fallback pre").is_visible()
    context.close()


def test_a_damaged_page_keeps_its_picture(screen: Screen, page_file: Path) -> None:
    """Half a document is told in a sentence; picture and text are still there, no exception."""
    whole = page_file.read_text("utf-8")
    page_file.write_text(whole.replace('"version":1', '"version":', 1), "utf-8")

    page = screen.open_file(page_file)

    page.locator("[role=alert]").wait_for()
    assert page.locator("#serprof-fallback img").is_visible()
    assert page.locator(READY).count() <= 1


def test_nbconvert_writes_the_picture_for_readers_offline(screen: Screen, tmp_path: Path) -> None:
    """``jupyter nbconvert --to html`` shows every profile, with the network off."""
    notebook = tmp_path / "saved.ipynb"
    cells = [saved_cell("%serprof a", load(path), count=1) for path in (TRACE, SWEEP)]
    write_notebook(notebook, cells)

    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level", "ERROR"]
    subprocess.run([*command, str(notebook)], check=True, timeout=120)
    page = screen.open_file(notebook.with_suffix(".html"))

    pictures = page.locator(".jp-OutputArea img")
    assert pictures.count() == 2
    assert all(picture.evaluate(WIDTH) > 500 for picture in pictures.all())
    screen.shoot()
