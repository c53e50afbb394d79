"""The pages that are made from the code: findings, stages, reference, tutorials.

Each module has one function that returns pages by path; ``write`` writes those that changed. What
the code says is not written a second time here.
"""

from __future__ import annotations

from pathlib import Path

from . import findings, pictures, reference, stages, tutorials

#: Where the page is there (docs/lite.py); Sphinx knows nothing of it.
_TRY = """\
```{raw} html
<p><a href="try/lab/index.html?path=try.ipynb">Try it in your browser</a>: nothing is installed, and
the Python that runs is the browser's own.</p>
```
"""
DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent


def made() -> dict[str, str]:
    """Return all pages that are made, by their path below ``docs/``."""
    return {
        **findings.pages(ROOT),
        **stages.pages(ROOT),
        **reference.pages(ROOT),
        **tutorials.pages(ROOT),
        **pictures.pages(ROOT),
        "made/try.md": _TRY if (DOCS / "_build/try").exists() else "",
    }


def write() -> None:
    """Write them; a page that stays as it is keeps its time, so that Sphinx reads it no more."""
    pages = made()
    for folder in {path.partition("/")[0] for path in pages if "/" in path}:
        for old in (DOCS / folder).glob("*"):
            if f"{folder}/{old.name}" not in pages:
                old.unlink()
    for path, text in pages.items():
        place = DOCS / path
        place.parent.mkdir(exist_ok=True)
        if not place.exists() or place.read_text("utf-8") != text:
            place.write_text(text, "utf-8")
