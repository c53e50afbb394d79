"""What is told while something runs: between runs, seldom, and never at the price of a result."""

import json
import pickle
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from jupyter_serprof.capture.recorder import active_recorders
from jupyter_serprof.experiments.engine.experiment import Telling, run
from jupyter_serprof.experiments.roundtrip import trip as roundtrip
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip, Transport
from jupyter_serprof.model import Sweep, from_document, to_document
from jupyter_serprof.testing import TickClock

EMPTY = Sweep(name="x", started="")


@pytest.fixture
def clock(set_clock: Callable[[TickClock], None]) -> TickClock:
    """Time passes only where a test says so (and 10 ns with each reading)."""
    made = TickClock(tick_ns=10)
    set_clock(made)
    return made


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, clock: TickClock) -> Callable[..., None]:
    """Give transports a, b, ... whose runs take so many seconds."""

    def put(*seconds: float) -> None:
        kinds: dict[str, type[Transport]] = {}
        for key, each_s in zip("abc", seconds, strict=False):

            def trip(_: Transport, value: object, each_s: float = each_s) -> object:
                clock.advance_ms(int(each_s * 1000))
                return pickle.loads(pickle.dumps(value))

            kinds[key] = type("Slow", (Transport,), {"key": key, "title": key, "round_trip": trip})
        monkeypatch.setattr(roundtrip, "TRANSPORTS", kinds)

    return put


def told_of(trip: RoundTrip) -> list[Sweep]:
    """Run a trip; return what it told, each as a valid document."""
    told: list[Sweep] = []
    run(trip, told.append)
    for sweep in told:
        assert from_document(json.loads(json.dumps(to_document(sweep)))).name == sweep.name
    return told


def test_half_a_second_is_quiet_then_ten_a_second_are_enough(clock: TickClock) -> None:
    """What is over at once is never told about; nothing is made for nobody, nor before its time."""
    told: list[Sweep] = []
    made = Mock(return_value=EMPTY)
    progress, unheard = Telling(told.append), Telling[Sweep](None)
    counts = []

    for _ in range(12):
        progress.update(made)
        unheard.update(made)
        counts.append(len(told))
        clock.advance_ms(60)

    assert (counts, made.call_count) == ([0] * 9 + [1, 1, 2], 2)


def test_a_telling_takes_a_tenth_of_the_time_at_most(clock: TickClock) -> None:
    """One that took 300 ms is followed by 3 s without any."""
    # Not the first one: it imports what draws, and says nothing about those that follow.
    told: list[int] = []

    def tell(_: Sweep) -> None:
        told.append(clock() // 1_000_000)
        clock.advance_ms(300)

    progress = Telling(tell)
    clock.advance_ms(500)

    for _ in range(81):
        progress.update(lambda: EMPTY)
        clock.advance_ms(50)

    assert len(told) == 3
    assert told[1] - told[0] <= 500
    assert told[2] - told[1] >= 3_300


def test_a_telling_that_fails_is_the_last_one(clock: TickClock) -> None:
    """The run goes on without pictures; Ctrl-C is no failure and passes through."""
    calls: list[Sweep] = []

    def fail(sweep: Sweep) -> None:
        calls.append(sweep)
        message = "the front end is gone"
        raise OSError(message)

    failing, stopping = Telling(fail), Telling[Sweep](Mock(side_effect=KeyboardInterrupt))

    for _ in range(3):
        clock.advance_ms(10_000)
        failing.update(lambda: EMPTY)

    assert len(calls) == 1
    with pytest.raises(KeyboardInterrupt):
        stopping.update(lambda: EMPTY)


def test_a_round_trip_grows_run_by_run(slow: Callable[..., None]) -> None:
    """Each document has the points so far; rows say which transport runs and which waits."""
    slow(0.3, 0.3, 0.3)

    told = told_of(RoundTrip([1], repeat=2))

    counts = [len(sweep.points) for sweep in told]
    assert counts == [2, 3, 4, 5, 6, 7, 8]
    rows = [{v.key: (v.state, v.reason, v.notes) for v in sweep.variants} for sweep in told]
    once, next_one = ("ok", "", ("1 run so far",)), ("skipped", "runs for the first time now", ())
    assert rows[0] == {"a": once, "b": once, "c": next_one}
    assert rows[1] == {"a": once, "b": once, "c": once}
    assert rows[2]["c"] == ("ok", "", ("2 runs so far",))
    assert [rows[6][key][2] for key in "abc"] == [(), (), ("2 runs so far",)]
    assert {entry.variant for entry in told[1].traces} == {"a", "b", "c"}


def test_nothing_is_told_inside_a_run(slow: Callable[..., None]) -> None:
    """No recording runs while something is drawn."""
    slow(0.3, 0.3)
    running: list[object] = []

    run(RoundTrip([1], repeat=2), lambda _: running.append(active_recorders()))

    assert running == [()] * 4


def test_the_time_of_drawing_is_not_taken_from_the_runs(
    slow: Callable[..., None], clock: TickClock
) -> None:
    """As many warm runs fit into the budget as without a picture."""
    slow(0.3)

    quiet, drawn = run(RoundTrip([1])), run(RoundTrip([1]), lambda _: clock.advance_ms(500))

    assert len(quiet.points) == len(drawn.points)
