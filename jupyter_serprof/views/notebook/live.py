"""A view while something runs, which the document replaces when it is done."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from jupyter_serprof.views.notebook.bundle import bundle
from jupyter_serprof.views.notebook.widget import front_end, widget_for
from jupyter_serprof.views.text import text

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from jupyter_serprof.model import Sweep, Trace

#: At most ten pictures a second: what is measured must not wait for what is shown.
BETWEEN_S = 0.1


class Live:
    """Shows a growing document; leaving the block leaves the saved form of the last one.

    Parameters
    ----------
    view
        Name of a view; None chooses the one that fits.
    clock
        Gives seconds; for tests.

    Notes
    -----
    In a notebook the picture is a widget behind a display handle. At the end, also after an error,
    the handle is given the document: the notebook that is saved holds no trace of the widget. In a
    terminal the last document is printed, once.

    Examples
    --------
    >>> from jupyter_serprof.testing import make_trace
    >>> with Live() as live:
    ...     live.show(make_trace([("gc", "client/main", 0, 1)]))
    """

    def __init__(
        self, *, view: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._view = view
        self._clock = clock
        self._next_s = 0.0
        self._last: Trace | Sweep | None = None
        self._widget: Any = None
        self._handle: Any = None

    @property
    def is_seen(self) -> bool:
        """Whether there is a front end that draws what is shown before the end."""
        return front_end() not in ("none", "terminal")

    def show(self, doc: Trace | Sweep) -> None:
        """Draw what is known by now; more than ten a second are left out."""
        self._last = doc
        now_s = self._clock()
        if not self.is_seen or (self._widget and now_s < self._next_s):
            return
        self._next_s = now_s + BETWEEN_S
        if self._widget is None:
            self._widget = widget_for(doc, view=self._view)
            self._handle = _display(self._widget._repr_mimebundle_()[0], {}, display_id=True)
        else:
            self._widget.show(doc)

    def replace(self, doc: Trace | Sweep) -> bool:
        """Put the document in the place of the picture, in the form that is saved.

        Returns
        -------
        bool
            False, and nothing was done, where no picture is shown.
        """
        self._last = None
        if self._handle is None:
            return False
        data, metadata = bundle(doc, view=self._view)
        self._handle.update(data, metadata=metadata, raw=True)
        self._widget.close()
        self._handle = self._widget = None
        return True

    def __enter__(self) -> Self:
        """Show nothing yet: nothing is known."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Leave the last document, in the form that is saved."""
        if self._last is None or front_end() == "none":
            return
        if front_end() == "terminal":
            print(text(self._last, view=self._view))  # noqa: T201  (a terminal shows nothing else)
            return
        last = self._last
        if not self.replace(last):
            data, metadata = bundle(last, view=self._view)
            _display(data, metadata)


def _display(data: dict[str, Any], metadata: dict[str, Any], **options: bool) -> object:
    shown: object = sys.modules["IPython"].display.display(
        data, metadata=metadata, raw=True, **options
    )
    return shown
