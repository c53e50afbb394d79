"""The user's own marks: ``with sp.span("load model")`` shows up as a stage of its own."""

from __future__ import annotations

from threading import get_ident
from types import TracebackType

from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.recorder import Recorder, active_recorders
from jupyter_serprof.model.stages import MARK


class span:  # noqa: N801  (used like a keyword: with sp.span(...))
    """Mark a part of your own code; free when nothing records.

    Parameters
    ----------
    name
        What the picture calls it. It is saved with the document, so keep secrets out of it.

    Notes
    -----
    One mark may be used again and inside itself; threads need one each.

    Examples
    --------
    >>> with span("load model"):
    ...     pass
    """

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        # A mark kept in a variable may be open more than once, in a function that calls itself.
        self._open: list[tuple[tuple[Recorder, ...], int]] = []

    def __enter__(self) -> None:
        """Start the mark if somebody records."""
        recorders = active_recorders()
        self._open.append((recorders, recorders[0].now() if recorders else 0))

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the mark; an exception passes through."""
        recorders, start = self._open.pop()
        if not recorders:
            return
        end = recorders[0].now()
        place = Place(f"{MARK}{self._name}", f"{MARK}{self._name}", role="user")
        error_name = error_type.__name__ if error_type else None
        for recorder in recorders:
            recorder.add((place, get_ident(), start, end, None, None, error_name))
