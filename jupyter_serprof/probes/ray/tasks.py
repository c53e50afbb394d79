"""The road of Ray tasks, from Ray's own task events.

A task is known by its id, which the submission gave back: whatever else the cluster does meanwhile
is not shown. Tasks that such a task submits itself are. Workers report once a second, so the last
events are waited for after the run, outside its wall time. A task that still runs when the run ends
is shown as executing until then.
Source: Ray 2.60.0, ray/_private/state.py:GlobalState._get_all_task_events, before 2.58 only what it
calls, GlobalStateAccessor.get_task_events; what is in them `road` says. Times there are of day, ns;
on one host they convert exactly.
"""

import importlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.model.trace import SILENT
from jupyter_serprof.probes.ray import road
from jupyter_serprof.probes.ray.agents import Notes
from jupyter_serprof.probes.ray.alive import POLL_S, SILENCE_S, asked, own_state, pending_tasks
from jupyter_serprof.probes.ray.clocks import align, align_notes, pinged

#: For what Ray tells of tasks; and to tell it, for each of them.
_PATIENCE_S, _EACH_S = 2.5, 0.000_2
#: Ray reads its clock when the event is made, ours at the start: allow for the difference.
_SLACK_NS = 2_000_000
#: Of more tasks Ray's events are not read where agents noted all; but Dask names each by itself. Of
#: tasks that take no longer, ns, some hundreds are as many, if none waits for another one.
MANY_TASKS, _MANY_NAMES, _HUNDREDS, _SHORT_NS = 10_000, 100, 300, 1_000_000
_MANY = " (of many tasks Ray's events, a second late, are not read)"
#: They come late: where what only they tell is not this part of the time or so many ns, none waits.
_HARDLY, _LITTLE_NS = 20, 5_000_000
_SHORT = " (less than 5 ms or a twentieth of the time: Ray's events, a second late, are not read)"
HIDDEN = "the road of tasks (this Ray tells no task events, or it was shut down or died)"
#: The ids of tasks, None for one that is not known; and what agents noted until it is called.
Idents = Sequence[bytes | None]
Reader = Callable[[], Notes]


class Coverage(NamedTuple):
    """What is known of the tasks of a run.

    ``missing``: What is missing, in words; empty if nothing is.
    ``total``: How many tasks there were, with those that they submitted in turn.
    ``told``, ``noted``: How many of them Ray's events tell of, and how many the agents noted.
    ``idle``: How many had not begun when the run was stopped: there is nothing inside of them.
    ``troubles``: What kept the agents away, in words.
    ``nodes``: Where each lane of a worker is.
    """

    missing: str = ""
    total: int = 0
    told: int = 0
    noted: int = 0
    troubles: Sequence[str] = ()
    nodes: Mapping[str, str] = MappingProxyType({})
    idle: int = 0


class Left(NamedTuple):
    """What Ray told of tasks (None: nothing), and when it began to start each worker, and had."""

    tasks: list[Any] | None = None
    started: Mapping[bytes, tuple[int, int]] = MappingProxyType({})


def add_task_spans(
    run: Page,
    submitted: Idents,
    notes: Reader = Notes,
    sent: Mapping[bytes, int] = MappingProxyType({}),
    left: Left = Left(),  # noqa: B008  (it cannot change)
) -> Coverage:
    """Add the spans of the tasks that were submitted in this run; return how much was seen.

    ``run``: Gets drafts on lanes ``raylet`` and ``worker N``.
    ``submitted``: The ids of the tasks that the driver submitted, None for one that is not known:
        it is looked for by its time. The events of those that are over are waited for, 2.5 s at
        most and 0.2 ms for each, of a run that was interrupted not at all.
    ``notes``: Reads what the agents noted until then.
    ``sent``: When tasks were submitted, by their ids, ns of the recorder's clock.
    ``left``: What clusters told that the run has left.
    """
    is_many = len(submitted) > min(_HUNDREDS, MANY_TASKS)
    found = settled_notes(notes, run, len(submitted), _NOTES_S if is_many else _FIRST_S)
    is_noted = are_noted(found, submitted) and not _is_cold(run, found, len(submitted))
    is_short = left.tasks is None and _hardly_waited(run, found, submitted, sent)
    is_enough, pings = is_noted or is_short, set[bytes]()
    with suppress(Exception):  # private to Ray
        pings |= set() if is_enough or left.tasks else pinged(run, found)
    try:
        tasks, started = Left() if is_enough else told_tasks(run, [*submitted, *pings], left)
        why = _MANY if is_noted else _SHORT if is_short else HIDDEN if tasks is None else ""
    except Exception as error:  # noqa: BLE001  (private to Ray; what the driver saw must survive)
        tasks, started = None, {}
        why = f"the road of tasks ({type(error).__name__}: {error})"
    with suppress(Exception):  # private to Ray
        align(run, tasks or (), {*submitted, *pings})
    tasks = tasks and list(filter(lambda task: bytes(task.task_id) not in pings, tasks))
    known = {bytes(task.task_id) for task in tasks or ()}
    if not is_enough:
        again = max(0, sum(not road.death_of(attempt) for attempt in tasks or ()) - len(known))
        found = settled_notes(notes, run, len(known | set(filter(None, submitted))) + again)
    if align_notes(run, found, sent):  # they are told by that clock then
        found = settled_notes(notes, run, 0)
    idle = pending_tasks() if run.is_given_up and tasks else set[bytes]()
    idle &= {bytes(one.task_id) for one in tasks or () if idle and not _begun_ns(one)}
    reported = idle.union(each.ident for each in found.attempts)
    missing, count = _missing(tasks or (), submitted, reported)
    mine = known | set(filter(None, submitted))
    if tasks is None:  # nobody else says which tasks they submitted in turn
        mine |= {each.ident for each in found.attempts if each.begin >= run.start}
    count = max(count, len(mine), found.count * is_noted)
    roads = road.RoadMap(run, count, started, road.usual_ns(found), found.pulls)
    if not tasks and not found.attempts:
        return Coverage(why, len(mine), troubles=found.troubles)
    is_noted |= 10 * len(tasks or ()) < 9 * found.count and bool(found.windows)  # Ray lost some
    told = list(filter(road.death_of, tasks or ())) if is_noted else tasks
    _draw(roads, told, found, {ident: sent.get(ident) for ident in mine})
    for window in found.windows if is_noted else ():
        roads.add_window(window)
    if tasks is None:
        waited = "what tasks waited for before a worker had them"
        why = f"{waited}{why.removeprefix('the road of tasks')}"
    elif missing:
        why = f"the end of {missing} of {count} tasks that had not reported when the run was frozen"
    lanes = roads.workers
    roads.nodes |= {lanes[who]: node for who, node in found.nodes.items() if who in lanes}
    kept = mine.intersection(each.ident for each in found.attempts)  # of many a few
    noted = len(kept) if found.count == len(found.attempts) else min(found.count, roads.count)
    return Coverage(why, roads.count, len(known), noted, found.troubles, roads.nodes, len(idle))


