"""The output of a notebook cell: text, picture, document."""

import base64
import json

from jupyter_serprof.model import Sweep, Trace, to_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.figure import alt_text, png
from jupyter_serprof.views.kit.pages import linked
from jupyter_serprof.views.notebook.thin import embedded, noted
from jupyter_serprof.views.notebook.widget import widget_view
from jupyter_serprof.views.text import screen_width, text

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

    ``doc``: A trace or a sweep; of more than 20,000 spans the longest are embedded.
    ``view``: A name of ``text.VIEWS``, also handed to the front end.

    ``text/plain``, ``image/png`` (base64) and the JSON document; width, height and alternative
    text of the picture. Where no picture can be drawn there is none, and the document and the
    text say why.

    Raises ``UsageError``: If there is no view of that name.

    Up to 60 rows the output stays near 40 kB: where text and document are large, the picture shows
    the largest stages and the sum of the others.

    nbconvert (classic template) and nbsphinx read the alternative text at ``image/png``: ``alt``;
    JupyterLab 4.6 sets none on images at all. It stands inside the PNG as well.
    """
    doc = embedded(doc)
    said = text(doc, view=view, width=screen_width())
    data: dict[str, object] = {_TEXT: said, MIME_TYPE: linked(to_document(doc))}
    metadata: dict[str, object] = {MIME_TYPE: {"view": view}} if view else {}
    try:
        written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        picture = _picture(doc, MOST_BYTES - len(written.encode(errors="replace")))
    except Exception as error:  # noqa: BLE001  (no picture must not cost the result)
        why = f"no picture could be drawn ({type(error).__name__}: {error})"
        doc = noted(doc, f"{why}; text and data are complete")
        data[_TEXT] = text(doc, view=view, width=screen_width())
        data[MIME_TYPE] = linked(to_document(doc))
        return {**data, **widget_view(doc, view)}, metadata
    width, height = (int.from_bytes(picture[at], "big") for at in (_PNG_WIDTH, _PNG_HEIGHT))
    metadata[_PICTURE] = {"width": width, "height": height, "alt": alt_text(doc)}
    drawn = {_PICTURE: base64.b64encode(picture).decode("ascii")}
    return {**data, **drawn, **widget_view(doc, view)}, metadata


def _picture(doc: Trace | Sweep, room_bytes: int) -> bytes:
    """Return the fullest picture that fits; the smallest one where none does."""
    count = len(doc.waterfall.rows) if isinstance(doc, Trace) and doc.waterfall else 0
    *fuller, smallest = _PICTURES
    for most_rows, is_brief in fuller:
        if min(count, most_rows) * _ROW_BYTES > room_bytes:
            continue
        picture = png(doc, most_rows=most_rows, is_brief=is_brief)
        if len(picture) * 4 / 3 <= room_bytes:
            return picture
    return png(doc, most_rows=smallest[0], is_brief=smallest[1])
