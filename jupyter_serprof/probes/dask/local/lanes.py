"""The lanes of local schedulers: tasks of threads and processes, and the caller's own calls."""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft, Page
from jupyter_serprof.model import Lane
from jupyter_serprof.probes.dask.local.columns import CallColumns, Log, laid
from jupyter_serprof.probes.dask.local.processes import Roads

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


def complete_steps(run: Page) -> None:
    """Drop what is counted already or is somebody else's; complete the calls of compute."""
    has_cluster = "distributed" in sys.modules
    for draft in run.drafts:
        draft.is_dropped |= _is_counted(draft) or (has_cluster and _is_of_scheduler(draft))
    children: dict[int, list[Draft]] = defaultdict(list)
    for draft in run.drafts:
        if draft.parent is not None and not draft.is_dropped:
            children[id(draft.parent)].append(draft)
    for draft in [draft for draft in run.drafts if draft.role == COMPUTE]:
        _complete_compute(run, draft, children[id(draft)])


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
    """Tell whether a step was taken by a scheduler of a cluster that lives in this process."""
    # Its agent reports the same step.
    is_step = draft.role in {MATERIALIZE, LOW_LEVEL} and draft.lane != MAIN_LANE
    return is_step and not draft.is_inside(COMPUTE) and not _is_in_get(draft)


def _complete_compute(run: Page, compute: Draft, children: Sequence[Draft]) -> None:
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


#: Spans of tasks in a document; above, those of one name and lane are put together.
MOST_SPANS = 20_000
#: The last task of a compute: it puts the pieces of a result together.
_LAST = "finalize"
#: Between tasks of one batch nothing is sent.
_SHORTEST_WIRE_NS = 20_000
_NUMBER = re.compile(r"worker (\d+)\b")


@dataclass(slots=True)
class Calls:
    """What came with each task."""

    tasks: Log
    waits: Log
    roads: Roads

    def executed(self) -> Iterable[CallColumns]:
        """Return the tasks of all threads and processes."""
        return [*self.tasks.tracks.values(), *self.roads.execute.values()]

    @property
    def prefix(self) -> Callable[[object], str]:
        """What makes of a key the name of the task without its hash; it remembers many."""
        from dask.utils import key_split

        return key_split


def add_calls(run: Page, calls: Calls) -> None:
    """Add the drafts of tasks, waits and pickling, and the lanes of workers."""
    total = sum(map(len, calls.executed()))
    each = max(1, math.ceil(total / MOST_SPANS))
    around = _enclosing(run)
    while (drafts := _drafts(run, calls, each, around)) is None:
        each *= 2
    run.drafts += drafts
    if each > 1:
        run.notes.append(f"dask: {total} tasks are shown {each} at a time; totals are exact")


def _drafts(
    run: Page, calls: Calls, each: int, around: Callable[[str, int], Draft | None]
) -> list[Draft] | None:
    """Return the drafts; None if they are too many."""
    made: list[Draft] = []
    lanes = _Lanes(run)

    def add(columns: CallColumns, lane: str, stage: str, name: str = "") -> int:
        named = calls.prefix if not name else lambda _: name
        drafts = list(laid(columns.rows(), each, named, lane, stage))
        for draft in drafts:
            draft.parent = around(lane, draft.start)
        made.extend(drafts)
        return len(drafts)

    count = sum(
        add(columns, lanes.of_thread(ident), "dask.execute")
        for ident, columns in calls.tasks.tracks.items()
    )
    new = {draft.extra for draft in run.drafts if draft.role == "dask.spawn"}
    first = {at: next(iter(each.numbers), 0) for at, each in calls.roads.execute.items()}
    for process, columns in sorted(calls.roads.execute.items(), key=lambda each: first[each[0]]):
        lane = lanes.of_process(process)
        count += add(columns, lane, "dask.execute")
        add(calls.roads.decode[process], lane, "dask.dispatch.decode", "loads")
        add(calls.roads.outputs[process], lane, "dask.gather", "dumps")
        for stage, wire in wires(calls.roads, process, is_new=process in new):
            add(wire, f"{lane.partition('/')[0]}/comm", stage, "pool queues")
    if each > 1 and count > MOST_SPANS:
        return None
    _add_callers(calls, lanes, add)
    for draft in made:
        if draft.stage == "dask.execute" and draft.name.startswith(_LAST):
            draft.stage = "dask.gather"
    lanes.settle(made)
    return made


def _add_callers(
    calls: Calls, lanes: _Lanes, add: Callable[[CallColumns, str, str, str], int]
) -> None:
    for log, stage, name in (
        (calls.waits, "dask.wait", "queue_get"),
        (calls.roads.encode, "dask.dispatch.encode", "dumps"),
        (calls.roads.gather, "dask.gather", "loads"),
    ):
        for ident, columns in log.tracks.items():
            add(columns, lanes.of_caller(ident), stage, name)


