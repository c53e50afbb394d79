"""Loops that look and sleep: the sleep is a wait, and what works in between is not."""

from typing import Any

import pytest

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft
from jupyter_serprof.probes.looks import LAUNCH, LOOK, looking, sleeps_between, tell_start


def look(start: int, thread_ns: int, *, is_done: bool = False, lane: str = MAIN_LANE) -> Draft:
    """Return a look of 10 ns, of which the thread works all the time."""
    noted = (thread_ns, thread_ns + 10, is_done)
    return Draft("python.wait", "done", lane, start, start + 10, LOOK, extra=noted)


@pytest.mark.parametrize(
    ("drafts", "slept"),
    [
        ([look(0, 0), look(110, 15), look(220, 30, is_done=True)], [(15, 110), (125, 220)]),
        ([look(0, 0), look(110, 36)], []),
        ([look(0, 0), look(110, 35)], [(35, 110)]),
        ([look(0, 0, is_done=True), look(110, 10)], []),
        ([look(0, 0), Draft("ray.fetch", "get", MAIN_LANE, 50, 60), look(110, 15)], []),
        ([look(0, 0), look(110, 15, lane="client/thread 1")], []),
    ],
    ids=["two sleeps", "work", "little work", "found", "something else", "two threads"],
)
def test_who_sleeps_between_two_looks_waits(drafts: list[Draft], slept: list[object]) -> None:
    """Its thread's clock stands meanwhile; what worked there keeps its time."""
    assert [(draft.start, draft.end) for draft in sleeps_between(drafts)] == slept


def test_the_first_answer_of_a_pool_tells_how_long_its_start_took() -> None:
    """Two processes, six answers: two come in each round, and the first one after its round."""
    launched = [Draft("python.wait", "launch", MAIN_LANE, at, at + 1, LAUNCH) for at in (100, 105)]
    done = [look(at, 0, is_done=True) for at in (50, 700, 705, 800, 805, 900, 905)]

    tell_start([*done, *launched])
    tell_start(done)

    (start_ns,) = (draft.details["start_ns"] for draft in launched if draft.details)
    assert start_ns == 700 - 100 - 205 * 2 // 4


def test_a_look_notes_the_clock_of_its_thread() -> None:
    """It goes on while the thread works, and tells whether what was looked for is there."""
    place = looking("json:loads", lambda given, found: found >= given["most"])
    assert place.before is not None
    assert place.after is not None

    *_, token = place.before((), {})
    sum(range(10_000))
    noted: Any = place.after(token, (), {"most": 3}, 2)

    assert (noted[0] < noted[1], noted[2]) == (True, False)