def _draw(
    roads: road.RoadMap, tasks: Sequence[Any] | None, found: Notes, sent: Mapping[bytes, int | None]
) -> None:
    by_attempt = {(each.ident, each.attempt): each for each in found.attempts}
    begun = lambda task: _begun_ns(task) or road.submitted_ns(task) or 0  # noqa: E731
    for task in sorted(tasks or (), key=begun):
        roads.add_event(task, by_attempt.pop((bytes(task.task_id), task.attempt_number), None))
    for each in sorted(by_attempt.values(), key=lambda one: one.begin):
        if each.ident in sent:
            roads.add_noted(each, sent[each.ident])


def are_noted(found: Notes, submitted: Idents) -> bool:
    """Tell whether agents noted all of so many tasks that Ray's events are not read."""
    ran = (known[1] for (_, stage), known in found.totals.items() if stage == "ray.execute")
    is_short = sum(ran) < _SHORT_NS * found.count and not found.is_chained
    most = min(_HUNDREDS, MANY_TASKS) if is_short else MANY_TASKS
    return found.count >= len(submitted) > most and len(found.counts) <= _MANY_NAMES


def _is_cold(run: Page, found: Notes, count: int) -> bool:
    """Tell whether hundreds of tasks waited for a worker to start, which Ray tells of each."""
    ready = _started(run) if count <= MANY_TASKS else {}
    return any(ready[worker][1] > run.start for worker in found.nodes.keys() & ready.keys())


def _hardly_waited(run: Page, found: Notes, submitted: Idents, sent: Mapping[bytes, int]) -> bool:
    noted = {each.ident: each for each in found.attempts}
    is_each = len(submitted) == len(noted) == found.count and noted.keys() == set(submitted)
    if not (is_each and not found.away and noted.keys() <= sent.keys()):
        return False
    before_ns = sum((one.loading or one.begin) - sent[ident] for ident, one in noted.items())
    after_ns = run.end - max(one.end for one in noted.values())
    return before_ns + after_ns < max(_LITTLE_NS, (run.end - run.start) / _HARDLY)


def told_tasks(run: Page, submitted: Idents, left: Left) -> Left:
    """Return what Ray tells now of tasks that were submitted, with what was told before."""
    known = {bytes(task.task_id) for task in left.tasks or ()}
    rest = [ident for ident in submitted if ident not in known]
    read = _reader() if rest or not known else None
    if read is None:
        return left
    tasks = [*(left.tasks or ()), *_wait_for_tasks(read, run, rest)]
    return Left(tasks, {**left.started, **(_started(run) if tasks else {})})


#: Agents send what is new within some ms, of many tasks four times a second.
_NOTES_S, _FIRST_S = 0.6, 0.15


def settled_notes(notes: Reader, run: Page, wanted: int, late_s: float | None = None) -> Notes:
    """Read what the agents noted; who was late is waited for a moment."""
    start = time.monotonic()
    while True:
        try:
            found = asked(notes, time.monotonic() + SILENCE_S)
        except Exception as error:  # noqa: BLE001  (private to Ray, as above)
            return Notes(troubles=[f"their notes ({type(error).__name__})"])
        patience_s = (late_s or _NOTES_S) if found.count else _FIRST_S * found.is_awaited
        is_late = found.count < wanted and not run.is_interrupted
        if not is_late or time.monotonic() - start >= patience_s:
            return found
        time.sleep(POLL_S)


