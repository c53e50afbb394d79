"""What a scheduler knows of the tasks of one recording while they run: a look, a few counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from .hooks import STEPS
from .notes import AGENTS, MOST_KEYS, UNDER_WAY, Agent, clock

#: What a look goes through at most.
_MOST = 1_000
#: Of more layers Dask takes long by itself, and to count the tasks of others is work.
_LAYERS, _KINDS = 1_000, {"Blockwise", "MaterializedLayer"}
#: Keys of a computation that are read to tell it apart.
_FEW_KEYS = 256
#: Workers tell of themselves twice a second, of many workers less often.
_LATE_S = 1.5


class Lookout:
    """Stands among a scheduler's metadata: to read from it is to look, and nothing is logged."""

    def __init__(self, agent: Agent, scheduler: Any) -> None:
        self._agent, self._scheduler = agent, scheduler

    def __getitem__(self, waited: Sequence[Any]) -> dict[str, Any]:
        """Return what is known of own tasks and given keys; less where names are others."""
        try:
            return _look(self._agent, self._scheduler, waited)
        except Exception:
            return {}


def _look(agent: Agent, scheduler: Any, waited: Sequence[Any]) -> dict[str, Any]:
    # What was sent before, and is not waited for, keeps nobody.
    earlier = _with_inputs(scheduler.tasks.get(key) for key in waited)

    def is_own(task: Any) -> bool:
        return agent.place(task) is not None or task.key in earlier

    workers = list(islice(scheduler.workers.values(), _MOST))
    paused = [worker for worker in workers if worker.status.name == "paused"]
    fullness = [worker.metrics["memory"] / (worker.memory_limit or 1e99) for worker in paused]
    silent = [time.time() - worker.last_seen for worker in workers if worker.processing]
    # Where all are paused, tasks that wish for nothing wait here, too.
    stuck = filter(is_own, scheduler.unrunnable if workers else ())
    unfit = [task for task in islice(stuck, _MOST) if _wish(task)]
    return {
        "tasks": sum(agent.planned.values()),
        "done": agent.ended,
        "work": _work(agent),
        "taking": _taking(agent),
        "late": [s for s in silent if s > _LATE_S + len(workers) / 50],
        "workers": len(scheduler.workers),
        "threads": sum(worker.nthreads for worker in workers),
        "paused": [len(paused), max(fullness, default=0.0)],
        "spilled": sum(worker.metrics["spilled_bytes"]["memory"] for worker in workers),
        "unfit": [len(unfit), _wish(unfit[0]) if unfit else ""],
        "oldest": _oldest(agent, workers, is_own),
        "deaths": _deaths(scheduler, workers, is_own),
        "cancelled": sum(w.metrics.get("task_counts", {}).get("cancelled", 0) for w in workers),
        "others": sum(not is_own(one) for w in workers for one in list(w.executing)),
    }


def adopt(token: str, before: set[Any], since: set[Any], scheduler: Any) -> None:
    """Count what was sent since a recording began, and taken in before the agent came."""
    agent, tasks = AGENTS[token], scheduler.tasks
    agent.begun |= since
    agent.earlier.clear()
    agent.meet_earlier(map(tasks.get, before))
    earlier = set(agent.earlier)
    agent.meet_earlier(map(tasks.get, since), MOST_KEYS)
    late, agent.earlier = agent.earlier - earlier, earlier
    if late := {key for key in late if agent.place(tasks[key]) is None}:
        agent.sent(scheduler, sign_of(since), late, *UNDER_WAY)
        agent.is_unassigned = False  # when its first task was given away is not known


def sign_of(keys: Any) -> str:
    """Return what tells a graph with few keys apart."""
    return min(map(str, keys)) if 0 < len(keys) <= _FEW_KEYS else ""


def _deaths(scheduler: Any, workers: list[Any], is_own: Callable[[Any], bool]) -> str:
    """Return with which tasks workers die, and how often; empty where they do not."""
    tasks = chain(scheduler.unrunnable, *(one.processing for one in workers), scheduler.queued)
    known = [task for task in islice(tasks, _MOST) if task.suspicious and is_own(task)]
    most = max((task.suspicious for task in known), default=0)
    names = sorted({task.prefix.name for task in known if task.suspicious == most})[:3]
    return f"workers die with {' or '.join(names)} ({most} time{'s' * (most > 1)})" * bool(known)