def wires(roads: Roads, process: int, *, is_new: bool) -> Iterator[tuple[str, CallColumns]]:
    """Yield the times when tasks were on their way to a process, and results on their way back."""
    # A pool never has more batches than processes, so none waits for a free one: what lies between
    # the pickle here and the first step there is the queue of the pool, its threads and its pipe.
    # The first task of a new process waits for its start, which has a span of its own.
    encoded = {row.sign: row.end for each in roads.encode.tracks.values() for row in each.rows()}
    gathered = {row.sign: row.start for each in roads.gather.tracks.values() for row in each.rows()}
    there = sorted(roads.decode[process].rows())
    back = sorted(roads.outputs[process].rows())
    sent, returned = CallColumns(), CallColumns()
    for at, (begin, done) in enumerate(zip(there, back, strict=False)):
        free = max(encoded.get(begin.sign, begin.start), back[at - 1].end if at else 0)
        if begin.start - free > _SHORTEST_WIRE_NS and (at or not is_new):
            sent.add(free, begin.start)
        arrived = gathered.get(done.sign, done.end)
        following = there[at + 1].start if at + 1 < len(there) else arrived
        # The results of a batch leave together, after its last task.
        if done.end + _SHORTEST_WIRE_NS < arrived <= following:
            returned.add(done.end, arrived)
    yield "dask.dispatch.wire", sent
    yield "dask.gather", returned


class _Lanes:
    """Names lanes: numbers in the order of appearance, after those that there are."""

    def __init__(self, run: Page) -> None:
        self._run = run
        known = [int(found[1]) for key in run.lanes if (found := _NUMBER.match(key))]
        self._next = max(known, default=0) + 1
        self._threads: dict[int, str] = {}
        self._processes: dict[int, str] = {}
        self._pool = 0
        self._callers = {draft.lane for draft in run.drafts if is_get(draft)}

    def of_caller(self, ident: int) -> str:
        return self._run.threads.get(ident, MAIN_LANE)

    def of_thread(self, ident: int) -> str:
        """Return the lane of a thread that runs tasks: its own if it runs the graph, too."""
        lane = self._run.threads.get(ident)
        if lane is not None and lane in self._callers:
            return lane
        if not self._pool:
            self._pool, self._next = self._next, self._next + 1
        number = len(self._threads) + 1
        return self._threads.setdefault(ident, f"worker {self._pool}/thread {number}")

    def of_process(self, process: int) -> str:
        if process not in self._processes:
            self._processes[process] = f"worker {self._next}/thread 1"
            self._next += 1
        return self._processes[process]

    def settle(self, drafts: Iterable[Draft]) -> None:
        """Make the lanes known, and put on them what else those threads did."""
        threads = self._run.threads
        renamed = {threads[at]: key for at, key in self._threads.items() if at in threads}
        for draft in self._run.drafts:
            draft.lane = renamed.get(draft.lane, draft.lane)
        for key in self._threads.values():
            self._run.lanes[key] = Lane(key, "worker", 0)
        for number, key in enumerate(self._processes.values()):
            for lane in (key, f"{key.partition('/')[0]}/comm"):
                self._run.lanes[lane] = Lane(lane, "worker", number + 1)
        self._run.threads.update(self._threads)
        _add_starts(self._run, self._processes, drafts)


def _add_starts(run: Page, lanes: Mapping[int, str], drafts: Iterable[Draft]) -> None:
    """Add the start of processes: from the call that began it to their first task."""
    first: dict[str, int] = {}
    for draft in drafts:
        first[draft.lane] = min(draft.start, first.get(draft.lane, draft.start))
    for draft in list(run.drafts):
        if draft.role != "dask.spawn":
            continue
        lane = lanes.get(draft.extra) if isinstance(draft.extra, int) else None
        draft.extra = None
        if lane in first and not draft.is_dropped:
            start = Draft("import", "start of a worker", lane, draft.end, first[lane], "dask.start")
            run.drafts.append(start)


def _enclosing(run: Page) -> Callable[[str, int], Draft | None]:
    gets: dict[str, list[Draft]] = {}
    for draft in sorted(run.drafts, key=lambda draft: draft.start):
        if is_get(draft) and not draft.is_dropped:
            gets.setdefault(draft.lane, []).append(draft)
    starts = {lane: [draft.start for draft in some] for lane, some in gets.items()}

    def around(lane: str, at: int) -> Draft | None:
        position = bisect_right(starts.get(lane, ()), at)
        inner_first = reversed(gets.get(lane, ())[:position])
        return next((draft for draft in inner_first if draft.end >= at), None)

    return around
