"""The agent in Ray's workers: it comes with what is submitted, tells what is inside, and leaves."""

import marshal
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from operator import not_
from typing import Any, cast
from uuid import uuid4

import numpy as np
import pytest
import ray

from clusters.seen import attempts, column, probe, recorded, remote, row, self_ns, spans, until
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Span, Trace
from jupyter_serprof.probes.ray import agents as ray_agents
from jupyter_serprof.probes.ray import tasks as ray_tasks
from jupyter_serprof.probes.ray.agent.contact import SPACE
from jupyter_serprof.probes.ray.agents import shipped_agent

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


def _slow() -> Callable[[str, float], Any]:
    """Return what makes a value that is slow to pickle or unpickle; in here it goes by value."""

    def make(method: str, seconds: float) -> Any:
        def wait(*_: object) -> Any:
            import time

            time.sleep(seconds)
            return {"a": 1}

        methods = {"__getstate__": lambda _: {"a": 1}, "__setstate__": lambda *_: None}
        return type("Slow", (), methods | {method: wait})()

    return make


def _look() -> Callable[..., list[str]]:
    """Return what tells what is left of the agent; made in here it travels by value."""

    def look(*_: object) -> list[str]:
        import sys
        import threading
        from importlib import import_module

        import ray

        worker: Any = import_module("ray._private.worker")
        places: list[Any] = [
            *(worker._changeproctitle, worker.Worker.put_object, worker.Worker.get_objects),
            *(worker.Worker.record_task_log_start, worker.Worker.deserialize_objects),
            *(ray.cloudpickle.dumps, ray.wait),
            import_module("importlib._bootstrap")._find_and_load,
            *(ray.remote_function.RemoteFunction._remote, ray.actor.ActorMethod._remote),
        ]
        names = [f"{type(place).__module__} {getattr(place, '__code__', '')}" for place in places]
        return [
            *(name for name in list(sys.modules) if "serprof" in name),
            *(thread.name for thread in threading.enumerate() if "serprof" in thread.name),
            *(name for name in names if "serprof" in name),
        ]

    return look


def _road(trace: Trace, name: str) -> list[Span]:
    """Return the steps of a task from its first state to the last one, in order."""
    steps = ("schedule", "load", "arguments", "execute", "outputs", "reply")
    wanted = [f"ray.{step}" for step in steps]
    road = [span for span in trace.spans if span.name == name and span.stage in wanted]
    return sorted(road, key=lambda span: (span.start_ns, span.end_ns))


def _inside(trace: Trace, stage: str) -> int:
    return sum(span.duration_ns for span in spans(trace, stage))


def test_the_stages_of_a_task_follow_each_other_to_the_nanosecond() -> None:
    """From the first state to the last one; the parts of the schedule are all of it."""

    @remote
    def work(value: Any) -> Any:
        return value

    for trace in attempts(lambda: ray.get(work.remote(np.arange(10))), count=3):
        road = _road(trace, "work")
        (schedule,) = spans(trace, "ray.schedule")
        at = trace.spans.index(schedule)
        parts = [span for span in trace.spans if span.parent == at]

        assert [span.stage for span in road if span.stage != "ray.load"] == [
            *("ray.schedule", "ray.arguments", "ray.execute", "ray.outputs", "ray.reply")
        ]
        assert all(before.end_ns == after.start_ns for before, after in pairwise(road))
        assert sum(part.duration_ns for part in parts) == schedule.duration_ns
        assert {"ray.lease", "ray.push"} <= {part.stage for part in parts}
        assert probe(trace).level == "pickle, agent + events: 1 of 1 task seen"
        assert probe(trace).unseen == ()


@pytest.mark.parametrize("is_async", [False, True])
def test_what_an_actor_calls_is_seen_and_what_brings_the_agent_is_no_task(is_async: bool) -> None:
    """From threads and coroutines of actors that live already; ours is not waited for or drawn."""

    class Consumer:
        def ask(self, other: Any) -> Any:
            return ray.get([other.done.remote() for _ in range(3)])

        async def ask_async(self, other: Any) -> Any:
            return [await other.done.remote() for _ in range(3)]

        def done(self) -> int:
            return 1

    methods = {"ask": Consumer.ask_async if is_async else Consumer.ask, "done": Consumer.done}
    made: Any = remote(type("Consumer", (), methods), num_cpus=0, max_concurrency=2)
    actor, other = made.remote(), made.remote()
    ray.get([other.done.remote(), actor.ask.remote(other)])

    found, trace = recorded(lambda: ray.get(actor.ask.remote(other)))

    assert found == [1, 1, 1]
    assert probe(trace).level == "pickle, agent + events: 4 of 4 tasks seen"
    assert not [span for span in trace.spans if "__ray_call__" in span.name]


