"""The road of one attempt of a task: from Ray's events and the notes of an agent to stages.

In: an event of Ray, notes of a worker, or both. Out: drafts that follow each other without a gap,
from the first state to the last: they add up to the time between, to the nanosecond.
Source: Ray 2.60.0, ``state_ts_ns`` in src/ray/protobuf/gcs.proto; profile events
``task:deserialize_arguments``, ``task:execute``, ``task:store_outputs``, ``task::name``.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Lane
from jupyter_serprof.probes.dask.on_ray import TASK_MARK, task_prefix
from jupyter_serprof.probes.ray.agent.notes import RECORDING, WAY
from jupyter_serprof.probes.ray.agents import Attempt, Notes, Window, of_library
from jupyter_serprof.probes.ray.arrivals import Leg, Pulls

STEPS = {
    "task:deserialize_arguments": "ray.arguments",
    "task:execute": "ray.execute",
    "task:store_outputs": "ray.outputs",
}
_WHOLE = "task::"
#: Between two events of Ray of which one follows the other: the second one has it, ns.
_SEAM_NS = 2_000_000
#: ErrorType of src/ray/protobuf/common.proto: the process is gone, not only the call failed.
_DEATHS = ("WORKER_DIED", "ACTOR_DIED", "NODE_DIED", "OUT_OF_MEMORY")
#: Of more attempts shorter parts of the schedule are not drawn apart, ns: the whole has them.
_MANY, _LEAST_NS = 300, 500_000


class Errant(NamedTuple):
    """An attempt: the name of its function, the lane of its worker, the id of its task."""

    name: str
    lane: str
    ident: bytes


@cache  # asked six times for each task
def names() -> Any:  # noqa: ANN401  (protobuf makes its names at run time)
    """Return Ray's names of states, types and errors."""
    return importlib.import_module("ray.core.generated.common_pb2")


@cache
def _states() -> dict[int, str]:
    return {value: name for name, value in names().TaskStatus.items()}


def is_over(task: Any) -> bool:  # noqa: ANN401
    """Tell whether the owner of a task knows its end."""
    status = names().TaskStatus
    return not {status.FINISHED, status.FAILED}.isdisjoint(task.state_updates.state_ts_ns)


def submitted_ns(task: Any) -> int | None:  # noqa: ANN401
    """Return when the first was told of a task, ns of the time of day."""
    times = task.state_updates.state_ts_ns
    return min(times.values()) if times else None


def is_half_told(task: Any) -> bool:  # noqa: ANN401
    """Tell whether a worker has told all of a task, and its owner, once a second, not yet."""
    is_begun = names().TaskStatus.RUNNING in task.state_updates.state_ts_ns
    return is_begun and is_complete(task) and not is_over(task)


def is_complete(task: Any) -> bool:  # noqa: ANN401
    """Tell whether a worker has told all steps: the event around them (``task::name``) is last."""
    # It reports what it has once a second, also in the middle of a task, and not what it died in.
    steps = task.profile_events.events
    return bool(death_of(task)) or any(step.event_name.startswith(_WHOLE) for step in steps)


def death_of(task: Any) -> str:  # noqa: ANN401
    """Return how the process ended in which an attempt was, in Ray's word; empty if it lived on."""
    updates = task.state_updates
    if names().TaskStatus.FAILED not in updates.state_ts_ns or not updates.HasField("error_info"):
        return ""
    word = str(names().ErrorType.Name(updates.error_info.error_type))
    return word if word in _DEATHS and updates.worker_id else ""


