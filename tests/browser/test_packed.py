"""A sweep whose points and traces came as tables: every view, a saved notebook, a file, a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from browser.samples import saved_cell, sized_sweep, write_notebook
from jupyter_serprof import save
from jupyter_serprof.model import from_document, to_document

if TYPE_CHECKING:
    from pathlib import Path

    from browser.screen import Screen

REPEATS = 5


def in_lists() -> dict[str, Any]:
    """Return a sweep as its first writers wrote it: 45 points in a list."""
    document = sized_sweep()
    points = [
        {**point, "repeat": at, "wall_ns": point["wall_ns"] + at * 1000}
        for point in document["points"]
        for at in range(REPEATS)
    ]
    return {**document, "points": points, "comparison": None}  # so that the lines are shown first


def as_tables(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document as it is written today."""
    packed = json.loads(json.dumps(to_document(from_document(document))))
    assert "packed" in packed
    assert "points" not in packed
    return packed  # type: ignore[no-any-return]  # an object


def shown(screen: Screen, document: dict[str, Any]) -> dict[str, str]:
    """Return what each view of a document says."""
    screen.mount(document)
    root = screen.page.locator(".jsp-root")
    return {view: root.inner_text() for view in screen.views()}


def test_every_view_says_of_tables_what_it_says_of_lists(screen: Screen) -> None:
    """Documents of both forms are the same to the reader."""
    lists = in_lists()

    packed = shown(screen, as_tables(lists))

    screen.shoot()
    assert packed.keys() >= {"Sweep", "Round trip", "Table"}
    assert packed["Table"].count("cold") >= 3 * 2 * REPEATS
    assert packed == shown(screen, lists)


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_a_saved_notebook_draws_tables(
    screen: Screen, jupyter: str, jupyter_root: Path, host: str
) -> None:
    """The output of a sweep that somebody else has run, untrusted."""
    path = jupyter_root / f"packed-{host}.ipynb"
    write_notebook(path, [saved_cell("%serprof --sweep", from_document(in_lists()), count=1)])
    assert '"packed"' in path.read_text("utf-8")

    (screen.open_lab if host == "lab" else screen.open_notebook)(jupyter, path.name)

    root = screen.drawn()
    assert root.locator("[role=alert]").count() == 0
    assert root.locator("svg .jsp-mark").count() > 3
    screen.shoot()


def test_a_page_of_tables_is_drawn_from_a_file(screen: Screen, tmp_path: Path) -> None:
    """With the network off."""
    path = tmp_path / "packed.html"
    save(from_document(in_lists()), path)

    page = screen.open_file(path)

    assert screen.drawn().locator("svg .jsp-mark").count() > 3
    assert page.locator("#serprof-fallback").count() == 0
    screen.shoot()
