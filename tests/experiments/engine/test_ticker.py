"""What is told while something runs: when, what of it holds, and that nothing of it stays."""

import math
import os
import re
import signal
import sys
import threading
import time
from _thread import start_new_thread
from collections import Counter, defaultdict
from concurrent.futures import wait
from functools import partial
from heapq import heapreplace
from importlib import import_module
from itertools import count
from random import Random
from statistics import median
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof import api
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.capture.stacks import stack_of
from jupyter_serprof.experiments.blame.recording import anatomies_of
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.experiments.engine.experiment import Progress
from jupyter_serprof.experiments.engine.live import Outlook, Ticker
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.probes.dask.agent import looks
from jupyter_serprof.probes.dask.looks import Looks, cluster_facts
from jupyter_serprof.probes.ray import looks as ray_looks
from jupyter_serprof.probes.ray.alive import asked


class Told(list[LiveFacts]):
    """Keeps what was told."""

    def __init__(self) -> None:
        self.has_come, self.has_waited = threading.Event(), threading.Event()

    def __call__(self, facts: LiveFacts) -> None:
        super().append(facts)
        self.has_come.set()
        if facts.stage == "python.wait":
            self.has_waited.set()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(live, "AFTER_S", 0.0)
    monkeypatch.setattr(live, "EVERY_S", 0.01)
    return Told()


def count_running() -> int:
    """Return how many threads are in a ticker that waits or tells."""
    codes = [stack_of(thread, lambda frame: frame.f_code) for thread in sys._current_frames()]
    return sum(Ticker._tell_on.__code__ in stack for stack in codes)


@pytest.mark.parametrize("word", ["0", "1"])
def test_what_is_over_within_a_second_is_not_told(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """No thread stays; with ``SERPROF_LIVE=0`` none begins."""
    monkeypatch.setenv("SERPROF_LIVE", word)
    told, begin = Told(), Mock(wraps=start_new_thread)
    monkeypatch.setattr(live, "start_new_thread", begin)

    with api.record("short", live=told):
        assert begin.call_count == int(word)
    for _ in range(1_000):
        with live.told(told):
            assert count_running() <= int(word)

    assert (told, count_running(), begin.call_count) == ([], 0, 1_001 * int(word))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_stays_after_an_error(told: Told, error: type[BaseException]) -> None:
    with pytest.raises(error), api.record("bad", live=told):
        assert told.has_waited.wait(30)  # the first call may come before the wait begins
        raise error

    assert count_running() == 0
    assert [facts.is_over for facts in told[-2:]] == [False, True]
    assert "Wait in this process" in {facts.title for facts in told if facts.stage == "python.wait"}


def test_a_call_that_held_the_interpreter_is_in_the_document(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it began with the code, before anything could be told."""
    ticks = count(0.0, 2.0)  # whoever looks at the clock comes 2 s late
    monkeypatch.setattr(live, "_clock", lambda: next(ticks))
    monkeypatch.setattr(live, "_BUSY_SHARE", -1.0)
    has_begun, run = threading.Event(), live.Ticker._run
    monkeypatch.setattr(live.Ticker, "_run", lambda ticker: has_begun.wait(30) and run(ticker))

    with api.record("held", live=told) as recording:
        has_begun.set()  # not while the probes are armed still
        assert told.has_come.wait(30)
    trace = recording.trace

    note = trace.quality.notes[0]
    assert re.match(r"one call( in `\w+`)? held the interpreter for [2468].0 s", note)
    assert (told[-1].is_over, f": {note}" in f"{trace.summary}") == (True, True)


def test_what_comes_before_the_clock_is_told_and_not_counted(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def armed(self: Recorder, start: Any = Recorder.start) -> None:
        assert told.has_come.wait(30)
        time.sleep(0.5)
        start(self)

    monkeypatch.setattr(Recorder, "start", armed)
    with api.record("armed late", live=told) as recording:
        time.sleep(0.1)

    assert told[-1].ran_s < 0.5 + recording.trace.wall_ns / 1e9
    assert (told[0].title, told[-1].title) == ("Preparing to record", "")


def test_a_callable_that_raises_is_noted_and_called_no_more(told: Told) -> None:
    """The user's code goes on; the document says what failed, without what the error says."""

    def tell(facts: LiveFacts) -> None:
        told(facts)
        raise KeyError

    with api.record("bad", live=tell) as recording:
        assert told.has_come.wait(30)

    assert len(told) == 1
    [note] = [note for note in recording.trace.quality.notes if "told" in note]
    assert note.startswith("what ran could not be told: KeyError in tell, line ")


def test_what_threads_of_ours_import_is_not_in_the_document(told: Told) -> None:
    """That of the line, and that of questions to the control store of Ray."""
    for name in ("colorsys", "sched"):
        sys.modules.pop(name, None)

    def tell(facts: LiveFacts) -> None:
        import colorsys  # noqa: F401

        told(facts)

    with api.record("own", live=tell) as recording:
        assert told.has_come.wait(30)
        asked(partial(import_module, "sched"), math.inf)

    assert [span.name for span in recording.trace.spans if span.stage == "import"] == []


def test_an_experiment_is_told_in_runs(told: Told) -> None:
    made = [84, 252]
    with live.told(told, lambda: Progress(made[0], made[1], 40.0)):
        assert told.has_come.wait(30)
        made[:] = 330, 6

    assert (told[-1].done, told[-1].total, told[-1].share) == (330, 330, 1.0)
    assert re.fullmatch(r"84 of 336 runs, 0\.\d s, 22 to 52 s left", str(told[0]))


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), max_size=6), st.booleans())
def test_a_bar_of_runs_is_that_of_all_of_them(runs: list[list[float]], is_known: bool) -> None:
    outlook, shares = Outlook(), list[float | None]()
    for at, share in ((at, share) for at, run in enumerate(runs) for share in run):
        progress = Progress(at, len(runs) - at if at or is_known else 0)
        facts = live.of_runs(progress, LiveFacts(done=1, total=2, share=share))
        shares.append(outlook.seen(facts, 1.0 + at).share)
        assert len(runs) == 1 or (shares[-1] or 0) <= (at + 1) / len(runs)

    assert sorted(filter(None, shares)) == [*filter(None, shares)]


