"""The road of Ray tasks, from Ray's own task events, and the signs of life of its processes.

A task is known by its id, which the submission gave back: whatever else the cluster does meanwhile
is not shown. Tasks that such a task submits itself are. Workers report once a second, so the last
events are waited for after the run, outside its wall time. A task that still runs when the run ends
is shown as executing until then.
Source: Ray 2.60.0, ray/_private/state.py:GlobalState._get_all_task_events, before 2.58 only what it
calls, GlobalStateAccessor.get_task_events; profile events ``task:deserialize_arguments``,
``task:execute``, ``task:store_outputs``; ``state_ts_ns`` in src/ray/protobuf/gcs.proto. Times there
are of day, ns; on one host they convert exactly.

A call that reaches for a dead raylet ends this process; one for a dead GCS waits for it, and Ray
ends the process after a minute. So what the user did not call is called only where both live.
Source: Ray 2.60.0, ray/_private/node.py: Node.raylet_socket_name, Node.gcs_address.
"""

from __future__ import annotations

import importlib
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Lane
from jupyter_serprof.model.trace import DIED, WAS_DEAD
from jupyter_serprof.probes.dask.on_ray import TASK_MARK, task_prefix

#: On one machine a living process takes a connection in some us.
_TIMEOUT_S = 0.2
_RESTART = "run ray.shutdown(), then ray.init()"
DEAD = f"A process of Ray is dead (raylet or GCS): {_RESTART}"


def is_alive() -> bool:
    """Tell whether Ray is initialized here, and neither its raylet nor its GCS is known as dead.

    Only a refused connection is a proof; in doubt they count as alive.
    """
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized()) and not dead_processes()


def dead_processes() -> list[str]:
    """Return which of the processes that Ray needs are known as dead: raylet, GCS."""
    ray, module = sys.modules.get("ray"), sys.modules.get("ray._private.worker")
    if ray is None or not ray.is_initialized():
        return []
    node: Any = getattr(getattr(module, "global_worker", None), "node", None)
    raylet = getattr(node, "raylet_socket_name", None)
    host, _, port = str(getattr(node, "gcs_address", None) or "").rpartition(":")
    is_path = isinstance(raylet, str) and Path(raylet).is_absolute()
    dead = {
        "raylet": is_path and _refuses(str(raylet)),
        "GCS": port.isdigit() and _refuses((host.strip("[]"), int(port))),
    }
    return [name for name, is_dead in dead.items() if is_dead]


def death_note(before: Sequence[str]) -> str:
    """Say of a recording which processes of Ray were dead when it began, or died in it.

    Parameters
    ----------
    before
        `dead_processes` when it began.
    """
    now = dead_processes()
    died = [name for name in now if name not in before]
    when = DIED if died else WAS_DEAD
    return f"Ray's {' and '.join(died or now)} {when}: {_RESTART}" if now else ""


def _refuses(address: str | tuple[str, int]) -> bool:
    try:
        if isinstance(address, tuple):
            socket.create_connection(address, _TIMEOUT_S).close()
        else:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(_TIMEOUT_S)
                probe.connect(address)
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except (OSError, AttributeError):  # too slow to say, or no such sockets on this system
        return False
    return False


_PATIENCE_S = 2.5
_POLL_S = 0.05
_STAGES = {
    "task:deserialize_arguments": "ray.arguments",
    "task:execute": "ray.execute",
    "task:store_outputs": "ray.outputs",
}
_WHOLE = "task::"
#: Ray reads its clock when the event is made, ours at the start: allow for the difference.
_SLACK_NS = 2_000_000
_HIDDEN = "the road of tasks (this Ray tells no task events, or it was shut down or died)"


def task_id(submitted: object) -> bytes | None:
    """Return the id of the task that made a reference, a generator or an actor; None: not told.

    A task of no results (``num_returns=0``) gives nothing back.
    """
    first: Any = submitted[0] if isinstance(submitted, list) and submitted else submitted
    actor = getattr(first, "_ray_actor_id", None)
    if actor is not None:
        return bytes(sys.modules["ray"].TaskID.for_actor_creation_task(actor).binary())
    reference = getattr(first, "_generator_ref", first)
    return bytes(reference.task_id().binary()) if hasattr(reference, "task_id") else None


def add_task_spans(run: Page, submitted: Sequence[bytes | None]) -> str:
    """Add the spans of the tasks that were submitted in this run; return what is missing, in words.

    Parameters
    ----------
    run
        Gets drafts on lanes ``raylet`` and ``worker N``.
    submitted
        The ids of the tasks that the driver submitted, None for one that is not known: it is looked
        for by its time. Their events are waited for, 2.5 s at most.
    """
    try:
        read = _reader() if is_alive() else None
        if read is None:
            return _HIDDEN
        tasks = _wait_for_tasks(read, run, submitted)
    except Exception as error:  # noqa: BLE001  (private to Ray; what the driver saw must survive)
        return f"the road of tasks ({type(error).__name__}: {error})"
    workers: dict[bytes, str] = {}
    for task in tasks:
        _add_task(run, task, workers)
    missing, count = _missing(tasks, submitted)
    if not missing:
        return ""
    return f"{missing} of {count} tasks, which had not reported when the run was frozen"