def _with_inputs(tasks: Iterable[Any]) -> set[Any]:
    """Return the keys of tasks and of all that they wait for, of which there may be many."""
    left: list[Any] = [task for task in tasks if task is not None]
    keys: set[Any] = set()
    while left and len(keys) < _MOST:
        task = left.pop()
        if task.key not in keys:
            keys.add(task.key)
            left += task.waiting_on or ()  # None where it was given to a worker
    return keys


def _taking(agent: Agent) -> list[Any]:
    """Return what is done to a graph that is taken in, for how many seconds, and its tasks."""
    taken = min(agent.taking.values(), default=0)
    steps = filter(None, list(STEPS.values()))
    stage, start, args = max(steps, key=itemgetter(1), default=("dask.schedule", taken, [None]))
    size = _graph_size(args[0]) if stage == "dask.optimize" else 0
    return [stage, (clock() - start) / 1e9, size] if taken else []


def _graph_size(expression: Any) -> int:
    """Return how many tasks a graph has that is optimized; 0 where only work would tell it."""
    with suppress(Exception):  # private to Dask
        many = expression.operands if "Sequence" in type(expression).__name__ else [expression]
        layers = dict(chain(*(type(one).hlg.fget(one).layers.items() for one in many)))
        kinds = {type(one).__name__ for one in layers.values()}
        return sum(map(len, layers.values())) if kinds <= _KINDS and len(layers) <= _LAYERS else 0
    return 0


def _work(agent: Agent) -> list[float]:
    """Return seconds of work done, left, and of those the ones that nothing measured stands for."""
    known = {name: prefix.compute for name, prefix in agent.prefixes.items()}
    done_ns = sum(one.total for one in known.values())
    count = sum(one.count for one in known.values())
    left_ns = guessed_ns = 0.0
    for name, planned in islice(agent.planned.items(), _MOST):
        if name in known and known[name].count:
            own = known[name]
            left_ns += max(0, planned - own.count) * own.total / own.count
        elif count:
            guessed_ns += planned * done_ns / count
    return [done_ns / 1e9, (left_ns + guessed_ns) / 1e9, guessed_ns / 1e9]


def _wish(task: Any) -> str:
    wishes = [f"{name} {count:g}" for name, count in (task.resource_restrictions or {}).items()]
    places = sorted({*(task.worker_restrictions or ()), *(task.host_restrictions or ())})
    return ", ".join([*wishes, *[f"a worker at {place}" for place in places]][:3])


def spills(server: Any) -> int:
    """Return how often a worker wrote to its disk or read; of its tasks it tells what came late."""
    told = getattr(getattr(server, "data", None), "cumulative_metrics", {})
    return sum(int(told.get((way, "count"), 0)) for way in ("disk-read", "disk-write"))


def running(worker: Any) -> list[Any]:
    """Return prefix and seconds of each task that a thread of a worker is in, cancelled or not."""
    with suppress(Exception):  # private to distributed
        known = [worker.state.tasks.get(key) for key in list(worker.active_keys)]
        return [[one.prefix, time.time() - one.start_time] for one in known if one is not None]
    return []


def _oldest(agent: Agent, workers: list[Any], is_own: Callable[[Any], bool]) -> list[Any]:
    """Return prefix, seconds and usual seconds of the task that runs longest, as workers told."""
    # What a worker told when it was seen last; who has ended since is not processing.
    running = (
        (s + time.time() - worker.last_seen, task)
        for worker in workers
        for task, s in list(worker.executing.items())
        if task.state == "processing" and is_own(task)
    )
    took_s, task = max(running, key=itemgetter(0), default=(0.0, None))
    if task is None:
        return []
    known = agent.prefixes.get(task.prefix.name)
    usual_ns = known.compute.quantile(0.5) if known and known.compute.count else None
    return [task.prefix.name, took_s, None if usual_ns is None else usual_ns / 1e9]