def test_the_agent_is_nothing_that_the_user_serialized() -> None:
    """Where it is brought to a cluster: `%serprof value` asks this, and would take it for code."""
    recordings = [Recording("nothing", detail=False) for _ in range(3)]
    for recording in recordings:
        with recording:
            pass

    # A client of Dask that is open in this process sends heartbeats, which are serialized.
    assert not all(recording.has_spans for recording in recordings)


def test_what_is_slow_inside_of_a_task_is_told_apart() -> None:
    """Its argument, its body, a nested put and get, its result: each has what it took."""

    @remote
    def produce() -> None:
        time.sleep(0.25)

    @remote
    def work(_: Any, make: Callable[..., Any]) -> Any:
        reference = produce.remote()
        ray.put(make("__getstate__", 0.04))
        ray.get(reference)
        time.sleep(0.15)
        return make("__getstate__", 0.12)

    make = _slow()
    argument = make("__setstate__", 0.08)
    injected = {
        "ray.arguments.unpickle": 80e6,
        "ray.task.pickle": 40e6,
        "ray.outputs.pickle": 120e6,
    }

    _, trace = recorded(lambda: ray.get(work.remote(argument, make)))

    for stage, least_ns in injected.items():
        assert 0.99 * least_ns <= _inside(trace, stage) < least_ns + 150e6  # a function, too
    for stage in ("ray.arguments.unpickle", "ray.outputs.pickle"):  # not called Execute
        assert self_ns(trace, stage) > 0.5 * injected[stage]
    (execute,) = [span for span in spans(trace, "ray.execute") if span.name == "work"]
    at = trace.spans.index(execute)
    nested = {span.stage for span in trace.spans if span.parent == at}
    assert {"ray.task.put", "ray.task.get", "ray.task.submit"} <= nested
    (got,) = spans(trace, "ray.task.get")
    (submitted,) = spans(trace, "ray.task.submit")
    assert got.end_ns - submitted.start_ns >= 0.99 * 250e6
    assert row(trace, "ray.task.put").count
    assert probe(trace).level == "pickle, agent + events: 2 of 2 tasks seen"


def test_an_argument_a_full_cluster_and_a_queue_are_told_apart() -> None:
    """Waiting for the producer of an argument, for a worker and for an actor are not one thing."""

    @remote
    def sleep(seconds: float, *_: Any) -> float:
        time.sleep(seconds)
        return seconds

    @remote
    class Actor:
        def sleep(self, seconds: float) -> float:
            time.sleep(seconds)
            return seconds

    def run() -> None:
        actor = cast("Any", Actor).remote()
        ray.get(sleep.remote(0, sleep.remote(0.3)))
        ray.get([sleep.remote(0.35) for _ in range(3)])
        ray.get([actor.sleep.remote(0.1) for _ in range(3)])

    ray.get([sleep.remote(0.1) for _ in range(2)])
    _, trace = recorded(run)

    assert max(s.duration_ns for s in spans(trace, "ray.deps")) >= 0.99 * 300e6
    assert max(s.duration_ns for s in spans(trace, "ray.lease")) >= 0.9 * 350e6
    queued = sorted(span.duration_ns for span in spans(trace, "ray.actor.queue"))
    assert queued[-1] >= 0.9 * 200e6
    assert 0.9 * 100e6 <= queued[-2] <= queued[-1]


