"""Build the pages, check their inner links, and say how long it took.

uv run --group docs python docs/build.py            # into docs/_build/site
uv run --group docs python docs/build.py --show     # serve them on this machine
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import findings
from serve import show
from sphinx.cmd.build import build_main

from jupyter_serprof.model.stages import OURS
from jupyter_serprof.views.kit.pages import finding_page, stage_page

HERE = Path(__file__).parent
SITE = HERE / "_build/site"


class Page(HTMLParser):
    """What a page offers to links (ids), where its links go, and what it loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says of itself."""
        known = {name: value for name, value in attrs if value is not None}
        self.ids |= {known[name] for name in ("id", "name") if name in known}
        target = known.get("href", known.get("src"))
        if target is not None:
            is_loaded = tag != "a" and known.get("rel") not in {"canonical", "search"}
            (self.loaded if is_loaded else self.links).append(target)


def of_outputs() -> Page:
    """Return what outputs link to where ``SERPROF_DOCS`` is the address of this site."""
    os.environ["SERPROF_DOCS"] = "."
    targets = map(finding_page, findings.keys(HERE.parent))
    links = [target for target in (*targets, *map(stage_page, OURS)) if target]
    return Page("".join(f'<a href="{link}">' for link in links))


def problems(site: Path) -> Iterator[str]:
    """Yield each link that leads nowhere inside the site, and each load from another host."""
    pages = {site / "an output": of_outputs()} | {
        path: Page(path.read_text("utf-8"))
        for path in site.rglob("*.html")
        if path.relative_to(site).parts[0] not in {"_static", "try"}
    }
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded and parts.scheme not in {"data", "blob"}:
                    yield f"{name} loads {target}"
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                yield f"{name}: {target} does not exist"
            elif parts.fragment and there in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[there].ids:
                    yield f"{name}: {target} names no place on its page"


def build() -> int:
    """Build with warnings as errors; 0 if there was none and every inner link leads somewhere."""
    begin = time.perf_counter()
    failed = build_main(["-q", "-W", "--keep-going", "-j", "auto", str(HERE), str(SITE)])
    found = sorted(set(problems(SITE)))
    print("\n".join(found))
    count = sum(path.relative_to(SITE).parts[0] != "try" for path in SITE.rglob("*.html"))
    took = time.perf_counter() - begin
    print(f"{count} pages in {took:.0f} s, {len(found)} broken links: {SITE / 'index.html'}")
    return int(bool(failed or found))


def main(arguments: list[str]) -> int:
    """Build; or show what was built, and build it for that only where it is not there."""
    is_shown = "--show" in arguments
    status = 0 if is_shown and (SITE / "index.html").exists() else build()
    if is_shown and not status:
        show(SITE)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
