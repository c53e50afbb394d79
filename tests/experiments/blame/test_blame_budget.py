"""An object that takes seconds to pickle is not pickled again and again."""

import pytest
from anatomy_samples import Model, Slow, give_clock

from jupyter_serprof.experiments.blame.recording import Blame
from jupyter_serprof.model import Anatomy


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
    value = Model(slow=Slow(clock, 12.0), rest=list(range(1_000)))

    anatomy = Blame(value, "x", budget_s=30.0).run(12.0, known_bytes=5_000)

    assert clock == [12.0]
    assert anatomy.in_band_bytes == 5_000
    assert {".rest", ".slow"} <= set(labels(anatomy))
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert any("budget" in note and "pickled 2 times" in note for note in anatomy.notes)


@pytest.mark.parametrize(
    ("budget_s", "known_s", "took_s", "note"),
    [
        (30.0, None, 24.0, "pickled 2 times, 12.0 s each time"),  # nobody knew before
        (10.0, 12.0, 0.0, "it was pickled once, 12.0 s"),  # neither for size nor for parts
        (60.0, 12.0, 36.0, ""),  # for the whole, to open it, and for the parts
    ],
)
def test_as_many_passes_are_made_as_there_is_time_for(
    clock: list[float], budget_s: float, known_s: float | None, took_s: float, note: str
) -> None:
    """No reducer is called to open what it holds where there is no time for that."""
    value = {"slow": Slow(clock, 12.0), "rest": list(range(1_000))}

    anatomy = Blame(value, "x", budget_s=budget_s).run(known_s=known_s)

    assert clock == [took_s]
    assert anatomy.is_complete is (note == "")
    assert ('["rest"]' in labels(anatomy)) is (took_s > 0)
    assert took_s == 0 or anatomy.in_band_bytes == anatomy.plain_bytes
    assert any(note in told for told in anatomy.notes)
