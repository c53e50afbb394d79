"""What is told while something runs: when, what of it holds, and that nothing of it stays."""

import math
import os
import re
import signal
import sys
import threading
import time
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof import api
from jupyter_serprof.capture.stacks import stack_of
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.experiments.engine.experiment import Progress
from jupyter_serprof.experiments.engine.live import Outlook, Ticker
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.probes.ray.alive import asked


class Told(list[LiveFacts]):
    """Keeps what was told."""

    def __init__(self) -> None:
        self.has_come, self.has_waited = threading.Event(), threading.Event()
        self.began_s = 0.0

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
    told = Told()

    for _ in range(200):
        with api.record("short", live=told):
            assert count_running() <= int(word)

    assert (told, count_running()) == ([], 0)


def test_imports_before_are_a_part_of_the_wait(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "AFTER_S", 600.0)
    told.began_s = time.monotonic() - 600

    with live.told(told.__call__):
        assert told.has_come.wait(30)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_stays_after_an_error(told: Told, error: type[BaseException]) -> None:
    with pytest.raises(error), api.record("bad", live=told):
        assert told.has_waited.wait(30)  # the first call may come before the wait begins
        raise error

    assert count_running() == 0
    assert [facts.is_over for facts in told[-2:]] == [False, True]
    assert "Wait in this process" in {facts.title for facts in told if facts.stage == "python.wait"}


def test_a_call_that_holds_the_interpreter_is_told_when_it_is_over(told: Told) -> None:
    """Nothing of ours runs before its end, and then the end comes first."""
    ticker = Ticker(told)

    ticker.start()
    ticker.stop()

    assert told[-1].is_over


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
    with live.told(told, lambda: Progress(84, 252, 40.0)):
        assert told.has_come.wait(30)

    assert re.fullmatch(r"84 of 336 runs, 0\.\d s, 28 to 64 s left", str(told[0]))


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
