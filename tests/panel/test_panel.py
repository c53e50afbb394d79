"""The panel: what can be chosen, what is measured then, and what stays when it ends."""

import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from ipywidgets import Widget

from jupyter_serprof.experiments.engine import experiment
from jupyter_serprof.experiments.engine.experiment import Document, Steps
from jupyter_serprof.experiments.sizes.subject import list_data
from jupyter_serprof.model import Sweep, UsageError
from jupyter_serprof.panel import runner as loops
from jupyter_serprof.panel.panel import Panel
from jupyter_serprof.panel.runner import Job, Plan, Runner, Scale, Source, Way, Words
from jupyter_serprof.panel.sizes import GraphOffer, SizeOffer

WORDS = Words("%serprof", "Measure", "Sizes", "Transports", "There is nothing to measure.")
SCALE = Scale((("1 kB", 1e3), ("2 kB", 2e3), ("5 kB", 5e3)), 0, 2, "Up to 5 kB.")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QUIET_S", "BETWEEN_S", "REST"):
        monkeypatch.setattr(experiment, name, 0)


class Later(loops.KernelTurns):
    """Turns that come when the test says so."""

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()

    def soon(self, call: Callable[[], None]) -> None:
        self.waiting.append(call)

    def later(self, pause_s: float, call: Callable[[], None]) -> None:
        assert pause_s > 0
        self.waiting.append(call)

    def turn(self, count: int = 1000) -> None:
        while self.waiting and count:
            count -= 1
            self.waiting.popleft()()


@dataclass
class Points:
    """A job of a few points; ``wrong`` is raised before the second one."""

    count: int = 3
    wrong: BaseException | None = None
    done: int = 0

    def steps(self) -> Steps:
        while self.done < self.count:
            if self.wrong and self.done:
                raise self.wrong
            self.done += 1
            yield

    @property
    def document(self) -> Sweep:
        return Sweep(name=f"{self.done} points", started="")

    @property
    def is_done(self) -> bool:
        return self.done == self.count

    @property
    def progress(self) -> Any:
        return SimpleNamespace(done=self.done, left=self.count - self.done, left_s=2.0, what="")


@dataclass
class Watched:
    """A runner with all that it tells."""

    turns: Later = field(default_factory=Later)
    grown: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        seconds = iter(range(10_000))
        self.runner = Runner(
            self.turns,
            grew=lambda doc: self.grown.append(doc.name),
            ended=lambda doc: self.ended.append(doc.name),
            changed=lambda: self.states.append(self.runner.state),
            clock=lambda: float(next(seconds)),
        )


# The runner


def test_a_job_is_measured_turn_by_turn_and_ends_as_a_document() -> None:
    """The click returns at once, a second one is none; between points others run."""
    seen = Watched()

    seen.runner.start(Points)
    seen.runner.start(lambda: Points(9))

    assert (seen.grown, seen.runner.state) == ([], "running")
    seen.turns.turn(1)
    assert seen.grown == ["1 points"]
    seen.turns.turn()
    assert seen.grown == ["1 points", "2 points", "3 points"]
    assert (seen.ended, seen.runner.state) == (["3 points"], "done")
    assert not seen.runner.can_resume


def test_stop_keeps_what_was_measured_and_resume_goes_on_with_the_same() -> None:
    seen, job = Watched(), Points(5)
    seen.runner.start(lambda: job)
    seen.turns.turn(2)

    seen.runner.stop()
    seen.turns.turn()

    assert (seen.ended, seen.runner.state) == (["2 points"], "stopped")
    assert seen.states[-2:] == ["stopping", "stopped"]
    seen.runner.resume()
    seen.turns.turn()
    assert (seen.ended, seen.runner.state) == (["2 points", "5 points"], "done")
    assert seen.grown == [f"{count} points" for count in range(1, 6)]


def test_a_stop_before_the_first_point_leaves_nothing_and_can_be_resumed() -> None:
    seen = Watched()
    seen.runner.start(Points)

    seen.runner.stop()
    seen.turns.turn()

    assert (seen.grown, seen.ended, seen.runner.state) == ([], [], "stopped")
    assert seen.runner.can_resume


