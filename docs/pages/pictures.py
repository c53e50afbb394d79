"""Documents as pictures in a page: alive with a script, a PNG without one."""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cache
from pathlib import Path

from jupyter_serprof.model import Sweep, Trace, from_document, load, to_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.views.figure import alt_text, png
from jupyter_serprof.views.notebook.page import KINDS, asset, kind_of

_EXPORT = re.compile(r"export\s*\{\s*([\w$]+) as default\s*\};?\s*$")


def picture(doc: Trace | Sweep, data: dict[str, object] | None = None, image: str = "") -> str:
    """Return the element of a document; the script of the site draws into it.

    Parameters
    ----------
    data, image
        The document as it was saved, and its PNG (base64), where both are there already.
    """
    text = json.dumps(data or to_document(doc), separators=(",", ":")).replace("<", "\\u003c")
    shown = image or base64.b64encode(png(doc)).decode("ascii")
    said = html.escape(alt_text(doc), quote=True).replace("\n", " ")
    return (
        f'<div class="serprof" data-kind="{kind_of(doc)}">'
        f'<img src="data:image/png;base64,{shown}" alt="{said}">'
        f'<script type="{MIME_TYPE}">{text}</script></div>'
    )


def block(doc: Trace | Sweep) -> str:
    """Return the picture as a block of MyST."""
    return f"```{{raw}} html\n{picture(doc)}\n```\n"


def pages(root: Path) -> dict[str, str]:
    """Return the pictures that pages written by hand include."""
    shown = {"index": "dask.repeated-payload", "read": "ray.captured-variable"}
    places = {name: next((root / "docs/documents").glob(f"{key}@*")) for name, key in shown.items()}
    return {f"made/{name}.md": block(load(path)) for name, path in places.items()}


def of_output(data: dict[str, object]) -> str:
    """Return the picture of an output of a notebook."""
    document = data[MIME_TYPE]
    image = "".join(data.get("image/png", ""))
    return picture(from_document(document), document, image.replace("\n", ""))


@cache
def scripts() -> dict[str, str]:
    """Return script and style of each kind as files that also work where no server is."""
    files = {}
    for kind in KINDS:
        module = asset(f"{kind}.js")
        body, found = _EXPORT.subn(rf"(window.serprof ??= {{}}).{kind} = \1;", module)
        if found != 1:
            message = f"static/{kind}.js has another export than expected: {module[-80:]}"
            raise ValueError(message)
        files[f"serprof-{kind}.js"] = f"(() => {{{body}}})();\n"
        files[f"serprof-{kind}.css"] = asset(f"{kind}.css")
    return files
