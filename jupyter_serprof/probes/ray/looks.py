"""How far the tasks of this driver are, and why nothing moves: what the driver and the GCS know.

How many are not over the driver knows by itself: it owns them. What they wait for is asked of the
GCS once nothing has moved for a while: which resources are asked for and free (what an autoscaler
reads), and the state of each task, where there are few.
Source: Ray 2.60.0, _raylet.pyx:CoreWorker.get_pending_children_task_ids, GcsClient
.get_cluster_resource_state; autoscaler_pb2.ClusterResourceState; TaskStatus of common.proto.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from functools import partial
from itertools import chain, islice
from math import inf
from statistics import median
from types import FrameType
from typing import Any, NamedTuple

from jupyter_serprof.capture.hook import Place, Record
from jupyter_serprof.capture.stacks import stack_of
from jupyter_serprof.model.live import LiveFacts, long_text, seconds_text
from jupyter_serprof.model.stages import stage
from jupyter_serprof.model.trace import STAYED, STOOD
from jupyter_serprof.model.units import counted, format_bytes
from jupyter_serprof.probes.held import left_note
from jupyter_serprof.probes.ray.agent.copies import task_id
from jupyter_serprof.probes.ray.alive import asking, pending_tasks, silence_note, silent_processes
from jupyter_serprof.probes.ray.road import name_of, names
from jupyter_serprof.probes.ray.tasks import _reader

#: How often is asked why nothing moves; from when on an answer is old; a wait at the end for it, s.
_EVERY_S, _OLD_S, _PATIENCE_S = 2.0, 3.0, 0.3
#: The states of more tasks are not read: of a thousand it takes the GCS milliseconds.
_MOST_TASKS, _MOST_REASONS = 2_000, 2
#: So few tasks are the last ones: sooner is asked whether one of them is longer than all before.
_FEW_TASKS, _SOON_S = 8, 0.5
#: Names of Ray's ``TaskStatus``.
_NEEDS, _UNASSIGNED = "PENDING_ARGS_AVAIL", "PENDING_NODE_ASSIGNMENT"
_QUEUED = ("SUBMITTED_TO_WORKER", "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY")
#: A get without details waits in these, or fetches what is there.
_WAITS = ("", "ray.fetch", "ray.map")
_GUESSED, _WORKER = 0.3, "ray._private.worker"
_Ids = frozenset[bytes]
#: From when on a task runs longer than all of its kind did, time of day, s.
_LONGER = dict[bytes, float]()
#: What gives a task to Ray. Whoever watches it first decides what is noted of it.
SUBMISSIONS = (
    "ray.remote_function:RemoteFunction._remote",
    *(f"ray.actor:{name}._remote" for name in ("ActorClass", "ActorMethod")),
)


class TaskLooks:
    """Counts the tasks of this driver from the start of a recording on: a `Sink`."""

    now = staticmethod(time.perf_counter_ns)

    def __init__(self, thread: Callable[[], int]) -> None:
        self._thread = thread
        self.submitted, self._before = 0, _pending_now() or frozenset()
        #: Of those that were under way before, what is waited for.
        self._awaited = set[bytes]()
        self._asked_s, self._start_s = 0.0, time.time()
        #: What the last answer was, and when it was asked for; what has no answer yet.
        self._why = ("", 0.0)
        self._answer: Future[str] | None = None
        _LONGER.clear()
        UNNAMED.clear()

    def add(self, record: Record) -> None:
        """Count one, if it was taken."""
        self.submitted += record[-1] is None

    def failed(self, place: Place, error: BaseException) -> None:
        """Leave it to the recorder, which hears it too."""

    def facts(self, caller: str, still_s: float) -> LiveFacts | None:
        """Return how many tasks are over; None where the caller waits for something else."""
        is_waiting = caller in _WAITS or stage(caller).waits
        wanted = next(filter(None, stack_of(self._thread(), _wanted)), ()) if is_waiting else ()
        known = _pending_now() if is_waiting and (self.submitted or wanted) else None
        if known is None:
            return None
        if self._before:
            self._awaited |= self._before & set(map(task_id, wanted))
        pending = known - (self._before - self._awaited)
        total = max(self.submitted + len(self._awaited), len(pending))
        done, soon_s = total - len(pending), _SOON_S if len(pending) <= _FEW_TASKS else _EVERY_S
        is_still = still_s >= soon_s and bool(pending or wanted)
        why = self._seen(pending, known - pending, wanted, still_s) if is_still else ""
        if not total:
            return LiveFacts(caller, why=why)
        # Of one that runs longer than any other did nobody knows how much longer.
        is_long = any(one in pending and time.time() > at for one, at in _LONGER.items())
        guessed = 1.0 if is_long else _GUESSED
        return LiveFacts(caller, "", done, total, share=done / total, guessed=guessed, why=why)

    def _seen(self, pending: _Ids, before: _Ids, wanted: Sequence[Any], still_s: float) -> str:
        """Return why nothing moves, as a look has found; begin the next when that one is over."""
        now_s = time.monotonic()
        if self._answer and self._answer.done():
            self._why, self._answer = (self._answer.result(), self._asked_s), None
        if not self._answer and now_s >= self._asked_s + _EVERY_S:
            self._asked_s = now_s
            self._answer = asking(partial(_why, pending, before, wanted, self._start_s))
        why, age_s = self._why[0], now_s - self._why[1]
        age = f" ({seconds_text(age_s)} ago)" * (age_s > _OLD_S)
        return f"{why}{age}" if why and age_s <= still_s else ""  # something has moved since

    def tell_why(self, notes: list[str], patience: int = 1) -> None:
        """Add why nothing moved at the end, where no line has told it."""
        is_told = any(note.startswith(STOOD) for note in notes)
        if not is_told and self.facts("", inf):
            wait([self._answer] if self._answer else [], patience * _PATIENCE_S)
            facts = self.facts("", inf)
            notes += [f"{STOOD}{facts.why}"] if facts and facts.why else []

    def left_note(self) -> str:
        """Say which tasks go on, and a line that ends them; empty without any."""
        left = (_pending_now() or frozenset()) - (self._before - self._awaited)
        if not left:
            return ""
        tasks, held = f"{counted(len(left), 'task')} of Ray", left & {one[:24] for one in _counts()}
        if not held:
            return f"{tasks}{STAYED}ray.shutdown(), as all references are gone"
        lost = len(left) - len(held)
        more = f"  # {lost} without a reference go{'es' * (lost == 1)} on" * bool(lost)
        # A task's id has that of its actor, if any, whose calls cannot be forced.
        end = partial(_cancel, {task: not task[8:20].strip(b"\xff") for task in held})
        return left_note(tasks, "ray", end, more)


def _cancel(left: Mapping[bytes, bool]) -> None:
    for task in left.keys() & (_pending_now() or ()):
        ray = sys.modules["ray"]
        ray.cancel(ray.ObjectRef(task + (1).to_bytes(4, "little")), force=left[task])


#: What a get that was stopped waited for: a task is cancelled by a reference that was never let go.
UNNAMED: list[Any] = []


def keep_unnamed(error: BaseException, args: Sequence[Any]) -> None:
    """Keep the references of a get that was stopped, until the next recording begins."""
    if isinstance(error, KeyboardInterrupt):
        UNNAMED[:] = args[1]


def _counts() -> dict[bytes, Any]:
    """Return the references to objects that this process knows of."""
    known = sys.modules[_WORKER].global_worker.core_worker.get_all_reference_counts()
    return {bytes.fromhex(ident.decode()): count for ident, count in known.items()}


def _pending_now() -> frozenset[bytes] | None:
    """Return the tasks of this driver that are not over; None where nobody knows."""
    ray = sys.modules.get("ray")
    return frozenset(pending_tasks()) if ray is not None and ray.is_initialized() else None


def _wanted(frame: FrameType) -> Sequence[Any]:
    """Return the references that a call of ``ray.get`` or ``ray.wait`` waits for."""
    is_one = frame.f_code.co_name in ("get_objects", "wait")
    known = frame.f_locals if is_one and frame.f_globals["__name__"] == _WORKER else {}
    return known.get("object_refs") or known.get("ray_waitables") or ()


def _why(pending: _Ids, before: _Ids, wanted: Sequence[Any], start_s: float) -> str:
    if silent := silent_processes():
        return silence_note({}, silent)
    with suppress(Exception):  # a name of Ray is gone
        reasons = chain(_places(wanted, ""), _reasons(pending, before, start_s))
        return "; ".join(islice(reasons, _MOST_REASONS))
    return ""


class _Known(NamedTuple):
    """A task, the state that it is in, and since when; how long it has run, s, if it began."""

    task: Any
    state: str
    since_s: float
    ran_s: float | None


def _reasons(pending: _Ids, before: _Ids, start_s: float) -> Iterator[str]:
    known = list(_states()) if len(pending) <= _MOST_TASKS else []
    tasks = [one for one in known if bytes(one.task.task_id) in pending]
    yield from _running(tasks, known, before, start_s)
    unassigned = [one for one in tasks if one.state == _UNASSIGNED]
    running = [one for one in tasks if one.state.startswith("RUNNING")]
    wishes = list(_wishes(unassigned, _held(known), set(map(_wish, running))))
    yield from filter(None, wishes)
    away = list(_arguments()) if unassigned and not wishes else []
    yield from away
    if needs := sum(one.state == _NEEDS for one in tasks):
        yield f"{counted(needs, 'task')} wait{'s' if needs == 1 else ''} for what other tasks make"
    if unassigned and not wishes and not away:
        infos = {one.task.task_info.runtime_env_info.serialized_runtime_env for one in unassigned}
        what, took_s = _starting(infos - {"", "{}"})
        since_s = min(one.since_s for one in unassigned) + took_s
        yield f"{what}, for {seconds_text(time.time() - since_s)}"


def _starting(wanted: set[str]) -> tuple[str, float]:
    """Return what tasks wait for that have a place: environment or process; s of what is done."""
    # Source: Ray 2.60.0, runtime_env/agent/runtime_env_agent.py:RuntimeEnvAgent.GetRuntimeEnvsInfo:
    # what is being made has no `success`. While an agent loads something down it does not answer.
    process, making = "a worker process is being started", "a runtime environment is being made"
    if not wanted:
        return process, 0.0
    nodes = sys.modules[_WORKER].global_worker.gcs_client.get_all_node_info().values()
    states = list[Any]()
    for node in islice((one for one in nodes if not one.state), _FEW_TASKS):
        address = node.node_manager_address, node.runtime_env_agent_port
        with suppress(Exception):
            from http.client import HTTPConnection

            from ray._private.authentication import http_token_authentication as tokens

            made = importlib.import_module("ray.core.generated.runtime_env_agent_pb2")
            headers = tokens.get_auth_headers_if_auth_enabled({})
            with closing(HTTPConnection(*address, timeout=_SOON_S)) as line:
                line.request("POST", "/get_runtime_envs_info", b"", headers)
                try:
                    answer = line.getresponse().read()
                except TimeoutError:
                    return making, 0.0
            states += made.GetRuntimeEnvsInfoReply.FromString(answer).runtime_env_states
    known = [one for one in states if one.runtime_env in wanted]
    if not known:
        return f"{process} or its runtime environment is being made", 0.0
    took_s = max(one.creation_time_ms for one in known) / 1000
    return (process, took_s) if all(one.HasField("success") for one in known) else (making, 0.0)


def _places(references: Iterable[Any], role: str) -> Iterator[str]:
    """Yield what objects that are not here have to come from: disk, another node."""
    # Source: Ray 2.60.0, ray/experimental/locations.py:get_local_object_locations, which asks
    # nobody.
    worker = sys.modules[_WORKER].global_worker
    here, core = worker.current_node_id.hex(), worker.core_worker
    missing = [one for one in islice(references, _MOST_TASKS) if not core.object_exists(one)]
    known = core.get_local_object_locations(missing) if missing else {}
    spilled = [one["object_size"] for one in known.values() if one["did_spill"]]
    away = [one["object_size"] for one in known.values() if {*one["node_ids"]} - {here}]
    for sizes, how in ((spilled, "restored from disk"), (away, "fetched from another node")):
        if sizes:
            are = f"{counted(len(sizes), f'{role}object')} {'is' if len(sizes) == 1 else 'are'}"
            yield f"{are} being {how}, {format_bytes(sum(sizes))}"


def _arguments() -> Iterator[str]:
    given = [ident for ident, count in _counts().items() if count["submitted"]]
    yield from _places(map(sys.modules["ray"].ObjectRef, given), "argument ")


def _states() -> Iterator[_Known]:
    read, status = _reader(), names().TaskStatus
    for task in read() if read else ():
        times = task.state_updates.state_ts_ns
        if times:
            state, since_ns = max(times.items(), key=lambda entry: (entry[1], entry[0]))
            until_s = since_ns / 1e9 if state == status.FINISHED else time.time()
            began_ns = times.get(status.RUNNING, 0)
            ran_s = until_s - began_ns / 1e9 if began_ns else None
            yield _Known(task, status.Name(state), since_ns / 1e9, ran_s)


def _running(
    tasks: list[_Known], known: list[_Known], earlier: _Ids, start_s: float
) -> Iterator[str]:
    queues = {one.task.task_info.actor_id for one in tasks if one.state in _QUEUED} - {b""}
    # A call waits for those that its actor was sent before, too.
    own = tasks[0].task.task_info.parent_task_id if tasks else b""
    of_actors = [one for one in known if one.task.task_info.actor_id in queues]
    # Others send to it, too. Of ours, what is over the GCS may not know of yet.
    before = [one for one in of_actors if bytes(one.task.task_id) in earlier]
    before += [one for one in of_actors if one.task.task_info.parent_task_id != own]
    running = [one for one in (*tasks, *before) if one.state.startswith("RUNNING")]
    if not running:
        return
    oldest = max(running, key=lambda one: one.ran_s or 0.0)
    info, name = oldest.task.task_info, name_of(oldest.task.task_info)
    since = [one for one in known if one.state == "FINISHED" and one.since_s >= start_s]
    usual_s = [one.ran_s for one in since if one.ran_s and name_of(one.task.task_info) == name]
    queue = [one for one in (*tasks, *before) if one.state in _QUEUED and info.actor_id]
    queued = sum(one.task.task_info.actor_id == info.actor_id for one in queue)
    name += ", sent before," * (bytes(oldest.task.task_id) in earlier)
    more = f", {counted(queued, 'call')} in the queue of its actor" if queued else ""
    count, its = oldest.task.attempt_number + 1, bytes(oldest.task.task_id)
    is_lost = any(one.state == "FINISHED" and bytes(one.task.task_id) == its for one in tasks)
    again = f", in attempt {count}: its {'result was lost' if is_lost else 'worker died'}"
    first = "" if usual_s or info.actor_id else ", imports and arguments included"
    usual = median(usual_s) if usual_s else None
    _LONGER[its] = time.time() - (oldest.ran_s or 0.0) + max(usual_s, default=inf)
    yield f"{long_text(name, oldest.ran_s or 0.0, usual)}{first}{again * (count > 1)}{more}"


def _wish(one: _Known) -> frozenset[tuple[str, float]]:
    return frozenset(one.task.task_info.required_resources.items())


def _held(known: Iterable[_Known]) -> Counter[str]:
    """Return what tasks that run have of each resource, and actors, which may have ended."""
    held = Counter[str]()
    for one in known:
        is_actor = one.task.task_info.type == names().TaskType.ACTOR_CREATION_TASK
        if one.state.startswith("RUNNING") or (is_actor and one.state == "FINISHED"):
            held.update(one.task.task_info.required_resources)
    return held


def _wishes(
    unassigned: Iterable[_Known], held: Mapping[str, float], given: set[frozenset[Any]]
) -> Iterator[str]:
    """Yield what tasks ask for that is not given: more than any node has, or more than is free.

    ``given``: What tasks that run were given: who asks for the same waits for these, "".
    """
    # What nobody holds, and is not free, belongs to a task whose process is being started.
    asks = Counter(map(_wish, unassigned))
    if not asks.keys() - {frozenset()}:
        return
    client = sys.modules[_WORKER].global_worker.gcs_client
    made = importlib.import_module("ray.core.generated.autoscaler_pb2")
    reply = made.GetClusterResourceStateReply()
    reply.ParseFromString(client.get_cluster_resource_state())
    nodes = reply.cluster_resource_state.node_states
    for one, count in asks.most_common():
        if lacks := _lacking(dict(one), nodes, held):
            asked = f"{counted(count, 'task')} ask{'s' if count == 1 else ''} for"
            yield f"{asked} {lacks}" * (one not in given)


def _lacking(wish: dict[str, float], nodes: Sequence[Any], held: Mapping[str, float]) -> str:
    """Return what of a wish nodes have too little of, and how much; empty where there is enough."""
    able = [one for one in nodes if all(one.total_resources[name] >= wish[name] for name in wish)]
    if not able:
        asked, most = _short(wish, [one.total_resources for one in nodes])
        return f"{asked}, no node has more than {most} (infeasible)"
    # What a node has free that could never take it is no answer.
    free = [one.available_resources for one in able]
    nearest = _nearest(wish, free)
    used = {n: sum(o.total_resources[n] - o.available_resources[n] for o in nodes) for n in wish}
    lacks = any(nearest[n] < wish[n] and used[n] < held.get(n, 0) + wish[n] for n in wish)
    return ", ".join(_short(wish, free)) + " free" if lacks else ""


def _short(wish: dict[str, float], nodes: list[Mapping[str, float]]) -> tuple[str, str]:
    """Return what is wished for and had: only what no node has enough of, where it is so."""
    scarce = [name for name in wish if all(node[name] < wish[name] for node in nodes)]
    wish = {name: wish[name] for name in scarce or wish}
    return _told(wish), _told(_nearest(wish, nodes))


def _nearest(wish: dict[str, float], nodes: list[Mapping[str, float]]) -> dict[str, float]:
    have = [{name: node[name] for name in wish} for node in nodes]
    return max(have, key=lambda one: min((one[name] / wish[name] for name in wish), default=0.0))


def _told(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{count:g} {name}" for name, count in sorted(resources.items()))
