"""Show a document, and write it to a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from jupyter_serprof.model import Anatomy, Comparison, DocumentError, Sweep, Trace, UsageError
from jupyter_serprof.model import load as load_document
from jupyter_serprof.model.files import SUFFIX, content_of, save_document, write_whole
from jupyter_serprof.model.private import without_names
from jupyter_serprof.timelines import import_timeline, is_timeline
from jupyter_serprof.views.blame import anatomy_trace
from jupyter_serprof.views.compare import comparison_lines
from jupyter_serprof.views.figure import png, svg
from jupyter_serprof.views.flat import Given, chrome_trace, csv_text, no_document, rows_of
from jupyter_serprof.views.notebook.bundle import bundle as drawn
from jupyter_serprof.views.notebook.page import html
from jupyter_serprof.views.text import markdown, screen_width, text

#: Endings of Chrome traces; they end in .json, too, so they are asked for first.
CHROME = (".trace.json", ".chrome.json", ".perfetto.json")


_WRITERS: dict[tuple[str, ...], Callable[[Trace | Sweep], str | bytes]] = {
    CHROME: lambda document: json.dumps(chrome_trace(document), separators=(",", ":")),
    (".png",): png,
    (".svg",): svg,
    (".html", ".htm"): html,
}


def _written(document: Given, path: str) -> str | bytes | None:
    """Return what stands in a file of such an ending; None in one that has our own."""
    ending = path.lower()
    if ending.endswith(".csv"):
        return csv_text(rows_of(document))
    if ending.endswith(".md"):
        return markdown(document)
    if isinstance(document, Comparison):
        message = "Comparison is written as .md or .csv only; of sp.compare(f, g) as all others"
        raise UsageError(message)
    if not isinstance(document, Trace | Sweep):
        raise no_document(document)
    written = (made for endings, made in _WRITERS.items() if ending.endswith(endings))
    return next(written, lambda _: None)(document)


def checked_path(path: str | bytes | os.PathLike[str]) -> str:
    """Return the name of a file to write, with an ending; `UsageError` if it can be none."""
    path = os.fsdecode(path)
    if not os.path.basename(path):  # noqa: PTH119  (a Path forgets that it ended in a slash)
        message = "the path ends without the name of a file; add one, e.g. run.serprof.json"
        raise UsageError(message)
    name = Path(path).name
    # A name without an ending gets one; an ending without a name is a mistake.
    path += SUFFIX if "." not in name and name not in _ENDINGS else ""
    if path.lower().endswith(tuple(f".{ending}" for ending in _ENDINGS)):
        return path
    message = (
        f"cannot tell how to save {name!r}; end the name with .serprof.json, "
        ".html, .png, .svg, .md, .csv or .trace.json, e.g. --save run.serprof.json"
    )
    raise UsageError(message)


def load(path: str | os.PathLike[str]) -> Trace | Sweep:
    """Read a document, or a timeline of Ray or Dask; nothing in it is executed.

    Parameters
    ----------
    path
        A file written by ``--save`` or ``sp.save``, by ``ray.timeline(filename=...)``, or a list of
        ``client.get_task_stream()`` saved as JSON.

    Raises
    ------
    DocumentError
        If the file cannot be read, is neither, is damaged or cut off, or is newer than this
        version.
    """
    path = os.path.expanduser(path)  # noqa: PTH111  (that of Path raises for names it does not know)
    try:
        return load_document(path)
    except DocumentError:
        if not _holds_timeline(Path(path)):
            raise
    return import_timeline(path)


def _holds_timeline(file: Path) -> bool:
    try:
        content = content_of(file)
        # A large file is read twice only where it can be one.
        looks_like = content.lstrip()[:1] == b"[" or b'"traceEvents"' in content
        return looks_like and is_timeline(json.loads(content))
    except (DocumentError, ValueError, RecursionError):
        return False


to_markdown = markdown
_ENDINGS = ("json", "png", "svg", "html", "htm", "csv", "md")


def show(document: Given, view: str | None = None) -> None:
    """Display a document: drawn in a notebook, as text in a terminal.

    Parameters
    ----------
    document
        A trace, a sweep or an anatomy of ``sp.blame``; or a comparison, which is text everywhere.
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
    document = _drawable(document)
    if isinstance(document, Trace | Sweep):
        return drawn(document, view=view)
    return {"text/plain": _text(document, view)}, {}


def _drawable(document: Given) -> Given:
    return anatomy_trace(document) if isinstance(document, Anatomy) else document


def _text(document: Given, view: str | None) -> str:
    document = _drawable(document)
    if isinstance(document, Trace | Sweep):
        return text(document, view=view, width=screen_width())
    if isinstance(document, Comparison):
        return "\n".join(comparison_lines(document, screen_width()))
    raise no_document(document)


def save(
    document: Given, path: str | bytes | os.PathLike[str], *, private: bool | None = None
) -> None:
    """Write a document: ``.serprof.json``, ``.png`` or ``.svg`` as a picture, ``.html`` as a page.

    The page is complete in itself: it opens offline and asks for nothing. ``.trace.json`` opens in
    the Perfetto UI and in speedscope, ``.csv`` has the parts of what was blamed, the spans of
    another trace, or the points of a sweep (``sp.to_dataframe`` has every table); ``.md`` is all of
    it as tables for an issue. A name without an ending gets ``.serprof.json``.

    Parameters
    ----------
    private
        Whether all names are left out: of variables, code, keys, classes, hosts, and what errors
        say. Default: as ``SERPROF_PRIVATE=1`` in the environment says.

    Raises
    ------
    UsageError
        If the file has another ending or no name, or if it is no document.
    DocumentError
        If the file cannot be written; what was there before is still there.
    """
    path = checked_path(path)
    if private is None:
        private = os.environ.get("SERPROF_PRIVATE", "") not in ("", "0")
    document = without_names(document) if private else document
    document = document if path.lower().endswith((".csv", ".md")) else _drawable(document)
    content = _written(document, path)
    if content is None and isinstance(document, Trace | Sweep):
        save_document(document, path)
    elif content is not None:
        known = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        write_whole(Path(path), known)
