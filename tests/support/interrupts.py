"""Ctrl-C at a chosen line."""

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Self


class InterruptAt:
    """Presses Ctrl-C at the n-th line that runs in some files."""

    def __init__(self, line_count: int, *files: str) -> None:
        self.left = line_count
        self.files = files
        self.was_pressed = False

    def __call__(self, frame: FrameType, event: str, _: object) -> Self | None:
        """Trace one event, as `sys.settrace` wants it."""
        if frame.f_code.co_filename not in self.files:
            return None
        if event == "line" and not self.was_pressed:
            self.left -= 1
            if self.left == 0:
                self.was_pressed = True
                signal.raise_signal(signal.SIGINT)
        return self


def pressed(call: Callable[[], object], line_count: int, *files: str) -> bool:
    """Call with Ctrl-C pressed at the n-th line of some files; tell whether it was."""
    press, tracing = InterruptAt(line_count, *files), sys.gettrace()
    sys.settrace(press)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(tracing)
    return press.was_pressed
