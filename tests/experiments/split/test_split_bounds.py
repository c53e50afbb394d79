"""Values that are slow, that raise, change or are given up: bounded, told, and nothing is lost."""

from collections.abc import Callable
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
import pytest

from jupyter_serprof.api import run
from jupyter_serprof.experiments.split import passes as split_passes
from jupyter_serprof.experiments.split.words import Timed
from jupyter_serprof.model import Trace, UsageError, from_document, to_document
from jupyter_serprof.objects.split_picklers import Block, TooLongError, Watched, watch

#: Time for every pass on the slowest machine.
Split = partial(split_passes.Split, budget_s=1e6)
split = partial(split_passes.split, budget_s=1e6)

#: As typed into a cell: the class is written by value, with the modules and names that it uses.
NOTEBOOK = """
import math

class Slow:
    def __getstate__(self):
        return {"sum": math.fsum(range(20_000))}
"""
REDUCE = "pickle.reduce"


class Counting:
    """An object that counts how often it was pickled, and does more each time if it is told to."""

    def __init__(self, then: Callable[[int], object] = int) -> None:
        self.calls, self.then = 0, then

    def __reduce__(self) -> tuple[Any, ...]:
        self.calls += 1
        return list, (("x", self.then(self.calls)),)


class NeverBack:
    """An object that cannot be made again."""

    def __init__(self) -> None:
        self.x = 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        message = "not back!"
        raise RuntimeError(message)


def notebook() -> dict[str, Any]:
    """Return what the cell defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(NOTEBOOK, names)  # noqa: S102  (our own text)
    return names


def raising(error: BaseException, first: int) -> Callable[[int], int]:
    """Return what raises from so many calls on."""

    def then(calls: int) -> int:
        if calls >= first:
            raise error
        return calls

    return then


def last_rows(trace: Trace) -> dict[str, int]:
    """Return what each stage owned in the last group."""
    assert trace.waterfall
    last = len(trace.groups) - 1
    return {row.stage: row.self_ns for row in trace.waterfall.rows if row.group == last}


def check_sums(trace: Trace) -> None:
    """Check that all rows add up to the runs that happened, and the document comes back."""
    assert trace.waterfall
    wholes = sum(span.duration_ns for span in trace.spans if span.parent < 0)
    assert sum(row.self_ns for row in trace.waterfall.rows) == trace.wall_ns == wholes
    assert from_document(to_document(trace)) == trace


def test_slow_reducers_of_a_notebook_class_are_reducers() -> None:
    """Where the class was typed does not matter: its reducers own what they take."""
    slow = notebook()["Slow"]
    value = [slow() for _ in range(20)]

    look = watch(value, cloudpickle.Pickler)
    trace = split(value)

    assert look.has_own_ways
    assert look.spent_ns > look.duration_ns / 2
    assert last_rows(trace)[REDUCE] > 0
    check_sums(trace)


def test_one_disturbed_run_does_not_hide_the_reducers() -> None:
    """What watching costs is taken off the shorter run: the other one met a busy machine."""
    passes = Split([])
    passes._watched = [Watched(ns, 80, 1_000, 0, has_own_ways=False) for ns in (180, 95, 190)]
    half = passes._measured.dumped
    half.cold, half.runs = Timed(200), {"whole": [Timed(100)], "sink": [Timed(99), Timed(90)]}

    assert passes._dumps_levels() == {REDUCE: 80 - 5, "pickle.opcodes": 90}


def test_an_object_that_changes_while_it_is_pickled_is_told() -> None:
    """Its parts are those of different values; what was measured is kept."""
    small = Counting(lambda calls: "y" * calls)
    large = Counting(lambda calls: b"y" * (100_000 * calls))

    traces = [split(value, name="m") for value in (small, large)]

    for trace in traces:
        assert any("m changes while it is pickled" in note for note in trace.quality.notes)
        check_sums(trace)
    assert traces[0].summary
    assert any(f"pickled {small.calls} times" in fact for fact in traces[0].summary.facts)
    assert "pickle.copy" in last_rows(traces[0])
    assert not {"pickle.copy", "pickle.allocate"} & set(last_rows(traces[1]))


def test_a_block_refuses_what_has_outgrown_it() -> None:
    """A little more fits; the rest of a pass that writes much more is not made."""
    block = Block(100)

    assert block.write(b"x" * 101) == 101
    assert block.written() == b"x" * 101
    with pytest.raises(TooLongError):
        block.write(b"x" * 10_000)


def test_without_time_a_value_is_pickled_twice() -> None:
    """Once watched and once for real; one group, split as far as is known."""
    value = Counting()

    trace = split([value, np.ones(10_000)], budget_s=0)

    assert value.calls == 2
    assert len(trace.groups) == 1
    assert set(last_rows(trace)) >= {"pickle.dumps", REDUCE, "pickle.loads"}
    assert any("it was not made again" in note for note in trace.quality.notes)
    check_sums(trace)


def test_a_slow_value_gets_one_pass_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much time there is; the document says how often it was pickled."""
    monkeypatch.setattr(split_passes, "SLOW_S", 0)
    value = Counting()
    many = [value, np.ones(200_000), *([at] for at in range(20_000))]

    trace = split(many)

    assert trace.summary
    assert f"pickled {value.calls} times, unpickled 3 times" in trace.summary.facts
    assert value.calls <= 8
    assert trace.groups[-1].title == "again"
    check_sums(trace)


