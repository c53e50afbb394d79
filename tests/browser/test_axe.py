"""Every view for everybody: axe-core finds nothing, light and dark, with all that opens opened."""

import json
from typing import Any

import pytest

from browser.samples import SWEEP, TRACE, chunk_sweep, full_trace, lane_trace, sized_sweep
from browser.screen import Screen

#: What each document shows; a new view that nobody looks at makes the test red.
VIEWS = {
    "trace": ["Waterfall", "Lanes", "Table", "Details", "Findings"],
    "full trace": ["Compare", "Waterfall", "Lanes", "Table", "Details", "Findings"],
    "anatomy": ["Compare", "Blame", "Waterfall", "Table", "Details", "Findings"],
    "round trip": ["Round trip", "Table", "Details"],
    "sweep": ["Compare", "Sweep", "Round trip", "Table", "Details", "Findings"],
    "chunks": ["Chunk sizes", "Runs", "Table", "Details", "Findings"],
}
#: Only these rules can find something in one theme and not in the other.
COLOURS = ("color-contrast", "link-in-text-block")


def documents() -> dict[str, dict[str, Any]]:
    """Return one document of each kind."""
    golden = [json.loads(path.read_text("utf-8")) for path in (TRACE, SWEEP)]
    full = lane_trace()
    # A finding that warns, a run that failed, a version that is newer: sentences in their colours.
    full["findings"].append({**full["findings"][0], "severity": "warn"})
    full |= {"outcome": "error", "version": 2}
    traces = (golden[0], full, full_trace())
    return dict(zip(VIEWS, (*traces, golden[1], sized_sweep(), chunk_sweep()), strict=True))


@pytest.mark.parametrize(("scheme", "rules"), [("light", ()), ("dark", COLOURS)])
def test_axe_finds_nothing_in_any_view(screen: Screen, scheme: str, rules: tuple[str, ...]) -> None:
    """Compare, blame, waterfall, lanes, table, details, findings, round trip, sweeps."""
    seen: dict[str, list[str]] = {}
    found: dict[tuple[str, str, str], int] = {}

    for name, document in documents().items():
        page = screen.mount(document, scheme=scheme)
        page.get_by_role("button", name="Keys and words").click()
        for view in screen.views():
            seen.setdefault(name, []).append(view)
            found |= {(name, view, text): 1 for text in screen.violations("main", rules=rules)}
            screen.shoot(f"-{name}-{view}".replace(" ", "-"))

    assert seen == VIEWS
    assert list(found) == []


def test_axe_finds_nothing_in_what_cannot_be_drawn(screen: Screen) -> None:
    page = screen.mount({"format": "serprof.trace", "version": 1}, "no JSON")

    assert page.get_by_role("alert").count() == 2
    assert screen.violations("main") == []


def test_axe_finds_nothing_in_a_comparison(screen: Screen, jupyter: str) -> None:
    """Two profiles side by side in JupyterLab, light and dark."""
    page = screen.open_lab(jupyter, "saved.ipynb")
    screen.drawn(3)
    screen.command("serprof:open-panel")
    items = page.locator(".jsp-side .jsp-side-item")
    items.nth(0).get_by_text("Pin", exact=True).click()
    items.nth(2).get_by_text("Compare", exact=True).click()
    page.locator('.jsp-comparison .jsp-root[data-ready="1"]').wait_for()

    with screen.dark():
        check_comparison(screen, "-Dark")
    check_comparison(screen, "-Light")


def check_comparison(screen: Screen, suffix: str) -> None:
    """Look at the comparison and at the side panel."""
    screen.shoot(suffix)
    assert screen.violations(".jsp-comparison .jsp-root") == []
    assert screen.violations(".jsp-side") == []
