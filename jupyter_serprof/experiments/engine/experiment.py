"""The experiment: what is measured step by step, and can be stopped between two of them."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from jupyter_serprof.experiments.engine.live import Told, told
from jupyter_serprof.model import Sweep, Trace, UsageError

#: What is over sooner is not told about: too short to be read.
QUIET_S = 0.5
#: s between two tellings; a reader is no faster.
BETWEEN_S = 0.1
#: After a telling that took long there are none for this multiple of its time.
REST = 10

Document = Trace | Sweep
Steps = Generator[None, None, None]
Made = TypeVar("Made", bound=Document)
Made_co = TypeVar("Made_co", bound=Document, covariant=True)
#: What is called with the document so far; None tells nothing.
Tell = Callable[[Made], None] | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an experiment is.

    ``done``: Points that are measured.
    ``left``: Points that will come, as long as the budget lasts.
    ``left_s``: How long those will take, s; None where unknown.
    ``bound``: Up to which size the memory reaches, in words; "" where unknown.
    ``is_alike``: Whether points that will come take as long as those before.
    ``what``: What is done now, in words; "" where the recording of a run tells it.
    """

    done: int
    left: int = 0
    left_s: float | None = None
    bound: str = ""
    is_alike: bool = True
    what: str = ""


class Experiment(Protocol[Made_co]):
    """Something that is measured step by step, stopped between two of them, and gone on with."""

    def steps(self) -> Steps:
        """Measure what is left, and yield between two runs: others may have the thread.

        Closing it is an interrupt. What happens between two steps takes nothing from a budget.
        Called again, it goes on where it was.
        """

    @property
    def document(self) -> Made_co:
        """What there is by now, at any time from the first point on."""

    @property
    def progress(self) -> Progress:
        """How far it is; may be asked at any time, also from another thread."""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to measure."""


class Once:
    """What is measured in one run; begun anew after an interrupt."""

    is_done, what = False, ""

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(int(self.is_done), int(not self.is_done), what=self.what)


class Telling(Generic[Made]):
    """Tells what was measured so far: between runs, from half a second on, and seldom.

    ``tell``: What is called with the document so far; None tells nothing. One that fails is called
        no more: no picture while something runs must cost its result.
    """

    def __init__(self, tell: Tell[Made] = None) -> None:
        self.tell, self._rest, self._next_s = tell, 0, time.monotonic() + QUIET_S

    def update(self, document: Callable[[], Made]) -> None:
        """Tell, if it is time to; when it is not, the document is not even made."""
        start_s = time.monotonic()
        if self.tell is None or start_s < self._next_s:
            return
        try:
            self.tell(document())
        except Exception:  # noqa: BLE001  (no picture must not cost the result)
            self.tell = None
        end_s = time.monotonic()
        # The first one imports what draws: that says nothing about those that follow.
        self._next_s, self._rest = end_s + max(BETWEEN_S, self._rest * (end_s - start_s)), REST


def steps_of(experiment: Experiment[Made], tell: Tell[Made] = None) -> Steps:
    """Make the steps of an experiment, and tell between them what was measured so far.

    ``tell``: Called with the document, from the first point on, once half a second is over.
    """
    __tracebackhide__ = True
    telling = Telling(tell)
    steps = experiment.steps()
    try:
        for _ in steps:
            if tell is not None and experiment.progress.done:
                telling.update(lambda: experiment.document)
            yield
    finally:
        steps.close()


def complete(
    experiment: Experiment[Made], tell: Tell[Made] = None, live: Told | None = None
) -> None:
    """Make all steps; what the user's code raises comes out as it is, `StopIteration` too.

    ``live``: Called from another thread with what is known while it runs, from one second on.
    """
    __tracebackhide__ = True
    try:
        with told(live, lambda: experiment.progress):
            for _ in steps_of(experiment, tell):
                pass
    except RuntimeError as error:
        if isinstance(error.__cause__, StopIteration) and _is_ours(error.__traceback__):
            raise error.__cause__ from None
        raise


def _is_ours(traceback: TracebackType | None) -> bool:
    """Tell whether our steps, not a generator of the user, made a RuntimeError of what passed."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    name = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__"))
    return name.startswith("jupyter_serprof.experiments.")


#: The experiment that was interrupted last; one at most.
_KEPT: list[Experiment[Any]] = []
_RESUME = "import jupyter_serprof as sp; sp.resume()"


def run(experiment: Experiment[Made], tell: Tell[Made] = None, live: Told | None = None) -> Made:
    """Measure what is left of an experiment and return its document; parameters as `complete`.

    Raises ``Exception``: What the user's code raises. `Experiment.document` is what there is by
        then; after Ctrl-C `resume` goes on with it, and a note of the exception says so.
    """
    __tracebackhide__ = True
    try:
        complete(experiment, tell, live)
    except KeyboardInterrupt as error:
        if count := experiment.progress.done:
            _KEPT[:] = [experiment]
            points = f"{count} point{' is' if count == 1 else 's are'} measured and kept"
            error.add_note(f"{points}. To go on: {_RESUME}")
        raise
    document = experiment.document
    if experiment.is_done and any(one is experiment for one in _KEPT):
        _KEPT.clear()
    return document


@dataclass(frozen=True)
class Unread(Once, Generic[Made]):
    """A document that was measured and not read yet: an experiment with nothing left to do."""

    make: Callable[[], Made]
    is_done = True

    def steps(self) -> Steps:
        """Measure nothing."""
        yield from ()

    @property
    def document(self) -> Made:
        """The document."""
        return self.make()


@contextmanager
def kept(make: Callable[[], Any]) -> Iterator[None]:
    """Keep a document for `resume` where Ctrl-C ends the block that makes or shows it."""
    try:
        yield
    except KeyboardInterrupt as error:
        if not hasattr(error, "__notes__"):  # nothing inside has kept it
            _KEPT[:] = [Unread(make)]
            error.add_note(f"what was measured is kept. To see it: {_RESUME}")
        raise


def resume(*, measure: bool = True) -> Document:
    """Go on with what was interrupted last, and return it whole.

    Parameters
    ----------
    measure
        False measures nothing more, and returns what there is.

    Of a round trip, repeated runs, a comparison, remedies that are tried, a sweep over sizes or
    chunks, from a function or a magic: as if nothing had been in between. Each point is
    measured once; the budget is what was left of it. Or what a magic had measured and not shown
    yet, and what `blame` knew: an Anatomy.

    Raises
    ------
    UsageError
        If nothing was interrupted after its first point, or it is whole by now.
    Exception
        What the code raises; after another Ctrl-C, call it again.

    Notes
    -----
    The function or value, and what was measured, are held until it is whole or something else is
    interrupted. Code of a magic is run with the variables as they are now.
    """
    __tracebackhide__ = True
    if not _KEPT:
        message = (
            "nothing was interrupted in this process after its first point: no round trip, "
            "repeats, comparison, sweep, --try"
        )
        raise UsageError(message)
    document: Document = run(_KEPT[0]) if measure else _KEPT[0].document
    return document