def _reader() -> Callable[[], list[Any]] | None:
    """Return what reads all task events, at the highest rung that this Ray has."""
    state: Any = getattr(sys.modules.get("ray._private.state"), "state", None)
    if hasattr(state, "_get_all_task_events"):
        return cast("Callable[[], list[Any]]", state._get_all_task_events)  # noqa: SLF001  (Ray's)
    accessor = _accessor(state)
    if not hasattr(accessor, "get_task_events"):
        return None
    parse = importlib.import_module("ray.core.generated.gcs_pb2").TaskEvents.FromString
    return lambda: [parse(event) for event in accessor.get_task_events()]


def _accessor(state: Any) -> Any:  # noqa: ANN401  (Ray has no types here)
    """Return what the state reads through, connected; its name changed after 2.50."""
    if hasattr(state, "_connect_and_get_accessor"):
        return state._connect_and_get_accessor()  # noqa: SLF001  (Ray's)
    if hasattr(state, "_check_connected"):
        state._check_connected()  # noqa: SLF001  (Ray's)
    return getattr(state, "global_state_accessor", None)


def _wait_for_tasks(
    read: Callable[[], list[Any]], run: Page, submitted: Sequence[bytes | None]
) -> list[Any]:
    tasks: list[Any] = []
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            tasks = _ours(read(), run, submitted)
            missing, _ = _missing(tasks, submitted)
            if not missing or time.monotonic() > deadline:
                return tasks
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        run.notes.append("ray: stopped waiting for the reports of workers")
        return tasks


def _missing(tasks: Sequence[Any], submitted: Sequence[bytes | None]) -> tuple[int, int]:
    """Return how many tasks have not reported, of how many that are known."""
    seen = {bytes(task.task_id) for task in tasks}
    count = max(len(submitted), len(seen | {ident for ident in submitted if ident}))
    return count - len({bytes(task.task_id) for task in tasks if _is_complete(task)}), count


def _ours(tasks: Sequence[Any], run: Page, submitted: Sequence[bytes | None]) -> list[Any]:
    """Return the tasks that were submitted in this run, and those that they submitted in turn."""
    ids = {ident for ident in submitted if ident}
    if None in submitted:
        ids |= {bytes(task.task_id) for task in tasks if _is_within(task, run)}
    parents = {bytes(task.task_id): bytes(task.task_info.parent_task_id) for task in tasks}
    found = set(ids)
    while found:
        found = {task for task, parent in parents.items() if parent in found} - ids
        ids |= found
    return [task for task in tasks if bytes(task.task_id) in ids]


def _submitted_ns(task: Any) -> int | None:  # noqa: ANN401
    times = task.state_updates.state_ts_ns
    return min(times.values()) if times else None


def _is_within(task: Any, run: Page) -> bool:  # noqa: ANN401
    if task.task_info.type == _names().TaskType.DRIVER_TASK:
        return False
    submitted = _submitted_ns(task)
    low, high = run.start + run.wall_offset - _SLACK_NS, run.end + run.wall_offset + _SLACK_NS
    return submitted is not None and low <= submitted <= high


def _names() -> Any:  # noqa: ANN401  (protobuf makes its names at run time)
    return importlib.import_module("ray.core.generated.common_pb2")


def _is_complete(task: Any) -> bool:  # noqa: ANN401
    """Tell whether a worker has told all steps: the event around them (``task::name``) is last.

    It reports what it has once a second, also in the middle of a task.
    """
    return any(event.event_name.startswith(_WHOLE) for event in task.profile_events.events)


def _add_task(run: Page, task: Any, workers: dict[bytes, str]) -> None:  # noqa: ANN401
    submitted = _submitted_ns(task)
    steps = _steps(task, run.end + run.wall_offset)
    if not steps or submitted is None:
        return
    name = _name(task.task_info)
    ident = bytes(task.profile_events.component_id) or bytes(task.state_updates.worker_id)
    worker = workers.setdefault(ident, f"worker {len(workers) + 1}")
    begin = max(submitted, min(start for _, start, _ in steps))
    drafts = [_draft(run, name, worker, step) for step in steps]
    for draft in drafts:
        draft.extra = bytes(task.task_id)
    run.drafts += drafts
    run.drafts.append(_draft(run, name, "raylet", ("ray.schedule", submitted, begin)))
    for key in ("raylet", worker):
        run.lanes.setdefault(key, Lane(key, key.partition(" ")[0], process=len(run.lanes)))


def _name(info: Any) -> str:  # noqa: ANN401
    """Return the name of the function; of Dask on Ray, where it is one for all, Dask's own."""
    if info.name.startswith(TASK_MARK):
        return task_prefix(info.name)
    return str(info.func_or_class_name or info.name or "task").rpartition(".")[2]


def _steps(task: Any, end_ns: int) -> list[tuple[str, int, int]]:  # noqa: ANN401
    """Return (stage, start, end), ns of day; a task that still runs ends with the run."""
    reported = [
        (_STAGES[event.event_name], event.start_time, event.end_time)
        for event in task.profile_events.events
        if event.event_name in _STAGES
    ]
    times, status = task.state_updates.state_ts_ns, _names().TaskStatus
    start = max([times.get(status.RUNNING, end_ns), *(end for _, _, end in reported)])
    if any(stage == "ray.execute" for stage, _, _ in reported) or start >= end_ns:
        return reported
    ended = min(times.get(each, end_ns) for each in (status.FINISHED, status.FAILED))
    return [*reported, ("ray.execute", start, max(start, min(ended, end_ns)))]


def _draft(run: Page, name: str, lane: str, step: tuple[str, int, int]) -> Draft:
    stage, start, end = step
    return Draft(stage, name, lane, start - run.wall_offset, end - run.wall_offset, "ray.task")
