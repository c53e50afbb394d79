"""Thousands of short tasks are told by windows of time, of which counts and times stay exact."""

from collections import Counter

import pytest

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Lane
from jupyter_serprof.probes.ray.agent import notes
from jupyter_serprof.probes.ray.agent.notes import SAMPLED, SLOWEST, Errand, Ledger
from jupyter_serprof.probes.ray.agents import Notes
from jupyter_serprof.probes.ray.road import RoadMap

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
            ledger.add(errand, stage, begin + low * 1_000, begin + high * 1_000, 7)
        now = begin + 700_000
        ledger.close(errand)
    return ledger


def drawn(ledger: Ledger) -> list[Draft]:
    run = Page(0, TASKS * TURN_NS, 0, [], {"client/main": Lane("client/main")})
    noted, roads = Notes(), RoadMap(run, TASKS)
    noted.add(b"worker", ledger.report({"begun": 0, "missing": ()}), 0)
    for attempt in noted.attempts:
        roads.add_noted(attempt, None)
    for window in noted.windows:
        roads.add_window(*window)
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


def test_what_a_worker_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tasks there are: the slowest, a sample, and windows that become longer."""
    ledger = worked(monkeypatch)

    report = ledger.report({})
    assert len(report["kept"]) == SLOWEST + SAMPLED
    assert 50 <= len(report["windows"]) <= notes.MOST_WINDOWS
    assert sum(window[3] for window in report["windows"]) == TASKS - SLOWEST - SAMPLED


def test_calls_side_by_side_last_as_long_as_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first begin to the last end, as those of an asyncio actor: not their sum."""
    drafts = drawn(worked(monkeypatch, apart_ns=10))

    tasks = [draft for draft in drafts if draft.stage == "ray.execute"]
    assert sum(draft.details.get("calls", 1) for draft in tasks) == TASKS
    assert 729_000 < max(draft.end for draft in tasks) < 730_000
