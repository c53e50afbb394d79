"""How Sphinx builds the pages: Markdown with MyST-NB, Furo, no request to any host when read."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import pages
from pages.pictures import scripts

import jupyter_serprof

project = "jupyter_serprof"
author = project_copyright = "jupyter_serprof developers"
release = version = jupyter_serprof.__version__
html_title = f"{project} {release}"

pages.write()
extensions = ["myst_nb"]
exclude_patterns = ["_build", "documents", "made", "try"]
# The tutorials need clusters and minutes: tests run them, at a small size; here they are as saved.
nb_execution_mode = "off"
# Lines of IPython (`%serprof a`) are no Python for Pygments.
suppress_warnings = ["misc.highlighting_failure"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
nitpicky = True

html_theme = "furo"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# Summaries would be fetched, which plain files do not allow.
html_show_search_summary = False
html_search_scorer = str(Path(__file__).with_name("site") / "scorer.js")
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_extra_path: list[str] = []
# No link to a place that nobody has told us; the theme would draw an empty one.
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"


def _write_scripts(app: object, error: Exception | None) -> None:
    """Put the renderer of the notebooks beside the pages, and what docs/lite.py has built."""
    if error is None:
        lite = Path(__file__).with_name("_build") / "try"
        if lite.exists():
            shutil.copytree(lite, Path(app.outdir, "try"), dirs_exist_ok=True)  # type: ignore[attr-defined]
        for name, text in scripts().items():
            Path(app.outdir, "_static", name).write_text(text, "utf-8")  # type: ignore[attr-defined]


def setup(app: object) -> None:
    """Let Sphinx call what has to be done behind it."""
    app.connect("build-finished", _write_scripts)  # type: ignore[attr-defined]
