"""A browser window for a test: what it opened, asked for, drew, and what went wrong in it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    ViewportSize,
)

READY = '.jsp-root[data-ready="1"]'
BUILT = Path(__file__).parents[2] / "jupyter_serprof/static"
AXE = Path(__file__).parents[2] / "labextension/node_modules/axe-core/axe.min.js"
#: Notebook 7.6 throws these at load, with our extension disabled too: the first always, the second
#: where a JupyterLab of the same server has saved which folder it showed.
#: The last ones are said by JupyterLab 4.4 and later where a kernel is restarted early, and where a
#: notebook is closed while its session still waits for one (apputils, SessionContext).
KNOWN_ERRORS = (
    *("reading 'schema'", "Command 'filebrowser:open-path' not registered"),
    *("Canceled future for create_subshell_request", "Disposed"),
)
#: What one step may take on the slowest machine; a step that is done is not waited for.
PATIENCE_MS = 120_000
_AXE_RUN = """async ([selector, rules]) => {
  const { violations } = await globalThis.axe.run(selector, {
    resultTypes: ["violations"], ...(rules.length && { runOnly: rules }) });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.html).join(" | ")}`);
}"""

#: As anywidget does it, with a model that only holds what it is given.
_MOUNT = """async ([source, style, documents, view]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  document.adoptedStyleSheets = [new CSSStyleSheet()];
  document.adoptedStyleSheets[0].replaceSync(style);
  const place = document.querySelector("main");
  place.replaceChildren();
  for (const value of documents) {
    const el = document.createElement("div");
    place.append(el);
    const traits = { document: value, view };
    await widget.render({ el, model: { get: (name) => traits[name], on() {}, off() {} } });
  }
}"""
#: Packed columns are read beside the page; what they give is painted in a frame.
_READ = """() => [...document.querySelectorAll(".jsp-note")]
  .every((note) => !note.textContent.startsWith("Reading the spans"))"""
_PAINTED = "() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))"
#: Closes what a test has opened in JupyterLab; nothing is asked and nothing saved.
_CLEAR = """() => {
  const { shell } = globalThis.jupyterapp;
  for (const widget of [...shell.widgets("main")]) widget.dispose();
  shell.collapseRight();
  shell.activateById("filebrowser");
}"""
_IS_CLEAR = "() => document.querySelector('.jsp-side-item, .jp-NotebookPanel, .jp-Dialog') === null"
_OPEN = """async (path) => {
  await globalThis.jupyterapp.commands.execute("docmanager:open", { path });
}"""
_IS_OPEN = "(path) => globalThis.jupyterapp.shell.currentWidget?.context?.path === path"
_SHOWN = """() => {
  const { shell } = globalThis.jupyterapp;
  const shown = document.querySelector(".jp-Dialog")?.textContent ?? "no dialog";
  const paths = [...shell.widgets("main")].map((widget) => widget.context?.path ?? widget.id);
  return [shown, `in front ${shell.currentWidget?.id}`, ...paths].join("; ");
}"""
_SIZE: ViewportSize = {"width": 1280, "height": 900}
_IS_LIGHT = "body[data-jp-theme-light='{}']"
OPENERS = ".jsp-twisty[aria-expanded=false], details:not([open]) > summary"
_CHOICES = ".jsp-switch [role=radio]"


def bundle_for(document: Any) -> str:
    """Return which bundle has the views of a document, as `page.py` does for models."""
    if not isinstance(document, dict):
        return "trace"
    if document.get("format") == "serprof.sweep":
        return "sweep"
    return "anatomy" if document.get("anatomies") else "trace"


class Screen:
    """A page of its own; the context, and with it the cache of the browser, is shared."""

    # A JupyterLab that a green test has left is cleared and used again: to load one takes seconds.

    def __init__(
        self, context: BrowserContext, picture: Path | None, labs: dict[str, Page] | None = None
    ) -> None:
        self._context = context
        self._picture = picture
        self._labs = {} if labs is None else labs
        #: Which of them this window is, and may be for the next test.
        self._lab: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        #: What the page has written to its console as an error.
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        self._watch()

    def _watch(self) -> None:
        self.page.set_viewport_size(_SIZE)
        self.page.on("pageerror", self._note)
        self.page.on("console", self._hear)
        self.page.on("request", self._see)

    def _note(self, error: Error) -> None:
        self.errors.append(str(error))

    def _see(self, request: Request) -> None:
        self.requests.append(request.url)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def close(self, *, is_red: bool = False) -> None:
        """Close the window, or leave JupyterLab in it to the next; that is online again."""
        if self._lab is not None and not is_red and self.page.url.startswith(f"{self._lab}/lab"):
            self._leave(self._lab)
        else:
            self.page.close()
        self._context.set_offline(offline=False)

    def _leave(self, lab: str) -> None:
        self.page.remove_listener("pageerror", self._note)
        self.page.remove_listener("console", self._hear)
        self.page.remove_listener("request", self._see)
        try:
            self.page.evaluate(_CLEAR)
            self.page.wait_for_function(_IS_CLEAR, timeout=5_000)
        except Error:
            self.page.close()
        else:
            self._labs[lab] = self.page

    def check(self) -> None:
        """Fail if a script of the page has thrown."""
        unknown = [e for e in self.errors if not any(known in e for known in KNOWN_ERRORS)]
        assert unknown == [], unknown

    def open_lab(self, jupyter: str, name: str, *, anew: bool = False) -> Page:
        """Open a file in JupyterLab and wait until the application is there."""
        # In one that is loaded anew, or in one that another test has left.
        self._lab = None if anew else jupyter
        if anew or (left := self._labs.pop(jupyter, None)) is None:
            self.page.goto(f"{jupyter}/lab/tree/{name}?reset")
            self.page.wait_for_function("() => globalThis.jupyterapp?.shell?.currentWidget != null")
            return self.page
        self.page.close()
        self.page = left
        self._watch()
        self._open(unquote(name))
        return self.page

    def reopen(self, name: str) -> None:
        """Close what is open in this JupyterLab, and open a file in it."""
        self.page.evaluate(_CLEAR)
        self.page.wait_for_function(_IS_CLEAR)
        self._open(name)

    def _open(self, name: str) -> None:
        self.page.evaluate(_OPEN, name)
        try:
            self.page.wait_for_function(_IS_OPEN, arg=name)
        except Error as error:
            pytest.fail(f"{name} is not in front: {self.page.evaluate(_SHOWN)} ({error})")

    def open_notebook(self, jupyter: str, name: str) -> Page:
        """Open a notebook in Notebook 7."""
        self.page.goto(f"{jupyter}/notebooks/{name}")
        self.page.wait_for_function("() => globalThis.jupyterapp?.shell?.currentWidget != null")
        return self.page

    def open_file(self, path: Path, *, scheme: str = "light") -> Page:
        """Open a file with the network off; what it asks for is in ``requests``."""
        # A JupyterLab that is left would ask its server, and say in a dialog that it is gone.
        while self._labs:
            self._labs.popitem()[1].close()
        self._context.set_offline(offline=True)
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # light or dark
        self.page.goto(path.as_uri())
        return self.page

    def mount(self, *documents: Any, view: str = "", scheme: str = "light") -> Page:
        """Draw documents, one below the other, on an empty page without any application."""
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # light or dark
        self.page.set_content("<!doctype html><html lang=en><title>Pictures</title><main></main>")
        kind = bundle_for(documents[0])
        built = [(BUILT / f"{kind}.{end}").read_text("utf-8") for end in ("js", "css")]
        texts = [d if isinstance(d, str) else json.dumps(d) for d in documents]
        self.page.evaluate(_MOUNT, [*built, texts, view])
        self.drawn(len(documents))
        return self.page

    def look(self, scheme: str, width: int) -> None:
        """Change scheme and width of the page as it is, and wait until it is painted anew."""
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # light or dark
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.evaluate(_PAINTED)
        self.drawn()

    def views(self, within: str = ".jsp-root") -> Iterator[str]:
        """Open one view after the other, with all that can be opened in it; give their names."""
        choices = self.page.locator(f"{within} {_CHOICES}")
        for at in range(choices.count()):
            choices.nth(at).click()
            self.page.evaluate(
                "(openers) => document.querySelectorAll(openers).forEach((one) => one.click())",
                f":is({OPENERS})",
            )
            self.page.wait_for_function(_READ)
            self.page.evaluate(_PAINTED)
            yield str(choices.nth(at).evaluate("(choice) => choice.firstChild.textContent"))

    def drawn(self, count: int = 1) -> Locator:
        """Wait until at least so many documents are drawn; give them."""
        roots = self.page.locator(READY)
        roots.nth(count - 1).wait_for()
        return roots

    def command(self, name: str, **arguments: Any) -> None:
        """Execute a command of the application."""
        self.page.evaluate(
            # What it gives is not wanted here: a widget is a tree of 100,000 values.
            "async ([name, args]) => { await globalThis.jupyterapp.commands.execute(name, args); }",
            [name, arguments],
        )

    @contextmanager
    def dark(self) -> Iterator[None]:
        """Have JupyterLab's dark theme on the screen; afterwards it is light for all that follow.

        The server keeps the theme: one red test would leave the others in the dark.
        """
        self._change_theme("Dark", "false")
        try:
            yield
        finally:
            self._change_theme("Light", "true")

    def _change_theme(self, name: str, is_light: str) -> None:
        self.command("apputils:change-theme", theme=f"JupyterLab {name}")
        self.page.locator(_IS_LIGHT.format(is_light)).wait_for(state="attached")
        self.page.evaluate(_PAINTED)

    def shoot(self, suffix: str = "") -> None:
        """Write a screenshot for people to look at, where they have asked for it."""
        if self._picture is not None:
            name = f"{self._picture.name}{suffix}.png"
            self.page.screenshot(path=self._picture.with_name(name))

    def violations(
        self,
        selector: str = ".jsp-root",
        *,
        rules: tuple[str, ...] = (),
        ignored: tuple[str, ...] = (),
    ) -> list[str]:
        """Return what axe-core finds wrong inside the elements of a selector."""
        # By all rules or by some, but not by ignored ones.
        if not AXE.is_file():
            pytest.fail("axe-core is missing; run: uv run npm --prefix labextension ci")
        # Not as a script tag: the policy of an exported page allows none.
        if not self.page.evaluate("() => 'axe' in globalThis"):
            self.page.evaluate(AXE.read_text("utf-8"))
        found: list[str] = self.page.evaluate(_AXE_RUN, [selector, rules])
        return [text for text in found if not text.startswith(ignored)]
