"""Task events in any order: whose tasks are shown, how long they are waited for, their ends."""

import importlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import ray

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.probes.ray import clocks
from jupyter_serprof.probes.ray import tasks as ray_tasks
from jupyter_serprof.probes.ray.agent.copies import task_id
from jupyter_serprof.probes.ray.agents import Attempt, Notes
from jupyter_serprof.probes.ray.tasks import add_task_spans

pytestmark = [pytest.mark.ray]

_MS = 1_000_000
#: The run lasts from 100 to 200 ms of the day that these tests live in.
_START, _END = 100 * _MS, 200 * _MS
_MAIN = b"main"


def _task(
    ident: bytes, *, parent: bytes = _MAIN, is_over: bool = True, died: str = "", **known_ms: Any
) -> Any:
    """Return the events of an attempt: states and steps with their times, ms."""
    names, events = (
        importlib.import_module(f"ray.core.generated.{name}") for name in ("common_pb2", "gcs_pb2")
    )
    event: Any = events.TaskEvents(task_id=ident)
    if died:
        event.state_updates.error_info.error_type = names.ErrorType.Value(died)
        event.state_updates.worker_id = str(known_ms["SUBMITTED_TO_WORKER"]).encode()
    event.task_info.parent_task_id = parent
    event.task_info.func_or_class_name = ident.decode()
    event.profile_events.component_id = b"" if died else b"worker"
    for name, at in known_ms.items():
        if name.isupper():
            status = names.TaskStatus.Value(name)
            event.state_updates.state_ts_ns[status] = round(at * _MS)
        else:
            step = event.profile_events.events.add(event_name=f"task:{name}")
            step.start_time, step.end_time = (round(ms * _MS) for ms in at)
    if is_over and event.profile_events.events:
        event.profile_events.events.add(event_name=f"task::{ident.decode()}")
    return event


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What Ray tells at each look; the last is told again and again."""
    told: list[list[Any]] = []
    left = iter(told)

    def read() -> list[Any]:
        return next(left, told[-1])

    monkeypatch.setattr(ray_tasks, "_reader", lambda: read)
    monkeypatch.setattr(ray_tasks, "asked", lambda ask, _: ask())
    monkeypatch.setattr(ray_tasks, "pending_tasks", lambda: {b"pending"})
    monkeypatch.setattr(ray_tasks, "POLL_S", 0)
    return told


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1_000))
    clock = SimpleNamespace(monotonic=lambda: next(now), sleep=lambda _: None)
    monkeypatch.setattr(ray_tasks, "time", clock)


def _added(*given: Any, **facts: Any) -> tuple[str, Page]:
    """Return what is missing of tasks that were submitted in a run, and the run."""
    run = Page(start=_START, end=_END, wall_offset=0, drafts=[], lanes={}, **facts)
    return add_task_spans(run, *given).missing, run


def _executed(run: Page) -> dict[str, tuple[float, float]]:
    drafts: Iterator[Draft] = (draft for draft in run.drafts if draft.stage == "ray.execute")
    return {draft.name: (draft.start / _MS, draft.end / _MS) for draft in drafts}


Known = dict[str, Any]
TWICE: list[tuple[str, Known]] = [
    ("twice", {"PENDING_ARGS_AVAIL": 110, "execute": at}) for at in ((111, 112), (120, 121))
]
DEEPEST: tuple[str, Known] = (
    *("deepest", {"parent": b"inner", "PENDING_ARGS_AVAIL": 122, "execute": (123, 124)}),
)
INNER: list[tuple[str, Known]] = [
    (name, {"parent": b"outer", "PENDING_ARGS_AVAIL": 120, "execute": (121, 130)})
    for name in ("inner", "another")
]
BEGUN: Known = {"PENDING_ARGS_AVAIL": 110, "RUNNING": 111}
#: What Ray tells at each look, which tasks are known to be ours, and when those shown executed.
LOOKS: dict[str, tuple[list[list[tuple[str, Known]]], list[bytes | None], dict[str, Any]]] = {
    "not what was submitted just before, nor of another program": (
        [
            [
                ("before", {"PENDING_ARGS_AVAIL": 99.9, "execute": (100.5, 101)}),
                ("ours", {"PENDING_ARGS_AVAIL": 110, "execute": (111, 112)}),
                ("theirs", {"parent": b"x", "PENDING_ARGS_AVAIL": 120, "execute": (121, 122)}),
            ]
        ],
        [b"ours"],
        {"ours": (111, 112)},
    ),
    "a step of the clock of the day takes no task away": (
        [[("ours", {"PENDING_ARGS_AVAIL": 90, "execute": (150, 160)})]],
        [b"ours"],
        {"ours": (150, 160)},
    ),
    "workers of nested tasks report first: the outer one is waited for": (
        [
            [DEEPEST, *INNER, ("outer", BEGUN)],
            [DEEPEST, *INNER, ("outer", {**BEGUN, "execute": (112, 140), "FINISHED": 141})],
        ],
        [b"outer"],
        {"deepest": (123, 124), "inner": (121, 130), "another": (121, 130), "outer": (112, 140)},
    ),
    "two attempts do not stand for a task that has not reported": (
        [TWICE, [*TWICE, ("slow", {"PENDING_ARGS_AVAIL": 130, "execute": (131, 190)})]],
        [b"twice", b"slow"],
        {"twice": (120, 121), "slow": (131, 190)},
    ),
    "a task without a reference is found by its time": (
        [
            [
                ("before", {"PENDING_ARGS_AVAIL": 90, "execute": (91, 92)}),
                ("nothing", {"PENDING_ARGS_AVAIL": 110, "execute": (111, 112)}),
            ]
        ],
        [None],
        {"nothing": (111, 112)},
    ),
}


@pytest.mark.parametrize(("looks", "ours", "executed"), LOOKS.values(), ids=LOOKS)
def test_of_all_tasks_those_of_the_run_are_shown(
    reads: list[list[Any]],
    looks: list[list[tuple[str, Known]]],
    ours: list[bytes | None],
    executed: dict[str, Any],
) -> None:
    reads += [[_task(name.encode(), **known) for name, known in look] for look in looks]

    note, run = _added(ours)

    assert note == ""
    assert _executed(run) == executed


class _State:
    """The state of a Ray: made anew, and what it is called where events are read."""

    gcs_options, made = "options", 0
    event: Any = None

    def __init__(self) -> None:
        type(self).made += 1

    def _initialize_global_state(self, _: str) -> None:
        self.accessor = SimpleNamespace(get_task_events=lambda: [self.event.SerializeToString()])


STATES: dict[str, dict[str, Any]] = {
    "2.40": {"_check_connected": lambda me: setattr(me, "global_state_accessor", me.accessor)},
    "2.57": {"_connect_and_get_accessor": lambda me: me.accessor},
    "2.58": {"_get_all_task_events": lambda me: [me.event]},
}


@pytest.mark.parametrize("version", STATES)
def test_events_are_read_by_this_rays_name(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 2.58 the accessor tells them as bytes; the accessor itself is made at first use."""
    event = _task(b"ours", PENDING_ARGS_AVAIL=110, execute=(111, 112))
    state = type("State", (_State,), {**STATES[version], "event": event})()
    monkeypatch.setattr(ray_tasks, "pending_tasks", set)
    monkeypatch.setitem(sys.modules, "ray._private.state", SimpleNamespace(state=state))

    note, run = _added([b"ours"])

    assert note == ""
    assert _executed(run) == {"ours": (111, 112)}
    assert type(state).made > 1  # whoever waits in Ray's own one holds a lock of it


