"""Arrivals: when the objects that tasks take came to a node, and what else came there meanwhile.

The owner of an object knows where its copies are. On the road of a task the last argument that came
is the end of its pull; the bytes that came to the node before that say when it began, and whether
others were in front. Source: Ray 2.60.0, _raylet.pyx: CoreWorker.get_local_object_locations, which
asks nobody; before, the owner is asked, which is mostly this process.
"""

import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from math import inf
from threading import Thread
from typing import Any, NamedTuple

from jupyter_serprof.capture.recorder import OWN_THREADS
from jupyter_serprof.probes.held import variables
from jupyter_serprof.probes.ray.agent.meter import Meter
from jupyter_serprof.probes.ray.agent.notes import clock
from jupyter_serprof.probes.ray.alive import own_state, pending_tasks

#: Copies are asked for so often, s, and for no more than this part of the time; of so many objects.
_SOONEST_S, _PART, _MOST_OBJECTS = 0.002, 50, 1_000
#: Of more tasks it is not known which arguments they have.
_MOST_TASKS = 20_000
#: Others are in front where the node gets so much of the bytes that it gets in a pull, per second.
#: What is shorter is between two looks at the counters, ns.
_BUSY, _BLURRED_NS = 0.5, 40_000_000
_PULL, _QUEUE = "ray.arguments.pull", "ray.arguments.queue"


class Leg(NamedTuple):
    """A stage and its time, on the clock of the recorder, ns; of a pull, its bytes and variable."""

    stage: str
    start: int
    end: int
    size_bytes: int | None = None
    what: str = ""


#: From a task, its node, and begin and end of a time: what came there meanwhile that it takes.
Pulls = Callable[[bytes, str, int, int], Sequence[Leg]]


