"""Totals of the agent: bounded memory, exact sums, quantiles within half a bin."""

import asyncio
import gc
import random
import time
from collections import defaultdict
from threading import get_ident
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.probes.dask import agent as agents
from jupyter_serprof.probes.dask.agent import notes
from jupyter_serprof.probes.dask.agent.hooks import _what, note
from jupyter_serprof.probes.dask.agent.lines import invite
from jupyter_serprof.probes.dask.agent.notes import AGENTS, MOST_COMPUTATIONS, MOST_SPANS, Agent
from jupyter_serprof.probes.dask.agent.totals import Durations, JoinedBlocks, ran_ns

MS = 1_000_000

entries = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["dask.execute", "dask.transfer"]),
        st.sampled_from(["sum", "mean"]),
        st.integers(0, 10_000),
        st.integers(0, 500),
        st.none() | st.integers(0, 9),
    ),
    max_size=60,
)


@given(entries, st.integers(6, 12))
def test_joining_changes_no_total(
    drawn: list[tuple[int, str, str, int, int, int | None]], most: int
) -> None:
    """However few blocks are left, count, time and bytes of each lane and stage stay exact."""
    blocks = JoinedBlocks(most)
    expected: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])

    for lane, stage, name, start, duration, size in drawn:
        blocks.add(lane, stage, name, start, start + duration, size)
        for at, value in enumerate((1, duration, size or 0)):
            expected[lane, stage][at] += value
    blocks.fold()

    assert len(blocks.kept) <= most
    found: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for lane, stage, _, start, end, size, count, busy in blocks.kept:
        assert end >= start
        for at, value in enumerate((count, busy, size or 0)):
            found[lane, stage][at] += value
    assert found == expected


def test_spans_that_come_too_often_are_joined_and_not_lost() -> None:
    """Thousands of single submits are graphs too: their times on the scheduler stay exact."""
    agent = Agent(["client"], has_own_process=True)

    async def take_in() -> None:
        for number in range(3 * MOST_SPANS):
            agent.graph("client", number * MS, number * MS + 1_000)

    asyncio.run(take_in())
    report = agent.report()

    found = [*report["spans"], *report["blocks"]]
    assert sum(entry[6] for entry in found) == 3 * MOST_SPANS
    assert sum(entry[7] for entry in found) == 3 * MOST_SPANS * 1_000
    assert len(found) < 2 * MOST_SPANS
    assert report["is_folded"]


def test_graphs_above_a_number_are_counted_with_the_last_one() -> None:
    """A loop that submits for hours takes no more memory; its tasks are counted all the same."""
    agent, most = Agent(["client"], has_own_process=True), MOST_COMPUTATIONS

    for key in map(str, range(most + 5)):
        agent.sent(Scheduler, key, [key])

    known = agent.report()["computations"]
    assert len(known) == most
    assert sum(entry["tasks"] for entry in known) == most + 5


@pytest.mark.parametrize("lanes", [4, 150])
def test_blocks_stay_few_while_many_are_added(lanes: int) -> None:
    """Memory does not grow with the number of intervals; lanes beyond the limit have one each."""
    blocks = JoinedBlocks(100)

    most = 0
    for number in range(100_000):
        blocks.add(number % lanes, "dask.execute", "sum", number * 10, number * 10 + 7)
        most = max(most, len(blocks.kept))

    assert most <= 3 * max(100, lanes) + 1
    assert blocks.is_folded


def test_few_intervals_are_kept_as_they_were() -> None:
    blocks = JoinedBlocks(10)

    blocks.add(0, "gc", "generation 2", 5, 9, None, 1)
    blocks.fold()

    assert blocks.kept == [(0, "gc", "generation 2", 5, 9, None, 1, 4)]
    assert not blocks.is_folded


