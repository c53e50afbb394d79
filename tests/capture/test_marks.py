"""Marks: ``with sp.span("load model")`` is a span while somebody records, and free otherwise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_serprof.capture import recorder as marks
from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.recorder import Recorder, span
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Span, Trace
from jupyter_serprof.model.files import load, save_document
from jupyter_serprof.testing import TickClock


@pytest.fixture
def clock() -> TickClock:
    return TickClock()


@pytest.fixture
def recorder(clock: TickClock) -> Iterator[Recorder]:
    """A recorder without probes that runs during the test."""
    made = Recorder([], clock=clock)
    made.start()
    yield made
    made.stop()


def spans(recorder: Recorder) -> tuple[Span, ...]:
    recorder.stop()
    return freeze(recorder, name="test").spans


def test_a_mark_lasts_as_long_as_its_block(recorder: Recorder, clock: TickClock) -> None:
    """Name and duration are the block's; the stage says that the user marked it."""
    clock.advance_ms(1)
    with span("load model"):
        clock.advance_ms(5)
    clock.advance_ms(1)

    (mark,) = spans(recorder)
    assert (mark.name, mark.start_ns, mark.duration_ns) == ("load model", 1_000_000, 5_000_000)
    assert mark.stage.startswith("user")


@pytest.mark.usefixtures("recorder")
def test_a_mark_without_a_recording_does_nothing(
    recorder: Recorder, clock: TickClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Free when nothing records: the clock is not read and no record is made."""
    recorder.stop()
    readings_count = clock.readings_count
    monkeypatch.setattr(marks, "Place", None)

    with span("load model"):
        pass

    assert clock.readings_count == readings_count
    assert not recorder.page


def test_one_mark_may_be_used_again_and_inside_itself(recorder: Recorder, clock: TickClock) -> None:
    """A mark kept in a variable and used in a function that calls itself measures each level."""
    mark = span("walk")

    def walk(depth: int) -> None:
        with mark:
            clock.advance_ms(1)
            if depth:
                walk(depth - 1)
            clock.advance_ms(1)

    walk(1)

    assert [(m.start_ns, m.duration_ns) for m in spans(recorder)] == [
        (0, 4_000_000),
        (1_000_000, 2_000_000),
    ]


def test_an_exception_passes_a_mark_and_is_named(recorder: Recorder) -> None:
    mistake = ValueError("x")

    with pytest.raises(ValueError, match="x") as caught, span("load model"):
        raise mistake

    assert caught.value is mistake
    assert [mark.details for mark in spans(recorder)] == [{"error": "ValueError"}]


def test_every_recording_that_runs_has_the_mark(recorder: Recorder, clock: TickClock) -> None:
    inner = Recorder([], clock=clock)
    inner.start()
    with span("load model"):
        clock.advance_ms(1)

    assert len(spans(inner)) == len(spans(recorder)) == 1


def test_a_mark_that_began_before_the_recording_is_not_in_it(clock: TickClock) -> None:
    late = Recorder([], clock=clock)
    with span("around"):
        late.start()
        clock.advance_ms(1)
    late.stop()

    assert not late.page


def test_a_mark_may_have_any_name(recorder: Recorder) -> None:
    """Colons, dots, blanks and no letters at all are names like others."""
    names = ["a:b.c", " ", "", "Überschrift\n2"]
    for name in names:
        with span(name):
            pass

    assert sorted(mark.name for mark in spans(recorder)) == sorted(names)


def test_a_name_for_each_step_makes_a_document_that_loads(tmp_path: Path) -> None:
    """Names by the ten thousand are a row together, and rows share a number of pieces."""
    with Recording("steps", detail=False) as recording:
        for turn in range(32_000):
            with span(f"step {turn % 8_000}"):
                pass
    save_document(recording.trace, tmp_path / "steps.serprof.json")
    back = load(tmp_path / "steps.serprof.json")

    assert isinstance(back, Trace)
    assert back.waterfall
    rows = {row.stage: row for row in back.waterfall.rows if row.stage.startswith("user")}
    assert len(rows) == 5_001
    assert rows["user:3,000 more names"].count == 12_000
    assert sum(row.count for row in rows.values()) == 32_000
    assert sum(len(row.pieces) for row in rows.values()) <= 20_000
    assert any("8,000 names" in note for note in back.quality.notes)
