"""Ray's timeline: the steps of its tasks on workers, and what the driver submitted.

Source: Ray 2.60.0, ``ray.timeline()``: complete events in us of day; ``cat`` is the step, ``pid``
the address of a node, ``tid`` the worker or driver; an event ``task::NAME`` spans the steps of a
task. With ``RAY_PROFILING=1`` there are ``ray.put`` and ``ray.get``, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from jupyter_serprof.timelines.event import CALLER, TimelineEvent, text_of, us_of

_STAGES = {
    "task:deserialize_arguments": "ray.arguments",
    "task:execute": "ray.execute",
    "task:store_outputs": "ray.outputs",
    "submit_task": "ray.submit",
    "ray.put": "ray.store",
    "ray.get": "ray.fetch",
    "ray.wait": "ray.wait",
}
_TASK = "task::"
_Place = tuple[object, object]


def ray_spans(events: Iterable[Mapping[str, object]]) -> list[TimelineEvent]:
    """Return the known steps; what else Ray reports (tasks as a whole) only names them."""
    complete = [event for event in events if event.get("ph") == "X"]
    steps = [event for event in complete if event.get("cat") in _STAGES]
    tasks = _tasks(event for event in complete if text_of(event.get("cat")).startswith(_TASK))
    lanes: dict[_Place, str] = {}
    return [_step(event, _lane(event, lanes), tasks) for event in steps]


def _place(event: Mapping[str, object]) -> _Place:
    return str(event.get("pid")), str(event.get("tid"))


def _lane(event: Mapping[str, object], lanes: dict[_Place, str]) -> str:
    """Return a number instead of addresses; steps of the driver are the caller's."""
    place = _place(event)
    if str(place[1]).startswith("driver"):
        return CALLER
    return lanes.setdefault(place, f"worker {len(lanes) + 1}")


def _tasks(events: Iterable[Mapping[str, object]]) -> dict[_Place, list[tuple[int, int, str]]]:
    found: dict[_Place, list[tuple[int, int, str]]] = {}
    for event in events:
        start_ns = us_of(event, "ts")
        name = text_of(event.get("cat")).removeprefix(_TASK)
        entry = start_ns, start_ns + us_of(event, "dur"), name
        found.setdefault(_place(event), []).append(entry)
    return {place: sorted(entries) for place, entries in found.items()}


def _step(
    event: Mapping[str, object],
    lane: str,
    tasks: Mapping[_Place, Sequence[tuple[int, int, str]]],
) -> TimelineEvent:
    start_ns, kind = us_of(event, "ts"), text_of(event.get("cat"))
    around = tasks.get(_place(event), ())
    at = bisect_right(around, start_ns, key=lambda task: task[0]) - 1
    is_inside = at >= 0 and start_ns <= around[at][1]
    name = around[at][2] if is_inside else kind.removeprefix("task:")
    return TimelineEvent(_STAGES[kind], name, lane, start_ns, us_of(event, "dur"), wait="ray.wait")
