"""What one recording learns from one process."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .totals import Block, Durations, JoinedBlocks, ran_ns, since

#: Blocks that are kept for each process; above, neighbours are joined and totals stay exact.
MOST_BLOCKS = 8_000
#: Single intervals that are kept for each process; above, neighbours are joined as well.
MOST_SPANS = 4_000
#: Graphs that are told apart; the last one stands for those above.
MOST_COMPUTATIONS = 10_000
#: Messages whose two ends are matched.
MOST_MESSAGES = 20_000
#: Keys that are remembered to see that one is computed again.
MOST_KEYS = 200_000

#: Of both clocks at a time.
_READINGS = 5
#: What distributed hands to a thread instead of blocking its event loop.
OFFLOADED_BYTES = 10_000_000
#: Messages of single tasks by operation and way.
_STAGES = {
    ("compute-task", "out"): "dask.dispatch.encode",
    ("compute-task", "in"): "dask.dispatch.decode",
    ("task-finished", "out"): "dask.report",
    ("task-finished", "in"): "dask.report",
    ("task-erred", "out"): "dask.report",
    ("task-erred", "in"): "dask.report",
}

#: States of tasks that are not over.
UNDER_WAY = frozenset(("released", "waiting", "queued", "no-worker", "processing"))
SCHEDULER, OFFLOAD = 0, 1
clock = time.perf_counter_ns
#: The agents of this process by the names of their recordings.
AGENTS: dict[str, Agent] = {}


class Prefix:
    """What is known of the tasks of one prefix."""

    def __init__(self) -> None:
        self.compute = Durations()
        self.transfer = self.disk = self.result_bytes = self.errors = 0


class Computation:
    """What is known of one graph that the client sent."""

    def __init__(self, sign: str) -> None:
        self.sign = sign
        self.tasks = self.finished = self.repeated = self.repeated_ns = self.chained = 0
        #: By prefix: how many tasks, and how long they computed.
        self.prefixes: dict[str, list[int]] = {}
        self.first_assigned: int | None = None
        self.last_finished: int | None = None


class Agent:
    """What one recording learns from one process."""

    def __init__(self, clients: Iterable[str], *, has_own_process: bool) -> None:
        self.clients = set(clients)
        #: Clients of which all that they sent before the recording was read; keys sent since.
        self.begun: set[Any] = set()
        #: Tasks of the event loop that take in a graph of the recording, and since when.
        self.taking: dict[Any, int] = {}
        self.has_own_process = has_own_process
        self.loop_thread = threading.get_ident()
        self.spans: list[Block] = []
        self.blocks = JoinedBlocks(MOST_BLOCKS)
        #: Of intervals that come too often to be kept; several threads note them.
        self.more = JoinedBlocks(MOST_BLOCKS // 4)
        self.lock = threading.Lock()
        #: Apart: the collector runs in any thread, in the midst of anything.
        self.collections = JoinedBlocks(MOST_BLOCKS // 4)
        self.lanes: dict[tuple[str, Any], int] = {
            ("scheduler", "loop"): SCHEDULER,
            ("scheduler", "offload"): OFFLOAD,
        }
        self.prefixes: dict[str, Prefix] = {}
        self.computations: list[Computation] = []
        #: Tasks of all graphs by prefix, and how many of them are over.
        self.planned: dict[str, int] = {}
        self.ended = 0
        self.groups: dict[str, int] = {}
        #: Keys that are plain strings: other people's tasks of that name are in the same group.
        self.keys: dict[Any, int] = {}
        #: Keys of what our clients had sent before, and wait for: their time is shown, not counted.
        self.earlier: set[Any] = set()
        self.computed: set[int] = set()
        self.messages: list[list[Any]] = []
        self.drained: list[int] = []
        self.bytes: Counter[str] = Counter()
        self.transitions = 0
        #: The most threads that the workers of the cluster had together, the idle ones too.
        self.threads = 0
        #: Process of the client; when it told, by its clock, which recordings ran there, and which.
        self.origin: tuple[int, tuple[int, Sequence[str]]] = (0, (0, ()))
        #: Who has the agent in this process, by `id`: ticks until it leaves.
        self.leases: dict[int, int] = {}
        #: Of a scheduler: what is known of each worker, who keeps it up, when that is over.
        self.stations: dict[str, dict[str, Any]] = {}
        self.errands: dict[str, Any] = {}
        self.leaving: Any = None
        #: What each worker adds to its times, from the begin of which task on, by address.
        self.delays: dict[str, list[tuple[int, float]]] = {}
        self.is_scheduler = False
        self.is_unassigned = False
        self.bridge, self.ran = _bridge(), ran_ns()

    def span(
        self,
        stage: str,
        name: str,
        start: int,
        end: int,
        size: int | None = None,
        count: int = 1,
        lane: int | None = None,
    ) -> None:
        """Note an interval that may hold others."""
        lane = self.lane_here() if lane is None else lane
        if lane is None:  # work of the client or of a worker that shares the process
            return
        if len(self.spans) < MOST_SPANS:
            self.spans.append((lane, stage, name, start, end, size, count, end - start))
        else:
            with self.lock:
                self.more.add(lane, stage, name, start, end, size)

    def often(self, stage: str, name: str, start: int, end: int) -> None:
        """Note an interval of the scheduler's loop that comes with each task."""
        self.blocks.add(SCHEDULER, stage, name, start, end)

    def begin_graph(self, client: str | None, keys: Iterable[Any]) -> None:
        """Note that the scheduler begins to take a graph in: ours, if it was sent since the start.

        What was sent before may be taken in later: messages are under way, and wait for each other.
        """
        if not self.begun.isdisjoint((client, *keys)):
            self.taking[asyncio.current_task()] = clock()

    def is_taking(self, keys: Iterable[Any] = ()) -> bool:
        """Tell whether the graph that is taken in now is one of the recording."""
        return asyncio.current_task() in self.taking or not self.begun.isdisjoint(keys)

    def graph(self, client: str | None, start: int, end: int) -> None:
        """Note how long the scheduler took a graph in."""
        name = "update_graph (another client)"
        if client in self.clients:
            name = "update_graph" if self.is_taking() else "update_graph (sent before)"
        self.taking.pop(asyncio.current_task(), None)
        self.span("dask.schedule", name, start, end, lane=SCHEDULER)

    def count(self, what: str) -> None:
        """Count a call on a thread of the scheduler."""
        if self.is_scheduler and self.lane_here() is not None:
            self.bytes[what] += 1

    def imported(self, name: str, start: int, end: int) -> None:
        """Note the import of a module; the client's process sees its own."""
        lane = self.lane_here() if self.has_own_process else None
        if lane is not None:
            self.blocks.add(lane, "import", "import " + name, start, end)

    def drain(self, at: int) -> None:
        """Note when the socket had taken a graph."""
        if len(self.drained) < MOST_MESSAGES:
            self.drained.append(at)

    def message(self, *message: Any) -> None:
        """Note one end of a message: op, way, first byte, start, end, size, count, sign."""
        op, way, first, start, end, size, count, _ = message
        self.bytes[op + " " + way] += size
        self.bytes[op + " messages " + way] += 1
        self.bytes[op + " tasks " + way] += count
        lane = OFFLOAD if size > OFFLOADED_BYTES else SCHEDULER
        if len(self.messages) < MOST_MESSAGES:
            self.messages.append(list(message))
        if stage := _STAGES.get((op, way)):
            self.blocks.add(lane, stage, op, start, end, size, count)
        elif way == "in" and op != "data":
            self.span("dask.communicate.read", "read", first, start, size, count, SCHEDULER)
            self.span("dask.communicate.decode", "from_frames", start, end, size, count, lane)

    def lane_here(self) -> int | None:
        """Return the lane of this thread; None if it is no thread of the scheduler."""
        if threading.get_ident() == self.loop_thread:
            return SCHEDULER
        return OFFLOAD if "Offload" in threading.current_thread().name else None

    def sent(self, scheduler: Any, sign: str, keys: Any, *late: str) -> None:
        """Note that the scheduler took in a graph of our client; lately: its tasks have states."""
        if len(self.computations) < MOST_COMPUTATIONS:
            self.computations.append(Computation(sign))
        computation, at = self.computations[-1], len(self.computations) - 1
        self.is_unassigned = computation.first_assigned is None
        tasks, groups = scheduler.tasks, self.groups
        for key in keys:
            task = tasks.get(key)
            # Inputs that are known already were computed, or are on their way, for another graph.
            if task is not None and (task.state == "released" or task.state in late):
                if type(key) is str and len(self.keys) < MOST_KEYS:
                    self.keys[key] = at
                else:
                    groups[task.group.name] = at
                computation.tasks += 1
                computation.chained += any(d.prefix is task.prefix for d in task.dependencies)
                self.planned[task.prefix.name] = self.planned.get(task.prefix.name, 0) + 1

    def meet_earlier(self, tasks: Iterable[Any], most: int = MOST_KEYS // 10) -> None:
        """Keep what of the given tasks, and of those that they wait for, is not over yet."""
        left = list(tasks)
        while left and len(self.earlier) < most:  # the loop stands still meanwhile
            task = left.pop()
            if task is not None and task.key not in self.earlier and task.state in UNDER_WAY:
                self.earlier.add(task.key)
                left += task.dependencies

    def assigned(self, scheduler: Any, key: Any) -> None:
        """Note when the first task of the newest graph was given to a worker."""
        if self.place(scheduler.tasks.get(key)) != len(self.computations) - 1:
            return
        self.computations[-1].first_assigned = clock()
        self.is_unassigned = False

    def place(self, task: Any) -> int | None:
        """Return which graph of the recording a task belongs to; None if it is of no one."""
        if task is None:
            return None
        at = self.keys.get(task.key)
        return self.groups.get(task.group.name) if at is None else at

    def finished(self, scheduler: Any, key: Any, finish: str, details: dict[str, Any]) -> None:
        """Note that a task left ``processing``."""
        task = scheduler.tasks.get(key)
        at, worker, thread = self.place(task), details.get("worker") or "", details.get("thread")
        steps = details.get("startstops") or ()
        if at is None:  # sent before; or gone, or another client's
            for step in steps if key in self.earlier else ():
                self.step(Prefix(), task.prefix.name, worker, thread, step)
            return
        computation, name = self.computations[at], task.prefix.name
        prefix = self.prefixes.get(name)
        if prefix is None:
            prefix = self.prefixes[name] = Prefix()
        if finish == "erred":
            prefix.errors += 1
        prefix.result_bytes += details.get("nbytes") or 0
        computation.finished += 1
        self.ended += 1
        computation.last_finished = clock()
        took = [step["stop"] - step["start"] for step in steps if step["action"] == "compute"]
        took_ns, sign = int(sum(took) * 1e9), hash(key)
        own = computation.prefixes.setdefault(name, [0, 0])
        own[:] = own[0] + 1, own[1] + took_ns
        if sign in self.computed:
            computation.repeated += 1
            computation.repeated_ns += took_ns
        elif len(self.computed) < MOST_KEYS:
            self.computed.add(sign)
        for step in steps:
            self.step(prefix, name, worker, thread, step)

    def step(self, prefix: Prefix, name: str, worker: str, thread: Any, step: Any) -> None:
        """Note one interval that a worker reports: compute, transfer, disk."""
        action = step["action"]
        start = int(step["start"] * 1e9) + self.bridge
        end = int(step["stop"] * 1e9) + self.bridge
        if action == "compute":
            prefix.compute.add(end - start)
            stage, place = "dask.execute", thread
        elif action == "transfer":
            prefix.transfer += end - start
            stage, place = "dask.transfer", "transfer"
        else:
            prefix.disk += end - start
            stage, place = "dask.spill", "disk"
        lane = self.lanes.setdefault((worker, place), len(self.lanes))
        self.blocks.add(lane, stage, name, start, end)

    def around_task(self, worker: Any, start: int, delay: float, result: Any, end: int) -> None:
        """Note the time of a worker's loop before and after a task ran on its thread."""
        begun, done = getattr(result, "start", None), getattr(result, "stop", None)
        if begun is None or done is None:
            return
        moved = self.bridge - int(delay * 1e9)  # it was added when the task began
        begun, done = int(begun * 1e9) + moved, int(done * 1e9) + moved
        known = self.delays.setdefault(worker.address, [])
        if not known or known[-1][1] != delay:
            known.append((begun, delay))
        if start <= begun <= done <= end:
            self.on_loop(worker, "begin task", start, begun)
            self.on_loop(worker, "end task", done, end)

    def count_threads(self, scheduler: Any) -> None:
        """Keep how many threads there are to run tasks."""
        self.threads = max(self.threads, getattr(scheduler, "total_nthreads", 0))

    def on_loop(self, worker: Any, name: str, start: int, end: int) -> None:
        """Note an interval of a worker's event loop."""
        lane = self.lanes.setdefault((worker.address, "loop"), len(self.lanes))
        self.blocks.add(lane, "dask.worker", name, start, end)

    def report(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        self.blocks.fold()
        self.collections.fold()
        self.more.fold()
        blocks = [*self.blocks.kept, *self.collections.kept, *self.more.kept]
        return {
            "clock": clock(),
            "bridge": self.bridge,
            "pid": os.getpid(),
            "loop_thread": self.loop_thread,
            "lanes": [list(place) for place in self.lanes],
            "spans": [list(entry) for entry in self.spans],
            "blocks": [list(entry) for entry in blocks],
            "is_folded": self.blocks.is_folded or self.more.is_folded,
            "messages": self.messages,
            "drained": self.drained,
            "bytes": dict(self.bytes),
            "transitions": self.transitions,
            "ran": since(self.ran),
            "threads": self.threads,
            "prefixes": {name: _prefix_data(prefix) for name, prefix in self.prefixes.items()},
            "computations": [vars(entry) for entry in self.computations],
        }


def _prefix_data(prefix: Prefix) -> dict[str, Any]:
    compute = prefix.compute
    return {
        "count": compute.count,
        "total": compute.total,
        "quantiles": [
            compute.least,
            *[compute.quantile(share) for share in (0.25, 0.5, 0.75)],
            compute.most if compute.count else None,
        ],
        **{name: known for name, known in vars(prefix).items() if name != "compute"},
    }


def _bridge() -> int:
    # A thread that must pause between the two clocks reads them apart: the closest reading counts.
    from distributed.metrics import time as now

    readings = ((clock(), int(now() * 1e9), clock()) for _ in range(_READINGS))
    before, of_day, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return (before + after) // 2 - of_day


def delay_s(server: Any) -> float:
    """Return what a worker adds to its times to have those of its scheduler: its latest guess."""
    return getattr(server, "scheduler_delay", 0) or 0


def agents_here() -> list[Agent]:
    """Return the agents of this thread's scheduler: one process can hold several."""
    agents = list(AGENTS.values())
    if len(agents) == 1:
        return agents
    here, loops = threading.get_ident(), {agent.loop_thread for agent in agents}
    return [agent for agent in agents if here not in loops or agent.loop_thread == here]


_GC_START = [0]


def collected(phase: str, info: dict[str, int]) -> None:
    """Note a garbage collection, as ``gc.callbacks`` tells it."""
    if phase == "start":
        _GC_START[0] = clock()
        return
    for agent in list(AGENTS.values()):
        if agent.has_own_process:
            name = "generation " + str(info.get("generation"))
            agent.collections.add(SCHEDULER, "gc", name, _GC_START[0], clock())
