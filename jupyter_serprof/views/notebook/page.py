"""The output of a notebook cell, and a self-contained page that opens offline."""

from __future__ import annotations

import base64
import html as entities
import json
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files

from jupyter_serprof.model import DocumentError, Sweep, Trace, to_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.model.units import clean
from jupyter_serprof.views.figure import png
from jupyter_serprof.views.notebook.thin import embedded
from jupyter_serprof.views.notebook.widget import widget_view
from jupyter_serprof.views.picture import alt_text
from jupyter_serprof.views.text import check_view, text

#: Of each there are a script, a style and the template of a page in ``static/``.
KINDS = ("trace", "sweep", "anatomy")


def kind_of(doc: Trace | Sweep) -> str:
    """Return which of ``KINDS`` has the views that a document needs.

    Examples
    --------
    >>> from jupyter_serprof.testing import make_trace
    >>> kind_of(make_trace([("gc", "client/main", 0, 1)]))
    'trace'
    """
    if isinstance(doc, Sweep):
        return "sweep"
    return "anatomy" if doc.anatomies else "trace"


def asset(name: str) -> str:
    """Return the text of a built file.

    Raises
    ------
    DocumentError
        If the front end was not built (a source tree without ``uv sync``).
    """
    source = files("jupyter_serprof") / "static" / name
    if not source.is_file():
        message = (
            f"the front end was not built: static/{name} is missing. "
            "Run: uv sync --reinstall-package jupyter-serprof"
        )
        raise DocumentError(message)
    return source.read_text("utf-8")


_PLACE = re.compile("@@(title|view|document|fallback)@@")


def html(doc: Trace | Sweep, *, view: str | None = None) -> str:
    """Return a document as a page that is complete in itself.

    Parameters
    ----------
    doc
        A trace or a sweep; every span goes into the page.
    view
        A name of ``text.VIEWS``: what is shown first. None: the view that fits.

    Returns
    -------
    str
        HTML. Its policy allows the one script inside and no request of any kind. A reader without
        scripts sees the picture and the text.

    Raises
    ------
    UsageError
        If there is no view of that name.
    DocumentError
        If the front end was not built (a source tree without ``uv sync``).

    Notes
    -----
    The document lies in the page as JSON text of a type that no browser executes, with every ``<``
    as an escape: no text of a document can end that element or open another.
    """
    check_view(view)
    parts = {
        "title": entities.escape(clean(doc.name)),
        "view": entities.escape(view or ""),
        "document": _inert(to_document(doc)),
        "fallback": _fallback(doc, view),
    }
    # In one pass: what is filled in is never searched for places.
    return _PLACE.sub(lambda place: parts[place[1]], _template(kind_of(doc)))


@cache
def _template(kind: str) -> str:
    # Built by ``npm run build:hosts``: script, style and policy of the page are in it.
    return asset(f"{kind}.html")


def _inert(data: dict[str, object]) -> str:
    # Lone surrogates of damaged names stay escaped: the page is written as UTF-8.
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _fallback(doc: Trace | Sweep, view: str | None) -> str:
    said = f"<pre>{entities.escape(_encodable(text(doc, view=view)))}</pre>"
    try:
        picture = base64.b64encode(png(doc, view=view)).decode("ascii")
    except Exception:  # noqa: BLE001  (no picture must not cost the page; the text says the same)
        return said
    alt = entities.escape(alt_text(doc))
    return f'<img src="data:image/png;base64,{picture}" alt="{alt}">\n{said}'


def _encodable(said: str) -> str:
    """Return text that can be encoded: half a surrogate pair becomes a question mark."""
    return said.encode("utf-8", "replace").decode("utf-8")


#: What an output with up to 60 rows should stay below, as it is written to the notebook.
MOST_BYTES = 40_000
#: (rows, without remarks) of the picture: the first one that fits is taken.
_PICTURES = ((60, False), (24, False), (16, True), (8, True))
#: What a row of a picture takes at least; what cannot fit is not drawn to find out.
_ROW_BYTES = 400
_TEXT, _PICTURE = "text/plain", "image/png"
#: Where a PNG says how large it is (bytes 16-24 of every PNG, big-endian).
_PNG_WIDTH, _PNG_HEIGHT = slice(16, 20), slice(20, 24)


def bundle(
    doc: Trace | Sweep, *, view: str | None = None
) -> tuple[dict[str, object], dict[str, object]]:
    """Return data and metadata of an output, for ``_repr_mimebundle_`` or ``display(raw=True)``.

    Parameters
    ----------
    doc
        A trace or a sweep; of more than 20,000 spans the longest are embedded.
    view
        A name of ``text.VIEWS``, also handed to the front end.

    Returns
    -------
    (dict, dict)
        ``text/plain``, ``image/png`` (base64) and the JSON document; width, height and alternative
        text of the picture. Where no picture can be drawn there is none, and the document and the
        text say why.

    Raises
    ------
    UsageError
        If there is no view of that name.

    Notes
    -----
    Up to 60 rows the output stays near 40 kB: where text and document are large, the picture shows
    the largest stages and the sum of the others.

    nbconvert (classic template) and nbsphinx read the alternative text at ``image/png``: ``alt``,
    the place that the Jupyter enhancement pre-proposal 120 would make the rule; JupyterLab 4.6
    sets no alternative text on images at all. It stands inside the PNG as well.
    """
    doc = embedded(doc)
    said = text(doc, view=view)
    data: dict[str, object] = {_TEXT: said, MIME_TYPE: to_document(doc)}
    metadata: dict[str, object] = {MIME_TYPE: {"view": view}} if view else {}
    try:
        picture = _picture(doc, view, MOST_BYTES - _written_bytes(data))
    except Exception as error:  # noqa: BLE001  (no picture must not cost the result)
        noted = _noted(doc, error)
        bare = {_TEXT: text(noted, view=view), MIME_TYPE: to_document(noted)}
        return {**bare, **_widget(noted, view)}, metadata
    width, height = (int.from_bytes(picture[at], "big") for at in (_PNG_WIDTH, _PNG_HEIGHT))
    metadata[_PICTURE] = {"width": width, "height": height, "alt": alt_text(doc)}
    drawn = {_PICTURE: base64.b64encode(picture).decode("ascii")}
    return {**data, **drawn, **_widget(doc, view)}, metadata


def _widget(doc: Trace | Sweep, view: str | None) -> dict[str, object]:
    """Return the live widget where our extension is not (VS Code, Colab, marimo), if it can be."""
    try:
        return widget_view(doc, view=view)
    except Exception:  # noqa: BLE001  (text, picture and document are there without it)
        return {}


def _picture(doc: Trace | Sweep, view: str | None, room_bytes: int) -> bytes:
    """Return the fullest picture that fits; the smallest one where none does."""
    count = len(doc.waterfall.rows) if isinstance(doc, Trace) and doc.waterfall else 0
    *fuller, smallest = _PICTURES
    for most_rows, is_brief in fuller:
        if min(count, most_rows) * _ROW_BYTES > room_bytes:
            continue
        picture = png(doc, view=view, most_rows=most_rows, is_brief=is_brief)
        if len(picture) * 4 / 3 <= room_bytes:
            return picture
    return png(doc, view=view, most_rows=smallest[0], is_brief=smallest[1])


def _written_bytes(data: dict[str, object]) -> int:
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def _noted(doc: Trace | Sweep, error: Exception) -> Trace | Sweep:
    note = (
        f"no picture could be drawn ({type(error).__name__}: {error}); text and data are complete"
    )
    return replace(doc, quality=replace(doc.quality, notes=(*doc.quality.notes, note)))
