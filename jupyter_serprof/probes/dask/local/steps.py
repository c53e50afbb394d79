"""The steps of a computation in this process: nested calls kept once, what is left given a name."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

from jupyter_serprof.capture.draft import MAIN_LANE, Draft, Run

COMPUTE = "dask.compute"
MATERIALIZE = "dask.materialize"
LOW_LEVEL = "dask.lowlevel"
SHUTDOWN = "dask.shutdown"
#: Calls that run a graph: with threads, synchronously, with processes; then others of this family.
GETS = ("dask.get:threads", "dask.get:synchronous", "dask.get:processes")
GET = "dask.get:"
#: Of a call inside one of the same role, the outer one says it all.
_ONCE = ("dask.prepare", "dask.optimize", MATERIALIZE, LOW_LEVEL)
_BEFORE = ("dask.prepare", "dask.optimize")
#: Reading a future that is done is part of the scheduler's loop.
_DONE_NS = 50_000


def is_get(draft: Draft) -> bool:
    """Tell whether a draft is the run of a graph by a scheduler of this process."""
    return draft.role.startswith(GET)


def complete_steps(run: Run) -> None:
    """Drop what is counted already or is somebody else's; complete the calls of compute."""
    has_cluster = "distributed" in sys.modules
    for draft in run.drafts:
        draft.is_dropped |= _is_counted(draft) or (has_cluster and _is_of_scheduler(draft))
    children = _children(run.drafts)
    for draft in [draft for draft in run.drafts if draft.role == COMPUTE]:
        _complete_compute(run, draft, children.get(id(draft), ()))


def _is_counted(draft: Draft) -> bool:
    if draft.role in _ONCE:
        return draft.is_inside(draft.role)
    if draft.role == "python.wait":
        is_done = draft.end - draft.start < _DONE_NS and _is_in_get(draft)
        return is_done or draft.is_inside(SHUTDOWN)
    if draft.role == "dask.spawn":
        return not _is_in_get(draft)
    if draft.role == SHUTDOWN:
        return not (draft.is_inside(COMPUTE) or _is_in_get(draft))
    return False


def _is_in_get(draft: Draft) -> bool:
    return any(is_get(above) for above in draft.ancestors())


def _is_of_scheduler(draft: Draft) -> bool:
    """Tell whether a step was taken by a scheduler of a cluster that lives in this process.

    Its agent tells of the same step.
    """
    is_step = draft.role in {MATERIALIZE, LOW_LEVEL} and draft.lane != MAIN_LANE
    return is_step and not draft.is_inside(COMPUTE) and not _is_in_get(draft)


def _children(drafts: Sequence[Draft]) -> Mapping[int, list[Draft]]:
    found: dict[int, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.parent is not None and not draft.is_dropped:
            found[id(draft.parent)].append(draft)
    return found


def _complete_compute(run: Run, compute: Draft, children: Sequence[Draft]) -> None:
    """Name what follows the scheduler; where no scheduler was seen, claim nothing of its time."""
    ran = [d for d in children if d.stage.startswith("dask.") and d.stage not in _BEFORE]
    if ran:
        last = max(draft.end for draft in ran)
        if compute.name == "compute" and last < compute.end:
            tail = Draft("dask.gather", "repack", compute.lane, last, compute.end, "dask.repack")
            tail.parent = compute
            run.drafts.append(tail)
        return
    before = [draft.end for draft in children if draft.stage in _BEFORE]
    if before and "error" not in compute.details:
        compute.end = max(before)