@dataclass(slots=True)
class RoadMap:
    """Adds the roads of attempts to a run, on lanes ``raylet`` and ``worker N``.

    ``started``: When the process of a worker was made and when it was ready, by its id, ns.
    ``usual_ns``: How long a function ran, of all its calls: so long ran one whose steps Ray lost.
    ``pulls``: When the arguments of a task came to its node, if anybody saw that.
    """

    run: Page
    count: int
    started: Mapping[bytes, tuple[int, int]] = field(default_factory=dict)
    usual_ns: Mapping[str, int] = field(default_factory=dict)
    pulls: Pulls | None = None
    workers: dict[bytes, str] = field(default_factory=dict)
    #: The node of each lane, where that is told.
    nodes: dict[str, str] = field(default_factory=dict)
    #: When the last attempt on a worker ended, by its lane, ns.
    ends: dict[str, int] = field(default_factory=dict)

    def add_event(self, task: Any, noted: Attempt | None) -> None:  # noqa: ANN401
        """Add an attempt that Ray tells of; what an agent noted of it is more exact."""
        states, moved = _states(), self.run.wall_offset
        told = task.state_updates.state_ts_ns.items()
        times = {states[value]: at - moved for value, at in told if value in states}
        steps = self._reported(task, times) if noted is None else noted_steps(noted)
        if not steps or not times:
            return
        submitted, first = min(times.values()), steps[0].start
        begin = max(submitted, min(first, times.get("RUNNING", first)))
        if noted is not None or any(
            one.event_name.startswith(_WHOLE) for one in task.profile_events.events
        ):
            steps = [*_between("ray.load", begin, first), *steps]
        over = times.get("FINISHED", times.get("FAILED", steps[-1].end))
        worker = bytes(task.profile_events.component_id) or bytes(task.state_updates.worker_id)
        who = Errant(name_of(task.task_info), self._lane(worker), bytes(task.task_id))
        self.nodes[who.lane] = task.state_updates.node_id.hex()
        last, word = self._draw(who, steps, noted), death_of(task)
        if word:
            last.details["died"] = word
        parts = [] if word else list(self._parts(task, times, begin, worker))
        self._draw_schedule(who.name, Leg("", submitted, begin), parts)
        if over > last.end and not word:
            self._add(_draft(who.name, "raylet", Leg("ray.reply", last.end, over)))
        self.ends[who.lane] = max(self.ends.get(who.lane, 0), last.end)

    def add_noted(self, noted: Attempt, submitted: int | None) -> None:
        """Add an attempt that only an agent tells of; when it was submitted may be known here."""
        who = Errant(_short(noted.name), self._lane(noted.worker), noted.ident)
        steps = noted_steps(noted)
        if noted.loading is not None and noted.loading < noted.begin:
            steps = [Leg("ray.load", noted.loading, noted.begin), *steps]
        self._draw(who, steps, noted)
        if submitted is not None and submitted < steps[0].start:
            self._draw_schedule(who.name, Leg("", submitted, steps[0].start), [])

    def add_window(self, window: Window) -> None:
        """Add tasks that nobody tells one by one, part after part; those side by side at once."""
        lane, at, name = self._lane(window.worker), window.start, _short(window.name)
        is_side = sum(own for _, own, *_ in window.sums.values()) > window.end - window.start
        for step, stage in WAY.items():
            parts = {inner: one for (where, inner), one in window.sums.items() if where == step}
            took = sum(own for _, own, *_ in parts.values())
            end = window.end if is_side else at + took
            around = _draft(name, lane, Leg(stage, at, end))
            around.details["calls"] = parts.pop(stage, (0,))[0]
            self.run.drafts += [around] * (around.details["calls"] > 0)
            for inner, (count, own, size, *_) in parts.items():
                leg = Leg(inner, at, min(end, at + own))
                draft = _draft(inner.rpartition(".")[2], lane, leg, around)
                draft.details, draft.size_bytes, at = {"calls": count}, size or None, leg.end
                self._add(draft)
            at = window.start if is_side else end

    def _parts(
        self,
        task: Any,  # noqa: ANN401
        times: Mapping[str, int],
        begin: int,
        worker: bytes,
    ) -> Iterator[Leg]:
        kinds, kind = names().TaskType, task.task_info.type
        submitted, placed = min(times.values()), times.get("PENDING_NODE_ASSIGNMENT")
        if placed is None:
            return
        sent = times.get("SUBMITTED_TO_WORKER", begin)
        marks = [("ray.retry" if task.attempt_number else "ray.deps", placed)]
        if kind == kinds.ACTOR_TASK:
            free = min(begin, max(sent, self.ends.get(self._lane(worker), 0)))
            marks += [("ray.actor.start", sent), ("ray.actor.queue", free)]
        else:
            launched, ready = (min(at, sent) for at in self.started.get(worker, (0, 0)))
            marks += [("ray.lease", launched), ("ray.worker.start", ready), ("ray.lease", sent)]
        at, ident, node = submitted, bytes(task.task_id), task.state_updates.node_id.hex()
        asked_ns = sent if kind == kinds.ACTOR_TASK else placed
        pulls = self.pulls(ident, node, asked_ns, begin) if self.pulls and begin > asked_ns else ()
        yield from pulls
        for stage, until in [*marks, ("ray.push", begin)]:
            end = min(max(at, until), begin)
            yield from _beside(Leg(stage, at, end), pulls)
            at = end

    def _reported(self, task: Any, times: Mapping[str, int]) -> list[Leg]:  # noqa: ANN401
        """Return what Ray tells of a task on its worker; one that still runs ends with the run."""
        # A worker that died did not tell when it began: no earlier than the task was sent to it.
        end, moved = self.run.end, self.run.wall_offset
        steps = [
            Leg(STEPS[event.event_name], event.start_time - moved, event.end_time - moved)
            for event in task.profile_events.events
            if event.event_name in STEPS
        ]
        sent = times.get("SUBMITTED_TO_WORKER", end) if death_of(task) else end
        start = max([times.get("RUNNING", sent), *(step.end for step in steps)])
        if not any(step.stage == "ray.execute" for step in steps) and start < end:
            ended = min(times.get(state, end) for state in ("FINISHED", "FAILED"))
            if is_over(task) and not death_of(task):  # until when the owner knew it
                ended = min(ended, start + self.usual_ns.get(name_of(task.task_info), ended))
            steps.append(Leg("ray.execute", start, max(start, min(ended, end))))
        return list(_without_seams(sorted(steps, key=lambda step: step.start)))

    def _lane(self, ident: bytes) -> str:
        lane = self.workers.setdefault(ident, f"worker {len(self.workers) + 1}")
        for key in ("raylet", lane):
            lanes = self.run.lanes
            clock = self.run.clocks.get(ident, (0, 0)) if key == lane else (0, 0)
            lanes.setdefault(key, Lane(key, key.partition(" ")[0], len(lanes), *clock))
        return lane

    def _draw(self, who: Errant, steps: Sequence[Leg], noted: Attempt | None) -> Draft:
        """Add what happened on a worker, with what its agent saw inside; return the last step."""
        drafts = [_draft(who.name, who.lane, step) for step in steps]
        for draft in drafts:
            draft.extra = who.ident
            self._add(draft)
        for draft in _inside(noted, drafts) if noted is not None else ():
            self._add(draft)
        return drafts[-1]

    def _draw_schedule(self, name: str, whole: Leg, parts: Sequence[Leg]) -> None:
        """Add the time before a worker began, in parts; of many tasks only in those that count."""
        around = _draft(name, "raylet", whole._replace(stage="ray.schedule"))
        self._add(around)
        least_ns = _LEAST_NS if self.count > _MANY else 0
        for part in parts:
            if part.end - part.start >= least_ns:
                self._add(_draft(name, "raylet", part, around))

    def _add(self, draft: Draft) -> None:
        self.run.drafts.append(draft)


