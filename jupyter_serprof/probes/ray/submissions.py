"""Submissions of tasks: the places that watch them, and what was seen of the road of their tasks.

The agents go with what is submitted. How far the ladder of the tasks goes is said in any case: by
agents and Ray's events, by one of them, or by this process only; of how many tasks.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

from jupyter_serprof.capture.freeze import Draft, Page, page_of
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import Table, TableColumn
from jupyter_serprof.model.units import counted
from jupyter_serprof.probes.ray import agents as _agents
from jupyter_serprof.probes.ray import tasks
from jupyter_serprof.probes.ray.agent.contact import Contact
from jupyter_serprof.probes.ray.agent.copies import task_id
from jupyter_serprof.probes.ray.agents import Agents, Notes
from jupyter_serprof.probes.ray.alive import silent_processes
from jupyter_serprof.probes.ray.holders import note_line
from jupyter_serprof.probes.ray.looks import SUBMISSIONS

#: The first task of each remote function of this recording.
FUNCTIONS: weakref.WeakKeyDictionary[Any, bytes | None] = weakref.WeakKeyDictionary()
#: The first call of each method of an actor: module, class and name.
METHODS: dict[tuple[str, str, str], bytes | None] = {}
#: How many submissions were told of: of many, each further one is not told by itself.
TOLD = [0]
#: One task is all in the picture; of so many functions the first ones are told.
_SEVERAL, _MOST_FUNCTIONS, _NONE = 2, 1_000, (0, 0, 0, 0)
_SUMMED = {
    "ray.execute": ("execute_total", "Execute"),
    "ray.arguments": ("arguments_total", "Arguments"),
    "ray.arguments.import": ("import_total", "Imports"),
    "ray.arguments.unpickle": ("unpickle_total", "Unpickle"),
    "ray.task.get": ("get_total", "ray.get"),
    "ray.task.put": ("put_total", "ray.put"),
    "ray.generator.out": ("out_total", "Items handed over"),
    "ray.outputs": ("outputs_total", "Outputs"),
    "ray.outputs.pickle": ("pickle_total", "Pickle"),
}
_COLUMNS = (
    TableColumn("function", "Function"),
    TableColumn("count", "Tasks", "count"),
    TableColumn("execute_max", "Longest", "ns"),
    *(TableColumn(key, title, "ns") for key, title in _SUMMED.values()),
    TableColumn("out_bytes", "Bytes of items", "bytes"),
)
_NOTE = "each attempt that an agent noted; exact, also where few are drawn with their inside"
_MANAGER = "ray._private.function_manager:FunctionActorManager"
_HANDLE = "ray.serve.handle:DeploymentHandle.remote"
_CLIENT = "ray.serve._private.client:ServeControllerClient._wait_for_application_running"


def submission_places() -> list[Place]:
    """Return the places where tasks and actors are submitted, functions and classes exported."""
    submit = partial(Place, stage="ray.submit", role="ray.submit")
    function, kind, method = SUBMISSIONS
    return [
        submit(function, before=_agents.meet_function, after=_note_task, joins=True),
        submit(kind, before=_agents.meet_class, after=_note_actor),
        submit(method, before=_agents.meet_actor, after=_note_call, joins=True),
        Place(f"{_MANAGER}.export", "ray.export", "ray.export", after=_note_export),
        Place(f"{_MANAGER}.export_actor_class", "ray.export", "ray.export", after=_note_export),
    ]


def serve_places() -> Sequence[Place]:
    """Return where a handle of Ray Serve is called, and its start waited for; none without it."""
    named = partial(Place, joins=True, parted=lambda name: (name, 0), whole=lambda name, _: name)
    called = lambda _, args, *__: args[0].deployment_name  # noqa: E731
    awaited = lambda _, args, kwargs, *__: [*args, *kwargs.values()][1]  # noqa: E731
    places = [named(_HANDLE, "ray.submit", "ray.deployment", after=called)]
    places += [named(_CLIENT, "ray.actor.start", "ray.application", after=awaited)]
    return places if "ray.serve.handle" in sys.modules else ()


def end_calls(drafts: Iterable[Draft]) -> None:
    """End what a replica did for a call where the next one in turn began: its result was there."""
    # It is done when its caller has heard of that, who may be busy with the next call.
    known = sorted(drafts, key=lambda draft: draft.start)
    calls = [draft for draft in known if "deployment" in draft.details]
    names = {draft.details["deployment"] for draft in calls}
    runs = [draft for draft in known if draft.stage == "ray.execute" and draft.name in names]
    turns = [at for pair in zip(calls, runs, strict=False) for at in pair]
    if len(calls) == len(runs) and turns == sorted(turns, key=lambda draft: draft.start):
        for run, following in zip(runs, calls[1:], strict=False):
            run.end = min(run.end, following.start)


def _told(table: MutableMapping[Any, bytes | None], key: object, made: bytes | None) -> Any:  # noqa: ANN401
    """Return the task that was made, if it is one of the first, or the first of its kind."""
    is_first = table.setdefault(key, made) is made
    TOLD[0] += 1
    return made if is_first or TOLD[0] <= tasks.MANY_TASKS else None


def _note_task(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    made = _agents.note_given(task_id(result), args, kwargs)
    note_line(made, str(args[0]._function_name).rpartition(".")[2])  # noqa: SLF001  (Ray's)
    return _told(FUNCTIONS, args[0], made)


def _note_actor(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    _agents.met(Contact.actor_made, result)
    return _agents.note_given(task_id(result), args, kwargs)


def _note_call(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    made = _agents.note_given(task_id(result), args, kwargs)
    actor = getattr(args[0], "_actor", None)
    known = getattr(actor, "_ray_actor_creation_function_descriptor", None)
    note_line(made, args[0]._method_name)  # noqa: SLF001  (Ray's)
    kind = known and (known.module_name, known.class_name, args[0]._method_name)  # noqa: SLF001
    return _told(METHODS, kind, made) if kind else made


def _note_export(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note what was published: a remote function, or the class of an actor."""
    one, is_class = args[1], isinstance(args[1], type)
    _agents.met(*((Contact.class_published,) if is_class else (Contact.function_published, one)))
    name = one.__name__ if is_class else one._function_name  # noqa: SLF001  (Ray's)
    return weakref.ref(one), str(name).rpartition(".")[2]