@pytest.mark.parametrize(
    ("wrong", "state", "problem"),
    [
        (ValueError("no\nmore"), "failed", "ValueError: no more"),
        (KeyboardInterrupt(), "stopped", ""),
    ],
)
def test_what_ends_a_point_keeps_those_before_it(
    wrong: BaseException, state: str, problem: str
) -> None:
    """An error is a sentence and reaches no loop of the kernel; Ctrl-C stops like the button."""
    seen, before = Watched(), signal.getsignal(signal.SIGINT)

    seen.runner.start(lambda: Points(wrong=wrong))
    seen.turns.turn()

    assert (seen.ended, seen.runner.state, seen.runner.problem) == (["1 points"], state, problem)
    assert state == "failed" or seen.runner.can_resume
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_that_cannot_be_made_is_told() -> None:
    seen, gone = Watched(), "there is no variable x any more. Press Refresh"

    seen.runner.start(Mock(side_effect=UsageError(gone)))
    seen.turns.turn()

    assert (seen.runner.state, seen.ended, seen.runner.problem) == ("failed", [], gone)
    seen.runner.start(Points)
    seen.turns.turn()
    assert (seen.runner.state, seen.runner.problem) == ("done", "")


def test_an_interrupt_between_two_points_is_not_lost() -> None:
    """An idle kernel ignores interrupts, and the pauses of a sweep are idle time."""
    seen, before = Watched(), signal.signal(signal.SIGINT, signal.SIG_IGN)
    seen.runner.start(lambda: Points(9))
    seen.turns.turn(2)

    try:
        signal.raise_signal(signal.SIGINT)
        seen.turns.turn()
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert (seen.runner.state, after) == ("stopped", signal.SIG_IGN)
    assert seen.ended in (["2 points"], ["3 points"])


def test_a_picture_that_cannot_be_drawn_is_told() -> None:
    turns, ended = Later(), Mock(side_effect=OSError("disk full"))
    runner = Runner(turns, grew=lambda _: None, ended=ended, changed=lambda: None)

    runner.start(Points)
    turns.turn()

    assert (runner.state, runner.problem) == ("failed", "OSError: disk full")


# The panel


@dataclass
class Offered:
    """An offer that remembers what was chosen."""

    plans: list[Plan] = field(default_factory=list)
    made: list[Points] = field(default_factory=list)

    def sources(self) -> list[Source]:
        return [Source("x", "x: ndarray"), Source("d", "d: dict"), Source("t", "table", "no arrow")]

    def ways(self) -> list[Way]:
        """One chosen, one not, two that cannot be for the same reason."""
        absent = "Ray is not running."
        return [
            Way("pickle", "pickle 5"),
            Way("lz4", "lz4", is_chosen=False),
            Way("ray", "Ray", reason=absent),
            Way("ray-chunked", "Ray <in> chunks", reason=absent),
        ]

    def scale(self, source: str, ways: object) -> Scale:
        assert ways is not None
        return SCALE if source == "x" else Scale((), 0, 0, "One size.")

    def start(self, plan: Plan) -> Job:
        self.plans.append(plan)
        self.made.append(Points())
        return self.made[-1]

    def code(self, plan: Plan) -> str:
        return f"sweep {plan.source} {plan.low} {plan.high}"


