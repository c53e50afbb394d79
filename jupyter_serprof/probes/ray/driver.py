"""Probe of Ray in the driver: put, get, wait, submit and export, by wrapping attributes of classes.

The names below exist unchanged from Ray 2.9 to 2.60, their signatures do not: calls are passed on
as they come. A name that is missing merges its time into the stage around it and is listed in
``quality``. Source: Ray 2.60.0, ray/_private/worker.py, ray/_private/serialization.py,
ray/remote_function.py, ray/actor.py, ray/_private/function_manager.py.

``ray.get`` would do the same waits itself; doing them before it costs two calls (0.05-0.2 ms).
Where they find everything at hand, they may take a twentieth of the time of the recording; the gets
beyond are told without them. Source: the public ``ray.wait(..., fetch_local=)``.
"""

import sys
import weakref
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.machine import ATOMS, buffers_of
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.model.units import counted
from jupyter_serprof.objects.ask import holds_objects, is_array, is_exactly, is_of, kind_name
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.folding import fold_tasks
from jupyter_serprof.probes.looks import looking
from jupyter_serprof.probes.pickle import complete_pickles, keep_refused, pickle_places
from jupyter_serprof.probes.ray import agents, submissions, values, waits
from jupyter_serprof.probes.ray.agent.copies import task_id
from jupyter_serprof.probes.ray.alive import pending_tasks, silence_note, silent_processes
from jupyter_serprof.probes.ray.footprint import tell_spills
from jupyter_serprof.probes.ray.holders import note_put
from jupyter_serprof.probes.ray.looks import SUBMISSIONS, TaskLooks, keep_unnamed
from jupyter_serprof.probes.ray.tasks import HIDDEN, Coverage, Left

_WORKER = "ray._private.worker:Worker"
_CONTEXT = "ray._private.serialization:SerializationContext"
_SEEN_VALUES = 8


