"""Timelines of others as a trace: Ray's, and Dask's task stream.

Source: Ray 2.60.0, ``ray.timeline()`` (ray/_private/state.py:GlobalState.chrome_tracing_dump);
distributed 2026.8.0, ``Client.get_task_stream()``
(distributed/diagnostics/task_stream.py:TaskStreamPlugin). Both say nothing about the caller between
its calls: it is taken to wait, and a note says so. Addresses and paths are left out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import DocumentError, Lane, Quality, Span, Trace
from jupyter_serprof.model.errors import shown
from jupyter_serprof.timelines.dask import dask_spans
from jupyter_serprof.timelines.event import CALLER, TimelineError, TimelineEvent
from jupyter_serprof.timelines.ray import ray_spans

_EXPECTED = (
    "Give the file of ray.timeline(filename=...), or the list of client.get_task_stream() (as JSON "
    "or as it is)"
)
_ASSUMED = "the timeline does not say what the caller did between its calls: it is taken to wait"
#: A day has less; what lasts longer is a damaged time.
_LONGEST_NS = 366 * 24 * 3600 * 10**9


def import_timeline(source: str | os.PathLike[str] | Sequence[object], name: str = "") -> Trace:
    """Return a timeline as a trace.

    Raises
    ------
    DocumentError
        If it is no timeline that is known, or is damaged.
    """
    file = Path(source) if isinstance(source, str | os.PathLike) else None
    title = file.name if file else "timeline"
    data = _parsed(file) if file else source
    try:
        return _trace(data, name or title)
    except TimelineError as error:
        message = f"{title}: {error}. {_EXPECTED}"
        raise DocumentError(message) from None


def is_timeline(data: object) -> bool:
    """Tell whether JSON data may be a timeline, and no document of ours."""
    if isinstance(data, Mapping):
        return "traceEvents" in data and "format" not in data
    return isinstance(data, list | tuple)


def _parsed(file: Path) -> object:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        why = (
            error.strerror if isinstance(error, OSError) else f"it is no JSON or cut off ({error})"
        )
        message = f"cannot read {file.name}: {why}. {_EXPECTED}"
        raise DocumentError(message) from None


def _trace(data: object, name: str) -> Trace:
    found = _read(data)
    if not found:
        problem = "no event in it is known"
        raise TimelineError(problem)
    start_ns = min(entry.start_ns for entry in found)
    end_ns = max(entry.start_ns + entry.duration_ns for entry in found)
    if end_ns - start_ns > _LONGEST_NS:
        problem = "it lasts for more than a year, so that some of its times are damaged"
        raise TimelineError(problem)
    wait = next((entry.wait for entry in found if entry.wait), "")
    spans = [Span(wait, "caller", CALLER, 0, end_ns - start_ns)] if wait else []
    spans += [_span(entry, start_ns, has_wait=bool(wait)) for entry in sorted(found, key=_order)]
    lanes = dict.fromkeys([CALLER, *sorted({span.lane for span in spans})])
    plain = Trace(
        name=name,
        started=_moment(start_ns),
        wall_ns=end_ns - start_ns,
        producer="imported by jupyter_serprof",
        lanes=tuple(Lane(key, _kind(key), process=at) for at, key in enumerate(lanes)),
        spans=tuple(spans),
        quality=Quality(notes=(_ASSUMED,) if wait else ()),
    )
    return analyse(plain)


def _read(data: object) -> list[TimelineEvent]:
    events = data.get("traceEvents") if isinstance(data, Mapping) else data
    if not isinstance(events, list | tuple):
        problem = f"it is {shown(data)}, which is no list of events"
        raise TimelineError(problem)
    if not all(isinstance(event, Mapping) for event in events):
        problem = "an event in it is no object"
        raise TimelineError(problem)
    if any("startstops" in event for event in events):
        return dask_spans(events)
    if any("span" in _arguments(event) for event in events):
        problem = "it was saved for Perfetto, which is no document. Save one as .serprof.json"
        raise TimelineError(problem)
    return ray_spans(events)


def _arguments(event: Mapping[str, object]) -> Mapping[str, object]:
    given = event.get("args")
    return given if isinstance(given, Mapping) else {}


def _order(entry: TimelineEvent) -> tuple[int, int]:
    return entry.start_ns, -entry.duration_ns


def _span(entry: TimelineEvent, start_ns: int, *, has_wait: bool) -> Span:
    parent = 0 if has_wait and entry.lane == CALLER else -1
    return Span(
        stage=entry.stage,
        name=entry.name,
        lane=entry.lane,
        start_ns=entry.start_ns - start_ns,
        duration_ns=entry.duration_ns,
        size_bytes=entry.size_bytes,
        parent=parent,
        details=dict(entry.details) or None,
    )


def _kind(lane: str) -> str:
    return lane.replace("/", " ").partition(" ")[0]


def _moment(start_ns: int) -> str:
    """Return the time of day of the first event; a clock that counts from elsewhere gives none."""
    seconds = start_ns / 1e9
    if not math.isfinite(seconds) or not 9e8 < seconds < 9e9:  # noqa: PLR2004  (1998 to 2255)
        return ""
    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")
