"""Loops that look for a result and sleep until they look again: a wait like any other.

In: looks of the caller's thread, each with what the clock of that thread said, which stands while
the thread sleeps. Out: the sleep between two looks as a wait. Code that works between them keeps
its time, and so does all that follows a look which found what it was for.
"""

import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft
from jupyter_serprof.capture.hook import Place

LOOK, LAUNCH, _WAIT = "python.look", "python.launch", "ray.wait"
#: Of the time between two looks, that the thread worked; who sleeps works less.
_WORKED = 4
#: The clock of a thread of Windows moves in steps longer than most sleeps.
_IS_FINE = sys.platform != "win32"
#: In a browser there is one thread, and its clock is that of the process.
_ran_ns = getattr(time, "thread_time_ns", time.process_time_ns)


def looking(
    path: str, is_done: Callable[[Any, Any], bool], stage: str = "python.wait", role: str = LOOK
) -> Place:
    """Return a place where somebody looks; ``is_done`` is asked with arguments and result."""
    # It notes the time of the thread before and after, ns, and whether what was looked for is
    # there.
    return Place(
        *(path, stage, role),
        before=lambda args, kwargs: (args, kwargs, _ran_ns()),
        after=lambda at, _, kwargs, found: (at, _ran_ns(), is_done(kwargs, found)),
        joins=True,
        parted=lambda _: (None, 0),
        whole=lambda *_: None,
    )


_STATUS = "joblib.parallel:BatchCompletionCallBack.get_status"
#: What is asked again and again until something is there.
LOOKS = (
    looking("distributed.client:Future.done", lambda _, is_done: is_done),
    looking(_STATUS, lambda _, status: status != "Pending"),
    Place("joblib.externals.loky.backend.popen_loky_posix:Popen._launch", "python.wait", LAUNCH),
)


def tell_start(drafts: Sequence[Draft]) -> None:
    """Tell of the first process of a pool how long the first answer took, beyond those after it."""
    launched = [draft for draft in drafts if draft.role == LAUNCH]
    begun, count = min((draft.start for draft in launched), default=0), len(launched)
    done = [d.start for d in drafts if d.role == LOOK and d.extra and d.extra[2]]
    done = sorted(at for at in done if at > begun)
    if len(done) > count > 0:
        each_ns = (done[-1] - done[0]) * count // (len(done) - count)
        launched[0].details["start_ns"] = max(0, done[0] - begun - each_ns)


def sleeps_between(drafts: Sequence[Draft]) -> Iterator[Draft]:
    """Yield the sleeps between looks that follow each other, with nothing else between them."""
    own = sorted((d for d in drafts if d.lane == MAIN_LANE), key=lambda draft: draft.start)
    looks = [draft for draft in own if draft.role in (LOOK, _WAIT) and draft.extra]
    begins = [draft.start for draft in own]
    for one, other in pairwise(looks if _IS_FINE else ()):
        (_, from_ns, is_done), (until_ns, *_) = one.extra, other.extra
        gap_ns, worked_ns = other.start - one.end, until_ns - from_ns
        is_next = own[bisect_left(begins, one.end)] is other and one.parent is other.parent
        if is_next and not is_done and _WORKED * worked_ns <= gap_ns:
            start = other.start - gap_ns + max(0, worked_ns)
            yield Draft("python.wait", one.name, MAIN_LANE, start, other.start, parent=one.parent)
