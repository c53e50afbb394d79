"""The built front end: one bundle for each kind of document, so that each stays small."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from jupyter_serprof.model import DocumentError, Sweep

if TYPE_CHECKING:
    from jupyter_serprof.model import Trace

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
