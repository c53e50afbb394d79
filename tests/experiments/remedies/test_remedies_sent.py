"""``--try CODE``: what the code really sent is tried, as it went, and nothing else."""

import pickle
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest

from jupyter_serprof.experiments.blame.keeper import Crossed, TryingRecording
from jupyter_serprof.experiments.engine.experiment import resume
from jupyter_serprof.experiments.remedies import ways as remedies_ways
from jupyter_serprof.experiments.remedies.code import try_code
from jupyter_serprof.experiments.remedies.ways import PickleWay
from jupyter_serprof.model import Finding, Summary
from jupyter_serprof.testing import make_trace

#: Time for every pair on the slowest machine.
AMPLE_S = 1e6
ROWS = [{"id": at, "x": at / 7} for at in range(2_000)]
BIG = np.arange(20_000.0)


@pytest.fixture(autouse=True)
def _own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the work of this thread: a machine that is busy with others makes no remedy slow."""
    clock = SimpleNamespace(perf_counter_ns=time.thread_time_ns)
    monkeypatch.setattr(remedies_ways, "time", clock)


def buffers() -> list[pickle.PickleBuffer]:
    """Return what takes buffers out-of-band."""
    return []


def recorded(code: Callable[[], Any]) -> TryingRecording:
    """Run code in a recording that keeps what crosses."""
    with TryingRecording("code", detail=False) as recording:
        code()
    return recording


WAYS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "protocol 4": (lambda: pickle.dumps(BIG, protocol=4), "pickle4", 1),
    "protocol 5, twice": (lambda: [pickle.dumps(BIG, protocol=5) for _ in "ab"], "pickle", 2),
    "handed over": (
        lambda: pickle.dumps(BIG, protocol=5, buffer_callback=buffers().append),
        "out-of-band",
        1,
    ),
    "cloudpickle": (lambda: cloudpickle.dumps(BIG), "cloudpickle", 1),
}


@pytest.mark.parametrize(("code", "now", "count"), WAYS.values(), ids=WAYS)
def test_what_crossed_is_kept_with_the_way_it_went(
    code: Callable[[], Any], now: str, count: int
) -> None:
    """The object itself, how it was pickled, and how often."""
    recording = recorded(code)

    [sent] = recording.sent
    assert sent.value is BIG
    assert (sent.now, sent.ways.total()) == (now, count)
    assert sent.size_bytes > BIG.nbytes
    recording.let_go()
    assert recording.sent == []


def test_code_that_raises_keeps_nothing() -> None:

    def code() -> None:
        pickle.dumps(BIG)
        raise ValueError

    with pytest.raises(ValueError), TryingRecording("code", detail=False) as recording:  # noqa: PT011  (our own)
        code()

    assert recording.sent == []


def test_what_is_named_and_not_sent_is_not_tried() -> None:
    """A sum of the rows is 19 B: nothing is claimed of the rows."""
    recording = recorded(lambda: pickle.dumps(sum(row["x"] for row in ROWS)))

    tried = try_code(recording.trace, recording.sent, {"rows": ROWS})

    assert tried.summary
    assert tried.summary.headline.startswith("nothing was tried: the largest value that was sent")
    assert recording.trace.summary
    assert tried.summary.facts[0] == recording.trace.summary.headline
    assert all(found.gain is None for found in tried.findings)
    assert not any("rows" in note for note in tried.quality.notes)
    nothing = try_code(make_trace([]), [], {})
    assert "For a value by itself: %serprof --try NAME" in nothing.quality.notes[-1]


def test_nothing_to_try_is_no_headline_above_a_remedy() -> None:
    """It would deny the line below it; the run's own headline stays, and the verdict behind it."""
    found = Finding("ray.same-object", "warn", "sent again", {}, "ref = ray.put(small)", spans=(0,))
    summary = Summary("5 ms: sent again")
    trace = replace(make_trace([("ray.submit", "client/main", 0, 5)]), summary=summary)

    tried = [try_code(replace(trace, findings=each), [], {}).summary for each in ((found,), ())]

    said = [(each.headline[:11], each.facts[0][:11]) for each in tried if each]
    assert said == [("5 ms: sent ", "nothing was"), ("nothing was", "5 ms: sent ")]


@pytest.mark.parametrize("is_beside", [False, True], ids=["copied", "handed over"])
def test_a_slice_that_was_sent_is_tried_as_it_went(*, is_beside: bool) -> None:
    """It has no name, what it is a slice of has; of what was handed over no copy is compared."""
    names: dict[str, object] = {"big": BIG}
    keywords: dict[str, Any] = {"buffer_callback": buffers().append} if is_beside else {}

    def code() -> None:
        names["d"] = pickle.dumps(BIG[::2], protocol=5, **keywords)

    recording = recorded(code)

    [sent] = recording.sent
    tried = try_code(recording.trace, recording.sent, names, budget_s=AMPLE_S)

    assert isinstance(sent.value, np.ndarray)
    assert sent.value.strides == (16,)
    [note] = [note for note in tried.quality.notes if note.startswith("tried on")]
    assert "<ndarray>, which has no name: " in note
    assert "a contiguous copy" in note
    assert "protocol 5" not in note
    assert ("a contiguous copy out-of-band" in note) is not is_beside


def test_the_findings_of_the_run_are_measured_and_say_against_what() -> None:
    """Spans stay; the baseline stands in the title."""
    found = Finding("pickle.small-objects", "warn", "many", {"n": 1}, "# r", spans=(0,))
    trace = replace(make_trace([("pickle.dumps", "client/main", 0, 5)]), findings=(found,))
    sent = [Crossed(ROWS, None, 60_000, Counter(["pickle"]))]

    tried = try_code(trace, sent, {"rows": ROWS, "pickle": pickle}, budget_s=AMPLE_S)

    assert tried.findings[0].rule == "pickle.small-objects"
    assert tried.findings[0].gain is not None
    assert tried.findings[0].spans == (0,)
    assert tried.findings[0].title.endswith("(gain: against pickle in-band)")
    assert found not in tried.findings
    assert any(note.startswith("tried on rows") for note in tried.quality.notes)


def test_an_interrupt_keeps_the_findings_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the second remedy: the gain of the first stays, and it is told."""
    real, pressed = PickleWay.send, [KeyboardInterrupt]

    def send(way: PickleWay, value: object) -> Any:
        if way.reuses is not None and pressed:
            raise pressed.pop()
        return real(way, value)

    monkeypatch.setattr(PickleWay, "send", send)
    sent = [Crossed(np.zeros(1_100_000), None, 8_800_000, Counter(["pickle"]))]

    tried = try_code(make_trace([]), sent, {"a": sent[0].value}, budget_s=AMPLE_S)

    [note] = [note for note in tried.quality.notes if note.startswith("tried on a")]
    assert "out-of-band buffers" in note
    assert note.endswith("Then it was interrupted; to go on: sp.resume()")
    [note] = [note for note in resume().quality.notes if note.startswith("tried on a")]
    assert "interrupted" not in note