class Arrivals:
    """What came to which node while something records, by where the copies of objects are."""

    def __init__(self) -> None:
        #: The meters of this node, one for each cluster that the program was in.
        self.meters: dict[Any, Meter] = {}
        #: By task, the objects that it takes; those of which it is not over.
        self._given: dict[bytes, tuple[bytes, ...]] = {}
        self._open: dict[bytes, tuple[bytes, ...]] = {}
        #: By object and node, when a copy was first seen there; sizes.
        self._seen: dict[tuple[bytes, str], int] = {}
        self._sizes: dict[bytes, int] = {}
        self._is_one, self.node = False, ""

    def begin(self, worker: Any) -> None:  # noqa: ANN401  (Ray has no types here)
        """Begin to measure in a cluster, on the node of this program."""
        self.node = worker.current_node_id.hex()
        meter = Meter(worker.node.get_session_dir_path(), self._look)
        self.meters[worker.current_cluster_and_job] = meter
        self._asking = Thread(target=self._ask, args=(meter,), name="serprof-ray", daemon=True)
        self._asking.start()
        OWN_THREADS.update((meter.thread.ident or 0, self._asking.ident or 0))

    def stop(self) -> None:
        """Measure no longer; nothing of Ray is asked after that."""
        for meter in self.meters.values():
            self._asking.join(1)
            meter.stop()
            OWN_THREADS.difference_update((meter.thread.ident or 0, self._asking.ident or 0))

    def unseen(self) -> list[str]:
        """Return what could not be measured on this node, and why."""
        what, meters = "bytes between nodes and files of spilled objects", self.meters.values()
        return [f"{what} ({why})" for why in {one.trouble for one in meters} if why]

    def note(self, task: bytes | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note which objects a task takes that was submitted by a call with such arguments."""
        if task is None or self._is_one or len(self._given) >= _MOST_TASKS:
            return
        kind = sys.modules["ray"].ObjectRef
        given = dict(zip(("self", "args", "kwargs"), args, strict=False), **kwargs)
        values = (*(given.get("args") or ()), *(given.get("kwargs") or {}).values())
        if idents := tuple(bytes(one.binary()) for one in values if type(one) is kind):
            is_first, self._given[task], self._open[task] = not self._open, idents, idents
            for meter in self.meters.values() if is_first else ():
                meter.wake()

    def _ask(self, meter: Meter) -> None:
        with suppress(Exception):  # private to Ray: nothing is counted then
            nodes = [one for one in own_state().node_table() if one["Alive"]]
            self._is_one, at = len(nodes) == 1, ("NodeManagerAddress", "ObjectManagerPort")
            meter.count({(one[at[0]], one[at[1]]): one["NodeID"] for one in nodes})

    def _look(self) -> float:
        """See where the arguments of tasks are that are not over; return when to look again, s."""
        if not self._open or self._is_one:
            self._open.clear()
            return inf
        start, pending, ours = time.monotonic(), pending_tasks(), list(self._open)
        idents = {each for task in ours for each in self._open[task]}
        for ident, told in places_of(list(idents)[:_MOST_OBJECTS]).items():
            self._sizes[ident] = told["object_size"] or 0
            for node in told["node_ids"]:
                self._seen.setdefault((ident, node), clock())
        for task in set(ours) - pending:
            del self._open[task]
        return max(_SOONEST_S, _PART * (time.monotonic() - start))

    def pulls(self, task: bytes, node: str, start: int, end: int) -> list[Leg]:
        """Return the parts of a time in which arguments of a task came to its node, in order."""
        # What is in front of them is told where the bytes are counted that came to the node.
        idents = self._given.get(task, ())
        came = [(self._seen.get((one, node), 0), self._sizes.get(one, 0)) for one in idents]
        if not (came := [each for each in came if start < each[0] and each[1]]):
            return []
        last, size = min(end, max(at for at, _ in came)), sum(size for _, size in came)
        began = min(last, self._began(node, last, size))
        name = next((n for n, value in variables().items() if _ident_of(value) in idents), "")
        if began - start < _BLURRED_NS:
            return [Leg(_PULL, start, last, size, name)]
        is_behind = self._is_busy(node, start, began, size / max(1, last - began))
        return [Leg(_QUEUE, start, began)] * is_behind + [Leg(_PULL, began, last, size, name)]

    def _began(self, node: str, end: int, size: int) -> int:
        """Return when the last bytes began to come that had come to a node; 0: not known."""
        series = self._series(node)
        return _at([(y, x) for x, y in series], _at(series, end) - size) if series else 0

    def _is_busy(self, node: str, start: int, end: int, rate: float) -> bool:
        series = self._series(node)
        came = _at(series, end) - _at(series, start) if series else 0
        return came >= _BUSY * rate * (end - start)

    def _series(self, node: str) -> Sequence[tuple[int, int]]:
        known = (meter.wire.series.get(node, ()) for meter in self.meters.values() if meter.wire)
        return max(known, key=len, default=())


def _ident_of(value: object) -> bytes:
    return bytes(value.binary()) if type(value) is sys.modules["ray"].ObjectRef else b""  # type: ignore[attr-defined]


def places_of(idents: Collection[bytes]) -> dict[bytes, Mapping[str, Any]]:
    """Return ``node_ids``, ``did_spill`` and ``object_size`` of objects that are referred to here.

    Each reference counts itself until it goes. One that skips that takes one of the user along.
    """
    ray, core = sys.modules["ray"], sys.modules["ray._private.worker"].global_worker.core_worker
    refs = [ray.ObjectRef(one) for one in idents]
    ask = getattr(core, "get_local_object_locations", None) or ray.experimental.get_object_locations
    return {bytes(ref.binary()): told for ref, told in ask(refs).items()}


def _at(series: Sequence[tuple[int, int]], x: int) -> int:
    """Return the value of a rising line at a place, between two of its points in proportion."""
    # Where it does not rise, as before bytes come, the last place counts.
    right = bisect_right(series, x, key=lambda point: point[0])
    if right in {0, len(series)}:
        return series[min(right, len(series) - 1)][1]
    (x0, y0), (x1, y1) = series[right - 1], series[right]
    return y0 + (y1 - y0) * (x - x0) // max(1, x1 - x0)