def _begun_ns(task: Any) -> int:  # noqa: ANN401
    return int(task.state_updates.state_ts_ns.get(road.names().TaskStatus.RUNNING, 0))


def _started(run: Page) -> dict[bytes, tuple[int, int]]:
    """Return when each worker was started and when it was there, on the clock of the run, ns."""
    row = importlib.import_module("ray.core.generated.gcs_pb2").WorkerTableData
    try:
        accessor, until = _accessor(own_state()), time.monotonic() + SILENCE_S
        known = map(row.FromString, asked(accessor.get_worker_table, until))
        return {
            bytes(each.worker_address.worker_id): (
                each.worker_launch_time_ms * 1_000_000 - run.wall_offset,
                each.worker_launched_time_ms * 1_000_000 - run.wall_offset,
            )
            for each in known
            if each.pid and each.worker_launched_time_ms < 1 << 60
        }
    except Exception:  # noqa: BLE001  (private to Ray: the start is in the lease then)
        return {}


def _reader() -> Callable[[], list[Any]] | None:
    if (state := own_state()) is None:
        return None
    if hasattr(state, "_get_all_task_events"):
        return cast("Callable[[], list[Any]]", state._get_all_task_events)  # noqa: SLF001  (Ray's)
    parse = importlib.import_module("ray.core.generated.gcs_pb2").TaskEvents.FromString
    return lambda: [parse(event) for event in _accessor(state).get_task_events()]


def _accessor(state: Any) -> Any:  # noqa: ANN401  (Ray has no types here)
    """Return what the state reads through, connected; its name changed after 2.50."""
    if hasattr(state, "_connect_and_get_accessor"):
        return state._connect_and_get_accessor()  # noqa: SLF001  (Ray's)
    state._check_connected()  # noqa: SLF001  (Ray's)
    return state.global_state_accessor


def _wait_for_tasks(read: Callable[[], list[Any]], run: Page, submitted: Idents) -> list[Any]:
    tasks: list[Any] = []
    until = news_until = time.monotonic() + _PATIENCE_S
    missing = 0
    try:
        pending = asked(pending_tasks, until)
        while True:
            start = time.monotonic()
            tasks = _ours(asked(read, until + _EACH_S * len(submitted)), run, submitted)
            runs = {bytes(task.task_id) for task in tasks if not road.is_over(task)}
            running = pending | runs.difference(submitted)
            before, (missing, _) = missing, _missing(tasks, submitted, running)
            missing += sum(map(road.is_half_told, tasks))
            now = time.monotonic()
            news_until = news_until if missing == before else now + _PATIENCE_S / 2
            if not missing or run.is_interrupted or now > min(until, news_until):
                break
            time.sleep(max(POLL_S, now - start))  # of many it takes as long as they take to report
    except InterruptedError:
        run.notes.append("ray: stopped waiting for the reports of workers")
    except TimeoutError:
        if not tasks:  # else it is told how many are missing
            run.notes.append(f"Ray's GCS {SILENT}: what workers reported of tasks is missing")
    return tasks


def _missing(
    tasks: Sequence[Any], submitted: Idents, running: Iterable[bytes] = ()
) -> tuple[int, int]:
    seen = {bytes(task.task_id) for task in tasks}
    known = seen | set(filter(None, submitted))
    late = known - seen | {bytes(task.task_id) for task in tasks if not road.is_complete(task)}
    count = max(len(submitted), len(known))
    return len(late.difference(running)) + count - len(known), count


#: How the id of the task that makes an actor begins, and, after 8 bytes, that of one of no actor.
_MAKING, _NO_ACTOR = b"\xff" * 8, b"\xff" * 12


def _ours(tasks: Sequence[Any], run: Page, submitted: Idents) -> list[Any]:
    """Return the tasks that were submitted in this run, and those that they submitted in turn."""
    ids = {ident for ident in submitted if ident}
    if None in submitted:
        ids |= {bytes(task.task_id) for task in tasks if _is_within(task, run)}
    parents = [(bytes(task.task_id), bytes(task.task_info.parent_task_id), task) for task in tasks]
    found = set(ids)
    while found:
        # What coroutines and threads of an actor submit has the making of the actor as its parent.
        made = {_MAKING + task[8:] for task in found if not task[8:].startswith(_NO_ACTOR)}
        found = {
            ident
            for ident, parent, task in parents
            if parent in found or (parent in made and _is_within(task, run))
        } - ids
        ids |= found
    return [task for task in tasks if bytes(task.task_id) in ids]


def _is_within(task: Any, run: Page) -> bool:  # noqa: ANN401
    if task.task_info.type == road.names().TaskType.DRIVER_TASK:
        return False
    submitted = road.submitted_ns(task)
    low, high = run.start + run.wall_offset - _SLACK_NS, run.end + run.wall_offset + _SLACK_NS
    return submitted is not None and low <= submitted <= high
