"""The place of a cell where a picture grows and the document stays, long after the cell was run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from jupyter_serprof.model import Sweep
from jupyter_serprof.views.notebook.bundle import bundle
from jupyter_serprof.views.notebook.widget import widget_for

if TYPE_CHECKING:
    from jupyter_serprof.panel.parts import Document


class Place:
    """An output that is reserved while the cell runs, and filled later.

    Parameters
    ----------
    waiting
        What stands there until something is measured.

    Notes
    -----
    What a button does belongs to no cell: an output of its own would be lost. So this one is made
    with the panel. While something runs it holds a widget, afterwards the document: the notebook
    that is saved shows it without a kernel.
    """

    def __init__(self, waiting: str) -> None:
        self._handle: Any = _display({"text/plain": waiting}, display_id=True)
        # Made now: front ends load the code of a widget when they first hear of it, and the first
        # point must not wait for that.
        self._widget: Any = widget_for(Sweep(name="", started="", kind="sweep"), view="sweep")
        self._is_growing = False

    def grow(self, doc: Sweep) -> None:
        """Draw what is known by now."""
        if self._is_growing:
            self._widget.show(doc)
            return
        self._widget.view = "roundtrip" if doc.kind == "roundtrip" else "sweep"
        self._widget.show(doc)
        self._handle.update(self._widget._repr_mimebundle_()[0], raw=True)
        self._is_growing = True

    def settle(self, doc: Document) -> None:
        """Leave the document in the form that is saved."""
        data, metadata = bundle(doc)
        self._handle.update(data, metadata=metadata, raw=True)
        self._is_growing = False

    def close(self) -> None:
        """Grow no more."""
        self._widget.close()


def show_panel(widget: Any, words: str) -> Any:  # noqa: ANN401  (an ipywidgets Box; a handle)
    """Display a panel; ``words`` is what a notebook that was saved with it shows without kernel."""
    data = {**widget._repr_mimebundle_(), "text/plain": words}
    return _display(data, display_id=True)


def _display(data: dict[str, Any], **options: bool) -> Any:  # noqa: ANN401  (a handle)
    return sys.modules["IPython"].display.display(data, raw=True, **options)
