"""Probe of Dask's distributed client: what it sends, what it waits for, what it gets.

Two rungs: agents on the scheduler and its workers (see `cluster`); without them what the client
does.
Source: distributed 2026.8.0, client.py:Client._graph_to_futures, _gather_remote, utils.py:sync.
"""

import os
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft, Page
from jupyter_serprof.capture.hook import After, Place
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import Lane, Table
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.model.trace import LOST
from jupyter_serprof.objects import ask
from jupyter_serprof.objects.walk import DASK_THREADS
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.dask import computations, stopped
from jupyter_serprof.probes.dask.cluster import (
    Cluster,
    agent_name,
    clusters_of,
    is_talk,
    patience_s,
    shipped,
)
from jupyter_serprof.probes.dask.graph.graph import KeptGraphs
from jupyter_serprof.probes.dask.local.naming import is_many, variable_of
from jupyter_serprof.probes.dask.looks import cluster_facts
from jupyter_serprof.probes.dask.tasks import add_cluster, task_table

LOOP_LANE = "client/loop"


def add_communication(run: Page, cluster: Cluster, sent: Sequence[computations.SentGraph]) -> None:
    """Add the road of each graph from the client to the scheduler's handler."""
    report = cluster.scheduler.report
    if report is None:
        return
    moved = -cluster.scheduler.offset_ns
    first = min((entry.handed_ns for entry in sent), default=0)
    out = [entry for entry in cluster.outgoing if entry[:2] == ["update-graph", "out"]]
    if not out:  # no frames: scheduler and client share a process
        handled = sorted(entry[3] for entry in report["spans"] if entry[2] == "update_graph")
        for entry, at in zip(sent, handled, strict=False):
            _add(run, "wire", entry.handed_ns, at + moved, None)
    # What left before is of another recording of this client, in another thread.
    out = [entry for entry in out if entry[3] >= first]
    into = [entry for entry in report["messages"] if entry[:2] == ["update-graph", "in"]]
    # By how much what came in may seem to be too early: the clocks, and what is known of them.
    early = cluster.scheduler.offset_ns - cluster.scheduler.error_ns
    left = iter(sent)
    for batch in _batches(out, into, cluster.drained, early):
        for number, entry in enumerate(islice(left, batch[0][6])):
            _add(run, "batch", entry.handed_ns, batch[0][3], None)
            if number == 0:
                _add_wire(run, batch, moved)


def _batches(
    out: Sequence[Any], into: Sequence[Any], drained: Sequence[int], early_ns: int
) -> Iterable[tuple[Any, Any, int | None]]:
    """Match what left with what came in after it: one connection keeps the order, and the size."""
    # Each list may begin earlier than the others, with what was under way when the agents came.
    left, outs = list(into), list(drained)
    for message in out:
        soonest, size = message[4] + early_ns, message[5]
        alike = (at for at, entry in enumerate(left) if entry[5] == size and entry[2] >= soonest)
        found = next(alike, None)
        arrived = None if found is None else left[found]
        del left[: 0 if found is None else found + 1]
        while outs and outs[0] < message[4]:
            outs.pop(0)
        yield message, arrived, outs.pop(0) if outs else None


def _add_wire(run: Page, batch: tuple[Any, Any, int | None], moved: int) -> None:
    out, into, drained = batch
    size = out[5]
    _add(run, "frames", out[3], out[4], size)
    if drained is not None:
        _add(run, "write", out[4], drained, size)
    if into is not None:
        _add(run, "wire", out[4], into[2] + moved, size)


def _add(run: Page, step: str, start: int, end: int, size: int | None) -> None:
    if end > start:
        stage = f"dask.communicate.{step}"
        draft = Draft(stage, step, LOOP_LANE, start, end, "dask.communicate", size_bytes=size)
        run.drafts.append(draft)
        run.lanes.setdefault(LOOP_LANE, Lane(LOOP_LANE, "client", 0))


def size_gathers(run: Page, cluster: Cluster) -> None:
    """Give each gather the bytes of the results that came in while it lasted."""
    gathers = [draft for draft in run.drafts if draft.role == "dask.gather"]
    for op, way, _, start, _, size, _, _ in cluster.outgoing:
        if (op, way) == ("data", "in"):
            for draft in islice((d for d in gathers if d.start <= start <= d.end), 1):
                draft.size_bytes = (draft.size_bytes or 0) + size


