"""Where a scheduler admits no agent: the events that it keeps itself.

Coarser: the graph's stages on the scheduler come as three durations that follow each other, and
nothing is known of tasks, messages, transitions and worker loops. Nothing is installed or written
down there: a task stream could not be taken away again, and a topic of events neither.

Source: distributed 2026.8.0, scheduler.py:Scheduler.update_graph (the event of that name, whose
durations of ordering and state are negative).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_serprof.probes.dask.agent.notes import SCHEDULER, Agent, Computation, clock

_STAGES = (
    ("materialization_duration_seconds", "dask.materialize", "unpickle and materialize"),
    ("ordering_duration_seconds", "dask.schedule.order", "order"),
    ("state_initialization_duration_seconds", "dask.schedule.state", "state and transitions"),
)


async def begin(line: Any, clients: Iterable[str]) -> dict[str, int]:  # noqa: ANN401  (an rpc)
    """Return how many events there are of each client, and when that was asked (``at``, ns)."""
    counts = {client: len(await line.events(topic=client)) for client in clients}
    return {"at": clock(), **counts}


async def end(line: Any, clients: Iterable[str], known: Mapping[str, int]) -> dict[str, Any]:  # noqa: ANN401
    """Return what happened since, in the shape of an agent's report.

    Its clock is taken for the time of day here, moved where that cannot be: ``offset`` and
    ``error``, ns, are what graphs between the beginning and now allow.
    """
    agent = Agent(clients, has_own_process=False)
    for client in sorted(agent.clients):
        for _, event in (await line.events(topic=client))[known[client] :]:
            if isinstance(event, dict) and event.get("action") == "update-graph":
                _add_graph(agent, event.get("metrics") or {})
    agent.computations.sort(key=lambda entry: entry.first_assigned or 0)
    now = clock()
    least = known["at"] - min((span[3] for span in agent.spans), default=now)
    most = now - max((span[4] for span in agent.spans), default=known["at"])
    moved = min(max(0, least), most)
    error = max(most - moved, moved - least)
    return {**agent.report(), "delay": 0, "offset": -moved, "error": error}


def _add_graph(agent: Agent, metrics: Mapping[str, Any]) -> None:
    start = metrics.get("start_timestamp_seconds")
    if start is None:
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


def has_no_worker(client: Any) -> bool:  # noqa: ANN401  (a Client)
    """Tell whether a client waits for a cluster without workers, as it heard last: every 2 s.

    A cluster that adapts gets its workers when there is work.
    """
    known = getattr(client, "_scheduler_identity", {})
    count = known.get("n_workers", len(known.get("workers", "?")))
    waits = any(future.status == "pending" for future in list(client.futures.values()))
    return waits and count == 0 and getattr(client.cluster, "_adaptive", None) is None
