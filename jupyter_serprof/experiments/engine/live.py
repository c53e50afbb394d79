"""What happens right now, told from a thread of its own: the caller's waits in Dask, in Ray, in C.

Nothing is measured for it. The stage is the place that the caller's thread is in, as its stack
says; how far it is, and why nothing moves, is what the probes of the recordings that run now know.
"""

from __future__ import annotations

import asyncio
import os
import time
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import replace
from io import BytesIO
from itertools import takewhile
from operator import attrgetter
from pickle import PickleBuffer
from types import FrameType
from typing import TYPE_CHECKING

from jupyter_serprof.capture.hook import CoroutineHook, Hook, Place
from jupyter_serprof.capture.recorder import OWN_THREADS, active_recorders, describe_failure
from jupyter_serprof.capture.stacks import stack_of
from jupyter_serprof.model.live import LiveFacts, seconds_text
from jupyter_serprof.model.stages import stage
from jupyter_serprof.model.trace import HELD
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.probes import Probe

if TYPE_CHECKING:
    from jupyter_serprof.capture.recorder import Recorder
    from jupyter_serprof.experiments.engine.experiment import Progress

Told = Callable[[LiveFacts], object]
#: Nothing is told of what is over sooner; then so often; a stand is explained after so long, s.
AFTER_S, EVERY_S, STILL_S = 1.0, 0.25, 2.0
#: A telling that takes long is told less often; how long the end waits for it, s.
_REST, _PATIENCE_S = 10, 0.5
#: A telling later than this, in a process that had the processor, was kept out by the interpreter.
_LATE_S, _BUSY_SHARE, _SAID_S = 1.0, 0.2, 2.0
_clock = time.monotonic


class Ticker:
    """Tells what is known of something that runs, from a thread of its own, after a second.

    One that raises is told no more, and the recordings that run note it.
    """

    def __init__(
        self, tell: Told, progress: Callable[[], Progress] | None = None, before: str = ""
    ) -> None:
        self._tell, self._progress = tell, progress
        self._before = before  # what goes on until what is measured begins
        self._stop, self._gone, self._pid = allocate_lock(), allocate_lock(), os.getpid()
        self._outlook, self._start_s, self._since_s = Outlook(), 0.0, 0.0
        self._last: LiveFacts | None = None
        self._counted, self._is_whole = LiveFacts(), False  # the last that had a number
        self._waits = (0.0, 0.0)  # since when, and what this process had run by then
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = allocate_lock()  # held while a turn of the loop is asked for

    def start(self) -> None:
        """Begin; where ``SERPROF_LIVE=0`` says so, nothing is ever told."""
        if os.environ.get("SERPROF_LIVE", "") != "0":
            began_s = getattr(getattr(self._tell, "__self__", None), "began_s", None)
            self._since_s = self._start_s = _clock() if began_s is None else began_s
            self._loop = asyncio._get_running_loop()  # noqa: SLF001
            self._waits = _clock(), time.process_time()
            self._stop.acquire()
            self._gone.acquire()
            try:  # Not threading's: programs count its threads, and its waits are watched.
                start_new_thread(copy_context().run, (self._run,))
            except RuntimeError:  # in a browser there is none
                self._stop.release()

    def begin(self) -> None:
        """Count from now on: what was told till now is no part of what is measured."""
        self._outlook, self._start_s, self._before = Outlook(), _clock(), ""

    def stop(self, *, is_whole: bool = False) -> None:
        """End it, of all that was counted or not; again, and in a child, it does nothing."""
        pid, self._pid, self._is_whole = self._pid, -1, is_whole
        if pid == os.getpid() and self._stop.locked():
            self._stop.release()
            self._gone.acquire(timeout=_PATIENCE_S)

    def _run(self) -> None:
        OWN_THREADS.add(get_ident())
        try:
            self._tell_on()
            if self._last is not None or _clock() - self._since_s > AFTER_S:
                self._tell(replace(self._ended(), ran_s=_clock() - self._start_s, is_over=True))
        except BaseException as error:  # noqa: BLE001  (no line must cost the result)
            for recorder in active_recorders():
                recorder.failures[f"what ran could not be told: {describe_failure(error)}"] += 1
        finally:
            OWN_THREADS.discard(get_ident())
            self._gone.release()

    def _tell_on(self) -> None:
        if self._is_over_by(self._since_s + AFTER_S / 2):
            return
        self._now()  # who is asked by now has answered when it is told
        due_s = max(_clock() + EVERY_S, self._since_s + AFTER_S)
        while not self._is_over_by(due_s):
            self._wake()
            now_s = _clock()
            self._last = self._outlook.seen(self._now(), now_s - self._start_s)
            self._counted = self._last if self._last.total else self._counted
            for recorder in active_recorders() if self._last.why else ():
                recorder.stood = self._last.why, recorder.now()
            self._tell(self._last)
            due_s = _clock() + max(EVERY_S, _REST * (_clock() - now_s))

    def _ended(self) -> LiveFacts:
        """Return what was counted last; all of it, where it came to its end."""
        last = self._counted if self._counted.total else self._last or LiveFacts()
        done = self._progress().done if self._progress and last.unit == "run" else last.total
        if self._is_whole and done:
            last = replace(last, done=done, total=done, share=1.0)
        return replace(last, why="", left_s=None)

    def _is_over_by(self, due_s: float) -> bool:
        """Wait for the end until a time; note the call that kept us out for long behind it."""
        is_over = self._stop.acquire(timeout=max(0.0, due_s - _clock()))
        (since_s, spent_s), self._waits = self._waits, (_clock(), time.process_time())
        late_s = self._waits[0] - max(due_s, since_s)
        if late_s > _LATE_S and self._waits[1] - spent_s > _BUSY_SHARE * late_s:
            self._outlook.held = (self._waits[0], late_s)
            for recorder in active_recorders():
                where, *_ = [*stack_of(recorder.thread, _named), ""]
                recorder.held = max(recorder.held, (late_s, where))
        return is_over

    def _wake(self) -> None:
        """Let an event loop that sleeps turn once: only then kernels hear Ctrl-C in ``await``."""
        # Source: ipykernel 7.4.0, ipkernel.py:IPythonKernel._cancel_on_sigint.
        if self._loop is not None and self._turn.acquire(blocking=False):
            with suppress(RuntimeError):  # it was closed
                self._loop.call_soon_threadsafe(self._turn.release)

    def _now(self) -> LiveFacts:
        still_s = _clock() - self._outlook.moved_s
        facts = next((_facts(each, still_s) for each in active_recorders()[-1:]), LiveFacts())
        facts = replace(facts, title=facts.title or self._before)
        known = facts if self._progress is None else of_runs(self._progress(), facts)
        if known.unit == "run":
            self._outlook.moves(facts)  # within a run, too
        return known


