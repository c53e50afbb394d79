"""What the plugin adds to JupyterLab: buttons, commands, the side panel, comparison, exports."""

import json
from base64 import b64decode
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.samples import SWEEP, code_cell, full_trace, output, write_notebook
from browser.screen import PATIENCE_MS, Screen
from jupyter_serprof.model import from_document, load
from jupyter_serprof.model.document import MIME_TYPE

SOURCE = (
    "(i) => globalThis.jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.source"
)
ACTIVE = "() => globalThis.jupyterapp.shell.currentWidget.content.activeCellIndex"
#: Which level a heading should have depends on the prose of the notebook around the output.
SURROUNDINGS = ("heading-order",)
GROUND = "node => getComputedStyle(node).backgroundColor"
SETTINGS = '{"defaultView": "details", "palette": "light", "embedCapKB": 10}'
SAVE_SETTINGS = """(raw) => globalThis.jupyterapp.serviceManager.settings.save(
  "jupyter-serprof:plugin", raw)"""
SAVE_THEME = """(theme) => globalThis.jupyterapp.serviceManager.settings.save(
  "@jupyterlab/apputils-extension:themes", JSON.stringify({ theme }))"""
RUN_COUNT = """(i) =>
  globalThis.jupyterapp.shell.currentWidget.content.widgets[i].model.executionCount"""
OUTPUTS = """(i) =>
  globalThis.jupyterapp.shell.currentWidget.content.widgets[i].model.outputs.toJSON()"""
TYPE_INTO = """(i) =>
  globalThis.jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.setSource("new")"""
#: The side panel follows changes after 150 ms.
REPAINTED_MS = 600
#: A cell was run once more than so often, and is not running.
DONE = """([i, count]) => {
  const { model, promptNode } =
    globalThis.jupyterapp.shell.currentWidget.content.widgets[i];
  return model.executionCount > count && model.executionState === "idle";
}"""
ACTIVATE = "(i) => { globalThis.jupyterapp.shell.currentWidget.content.activeCellIndex = i; }"
COUNT = "() => globalThis.jupyterapp.shell.currentWidget.content.widgets.length"


def opened(screen: Screen, host: str, jupyter: str, name: str) -> Page:
    """Open a notebook in one of the two applications."""
    return (screen.open_lab if host == "lab" else screen.open_notebook)(jupyter, name)


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_the_button_of_a_cell_profiles_it(screen: Screen, jupyter: str, host: str) -> None:
    """One click: the magic is put on top, the extension is loaded, the picture appears."""
    page = opened(screen, host, jupyter, "live.ipynb")
    cell = page.locator(".jp-CodeCell").nth(1)
    cell.locator(".jp-InputArea-editor").click()
    button = cell.locator(".jp-cell-toolbar [data-command='serprof:profile-cell']")

    button.click()

    drawn = screen.drawn()
    screen.shoot()
    assert page.evaluate(SOURCE, 1).startswith("%%serprof\nimport pickle")
    assert "Pickle" in drawn.first.inner_text()


def test_stages_of_a_cell_replace_the_other_magic_and_run(screen: Screen, jupyter: str) -> None:
    """A cell has one of our magics, not two on top of each other; it is run with the new one."""
    page = screen.open_lab(jupyter, "live.ipynb")
    page.locator(".jp-CodeCell").nth(2).locator(".jp-InputArea-editor").click()
    screen.command("serprof:profile-cell")
    page.wait_for_function(DONE, arg=[2, 0])
    count = page.evaluate(RUN_COUNT, 2)

    page.evaluate(ACTIVATE, 2)
    screen.command("serprof:stages-of-cell")

    assert page.evaluate(SOURCE, 2) == "%%graphstages\n1 + 1"
    page.wait_for_function(DONE, arg=[2, count])
    screen.shoot()
    outputs = json.dumps(page.evaluate(OUTPUTS, 2))
    assert "No module" not in outputs
    assert "SyntaxError" not in outputs


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_the_side_panel_lists_jumps_pins_and_compares(
    screen: Screen, jupyter: str, host: str
) -> None:
    page = opened(screen, host, jupyter, "saved.ipynb")
    screen.drawn(1)

    screen.command("serprof:open-panel")
    items = page.locator(".jsp-side .jsp-side-item")
    items.nth(2).wait_for()

    assert items.count() == 3
    items.nth(2).locator(".jsp-side-title").click()
    page.wait_for_function(f"() => ({ACTIVE})() === 3")
    items.nth(0).get_by_text("Pin", exact=True).click()
    page.locator(".jsp-side-pinned").wait_for()
    screen.shoot("-panel")
    assert screen.violations(".jsp-side") == []
    items.nth(2).get_by_text("Compare", exact=True).click()
    page.locator('.jsp-comparison .jsp-root[data-ready="1"]').wait_for()
    bars = page.locator(".jsp-comparison .jsp-bar")
    tops = bars.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    assert all(before + 6 < after for before, after in zip(tops[::2], tops[1::2], strict=True))
    screen.shoot("-compare")


