"""Where a scheduler admits no agent: what it keeps itself, its events and its task stream.

Coarser: the graph's stages on the scheduler come as three durations that follow each other, tasks
come with their times on workers, and nothing is known of messages, transitions and worker loops.

Source: distributed 2026.8.0, scheduler.py:Scheduler.update_graph (the event of that name, whose
durations of ordering and state are negative), diagnostics/task_stream.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_serprof.probes.dask.agent.notes import SCHEDULER, Agent, Computation, Prefix

_PINGS = 3
_STAGES = (
    ("materialization_duration_seconds", "dask.materialize", "unpickle and materialize"),
    ("ordering_duration_seconds", "dask.schedule.order", "order"),
    ("state_initialization_duration_seconds", "dask.schedule.state", "state and transitions"),
)


async def begin(line: Any, topic: str) -> dict[str, int]:  # noqa: ANN401  (an rpc of distributed)
    """Start the task stream and compare clocks.

    Returns
    -------
    dict
        ``bridge``: what makes of the scheduler's time of day (ns) ours; ``error``: half of what
        remains unknown of it; ``index``: where the task stream stands.
    """
    await line.get_task_stream(start=None, stop=None, count=0)
    trips = [await _ping(line, topic) for _ in range(_PINGS)]
    low, high, theirs = min(trips, key=lambda trip: trip[1] - trip[0])
    bridge = (low + high) // 2 - theirs
    return {"bridge": bridge, "error": (high - low + 1) // 2, "since": theirs}


async def _ping(line: Any, topic: str) -> tuple[int, int, int]:  # noqa: ANN401
    """Return when we asked, when we had the answer, and the scheduler's time between, ns."""
    low = time.perf_counter_ns()
    await line.log_event(topic=topic, msg="ping")
    high = time.perf_counter_ns()
    events = await line.events(topic=topic)
    return low, high, int(events[-1][0] * 1e9)


async def end(line: Any, clients: Iterable[str], known: Mapping[str, int]) -> dict[str, Any]:  # noqa: ANN401
    """Return what happened since, in the shape of an agent's report."""
    agent = Agent(clients, has_own_process=False)
    agent.bridge = known["bridge"]
    since = known["since"] / 1e9
    for client in sorted(agent.clients):
        for _, event in await line.events(topic=client):
            if isinstance(event, dict) and event.get("action") == "update-graph":
                _add_graph(agent, event.get("metrics") or {}, since)
    records = await line.get_task_stream(start=since, stop=None, count=None)
    for record in records:
        _add_task(agent, record)
    agent.computations.sort(key=lambda entry: entry.first_assigned or 0)
    if agent.computations and records:
        last = max(step["stop"] for record in records for step in record["startstops"])
        agent.computations[-1].last_finished = int(last * 1e9) + agent.bridge
    return {**agent.report(), "delay": 0}


def _add_graph(agent: Agent, metrics: Mapping[str, Any], since: float) -> None:
    start = metrics.get("start_timestamp_seconds")
    if start is None or start < since:
        return
    at = begin_ns = int(start * 1e9) + agent.bridge
    for key, stage, name in _STAGES:
        seconds = abs(metrics.get(key) or 0)
        agent.span(stage, name, at, at + int(seconds * 1e9), lane=SCHEDULER)
        at += int(seconds * 1e9)
    agent.span("dask.schedule", "update_graph", begin_ns, at, lane=SCHEDULER)
    computation = Computation("")
    computation.tasks, computation.first_assigned = metrics.get("tasks") or 0, at
    agent.computations.append(computation)


def _add_task(agent: Agent, record: Mapping[str, Any]) -> None:
    from dask.utils import key_split

    name = str(key_split(record["key"]))
    prefix = agent.prefixes.setdefault(name, Prefix())
    prefix.result_bytes += record.get("nbytes") or 0
    prefix.errors += "exception" in record
    for step in record["startstops"]:
        agent.step(prefix, name, record.get("worker") or "", record.get("thread"), step)
