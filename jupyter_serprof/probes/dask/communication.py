"""The road of a graph from the client to the scheduler: batch wait, frames, socket, wire, read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jupyter_serprof.capture.draft import Draft, Run
from jupyter_serprof.model import Lane
from jupyter_serprof.probes.dask.cluster import Cluster
from jupyter_serprof.probes.dask.computations import Sent

LOOP_LANE = "client/loop"


def add_communication(run: Run, cluster: Cluster, sent: Sequence[Sent]) -> None:
    """Add the road of each graph from the client to the scheduler's handler."""
    report = cluster.scheduler.report if cluster.scheduler else None
    if report is None or cluster.scheduler is None:
        return
    moved = -cluster.scheduler.offset_ns
    messages = cluster.outgoing
    first = min((entry.handed_ns for entry in sent), default=0)
    out = [entry for entry in messages if entry[:2] == ["update-graph", "out"]]
    is_framed = bool(out)
    # What left before is of another recording of this client, in another thread.
    out = [entry for entry in out if entry[3] >= first]
    into = [entry for entry in report["messages"] if entry[:2] == ["update-graph", "in"]]
    # By how much what came in may seem to be too early: the clocks, and what is known of them.
    early = cluster.scheduler.offset_ns - cluster.scheduler.error_ns
    handled = sorted(entry[3] for entry in report["spans"] if entry[2] == "update_graph")
    batches = iter(_batches(out, into, cluster.drained, early))
    begun, left = None, 0
    for number, entry in enumerate(sent):
        if not is_framed:  # no frames: scheduler and client share a process
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
    out: Sequence[Any], into: Sequence[Any], drained: Sequence[int], early_ns: int
) -> Iterable[tuple[Any, Any, int | None]]:
    """Match what left with what came in after it: one connection keeps the order, and the size.

    Each list may begin earlier than the others, with what was under way when the agents came.
    """
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
        draft = Draft(stage, step, LOOP_LANE, start, end, "dask.communicate")
        draft.size_bytes = size
        run.drafts.append(draft)
        run.lanes.setdefault(LOOP_LANE, Lane(LOOP_LANE, "client", 0))


def size_gathers(run: Run, cluster: Cluster) -> None:
    """Give each gather the bytes of the results that came in while it lasted."""
    gathers = [draft for draft in run.drafts if draft.role == "dask.gather"]
    for op, way, _, start, _, size, _, _ in cluster.outgoing:
        if (op, way) == ("data", "in"):
            for draft in gathers:
                if draft.start <= start <= draft.end:
                    draft.size_bytes = (draft.size_bytes or 0) + size
                    break