def test_a_large_array_is_slow_though_its_reducer_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into nowhere it takes no time; what real dumps takes counts, and copies are told apart."""
    # Blocks of 32 MiB and more are new pages in every run, also where memory is quick.
    value = np.ones(6_000_000)
    monkeypatch.setattr(split_passes, "SLOW_S", 1e-3)

    trace = split(value)

    assert trace.summary
    assert "pickled 6 times, unpickled 3 times" in trace.summary.facts
    assert {"pickle.copy", "pickle.allocate", "unpickle.copy"} <= set(last_rows(trace))
    check_sums(trace)


def test_the_words_of_an_error_are_kept() -> None:
    """The path to the culprit, and what its reducer said."""
    value = Counting(raising(RuntimeError("no!"), 1))

    with pytest.raises(UsageError, match=r"because of v\['a'\] \(Counting.*RuntimeError: no!"):
        split({"a": value}, name="v")


def test_an_error_of_a_later_pass_loses_nothing() -> None:
    """What was measured by then is shown, with the words of the error."""
    second = Counting(raising(RuntimeError("no!"), 2))
    later = Counting(raising(RuntimeError("no!"), 3))

    trace = split(later)

    assert "pickle.dumps" in last_rows(trace)
    assert any("RuntimeError: no!" in note for note in trace.quality.notes)
    check_sums(trace)
    with pytest.raises(UsageError, match="pickled once, not twice: RuntimeError: no!"):
        split(second)


def test_a_value_that_cannot_be_made_again_has_its_dumps() -> None:
    """An error of loads is a note."""
    trace = split(NeverBack())

    assert "pickle.dumps" in last_rows(trace)
    assert "loads was not measured: it raised RuntimeError: not back!" in trace.quality.notes
    check_sums(trace)


@pytest.mark.parametrize("first", [1, 2, 3, 4, 8, 10])
def test_an_interrupt_leaves_what_was_measured(first: int) -> None:
    """In the first look, in a pass, between passes: the document says so and adds up."""
    passes = Split(Counting(raising(KeyboardInterrupt(), first)), "v")

    with pytest.raises(KeyboardInterrupt):
        run(passes)

    trace = passes.document
    assert trace.outcome == "interrupted"
    assert trace.summary
    assert "interrupted" in trace.summary.headline
    assert bool(trace.spans) == (first > 2)
    check_sums(trace)