class NoPlace:
    """A place that only notes what it is given."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def grow(self, doc: Sweep) -> None:
        self.shown.append(f"growing {doc.name}")

    def settle(self, doc: Document) -> None:
        self.shown.append(doc.name)

    def close(self) -> None:
        self.shown.append("closed")


@dataclass
class Open:
    """A panel with all that is around it."""

    offer: Offered = field(default_factory=Offered)
    turns: Later = field(default_factory=Later)
    place: NoPlace = field(default_factory=NoPlace)

    def __post_init__(self) -> None:
        self.panel = Panel(self.offer, WORDS, turns=self.turns, place=self.place)  # type: ignore[arg-type]  # as far as it is used

    @property
    def usable(self) -> set[str]:
        return {name for name, button in self.panel.buttons.items() if not button.disabled}


def test_the_panel_offers_what_works_and_says_why_the_rest_does_not() -> None:
    choice = Open().panel.choice

    assert choice.source.options == (("x: ndarray", "x"), ("d: dict", "d"))
    assert [key for key, box in choice.ways.items() if box.disabled] == ["ray", "ray-chunked"]
    assert [key for key, box in choice.ways.items() if box.value] == ["pickle"]
    assert "table: no arrow" in choice.reasons.value
    assert "Ray; Ray &lt;in&gt; chunks: Ray is not running." in choice.reasons.value
    assert choice.plan == Plan("x", ("pickle",), 1e3, 5e3, 8, budget_s=60.0)
    assert choice.code.value == "sweep x 1000.0 5000.0"
    assert "Up to 5 kB." in choice.words.value


def test_what_is_chosen_is_what_is_measured() -> None:
    opened = Open()
    choice = opened.panel.choice

    choice.ways["lz4"].value = True
    choice.sizes.value = (2e3, 5e3)
    choice.count.value = 5
    choice.ends.value = "a number of warm runs"
    choice.limit.value = 7
    opened.panel.buttons["sweep"].click()
    opened.turns.turn()

    assert opened.offer.plans == [Plan("x", ("pickle", "lz4"), 2e3, 5e3, 5, repeat=7)]
    assert choice.code.value == "sweep x 2000.0 5000.0"


def test_what_ends_it_changes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = Open().panel.choice
    sent: list[set[str]] = []
    monkeypatch.setattr(
        choice.limit, "_send", lambda message, **_: sent.append({*message["state"]}), raising=True
    )

    choice.ends.value = "a number of warm runs"

    assert sent == [{"description", "max", "value"}]


def test_what_has_one_size_shows_no_slider() -> None:
    """It makes the round trip; choosing the other again brings the slider back."""
    choice = Open().panel.choice

    choice.source.value = "d"

    assert choice.sizes.layout.display == "none"
    assert len({each.style for each in choice.ways.values()}) == 1 < len(choice.ways)
    assert (choice.plan.low, choice.plan.high) == (None, None)  # type: ignore[union-attr]
    choice.source.value = "x"
    assert choice.sizes.layout.display is None


def test_the_buttons_follow_the_state() -> None:
    """Sweep where there is a transport, then Stop only, then Resume; locked meanwhile."""
    opened = Open()
    panel = opened.panel
    panel.choice.ways["pickle"].value = False
    assert opened.usable == {"close"}
    panel.choice.ways["pickle"].value = True
    assert opened.usable == {"sweep", "close"}
    opened.panel.runner._clock = iter(range(1000)).__next__  # each step is a turn

    panel.buttons["sweep"].click()
    opened.turns.turn(1)

    assert opened.usable == {"stop"}
    assert panel.choice.source.disabled
    assert all(box.disabled for box in panel.choice.ways.values())
    panel.buttons["stop"].click()
    opened.turns.turn()
    assert opened.usable == {"sweep", "resume", "close"}
    assert not panel.choice.ways["pickle"].disabled
    assert panel.status.value == "Stopped; what was measured stays. 1 point, 2 left"
    panel.buttons["resume"].click()
    opened.turns.turn()
    assert opened.usable == {"sweep", "close"}
    assert (panel.status.value, panel.bar.value, panel.bar.max) == ("Done. 3 points", 3, 3)
    assert opened.place.shown[-3:] == ["growing 2 points", "growing 3 points", "3 points"]


def test_an_error_is_shown_as_text() -> None:
    opened = Open()
    opened.offer.start = lambda _: Points(wrong=ValueError("<b>"))  # type: ignore[method-assign, assignment]  # a job as well

    opened.panel.buttons["sweep"].click()
    opened.turns.turn()

    assert "ValueError: &lt;b&gt;" in opened.panel.problem.value


def test_closing_leaves_the_picture() -> None:
    """The controls go, the document does not: nothing is left that a notebook would keep."""
    Open()
    before = Widget.get_manager_state()

    (opened := Open()).panel.buttons["close"].click()

    assert opened.place.shown == ["closed"]
    assert Widget.get_manager_state() == before


# What is offered


def test_data_is_listed_and_code_is_not() -> None:
    """Arrays, lists and dicts, the largest first; no modules, functions, numbers, private names."""
    rows = [{"id": number} for number in range(1000)]
    code = {"np": np, "f": len, "g": test_data_is_listed_and_code_is_not, "k": Plan}
    namespace = {"x": np.zeros(10**6), "rows": rows, "d": {"a": 1}, "text": "abc", **code, "n": 5}
    namespace |= {"_x": np.zeros(3), "doc": Sweep(name="", started="")}

    found = list_data(namespace)

    told = [("x", "ndarray float64"), ("rows", "list"), ("text", "str"), ("d", "dict")]
    assert [(data.name, data.kind) for data in found] == told
    assert (found[0].size_bytes, found[0].rows) == (8_000_000, 10**6)
    assert 5_000 < (found[1].size_bytes or 0) < 50_000
    assert (found[3].size_bytes, found[3].rows) == (None, None)


def test_a_variable_is_swept_by_its_rows_and_the_bound_is_said() -> None:
    """Bytes are chosen, rows are asked for; it ends with all of it."""
    offer = SizeOffer(lambda: {"x": np.zeros(10**6)})

    scale = offer.scale("variable:x", ["pickle"])

    assert scale.steps[0] == ("1 kB", 1e3)
    assert scale.steps[-1] == ("all, 8.00 MB", 8e6)
    assert scale.words == "Its leading rows are taken: up to all 1,000,000 of them, 8.00 MB."
    plan = Plan("variable:x", ("pickle",), 1e3, 8e6, 3, repeat=2)
    assert offer.code(plan) == "sp.sweep(x, [125, 11_200, 1_000_000], ['pickle'], repeat=2)"
    sweep = offer.start(plan)
    *_, _last = sweep.steps()
    assert sweep.is_done
    assert sweep.progress.done == 9


def test_rows_of_unknown_size_are_chosen_by_their_number() -> None:
    """Objects of a class: nobody knows their bytes before they are pickled."""
    offer = SizeOffer(lambda: {"rows": [SimpleNamespace(a=1) for _ in range(30)]})

    scale = offer.scale("variable:rows", ["pickle"])

    assert [label for label, _ in scale.steps] == [
        *("1 rows", "2 rows", "5 rows", "10 rows", "20 rows", "30 rows")
    ]
    plan = Plan("variable:rows", ("pickle",), 2.0, 30.0, 3, repeat=1)
    assert offer.code(plan) == "sp.sweep(rows, [2, 8, 30], ['pickle'], repeat=1)"


def test_a_generator_is_bounded_by_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "jupyter_serprof.experiments.engine.machine.available_bytes", lambda: 100_000_000
    )

    scale = SizeOffer(dict).scale("generator:float64", ["pickle"])

    assert scale.steps[-1] == ("20 MB", 2e7)
    assert "100 MB of memory are free" in scale.words


def test_the_code_of_a_generator_gives_the_same_sweep() -> None:
    plan = Plan("generator:dicts", ("pickle", "ray"), 1e3, 1e5, 3, budget_s=60.0)

    code = SizeOffer(dict).code(plan)

    expected = "sp.sweep('dicts', [1_000, 10_000, 100_000], ['pickle', 'ray'], budget_s=60)"
    assert code == expected


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("dask.array.ones(400)", ""),
        ("dask.array.ones(()) + 1", "a scalar has no chunks to choose"),
        ("dask.delayed(len)([1])", "a Delayed has no chunks to choose"),
    ],
)
def test_only_chunks_are_swept(code: str, reason: str) -> None:
    """Of a scalar stages can be shown, and the words say why there is no more."""
    pytest.importorskip("dask.array", reason="Dask is not installed")
    import dask

    place: Any = NoPlace()
    words = Words("%graphstages", "Collection", "Chunk sizes", "", "nothing", "Show stages")
    value = eval(code, {"dask": dask})  # noqa: S307  (of the lines above)
    offer = GraphOffer(lambda: {"x": value})

    panel = Panel(offer, words, stages=offer.stages, turns=Later(), place=place)

    assert not panel.buttons["extra"].disabled
    assert panel.buttons["sweep"].disabled is bool(reason)
    assert reason in panel.choice.words.value


def test_what_has_no_rows_makes_the_round_trip() -> None:
    """A dict: one size; stopped, it has the transports before."""
    offer = SizeOffer(lambda: {"d": {"a": 1}})
    plan = Plan("variable:d", ("pickle", "cloudpickle"), repeat=1)

    job = offer.start(plan)

    assert offer.scale("variable:d", ["pickle"]).steps == ()
    assert offer.code(plan) == "%serprof --transports pickle,cloudpickle --repeat 1 d"
    steps = job.steps()
    next(steps)
    next(steps)
    steps.close()
    assert (job.progress.done, job.is_done) == (2, False)


def test_a_variable_that_is_gone_is_told() -> None:
    offer = SizeOffer(dict)

    with pytest.raises(UsageError, match=r"no variable x any more.*Press Refresh"):
        offer.start(Plan("variable:x", ("pickle",), 1e3, 1e6))