@pytest.mark.usefixtures("_impatient")
def test_a_task_that_does_not_report_is_counted_and_ends_as_it_did(reads: list[list[Any]]) -> None:
    """Its owner knows when it finished; what nobody knows the end of ran on to the end."""
    known: dict[str, Any] = {"PENDING_ARGS_AVAIL": 110, "RUNNING": 120}
    reads.append(
        [
            _task(b"finished", **known, FINISHED=150),
            _task(b"failed", **known, FAILED=160),
            _task(b"running", **known),
            _task(b"reported", **known, execute=(121, 125), FINISHED=126),
        ]
    )

    note, run = _added([b"finished", b"failed", b"running", b"reported", b"unheard"])

    assert note.startswith("the end of 4 of 5 tasks")
    assert _executed(run) == {
        "finished": (120, 150),
        "failed": (120, 160),
        "running": (120, 200),
        "reported": (121, 125),
    }


@pytest.mark.usefixtures("_impatient")
def test_a_task_whose_steps_are_lost_ran_as_long_as_its_like(reads: list[list[Any]]) -> None:
    """Its owner may know its end much later: of many calls a second Ray loses steps."""
    reads.append([_task(name, RUNNING=120, FINISHED=190) for name in (b"call", b"other", b"short")])
    totals = {
        (name, stage): [4, round(4 * ms * _MS), 0, 0]
        for name, stage, ms in (
            ("module.call", "ray.execute", 3),
            ("module.call", "ray.outputs", 9),
            ("module.short", "ray.execute", 90),
        )
    }

    _, run = _added([b"call", b"other", b"short"], lambda: Notes(totals=totals))

    assert _executed(run) == {"call": (120, 123), "other": (120, 190), "short": (120, 190)}
    replies = {draft.name: draft.start / _MS for draft in run.drafts if draft.stage == "ray.reply"}
    assert replies == {"call": 123}


