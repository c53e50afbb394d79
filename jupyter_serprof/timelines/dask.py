"""Dask's task stream: what each worker did for each task.

Source: distributed 2026.8.0, ``Client.get_task_stream()``: a record for each task with ``key``,
``worker``, ``thread``, ``nbytes`` and ``startstops`` (action, start, stop; s of day). Its ``type``
is a pickle, which is not opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from jupyter_serprof.model.errors import shown
from jupyter_serprof.timelines.event import TimelineError, TimelineEvent, s_of, text_of

_STAGES = {
    "compute": "dask.execute",
    "transfer": "dask.transfer",
    "disk-read": "dask.spill",
    "disk-write": "dask.spill",
    "deserialize": "dask.execute",
}
#: What a worker does beside its threads has a lane of its own.
_BESIDE = {"transfer": "transfer", "disk-read": "disk", "disk-write": "disk"}
#: A key is a name and a hash, in a tuple with the indices of a chunk or not.
_HASH = re.compile(r"-[0-9a-f]{8,}(-[0-9a-f]{4,})*$")
_Names = dict[tuple[str, ...], int]


def dask_spans(records: Iterable[Mapping[str, object]]) -> list[TimelineEvent]:
    """Return the actions of all tasks; unknown ones are left out."""
    numbers: _Names = {}
    return [entry for record in records for entry in _actions(record, numbers)]


def _actions(record: Mapping[str, object], numbers: _Names) -> Iterator[TimelineEvent]:
    steps = record.get("startstops")
    if not isinstance(steps, list | tuple):
        problem = f"a task has startstops {shown(steps)}, which is no list"
        raise TimelineError(problem)
    for step in steps:
        if not isinstance(step, Mapping):
            problem = f"a task has the action {shown(step)}, which is no object"
            raise TimelineError(problem)
        action = text_of(step.get("action"))
        if action in _STAGES:
            yield _timed(record, step, action, numbers)


def _timed(
    record: Mapping[str, object], step: Mapping[str, object], action: str, numbers: _Names
) -> TimelineEvent:
    start_ns, stop_ns = s_of(step, "start"), s_of(step, "stop")
    if stop_ns < start_ns:
        problem = f"the action {action} stops before it starts"
        raise TimelineError(problem)
    size = record.get("nbytes")
    is_size = action == "compute" and isinstance(size, int) and size >= 0
    return TimelineEvent(
        stage=_STAGES[action],
        name=action if action == "deserialize" else _prefix(record.get("key")),
        lane=_lane(record, action, numbers),
        start_ns=start_ns,
        duration_ns=stop_ns - start_ns,
        wait="dask.wait",
        details={"result_bytes": size} if is_size else {},
    )


def _lane(record: Mapping[str, object], action: str, numbers: _Names) -> str:
    """Return numbers instead of addresses, in the order of appearance."""
    address = str(record.get("worker"))
    workers = [key for key in numbers if len(key) == 1]
    worker = numbers.setdefault((address,), len(workers) + 1)
    if action in _BESIDE:
        return f"worker {worker}/{_BESIDE[action]}"
    threads = [key for key in numbers if key[0] == address and len(key) > 1]
    thread = numbers.setdefault((address, str(record.get("thread"))), len(threads) + 1)
    return f"worker {worker}/thread {thread}"


def _prefix(key: object) -> str:
    """Return the name of a key without its hash; as text, a tuple begins with a parenthesis."""
    first = key[0] if isinstance(key, list | tuple) and key else key
    text = text_of(first).lstrip("('\"").partition("'")[0] or "task"
    return _HASH.sub("", text)
