"""Timelines of Ray and Dask as a trace: `ray.timeline()` and task streams of Dask.

Both say nothing about the caller between its calls: it is taken to wait, and a note says so.
Addresses and paths are left out.

Source: distributed 2026.8.0, ``Client.get_task_stream()``
(distributed/diagnostics/task_stream.py:TaskStreamPlugin): a record for each task with ``key``,
``worker``, ``thread``, ``nbytes`` and ``startstops`` (action, start, stop; s of day). Its ``type``
is a pickle, which is not opened.

Source: Ray 2.60.0, ``ray.timeline()`` (ray/_private/state.py:GlobalState.chrome_tracing_dump):
complete events in us of day; ``cat`` is the step, ``pid`` the address of a node, ``tid`` the worker
or driver; an event ``task::NAME`` spans the steps of a task. With ``RAY_PROFILING=1`` there are
``ray.put`` and ``ray.get``, too.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import DocumentError, Lane, Quality, Span, Trace
from jupyter_serprof.model.errors import shown
from jupyter_serprof.model.files import content_of
from jupyter_serprof.model.units import moment_text

_RAY_STAGES = {
    "task:deserialize_arguments": "ray.arguments",
    "task:execute": "ray.execute",
    "task:store_outputs": "ray.outputs",
    "submit_task": "ray.submit",
    "ray.put": "ray.store",
    "ray.get": "ray.fetch",
    "ray.wait": "ray.wait",
}
_TASK = "task::"
_Place = tuple[str, str]


def _ray_spans(events: Iterable[Mapping[str, object]]) -> list[Span]:
    """Return the known steps; what else Ray reports (tasks as a whole) only names them."""
    complete = [event for event in events if event.get("ph") == "X"]
    tasks = _tasks(event for event in complete if _text(event.get("cat")).startswith(_TASK))
    lanes: dict[_Place, str] = {}
    return [_step(one, lanes, tasks) for one in complete if _text(one.get("cat")) in _RAY_STAGES]


def _place(event: Mapping[str, object]) -> _Place:
    return str(event.get("pid")), str(event.get("tid"))


def _tasks(events: Iterable[Mapping[str, object]]) -> dict[_Place, list[tuple[int, int, str]]]:
    found: dict[_Place, list[tuple[int, int, str]]] = {}
    for event in events:
        start_ns = _time(event, "ts", 1_000)
        name = _text(event.get("cat")).removeprefix(_TASK)
        entry = start_ns, start_ns + _time(event, "dur", 1_000), name
        found.setdefault(_place(event), []).append(entry)
    return {place: sorted(entries) for place, entries in found.items()}


def _step(
    event: Mapping[str, object],
    lanes: dict[_Place, str],
    tasks: Mapping[_Place, Sequence[tuple[int, int, str]]],
) -> Span:
    place = _place(event)
    # A number instead of addresses; steps of the driver are the caller's.
    is_driver = place[1].startswith("driver")
    lane = CALLER if is_driver else lanes.setdefault(place, f"worker {len(lanes) + 1}")
    start_ns, kind = _time(event, "ts", 1_000), _text(event.get("cat"))
    around = tasks.get(place, ())
    at = bisect_right(around, start_ns, key=lambda task: task[0]) - 1
    is_inside = at >= 0 and start_ns <= around[at][1]
    name = around[at][2] if is_inside else kind.removeprefix("task:")
    return Span(_RAY_STAGES[kind], name, lane, start_ns, _time(event, "dur", 1_000))


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


def _actions(record: Mapping[str, object], numbers: _Names) -> Iterator[Span]:
    """Yield the actions of a task; unknown ones are left out."""
    steps = record.get("startstops")
    if not isinstance(steps, list | tuple):
        _refuse(f"a task has startstops {shown(steps)}, which is no list")
    for step in steps:
        if not isinstance(step, Mapping):
            _refuse(f"a task has the action {shown(step)}, which is no object")
        action = _text(step.get("action"))
        if action in _STAGES:
            yield _timed(record, step, action, numbers)


def _timed(
    record: Mapping[str, object], step: Mapping[str, object], action: str, numbers: _Names
) -> Span:
    start_ns, stop_ns = (_time(step, key, 1_000_000_000) for key in ("start", "stop"))
    if stop_ns < start_ns:
        _refuse(f"the action {action} stops before it starts")
    size = record.get("nbytes")
    is_size = action == "compute" and isinstance(size, int) and size >= 0
    return Span(
        stage=_STAGES[action],
        name=action if action == "deserialize" else _prefix(record.get("key")),
        lane=_lane(record, action, numbers),
        start_ns=start_ns,
        duration_ns=stop_ns - start_ns,
        details={"result_bytes": size} if is_size else None,
    )


def _lane(record: Mapping[str, object], action: str, numbers: _Names) -> str:
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
    text = _text(first).lstrip("('\"").partition("'")[0] or "task"
    return _HASH.sub("", text)


CALLER = "client/main"
#: In us, 30,000 years from 1970: no clock of a computer.
_LATEST = 1e18


def _refuse(problem: str) -> NoReturn:
    raise DocumentError(problem)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _time(event: Mapping[str, object], key: str, unit_ns: int) -> int:
    """Return a time in some unit as ns; refuse what is missing or no time."""
    value = event.get(key)
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not 0 <= value < _LATEST  # also refuses what is not finite
    ):
        _refuse(f"an event has {key} {shown(value)}, which is no time")
    # A float times a unit loses ns of a time of day; the digits that were written do not.
    return round(Decimal(str(value)) * unit_ns)


_EXPECTED = (
    "Give the file of ray.timeline(filename=...), or the list of client.get_task_stream() (as JSON "
    "or as it is)"
)
_ASSUMED = "the timeline does not say what the caller did between its calls: it is taken to wait"
#: A day has less; what lasts longer is a damaged time.
_LONGEST_NS = 366 * 24 * 3600 * 10**9


def import_timeline(
    source: str | os.PathLike[str] | Sequence[object], name: str | None = None
) -> Trace:
    """Return a timeline of Ray or a task stream of Dask as a trace.

    Parameters
    ----------
    source
        A file of ``ray.timeline(filename=...)``; the list that ``ray.timeline()`` or
        ``client.get_task_stream()`` returns, or a file with it as JSON.
    name
        What the document calls it; None takes the name of the file.

    Steps of tasks on lanes of workers. What the caller did between its calls is not in these
    files: it is taken to wait, so that the steps of the workers own the wall time.

    Raises ``DocumentError``: If it is no timeline that is known, or is damaged.
    """
    file = Path(source) if isinstance(source, str | os.PathLike) else None
    title = file.name if file else "timeline"
    data = _parsed(file) if file else source
    try:
        return _trace(data, name or title)
    except DocumentError as error:
        message = f"{title}: {error}. {_EXPECTED}"
        raise DocumentError(message) from None


def is_timeline(data: object) -> bool:
    """Tell whether JSON data may be a timeline, and no document of ours."""
    if isinstance(data, Mapping):
        return "traceEvents" in data and "format" not in data
    return isinstance(data, list | tuple)


def _parsed(file: Path) -> object:
    try:
        return json.loads(content_of(file))
    except (ValueError, RecursionError) as error:
        message = f"cannot read {file.name}: it is no JSON or cut off ({error}). {_EXPECTED}"
        raise DocumentError(message) from None


def _trace(data: object, name: str) -> Trace:
    wait, found = _read(data)
    if not found:
        _refuse("no event in it is known")
    start_ns = min(entry.start_ns for entry in found)
    end_ns = max(entry.end_ns for entry in found)
    if end_ns - start_ns > _LONGEST_NS:
        _refuse("it lasts for more than a year, so that some of its times are damaged")
    spans = [Span(wait, "caller", CALLER, 0, end_ns - start_ns)]
    spans += [
        entry._replace(start_ns=entry.start_ns - start_ns, parent=0 if entry.lane == CALLER else -1)
        for entry in sorted(found, key=lambda entry: (entry.start_ns, -entry.duration_ns))
    ]
    lanes = dict.fromkeys([CALLER, *sorted({span.lane for span in spans})])
    plain = Trace(
        name=name,
        # A clock that counts from elsewhere tells no time of day.
        started=moment_text(start_ns) if 9e17 < start_ns < 9e18 else "",  # noqa: PLR2004  (1998 to 2255)
        wall_ns=end_ns - start_ns,
        producer="imported by jupyter_serprof",
        lanes=tuple(Lane(key, re.split("[/ ]", key)[0], at) for at, key in enumerate(lanes)),
        spans=tuple(spans),
        quality=Quality(notes=(_ASSUMED,)),
    )
    return analyse(plain)


def _read(data: object) -> tuple[str, list[Span]]:
    """Return the stage in which the caller is taken to wait, and the events at their own times."""
    events = data.get("traceEvents") if isinstance(data, Mapping) else data
    if not isinstance(events, list | tuple):
        _refuse(f"it is {shown(data)}, which is no list of events")
    if not all(isinstance(event, Mapping) for event in events):
        _refuse("an event in it is no object")
    if any("startstops" in event for event in events):
        numbers: _Names = {}
        return "dask.wait", [span for record in events for span in _actions(record, numbers)]
    return "ray.wait", _ray_spans(events)