def test_what_is_done_behind_a_run_is_told(told: Told) -> None:
    """Which object is opened, by how many pickles; how many trips remedies have made."""

    def wait(*_: object) -> tuple[type[int], tuple[()]]:
        told.has_come.clear()
        assert told.has_come.wait(30)
        return int, ()

    slow = type("Slow", (), {"__reduce__": wait})()
    anatomies_of([0, slow], live=told)
    with live.told(told, lambda: Progress(3, 5, is_alike=False, what="Trying remedies")):
        wait()

    said = "\n".join(map(str, told))
    assert "Measuring parts of object 2 of 2, pickle 1, 0." in said
    assert "Trying remedies: 3 of 8 runs, 0." in said
    assert {facts.left_s for facts in told} == {None}  # some take longer than others


def test_what_moves_within_a_run_is_no_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr(live, "_clock", lambda: now_s[0])
    outlook, run = Outlook(), LiveFacts(done=1, total=4, unit="run", why="x runs for 0.2 s")

    for now_s[0] in (1.0, 2.0, 3.0, 4.0):
        outlook.moves(LiveFacts("dask.execute", "", int(now_s[0]), 9))
        assert outlook.seen(run, now_s[0]).why == ""
    now_s[0] = 6.0

    assert outlook.seen(run, now_s[0]).why == run.why


def test_code_that_waits_for_no_cluster_is_kept_by_none() -> None:
    look = Looks(str, int)
    look.asked_s = time.monotonic() - 60

    assert [cluster_facts([look], key) for key in ("", "python.wait")] == [None, None]
    assert "the scheduler is busy" in (cluster_facts([look], "dask.wait") or LiveFacts()).why


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"CPU": 4}, "4 CPU, 1 CPU free"),
        ({"CPU": 4, "loom": 1}, "4 CPU, 1 CPU free"),
        ({"CPU": 1, "shovel": 1}, "1 shovel, no node has more than 0 shovel (infeasible)"),
        ({"CPU": 4, "oven": 1}, "4 CPU, 1 oven, no node has more than 3 CPU, 1 oven (infeasible)"),
    ],
)
def test_what_is_too_little_is_told_of_nodes_that_could_take_the_task(
    wish: dict[str, float], said: str
) -> None:
    """A headline is short: what there is enough of stays away."""
    totals = {"CPU": 3, "oven": 1}, {"CPU": 4, "loom": 1}
    nodes = [
        SimpleNamespace(
            total_resources=Counter(total), available_resources=Counter(total | {"CPU": free})
        )
        for total, free in zip(totals, (3, 1), strict=True)
    ]

    assert ray_looks._lacking(wish, nodes, {"CPU": 3}) == said


