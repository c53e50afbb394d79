"""Two hundred payloads in every text of a document: none is executed, none becomes markup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_serprof.model import from_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.html import html
from ui.hostile import PAYLOADS, poisoned
from ui.samples import SWEEP, TRACE, code_cell, output, write_notebook

if TYPE_CHECKING:
    from pathlib import Path

    from ui.screen import Screen

#: What a document has no reason to bring into a page.
ALIEN = (
    "script:not([type]), iframe, object, embed, [onerror], [onload], [ontoggle], [onfocus], "
    "[onmouseover], img[src=x], a[href^=javascript], svg script, style"
)
LOOK = f"""(root) => [
  globalThis.fired ?? 0,
  ...[...document.querySelectorAll(root + " *")]
    .filter((node) => node.matches({ALIEN!r}))
    .map((node) => node.outerHTML)]"""


def test_the_payloads_are_two_hundred_and_different() -> None:
    """The claim of the README."""
    assert len(set(PAYLOADS)) == 200


@pytest.mark.parametrize(("source", "step"), [(TRACE, 1), (SWEEP, 4)], ids=["trace", "sweep"])
def test_no_payload_is_executed_in_a_page(
    screen: Screen, tmp_path: Path, source: Path, step: int
) -> None:
    """Each of the 200 stands in every text of a trace of its own (of a sweep: each fourth)."""
    # given
    document = json.loads(source.read_text("utf-8"))
    raw = []

    for number, payload in enumerate(PAYLOADS[::step]):
        # when
        written = html(from_document(unique(poisoned(document, payload), document)))
        path = tmp_path / f"{number}.html"
        path.write_text(written, "utf-8")
        page = screen.open_file(path)
        screen.drawn()

        # then
        assert page.evaluate(LOOK, "#serprof") == [0], payload
        raw += [payload] if "<" in payload and payload in written else []
    assert raw == []
    screen.shoot()


def test_no_payload_is_executed_in_jupyterlab(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The renderer is declared safe: it is also run for notebooks that nobody trusts."""
    # given
    documents = [
        poisoned(json.loads(source.read_text("utf-8")), payload)
        for payload, source in zip(PAYLOADS[::10], [TRACE, SWEEP] * 10, strict=True)
    ]
    outputs = [output({MIME_TYPE: document}, {}) for document in documents]
    write_notebook(jupyter_root / "hostile.ipynb", [code_cell("hostile", *outputs)])

    # when
    page = screen.open_lab(jupyter, "hostile.ipynb")
    screen.drawn(len(documents))
    screen.command("serprof:open-panel")
    page.locator(f".jsp-side[data-count='{len(documents)}']").wait_for()

    # then
    screen.shoot()
    assert page.evaluate(LOOK, ".jsp-root") == [0]
    assert page.evaluate(LOOK, ".jsp-side") == [0]


def unique(poison: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Give keys that must differ their difference back, behind the payload."""
    for name in ("stages", "lanes", "variants"):
        for number, entry in enumerate(poison.get(name, ())):
            entry["key"] = f"{entry['key']}{number}" if len(poison[name]) > 1 else entry["key"]
    keys = {
        old["key"]: new["key"]
        for old, new in zip(document.get("variants", ()), poison.get("variants", ()), strict=True)
    }
    for kind in ("points", "traces"):
        for old, new in zip(document.get(kind, ()), poison.get(kind, ()), strict=True):
            new["variant"] = keys[old["variant"]]
    for entry, old in zip(poison.get("traces", ()), document.get("traces", ()), strict=True):
        entry["trace"] = unique(entry["trace"], old["trace"])
    return poison
