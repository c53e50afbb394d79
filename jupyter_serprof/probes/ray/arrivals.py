"""Arrivals: when the objects that tasks take came to a node, and what else came there meanwhile.

On the road of a task the last argument that came is the end of its pull; the bytes that came to the
node before that say when it began, and whether others were in front. Who owns an object sees it
come, and each machine has a meter: this program, and workers wherever tasks run (`agent.watch`).
"""

import marshal
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, NamedTuple

from jupyter_serprof.capture.recorder import OWN_THREADS
from jupyter_serprof.objects.ask import is_exactly_of
from jupyter_serprof.probes.held import variables
from jupyter_serprof.probes.ray.agent.contact import RPC_S, SPACE, Contact
from jupyter_serprof.probes.ray.agent.copies import Copies, places_of
from jupyter_serprof.probes.ray.agent.meter import Meter, SpillFile
from jupyter_serprof.probes.ray.agent.watch import DOORS, seat_of
from jupyter_serprof.probes.ray.alive import own_state, pending_tasks

#: Others are in front where the node gets so much of the bytes that it gets in a pull, per second.
#: What is shorter is between two looks at the counters, ns.
_BUSY, _BLURRED_NS = 0.5, 40_000_000
_PULL, _QUEUE, _RESTORE = "ray.arguments.pull", "ray.arguments.queue", "ray.arguments.restore"


class Leg(NamedTuple):
    """A stage and its time, ns of the recorder; of a pull, bytes, variable its link, bytes/s."""

    stage: str
    start: int
    end: int
    size_bytes: int | None = None
    what: str = ""
    link: int | None = None


#: From a task, its node, and begin and end of a time: what came there meanwhile that it takes.
Pulls = Callable[[bytes, str, int, int], Sequence[Leg]]


