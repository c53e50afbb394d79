"""Documents through anywidget: for front ends without our extension, and while something runs.

The classes are made when they are first asked for: what they import takes 300 ms to load.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cache
from typing import Any

from jupyter_serprof.model import Sweep, Trace, to_document

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
#: Front ends that do not know our MIME type but run anywidget.
WITHOUT_EXTENSION = ("colab", "vscode")
_WAITING, _EMPTY_MODULE = b"{}", "export default {}"
#: By the kind of document whose views they bring.
_NAMES = {"trace": "TraceWidget", "sweep": "SweepWidget", "anatomy": "AnatomyWidget"}


def front_end() -> str:
    """Return who shows what is displayed now.

    ``"colab"``, ``"marimo"``, ``"vscode"``, ``"jupyter"`` (JupyterLab, Notebook 7, nbclient,
    nbconvert: a kernel does not know which), ``"terminal"`` or ``"none"`` (a program).

    Nothing is asked: modules that are loaded and names in the user's namespace tell. VS Code gives
    its kernels the name ``__vsc_ipynb_file__``; its environment variables would also be seen by a
    JupyterLab that was started in its terminal.
    """
    if "google.colab" in sys.modules:
        return "colab"
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return "marimo"
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return "none"
    if "__vsc_ipynb_file__" in shell.user_ns:
        return "vscode"
    return "jupyter" if hasattr(shell, "kernel") else "terminal"


def widget_for(doc: Trace | Sweep, *, view: str | None = None, stop: str = "") -> Any:  # noqa: ANN401
    """Return a ``TraceWidget``, ``SweepWidget`` or ``AnatomyWidget`` that draws the document.

    Raises ``UsageError``: If there is no view of that name.
    Raises ``DocumentError``: If the front end was not built.
    """
    from jupyter_serprof.views.notebook.page import kind_of

    return widget_classes()[kind_of(doc)](doc, view=view, stop=stop)


def widget_view(doc: Trace | Sweep, view: str | None = None) -> dict[str, object]:
    """Return what an output also carries where our extension is not: the widget, if it can be.

    >>> from jupyter_serprof.testing import make_trace
    >>> widget_view(make_trace([("gc", "client/main", 0, 1)]))
    {}
    """
    with suppress(Exception):  # text, picture and document are there without it
        if front_end() in WITHOUT_EXTENSION:
            return {WIDGET_VIEW: widget_for(doc, view=view)._repr_mimebundle_()[0][WIDGET_VIEW]}
    return {}


def _encoded(doc: Trace | Sweep) -> bytes:
    from jupyter_serprof.views.kit.pages import linked
    from jupyter_serprof.views.notebook.thin import embedded

    return json.dumps(linked(to_document(embedded(doc))), separators=(",", ":")).encode("ascii")


@cache
def widget_classes() -> dict[str, Any]:
    """Return the widget of each kind of document; the first time it imports them."""
    import anywidget
    import traitlets

    from jupyter_serprof.views.notebook.page import asset
    from jupyter_serprof.views.text import text

    class DocumentWidget(anywidget.AnyWidget):
        """Draws one document; ``show`` replaces it.

        A bundle brings the views of one kind; of a document of another kind it shows what it can.
        """

        document = traitlets.Bytes(_WAITING).tag(sync=True)
        #: While it grows there is how far it is, and the command of the front end that stops it.
        view, told, stop = (traitlets.Unicode("").tag(sync=True) for _ in range(3))

        def __init__(self, doc: Trace | Sweep, *, view: str | None, stop: str) -> None:
            self._said = text(doc, view=view)
            room = {"min_height": "155px"}  # of the line, until it is drawn
            super().__init__(document=_encoded(doc), view=view or "", stop=stop, layout=room)

        def show(self, doc: Trace | Sweep) -> None:
            self._said = text(doc, view=self.view or None)
            self.document = _encoded(doc)

        def close(self) -> None:
            """Empty it first: nbclient saves the state of closed widgets, too."""
            with self.hold_sync():
                self._esm, self._css, self.document = _EMPTY_MODULE, "", _WAITING
            super().close()

        def __repr__(self) -> str:
            """Say in words what is drawn: an untrusted notebook shows nothing else."""
            return self._said

        def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, object], dict[str, object]]:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
            return {"text/plain": self._said, WIDGET_VIEW: view}, {}

    # Each brings the views of its kind.
    return {
        kind: type(
            name, (DocumentWidget,), {"_esm": asset(f"{kind}.js"), "_css": asset(f"{kind}.css")}
        )
        for kind, name in _NAMES.items()
    }


def display(data: dict[str, Any], **options: Any) -> Any:  # noqa: ANN401  (IPython's words; a handle)
    """Display an output of some MIME types."""
    return sys.modules["IPython"].display.display(data, raw=True, **options)