def of_runs(progress: Progress, facts: LiveFacts) -> LiveFacts:
    """Return how far all runs are; before more than one is known, how far the first one is."""
    if not progress.done and progress.left <= 1:
        facts = replace(facts, title=facts.title or progress.what)
        return facts if progress.left else replace(facts, share=None)
    done, left_s = progress.done, progress.left_s
    # While it runs there is more to come: nothing left to plan is an unknown number.
    total = done + progress.left if progress.left else None
    share = (done + (facts.share or 0.0)) / total if total else None
    is_early = left_s is None or (share or 0.0) < _FROM_SHARE
    left = None if is_early or left_s is None else (_SOONER * left_s, _LATER * left_s)
    guessed = 0.0 if progress.is_alike else 1.0
    return LiveFacts("", progress.what, done, total, "run", 0.0, share, left, facts.why, guessed)


@contextmanager
def told(tell: Told | None, progress: Callable[[], Progress] | None = None) -> Iterator[None]:
    """Tell what is known while the block runs; None tells nothing."""
    if tell is None:
        yield
        return
    ticker = Ticker(tell, progress)
    ticker.start()
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        ticker.stop(is_whole=is_whole)


def _facts(recorder: Recorder, still_s: float) -> LiveFacts:
    """Return the stage that a caller is in, and what probes know of the work that he waits for."""
    key = _stage_of(recorder.thread)
    probes = [one for one in recorder.probes if isinstance(one, Probe) and one.was_armed]
    known = [facts for one in probes if (facts := one.look(key, still_s)) is not None]
    # A cluster that idles has nothing to count.
    facts = max(known, key=lambda facts: facts.total or 0, default=LiveFacts(key))
    is_pickled = still_s > STILL_S and facts.stage in _PICKLES
    why = _pickling(recorder.thread) if is_pickled else facts.why
    title = facts.title * (still_s > STILL_S) or (stage(facts.stage).title if facts.stage else "")
    return replace(facts, title=title, why=why)


def _named(frame: FrameType) -> str:
    """Return where a call that is over was made: the interpreter was handed on just behind it."""
    name, module = frame.f_code.co_name, str(frame.f_globals.get("__name__"))
    return "" if name[0] == "<" or module.startswith("jupyter_serprof.") else f" in `{name}`"


_PICKLES = ("pickle.dumps", "dask.serialize", "ray.pickle")
_LIBRARIES = ("cloudpickle", "distributed", "jupyter_serprof", "ray", "pickle")


def _pickling(thread: int) -> str:
    """Return what a pickler calls now, and how many bytes it has given away: in blocks."""
    stack = stack_of(thread, _pickled)
    inside = takewhile(lambda name: name is not None, (name for name, _ in stack))
    size = max((size for _, size in stack), default=0)
    said = [f"{format_bytes(size)} so far"] if size else []
    return ", ".join([*[f"in {name}" for name in inside if name][-1:], *said])


def _pickled(frame: FrameType) -> tuple[str | None, int]:
    """Return the name of a function, None of a pickler, "" of what else is watched; and bytes."""
    place, is_one = _place_of(frame), frame.f_code.co_name == "dumps"
    held = list(frame.f_locals.values()) if is_one else []
    buffers = [one for each in held if type(each) is list for one in each]
    sizes = [one.raw().nbytes for one in buffers if type(one) is PickleBuffer]
    files = [each for each in held if type(each) is BytesIO and not each.closed]
    size = sum(each.tell() for each in files) + sum(sizes)
    name = "" if place is None or place.stage not in _PICKLES else None
    is_user = frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARIES
    return (frame.f_code.co_qualname * is_user if place is None else name), size


