"""Thousands of short tasks are told by windows of time, of which counts and times stay exact."""

import marshal
from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Lane
from jupyter_serprof.probes.ray.agent import notes
from jupyter_serprof.probes.ray.agent.notes import SAMPLED, SLOWEST, Errand, Ledger, bridge
from jupyter_serprof.probes.ray.agent.post import Post, merged, packed
from jupyter_serprof.probes.ray.agents import Agents, Notes
from jupyter_serprof.probes.ray.clocks import align_notes
from jupyter_serprof.probes.ray.road import RoadMap

read = marshal.loads

TASKS, TURN_NS = 3_000, 1_000_000
#: What each task does, from when until when: a get around an unpickle, a put, a pickle.
SEEN = (
    ("ray.task.unpickle", 150, 250),
    ("ray.task.get", 100, 300),
    ("ray.task.put", 300, 400),
    ("ray.outputs.pickle", 610, 640),
)


def worked(monkeypatch: pytest.MonkeyPatch, apart_ns: int = TURN_NS, names: int = 1) -> Ledger:
    """Return what a worker noted of tasks in turn, each begun so much after the one before."""
    now = 0
    monkeypatch.setattr(notes, "clock", lambda: now)
    ledger = Ledger()
    for turn in range(TASKS):
        now = begin = turn * apart_ns
        errand = Errand(turn.to_bytes(4, "big"), f"f{turn % names}", 0)
        errand.body = begin + 100_000
        for stage, low, high in SEEN:
            errand.returned = begin + 600_000 if low > 600 else 0
            errand.note(stage, begin + low * 1_000, begin + high * 1_000, 7)
        now = begin + 700_000
        ledger.take(errand.close().facts(b"worker"))
    return ledger


def told_by(ledger: Ledger, worker: bytes = b"worker", number: int = 1) -> dict[str, Any]:
    """Return what a worker lays down."""
    return {**ledger.told(), "taken": {worker: number}, "failures": 1, "missing": [], **bridge()}


def drawn(ledger: Ledger) -> list[Draft]:
    run = Page(0, TASKS * TURN_NS, 0, [], {"client/main": Lane("client/main")})
    noted, roads = Notes(), RoadMap(run, TASKS)
    noted.add([told_by(ledger)], lambda _: 0)
    for attempt in noted.attempts:
        roads.add_noted(attempt, None)
    for window in noted.windows:
        roads.add_window(window)
    return run.drafts


@pytest.mark.parametrize("names", [1, 60])
def test_counts_and_times_stay_exact(monkeypatch: pytest.MonkeyPatch, names: int) -> None:
    """Those that are kept and those in windows are all, and the picture adds up as each did."""
    ledger = worked(monkeypatch, names=names)

    count, took, size = (Counter[str]() for _ in range(3))
    for draft in drawn(ledger):
        count[draft.stage] += draft.details.get("calls", 1)
        took[draft.stage] += draft.end - draft.start
        took[draft.parent.stage if draft.parent else ""] -= draft.end - draft.start
        size[draft.stage] += draft.size_bytes or 0
    own_us = {"ray.arguments": 100, "ray.execute": 200, "ray.outputs": 70, "ray.outputs.pickle": 30}
    own_us |= dict.fromkeys(("ray.task.unpickle", "ray.task.get", "ray.task.put"), 100)
    assert set(count.values()) == {TASKS}
    assert {stage: took[stage] for stage in own_us} == {
        stage: us * 1_000 * TASKS for stage, us in own_us.items()
    }
    assert {size[stage] for stage, _, _ in SEEN} == {7 * TASKS}
    assert 50 <= len(ledger.told()["windows"]) <= notes.MOST_WINDOWS


