"""An object that takes seconds to pickle is not pickled again and again."""

from typing import Any

import pytest
from anatomy_samples import Model, give_clock

from jupyter_serprof.experiments.blame.recording import Blame
from jupyter_serprof.model import Anatomy


class Slow:
    """An object whose reducer moves the clock of the test by 12 s."""

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock

    def __reduce__(self) -> Any:
        self.clock[0] += 12.0
        return list, ()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time of the test in seconds."""
    now = [0.0]
    give_clock(monkeypatch, now)
    return now


def labels(anatomy: Anatomy) -> list[str]:
    """Return the labels of what was opened, the largest first."""
    return [part.label for part in sorted(anatomy.parts[1:], key=lambda part: -part.bytes)]


def test_without_time_for_three_more_one_pass_tells_the_parts(clock: list[float]) -> None:
    """It took 12 s before: one more pickle, and who has the bytes is known all the same."""
    value = Model(slow=Slow(clock), rest=list(range(1_000)))

    anatomy = Blame(value, "x", budget_s=30.0).run(12.0, known_bytes=5_000)

    assert clock == [12.0]
    assert anatomy.in_band_bytes == 5_000
    assert {".rest", ".slow"} <= set(labels(anatomy))
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert any("budget" in note and "pickled 2 times" in note for note in anatomy.notes)


def test_the_first_pass_tells_that_there_is_time_for_one_more(clock: list[float]) -> None:
    """Nobody knew before: two pickles, and no reducer is called to open what it holds."""
    value = {"slow": Slow(clock), "rest": list(range(1_000))}

    anatomy = Blame(value, "x", budget_s=30.0).run()

    assert clock == [24.0]
    assert '["rest"]' in labels(anatomy)
    assert anatomy.in_band_bytes == anatomy.plain_bytes
    assert any("pickled 2 times, 12.0 s each time" in note for note in anatomy.notes)


def test_what_takes_longer_than_the_budget_is_not_pickled_again(clock: list[float]) -> None:
    """Neither for its size nor for its parts."""
    value = {"slow": Slow(clock)}

    anatomy = Blame(value, "x", budget_s=10.0).run(known_s=12.0)

    assert clock == [0.0]
    assert not anatomy.is_complete
    assert any("it was pickled once, 12.0 s" in note for note in anatomy.notes)


def test_with_time_enough_everything_is_opened(clock: list[float]) -> None:
    """The reducer is called for the whole, to open it, and for the parts."""
    value = {"slow": Slow(clock), "rest": list(range(1_000))}

    anatomy = Blame(value, "x", budget_s=60.0).run(known_s=12.0)

    assert clock == [36.0]
    assert anatomy.is_complete