def test_attempts_of_a_task_are_told_apart(tmp_path: Any) -> None:
    """One that failed and was tried again: each attempt has what was seen in it."""

    @remote
    def once(folder: Any, make: Any) -> int:
        ray.put(make)
        if not (folder / "tried").exists():
            (folder / "tried").touch()
            raise ValueError
        return 5

    again = once.options(max_retries=1, retry_exceptions=True)

    value, trace = recorded(lambda: ray.get(again.remote(tmp_path, 1)))

    bodies = spans(trace, "ray.execute", "once")
    assert value == 5
    assert len(bodies) == len(spans(trace, "ray.task.put")) == 2
    assert row(trace, "ray.retry").count
    for body in bodies:
        inside = [span for span in spans(trace, "ray.task.put") if span.parent >= 0]
        assert any(body.start_ns <= put.start_ns <= put.end_ns <= body.end_ns for put in inside)


@pytest.mark.parametrize("kind", ["task", "actor", "threads", "asyncio"])
def test_the_agent_leaves_workers_as_they_were(kind: str) -> None:
    """Functions and actors from before the recording are met too; afterwards nothing is there."""
    look = _look()

    @remote
    def task() -> list[str]:
        return look()

    class Actor:
        def ask(self) -> list[str]:
            return look()

    class Awaited:
        async def ask(self) -> list[str]:
            return look()

    options = {"max_concurrency": 2} if kind == "threads" else {}
    made = remote(Awaited if kind == "asyncio" else Actor, **options or {"num_cpus": 0})
    call = task.remote if kind == "task" else cast("Any", made).remote().ask.remote
    before, keys = until(not_, lambda: ray.get(call())), _keys_of_recordings()

    during, trace = recorded(lambda: ray.get([call() for _ in range(4)]))

    assert before == []
    assert all(during)
    assert probe(trace).level.endswith("agent + events: 4 of 4 tasks seen")
    assert until(not_, lambda: [*chain(*ray.get([call() for _ in range(4)]))]) == []
    assert _keys_of_recordings() <= keys


def test_an_agent_leaves_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its program lives on and still records."""
    monkeypatch.setattr(ray_agents, "_LONGEST_NS", 4_000_000_000)
    made: Any = remote(type("Actor", (), {"ask": staticmethod(_look())}), num_cpus=0)
    actor: Any = made.remote()
    ask: Callable[[], Any] = lambda: ray.get(actor.ask.remote())  # noqa: E731
    before = until(not_, ask)

    (during, after), _ = recorded(lambda: (ask(), until(not_, ask)))

    assert (before, bool(during), after) == ([], True, [])


def _keys_of_recordings() -> set[bytes]:
    gcs = cast("Any", ray)._private.worker.global_worker.gcs_client
    return {key for key in gcs.internal_kv_keys(b"RemoteFunction:", SPACE) if b":serprof:" in key}


def test_a_function_keeps_its_id_and_its_state() -> None:
    """What workers know of a function from before is what the recording calls."""
    calls: list[int] = []

    @remote
    def count() -> int:
        calls.append(1)
        return len(calls)

    before = [ray.get(count.remote()) for _ in range(3)]
    known = count._function_descriptor

    during, _ = recorded(lambda: [ray.get(count.remote()) for _ in range(3)])

    assert count._function_descriptor is known
    assert max([*before, *during, ray.get(count.remote())]) > 3


def _failures(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001  (the user's, compared)
        return re.sub(r"pid=\d+|ip=[\d.]+|actor_id=\w+|0x\w+|id=\w+", "", f"{type(error)} {error}")
    return "nothing was raised"


def test_the_way_of_the_agent_is_no_load_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that its worker knows is not loaded; one that it does not know is, after us."""
    loader, name, magic, parts = shipped_agent.__wrapped__()
    source = parts["hooks"][0] + "\nimport time\ntime.sleep(0.5)\n"
    hooks = source, marshal.dumps(compile(source, "slow", "exec"))
    travels = loader, name + uuid4().hex, magic, {**parts, "hooks": hooks}
    monkeypatch.setattr(ray_agents, "shipped_agent", lambda: travels)
    value = _slow()("__setstate__", 0.3)
    known, fresh = remote(lambda: 1), remote(lambda: value and 1)
    ray.get(known.remote())

    traces = [recorded(lambda: ray.get(one.remote()))[1] for one in (known, fresh)]  # noqa: B023

    assert self_ns(traces[0], "ray.load") < 250e6
    assert self_ns(traces[0], "recording") >= 500e6
    assert "is the recording of first tasks on 1 worker" in str(traces[0].summary)
    assert self_ns(traces[1], "ray.load") >= 300e6