def noted_steps(noted: Attempt) -> list[Leg]:
    """Return the steps of a task on its worker, as its agent noted them."""
    return [
        Leg("ray.arguments", noted.begin, noted.body),
        Leg("ray.execute", noted.body, noted.returned),
        Leg("ray.outputs", noted.returned, noted.end),
    ]


def _inside(noted: Attempt, steps: Sequence[Draft]) -> Iterator[Draft]:
    """Yield what an agent saw inside of the steps; what is inside of another one is its child."""
    around: list[Draft] = []
    for stage, start, end, size in sorted(noted.spans, key=lambda span: (span[1], -span[2])):
        while around and around[-1].end < end:
            around.pop()
        step = next((one for one in steps if one.start <= start < one.end), None)
        if step is not None:
            parent = around[-1] if around else step
            at = step.start if stage == RECORDING else start  # it was fetched before that
            name = stage.rpartition(".")[2]
            draft = Draft(stage, name, step.lane, at, min(end, step.end), "ray.task", parent)
            draft.size_bytes = size or None
            around.append(draft)
            yield draft


def _beside(leg: Leg, others: Sequence[Leg]) -> Iterator[Leg]:
    at = leg.start
    for low, high in [*((one.start, one.end) for one in others), (leg.end, leg.end)]:
        yield from _between(leg.stage, at, min(low, leg.end))
        at = max(at, high)


def _between(stage: str, start: int, end: int) -> Iterator[Leg]:
    if start < end:
        yield Leg(stage, start, end)


def _without_seams(steps: Sequence[Leg]) -> Iterator[Leg]:
    for at, step in enumerate(steps):
        after = steps[at + 1].start if at + 1 < len(steps) else step.end
        yield step._replace(end=after if 0 < after - step.end <= _SEAM_NS else step.end)


def _draft(name: str, lane: str, step: Leg, parent: Draft | None = None) -> Draft:
    draft = Draft(step.stage, name, lane, step.start, step.end, "ray.task", parent)
    draft.size_bytes = step.size_bytes
    draft.details |= {"copied_bytes": step.size_bytes} if step.size_bytes else {}
    draft.details |= {"name": step.what} if step.what else {}
    draft.details |= {"link_bytes_per_s": step.link} if step.link else {}
    return draft


def name_of(info: Any) -> str:  # noqa: ANN401
    """Return the name of the function; of Ray Data its operator; of Dask on Ray Dask's own.

    >>> from types import SimpleNamespace as Info
    >>> name_of(Info(name="ReadRange->Map(f)", func_or_class_name="_map_task"))
    'ReadRange->Map(f)'
    >>> name_of(Info(name="", func_or_class_name="MapWorker(MapBatches(Model.embed)).submit"))
    'MapBatches(Model.embed)'
    """
    # Both have one function for all; that of an actor's start has the class before it.
    if info.name.startswith(TASK_MARK):
        return task_prefix(info.name)
    function = "" if info.func_or_class_name == "_map_task" else info.func_or_class_name
    return _short(str(function or info.name or "task"))


def usual_ns(notes: Notes) -> dict[str, int]:
    """Return how long the calls of each function ran on average, by its name in the picture."""
    sums: dict[str, tuple[int, int]] = {}
    for (name, stage), (count, took, *_) in notes.totals.items():
        if stage == "ray.execute":
            before = sums.get(_short(name), (0, 0))
            sums[_short(name)] = before[0] + count, before[1] + took
    return {name: took // count for name, (count, took) in sums.items() if count}


def _short(name: str) -> str:
    owner, _, last = (name := of_library(name)).rpartition(".")
    if last == "__init__":
        return f"{_short(owner)}.{last}"
    return name if name.endswith(")") else last
