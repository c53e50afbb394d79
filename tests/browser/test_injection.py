"""Two hundred payloads in every text of a document: none is executed, none becomes markup."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from browser import samples
from browser.hostile import BATCHES, PAYLOADS, poisoned, texts_of_document, texts_of_schema
from browser.screen import OPENERS, Screen
from jupyter_serprof.model import from_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.notebook import page as page_module
from jupyter_serprof.views.notebook.page import html

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


#: Opens every view and all that opens in it, moves over it, presses keys; looks after each.
TOUR = f"""async () => {{
  const seen = new Set();
  const rest = () => new Promise((next) => setTimeout(next, 5));
  for (const choice of document.querySelectorAll(".jsp-switch [role=radio]")) {{
    choice.click();
    await rest();
    document.querySelectorAll({OPENERS!r}).forEach((one) => one.click());
    for (const place of document.querySelectorAll("canvas, .jsp-bar, svg, [role=application]")) {{
      const {{ left, top, width, height }} = place.getBoundingClientRect();
      const at = {{ clientX: left + width / 2, clientY: top + height / 2, bubbles: true }};
      place.dispatchEvent(new PointerEvent("pointermove", at));
      place.dispatchEvent(new MouseEvent("mousemove", at));
      place.dispatchEvent(new KeyboardEvent("keydown", {{ key: "n", bubbles: true }}));
    }}
    await rest();
    for (const found of ({LOOK})(".jsp-root")) seen.add(found);
  }}
  return [...seen];
}}"""
DOCUMENTS = {"trace.v1.json": samples.full_trace(), "sweep.v1.json": samples.sized_sweep()}
DOCUMENTS["sweep.v1.json"]["fits"][0] |= {"stage": "pickle.dumps", "cause": "another law"}
#: The address of a page stands in outputs only.
for whole in DOCUMENTS.values():
    for one in (whole, *(each["trace"] for each in whole.get("traces", ()))):
        for part in (*one.get("findings", ()), *one.get("stages", ())):
            part["page"] = "https://docs.example/x.html"
PACKED = samples.DATA / "trace.v1.packed.serprof.json"
ONE_PIXEL = b"\x89PNG\r\n\x1a\n"


def test_the_payloads_are_two_hundred_and_different() -> None:
    assert len(set(PAYLOADS)) == 200
    assert "".join(BATCHES) == "".join(PAYLOADS)


@pytest.mark.parametrize("schema", DOCUMENTS)
def test_the_documents_have_every_text_that_there_can_be(schema: str) -> None:
    """A key that is new in the schema makes this red, until a payload stands there too."""
    missing = texts_of_schema(schema) - texts_of_document(schema, DOCUMENTS[schema])

    # Packed columns have a document of their own.
    assert {place for place in missing if not place.endswith("/data")} == set()
    poison = poisoned(DOCUMENTS[schema], "x")
    assert texts_of_document(schema, poison) == texts_of_document(schema, DOCUMENTS[schema])


@pytest.mark.parametrize("name", [*DOCUMENTS, "packed", "lanes"])
def test_no_payload_is_executed_in_any_view(screen: Screen, name: str) -> None:
    """All 200, in tens, in every view, with tooltips and all that can be opened."""
    # A packed column has one text more, which is decoded and never shown: each fifth of the tens.
    more = {"packed": json.loads(PACKED.read_text("utf-8")), "lanes": samples.lane_trace()}
    document = {**DOCUMENTS, **more}[name]

    for batch in BATCHES[:: 5 if name == "packed" else 1]:
        page = screen.mount(unique(poisoned(document, batch), document))

        assert page.evaluate(TOUR) == [0], batch
        assert "globalThis.fired" in page.locator(".jsp-root").inner_text()
    screen.shoot()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_payload_is_executed_in_a_page(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """All 200 in every text, in tens: what ends a script ends it also between others."""
    document = DOCUMENTS[name]
    monkeypatch.setattr(page_module, "png", lambda *_, **__: ONE_PIXEL)
    path = tmp_path / "page.html"
    raw = []

    for batch in BATCHES:
        written = html(from_document(unique(poisoned(document, batch), document)))
        path.write_text(written, "utf-8")
        screen.open_file(path)
        screen.drawn()

        assert screen.page.evaluate(LOOK, "#serprof") == [0], batch
        raw += [one for one in PAYLOADS if "<" in one and one in batch and one in written]
    assert raw == []
    screen.shoot()


def test_no_payload_is_executed_in_jupyterlab(
    screen: Screen, jupyter: str, jupyter_root: Path
) -> None:
    """The renderer is declared safe: it is also run for notebooks that nobody trusts."""
    documents = [
        poisoned(document, payload)
        for payload, document in zip(PAYLOADS[::10], [*DOCUMENTS.values()] * 10, strict=True)
    ]
    damaged = {"format": PAYLOADS[1], "version": 1}
    said = {"text/plain": PAYLOADS[1]}
    outputs = [
        samples.output({MIME_TYPE: document, **said}, {}) for document in [*documents, damaged]
    ]
    samples.write_notebook(jupyter_root / "hostile.ipynb", [samples.code_cell("hostile", *outputs)])

    page = screen.open_lab(jupyter, "hostile.ipynb")
    screen.drawn(len(outputs))
    screen.command("serprof:open-panel")
    page.locator(f".jsp-side[data-count='{len(outputs)}']").wait_for()

    screen.shoot()
    assert page.evaluate(LOOK, ".jp-OutputArea") == [0]
    assert page.evaluate(LOOK, ".jsp-side") == [0]


def test_a_hostile_file_name_is_a_name(screen: Screen, jupyter: str, jupyter_root: Path) -> None:
    """A document is opened whatever its file is called."""
    name = "<img src=x onerror=globalThis.fired=1>.serprof.json"
    (jupyter_root / name).write_text(json.dumps(samples.full_trace()), "utf-8")

    page = screen.open_lab(jupyter, quote(name))
    screen.drawn()

    assert page.evaluate(LOOK, ".jsp-root") == [0]


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
    stages = {
        old["key"]: new["key"]
        for old, new in zip(document.get("stages", ()), poison.get("stages", ()), strict=True)
    }
    for stage, old in zip(poison.get("stages", ()), document.get("stages", ()), strict=True):
        if "parent" in old:
            stage["parent"] = stages[old["parent"]]
    return poison
