"""Copies: which objects the tasks of a process take, and when copies of them are seen where.

The owner of an object knows where its copies are. Source: Ray 2.60.0, _raylet.pyx:
CoreWorker.get_local_object_locations, which asks nobody; before, the owner is asked, which is
mostly this process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any

from .notes import clock

#: Copies are asked for so often, s, and for no more than this part of the time; of so many objects.
_SOONEST_S, _PART, _MOST_OBJECTS = 0.002, 50, 1_000
#: Of more tasks it is not known which arguments they have.
_MOST_TASKS = 20_000


class Copies:
    """What the tasks take that this process submits, and where it is.

    ``pending``: Returns the tasks of this process that are not over.
    """

    def __init__(self, pending: Callable[[], set[bytes]]) -> None:
        self._pending = pending
        #: By task, the objects that it takes; those of which it is not over.
        self.given: dict[bytes, tuple[bytes, ...]] = {}
        self._open: dict[bytes, tuple[bytes, ...]] = {}
        #: By object and node, when a copy was first seen there; sizes.
        self.came: dict[tuple[bytes, str], int] = {}
        self.sizes: dict[bytes, int] = {}
        #: Whether there is one node only, where everything is.
        self.is_one = False
        #: Who looks, once there is something to look for.
        self.wake: Callable[[], object] = bool

    def note(self, task: bytes | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note which objects a task takes that was submitted by a call with such arguments."""
        if task is None or len(self.given) >= _MOST_TASKS:
            return
        kind = sys.modules["ray"].ObjectRef
        given = dict(zip(("self", "args", "kwargs"), args, strict=False), **kwargs)
        values = (*(given.get("args") or ()), *(given.get("kwargs") or {}).values())
        if idents := tuple(bytes(one.binary()) for one in values if type(one) is kind):
            self.given[task] = idents
            if not self.is_one:
                is_first, self._open[task] = not self._open, idents
                _ = is_first and self.wake()

    def look(self) -> float:
        """See where the arguments of tasks are that are not over; return when to look again, s."""
        if not self._open or self.is_one:
            self._open.clear()
            return inf
        start, pending, ours = time.thread_time(), self._pending(), list(self._open)
        idents = {each for task in ours for each in self._open[task]}
        for ident, told in places_of(list(idents)[:_MOST_OBJECTS]).items():
            at = clock() if ident in self.sizes else 0  # it was there
            self.sizes[ident] = told["object_size"] or self.sizes.get(ident, 0)  # it may be freed
            for node in told["node_ids"]:
                self.came.setdefault((ident, node), at)
        for task in set(ours) - pending:
            del self._open[task]
        return max(_SOONEST_S, _PART * (time.thread_time() - start))


def places_of(idents: Collection[bytes]) -> dict[bytes, Mapping[str, Any]]:
    """Return ``node_ids``, ``did_spill`` and ``object_size`` of objects that are referred to here.

    Each reference counts itself until it goes. One that skips that takes one of the user along.
    """
    ray, core = sys.modules["ray"], sys.modules["ray._private.worker"].global_worker.core_worker
    refs = [ray.ObjectRef(one) for one in idents]
    ask = getattr(core, "get_local_object_locations", None) or ray.experimental.get_object_locations
    return {bytes(ref.binary()): told for ref, told in ask(refs).items()}


def task_id(submitted: object) -> bytes | None:
    """Return the id of the task that made a reference, a generator or an actor; None: not told."""
    # A task of no results (``num_returns=0``) gives nothing back.
    first: Any = submitted[0] if isinstance(submitted, list) and submitted else submitted
    actor = getattr(first, "_ray_actor_id", None)
    if actor is not None:
        return bytes(sys.modules["ray"].TaskID.for_actor_creation_task(actor).binary())
    reference = getattr(first, "_generator_ref", first)
    return bytes(reference.task_id().binary()) if hasattr(reference, "task_id") else None