def is_submission(draft: Draft) -> bool:
    """Tell whether a call made a task: the outermost one, and not one that raised."""
    is_outer = draft.role == "ray.submit" and not draft.is_inside("ray.submit")
    return is_outer and not draft.is_dropped and "error" not in draft.details


def idents_of(submitted: Iterable[Draft]) -> list[bytes | None]:
    """Return the ids of the tasks of submissions, None for each that is not told by itself."""
    return [one.extra for one in submitted for _ in range(one.details.get("calls", 1))]


def told_before_leaving(recorder: Recorder, agents: Agents | None, left: tasks.Left) -> tasks.Left:
    """Return what was told of tasks until now: a cluster that is left tells nothing more."""
    # Whoever waits for it is the recording, not the user's code.
    start = time.perf_counter_ns()
    run = page_of(recorder)
    idents = idents_of(filter(is_submission, run.drafts))
    if idents and not silent_processes():
        found = Notes()
        if agents is not None:
            found = tasks.settled_notes(lambda: agents.notes(run), run, len(idents))
            agents.keep()
        left = left if tasks.are_noted(found, idents) else tasks.told_tasks(run, idents, left)
    recorder.moved_ns += time.perf_counter_ns() - start
    return left


def add_tasks(
    run: Page,
    submitted: Sequence[Draft],
    agents: Agents | None,
    left: tasks.Left,
    earlier: Iterable[bytes] = (),
) -> tasks.Coverage:
    """Add the road of tasks by Ray's events and the notes of the agents; say what was seen."""
    # Also of those that were submitted earlier, and waited for.
    idents = [*idents_of(submitted), *earlier]
    if agents is None:
        return tasks.add_task_spans(run, idents, left=left)
    taken: list[Notes] = []

    def read() -> Notes:
        taken[:] = [agents.notes(run)]
        return taken[0]

    sent = {draft.extra: draft.end for draft in submitted if draft.extra}
    try:
        return tasks.add_task_spans(run, idents, read, sent, left)
    finally:
        run.tables += [table for notes in taken for table in task_tables(notes)]


def task_tables(notes: Notes) -> Iterator[Table]:
    """Yield the table of tasks by function, where there were several: all of them are in it."""
    if notes.count < _SEVERAL:
        return
    by_name: dict[str, dict[str, Sequence[int]]] = defaultdict(dict)
    for (name, stage), known in notes.totals.items():
        by_name[name][stage] = known
    names = sorted(notes.counts, key=lambda name: -by_name[name].get("ray.execute", _NONE)[1])
    rows = (_row(name, notes.counts[name], by_name[name]) for name in names[:_MOST_FUNCTIONS])
    yield Table("ray.tasks", "Tasks by function", _COLUMNS, tuple(rows), _NOTE)


def _row(
    name: str, count: int, stages: Mapping[str, Sequence[int]]
) -> tuple[str | int | None, ...]:
    totals = [stages.get(stage, _NONE)[1] for stage in _SUMMED]
    size = stages.get("ray.generator.out", _NONE)[3] or None  # of methods of actors nobody knows
    return name, count, stages.get("ray.execute", _NONE)[2], *totals, size


def told_of_tasks(seen: tasks.Coverage) -> str:
    """Say who told of how many tasks; empty if there was none."""
    if not seen.total:
        return ""
    who = " + ".join(["agent"] * (seen.noted > 0) + ["events"] * (seen.told > 0))
    told = f"{max(seen.told, seen.noted)} of {counted(seen.total, 'task')} seen"
    return f", {who or 'driver only'}: {told}"


def hidden_of_tasks(seen: tasks.Coverage) -> list[str]:
    """Say what was not seen of tasks, and why."""
    count = seen.total - seen.noted - seen.idle
    inside = f"inside of {counted(count, 'task')}"
    by = "; ".join(dict.fromkeys(seen.troubles)) or "no agent was there"
    return [*filter(None, [seen.missing]), *[f"{inside} ({by})"] * (seen.told > 0 and count > 0)]


def note_unseen_roads(drafts: Sequence[Draft], submitted: Sequence[Draft]) -> None:
    """Mark the submissions whose task was not seen to execute: a wait may be for it."""
    seen = {draft.extra for draft in drafts if draft.stage == "ray.execute"}
    for draft in submitted:
        if draft.extra is None or draft.extra not in seen:
            draft.details["road"] = "unseen"