@dataclass(slots=True)
class Sightings:
    """What was seen of objects on their way, by all who saw some of it.

    ``given``: By task, the objects that it takes.
    ``came``: By object and node, when it was first seen there; ``placed``: its objects; ``sizes``.
    ``series``: By node, (when, bytes that had come until then); ``links``: what its link can.
    ``files``: Files of spilled objects that were written and read.
    """

    given: dict[bytes, Sequence[bytes]] = field(default_factory=dict)
    came: dict[tuple[bytes, str], int] = field(default_factory=dict)
    placed: set[bytes] = field(default_factory=set)
    sizes: dict[bytes, int] = field(default_factory=dict)
    series: dict[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    links: dict[str, int | None] = field(default_factory=dict)
    files: list[SpillFile] = field(default_factory=list)

    def add(self, told: Mapping[str, Any]) -> None:
        """Add what one of them told; of a node all bytes and files are told by who saw most."""
        self.given.update(told["given"])
        self.links.update(told["links"])
        self.sizes.update((one, size) for one, size in told["sizes"].items() if size)
        for key, at in told["came"].items():
            self.came[key] = min(at, self.came.get(key, at))
            self.placed.add(key[0])
        for node, series in told["series"].items():
            before = self.series.get(node, ())
            self.series[node] = max(series, before, key=lambda line: line[-1][1] if line else -1)
        known = {file.node for file in self.files}
        self.files += [SpillFile(*file) for file in told["files"] if file[0] not in known]

    def pulls(self, task: bytes, node: str, start: int, end: int) -> list[Leg]:
        """Return the parts of a time in which arguments of a task came to its node, in order."""
        # What is in front of them is told where the bytes are counted that came to the node.
        idents = self.given.get(task, ())
        series = self.series.get(node, ())
        came = [(self._came(one, node, end), self.sizes.get(one, 0)) for one in idents]
        came = [each for each in came if start < each[0] and each[1]]
        restored = list(self._restored(idents, node, start, end))
        if restored or not came:
            return restored
        last, size = min(end, max(at for at, _ in came)), sum(size for _, size in came)
        began = min(last, _began(series, last, size))
        pull = Leg(_PULL, start, last, size, _name_of(idents), self.links.get(node))
        if began - start < _BLURRED_NS:
            return [pull]
        is_behind = _is_busy(series, start, began, size / max(1, last - began))
        return [Leg(_QUEUE, start, began)] * is_behind + [pull._replace(start=began)]

    def _came(self, ident: bytes, node: str, end: int) -> int:
        """Return when a copy came: one freed before anybody looked by last bytes; 0: never."""
        series, is_known = self.series.get(node), (ident, node) in self.came
        if is_known or not series or ident not in self.placed:
            return self.came.get((ident, node), 0)
        return series[bisect_left(series, _at(series, end), key=lambda point: point[1])][0]

    def _restored(self, idents: Sequence[bytes], node: str, start: int, end: int) -> Iterator[Leg]:
        reads = [one for one in self.files if one.node == node and not one.is_written]
        mine = [one for one in reads if start < one.start < end]
        with suppress(Exception):  # private to Ray; or they are gone
            spilled = places_of(idents if mine else ()).values()
            sizes = [one["object_size"] or 0 for one in spilled if one["did_spill"]]
            if sizes:
                begun, over = min(one.start for one in mine), max(one.end for one in mine)
                yield Leg(f"{_RESTORE}.start", start, begun)
                yield Leg(_RESTORE, begun, min(over, end), sum(sizes), _name_of(idents))


class Arrivals:
    """What came to which node while something records, by where the copies of objects are."""

    def __init__(self) -> None:
        #: The meters of this machine, one for each cluster that the program was in.
        self.meters: dict[Any, Meter] = {}
        self.copies, self.node = Copies(pending_tasks), ""
        #: What workers saw, by their ids, on the clock of the recorder.
        self.far: dict[bytes, Mapping[str, Any]] = {}

    def begin(self, contact: Contact) -> None:
        """Begin to measure in a cluster, on the machine of this program."""
        self.node = contact.worker.current_node_id.hex()
        meter = Meter(contact.worker.node.get_session_dir_path(), self.copies.look)
        meter.seat, self.copies.wake = seat_of(contact.key), meter.wake
        self.meters[contact.home] = meter
        asking = Thread(target=self._ask, args=(contact, meter), name="serprof-ray", daemon=True)
        asking.start()
        self._asking = asking
        OWN_THREADS.update((meter.thread.ident or 0, asking.ident or 0))

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

    def _ask(self, contact: Contact, meter: Meter) -> None:
        with suppress(Exception):  # private to Ray: nothing is counted then
            nodes = [one for one in own_state().node_table() if one["Alive"]]
            at = "NodeManagerAddress", "ObjectManagerPort"
            doors = {(one[at[0]], one[at[1]]): one["NodeID"] for one in nodes}
            self.copies.is_one = len(nodes) == 1
            meter.count(doors, self.node)
            packed, gcs = marshal.dumps(doors), contact.worker.gcs_client
            gcs.internal_kv_put(contact.key + DOORS, packed, True, SPACE, timeout=RPC_S)  # noqa: FBT003

    def take(self, worker: bytes, packed: bytes, moved: Callable[[Mapping[str, Any]], int]) -> None:
        """Take what a worker saw, in the place of what it told before."""
        told = marshal.loads(packed)  # noqa: S302  (ours)
        by = moved(told)
        told["came"] = {key: at + by for key, at in told["came"].items()}
        for series in told["series"].values():
            series[:] = [(at + by, count) for at, count in series]
        told["files"] = [(node, a + by, b + by, *more) for node, a, b, *more in told["files"]]
        self.far[worker] = told

    def all_seen(self) -> Sightings:
        """Return what was seen until now, here and by workers."""
        seen = Sightings()
        near = (meter.facts(self.copies) for meter in self.meters.values())
        for told in (*near, *self.far.values()):
            seen.add(told)
        return seen


def _name_of(idents: Sequence[bytes]) -> str:
    known: dict[str, Any] = variables()
    held = [name for name, one in known.items() if is_exactly_of(one, "ray", "ObjectRef")]
    return next((name for name in held if bytes(known[name].binary()) in idents), "")


def _began(series: Sequence[tuple[int, int]], end: int, size: int) -> int:
    """Return when the last bytes began to come that had come to a node; 0: not seen."""
    before = _at(series, end) - size if series else -1
    return _at([(y, x) for x, y in series], before) if before >= 0 else 0


def _is_busy(series: Sequence[tuple[int, int]], start: int, end: int, rate: float) -> bool:
    return bool(series) and _at(series, end) - _at(series, start) >= _BUSY * rate * (end - start)


def _at(series: Sequence[tuple[int, int]], x: int) -> int:
    """Return the value of a rising line at a place, between two of its points in proportion."""
    right = bisect_right(series, x, key=lambda point: point[0])
    if right in {0, len(series)}:
        return series[min(right, len(series) - 1)][1]
    (x0, y0), (x1, y1) = series[right - 1], series[right]
    return y0 + (y1 - y0) * (x - x0) // max(1, x1 - x0)
