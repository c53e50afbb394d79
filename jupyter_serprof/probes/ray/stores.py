"""What the processes of Ray say of the objects in its stores: all that depends on Ray's version.

Each raylet tells how full its store is, and for each process on its node in which objects that has
a part. Where copies are this process knows of what it owns or borrows, without a call.
Source: Ray 2.60.0, ray/_private/internal_api.py:node_stats, which needs grpcio; ``CoreWorkerStats``
and ``ObjectRefInfo`` of src/ray/protobuf/common.proto; src/ray/common/id.h.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from jupyter_serprof.model import ProbeUnavailable
from jupyter_serprof.probes.ray.agent.copies import places_of
from jupyter_serprof.probes.ray.alive import DEAD, asked, is_alive, own_state
from jupyter_serprof.probes.ray.road import name_of
from jupyter_serprof.probes.ray.tasks import _reader

_PATIENCE_S, _AT_ONCE = 10.0, 8
#: The first bytes of an id are the task that made the object, the others the number of its result;
#: that of its first put is this.
TASK_BYTES, _FIRST_PUT = 24, 100_000_001
_DRIVER = 1
_NO_GRPC = 'who holds which object is asked of the raylets by grpcio. Run: pip install "grpcio"'
_NO_RAY = "there are no object stores: Ray is not connected here. Run: ray.init()"


class Holding(NamedTuple):
    """What one process has to do with one object.

    How many references it has, in how many tasks that are not over, inside of what, whether a value
    in the store is alive, and as whose argument it came.
    """

    ident: bytes
    size_bytes: int | None
    worker: bytes
    actor: bytes
    is_driver: bool
    local: int
    submitted: int
    inside: tuple[bytes, ...]
    is_mapped: bool
    task: str


class Store(NamedTuple):
    """The object store of a node; ``written_bytes`` are all that it spilled since it began."""

    node: str
    used_bytes: int
    limit_bytes: int
    written_bytes: int


class Census(NamedTuple):
    """What all raylets said, the ids of this process and of its node, and how many are silent."""

    stores: list[Store]
    holdings: list[Holding]
    worker: bytes
    node: str
    silent: int


def number_of(ident: bytes) -> tuple[bool, int]:
    """Tell an object that was put from the result of a task; and which one it is, from 1 on."""
    count = int.from_bytes(ident[TASK_BYTES:], "little")
    return count >= _FIRST_PUT, count - (_FIRST_PUT - 1) * (count >= _FIRST_PUT)


def census() -> Census:
    """Ask every raylet for its store, and for what the processes of its node hold."""
    worker = getattr(sys.modules.get("ray._private.worker"), "global_worker", None)
    if worker is None or not worker.connected or not hasattr(worker, "core_worker"):
        raise ProbeUnavailable(_NO_RAY)
    if find_spec("grpc") is None:
        raise ProbeUnavailable(_NO_GRPC)
    until, nodes, told = time.monotonic() + _PATIENCE_S, list[Any](), list[Any]()
    with suppress(TimeoutError, InterruptedError):
        if is_alive():
            nodes += (one for one in asked(own_state().node_table, until) if one["Alive"])
            told += asked(partial(_told, nodes), until)
    if not told:
        raise ProbeUnavailable(DEAD)
    processes = [one for _, reply in told for one in reply.core_workers_stats]
    core = worker.core_worker
    return Census(
        [_store(node["NodeID"], reply.store_stats) for node, reply in told],
        [_holding(one, each) for one in processes for each in one.object_refs],
        bytes(core.get_worker_id().binary()),
        str(core.get_current_node_id().hex()),
        len(nodes) - len(told),
    )


def _told(nodes: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    ask = import_module("ray._private.internal_api").node_stats

    def one(node: dict[str, Any]) -> Any:  # noqa: ANN401  (Ray has no types here)
        with suppress(Exception):  # a node that goes meanwhile; the others count
            return ask(node["NodeManagerAddress"], node["NodeManagerPort"])

    with ThreadPoolExecutor(min(_AT_ONCE, len(nodes) or 1), "serprof-ray") as pool:
        return [pair for pair in zip(nodes, pool.map(one, nodes), strict=True) if pair[1]]


def _store(node: str, stats: Any) -> Store:  # noqa: ANN401
    names = ("object_store_bytes_used", "object_store_bytes_avail", "spilled_bytes_total")
    return Store(node, *(int(getattr(stats, name)) for name in names))


def _holding(process: Any, each: Any) -> Holding:  # noqa: ANN401
    actor = bytes(process.actor_id)
    return Holding(
        bytes(each.object_id),
        int(each.object_size) if each.object_size >= 0 else None,
        bytes(process.worker_id),
        actor if actor.strip(b"\xff") else b"",
        process.worker_type == _DRIVER,
        int(each.local_ref_count),
        int(each.submitted_task_ref_count),
        tuple(map(bytes, each.contained_in_owned)),
        bool(each.pinned_in_memory),
        # It says "(deserialize task arg) module.function" of what came as an argument.
        each.call_site.partition(" arg) ")[2].rpartition(".")[2],
    )


def copies_of(idents: Collection[bytes]) -> dict[bytes, Mapping[str, Any]]:
    """Return ``node_ids``, ``did_spill`` and ``object_size`` of what this process knows."""
    core = sys.modules["ray._private.worker"].global_worker.core_worker
    known = {bytes.fromhex(one.decode()) for one in core.get_all_reference_counts()}
    return places_of(known & set(idents))


def task_names(wanted: Collection[bytes]) -> dict[bytes, str]:
    """Return the names of tasks that Ray's events tell of; by their ids without the first byte."""
    with suppress(Exception):  # private to Ray: they have no names then
        until = time.monotonic() + _PATIENCE_S / 5
        events = asked(_reader() or list, until) if wanted else ()
        told = {bytes(event.task_id)[1:]: event.task_info for event in events}
        return {ident: name_of(told[ident]) for ident in told.keys() & set(wanted)}
    return {}


def actor_names(wanted: Collection[bytes]) -> dict[bytes, str]:
    """Return the classes of actors, by their ids."""
    until, found = time.monotonic() + _PATIENCE_S / 5, dict[bytes, str]()
    with suppress(Exception):  # as above
        for actor in wanted:
            told = asked(partial(own_state().actor_table, actor.hex()), until)
            found[actor] = str(told["ActorClassName"]).rpartition(".")[2]
    return found
