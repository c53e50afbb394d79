"""Repeats: one piece of code, cold once and warm often, and what there is when it stops early."""

import pickle

import pytest
from made_runs import repeats_of

from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.model import from_document, to_document


def test_the_first_run_is_cold_and_the_others_are_warm() -> None:
    """Cold stays apart, a trace of its own; the headline tells the cause of the warm one."""
    repeats = repeats_of(lambda: pickle.dumps([1]), 4)

    sweep = run(repeats)

    assert [point.cold for point in sweep.points] == [True, False, False, False, False]
    assert [point.repeat for point in sweep.points] == [0, 1, 2, 3, 4]
    assert [entry.cold for entry in sweep.traces] == [True, False]
    assert all("pickle.dumps" in point.stages for point in sweep.points)
    told, warm = sweep.summary, sweep.traces[-1].trace.summary
    assert told is not None
    assert warm is not None
    assert warm.headline.partition(": ")[2].partition(",")[0] in told.headline


def test_the_document_is_valid_and_names_what_was_written() -> None:
    """It can be saved, loaded and drawn like a round trip."""
    repeats = repeats_of(lambda: pickle.dumps(b"x" * 1000), 1)

    sweep = run(repeats)

    assert from_document(to_document(sweep)).name == "f()"
    (variant,) = sweep.variants
    assert variant.facts["in_band_bytes"] == len(pickle.dumps(b"x" * 1000))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_run_that_does_not_end_is_left_out_and_said(error: type[BaseException]) -> None:
    """An interrupted run is no measurement: it is not among the points, and a note says why."""
    count = iter(range(100))

    def call() -> None:
        pickle.dumps(1)
        if next(count) == 3:
            raise error

    repeats = repeats_of(call, 10)

    with pytest.raises(error):
        run(repeats)
    sweep = repeats.document

    assert [point.cold for point in sweep.points] == [True, False, False]
    word = "interrupted" if error is KeyboardInterrupt else error.__name__
    assert sweep.variants[0].notes == (f"{word} after 2 warm runs of 10; that run is left out",)
    assert from_document(to_document(sweep)).name == "f()"


def test_results_are_dropped_between_runs() -> None:
    """A call that returns gigabytes holds them once, not once for each run."""
    alive = 0
    most = 0

    class Result:
        def __init__(self) -> None:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    repeats = repeats_of(Result, 3)

    run(repeats)

    assert (alive, most) == (0, 1)