_CLIENT, _CLOSE = "distributed.client:Client", "distributed.deploy.cluster:Cluster.close"
_SENDS = f"{_CLIENT}._graph_to_futures"
_STARTS = (f"{_CLIENT}.__init__", "distributed.deploy.local:LocalCluster.__init__")
_SYNC, _START = "distributed.utils:SyncMethodMixin.sync", "dask.start"
_CALLS = ("compute", "persist", "submit", "map", "get", "scatter", "gather")
_FEW_KEYS = 256
#: What each rung below the first cannot see.
_TAKING = "the scheduler was taking in a graph when it was stopped: it goes on until that is done"
_UNSEEN = {
    "scheduler": "messages and event loops of workers",
    "client only": "everything on the scheduler and its workers",
}
_MOST_NAMES, _MOST_LAYERS = 3, 1_000
#: The rungs, the lowest first; the first one is without any cluster.
_LEVELS = ("client", "client only", "scheduler", "scheduler and workers")


def _note_graph(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    client, expr = args[0], args[1] if len(args) > 1 else kwargs["expr"]
    keys = list(result)
    stopped.UNSENT.difference_update(keys if stopped.UNSENT else ())
    sign = min(map(str, keys)) if 0 < len(keys) <= _FEW_KEYS else ""
    graphs = _graphs(expr)
    layers = sum(len(graph.layers) for graph in graphs) if graphs else None
    # What is computed: the last layer that is not Dask's own last step.
    names = [[n for n in graph.layers if not str(n).startswith("finalize")] for graph in graphs]
    lasts = [each[-1] if each else "" for each in names] or keys[:1]
    known = _computed(graphs) if (layers or 0) <= _MOST_LAYERS else {}
    return client.id, layers, sign, lasts[:_MOST_NAMES], len(lasts), known or _steps(expr)


def _computed(graphs: Iterable[Any]) -> dict[str, frozenset[str]]:
    # What Dask fuses into one task later has a name of its own in each computation; these have not.
    # A collection that is kept on the cluster is futures.
    futures = sys.modules["distributed"].Future
    found = {}
    for graph in graphs:
        for name, layer in graph.layers.items():
            mapping = layer.mapping if type(layer).__name__ == "MaterializedLayer" else {}
            if not isinstance(next(iter(mapping.values()), None), futures):
                found[str(name)] = frozenset(map(str, graph.dependencies.get(name, ())))
    return found


def _steps(expr: Any) -> dict[str, frozenset[str]]:  # noqa: ANN401
    """Return the kinds of the steps of a data frame, also of those that are fused into one."""
    walk = getattr(type(expr), "walk", None)
    steps = list(walk(expr)) if walk else []
    fused = chain.from_iterable(getattr(step, "exprs", ()) for step in steps)
    return {type(step).__name__: frozenset() for step in (*steps, *fused)}


def _graphs(expr: Any) -> list[Any]:  # noqa: ANN401
    """Return the graphs of layers in what is sent; looking does not materialize them."""
    return [part.hlg for part in [expr, *getattr(expr, "operands", ())] if hasattr(part, "hlg")]


def _note_items(_: Any, __: Any, ___: Any, response: Any) -> dict[str, Any]:  # noqa: ANN401
    """Note how many items lists, dicts and the like have that came: each is packed by itself."""
    values = ask.items_of(response.get("data"), _FEW_KEYS)
    return {"items": sum(ask.length(value) or 0 for value in values)}


def _note_scattered(_: Any, args: Any, *__: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """Note how many items were scattered, each by itself, and of which variable they are."""
    many = is_many(args[1]) if len(args) > 1 else False
    return {"items": len(args[1]), "name": variable_of(args[1])} if many else None


def client_places(note_frames: After) -> list[Place]:
    """Return the places of the client that are watched.

    ``note_frames``: Called after a graph was pickled.
    """
    module = "distributed.client:"
    return [
        Place(_SENDS, "dask.submit", "dask.graph", after=_note_graph, failed=stopped.note_unsent),
        *_graph_places(module, note_frames),
        *[Place(f"{module}Client.{name}", "dask.submit", f"dask.call:{name}") for name in _CALLS],
        Place(f"{module}Client._send_to_scheduler", "dask.submit", "dask.send"),
        *[Place(path, _START, _START) for path in _STARTS],
        Place(_SYNC, "dask.wait", "dask.wait", {_START: _START}, failed=stopped.hush),
        Place(f"{module}as_completed.__next__", "dask.wait", "dask.wait"),
        Place(f"{module}Client._gather_remote", "dask.gather", "dask.gather", after=_note_items),
        Place(f"{module}Client._scatter", "dask.scatter", "dask.scatter", after=_note_scattered),
    ]


def _graph_places(module: str, note_frames: After) -> list[Place]:
    """Return where a graph is optimized and pickled: until Dask 2025.1 both is done elsewhere."""
    is_early = hasattr(sys.modules.get("distributed.client"), "collections_to_dsk")
    home = "distributed.protocol:" if is_early else module
    pickled = Place(f"{home}serialize", "dask.serialize", "dask.serialize", after=note_frames)
    return [pickled, *([Place(f"{module}collections_to_dsk", "dask.optimize")] * is_early)]


class DaskProbe(Probe):
    """Sees every graph that clients of this process send, and what becomes of it."""

    name = "dask"
    library = "distributed"

    def __init__(self, *, detail: bool = False) -> None:
        super().__init__(detail=detail)
        self._clusters: list[Cluster] = []
        self._meeting = threading.Lock()
        self._loops: set[int] = set()
        #: The clusters that graphs were sent to; all of them where none was.
        self._used: list[Cluster] = []
        #: Whether a graph was sent by a client that was made during the recording.
        self._has_strangers = False
        self._kept, self._graphs = KeptGraphs(), list[Table]()
        self._numbers, self._before = count(), set[str]()

    def places(self) -> list[Place]:
        """Return the places of the client; one that is made later is met by its first graph."""
        sending, *others = client_places(self._note_frames)
        ends = (*(f"{_CLIENT}.{name}" for name in ("close", "shutdown")), _CLOSE)
        closing = (Place(path, "dask.wait", "dask.wait", before=self._leave) for path in ends)
        return [replace(sending, before=self._meet), *others, *closing]

    def _meet(self, args: Any, kwargs: Any) -> tuple[Any, Any, None]:  # noqa: ANN401
        client = args[0]
        with self._meeting:  # graphs may be sent by several threads
            if not any(client in cluster.clients for cluster in self._clusters):
                # Those that wait on their own event loop must not be held up there.
                self._start_clusters([client], 0.0 if client.asynchronous else patience_s())
        return args, kwargs, None

    def _leave(self, args: Any, kwargs: Any) -> tuple[Any, Any, None]:  # noqa: ANN401
        for cluster in self._clusters:
            others = [client for client in cluster.clients if client.status != "closed"]
            where = {client.scheduler.address for client in others if client.scheduler}
            is_last = others == [args[0]] or getattr(args[0], "scheduler_address", "") in where
            if is_last and not args[0].asynchronous:
                cluster.stop(time.monotonic() + patience_s())
        return args, kwargs, None

    def _note_frames(self, token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG002
        frames = (result[0], *result[1])
        sizes = [getattr(frame, "nbytes", None) or len(frame) for frame in frames]
        self._kept.keep(next(self._numbers), getattr(args[0], "data", None), sum(sizes))
        return sum(sizes[:2]), sum(sizes[2:]), len(sizes[2:])

    def arm(self, recorder: Recorder) -> None:
        """Ship the agents first: they are the inner ones, and what they cost is not recorded."""
        client = sys.modules["distributed.client"].Client
        clients = list(client._instances)  # noqa: SLF001  (no public list)
        self._start_clusters(clients, patience_s())
        self._before.update(*map(stopped.pending, clients))
        stopped.AWAITED.clear()
        super().arm(recorder)

    def _start_clusters(self, clients: Sequence[Any], seconds: float) -> None:
        new = list(clusters_of(clients))
        self._clusters += new
        for cluster in new:
            cluster.start()
        until = time.monotonic() + seconds
        for cluster in new:
            cluster.settle(until)

    def remove(self) -> None:
        """Stop listening, then fetch what the agents noted and take them away."""
        super().remove()
        self._graphs += self._kept.tables()
        for cluster in self._clusters:
            if cluster.visit is not None:
                cluster.visit.leave()
        own = [one for one in threading.enumerate() if one.name.startswith(DASK_THREADS)]
        self._loops |= {thread.ident for thread in own if thread.ident is not None}
        # Without a cluster Dask may not be imported, and is not for its settings.
        until = time.monotonic() + max((patience_s(c.began) for c in self._clusters), default=0.0)
        for cluster in self._clusters:
            cluster.stop(until)

    def look(self, stage: str, still_s: float) -> LiveFacts | None:  # noqa: ARG002
        """Return how far the clusters are that a caller waits for."""
        visits = [cluster.visit for cluster in self._clusters]
        return cluster_facts([one.looks for one in visits if one is not None], stage)

    def forget(self) -> None:
        """Stop listening in the child of a fork; the agents elsewhere are the parent's."""
        super().forget()
        # Without a cluster there is none; making its name takes 60 ms.
        if shipped.cache_info().currsize and (agent := sys.modules.get(agent_name())):
            agent.forget()

    def refine(self, run: Page) -> None:
        """Complete the spans of the client, and add those of schedulers and workers."""
        _drop_pickles(run, self._loops)
        _move_to_loop(run)
        sent = computations.find_sent(run)
        senders = {entry.draft.extra[0] for entry in sent}
        self._used = _used(self._clusters, senders, run)
        self._has_strangers = not senders <= {ident for one in self._clusters for ident in one.ids}
        for cluster in self._clusters:
            run.notes += [f"dask: {LOST}"] * (run.is_failed and cluster.is_lost)
            run.notes += [f"dask: {trouble}" for trouble in cluster.trouble]
        for number, cluster in enumerate(self._used):
            suffix = f" {number + 1}" if number else ""
            add_cluster(run, cluster, suffix)
            mine = [entry for entry in sent if entry.draft.extra[0] in cluster.ids]
            add_communication(run, cluster, mine)
            size_gathers(run, cluster)
            computations.match(mine, cluster)
            computations.describe_schedules(run, mine, suffix)
            threads = (cluster.scheduler.report or {}).get("threads")
            known = {"client": stopped.name_of(cluster.clients[0])} if mine else {}
            for entry in mine:
                entry.draft.details |= known | ({"threads": threads} if threads else {})
            _name_collections(run, cluster, suffix)
            if run.is_interrupted:
                run.notes += stopped.left_notes(cluster.clients, cluster.running, self._before)
                run.notes += [_TAKING] * cluster.is_taking
        self._add_facts(run, sent)

    def _add_facts(self, run: Page, sent: Sequence[computations.SentGraph]) -> None:
        for entry in sent:
            entry.draft.extra = None
            entry.draft.details |= self._kept.details.get(entry.draft.details["computation"], {})
        reports = [known for one in self._used if (known := one.scheduler.report) is not None]
        computations.add_sent(run, sent)
        tables = [task_table(reports), computations.computation_table(run, sent, reports)]
        tables += self._graphs
        run.notes += self._kept.notes
        run.tables += [table for table in tables if table is not None]

    def level(self) -> str:
        """Return the rung that was reached; the lowest where several clusters were used."""
        if self._has_strangers:
            return "client only"
        return min(map(_level, self._used or self._clusters), key=_LEVELS.index, default=_LEVELS[0])

    def unseen(self) -> Sequence[str]:
        """Return what could not be seen, for ``quality``."""
        places = [name for cluster in self._used for name in cluster.missing]
        missing = [f"{place} (not in this version)" for place in [*self.missing, *places]]
        if self.level() in _UNSEEN:
            missing.append(_UNSEEN[self.level()])
        return list(dict.fromkeys(missing))


def _used(clusters: Sequence[Cluster], senders: set[str], run: Page) -> list[Cluster]:
    """Return the clusters that the code had to do with: an idle one has heartbeats only."""
    if not any(draft.role.startswith("dask.") for draft in run.drafts):
        return []
    return [cluster for cluster in clusters if senders & set(cluster.ids) or not senders]


def _level(cluster: Cluster) -> str:
    if cluster.scheduler.report is None:
        return "client only"
    seen = any(station.report or station.is_here for station in cluster.workers.values())
    return "scheduler and workers" if seen else "scheduler"


def _drop_pickles(run: Page, loops: set[int]) -> None:
    """Leave out our own pickles, and those inside what Dask names itself; count what ran twice."""
    threads = {lane: ident for ident, lane in run.threads.items()}
    for draft in run.drafts:
        if draft.stage not in {"pickle.dumps", "pickle.loads"}:
            continue
        around = next((a for a in draft.ancestors() if a.role == "dask.serialize"), None)
        if around is not None and draft.place.startswith("cloudpickle"):
            around.details["main_functions"] = around.details.get("main_functions", 0) + 1
        ident = threads.get(draft.lane, 0)
        draft.is_dropped = around is not None or ident in loops or is_talk(ident, draft.start)


def _name_collections(run: Page, cluster: Cluster, suffix: str) -> None:
    report = cluster.scheduler.report
    if report is None or report["pid"] != os.getpid():
        return
    lane, own = run.threads.get(report["loop_thread"]), f"scheduler{suffix}"
    for draft in run.drafts:
        if draft.stage == "gc" and draft.lane == lane and lane != MAIN_LANE:
            draft.lane, draft.parent, draft.details["is_kernel"] = own, None, True
            run.lanes.setdefault(own, Lane(own, "scheduler", 0))


def _move_to_loop(run: Page) -> None:
    for draft in run.drafts:
        if draft.role in {"dask.gather", "dask.scatter"} and draft.lane != MAIN_LANE:
            draft.lane, draft.parent = LOOP_LANE, None
            draft.details |= draft.extra or {}
            run.lanes.setdefault(LOOP_LANE, Lane(LOOP_LANE, "client", 0))
