"""What every experiment keeps to, whatever it measures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from unittest.mock import patch

from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.engine import experiment as engine
from jupyter_serprof.experiments.engine.experiment import Document, Experiment, run
from jupyter_serprof.model import Sweep

#: Inside each run is told, however short.
_EVERY_RUN = patch.multiple(engine, QUIET_S=0, BETWEEN_S=0, REST=0)


class ExperimentContract:
    """Tests that every experiment has to pass; a subclass gives the experiment."""

    def make(self, call: Callable[[], object]) -> Experiment[Document]:
        """Return a short experiment that calls ``call`` in its runs, always with the same seed.

        Its document is a sweep, or of one run a trace.
        """
        raise NotImplementedError

    def test_told_or_untold_the_end_is_the_same(self) -> None:
        """What is shown on the way leaves nothing in the document; an empty one is not told."""
        told: list[int] = []
        with _EVERY_RUN:
            shown = run(self.make(_nothing), lambda found: told.append(len(_places(found))))

        whole = self._whole()
        assert _places(shown) == whole, "it ends otherwise where somebody watches"
        assert bool(told) or len(whole) == 1, "nobody was told anything"
        assert min(told, default=1) > 0, f"so many points were told: {told}"
        assert told == sorted(told), f"points went: {told}"

    def test_a_telling_that_fails_costs_nothing(self) -> None:
        """A front end that is gone is no reason to lose a run."""

        def fail(_: Document) -> None:
            message = "the front end is gone"
            raise OSError(message)

        with _EVERY_RUN:
            assert _places(run(self.make(_nothing), fail)) == self._whole(), "runs are missing"

    def test_a_document_at_any_time(self) -> None:
        """Between any two runs it has the points that `Progress.done` counts."""
        experiment = self.make(_nothing)
        for _ in experiment.steps():
            done = experiment.progress.done
            if done:
                found = len(_places(experiment.document))
                assert found == done, f"{done} points are done, {found} in the document"
            assert not experiment.is_done or not experiment.progress.left, "done, and runs left"
        assert experiment.is_done, "it ended and is not done"
        assert _places(experiment.document) == self._whole(), "steps and run end otherwise"

    def test_stopped_between_two_runs_it_goes_on(self) -> None:
        """A button ends it after a run; what is left is measured later, nothing twice.

        Of one run nothing is left.
        """
        experiment = self.make(_nothing)
        if len(self._whole()) == 1:
            return
        with closing(experiment.steps()) as steps:
            next(steps for _ in steps if experiment.progress.done)
        early = _places(experiment.document)

        assert not experiment.is_done, "it was not stopped"
        assert armed_places() == [], "it left hooks behind"
        assert _places(run(experiment)) == self._whole(), "a run is missing, or was made twice"
        assert set(early) < set(self._whole()), "nothing was left"

    def test_an_error_of_the_code_comes_out_as_it_is(self) -> None:
        """Or stands in the document; also one that generators change on its way."""
        calls = iter([None])
        with suppress(StopIteration):
            run(self.make(lambda: next(calls)))
        assert armed_places() == [], "it left hooks behind"

    def test_an_interrupt_in_any_run_keeps_every_point(self) -> None:
        """Ctrl-C passes; the points stay, and it goes on to the same end."""
        whole, at = self._whole(), 1
        while True:
            press = _Pressed(at)
            experiment = self.make(press)
            try:
                run(experiment)
            except KeyboardInterrupt:
                self._check_interrupted(experiment, at, whole)
            if press.left > 0:
                return
            at += 1 + at // 3  # the first ones are the ones that differ

    def _check_interrupted(
        self, experiment: Experiment[Document], at: int, expected: list[tuple[object, ...]]
    ) -> None:
        assert armed_places() == [], f"interrupted in call {at}, it left hooks behind"
        done = experiment.progress.done
        kept = _places(experiment.document) if done else []
        whole = _places(engine.resume() if done else run(experiment))
        assert len(kept) == done, f"interrupted in call {at}, {len(kept)} of {done} are kept"
        assert set(kept) <= set(whole), f"interrupted in call {at}, points were lost later"
        assert whole == expected, f"interrupted in call {at}, it ends otherwise"

    def _whole(self) -> list[tuple[object, ...]]:
        return _places(run(self.make(_nothing)))


class _Pressed:
    """What is called in each run; at one of the calls somebody presses Ctrl-C, once."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def _nothing() -> None:
    """Do nothing."""


def _places(document: Document) -> list[tuple[object, ...]]:
    """Return which points there are; a trace is one."""
    points = document.points if isinstance(document, Sweep) else ()
    places = sorted((p.variant, p.parameter or 0.0, p.repeat, p.cold) for p in points)
    return [*places] if isinstance(document, Sweep) else [(document.name,)]
