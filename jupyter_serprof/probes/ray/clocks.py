"""Clocks of other machines, by the order of what happened to tasks.

None runs before it was sent, or ends after its owner knew: each bounds its worker's clock from both
sides. Where a node ran few, some of our own that do nothing follow, without a processor.
Source: Ray 2.60.0, gcs.proto: RUNNING and the profile events are told by that clock.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from math import inf
from typing import Any

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.probes.ray.agents import Notes
from jupyter_serprof.probes.ray.alive import has_raylet, own_state
from jupyter_serprof.probes.ray.road import names

#: A node that ran fewer tasks is sent so many more, to know its clock by.
PINGS = 20


def nodes_here() -> set[bytes]:
    """Return the nodes of the machine of this program, which share its clock; of Ray that runs."""
    # What is public would start Ray anew.
    own = sys.modules["ray._private.worker"].global_worker.current_node_id.hex()
    hosts = {one["NodeID"]: one["NodeManagerAddress"] for one in own_state().node_table()}
    return {bytes.fromhex(node) for node, host in hosts.items() if host == hosts.get(own)}


def pinged(run: Page, found: Notes) -> set[bytes]:
    """Send tasks that do nothing to machines that ran few; return their ids."""
    ran = Counter(found.nodes[one.worker] for one in found.attempts)
    few = [node for node in found.away if 0 < ran[node] < PINGS]
    if not few or run.is_interrupted or not has_raylet():
        return set()
    ray, strategies = sys.modules["ray"], import_module("ray.util.scheduling_strategies")
    ping = ray.remote(eval("lambda: None", {"__name__": "__main__"}))  # noqa: S307  (by value)
    send = getattr(type(ping)._remote, "original", type(ping)._remote)  # noqa: SLF001
    own = {"num_cpus": 0, "name": "jupyter_serprof.ping"}
    there = [strategies.NodeAffinitySchedulingStrategy(node, soft=False) for node in few]
    sent = [send(ping, **own, scheduling_strategy=one) for one in there for _ in range(PINGS)]
    return {bytes(one.task_id().binary()) for one in sent}


def align(run: Page, tasks: Iterable[Any], submitted: Collection[bytes | None]) -> None:
    """Set what other machines tell of tasks by the clock of this program, as far as it is known."""
    status, by_node = names().TaskStatus, defaultdict[bytes, list[Any]](list)
    for task in tasks:
        if task.state_updates.node_id:
            by_node[bytes(task.state_updates.node_id)].append(task)
    for node in by_node.keys() - (nodes_here() if by_node else set()):
        low, high = -inf, inf
        for task in by_node[node]:
            times = task.state_updates.state_ts_ns
            if bytes(task.task_id) in submitted and status.RUNNING in times:
                ends = (event.end_time for event in task.profile_events.events)
                low = max(low, times.get(status.SUBMITTED_TO_WORKER, -inf) - times[status.RUNNING])
                high = min(high, times.get(status.FINISHED, inf) - max(ends, default=-inf))
        if -inf < low and high < inf:
            clock = -round(low + high) // 2, abs(round(high - low)) // 2 + 1
            for task in by_node[node]:
                run.clocks[bytes(task.profile_events.component_id)] = clock
                if status.RUNNING in (times := task.state_updates.state_ts_ns):
                    times[status.RUNNING] -= clock[0]
                for event in task.profile_events.events:
                    event.start_time -= clock[0]
                    event.end_time -= clock[0]


def align_notes(run: Page, found: Notes, sent: Mapping[bytes, int]) -> bool:
    """Find the clocks of other machines by the notes of agents, where no event of Ray tells them.

    A task begins after it was sent, and what was noted in the run ended in it.
    """
    before = len(run.clocks)
    for node in found.away:
        workers = {worker for worker, where in found.nodes.items() if where == node}
        ours = [one for one in found.attempts if one.worker in workers and one.ident in sent]
        if ours and not workers & run.clocks.keys():
            low = max(sent[one.ident] - (one.loading or one.begin) for one in ours)
            high = run.end - max(one.end for one in ours)
            clock = -(low + high) // 2, (high - low) // 2 + 1
            run.clocks |= dict.fromkeys(workers if low <= high else (), clock)
    return len(run.clocks) > before
