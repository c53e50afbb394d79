"""The jobs of a panel, and their runner on the thread of the kernel, which answers between steps.

In a thread of its own it would be another program: probes that look at lanes would see a stranger,
and a cell of the notebook would run at the same time. As a part of the kernel's loop it is measured
where cells are measured, and never while one runs.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from jupyter_serprof.experiments.engine.experiment import Document, Experiment, Steps, steps_of
from jupyter_serprof.model import SerprofError

#: Steps are made for so long before others get a turn: a pause before a run of microseconds makes
#: it slower by half, and a twentieth of a second is not felt.
TURN_S = 0.05
#: s; a progress that changes faster cannot be read.
TOLD_S = 0.2
#: How long others have: a message needs several turns of the loop to be answered.
PAUSE_S = 0.005

READY, RUNNING, STOPPING = "ready", "running", "stopping"
STOPPED, FAILED, DONE = "stopped", "failed", "done"
ACTIVE = (RUNNING, STOPPING)


class KernelTurns:
    """Turns of the loop that runs now, in the context of the cell that runs now.

    Buttons arrive in another thread where front ends send them past the queue of cells
    (ipykernel 7, JupyterLab 4.4 and later). The context sends what is printed to this cell.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()

    def soon(self, call: Callable[[], None]) -> None:
        """Call back as soon as the kernel is free; may be asked from any thread."""
        self._loop.call_soon_threadsafe(call, context=self._context)

    def later(self, pause_s: float, call: Callable[[], None]) -> None:
        """Call back after a pause."""
        self._loop.call_later(pause_s, call, context=self._context)


