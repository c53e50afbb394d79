"""A document as one self-contained page: it opens from a file, offline, with no request."""

import base64
import html as entities
import json
import re
from functools import cache
from importlib.resources import files

from jupyter_serprof.model import DocumentError, Sweep, Trace, to_document
from jupyter_serprof.model.units import clean
from jupyter_serprof.views.figure import alt_text, png
from jupyter_serprof.views.kit.pages import linked
from jupyter_serprof.views.text import text

#: Of each there are a script, a style and the template of a page in ``static/``.
KINDS = ("trace", "sweep", "anatomy")


def kind_of(doc: Trace | Sweep) -> str:
    """Return which of ``KINDS`` has the views that a document needs."""
    if isinstance(doc, Sweep):
        return "sweep"
    return "anatomy" if doc.anatomies else "trace"


@cache
def asset(name: str) -> str:
    """Return the text of a built file.

    Raises ``DocumentError``: If the front end was not built (a source tree without ``uv sync``).
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


def html(doc: Trace | Sweep) -> str:
    """Return a document as a page that is complete in itself.

    Every span of a trace or a sweep goes into it. Its policy allows the one script inside and no
    request of any kind. A reader without scripts sees the picture and the text.

    Raises ``DocumentError``: If the front end was not built (a source tree without ``uv sync``).

    The document lies in the page as JSON text of a type that no browser executes, with every ``<``
    as an escape: no text of a document can end that element or open another.
    """
    written = json.dumps(linked(to_document(doc)), separators=(",", ":"))
    parts = {
        "title": entities.escape(clean(doc.name)),
        "view": "",
        # Lone surrogates of damaged names stay escaped: the page is written as UTF-8.
        "document": written.replace("<", "\\u003c"),
        "fallback": _fallback(doc),
    }
    # In one pass: what is filled in is never searched for places.
    # Built by ``npm run build:hosts``: script, style and policy of the page are in it.
    return _PLACE.sub(lambda place: parts[place[1]], asset(f"{kind_of(doc)}.html"))


def _fallback(doc: Trace | Sweep) -> str:
    # What can be encoded: half a surrogate pair becomes a question mark.
    said = text(doc).encode("utf-8", "replace").decode("utf-8")
    said = f"<pre>{entities.escape(said)}</pre>"
    try:
        picture = base64.b64encode(png(doc, is_brief=True)).decode("ascii")
    except Exception:  # noqa: BLE001  (no picture must not cost the page; the text says the same)
        return said
    alt = entities.escape(alt_text(doc))
    return f'<img src="data:image/png;base64,{picture}" alt="{alt}">\n{said}'
