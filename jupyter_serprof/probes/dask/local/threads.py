"""Whether threads of a computation ran side by side, or one at a time for want of Python's lock.

A thread that waits for the lock sleeps; one that runs, or waits for a core, is told by the system.
Source: Linux, /proc/self/task/*/schedstat: time on a core and time on the queue for one, ns.
"""

import time
from collections.abc import Collection, Iterable
from typing import Any

from jupyter_serprof.capture.freeze import Draft
from jupyter_serprof.probes.dask.agent.totals import ran_ns, since

#: A computation that is shorter is not told; a look at all threads takes up to a millisecond.
_LEAST_NS, _AGE_NS = 100_000_000, 20_000_000
#: When it was looked last, and what was seen: a loop of computations looks once in a while.
_looked: list[tuple[int, dict[int, tuple[int, int]]]] = [(-_AGE_NS, {})]


def note_start(args: Any, kwargs: Any) -> Any:  # noqa: ANN401
    """Look before the computation, if the last look is too old."""
    if time.monotonic_ns() - _looked[0][0] > _AGE_NS:
        _looked[0] = time.monotonic_ns(), ran_ns()
    return args, kwargs, _looked[0]


def note_end(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note how long each thread was ready in a computation that took long enough."""
    if time.monotonic_ns() - token[0] < _LEAST_NS:
        return None
    return since(token[1])


def tell_ready(drafts: Iterable[Draft], role: str, idents: Collection[int]) -> None:
    """Tell of each computation how long the threads of its tasks were ready, all together."""
    for draft in drafts:
        if draft.role == role and isinstance(draft.extra, dict):
            draft.details |= ready(draft.extra.get(ident, (0, 0)) for ident in idents)
            draft.extra = None


def ready(taken: Iterable[Collection[int]]) -> dict[str, int]:
    """Return how long threads that ran and waited for a core for so long were ready, as a detail.

    Those that waited longer for a core than they ran had a machine that was busy with others.
    """
    ran, waited = map(sum, zip((0, 0), *taken, strict=True))
    return {"ready_ns": ran + waited} if waited <= ran else {}
