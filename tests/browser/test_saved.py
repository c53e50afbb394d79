"""A saved notebook in JupyterLab and Notebook 7: untrusted, not run, by somebody else."""

import pytest

from browser.screen import READY, Screen

WIDTH = "async (image) => { await image.decode(); return image.naturalWidth; }"
TRUSTED = "() => globalThis.jupyterapp.shell.currentWidget.content.widgets[1].model.trusted"


def open_in(screen: Screen, host: str, jupyter: str, name: str) -> None:
    """Open a notebook in one of the two applications."""
    if host == "lab":
        screen.open_lab(jupyter, name, anew=True)
    else:
        screen.open_notebook(jupyter, name)


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_a_saved_untrusted_notebook_is_drawn_and_asks_nobody_else(
    screen: Screen, jupyter: str, host: str
) -> None:
    open_in(screen, host, jupyter, "saved.ipynb")

    screen.drawn(3)
    assert screen.page.evaluate(TRUSTED) is False
    screen.shoot()
    # A picture is complete in the notebook: no font, script or number comes from elsewhere.
    local = ("data:", "blob:", jupyter, jupyter.replace("http", "ws"))
    assert [url for url in screen.requests if not url.startswith(local)] == []


def test_without_our_extension_there_is_a_picture_and_no_error(
    screen: Screen, bare_jupyter: str
) -> None:
    page = screen.open_lab(bare_jupyter, "saved.ipynb")

    picture = page.locator(".jp-OutputArea img[src^='data:image/png']").first
    picture.wait_for()
    assert picture.evaluate(WIDTH) > 500
    assert page.locator(".jsp-root").count() == 0
    screen.shoot()


def test_a_double_clicked_document_is_drawn(screen: Screen, jupyter: str) -> None:
    screen.open_lab(jupyter, "trace.serprof.json")
    screen.drawn()

    screen.page.locator(".jp-DirListing-item", has_text="sweep.serprof.json").dblclick()

    screen.page.locator(".jsp-root", has_text="Ray and pickle are close").wait_for()
    screen.shoot()


def test_a_document_is_drawn_in_notebook_7(screen: Screen, jupyter: str) -> None:
    """Double-clicked in the list of files, it opens as a picture in a tab of its own."""
    screen.page.goto(f"{jupyter}/tree")

    with screen.page.expect_popup() as opened:
        screen.page.locator(".jp-DirListing-item", has_text="trace.serprof.json").dblclick()

    tab = opened.value
    tab.locator(READY).wait_for()
    assert "84 %" in tab.locator(READY).inner_text()
    tab.close()


def test_a_narrow_window_shows_the_whole_picture(screen: Screen, jupyter: str) -> None:
    screen.page.set_viewport_size({"width": 700, "height": 900})

    screen.open_notebook(jupyter, "saved.ipynb")

    roots = screen.drawn(3)
    widths = roots.evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
    screen.shoot()
    assert [pair for pair in widths if pair[0] > pair[1]] == []