_LOCK = "python.wait"
_CALLS = (Hook.__call__.__code__, CoroutineHook.__call__.__code__)


def _place_of(frame: FrameType) -> Place | None:
    return frame.f_locals["self"].place if frame.f_code in _CALLS else None


def _stage_of(thread: int) -> str:
    """Return the stage of the innermost watched call that a thread is in now; "" outside of any."""
    places = [place for place in stack_of(thread, _place_of) if place is not None]
    if not places:
        return ""
    if places[0].stage == _LOCK and len(places) > 1:  # of the call around it
        del places[0]
    innermost, *around = places
    roles = (place.role for place in around if place.role in innermost.inside)
    return innermost.inside.get(next(roles, ""), innermost.stage)


#: What is left is told from this share on, as a range: ``tests/benchmarks/eta.py`` measures whether
#: the end lies in it at half time, a test asks made-up workloads. Of one long task nobody knows it.
_FROM_SHARE, _SOONER, _LATER = 0.1, 0.55, 1.3
#: The rate since so much of what is done by now tells it too; a part of the time that has passed
#: is what nobody foresees, another one what no measured task stands for.
_LATELY, _UNSEEN, _UNKNOWN = 0.7, 0.5, 0.7
#: Where more of what is left is of a kind of which nothing has ended, nobody knows it.
_MOST_GUESSED = 0.5
_counts = attrgetter("stage", "done", "total")


class Outlook:
    """What one look after the other says: since when nothing moves, and what is left."""

    def __init__(self) -> None:
        #: When something moved last; when a call that held the interpreter ended, how long it did.
        self.moved_s, self.held = _clock(), (-_SAID_S, 0.0)
        self._before, self._inside = LiveFacts(), LiveFacts()
        self._most, self._batches = 0.0, 1
        #: When the work that is counted now began, as `ran_s`, and between which it should end.
        self._began_s, self._ends_s = 0.0, (0.0, 0.0)
        #: The last look at which nothing was done; those that brought a hundredth, and the share.
        self._marks = [(0.0, 0.0)]

    def moves(self, facts: LiveFacts) -> None:
        """Note that something moves within a run."""
        if _counts(facts) != _counts(self._inside):
            self._inside, self.moved_s = facts, _clock()

    def seen(self, facts: LiveFacts, ran_s: float) -> LiveFacts:
        """Return facts completed by what was seen before them."""
        before, self._before, now_s = self._before, facts, _clock()
        is_same = _counts(facts) == _counts(before)
        if not is_same and before != LiveFacts():  # from the start nothing has moved till then
            self.moved_s = now_s
        why = facts.why if now_s - self.moved_s >= STILL_S else ""
        if now_s - self.held[0] < _SAID_S:
            why = f"one call{HELD}{seconds_text(self.held[1])} or more"
        is_one = before.done == before.total or facts.unit == "task"
        is_more = before.unit == facts.unit and is_one
        if before.total and (facts.total or 0) > before.total and is_more:
            # More comes than was known: nobody knows how much more will.
            self._batches, self._began_s = self._batches + 1, ran_s
        elif not before.total and facts.total and ran_s > 2 * AFTER_S:  # else from the start on
            self._began_s = self._began_s or ran_s - EVERY_S
        if not facts.share:
            self._marks = [(ran_s, 0.0)]
        if facts.share != before.share:
            self._expect(facts.share or 0.0, facts.guessed, ran_s)
        self._most = max(self._most, facts.share or 0.0)
        low_s, high_s = (max(0.0, end_s - ran_s) for end_s in self._ends_s)
        is_known = high_s > 0 and self._batches == 1 and facts.guessed <= _MOST_GUESSED
        share = self._most if facts.share is not None and self._batches == 1 else None
        known = facts.left_s or ((low_s, high_s) if is_known else None)
        # From what does not move nothing follows.
        return replace(facts, ran_s=ran_s, why=why, share=share, left_s=None if why else known)

    def _expect(self, share: float, guessed: float, ran_s: float) -> None:
        """Expect the end as what ended last tells it: time alone changes nothing."""
        self._ends_s = (0.0, 0.0)
        if not _FROM_SHARE <= share < 1:
            return
        late_s = max(self._began_s, self._marks[0][0])  # workers start first, tasks are long
        lately = [mark for mark in self._marks if mark[1] <= _LATELY * share][-1:]
        since = [(late_s, 0.0), (self._began_s, 0.0), *lately]
        lefts_s = [(ran_s - from_s) * (1 - share) / (share - part) for from_s, part in since]
        more_s = (ran_s - self._began_s) * (_UNSEEN * (1 - share) ** 0.5 + _UNKNOWN * guessed)
        self._ends_s = (ran_s + _SOONER * min(lefts_s), ran_s + _LATER * max(lefts_s) + more_s)
        if share >= self._marks[-1][1] + 0.01:
            self._marks.append((ran_s, share))
