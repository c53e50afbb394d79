"""Probe of Dask's distributed client: what it sends, what it waits for, what it gets.

Three rungs: agents on the scheduler and its workers (see `dask_cluster`); without them the events
and the task stream that the scheduler keeps itself; without those what the client does.
Source: distributed 2026.8.0, client.py:Client._graph_to_futures, _gather_remote, utils.py:sync.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any

from jupyter_serprof.capture.draft import MAIN_LANE, Draft, Run
from jupyter_serprof.capture.point import After, Point
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import Group, Lane, Table, TableColumn
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.dask_cluster import Cluster, clusters_of
from jupyter_serprof.probes.dask_graph import KeptGraphs
from jupyter_serprof.probes.dask_tasks import add_cluster, task_table

_LOOP_LANE = "client/loop"
#: Threads in which distributed works for the client; what they pickle is named by other spans.
_LOOP_THREADS = ("IO loop", "Dask-Offload")
_CALLS = ("compute", "persist", "submit", "map", "get", "scatter", "gather")
#: Computations that are drawn as groups; the others are in the last one.
_MOST_GROUPS = 12
_FEW_KEYS = 256
#: What each rung below the first cannot see.
_UNSEEN = {
    "scheduler": "messages and event loops of workers",
    "events and task stream": "communication, dispatch, transitions, event loops of workers",
    "client only": "everything on the scheduler and its workers",
}
_MOST_NAMES = 3
_MOST_ROWS = 48
_COMPUTATION_COLUMNS = (
    TableColumn("computation", "Computation"),
    TableColumn("kind", "Call"),
    TableColumn("graph_bytes", "Graph", "bytes"),
    TableColumn("layers", "Layers", "count"),
    TableColumn("tasks", "Tasks", "count"),
    TableColumn("repeated_tasks", "Computed again", "count"),
    TableColumn("dispatched_bytes", "Sent to workers", "bytes"),
    TableColumn("duration", "Duration", "ns"),
)


@dataclass(slots=True)
class _Sent:
    """A graph that the client sent."""

    draft: Draft
    kind: str = ""
    title: str = ""
    size_bytes: int | None = None
    layers: int | None = None
    noted: Mapping[str, Any] = field(default_factory=dict)
    #: When it was handed to the event loop.
    handed_ns: int = 0
    end_ns: int = 0


def _note_graph(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note whose graph it is, its size in layers, and what tells it apart."""
    client, expr = args[0], args[1] if len(args) > 1 else kwargs["expr"]
    keys = list(result)
    sign = min(map(str, keys)) if 0 < len(keys) <= _FEW_KEYS else ""
    graphs = _graphs(expr)
    layers = sum(len(graph.layers) for graph in graphs) if graphs else None
    lasts = [_last_layer(graph) for graph in graphs] or keys[:1]
    return client.id, layers, sign, lasts[:_MOST_NAMES], len(lasts)


def _last_layer(graph: Any) -> str:  # noqa: ANN401
    """Return the name of what is computed: the last layer that is not Dask's own last step."""
    names = reversed(graph.layers)
    return next((name for name in names if not str(name).startswith("finalize")), "")


def _graphs(expr: Any) -> list[Any]:  # noqa: ANN401
    """Return the graphs of layers in what is sent; looking does not materialize them."""
    parts = [expr, *getattr(expr, "operands", ())]
    return [part.hlg for part in parts if hasattr(part, "hlg")]


def _frame_bytes(result: Any) -> list[int]:  # noqa: ANN401
    header, frames = result
    return [getattr(frame, "nbytes", None) or len(frame) for frame in (header, *frames)]


def client_points(note_frames: After) -> list[Point]:
    """Return the places of the client that are watched.

    Parameters
    ----------
    note_frames
        Called after a graph was pickled.
    """
    module = "distributed.client:"
    return [
        Point(f"{module}Client._graph_to_futures", "dask.submit", "dask.graph", after=_note_graph),
        Point(f"{module}serialize", "dask.serialize", "dask.serialize", after=note_frames),
        *[Point(f"{module}Client.{name}", "dask.submit", f"dask.call:{name}") for name in _CALLS],
        Point(f"{module}Client._send_to_scheduler", "dask.submit", "dask.send"),
        Point("distributed.utils:SyncMethodMixin.sync", "dask.wait", "dask.wait"),
        Point(f"{module}as_completed.__next__", "dask.wait", "dask.wait"),
        Point(f"{module}Client._gather_remote", "dask.gather", "dask.gather"),
        Point(f"{module}Client._scatter", "dask.scatter", "dask.scatter"),
    ]