class Runner:
    """Starts, stops and resumes one job after the other.

    ``grew``: Called with the document while it grows.
    ``ended``: Called with the document when it is done; stopped or failed, if anything was
        measured.
    ``changed``: Called whenever the state or the progress is another one.

    ``state``: One of the words above; `STOPPING` until the step that is being measured is over.
    ``problem``: Why it failed, one sentence; "" otherwise.
    """

    def __init__(
        self,
        turns: KernelTurns,
        *,
        grew: Callable[[Document], None],
        ended: Callable[[Document], object],
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turns, self._clock = turns, clock
        self._grew, self._ended, self._changed = grew, ended, changed
        self._steps: Steps | None = None
        self._lock = threading.Lock()
        self._told_s = 0.0
        self.job: Job | None = None
        self.state = READY
        self.problem = ""

    @property
    def can_resume(self) -> bool:
        """Whether there is a job that goes on where it was stopped."""
        return self.job is not None and self.state in (STOPPED, FAILED) and not self.job.is_done

    def start(self, make: Callable[[], Job]) -> None:
        """Make a job and run it, as soon as the kernel is free; nothing while another one runs."""
        if self._enter():
            self._turns.soon(lambda: self._begin(make))

    def resume(self) -> None:
        """Go on with the job that was stopped."""
        job = self.job
        if job is not None and self.can_resume and self._enter():
            self._turns.soon(lambda: self._begin(lambda: job))

    def stop(self) -> None:
        """Stop after the step that is being measured; may be called from any thread."""
        with self._lock:
            if self.state != RUNNING:
                return
            self.state = STOPPING
        self._changed()

    def _enter(self) -> bool:
        with self._lock:
            if self.state in ACTIVE:
                return False
            self.state, self.problem = RUNNING, ""
        self._changed()
        return True

    def _begin(self, make: Callable[[], Job]) -> None:
        self.job = None
        try:
            with interruptible():
                job = make()
                self._steps = steps_of(job, self._grew)
        except BaseException as error:  # noqa: BLE001  (told in the panel, never raised into the loop)
            self._end(error_text(error))
            return
        self.job = job
        self._turn()

    def _turn(self) -> None:
        unwatch()
        problem, is_over = "", False
        try:
            with interruptible():
                is_over = self._measure()
        except KeyboardInterrupt:
            is_over = True
            self.state = STOPPING
        except BaseException as error:  # noqa: BLE001  (told in the panel, never raised into the loop)
            problem, is_over = error_text(error), True
        if is_over:
            self._end(problem)
        else:
            self._show_progress()
            watch(lambda *_: self._turns.soon(self.stop))
            self._turns.later(PAUSE_S, self._turn)

    def _measure(self) -> bool:
        deadline = self._clock() + TURN_S
        while self.state == RUNNING:
            if self._steps is None or next(self._steps, self) is self:
                return True
            if self._clock() >= deadline:
                return False
        return True

    def _show_progress(self) -> None:
        if self._clock() >= self._told_s:
            self._changed()
            self._told_s = self._clock() + TOLD_S

    def _end(self, problem: str) -> None:
        if self._steps is not None:
            with suppress(BaseException):  # what it holds goes away either way
                self._steps.close()
        self._steps = None
        with self._lock:
            was_stopped = self.state == STOPPING
            self.problem = problem
            self.state = FAILED if problem else STOPPED if was_stopped else DONE
        self._changed()
        # Without any point it can say why; what was stopped before the first one cannot.
        if self.job is not None and (self.state == DONE or self.job.progress.done):
            try:
                self._ended(self.job.document)
            except Exception as error:  # noqa: BLE001  (as above)
                self.state, self.problem = FAILED, error_text(error)
                self._changed()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt of the kernel raise here, as in a cell; between cells it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        # None: a handler that is not Python's cannot be put back.
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


class _Interrupted(partial[None]):
    """A handler of SIGINT for the pauses between two turns, where an idle kernel ignores it."""


def watch(stop: Callable[..., None]) -> None:
    """Stop when the kernel is interrupted while it is idle; cells keep the handler they have."""
    if threading.current_thread() is threading.main_thread():
        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN or isinstance(before, _Interrupted):
            signal.signal(signal.SIGINT, _Interrupted(stop))


def unwatch() -> None:
    """Let the kernel ignore interrupts again while it is idle."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and isinstance(signal.getsignal(signal.SIGINT), _Interrupted):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def error_text(error: BaseException) -> str:
    """Return an exception as one sentence for people."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted before anything was measured"
    said = " ".join(str(error).split())
    if isinstance(error, SerprofError):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


Job = Experiment[Document]


@dataclass(frozen=True, slots=True)
class Source:
    """Something that can be measured: a variable, or a generator of data.

    ``key``: How it is asked for; no two sources have the same.
    ``title``: What the menu shows: name, type, size.
    ``reason``: Why it cannot be chosen, with a remedy; "" if it can.
    """

    key: str
    title: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Way(Source):
    """A transport to choose; ``is_chosen`` if it takes part by default."""

    is_chosen: bool = True


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes between which one can choose.

    ``steps``: (label, number) of each, in increasing order; none where there is no size to choose.
    ``low``, ``high``: Positions in ``steps`` that are chosen first.
    ``words``: Why it ends where it ends; a sentence.
    """

    steps: tuple[tuple[str, float], ...]
    low: int
    high: int
    words: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What was chosen.

    ``low``, ``high``: The ends of the range of sizes; None where there is none.
    ``repeat``: Warm runs of each; None runs as many as the budget allows.
    ``budget_s``: Seconds for all of it; None where ``repeat`` says when it ends.
    """

    source: str
    ways: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    count: int = 8
    repeat: int | None = None
    budget_s: float | None = None


class Offer(Protocol):
    """What a panel lets choose; every question is asked anew, since the notebook goes on."""

    def sources(self) -> Sequence[Source]:
        """Return what can be measured now, the likeliest first."""

    def ways(self) -> Sequence[Way]:
        """Return the transports; none where there is nothing to choose."""

    def scale(self, source: str, ways: Sequence[str]) -> Scale:
        """Return the sizes that a source can have."""

    def start(self, plan: Plan) -> Job:
        """Return the job that measures what was chosen; nothing runs yet."""

    def code(self, plan: Plan) -> str:
        """Return a line of code that does the same."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a panel calls its parts.

    ``magic``: The line that shows it.
    ``source``, ``sizes``, ``ways``: Labels of the controls.
    ``nothing``: What to do where there is nothing to measure.
    ``extra``: Label of a button that measures the source as it is; "" for no such button.
    """

    magic: str
    source: str
    sizes: str
    ways: str
    nothing: str
    extra: str = ""