def _note_values(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    size = raw = 0
    for each in args[1]:
        if each[0] is not None:
            size += each[0].size
            raw += each[0].size if each[1] == b"RAW" else 0
    one: Any = result[0] if len(result) == 1 else None
    if type(one) is getattr(sys.modules.get("numpy"), "ndarray", None):  # got most: the short way
        return size, raw, [(one.ctypes.data, one.nbytes)], [weakref.ref(one)], 1, False, ""
    seen = [value for value in result[:_SEEN_VALUES] if not is_exactly(value, ATOMS)]
    buffers = [buffer for value in seen for buffer in buffers_of(value)]
    kept = [one for one in seen if is_array(one) or is_of(one, "pandas", *values.TABLES)]
    arrays = list(map(weakref.ref, kept)) if buffers else values.plain_keys(seen, size)
    references = bool(seen) and not kept and is_of(seen[0], "ray", "ObjectRef")
    # A number where that says it, which the collector does not count.
    form = "object" * any(map(holds_objects, kept))
    form = form or "polars" * all(is_of(one, "polars", *values.TABLES) for one in seen) * bool(seen)
    is_plain = not (buffers or arrays or references or form) and len(result) < values.MANY_OBJECTS
    if is_plain and raw in {0, size}:
        return size << 8 | (raw > 0)
    return size, raw, buffers, arrays, len(result), references, form


def _note_reference(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note whether Ray counts who needs what a pickle refers to, and which task makes it."""
    return args[0].is_in_band_serialization(), task_id(args[1])


def driver_places(*, detail: bool) -> list[Place]:
    """Return the places of the driver; stages own the time that their inner places do not.

    ``_serialize_to_msgpack``, ``_deserialize_object`` and ``_deserialize_pickle5_data`` are left
    alone: the places around and inside them tell the same stages, and each span more makes a get of
    0.1 ms slower by some per cent.
    """
    fetch, joined = "ray.map" if detail else "ray.fetch", partial(Place, joins=True)
    return [
        joined(f"{_WORKER}.put_object", "ray.store", "ray.put", after=note_put, faults="process"),
        joined(
            f"{_CONTEXT}.serialize",
            "ray.msgpack",
            "ray.serialize",
            after=values.note_serialized,
            parted=values.parted_serialized,
            whole=values.whole_serialized,
            failed=lambda error, args: keep_refused(error, args[1:], takes_functions=True),
        ),
        joined(
            f"{_CONTEXT}._serialize_to_pickle5",
            "ray.pickle",
            "ray.serialize",
            after=lambda _, args, *__: (len(args[2]), kind_name(type(args[2][0]))),
            parted=lambda noted: noted and (noted[1], noted[0]),
            whole=lambda kind, count: (count, kind),
        ),
        Place(
            f"{_CONTEXT}.add_contained_object_ref",
            "ray.msgpack",
            values.REFERENCE,
            after=_note_reference,
        ),
        Place(
            f"{_WORKER}.get_objects",
            fetch,
            "ray.get",
            before=waits.split_get if detail else waits.begin_get,
            after=(lambda token, *_: token) if detail else waits.came_from,
            failed=keep_unnamed,
            joins=not detail,
        ),
        joined(
            f"{_WORKER}.deserialize_objects", "ray.unpack", "ray.deserialize", after=_note_values
        ),
        *submissions.submission_places(),
        *pickle_places("ray.cloudpickle"),
    ]


_WITNESS, _FORK = "ray.outer", "ray.fork"
#: The lowest rung: public names only. They also witness what the places inside them did not see.
_OUTER = (
    Place("ray:put", "ray.store", _WITNESS, joins=True),
    Place("ray:get", "ray.fetch", _WITNESS, joins=True),
    # What a streaming generator, ActorPool and Ray Data call, too.
    looking(
        "ray:wait",
        lambda given, found: len(found[0]) >= given.get("num_returns", 1),
        *("ray.wait", "ray.wait"),
    ),
    Place("ray:init", "ray.init", after=lambda *_: agents.met(bool)),
    # Also what a ProcessPoolExecutor calls; its time is that of whatever is around it.
    Place("multiprocessing.popen_fork:Popen._launch", "ray.submit", _FORK),
)
#: What each call of the user has inside it, if this Ray still works as its names say.
_INSIDE = dict.fromkeys(("ray.put", "ray.serialize"), "put")
_INSIDE |= dict.fromkeys(("ray.get", "ray.deserialize"), "get")
_CLIENT_WHY = (
    "Ray Client (ray://): this process is not part of the cluster, so put and get have outer "
    "timings only. Run the notebook on a node of the cluster to see their stages"
)


class RayDriverProbe(Probe):
    """Sees ray.put, ray.get, task and actor submission and function export in this process.

    What it cannot see: create, copy and seal inside Store (one call of compiled code); what happens
    inside workers beyond Ray's own task events. Who awaits a reference waits in his event loop.
    """

    name = "ray"
    library = "ray"
    _agents: agents.Agents | None = None
    _is_over = False
    _looks: TaskLooks | None = None
    _left, _earlier = Left(), waits.Earlier()

    def arm(self, recorder: Recorder) -> None:
        """Listen at the public names and, unless this is Ray Client, inside them."""
        self._seen, self._blind = Coverage(), Counter[str]()
        client, self._silent = sys.modules.get("ray.util.client"), silent_processes()
        self._is_client = client is not None and bool(client.ray.is_connected())
        submissions.FUNCTIONS.clear()
        submissions.METHODS.clear()
        waits.IDLE_NS[0] = submissions.TOLD[0] = 0
        if self._is_client:
            self.was_armed = True
        else:
            self._agents = None if self._silent else agents.join()
            self._earlier = waits.Earlier(set() if self._silent else pending_tasks())
            waits.EARLIER.extend([self._earlier] if self._earlier.tasks else ())
            super().arm(recorder)
        for place in (*_OUTER, *submissions.serve_places()):
            self.arm_place(place, recorder)
        if not self._is_client:
            self._looks = TaskLooks(lambda: recorder.thread)
            for path in SUBMISSIONS:
                self.arm_place(Place(path, "ray.submit", "ray.submit"), self._looks)
            before = partial(self._take_along, recorder)
            self.arm_place(Place("ray:shutdown", "ray.shutdown", before=before), recorder)

    def _take_along(self, recorder: Recorder, args: Any, kwargs: Any) -> tuple[Any, Any, None]:  # noqa: ANN401
        self._left = submissions.told_before_leaving(recorder, self._agents, self._left)
        return args, kwargs, None

    def look(self, stage: str, still_s: float) -> LiveFacts | None:
        """Return how many tasks of this driver are over, while the caller waits for them."""
        return self._looks.facts(stage, still_s) if self._looks else None

    def places(self) -> list[Place]:
        """Return the places of the driver."""
        return driver_places(detail=self.detail)

    def remove(self) -> None:
        """Stop listening, and let the agents go."""
        super().remove()
        waits.EARLIER[:] = [one for one in waits.EARLIER if one is not self._earlier]
        if self._agents is not None and not self._is_over:
            self._is_over = True
            agents.quit_agents(self._agents)

    def forget(self) -> None:
        """Stop listening in the child of a fork: it has no cluster."""
        super().forget()
        self._agents = None
        agents.forget_agents()

    def refine(self, run: Page) -> None:
        """Give sizes and details; add the lanes of the workers from Ray's task events."""
        if not self.was_armed:  # its library was not imported
            return
        silent = silent_processes()
        run.notes += filter(None, [silence_note(self._silent, silent)])
        if run.is_interrupted and self._looks and not silent:
            run.notes += filter(None, [self._looks.left_note()])
        if run.is_given_up and self._looks and not silent:
            self._looks.tell_why(run.notes, 1 if run.is_interrupted else 4)
        if self._agents is not None:
            agents.drop_own_calls(run, self._agents)
        complete_pickles(run.drafts)
        self._blind = _judge_witnesses(run.drafts)
        held = values.take_references(run.drafts)
        values.complete_calls(run.drafts)
        values.tell_forks(run, _FORK)
        submitted = [draft for draft in run.drafts if submissions.is_submission(draft)]
        taken = self._agents.arrivals.copies.given.values() if self._agents else ()
        earlier = self._earlier.awaited(run, sent := submissions.idents_of(submitted), taken)
        if (submitted or earlier) and not self._is_client:
            self._seen = Coverage(HIDDEN, len(sent) + len(earlier))
            if not silent:
                given = submitted, self._agents, self._left, earlier
                self._seen = submissions.add_tasks(run, *given)
                submissions.end_calls(run.drafts)
            values.tell_nested(run.drafts, held)
            values.tell_habits(submitted, submissions.FUNCTIONS, submissions.METHODS)
            if self._seen.missing:
                submissions.note_unseen_roads(run.drafts, submitted)
            fold_tasks(run)
        if self._agents is not None and not silent:
            seen = self._agents.arrivals
            here = {lane: seen.node for lane in run.lanes if lane.startswith("client")}
            link = seen.all_seen().links.get(seen.node)
            for draft in run.drafts if link else ():
                draft.details |= {"link_bytes_per_s": link} if draft.stage == "ray.pull" else {}
            tell_spills(run, seen, {**here, **self._seen.nodes})
            self._agents.forget()

    def level(self) -> str:
        """Return the rung: outer, wrappers or pickle; of tasks, who told of how many."""
        inner = {"SerializationContext._serialize_to_pickle5", "dumps"} & set(self.missing)
        is_outer = self._is_client or {"ray.put", "ray.get"} & set(self._blind)
        inner |= set(self._blind)
        rung = "outer" if is_outer else "wrappers" if inner else "pickle"
        return f"{rung}{submissions.told_of_tasks(self._seen)}"

    def unseen(self) -> Sequence[str]:
        """Return what this Ray or this connection hides."""
        calls = {role: counted(n, _INSIDE[role]) for role, n in self._blind.items()}
        blind = [f"{role} ({made} made, none was seen)" for role, made in calls.items()]
        why = [_CLIENT_WHY] if self._is_client else blind
        why += self._agents.arrivals.unseen() if self._agents else []
        return [*super().unseen(), *why, *submissions.hidden_of_tasks(self._seen)]


def _judge_witnesses(drafts: Sequence[Draft]) -> Counter[str]:
    """Drop what only witnesses; tell what the user's own calls hid, and of how many calls."""
    # A place counts as hidden if none of the calls around it showed it. A put or get that nothing
    # inside showed stands for itself.
    seen, made = set[tuple[int, str]](), Counter[str]()
    for draft in drafts:
        if draft.role in _INSIDE:
            outside = next((above for above in draft.ancestors() if above.role == _WITNESS), None)
            seen.add((id(outside), draft.role))
    shown = {role for _, role in seen}
    for draft in [draft for draft in drafts if draft.role == _WITNESS]:
        outer, inner = (role for role, call in _INSIDE.items() if call == draft.name)
        draft.role, draft.is_dropped = outer, (id(draft), outer) in seen
        if "error" not in draft.details:
            made.update(role for role in (outer, inner) if role not in shown)
    return made