def test_a_click_in_the_side_panel_outlasts_a_change_of_the_notebook(
    screen: Screen, jupyter: str
) -> None:
    """Outputs come and cells are typed while one presses; the button must still be there then."""
    page = screen.open_lab(jupyter, "saved.ipynb")
    screen.drawn(1)
    screen.command("serprof:open-panel")
    page.locator(".jsp-side[data-count='3']").wait_for()
    page.locator(".jsp-side .jsp-side-title").nth(2).hover()

    page.mouse.down()
    page.evaluate(TYPE_INTO, 0)
    page.wait_for_timeout(REPAINTED_MS)
    page.mouse.up()

    page.wait_for_function(f"() => ({ACTIVE})() === 3")


def test_the_side_panel_follows_the_notebook(screen: Screen, jupyter: str) -> None:
    """A cell that is deleted leaves the list; one that comes back returns to it."""
    page = screen.open_lab(jupyter, "saved.ipynb")
    screen.drawn(1)
    screen.command("serprof:open-panel")
    page.locator(".jsp-side[data-count='3']").wait_for()
    page.locator(".jp-CodeCell").first.locator(".jp-InputPrompt").click()

    screen.command("notebook:delete-cell")

    page.locator(".jsp-side[data-count='2']").wait_for()
    screen.command("notebook:undo-cell-action")
    page.locator(".jsp-side[data-count='3']").wait_for()


@pytest.mark.parametrize("way", ["panel", "command", "command in Notebook 7"])
def test_a_profile_is_exported_without_a_kernel(
    screen: Screen, jupyter: str, jupyter_root: Path, tmp_path: Path, way: str
) -> None:
    """The document comes out as it went in, the picture as PNG, the page complete."""
    page = opened(screen, "notebook" if "7" in way else "lab", jupyter, "saved.ipynb")
    screen.drawn(1)
    page.evaluate(ACTIVATE, 2 if "command" in way else 0)
    screen.command("serprof:open-panel")
    item = page.locator(".jsp-side .jsp-side-item").nth(1)
    saved = {}

    for kind in ("json", "png", "html"):
        with page.expect_download() as download:
            if way == "panel":
                item.get_by_text(kind.upper(), exact=True).click()
            else:
                screen.command(f"serprof:export-{kind}")
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])

    page.locator(".jsp-menu > summary").nth(1).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Page (HTML)").locator("visible=true").click()
    assert download.value.path().read_text("utf-8") == saved["html"].read_text("utf-8")
    assert {kind: path.name for kind, path in saved.items()} == {
        kind: f"a.serprof.{kind}" for kind in saved
    }
    assert from_document(json.loads(saved["json"].read_text())) == load(SWEEP)
    cell = json.loads((jupyter_root / "saved.ipynb").read_text())["cells"][2]
    assert saved["png"].read_bytes() == b64decode(cell["outputs"][0]["data"]["image/png"])
    shown = screen.open_file(saved["html"])
    assert screen.drawn().count() == 1
    assert "Ray and pickle are close for 8.0 MB" in shown.locator(".jsp-root").inner_text()
    # JupyterLab says good-bye to its server.
    asked = [url for url in screen.requests if not url.startswith((jupyter, "data:", "blob:"))]
    assert asked == [saved["html"].as_uri()]


