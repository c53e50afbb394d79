"""The road of Ray tasks, from Ray's own task events: no code of ours runs on workers.

Workers report once a second, so the last events are waited for after the run, outside the wall time.
Source: Ray 2.60.0, ray/_private/state.py:GlobalState._get_all_task_events; profile events
``task:deserialize_arguments``, ``task:execute``, ``task:store_outputs``; ``state_ts_ns`` in
src/ray/protobuf/gcs.proto. Times there are of day, ns; on one host they convert exactly.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

from jupyter_serprof.capture.draft import Draft, Run
from jupyter_serprof.model import Lane

_PATIENCE_S = 2.5
_POLL_S = 0.05
_STAGES = {
    "task:deserialize_arguments": "ray.arguments",
    "task:execute": "ray.execute",
    "task:store_outputs": "ray.outputs",
}
#: Ray's clock is read when the event is made, ours at the start of the run: allow for the difference.
_SLACK_NS = 2_000_000
_HIDDEN = "task events (this Ray has no _get_all_task_events); the tasks' own road is not shown"


def add_task_spans(run: Run, submitted_count: int) -> str:
    """Add the spans of the tasks that were submitted in this run; return what is missing, in words.

    Parameters
    ----------
    run
        Gets drafts on lanes ``raylet`` and ``worker N``.
    submitted_count
        How many tasks the driver submitted; their events are waited for, 2.5 s at most.
    """
    state = _state()
    if state is None:
        return _HIDDEN
    tasks = _wait_for_tasks(state, run, submitted_count)
    workers: dict[bytes, str] = {}
    for task in tasks:
        _add_task(run, task, workers)
    missing = submitted_count - sum(1 for task in tasks if _is_complete(task))
    if missing <= 0:
        return ""
    return f"{missing} of {submitted_count} tasks, which had not reported when the run was frozen"


def _state() -> Any:  # noqa: ANN401  (Ray has no types here)
    ray = sys.modules.get("ray")
    module = sys.modules.get("ray._private.state")
    if ray is None or not ray.is_initialized():
        return None
    state = getattr(module, "state", None)
    return state if hasattr(state, "_get_all_task_events") else None


def _wait_for_tasks(state: Any, run: Run, submitted_count: int) -> list[Any]:  # noqa: ANN401
    tasks: list[Any] = []
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            tasks = [event for event in state._get_all_task_events() if _is_ours(event, run)]
            complete = sum(1 for task in tasks if _is_complete(task))
            if complete >= submitted_count or time.monotonic() > deadline:
                return tasks
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        run.notes.append("ray: stopped waiting for the reports of workers")
        return tasks


def _submitted_ns(task: Any) -> int | None:  # noqa: ANN401
    times = task.state_updates.state_ts_ns
    return min(times.values()) if times else None


def _is_ours(task: Any, run: Run) -> bool:  # noqa: ANN401
    from ray.core.generated import common_pb2

    if task.task_info.type == common_pb2.TaskType.DRIVER_TASK:
        return False
    submitted = _submitted_ns(task)
    low, high = run.start + run.wall_offset - _SLACK_NS, run.end + run.wall_offset + _SLACK_NS
    return submitted is not None and low <= submitted <= high


def _is_complete(task: Any) -> bool:  # noqa: ANN401
    return {"task:execute"} <= {event.event_name for event in task.profile_events.events}


def _add_task(run: Run, task: Any, workers: dict[bytes, str]) -> None:  # noqa: ANN401
    name = task.task_info.func_or_class_name or task.task_info.name or "task"
    name = name.rpartition(".")[2]
    worker = workers.setdefault(
        bytes(task.profile_events.component_id), f"worker {len(workers) + 1}"
    )
    spans = [
        _draft(run, _STAGES[event.event_name], name, worker, event.start_time, event.end_time)
        for event in task.profile_events.events
        if event.event_name in _STAGES
    ]
    submitted = _submitted_ns(task)
    if spans and submitted is not None:
        begin = min(span.start for span in spans) + run.wall_offset
        spans.append(_draft(run, "ray.schedule", name, "raylet", submitted, max(submitted, begin)))
    run.drafts += spans
    _add_lanes(run, {span.lane for span in spans})


def _add_lanes(run: Run, keys: Iterable[str]) -> None:
    for key in sorted(keys):
        kind = key.partition(" ")[0]
        run.lanes.setdefault(key, Lane(key, kind, process=len(run.lanes)))


def _draft(run: Run, stage: str, name: str, lane: str, start: int, end: int) -> Draft:
    return Draft(stage, name, lane, start - run.wall_offset, end - run.wall_offset, role="ray.task")
