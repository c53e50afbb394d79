"""Whether threads of a computation ran side by side, or one at a time for want of Python's lock.

A thread that waits for the lock sleeps; one that runs, or waits for a core, is told by the system.
Source: Linux, /proc/self/task/*/schedstat: time on a core and time on the queue for one, ns.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_serprof.capture.freeze import Draft

_TASKS = Path("/proc/self/task")
#: A computation that is shorter is not told; a look at all threads takes up to a millisecond.
_LEAST_NS, _AGE_NS = 100_000_000, 20_000_000
#: When it was looked last, and what was seen: a loop of computations looks once in a while.
_looked: list[tuple[int, int | None]] = [(-_AGE_NS, None)]


def note_start(args: Any, kwargs: Any) -> Any:  # noqa: ANN401
    """Look before the computation, if the last look is too old."""
    if time.monotonic_ns() - _looked[0][0] > _AGE_NS:
        _looked[0] = time.monotonic_ns(), ready_ns()
    return args, kwargs, _looked[0]


def note_end(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note how long threads were ready in a computation that took long enough."""
    (begin_ns, before_ns), end_ns = token, time.monotonic_ns()
    after_ns = ready_ns() if before_ns is not None and end_ns - begin_ns >= _LEAST_NS else None
    return None if before_ns is None or after_ns is None else after_ns - before_ns


def ready_ns() -> int | None:
    """Return how long all threads of this process ran or waited for a core; None elsewhere."""
    total = None
    for path in _TASKS.glob("*/schedstat"):
        with suppress(OSError, ValueError):  # it ended, or the system does not tell
            running, waiting, _ = path.read_text().split()
            total = (total or 0) + int(running) + int(waiting)
    return total


def tell_ready(drafts: Iterable[Draft], role: str) -> None:
    """Tell of each computation in threads how long they were ready, all together."""
    for draft in drafts:
        if draft.role == role and isinstance(draft.extra, int):
            draft.details["ready_ns"], draft.extra = draft.extra, None