def test_calls_side_by_side_last_as_long_as_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first begin to the last end, as those of an asyncio actor: not their sum."""
    drafts = drawn(worked(monkeypatch, apart_ns=10))

    tasks = [draft for draft in drafts if draft.stage == "ray.execute"]
    assert sum(draft.details.get("calls", 1) for draft in tasks) == TASKS
    assert 729_000 < max(draft.end for draft in tasks) < 730_000


def facts(draw: float, name: str, begin: int, took: int) -> Any:
    sums = {("task", "ray.execute"): [1, took, 3, took, took]}
    return draw, b"%d" % (draw % 3), b"", name, 0, 0, *[begin] * 3, begin + took, [], 0, sums


def noted(*told: bytes) -> Notes:
    known = Notes()
    known.add(map(read, told), lambda _: 0)
    return known


@given(st.randoms(use_true_random=True), st.integers(0, 400), st.integers(1, 9))
def test_notes_are_put_together_in_any_order(random: Random, size: int, parts: int) -> None:
    """The same are kept, the 5 slowest and the 20 that are drawn; counts and sums are exact."""
    any_of = random.randrange
    tasks = [(random.choice("abc"), any_of(10**10), any_of(10**8)) for _ in range(size)]
    ledgers = [Ledger() for _ in range(parts + 1)]
    for one in random.sample([facts(draw, *task) for draw, task in enumerate(tasks)], len(tasks)):
        ledgers[0].take(one)
        random.choice(ledgers[1:]).take(one)
    whole, *laid = (marshal.dumps(told_by(one, b"%d" % at)) for at, one in enumerate(ledgers))
    while len(laid) > 1:
        random.shuffle(laid)
        laid = [packed(merged(laid[:2])), *laid[2:]]

    alone, together = noted(whole), noted(*laid)

    assert together.counts == alone.counts == Counter(name for name, *_ in tasks)
    for name, count in together.counts.items():
        took = sorted(one[2] for one in tasks if one[0] == name)
        kept, same = (
            sorted((one.end - one.begin, one.begin) for one in each.attempts if one.name == name)
            for each in (together, alone)
        )
        assert kept == same
        assert len(kept) == min(count, SLOWEST + SAMPLED)
        assert [each[0] for each in kept[-SLOWEST:]] == took[-SLOWEST:]
        told = [count, sum(took), took[-1], 3 * count]
        assert together.totals[name, "ray.execute"] == alone.totals[name, "ray.execute"] == told


def posts(store: dict[bytes, bytes], folder: Path, count: int) -> list[Post]:
    """Return the posts of the workers of a node, with a control store."""
    made = [Post.__new__(Post) for _ in range(count)]
    for at, post in enumerate(made):
        post.gcs = SimpleNamespace(
            internal_kv_exists=lambda key, *_, **__: key in store,
            internal_kv_get=lambda key, *_, **__: store.get(key),
            internal_kv_put=lambda key, value, *_, **__: store.update({key: value}),
        )
        post.open, post.at, post.folder = b"open", b"notes", folder / "post"
        post.worker, post.count = b"%d" % at, 0
    return made


def test_one_worker_takes_along_what_all_of_a_node_laid_down(tmp_path: Path) -> None:
    """Each thing once, also if who carried it was killed before it took the files away."""
    store = {b"open": b""}
    first, other, killed = posts(store, tmp_path, 3)
    ledger = Ledger()
    ledger.take(facts(0, "a", 0, 5))
    for post in (first, other, other, killed):
        post.lay(told_by(ledger))
    files = {file: file.read_bytes() for file in first.folder.iterdir()}

    assert first.carry()
    assert not [*first.folder.iterdir()]
    for file, content in files.items():
        file.write_bytes(content)
    other.lay(told_by(ledger))
    assert other.carry()
    found = read(store.pop(b"notes"))
    assert (len(found["kept"]), found["failures"]) == (5, 5)
    assert found["taken"] == {b"0": 1, b"1": 3, b"2": 1}

    del store[b"open"]  # the program has read its notes
    other.lay(told_by(ledger))
    assert other.carry()
    other.close()
    assert first.carry()
    assert not store
    assert not other.folder.exists()


def test_notes_of_another_machine_are_told_by_its_clock() -> None:
    """How far it is ahead is found by its tasks; all that was noted there is moved by that."""
    ledger, run, sent = Ledger(), Page(0, 2_000_000, 0, [], {}), {b"": 9_000}
    for at in range(40):
        one = facts(at, "a", 8_010_000 + 40_000 * at, 1_000)
        ledger.take((*one[:10], [("ray.task.get", one[6], one[9], 0)], *one[11:]))
    far = {**told_by(ledger), "taken": dict.fromkeys((b"0", b"1", b"2"), 1), "node": "far"}
    far |= {"boot": "far", "bridge": 0}
    before, after = Notes(), Notes()

    before.add([far], lambda _: 0)
    assert align_notes(run, before, sent)
    ahead, error = run.clocks[b"0"]
    after.add([far], lambda worker: run.clocks[worker][0])

    assert abs(ahead - 8_000_000) <= error < 250_000
    assert not align_notes(run, after, sent)
    for kept in after.attempts:
        assert kept.spans[0][1:3] == (kept.begin, kept.end)
        assert (kept.begin - 10_000 + ahead) % 40_000 == 0
    assert all(0 < window.start < window.end < run.end for window in after.windows)


@pytest.mark.parametrize("is_known", [True, False])
def test_notes_come_with_what_was_watched_before_they_were_sent(is_known: bool) -> None:
    """A worker sends that first, also for the first time, while the program reads."""
    seen: Any = {"given": {}, "came": {}, "series": {}, "links": {}, "files": []}
    early, late = (
        {
            b"key:watch:w": marshal.dumps({**seen, "sizes": {b"object": size}, **bridge()}),
            b"key:notes:n": marshal.dumps({**told_by(Ledger(), number=size)}),
        }
        for size in (1, 2)
    )
    store = {key: early[key] for key in early if is_known or b"notes" in key}

    def get(at: bytes, *_: object, **__: object) -> bytes | None:
        store.update(late if b"notes" in at else {})
        return store.get(at)

    keys: Any = lambda under, *_, **__: [key for key in store if key.startswith(under)]  # noqa: E731
    gcs, agents = SimpleNamespace(internal_kv_keys=keys, internal_kv_get=get), Agents()
    worker: Any = SimpleNamespace(gcs_client=gcs)
    agents.contacts[""] = SimpleNamespace(key=b"key", is_here=lambda: True, worker=worker)  # type: ignore[assignment]

    agents.notes(Page(0, 1, 0, [], {}))

    assert agents.arrivals.all_seen().sizes == {b"object": 2}
