"""What a get waits for: producers, another node, a disk; and which tasks that were sent before."""

import sys
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from jupyter_serprof.capture.freeze import MAIN_LANE, Page
from jupyter_serprof.capture.hook import Place, note
from jupyter_serprof.capture.recorder import active_recorders
from jupyter_serprof.probes.ray.agent.copies import task_id
from jupyter_serprof.probes.ray.alive import has_raylet, pending_tasks
from jupyter_serprof.probes.ray.looks import keep_unnamed
from jupyter_serprof.probes.ray.values import SPLIT

_WAIT = Place("ray:get", "ray.wait", "ray.wait")
_PULL = Place("ray:get", "ray.pull", "ray.wait")


def split_get(args: Any, kwargs: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """Wait for the producers, then for the pull, and note both; the call follows unchanged."""
    given = dict(zip(("self", "object_refs", "timeout"), args, strict=False)) | kwargs
    timeout, references = given.get("timeout"), given.get("object_refs", ())
    for one in EARLIER:
        one.note(references)
    # With a timeout the waits would use up time that the call itself is promised.
    # A get of a small value needs no raylet; a wait for it does, and would end this process.
    if timeout in (None, -1) and references and _may_ask() and has_raylet():
        unique = list(dict.fromkeys(references))
        waits = ((_WAIT, False), (_PULL, True))
        took_ns = [_timed_wait(unique, place, fetch_local=local) for place, local in waits]
        IDLE_NS[0] += sum(one for one in took_ns if one < _AT_HAND_NS)
        return args, kwargs, SPLIT
    return args, kwargs, None


#: What waits took that found everything at hand, ns, in the recordings that run now.
IDLE_NS = [0]
_AT_HAND_NS, _FREE_NS, _MOST_PART = 500_000, 5_000_000, 20


def _may_ask() -> bool:
    recorders = active_recorders()
    ran_ns = recorders[0].now() - recorders[0].start_ns if recorders else 0
    return IDLE_NS[0] <= _FREE_NS + ran_ns // _MOST_PART


def _timed_wait(references: list[Any], place: Place, *, fetch_local: bool) -> int:
    import ray

    recorders = active_recorders()
    # It is no call of the user.
    wait = getattr(ray.wait, "original", ray.wait)
    start = recorders[0].now() if recorders else 0
    try:
        wait(references, num_returns=len(references), fetch_local=fetch_local)
    except KeyboardInterrupt as error:
        keep_unnamed(error, (None, references))
        raise
    finally:
        end = recorders[0].now() if recorders else 0
        note(recorders, (place, get_ident(), start, end, None, None, None))
    return end - start


#: A shorter get is not asked where its objects came from.
_LONG_NS = 20_000_000


def begin_get(args: Any, kwargs: Any) -> tuple[Any, Any, int]:  # noqa: ANN401
    """Note when a get began."""
    for one in EARLIER:
        one.note(args[1])  # as Ray gives them
    return args, kwargs, time.perf_counter_ns()


def came_from(token: Any, args: Any, kwargs: Any, result: Any) -> str | None:  # noqa: ANN401, ARG001
    """Return the stage of a long get of which most bytes were on another node, or had been spilled.

    This process knows it of what it owns or borrows, without a call. It does not say that something
    came in this very get; but what is here already is not waited for.
    """
    if time.perf_counter_ns() - token < _LONG_NS:
        return None
    core: Any = sys.modules["ray._private.worker"].global_worker.core_worker
    if not hasattr(core, "get_local_object_locations"):  # an older Ray asks the control store
        return None
    here = core.get_current_node_id().hex()
    given = dict(zip(("self", "object_refs"), args, strict=False)) | kwargs
    sizes = {"": 0, "ray.pull": 0, "ray.restore": 0}
    for told in core.get_local_object_locations(given["object_refs"]).values():
        far, restored = {*told["node_ids"]} - {here}, told["did_spill"]
        stage = "ray.pull" if far else "ray.restore" if restored else ""
        sizes[stage] += told["object_size"] or 0
    most = max(sizes, key=sizes.__getitem__)
    return most if 2 * sizes[most] > sum(sizes.values()) and most else None


#: Who waits less than such a part of the time waits for nothing.
_WAITS = frozenset(("ray.fetch", "ray.pull", "ray.restore", "ray.map", "ray.wait", "python.wait"))
_LEAST_WAIT = 100
_GETS = ("get", "Worker.get_objects")  # without an error, what these waited for is over


@dataclass(slots=True)
class Earlier:
    """Tasks that were under way when a recording began, and which of them its gets asked for."""

    tasks: set[bytes] = field(default_factory=set)
    got: set[bytes] = field(default_factory=set)

    def note(self, references: Iterable[Any]) -> None:
        """Note what a get asks for; of what was under way it may ask for what that takes, too."""
        found = self.tasks.intersection(map(task_id, references))
        if found and not self.got:
            with suppress(Exception):  # private to Ray
                core = sys.modules["ray._private.worker"].global_worker.core_worker
                counts = core.get_all_reference_counts().items()
                taken = [bytes.fromhex(one.decode()) for one, known in counts if known["submitted"]]
                found |= self.tasks.intersection(one[:24] for one in taken)
        self.got |= found

    def awaited(
        self, run: Page, submitted: Sequence[bytes | None], given: Iterable[Collection[bytes]]
    ) -> set[bytes]:
        """Return for which the caller may have waited; ``given``: objects that he sent along."""
        # Those that were over; where nothing was submitted and a wait was given up, the rest, too.
        here = (one for one in run.drafts if one.lane == MAIN_LANE and one.start < run.end)
        waits = [one for one in here if one.stage in _WAITS]  # after the end it is we who wait
        waited_ns = sum(one.end - one.start for one in waits)
        is_open = any("error" in one.details or one.name not in _GETS for one in waits)
        if not self.tasks or _LEAST_WAIT * waited_ns < run.end - run.start:
            return set()
        found = self.tasks - (set() if is_open and not submitted else pending_tasks())
        if any(one.name not in _GETS for one in waits):
            return found
        # A get says what it waits for: that, what that takes, and calls before it of its actor.
        wanted = self.got.union(one[:24] for idents in given for one in idents)
        actors = {one[8:20] for one in (*wanted, *submitted) if one} - {b"\xff" * 12}
        return {one for one in found if one in wanted or one[8:20] in actors}


#: Of the recordings that run, where something was under way.
EARLIER: list[Earlier] = []
