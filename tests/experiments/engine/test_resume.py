"""sp.resume: a sweep that Ctrl-C ended goes on where it was, or gives what it has."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.engine import experiment
from jupyter_serprof.model import UsageError

SIZES = (1_000, 10_000, 100_000)


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    experiment._KEPT.clear()
    yield
    experiment._KEPT.clear()
    assert armed_places() == []


class Pressed:
    """Makes bytes; at the n-th call somebody presses Ctrl-C, once."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, size: float) -> bytes:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return b"x" * int(size)


def resumed(*, measure: bool = True) -> sp.Sweep:
    sweep = sp.resume(measure=measure)
    assert isinstance(sweep, sp.Sweep)
    return sweep


def points(sweep: sp.Sweep) -> Counter[tuple[float | None, int, bool]]:
    return Counter((point.parameter, point.repeat, point.cold) for point in sweep.points)


def test_an_interrupted_sweep_goes_on_where_it_was_as_often_as_one_likes() -> None:
    """Every point once, as if nobody had pressed anything; the interrupt says how."""
    press = Pressed(3)
    with pytest.raises(KeyboardInterrupt) as caught:
        sp.sweep(press, SIZES, ["pickle"], 2, seed=1)
    before = resumed(measure=False)
    press.left = 3

    with pytest.raises(KeyboardInterrupt):
        sp.resume()
    more, whole = resumed(measure=False), resumed()

    unbroken = sp.sweep(Pressed(99), SIZES, ["pickle"], 2, seed=1)
    assert "sp.resume()" in " ".join(caught.value.__notes__)
    assert 0 < len(before.points) < len(more.points) < 9
    assert points(before) <= points(more) <= points(whole) == points(unbroken)
    assert whole.environment["seed"] == unbroken.environment["seed"]
    with pytest.raises(UsageError, match="nothing was interrupted"):  # what is whole is let go
        sp.resume()


def test_an_interrupt_before_the_first_point_keeps_nothing() -> None:
    """There is nothing to go on with: the sweep is made anew."""
    with pytest.raises(KeyboardInterrupt) as caught:
        sp.sweep(Pressed(1), SIZES, ["pickle"], 2, seed=1)

    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(UsageError, match="nothing was interrupted"):
        sp.resume(measure=False)


def test_what_the_magic_was_stopped_in_goes_on(shell: Shell) -> None:
    """The picture shows what there is, the error says how to go on, the rest is measured."""
    shell.user_ns["make"] = Pressed(4)

    ran = Ran(shell, "%serprof --sweep n=1000:100000:3 --repeat 2 --transports pickle make(n)")
    whole = resumed()

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert "sp.resume()" in ran.out + ran.err
    assert points(ran.sweep) <= points(whole)
    assert set(points(whole).values()) == {1}
    assert len(whole.points) == 9


#: What Ctrl-C may come into after the code has run, and how much of its work is left.
PHASES = {
    "the reading of many records": "jupyter_serprof.experiments.engine.recording.page_of",
    "the analysis": "jupyter_serprof.analysis.analyse",
    "the drawing": "jupyter_serprof.api.show",
}


@pytest.mark.parametrize("magic", ["%%serprof\npickle.dumps([1])", "%serprof pickle.dumps([1])"])
@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES)
def test_an_interrupt_of_our_own_work_is_heard_there_and_the_document_is_kept(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, magic: str, phase: str
) -> None:
    """The prompt is back, the error says how to see what was measured; nobody waited for more."""
    went_on: list[int] = []

    def pressed(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        went_on.append(1)

    with monkeypatch.context() as patched:
        patched.setattr(phase, pressed)
        ran = Ran(shell, magic)
    trace = sp.resume()

    assert (went_on, ran.documents) == ([], [])
    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert "sp.resume()" in ran.out + ran.err
    assert isinstance(trace, sp.Trace)
    assert trace.waterfall is not None
    assert [span.stage for span in trace.spans if span.stage == "pickle.dumps"] != []
    with pytest.raises(UsageError):  # once it was seen it is let go
        sp.resume()