def test_a_look_that_comes_late_is_told_with_its_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster is asked once at a time, alive or dead; of what moved since nothing is told."""
    now_s, gate = [50.0], threading.Event()
    ask = Mock(side_effect=lambda: {"GCS": "is dead"} if gate.wait(30) else {})
    clock = SimpleNamespace(monotonic=lambda: now_s[0], time=float)
    made = {"_pending_now": lambda: frozenset([b"id"]), "silent_processes": ask, "time": clock}
    for name, value in made.items():
        monkeypatch.setattr(ray_looks, name, value)
    looks = ray_looks.TaskLooks(threading.get_ident)
    looks._before = frozenset()

    def told(at_s: float, still_s: float) -> str:
        now_s[0] = at_s
        return (looks.facts("ray.wait", still_s) or LiveFacts()).why

    looks.submitted = 1
    assert ([told(50.0, 2.0), told(54.0, 6.0)], ask.call_count) == (["", ""], 1)
    gate.set()
    wait(filter(None, [looks._answer]), 30)
    gate.clear()  # for the next look
    late = [told(54.0, 6.0), told(54.0, 3.0)]
    gate.set()

    assert late[0].startswith("Ray's GCS died during the recording: run ray.shutdown(), ")
    assert (late[0].endswith(" (4.0 s ago)"), late[1]) == (True, "")


def test_a_child_of_a_fork_waits_for_no_thread(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PATIENCE_S", 60.0)
    with api.record("fork", live=told) as recording:
        assert told.has_come.wait(30)
        if not (child := os.fork()):
            signal.alarm(20)
            recording.stop()
            os._exit(0)

        assert os.waitpid(child, 0)[1] == 0


def seen(counts: list[Any], why: str = "") -> list[LiveFacts]:
    outlook, made = Outlook(), []
    for second, (done, total) in enumerate(counts, 1):
        facts = LiveFacts("dask.wait", "Wait", done, total, share=done / total, why=why)
        made.append(outlook.seen(facts, second))
    return made


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)).map(sorted), max_size=20))
def test_a_bar_never_runs_backwards(counts: list[Any]) -> None:
    """Whatever comes; where nobody knows how much more will come there is none."""
    told = seen([(done, max(1, total)) for done, total in counts])

    bars = [facts.share for facts in told if facts.share is not None]
    assert bars == sorted(bars)
    assert all(facts.left_s is None or 0 <= facts.left_s[0] <= facts.left_s[1] for facts in told)


def test_what_is_left_is_told_from_a_tenth_on_and_comes_nearer() -> None:
    """Time alone moves no end: what is left shrinks until something else ends."""
    early, tenth, same, half = (one.left_s for one in seen([(n, 100) for n in (5, 10, 10, 50)]))

    assert early is None
    assert same == pytest.approx([s - 1 for s in tenth or ()])
    assert (half or (4, 4))[0] < 4 < (half or (4, 4))[1]
    *_, late = seen([(n, 100) for n in (0, 0, 0, 10, 20, 30, 40)])  # workers started for 3 s
    assert (late.left_s or (6, 6))[0] < 6 < (late.left_s or (6, 6))[1]


@pytest.mark.parametrize("counts", [[(1, 4), (4, 4), (4, 8)], [(1, 4), (3, 8), (4, 8)]])
def test_where_more_comes_nobody_knows_how_much_is_left(counts: list[Any]) -> None:
    """Also where it comes between two looks: computations that follow each other."""
    told = seen(counts)

    assert [facts.share is None for facts in told] == [total > 4 for _, total in counts]
    assert told[-1].left_s is None


def test_why_nothing_moves_is_told_only_where_nothing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 1.0, 1.9, 2.1, 2.2))
    monkeypatch.setattr(live, "_clock", lambda: next(times))

    told = seen([(1, 4), (1, 4), (1, 4), (2, 4)], "no worker is there")

    assert [bool(facts.why) for facts in told] == [False, False, True, False]
    assert [facts.left_s is None for facts in told] == [False, False, True, False]


ANY, EVEN = Random(7), [0.2] * 80  # noqa: S311  (no secret)
RISING = [0.02 * at for at in range(40)]
#: Workloads: what is done one after the other, each of it by four threads; seconds of each task.
SHAPES: dict[str, list[dict[str, list[float]]]] = {
    "equal": [{"a": EVEN}],
    "rising": [{"a": RISING}],
    "falling": [{"a": RISING[::-1]}],
    "spread": [{"a": [ANY.lognormvariate(-1.8, 0.6) for _ in EVEN]}],
    "heavy tail": [{"a": [0.08 * ANY.paretovariate(1.5) for _ in range(120)]}],
    "short or long": [{"a": [ANY.choice((0.05, 0.5)) for _ in range(60)]}],
    "few and long": [{"a": [1.5] * 12}],
    "waves": [{"a": [0.9] * 24}],
    "imports first": [{"a": [1.7] * 4 + [0.2] * 56}],
    "workers start": [{"": [2.5] * 4}, {"a": EVEN}],
    "one after the other": [{"": [0.5, 1.2, 1.9, 2.6]}, {"a": EVEN}],
    "two kinds": [{"a": [0.1] * 30, "b": [0.4] * 30}],
    "two steps": [{"a": [0.1] * 30}, {"b": [0.4] * 30}],
    "slower": [{"a": [0.1] * 40 + [0.3] * 30}],
    "faster": [{"a": [0.3] * 30 + [0.1] * 40}],
    "tree": [{"a": EVEN[:64]}, {"b": [0.15] * 16}, {"b": [0.15] * 4}, {"b": [0.15]}],
    "chains": [{"a": [0.1] * 30}, {"b": [0.3] * 30}, {"c": [0.1] * 30}],
    "fan-in": [{"a": EVEN[:60]}, {"b": [1.5]}],
    "shuffle": [{"a": [0.8] * 16}, {"b": [0.02] * 16}, {"c": [0.1] * 16}],
    "straggler": [{"a": [*EVEN[:16], 4.0, *EVEN[:24]]}],
}


class Times(list[float]):
    """Times of tasks of one kind, as an agent adds them up."""

    total, count = property(lambda self: 1e9 * sum(self)), property(len)


def ran(shape: list[dict[str, list[float]]], library: str) -> list[tuple[str, float, float]]:
    """Return kind, start and end of each task; what has no name is only waited for."""
    free, tasks = [0.1] * 4, list[tuple[str, float, float]]()
    for step in shape:
        free = [max(free)] * 4 if tasks else free
        jobs = [(kind, s) for kind, times in step.items() for s in times]
        if library == "dask":  # in the order of their keys
            Random(3).shuffle(jobs)  # noqa: S311
        for kind, took_s in jobs:
            begin_s, end_s = free[0], heapreplace(free, free[0] + took_s) + took_s
            tasks += [(kind, begin_s, end_s)] if kind else []
    return tasks


def looked_at(tasks: list[tuple[str, float, float]], at_s: float, library: str) -> LiveFacts:
    """Return what a probe would say then: one of Ray counts only."""
    times: dict[str, Any] = defaultdict(Times)
    for kind, begin_s, end_s in tasks:
        if end_s <= at_s:
            times[kind].append(end_s - begin_s)
    done, total = sum(map(len, times.values())), len(tasks)
    if library == "ray":
        return LiveFacts("ray.wait", "", done, total, share=done / total, guessed=0.3)
    kinds = {kind: SimpleNamespace(compute=each) for kind, each in times.items()}
    agent: Any = SimpleNamespace(planned=Counter(kind for kind, *_ in tasks), prefixes=kinds)
    age_s, kind = max(((at_s - b, k) for k, b, e in tasks if b <= at_s < e), default=(0.0, ""))
    oldest = (kind, age_s, median(times[kind]) if times[kind] else None)
    known = {"work": looks._work(agent), "threads": 4, "oldest": oldest, "workers": 2}
    quiet = {"paused": (0, 0), "unfit": (0, ""), "late": 0, "others": 0, "cancelled": 0}
    look = Looks(str, int)
    look.seen = {"tasks": total, "done": done, "deaths": "", **known, **quiet}
    return cluster_facts([look], "dask.wait") or LiveFacts()


@pytest.mark.parametrize("library", ["dask", "ray"])
def test_at_half_time_the_end_lies_in_the_range(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """In 80 % of twenty workloads: in the others nothing is said as often as what is wrong."""
    now_s, verdicts = [0.0], Counter[bool | None]()
    monkeypatch.setattr(live, "_clock", lambda: now_s[0])
    for shape in SHAPES.values():
        tasks, outlook, facts = ran(shape, library), Outlook(), LiveFacts()
        end_s = max(end_s for *_, end_s in tasks)
        for quarter in range(4, int(2 * end_s) + 1):
            now_s[0] = quarter / 4
            facts = outlook.seen(looked_at(tasks, now_s[0] - 0.1, library), now_s[0])
        low_s, high_s = facts.left_s or (0.0, 0.0)
        verdicts[low_s <= end_s - facts.ran_s <= high_s if facts.left_s else None] += 1

    assert len(SHAPES) == 20
    assert verdicts[True] >= 16, verdicts
