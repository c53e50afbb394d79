"""From the notes of agents to spans, lanes and tables, on the clock of the recording."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Lane, Table, stage
from jupyter_serprof.probes.dask.agent.notes import OFFLOAD, SCHEDULER
from jupyter_serprof.probes.dask.agent.totals import JoinedBlocks
from jupyter_serprof.probes.dask.cluster import Cluster, Station
from jupyter_serprof.probes.dask.computations import TASK_COLUMNS
from jupyter_serprof.probes.dask.local.threads import ready
from jupyter_serprof.probes.dask.sampling import Piece, Seen, gaps_filled

_ROLE = "dask.cluster"
_BLOCKED = "dask.blocked"
#: From the first byte to the last, however long a loop between them does not turn.
_READ = "dask.communicate.read"
#: A shorter rest of what stood still is between two steps of known work.
_STOOD_NS = 50_000_000
#: Of a loop that stood still; of one that takes a graph in more is known.
_UNKNOWN_SHARE = 0.8
_REPORTS = ("task-finished", "task-erred")
#: Times of a message that one side never saw.
_MOST_WIRES = 8_000


def add_cluster(run: Page, cluster: Cluster, suffix: str = "") -> None:
    """Add what the agents of a cluster noted to a run.

    ``run``: Gets drafts on lanes ``scheduler`` and ``worker N/...``.
    ``cluster``: Stopped.
    ``suffix``: Tells the lanes of a second cluster apart.
    """
    report = cluster.scheduler.report
    if report is None:
        return
    where = _Places(run, cluster, report, suffix)
    for each in ("spans", "blocks"):
        for entry in report[each]:
            where.add(entry, "calls" if each == "blocks" else "count")
    if not any(draft.stage == "dask.spill" for draft in run.drafts):
        for prefix in report["prefixes"].values():
            prefix["disk"] = 0
    _note_cloudpickles(run, report)
    _add_messages(where)
    _cut_blocked(run, report)
    _cut_envelopes(run, where)
    _tell_ready(where)
    _add_outstanding(where)
    if report["is_folded"]:
        run.notes.append(
            "dask: tasks that follow each other on a thread are drawn as one span; counts and "
            "totals are exact"
        )
    if failures := report["bytes"].get("failures", 0):
        run.notes.append(f"dask: the agent could not note {failures} events of the scheduler")


def _cut_envelopes(run: Page, where: _Places) -> None:
    lane, helper = where.scheduler(SCHEDULER), where.scheduler(OFFLOAD)
    waits = (d for d in run.drafts if d.lane == helper or (d.lane, d.stage) == (lane, _BLOCKED))
    helped = sorted((draft.start, draft.end) for draft in waits)
    for draft in [d for d in run.drafts if d.lane == lane and d.stage == "dask.schedule"]:
        whole = Piece(draft.start, draft.end, Seen(draft.stage, draft.name))
        pieces = list(gaps_filled([whole], helped))
        for start, end, (key, name) in pieces[1:]:
            run.drafts.append(Draft(key, name, lane, start, end, _ROLE, draft))
        if pieces:
            draft.start, draft.end, _ = pieces[0]


def _cut_blocked(run: Page, report: Mapping[str, Any]) -> None:
    """Leave of the time in which a loop stood still what no work of its process explains."""
    # What a message needs is imported where it is read, and other threads may hold the interpreter.
    # Taking a graph in is a step only where smaller steps are seen: else it waited itself.
    blocked = [draft for draft in run.drafts if draft.stage == _BLOCKED]
    run.drafts[:] = [draft for draft in run.drafts if draft.stage != _BLOCKED]
    known = [draft for draft in run.drafts if draft.stage != _READ and not _waits(draft.stage)]
    collector = run.threads.get(report["loop_thread"])  # of a scheduler in this process
    for draft in blocked:
        who = _process(draft.lane)
        works = [
            d for d in known if _process(d.lane) == who or (d.lane, d.stage) == (collector, "gc")
        ]
        whole = Piece(draft.start, draft.end, Seen(draft.stage, draft.name))
        steps = sorted((d.start, d.end) for d in works if d.stage != "dask.schedule")
        left = [*gaps_filled([whole], steps)]
        if sum(end - start for start, end, _ in left) < _UNKNOWN_SHARE * (draft.end - draft.start):
            left = [*gaps_filled([whole], sorted((d.start, d.end) for d in works))]
        for start, end, _ in left:
            if end - start >= _STOOD_NS:
                run.drafts.append(Draft(_BLOCKED, draft.name, draft.lane, start, end, _ROLE))


def _process(lane: str) -> str:
    return lane.partition("/")[0]


@cache
def _waits(key: str) -> bool:
    return stage(key).waits


def _tell_ready(where: _Places) -> None:
    """Tell how long the threads of tasks were ready on all workers, if each of them tells it."""
    stations, taken = where.cluster.workers, []
    for address, ident in where.report["lanes"]:
        if isinstance(ident, int) and (station := stations.get(address)):
            report = where.report if station.is_here else station.report or {}
            taken.append(report.get("ran", {}).get(ident, (0, math.inf)))
    graphs = (draft for draft in where.run.drafts if draft.name == "update_graph")
    for draft in islice(graphs, int(bool(taken))):
        draft.details |= ready(taken)


def _note_cloudpickles(run: Page, report: Mapping[str, Any]) -> None:
    """Note on the first encoding how many specifications needed cloudpickle after pickle."""
    count = report["bytes"].get("cloudpickled", 0)
    encodings = (draft for draft in run.drafts if draft.stage == "dask.dispatch.encode")
    if count and (first := next(encodings, None)):
        first.details["main_functions"] = count


@dataclass(slots=True)
class _Places:
    """Where and when: from the numbers and the clocks of a cluster to lanes and our clock."""

    # Lanes have numbers instead of addresses, in the order of appearance.

    run: Page
    cluster: Cluster
    report: Mapping[str, Any]
    suffix: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    threads: dict[tuple[str, object], int] = field(default_factory=dict)

    @property
    def station(self) -> Station:
        return self.cluster.scheduler

    def scheduler(self, index: int) -> str:
        key = f"scheduler{self.suffix}"
        return f"{key}/offload" if index == OFFLOAD else key

    def worker(self, address: str, place: object) -> str:
        """Return the key of a lane of a worker: a thread, or what its event loop does."""
        number = self.numbers.setdefault(address, len(self.numbers) + 1)
        if isinstance(place, str):
            return f"worker{self.suffix} {number}/{place}"
        mine = [known for known in self.threads if known[0] == address]
        thread = self.threads.setdefault((address, place), len(mine) + 1)
        return f"worker{self.suffix} {number}/thread {thread}"

    def add(self, entry: Sequence[Any], word: str) -> None:
        """Add one interval that the scheduler knows of, or, as ``calls``, several joined ones."""
        index, stage, _, start, end, *_ = entry
        if index in (SCHEDULER, OFFLOAD):
            lane, moved, error = self.scheduler(index), -self.station.offset_ns, 0
            kind = "scheduler"
        else:
            address, place = self.report["lanes"][index]
            if stage == "dask.spill" and not self._has_spilled(address):
                return
            lane, kind = self.worker(address, place), "worker"
            moved, error = self._of_worker(address, start)
            moved += _into(self.run, start + moved, end + moved, error)
        self.keep(_joined(lane, entry, moved, word), kind, error)

    def _has_spilled(self, address: str) -> bool:
        """Tell whether a worker used its disk: any result that comes late is said to be from it."""
        station = self.cluster.workers.get(address)
        report = self.report if station and station.is_here else station and station.report
        return bool(report and report["bytes"].get("spills"))

    def _of_worker(self, address: str, start: int) -> tuple[int, int]:
        """Return what to add to times of a worker from ``start`` on, and how far they may err."""
        # Workers add their guess of the scheduler's clock, which each heartbeat renews and agents
        # note: it is taken away again, and the offset that we measured put in its place.
        station = self.cluster.workers.get(address)
        if station is None or station.delay_end_s is None:
            return -self.station.offset_ns, self.station.error_ns
        report = station.report or self.report  # in the process of the scheduler: one clock
        own = self.station if station.report is None else station
        bridges = report["bridge"] - self.report["bridge"]
        begin, end = round(station.delay_s * 1e9), round(station.delay_end_s * 1e9)
        around = bisect_right(station.delays, (start + bridges - end, 0))
        near = station.delays[max(0, around - 8) : around + 8]  # heartbeats
        until = [*(at for at, _ in near[1:]), report["clock"]]
        known = reversed([*zip(near, until, strict=False)])
        told = (guess for (at, guess), to in known if at <= start + bridges - guess < to)
        guess, doubt = next(told, begin), 0 if near else abs(end - begin)
        return bridges - guess - own.offset_ns, own.error_ns + doubt

    def keep(self, draft: Draft, kind: str, error_ns: int = 0) -> None:
        """Put a draft on its lane; make the lane if it is the first one."""
        run = self.run
        run.drafts.append(draft)
        if draft.lane not in run.lanes:
            offset, error = self.station.offset_ns, self.station.error_ns
            if kind == "worker":
                offset, error = 0, max(error, error_ns)
            run.lanes[draft.lane] = Lane(draft.lane, kind, len(run.lanes), offset, error)


def _joined(lane: str, entry: Sequence[Any], moved: int, word: str = "calls") -> Draft:
    """Return the draft of joined intervals: from the first one, as long as all of them."""
    _, stage, name, start, end, size, count, busy = entry
    begin, length = start + moved, min(busy, end - start)
    details = {word: count} if count != 1 else {}
    return Draft(stage, name, lane, begin, begin + length, _ROLE, None, size, details)


def _into(run: Page, start: int, end: int, error_ns: int) -> int:
    """Return what to add to times that are known so well, to have them where they can be."""
    # Workers guess clocks anew with each heartbeat; a task of the run neither begins before it nor
    # is reported before it ends.
    if end > run.end:
        return -min(error_ns, end - run.end)
    return min(error_ns, max(0, run.start - start))


def _add_messages(where: _Places) -> None:
    """Add the wire between the two ends of task specifications, and what workers do with them."""
    offset, known = where.station.offset_ns, where.report["messages"]
    sent = {each[7]: each[4] - offset for each in known if each[:2] == ["compute-task", "out"]}
    wires = JoinedBlocks(_MOST_WIRES)
    lanes: dict[str, int] = {}
    news = [each for each in known if each[1] == "in" and each[0] in _REPORTS]
    heard = {each[7]: each[3] - offset for each in news}
    for address, station in where.cluster.workers.items():
        if station.report is None:
            continue
        _size_transfers(where, address, station.report)
        lane = lanes.setdefault(where.worker(address, "comm"), len(lanes))
        moved = -station.offset_ns
        for message in station.report["messages"]:
            op, way, _, all_in, end, size, count, sign = message
            if (op, way) == ("compute-task", "in") and sign in sent:
                begin, done = sent[sign], all_in + moved
                wires.add(lane, "dask.dispatch.wire", op, begin, max(begin, done), size, count)
            elif op in _REPORTS and way == "out" and sign in heard:
                begin, done = end + moved, heard[sign]
                wires.add(lane, "dask.report", op, begin, max(begin, done), size, 0)
        _add_loop(where, station, lane, wires)
    wires.fold()
    keys = list(lanes)
    for entry in wires.kept:
        where.keep(_joined(keys[entry[0]], entry, 0), "worker")


def _size_transfers(where: _Places, address: str, report: Mapping[str, Any]) -> None:
    """Give the transfers of a worker the bytes that came in; the first span carries all of them."""
    size = report["bytes"].get("data in", 0)
    lane = where.worker(address, "transfer")
    transfers = (draft for draft in where.run.drafts if draft.lane == lane)
    if size and (first := next(transfers, None)):
        first.size_bytes = size


def _add_loop(where: _Places, station: Station, lane: int, wires: JoinedBlocks) -> None:
    report, moved = station.report or {}, -station.offset_ns
    for entry in report["blocks"]:
        index, stage, name, start, end, size, count, _ = entry
        if stage in {"dask.dispatch.decode", "dask.report", "import"}:
            count *= stage != "dask.report"  # the scheduler counts those that came
            wires.add(lane, stage, name, start + moved, end + moved, size, count)
        elif stage in {"dask.worker", _BLOCKED}:
            key = where.worker(*report["lanes"][index])
            where.keep(_joined(key, entry, moved), "worker", station.error_ns)


def _add_outstanding(where: _Places) -> None:
    """Add the time in which workers had tasks: where nothing else is known, they were queued."""
    for computation in where.report["computations"]:
        first, last = computation["first_assigned"], computation["last_finished"]
        if first is not None and last is not None and first < last:
            moved = -where.station.offset_ns
            lane = f"{where.scheduler(SCHEDULER)}/tasks"
            times = first + moved, last + moved
            where.keep(Draft("dask.queue", "tasks on workers", lane, *times, _ROLE), "scheduler")


def task_table(reports: Sequence[Mapping[str, Any]]) -> Table | None:
    """Return the table of tasks by prefix, those that took longest first."""
    rows = [row for report in reports for row in _task_rows(report["prefixes"])]
    if not rows:
        return None
    rows.sort(key=lambda row: -row[7])
    note = "execution of one task; quantiles within 0.6 %, bounds and totals exact"
    return Table("dask.tasks", "Tasks by prefix", TASK_COLUMNS, tuple(rows), note)


def _task_rows(prefixes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for name, known in prefixes.items():
        sums = (known[key] for key in ("total", "transfer", "disk", "result_bytes", "errors"))
        yield name, known["count"], *known["quantiles"], *sums