def test_tracebacks_of_the_user_are_as_without() -> None:
    """Errors in a body, an argument, a result, a nested get, an import: no frame of ours."""

    @remote
    def fail() -> None:
        raise ValueError

    @remote
    def nested() -> None:
        ray.get(fail.remote())

    @remote
    def unpicklable() -> Any:
        import threading

        return threading.Lock()

    @remote
    def importing() -> None:
        import no_such_module_at_all  # type: ignore[import-not-found]  # noqa: F401

    @remote
    class Actor:
        def __init__(self, way: str) -> None:
            if way == "init":
                raise KeyError(way)

        def call(self) -> None:
            raise KeyError

    calls: list[Callable[[], Any]] = [
        *(lambda f=f: ray.get(f.remote()) for f in (fail, nested, unpicklable, importing)),
        lambda: ray.get(nested.remote(1)),
        *(
            lambda way=way: ray.get(cast("Any", Actor).remote(way).call.remote())
            for way in ("", "init")
        ),
    ]

    without = [_failures(call) for call in calls]
    within, _ = recorded(lambda: [_failures(call) for call in calls])

    assert within == without
    assert "nothing was raised" not in within
    assert not [text for text in within if "serprof" in text]


@pytest.mark.parametrize("how", ["broken", "refused"])
def test_an_agent_that_fails_changes_no_result(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """It says so in one line, and the events tell what they can."""

    def broken() -> Any:
        loader, name, magic, parts = shipped_agent.__wrapped__()
        code = marshal.dumps(compile("1 / 0", "broken", "exec"))
        return loader, name + uuid4().hex, magic, {**parts, "hooks": ("1 / 0", code)}

    def refuse(*_: object) -> None:
        raise RuntimeError

    if how == "broken":
        monkeypatch.setattr(ray_agents, "shipped_agent", broken)
    else:
        monkeypatch.setattr(ray_agents, "_brought", refuse)

    @remote
    def double(value: int) -> int:
        return 2 * value

    values, trace = recorded(lambda: ray.get([double.remote(i) for i in range(4)]))

    assert values == [0, 2, 4, 6]
    assert probe(trace).level == "pickle, events: 4 of 4 tasks seen"
    (said,) = probe(trace).unseen
    why = "ZeroDivisionError in a worker" if how == "broken" else "RuntimeError in refuse"
    assert said.startswith(f"inside of 4 tasks ({why}")


@pytest.mark.parametrize(
    ("options", "rung"),
    [({"lifetime": "detached", "name": "kept"}, "agent + "), ({"max_pending_calls": 5}, "")],
)
def test_an_actor_that_bounds_its_calls_is_let_alone(options: dict[str, Any], rung: str) -> None:
    """One that takes so many only; not one that outlives the program, as those of Serve."""
    look = _look()

    class Actor:
        def ask(self) -> list[str]:
            return look()

    actor = cast("Any", ray.remote(num_cpus=0, **options)(Actor)).remote()
    ray.get(actor.ask.remote())

    found, trace = recorded(lambda: ray.get(actor.ask.remote()))

    ray.kill(actor)
    assert bool(found) == bool(rung)
    assert probe(trace).level == f"pickle, {rung}events: 1 of 1 task seen"
    assert bool(probe(trace).unseen) != bool(rung)


def test_a_worker_that_is_killed_takes_only_its_own_notes_along(tmp_path: Any) -> None:
    """The task is tried again on another one, as without a recording; the picture has both."""

    @remote
    def dies_once(folder: Any) -> int:
        if not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    keys = _keys_of_recordings()

    value, trace = recorded(lambda: ray.get(dies_once.options(max_retries=1).remote(tmp_path)))

    assert value == 7
    died = [bool(span.details) for span in spans(trace, "ray.execute", "dies_once")]
    assert died == [True, False]
    assert row(trace, "ray.execute").count == 2
    assert _keys_of_recordings() <= keys


def test_totals_are_exact_where_few_tasks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each function and worker the 5 slowest and 20 that are drawn; the table has them all."""
    monkeypatch.setattr(ray_tasks, "MANY_TASKS", 500)

    @remote
    def many(value: int) -> int:
        return value

    @remote
    def few(seconds: float) -> None:
        time.sleep(seconds)

    def run() -> list[int]:
        ray.get([few.remote(0.01 * (1 + i)) for i in range(5)])
        values: list[int] = ray.get([many.remote(i) for i in range(600)])
        return values

    values, trace = recorded(run)

    names, counts = (column(trace, "ray.tasks", key) for key in ("function", "count"))
    assert values == list(range(600))
    found = dict(zip([name.rpartition(".")[2] for name in names], counts, strict=True))
    assert found == {"many": 600, "few": 5}
    assert max(column(trace, "ray.tasks", "execute_max")) >= 50e6
    assert sum(column(trace, "ray.tasks", "execute_total")) >= 150e6
    assert row(trace, "ray.execute").count == 605
    assert len(spans(trace, "ray.execute")) <= 2 * 225 + 5
    assert "600 tasks of `many` are too small" in {finding.title for finding in trace.findings}
    assert probe(trace).level == "pickle, agent: 605 of 605 tasks seen"


def test_a_clock_ahead_is_found_by_what_agents_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose time of day is five seconds ahead, as if it were on a machine of its own."""
    monkeypatch.setattr("jupyter_serprof.probes.ray.tasks._PATIENCE_S", 2)
    monkeypatch.setattr(ray_agents, "bridge", lambda: {"boot": "another"})

    class Ahead:
        def __init__(self) -> None:
            import time

            known = time.time_ns
            time.time_ns = lambda: known() + 5 * 10**9

        def nap(self) -> None:
            time.sleep(0.05)

    nap = remote(Ahead, num_cpus=0).remote().nap.options(enable_task_events=False)
    ray.get(nap.remote())

    _, trace = recorded(lambda: ray.get([nap.remote() for _ in range(5)]))

    bodies = spans(trace, "ray.execute")
    (lane,) = [lane for lane in trace.lanes if lane.key.startswith("worker")]
    assert abs(lane.clock_offset_ns - 5 * 10**9) <= lane.clock_error_ns
    assert len(bodies) == 5
    assert all(0 <= body.start_ns <= body.end_ns <= trace.wall_ns for body in bodies)


def test_the_headline_of_a_first_task_says_what_its_worker_did() -> None:
    """A process that starts and imports is not "Schedule"."""

    @remote
    def first(values: Any) -> int:
        return len(values)

    fresh = {"env_vars": {"SERPROF_TEST": uuid4().hex}}

    _, trace = recorded(lambda: ray.get(first.options(runtime_env=fresh).remote(np.arange(9))))

    assert trace.summary is not None
    assert row(trace, "ray.worker.start").count
    assert "worker start and imports" in trace.summary.headline


def test_the_items_of_a_generator_are_told_apart_from_what_happens_to_them() -> None:
    """What its code takes, and storing them or waiting for who takes them; errors as without."""

    @remote
    def items(count: int) -> Iterator[Any]:
        for number in range(count):
            time.sleep(0.02)
            yield np.int64(number)
        if count > 3:
            raise ValueError(count)

    def take(count: int) -> Any:
        return [ray.get(each) for each in items.remote(count)]

    bounded = items.options(_generator_backpressure_num_objects=1)

    def slowly() -> None:
        for each in bounded.remote(3):
            time.sleep(0.1)
            ray.get(each)

    without = _failures(lambda: take(4))
    values, trace = recorded(lambda: take(3))
    within, _ = recorded(lambda: _failures(lambda: take(4)))
    _, slow = recorded(slowly)

    assert values == [0, 1, 2]
    assert within == without
    assert _inside(trace, "ray.generator.user") >= 0.99 * 60e6
    assert [one.size_bytes for one in spans(trace, "ray.generator.out")] == [8, 8, 8]
    assert _inside(slow, "ray.generator.out") >= 0.9 * 100e6 > _inside(trace, "ray.generator.out")


def test_a_generator_gets_what_ray_sends_it() -> None:
    """Ray tells a generator how long its last item took to store: Ray Data counts on it."""

    @remote
    def told() -> Iterator[str]:
        sent = yield "first"
        yield type(sent).__name__

    def take() -> list[str]:
        return [ray.get(each) for each in told.remote()]

    without = take()
    within, _ = recorded(take)

    assert within == without
    assert within[1] != "NoneType"