@pytest.mark.parametrize("ahead", [0, 7, -7])
def test_the_clock_of_another_machine_lies_between_what_its_tasks_bound(
    reads: list[list[Any]], monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """It is found within its own error, and nothing begins before it was sent; agents follow it."""
    monkeypatch.setattr(clocks, "nodes_here", lambda: {b"here"})
    reads.append([])
    for at in range(20):
        begin = 110 + at + ahead + 0.1 + at % 7 / 10
        states: dict[str, Any] = {
            "SUBMITTED_TO_WORKER": 110 + at,
            "RUNNING": begin,
            "FINISHED": 111.5 + at,
        }
        reads[0].append(_task(b"%d" % at, **states, execute=(begin, begin + 0.2)))
        reads[0][at].state_updates.node_id = b"far"

    _, run = _added([bytes(task.task_id) for task in reads[0]])

    lane = run.lanes["worker 1"]
    assert abs(lane.clock_offset_ns - ahead * _MS) <= lane.clock_error_ns < _MS
    assert run.clocks == {b"worker": (lane.clock_offset_ns, lane.clock_error_ns)}
    for name, (begin, end) in _executed(run).items():
        assert 110 + int(name) <= begin < end <= 111.5 + int(name)


@pytest.mark.usefixtures("_impatient")
def test_a_look_that_takes_too_long_takes_nothing_away(
    reads: list[list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the look before it saw is told, and how many are missing; no more than that."""
    reads.append([_task(b"seen", RUNNING=120, execute=(121, 125))])
    looks = iter([Notes(), set(), reads[0]])

    def ask(_: object, until: float) -> Any:
        if (told := next(looks, None)) is None:
            raise TimeoutError(until)
        return told

    monkeypatch.setattr(ray_tasks, "asked", ask)

    note, run = _added([b"seen", b"unheard"])

    assert note.startswith("the end of 1 of 2 tasks")
    assert _executed(run) == {"seen": (121, 125)}
    assert run.notes == []


def test_a_report_in_the_middle_of_a_task_is_not_its_last(reads: list[list[Any]]) -> None:
    """A worker that reports between two steps reports the others a second later."""
    known: dict[str, Any] = {"PENDING_ARGS_AVAIL": 110, "deserialize_arguments": (111, 112)}
    reads.append([_task(b"task", **known, is_over=False)])
    known["execute"] = (112, 120)
    reads.append([_task(b"task", **known, is_over=False)])
    known["store_outputs"] = (120, 123)
    reads.append([_task(b"task", **known)])

    note, run = _added([b"task"])

    assert note == ""
    assert {draft.stage: draft.end / _MS for draft in run.drafts} == {
        "ray.schedule": 111,
        "ray.arguments": 112,
        "ray.execute": 120,
        "ray.outputs": 123,
    }


@pytest.mark.parametrize(
    ("begin", "little_ms", "is_read"),
    [(101, 0, False), (105, 0, True), (105, 7, False), (-101, 7, True)],
    ids=["a part", "more", "some ms", "far away"],
)
def test_ray_is_asked_where_it_knows_more_than_a_twentieth_of_the_time_and_than_some_ms(
    reads: list[list[Any]],
    monkeypatch: pytest.MonkeyPatch,
    begin: int,
    little_ms: int,
    is_read: bool,
) -> None:
    """What agents noted comes at once, Ray's events a second later; other clocks need them."""
    monkeypatch.setattr(ray_tasks, "_HARDLY", 20)
    monkeypatch.setattr(ray_tasks, "_LITTLE_NS", little_ms * _MS)
    away, begin = {"far"} if begin < 0 else set[str](), abs(begin)
    reads.append([_task(b"task", RUNNING=begin, execute=(begin, 199), FINISHED=199.5)])
    at, over = begin * _MS, 199 * _MS
    attempt = Attempt(b"task", "task", 0, b"w", None, at, at, over, over, ())
    notes = Notes([attempt], counts={"task": 1}, away=away)

    said, run = _added([b"task"], lambda: notes, {b"task": _START})

    assert said.startswith("what tasks waited for") != is_read
    assert _executed(run) == {"task": (begin, 199)}


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    ("known", "is_read"),
    [((0.9, False, 90), False), ((1.1, False, 90), True), ((0.9, True, 90), True),
     ((0.9, False, 101), True)],
    ids=["short", "longer", "each takes another's", "cold"],
)  # fmt: skip
def test_of_hundreds_of_short_tasks_that_agents_noted_ray_is_not_asked(
    reads: list[list[Any]], monkeypatch: pytest.MonkeyPatch, known: Any, is_read: bool
) -> None:
    """How long each waited for the others says nothing that their number does not."""
    each_ms, is_chained, started_ms = known
    monkeypatch.setattr(ray_tasks, "_started", lambda _: {b"w": (0, started_ms * _MS)})
    reads.append([_task(b"task", RUNNING=150, execute=(150, 151), FINISHED=152)])
    attempt = Attempt(b"task", "f", 0, b"w", None, _START, _START, _END, _END, ())
    totals = {("f", "ray.execute"): [301, round(301 * each_ms * _MS), 0, 0]}
    notes = Notes([attempt], counts={"f": 301}, totals=totals, nodes={b"w": "here"})
    notes.is_chained = is_chained

    said, _ = _added([b"task"] * 301, lambda: notes)

    assert said.startswith("what tasks waited for") != is_read


def test_submissions_that_were_not_written_down_count_where_agents_noted_their_tasks(
    reads: list[list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording of more calls than it keeps: the tasks are those that ran."""
    monkeypatch.setattr(ray_tasks, "MANY_TASKS", 1)
    reads.append([])
    attempt = Attempt(b"task", "f", 0, b"w", None, _START, _START, _END, _END, ())
    run = Page(start=_START, end=_END, wall_offset=0, drafts=[], lanes={})

    seen = add_task_spans(run, [b"task"] * 2, lambda: Notes([attempt], counts={"f": 5}))

    assert (seen.noted, seen.total) == (5, 5)


def test_what_still_runs_is_not_waited_for(reads: list[list[Any]]) -> None:
    """A cell that only submits: this process knows what is not over, nested tasks say so."""
    over = _task(b"over", PENDING_ARGS_AVAIL=110, execute=(111, 112))
    nested = _task(b"nested", parent=b"over", PENDING_ARGS_AVAIL=119, RUNNING=120)
    later = _task(b"pending", PENDING_ARGS_AVAIL=115, RUNNING=120)
    reads += [[over, nested], [over, nested, later]]

    note, run = _added([b"over", b"pending"])

    assert note.startswith("the end of 2 of 3 tasks")
    assert _executed(run) == {"over": (111, 112), "nested": (120, 200)}


@pytest.mark.parametrize("word", ["WORKER_DIED", "OUT_OF_MEMORY"])
def test_a_task_whose_workers_died_was_with_them(reads: list[list[Any]], word: str) -> None:
    """They report nothing: it executed from when it was sent until its owner missed them."""
    known: dict[str, Any] = {"died": word, "PENDING_ARGS_AVAIL": 110}
    tries = [
        _task(b"task", **known, SUBMITTED_TO_WORKER=sent, FAILED=sent + 4) for sent in (120, 130)
    ]
    reads += [[*tries, _task(b"task", PENDING_ARGS_AVAIL=140)]]
    reads += [[*tries, _task(b"task", PENDING_ARGS_AVAIL=140, execute=(141, 150), FAILED=151)]]

    note, run = _added([b"task"])

    executed = [draft for draft in run.drafts if draft.stage == "ray.execute"]
    assert note == ""
    assert [(each.start / _MS, each.end / _MS, each.details) for each in executed] == [
        (120, 124, {"died": word}),
        (130, 134, {"died": word}),
        (141, 150, {}),
    ]
    assert len({each.lane for each in executed}) == 3


def test_who_pressed_ctrl_c_waits_for_no_report(reads: list[list[Any]]) -> None:
    known: dict[str, Any] = {"PENDING_ARGS_AVAIL": 110, "execute": (111, 112)}
    reads += [[_task(b"early", **known)], [_task(name, **known) for name in (b"early", b"late")]]

    note, run = _added([b"early", b"late"], is_interrupted=True)

    assert set(_executed(run)) == {"early"}
    assert note == "the end of 1 of 2 tasks that had not reported when the run was frozen"


@pytest.mark.usefixtures("cluster")
def test_what_a_submission_gives_back_tells_the_id_of_its_task() -> None:
    """References, lists of them, generators and actors; a task of no results tells nothing."""

    @ray.remote(num_cpus=0)
    def ident() -> bytes:
        return bytes(ray.get_runtime_context().task_id.binary())

    @ray.remote(num_cpus=0, num_returns=2)
    def twice() -> list[bytes]:
        return [bytes(ray.get_runtime_context().task_id.binary())] * 2

    @ray.remote(num_cpus=0)
    def one_by_one() -> Iterator[bytes]:
        yield bytes(ray.get_runtime_context().task_id.binary())

    @ray.remote(num_cpus=0)
    class Actor:
        def __init__(self) -> None:
            self.made = bytes(ray.get_runtime_context().task_id.binary())

        def both(self) -> tuple[bytes, bytes]:
            return self.made, bytes(ray.get_runtime_context().task_id.binary())

    one = ident.remote()
    two = twice.remote()
    many: Any = one_by_one.remote()
    actor = Actor.remote()  # type: ignore[attr-defined]  # ray.remote gives it
    method = actor.both.remote()

    made, called = ray.get(method)
    ray.kill(actor)
    assert task_id(one) == ray.get(one)
    assert [task_id(two)] * 2 == ray.get(two)
    assert task_id(many) == ray.get(next(many))
    assert (task_id(actor), task_id(method)) == (made, called)
    assert [task_id(nothing) for nothing in (None, list[object](), 5)] == [None, None, None]
