"""Show a document, and write it to a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jupyter_serprof.api.exports import exported
from jupyter_serprof.model import Anatomy, Comparison, Sweep, Trace, UsageError, save_document
from jupyter_serprof.model.files import SUFFIX, write_whole
from jupyter_serprof.views.blame.text import anatomy_lines
from jupyter_serprof.views.compare.text import comparison_lines
from jupyter_serprof.views.export import Given, no_document
from jupyter_serprof.views.figure import png, svg
from jupyter_serprof.views.notebook.bundle import bundle as drawn
from jupyter_serprof.views.notebook.page import html
from jupyter_serprof.views.text import WIDTH, text

_ENDINGS = ("json", "png", "svg", "html", "htm", "csv", "md")


def show(document: Given, view: str | None = None) -> None:
    """Display a document: drawn in a notebook, as text in a terminal.

    Parameters
    ----------
    document
        A trace or a sweep, fresh or loaded; or a comparison or an anatomy of ``sp.blame``, which
        are text everywhere.
    view
        Name of a view; None chooses the one that fits.

    Raises
    ------
    UsageError
        If it is no document (a `TypeError`, too), or if there is no view of that name.
    """
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        print(_text(document, view))  # noqa: T201  (there is nothing else to show it with)
        return
    data, metadata = bundle(document, view)
    ipython.display.display(data, metadata=metadata, raw=True)


def bundle(document: Given, view: str | None = None) -> tuple[dict[str, object], dict[str, object]]:
    """Return what a front end displays, by MIME type, and its metadata."""
    if isinstance(document, Trace | Sweep):
        return drawn(document, view=view)
    return {"text/plain": _text(document, view)}, {}


def _text(document: Given, view: str | None) -> str:
    if isinstance(document, Trace | Sweep):
        return text(document, view=view)
    if isinstance(document, Anatomy):
        return "\n".join(anatomy_lines(document, WIDTH))
    if isinstance(document, Comparison):
        return "\n".join(comparison_lines(document, WIDTH))
    raise no_document(document)


def save(document: Trace | Sweep, path: str | bytes | os.PathLike[str]) -> None:
    """Write a document: ``.serprof.json``, ``.png`` or ``.svg`` as a picture, ``.html`` as a page.

    The page is complete in itself: it opens offline and asks for nothing. ``.trace.json`` opens in
    the Perfetto UI and in speedscope, ``.csv`` has the parts of what was blamed, the spans of
    another trace, or the points of a sweep (``sp.to_dataframe`` has every table); ``.md`` is all of
    it as tables for an issue. A name without an ending gets ``.serprof.json``.

    Raises
    ------
    UsageError
        If the file has another ending or no name, or if it is no document.
    DocumentError
        If the file cannot be written; what was there before is still there.
    """
    path = os.fsdecode(path)
    if not os.path.basename(path):  # noqa: PTH119  (a Path forgets that it ended in a slash)
        message = "the path ends without the name of a file; add one, e.g. run.serprof.json"
        raise UsageError(message)
    path += SUFFIX if _lacks_ending(Path(path).name) else ""
    ending = path.lower()
    other = exported(document, ending)
    if other is not None:
        write_whole(Path(path), other.encode("utf-8", "replace"))
    elif ending.endswith(".json"):
        save_document(document, path)
    elif ending.endswith(".png"):
        write_whole(Path(path), png(document))
    elif ending.endswith(".svg"):
        write_whole(Path(path), svg(document))
    elif ending.endswith((".html", ".htm")):
        write_whole(Path(path), html(document).encode("utf-8"))
    else:
        message = (
            f"cannot tell how to save {Path(path).name!r}; end the name with .serprof.json, "
            ".html, .png, .svg, .md, .csv or .trace.json, e.g. --save run.serprof.json"
        )
        raise UsageError(message)


def _lacks_ending(name: str) -> bool:
    """Tell a name without an ending from an ending without a name, which is a mistake."""
    return "." not in name and name not in _ENDINGS