def test_the_commands_are_in_the_palette(screen: Screen, jupyter: str) -> None:
    page = screen.open_lab(jupyter, "saved.ipynb")
    screen.drawn(1)

    # It closes, and forgets its list, whenever the notebook takes the focus: open it until it has.
    names = page.evaluate(
        """async (patience) => {
          for (const start = Date.now(); Date.now() - start < patience; ) {
            const found = [...document.querySelectorAll("[data-command^='serprof:']")];
            if (found.length > 6) return found.map((one) => one.dataset.command);
            await window.jupyterapp.commands.execute("apputils:activate-command-palette");
            await new Promise(requestAnimationFrame);
          }
          return [];
        }""",
        PATIENCE_MS,
    )

    assert {"serprof:compare", "serprof:export-html", "serprof:open-panel"} <= set(names)
    assert "serprof:compare-files" not in names


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_the_keys_of_the_notebook_stay_its_own(screen: Screen, jupyter: str, host: str) -> None:
    """Keys pressed in a picture reach no cell; pressed in the notebook they work as ever."""
    page = opened(screen, host, jupyter, "saved.ipynb")
    root = screen.drawn(1).first
    count = page.evaluate(COUNT)
    root.get_by_role("radio", name="Lanes").click()
    root.get_by_role("application").focus()

    for key in ("w", "a", "s", "d", "f", "n", "p", "0", "ArrowDown", "Escape"):
        page.keyboard.press(key)

    assert page.evaluate(COUNT) == count
    page.locator(".jp-CodeCell").first.locator(".jp-InputPrompt").click()
    page.keyboard.press("b")
    page.wait_for_function(f"() => ({COUNT})() === {count + 1}")


def test_a_theme_change_repaints(screen: Screen, jupyter: str) -> None:
    screen.open_lab(jupyter, "saved.ipynb")
    root = screen.drawn(3).first
    light = root.evaluate(GROUND)

    with screen.dark():
        dark = root.evaluate(GROUND)
        screen.shoot("-dark")
        assert dark != light
        assert screen.violations(ignored=SURROUNDINGS) == []
    assert root.evaluate(GROUND) == light
    assert screen.violations(ignored=SURROUNDINGS) == []


def test_the_settings_choose_first_view_palette_and_cap(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """Kept by JupyterLab, in force at the next load; "light" stays light in a dark theme."""
    # One document of 24 kB, one of 3 kB.
    small = {**full_trace(), "anatomies": [], "comparison": None}
    large = {**small, "name": "large", "strings": ["x" * 1000] * 20}
    outputs = [output({MIME_TYPE: document}, {}) for document in (large, small)]
    write_notebook(jupyter_root / "settings.ipynb", [code_cell("1", *outputs)])
    page = screen.open_lab(jupyter, "settings.ipynb")
    before = look(screen)

    try:
        page.evaluate(SAVE_SETTINGS, SETTINGS)
        page.evaluate(SAVE_THEME, "JupyterLab Dark")
        screen.open_lab(jupyter, "settings.ipynb", anew=True)
        page.locator("body[data-jp-theme-light='false']").wait_for(state="attached")
        after = look(screen)
        screen.shoot()
    finally:
        page.evaluate(SAVE_SETTINGS, "{}")
        page.evaluate(SAVE_THEME, "JupyterLab Light")

    assert before == ("Waterfall", "rgb(255, 255, 255)", [])
    assert after[:2] == ("Details", "rgb(255, 255, 255)")
    written = f"{len(json.dumps(large, separators=(',', ':'))) / 1000:.1f}\N{NO-BREAK SPACE}kB"
    assert [text.split(" in the notebook")[0] for text in after[2]] == [written]


def look(screen: Screen) -> tuple[str, str, list[str]]:
    """Return the first view, the ground below it, and what the panel says is large."""
    root = screen.drawn(2).first
    screen.command("serprof:open-panel")
    screen.page.locator(".jsp-side[data-count='2']").wait_for()
    chosen = root.locator("[role=radio][aria-checked=true]").inner_text()
    heavy = screen.page.locator(".jsp-side-heavy").all_inner_texts()
    return chosen, str(root.evaluate(GROUND)), heavy
