"""Trials that end early: interrupted, out of time, or refused with the user's own error."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jupyter_serprof.api import run, try_remedies
from jupyter_serprof.experiments.engine import order
from jupyter_serprof.experiments.remedies import value as tried_values
from jupyter_serprof.experiments.remedies.value import Tryout
from jupyter_serprof.experiments.remedies.ways import PickleWay, Trip
from jupyter_serprof.model import Summary, UsageError


def interrupt_after(monkeypatch: pytest.MonkeyPatch, trips: int) -> None:
    """Let Ctrl-C come in the trip after so many."""
    real, sent = PickleWay.send, iter(range(trips))

    def send(way: PickleWay, value: object) -> Any:
        if next(sent, None) is None:
            raise KeyboardInterrupt
        return real(way, value)

    monkeypatch.setattr(PickleWay, "send", send)


def after_interrupt(tryout: Tryout) -> Summary:
    """Run until the interrupt; return what is told."""
    with pytest.raises(KeyboardInterrupt):
        run(tryout)
    assert tryout.document.summary
    return tryout.document.summary


def test_an_interrupt_is_told_and_not_taken_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was measured yet: nothing is claimed of what applies."""
    interrupt_after(monkeypatch, 0)

    said = after_interrupt(Tryout(np.zeros(1_100_000), name="a"))

    assert said == Summary("`a`: interrupted, 1 of 2 remedies begun")


def test_what_was_measured_before_an_interrupt_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five pairs of the first remedy, then Ctrl-C: the pairs stay, and it is said."""
    interrupt_after(monkeypatch, 2 + 2 * 5)
    tryout = Tryout(np.zeros(1_100_000), name="a")

    said = after_interrupt(tryout)

    [tried] = [v for v in tryout.document.variants if v.facts.get("tried")]
    assert tried.facts["pairs"] == 5
    assert said.facts[0] == "interrupted, 1 of 2 remedies begun"
    assert "nothing" not in said.headline


def test_while_it_runs_no_headline_judges_what_is_yet_to_come() -> None:
    """Before the first pair, and where the first remedy failed, is unequal or slower."""
    tryout = Tryout(np.zeros(1_100_000), name="a")
    steps = tryout.steps()
    next(steps)

    one, trips = tryout._begun_trials[0], [[Trip({"a": ns}, 8, None)] * 9 for ns in (1, 9)]
    for state in ({}, {"trips": trips}, {"equal": False}, {"reason": "it failed"}):
        for name, value in state.items():
            setattr(one, name, value)
        assert tryout.document.summary
        assert tryout.document.summary.headline == "trying out-of-band buffers, `a`, 8.80 MB"
    steps.close()


def test_an_interrupt_of_the_first_look_is_told() -> None:

    class Slow:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    said = after_interrupt(Tryout(Slow(), name="slow"))
    assert said == Summary("`slow`: interrupted, nothing was tried yet")


class Slow:
    """Takes 12 s to pickle, by a clock that only it moves."""

    made = 0
    clock_s = 0.0

    def __reduce__(self) -> Any:
        """Let time pass."""
        Slow.made += 1
        Slow.clock_s += 12
        return Slow, ()


def test_a_pickle_that_is_too_long_for_the_budget_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is said how long one takes, and what to write to try it all the same."""
    Slow.made, Slow.clock_s = 0, time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: Slow.clock_s)
    for module in (tried_values, order):
        monkeypatch.setattr(module, "time", clock)

    sweep = try_remedies([Slow()], name="slow", budget_s=20)

    assert Slow.made == 1
    assert sweep.summary
    told = "`slow`: not tried, one pickle takes 12.0 s of a 20.0 s budget"
    assert sweep.summary.headline == told
    assert "try_remedies(slow, budget_s=480)" in sweep.summary.facts[0]


def test_remedies_that_do_not_fit_into_the_budget_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each pickle takes 3 s, of 20 s: the first remedy is tried, the second is told."""
    now = SimpleNamespace(seconds=0.0)
    real = PickleWay.send

    def send(way: PickleWay, value: object) -> Any:
        now.seconds += 3
        return real(way, value)

    class Passing(np.ndarray[Any, Any]):
        def __reduce_ex__(self, protocol: Any) -> Any:
            now.seconds += 3
            return np.asarray(self).__reduce_ex__(protocol)

    monkeypatch.setattr(PickleWay, "send", send)
    clock = SimpleNamespace(monotonic=lambda: now.seconds)
    for module in (tried_values, order):
        monkeypatch.setattr(module, "time", clock)

    sweep = try_remedies(np.zeros(1_100_000).view(Passing), name="a", budget_s=20)

    assert len([v for v in sweep.variants if v.facts.get("tried")]) == 1
    assert any(note.startswith("1 of 2 remedies begun: the budget") for note in sweep.quality.notes)


def test_the_error_of_a_reducer_is_shown() -> None:

    class Guarded:
        def __reduce__(self) -> Any:
            message = "close the session first"
            raise RuntimeError(message)

    with pytest.raises(UsageError, match="RuntimeError: close the session first"):
        try_remedies({"a": Guarded()}, name="box")