class DaskProbe(Probe):
    """Sees every graph that clients of this process send, and what becomes of it."""

    name = "dask"
    library = "distributed"
    requires = "dask"

    def __init__(self, *, detail: bool = False) -> None:
        super().__init__(detail=detail)
        self._clusters: list[Cluster] = []
        self._loops: set[int] = set()
        self._has_notes = False
        self._kept = KeptGraphs()
        self._numbers = count()

    def points(self) -> list[Point]:
        """Return the places of the client."""
        return client_points(self._note_frames)

    def _note_frames(self, token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG002
        """Note in-band and out-of-band bytes, and hold the graph if it is a large one."""
        sizes = _frame_bytes(result)
        graph = getattr(args[0], "data", None)
        self._kept.keep(next(self._numbers), graph, sum(sizes))
        return sum(sizes[:2]), sum(sizes[2:]), len(sizes[2:])

    def arm(self, recorder: Recorder) -> None:
        """Ship the agents first: they are the inner ones, and what they cost is not recorded."""
        self._start_clusters()
        super().arm(recorder)

    def _start_clusters(self) -> None:
        client = sys.modules["distributed.client"].Client
        for cluster in clusters_of(list(client._instances)):  # noqa: SLF001  (no public list)
            self._clusters.append(cluster)
            cluster.start()

    def remove(self) -> None:
        """Stop listening, then fetch what the agents noted and take them away."""
        super().remove()
        for cluster in self._clusters:
            cluster.stop()
        self._loops = {
            thread.ident
            for thread in threading.enumerate()
            if thread.name.startswith(_LOOP_THREADS) and thread.ident is not None
        }

    def refine(self, run: Run) -> None:
        """Complete the spans of the client, and add those of schedulers and workers."""
        _drop_pickles(run, {run.threads[ident] for ident in self._loops if ident in run.threads})
        _move_to_loop(run)
        sent = _sent(run)
        for number, cluster in enumerate(self._clusters):
            add_cluster(run, cluster, f" {number + 1}" if number else "")
            run.notes += [f"dask: {trouble}" for trouble in cluster.trouble]
            mine = [entry for entry in sent if entry.draft.extra[0] in cluster.ids]
            _add_communication(run, cluster, mine)
            _match(mine, cluster)
        self._add_facts(run, sent)

    def _add_facts(self, run: Run, sent: Sequence[_Sent]) -> None:
        for entry in sent:
            entry.draft.extra = None
        reports = list(_reports(self._clusters))
        self._has_notes = bool(reports)
        _add_groups(run, sent)
        tables = [task_table(reports), _computation_table(run, sent, reports)]
        tables += self._kept.tables()
        self._kept.clear()
        run.tables += [table for table in tables if table is not None]

    def level(self) -> str:
        """Return the rung that was reached."""
        if not self._clusters:
            return "client"
        if not self._has_notes:
            return "client only"
        if any(cluster.events for cluster in self._clusters):
            return "events and task stream"
        stations = [station for cluster in self._clusters for station in cluster.workers.values()]
        if any(station.report or station.is_here for station in stations):
            return "scheduler and workers"
        return "scheduler"

    def unseen(self) -> Sequence[str]:
        """Return what could not be seen, for ``quality``."""
        places = [name for cluster in self._clusters for name in cluster.missing]
        missing = [f"{place} (not in this version)" for place in [*self.missing, *places]]
        if self.level() in _UNSEEN:
            missing.append(_UNSEEN[self.level()])
        return list(dict.fromkeys(missing))


def _reports(clusters: Iterable[Cluster]) -> Iterable[Mapping[str, Any]]:
    for cluster in clusters:
        if cluster.scheduler is not None and cluster.scheduler.report is not None:
            yield cluster.scheduler.report


def _drop_pickles(run: Run, loops: set[str]) -> None:
    """Leave out the pickles inside what Dask names itself; count those that ran twice."""
    for draft in run.drafts:
        if draft.stage not in {"pickle.dumps", "pickle.loads"}:
            continue
        around = next((a for a in draft.ancestors() if a.role == "dask.serialize"), None)
        if around is not None and draft.place.startswith("cloudpickle"):
            around.details["main_functions"] = around.details.get("main_functions", 0) + 1
        draft.is_dropped = around is not None or draft.lane in loops


def _move_to_loop(run: Run) -> None:
    """Put what runs on the client's event loop on one lane."""
    for draft in run.drafts:
        if draft.role in {"dask.gather", "dask.scatter"} and draft.lane != MAIN_LANE:
            draft.lane, draft.parent = _LOOP_LANE, None
            run.lanes.setdefault(_LOOP_LANE, Lane(_LOOP_LANE, "client", 0))


def _sent(run: Run) -> list[_Sent]:
    """Return the graphs that were sent, in order; note sizes on their spans."""
    found: dict[int, _Sent] = {}
    for draft in run.drafts:
        if draft.role == "dask.graph" and draft.extra is not None:
            _, layers, _, keys, total = draft.extra
            title = _named(keys, total)
            found[id(draft)] = _Sent(draft, _call_around(draft), title, layers=layers)
            found[id(draft)].handed_ns = draft.end
    for draft in run.drafts:
        if draft.role == "dask.send" and draft.parent is not None and id(draft.parent) in found:
            found[id(draft.parent)].handed_ns = draft.start
    ordered = sorted(found.values(), key=lambda entry: entry.draft.end)
    for number, entry in enumerate(ordered):
        entry.draft.details["computation"] = number
    for draft in run.drafts:
        if draft.role == "dask.serialize" and draft.extra is not None:
            in_band, out_of_band, buffers = draft.extra
            draft.extra, draft.size_bytes = None, in_band + out_of_band
            draft.details |= {
                "in_band_bytes": in_band,
                "out_of_band_bytes": out_of_band,
                "buffers": buffers,
            }
            if draft.parent is not None and (around := found.get(id(draft.parent))):
                around.size_bytes = draft.size_bytes
                draft.details["computation"] = around.draft.details["computation"]
                if around.layers is not None:
                    draft.details["layers"] = around.layers
    return ordered


def _call_around(draft: Draft) -> str:
    calls = [a.role.partition(":")[2] for a in draft.ancestors() if a.role.startswith("dask.call:")]
    kind = calls[-1] if calls else "submit"
    return "compute" if kind == "get" else kind


def _named(keys: Sequence[Any], total: int) -> str:
    """Return what is computed, by the names of its last layers or keys."""
    from dask.utils import key_split

    names = dict.fromkeys(str(key_split(key)) for key in keys)
    more = f" and {total - len(keys)} more" if total > len(keys) else ""
    return ", ".join(names) + more


def _add_communication(run: Run, cluster: Cluster, sent: Sequence[_Sent]) -> None:
    """Add the road of each graph from the client to the scheduler's handler."""
    report = cluster.scheduler.report if cluster.scheduler else None
    if report is None or cluster.scheduler is None:
        return
    moved = -cluster.scheduler.offset_ns
    messages = cluster.outgoing
    out = [entry for entry in messages if entry[:2] == ["update-graph", "out"]]
    into = [entry for entry in report["messages"] if entry[:2] == ["update-graph", "in"]]
    handled = sorted(entry[3] for entry in report["spans"] if entry[2] == "update_graph")
    batches = iter(_batches(out, into, cluster.drained))
    begun, left = None, 0
    for number, entry in enumerate(sent):
        if not out:  # no frames: scheduler and client share a process
            if number < len(handled):
                _add(run, "wire", entry.handed_ns, handled[number] + moved, None)
            continue
        if left == 0:
            batch = next(batches, None)
            if batch is None:
                return
            begun, left = batch, batch[0][6]
        left -= 1
        if begun is not None:
            _add(run, "batch", entry.handed_ns, begun[0][3], None)
            if left == begun[0][6] - 1:
                _add_wire(run, begun, moved)


def _batches(
    out: Sequence[Any], into: Sequence[Any], drained: Sequence[int]
) -> Iterable[tuple[Any, Any, int | None]]:
    """Match what left with what came in: one connection keeps the order."""
    for number, message in enumerate(out):
        yield (
            message,
            into[number] if number < len(into) else None,
            drained[number] if number < len(drained) else None,
        )


def _add_wire(run: Run, batch: tuple[Any, Any, int | None], moved: int) -> None:
    out, into, drained = batch
    size = out[5]
    _add(run, "frames", out[3], out[4], size)
    if drained is not None:
        _add(run, "write", out[4], drained, size)
    if into is not None:
        _add(run, "wire", out[4], into[2] + moved, size)


def _add(run: Run, step: str, start: int, end: int, size: int | None) -> None:
    if end > start:
        stage = f"dask.communicate.{step}"
        draft = Draft(stage, step, _LOOP_LANE, start, end, "dask.communicate")
        draft.size_bytes = size
        run.drafts.append(draft)
        run.lanes.setdefault(_LOOP_LANE, Lane(_LOOP_LANE, "client", 0))


def _match(sent: Sequence[_Sent], cluster: Cluster) -> None:
    """Give each graph what the scheduler noted of it: by what tells it apart, else by order."""
    report = cluster.scheduler.report if cluster.scheduler else None
    left = list(report["computations"]) if report else []
    for entry in sent:
        sign = entry.draft.extra[2]
        found = next((one for one in left if sign and one["sign"] == sign), None)
        if found is None and left:
            found = left[0]
        if found is not None:
            left.remove(found)
            entry.noted = found
        last = found["last_finished"] if found else None
        if last is not None and cluster.scheduler is not None:
            entry.end_ns = last - cluster.scheduler.offset_ns


def _add_groups(run: Run, sent: Sequence[_Sent]) -> None:
    """Make a group of each computation; graphs that are sent without a wait between are one."""
    waits = sorted(
        draft.end for draft in run.drafts if draft.role == "dask.wait" and draft.lane == MAIN_LANE
    )
    begins: list[tuple[int, list[_Sent]]] = []
    before = run.start
    for entry in sent:
        ended = [end for end in waits if before < end <= entry.draft.start]
        if begins and not ended:
            begins[-1][1].append(entry)
        else:
            begins.append((ended[-1] if ended else run.start, [entry]))
        before = entry.draft.end
    if len(begins) < 2:  # noqa: PLR2004  (one computation needs no group)
        return
    for number, (start, entries) in enumerate(begins[:_MOST_GROUPS]):
        is_last = number == len(begins) - 1
        end = run.end if is_last else begins[number + 1][0]
        rest = begins[number:] if number == _MOST_GROUPS - 1 else [(start, entries)]
        title = _title(number, [entry for _, some in rest for entry in some])
        run.groups.append(Group(title, start, run.end if len(rest) > 1 else end))


def _title(number: int, entries: Sequence[_Sent]) -> str:
    first = entries[0]
    more = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
    return f"{number + 1}: {first.kind} {first.title}{more}"


def _computation_table(
    run: Run, sent: Sequence[_Sent], reports: Sequence[Mapping[str, Any]]
) -> Table | None:
    if not sent:
        return None
    rows = [_computation_row(run, entries) for entries in _alike(sent)]
    if len(rows) == 1 and reports:
        dispatched = _sum(report["bytes"].get("compute-task out") for report in reports)
        rows = [(*rows[0][:6], dispatched, rows[0][7])]
    shown = rows[:_MOST_ROWS]
    note = f"{len(rows) - len(shown)} more computations" if len(rows) > len(shown) else ""
    return Table("dask.computations", "Computations", _COMPUTATION_COLUMNS, tuple(shown), note)


def _alike(sent: Sequence[_Sent]) -> list[list[_Sent]]:
    """Put graphs of the same call and name that follow each other together."""
    return [list(some) for _, some in groupby(sent, key=lambda entry: (entry.title, entry.kind))]


def _computation_row(run: Run, entries: Sequence[_Sent]) -> tuple[Any, ...]:
    first = entries[0]
    more = f" ({len(entries)} graphs)" if len(entries) > 1 else ""
    end = max(entry.end_ns or run.end for entry in entries)
    return (
        first.title + more,
        first.kind,
        _sum(entry.size_bytes for entry in entries),
        _sum(entry.layers for entry in entries),
        _sum(entry.noted.get("tasks") for entry in entries),
        _sum(entry.noted.get("repeated") for entry in entries),
        None,
        max(0, end - first.draft.start),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
