"""Ctrl-C around our own work: it waits until nothing is left half done, and is pressed once."""

import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Self


class held:  # noqa: N801  (used like a keyword: with held())
    """Keep Ctrl-C until the end of the block, then hand it to whoever would have got it.

    For arming, disarming, freezing: short work of our own, never code of the user. What waits in
    there asks `is_pressed` and gives up. Inside another one, and in threads that never hear Ctrl-C,
    it does nothing.
    """

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._pressed: list[FrameType | None] = []

    def __enter__(self) -> Self:
        """Stand before the handler of Ctrl-C, if it is one of Python."""
        before = signal.getsignal(signal.SIGINT)
        if callable(before) and _holder(before) is None:
            with suppress(ValueError):  # not the main thread
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        """Put the handler back, and call it if Ctrl-C was pressed meanwhile."""
        if self._before is not None and _holder(signal.getsignal(signal.SIGINT)) is self:
            signal.signal(signal.SIGINT, self._before)
            if self._pressed:
                self._before(signal.SIGINT, self._pressed[0])

    def _note(self, _: int, frame: FrameType | None) -> None:
        self._pressed.append(frame)


def is_pressed() -> bool:
    """Tell whether Ctrl-C waits for the end of a `held` block; from any thread."""
    holder = _holder(signal.getsignal(signal.SIGINT))
    return holder is not None and bool(holder._pressed)  # noqa: SLF001  (the one class of this file)


def _holder(handler: object) -> held | None:
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, held) else None
