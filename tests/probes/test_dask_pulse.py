"""An event loop that stands still is blocked, unless it waited for a core."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.probes.dask import agent as dask_agent
from jupyter_serprof.probes.dask.tasks import _cut_blocked

MS = 1_000_000


@pytest.mark.parametrize(
    ("waited_ms", "blocked"), [(0, [(0, 400)]), (250, [(250, 400)]), (301, []), (400, [])]
)
def test_who_waits_for_a_core_is_not_blocked(
    monkeypatch: pytest.MonkeyPatch, waited_ms: int, blocked: list[tuple[int, int]]
) -> None:
    """What is left of the time is told, if it is a tenth of a second or more."""
    told: list[tuple[int, int]] = []
    add = lambda _lane, _stage, _name, due, now: told.append((due // MS, now // MS))  # noqa: E731
    server = SimpleNamespace(address="", update_graph=None)
    agent: Any = SimpleNamespace(
        leases={id(server): 1}, lanes={}, has_own_process=True, blocks=SimpleNamespace(add=add)
    )
    monkeypatch.setattr(dask_agent, "clock", lambda: 400 * MS)
    monkeypatch.setattr(dask_agent, "queued_ns", lambda: (7 + waited_ms) * MS)

    async def turn() -> None:
        dask_agent._pulse(agent, server, 0, 7 * MS)

    asyncio.run(turn())

    assert told == blocked


@pytest.mark.parametrize(
    ("lane", "key", "left"),
    [
        ("worker 2/comm", "import", []),
        ("worker 2/thread 1", "dask.execute", []),
        ("worker 1/comm", "import", [(0, 4_000)]),
        # What only stands for silence explains nothing.
        ("worker 2/tasks", "dask.queue", [(0, 4_000)]),
    ],
)
def test_what_a_process_works_meanwhile_is_why_its_loop_stands(
    lane: str, key: str, left: list[tuple[int, int]]
) -> None:
    """A module that is imported where a message is read is the cause, not the loop that stands."""
    blocked = Draft("dask.blocked", "event loop", "worker 2/loop", 0, 4_000 * MS)
    other = Draft(key, "it", lane, 20 * MS, 3_990 * MS)
    run = Page(0, 5_000 * MS, 0, [blocked, other], {})

    _cut_blocked(run, {"loop_thread": None})

    seen = [draft for draft in run.drafts if draft.stage == "dask.blocked"]
    assert [(draft.start // MS, draft.end // MS) for draft in seen] == left
