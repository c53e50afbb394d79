"""What a thread is in right now, seen from another one."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import TypeVar

from jupyter_serprof.capture.recorder import paused_collector

Found = TypeVar("Found")
#: Until Python 3.12 the collector may run inside of ``frame.f_back``, as that makes a frame object.
#: What it calls lets go of the interpreter, and the frame that is asked for returns meanwhile:
#: the process ended with a segmentation fault.
IS_SAFE = sys.version_info >= (3, 12)


def stack_of(thread: int, read: Callable[[FrameType], Found]) -> list[Found]:
    """Return what is read of each frame of a thread, the innermost first; no frame is held."""
    found = []
    with nullcontext() if IS_SAFE else paused_collector():
        frame = sys._current_frames().get(thread)  # noqa: SLF001  (documented, for debuggers)
        while frame is not None:
            found.append(read(frame))
            frame = frame.f_back
    return found