@pytest.mark.parametrize("count", [1, 2, 10, 1000])
def test_quantiles_are_within_a_bin(count: int) -> None:
    """Bounds are exact; quantiles are at most 1.1 % away from a measured duration around them."""
    drawn = random.Random(count)  # noqa: S311  (a test draws numbers)
    values = sorted(round(drawn.lognormvariate(15, 2)) for _ in range(count))
    durations = Durations()

    for value in values:
        durations.add(value)

    assert (durations.count, durations.total) == (count, sum(values))
    assert (durations.least, durations.most) == (values[0], values[-1])
    for share in (0.25, 0.5, 0.75):
        exact = values[max(0, -int(-share * count // 1) - 1)]
        assert durations.quantile(share) == pytest.approx(exact, rel=0.011)
        assert Durations().quantile(share) is Durations().least is None  # unknown, not 0


class Group:
    """The group of a stand-in for a task."""

    name = "sum-1"


class Task:
    """What the agent reads of a scheduler's task."""

    group = prefix = Group
    state, dependencies = "released", ()

    def __init__(self, key: str) -> None:
        self.key = key


class Scheduler:
    """Knows every key."""

    class tasks:  # noqa: N801  (a scheduler's attribute)
        """Any key is a task."""

        @staticmethod
        def get(key: str) -> Task:
            return Task(key)


def finish(agent: Agent, key: str, start_s: float, stop_s: float) -> None:
    """Let a task end as a scheduler's transition tells it."""
    steps = [{"action": "compute", "start": start_s, "stop": stop_s}]
    details = {"startstops": steps, "worker": "tcp://1", "thread": 7, "nbytes": 8}
    agent.finished(Scheduler, key, "memory", details)


def test_a_pause_between_two_clocks_moves_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers tell the time of day: what makes ours of it is read as closely as it can be."""
    now_ns, pauses_ns = [0], iter([0, 50 * MS, 0, 70 * MS])

    def ours() -> int:
        now_ns[0] += 1_000
        return now_ns[0]

    def of_the_day() -> float:
        now_ns[0] += next(pauses_ns, 0)
        return now_ns[0] / 1e9

    monkeypatch.setattr(notes, "clock", ours)
    monkeypatch.setattr("distributed.metrics.time", of_the_day)

    agents = [Agent(["client"], has_own_process=True) for _ in range(4)]

    assert all(abs(agent.bridge) <= 2_000 for agent in agents)


def test_tasks_of_other_clients_are_left_out_and_those_computed_again_are_counted() -> None:
    """Only groups of graphs that our clients sent; the same key twice is work done again."""
    agent = Agent(["client"], has_own_process=True)

    finish(agent, "sum-1", 1, 2)
    agent.sent(Scheduler, "sum-1", ["sum-1"])
    finish(agent, "sum-1", 2, 3)

    report = agent.report()
    assert report["prefixes"]["sum-1"]["count"] == 1
    assert report["prefixes"]["sum-1"]["total"] == 1_000 * MS
    assert report["computations"][0]["finished"] == 1
    finish(agent, "sum-1", 2, 3)
    assert agent.report()["computations"][0]["repeated"] == 1


def test_a_collection_in_the_midst_of_joining_breaks_nothing() -> None:
    """The cycle collector calls us at any moment, also while we sort: nothing is lost or raised."""
    blocks = JoinedBlocks(10)
    added = 0

    def add(phase: str, info: dict[str, int]) -> None:
        nonlocal added
        del info
        if phase == "stop":
            blocks.kept.append((9, "gc", "", 0, 1, None, 1, 1))
            added += 1

    threshold = gc.get_threshold()
    gc.callbacks.append(add)
    gc.set_threshold(1)

    try:
        for number in range(2_000):
            blocks.add(0, "dask.execute", "sum", number, number + 1)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(add)

    assert added > 0
    assert sum(block[6] for block in blocks.kept) == 2_000 + added


def test_what_fails_in_a_note_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that breaks is counted; the scheduler that called it goes on."""
    agent = Agent(["client"], has_own_process=True)
    monkeypatch.setitem(AGENTS, "test", agent)

    note("on_loop", None, "no worker has this address", 0, 1)

    assert agent.report()["bytes"]["failures"] == 1


def test_recordings_that_begin_at_once_do_not_drop_each_other() -> None:
    """Each tells which ones ran as it began; one that began later may be there before."""
    worker = SimpleNamespace()

    async def arrive() -> list[str]:
        agents.start("dead", ["client"], 0, (1, ["dead"]), worker)
        agents.start("second", ["client"], 0, (3, ["first", "second"]), worker)
        agents.start("first", ["client"], 0, (2, ["first"]), worker)
        return [token for token in ("dead", "first", "second") if agents.stop(token, worker)]

    assert asyncio.run(arrive()) == ["first", "second"]
    assert not agents.is_running()


def test_the_worker_is_told_which_recordings_run() -> None:
    """Without that, its agent would take those of the others for left over."""
    agent = Agent(["client"], has_own_process=True)
    agent.origin, agent.leaving = (0, (5, ("this", "other"))), asyncio.Event()
    scheduler = SimpleNamespace(connection_args={})

    async def bring() -> object:
        invite(agent, "this", scheduler, "tcp://127.0.0.1:1")
        agent.errands["tcp://127.0.0.1:1"].cancel()
        return agent.stations["tcp://127.0.0.1:1"]["start"]

    assert asyncio.run(bring()) == ("this", ["client"], 0, (5, ("this", "other")))


def test_the_class_of_a_result_is_not_asked_for_its_name() -> None:
    """A metaclass of the user may answer with code."""
    asked = list[str]()

    class Meta(type):
        def __getattribute__(cls, name: str) -> object:
            asked.append(name)
            return super().__getattribute__(name)

    result = Meta("Result", (), {})()
    passed_on = type("Serialized", (), {})()

    assert _what({"status": "OK", "data": {"key": result}}) == ("data", 1, None)
    assert _what({"status": "OK", "data": {"key": passed_on}})[0] == ""
    assert asked == []


@pytest.mark.skipif(not ran_ns(), reason="this system does not tell who waits for a core")
def test_an_agent_tells_what_the_threads_of_its_process_ran() -> None:
    """By the ident that workers tell of their tasks; a thread that runs is seen to."""
    agent = Agent(["c"], has_own_process=True)
    until = time.thread_time() + 0.01
    while time.thread_time() < until:
        pass

    ran, _ = agent.report()["ran"][get_ident()]

    assert ran > 5_000_000
