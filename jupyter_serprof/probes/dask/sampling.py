"""Probe of graph construction: samples where the recording thread is, apart from watched calls.

Construction is a thousand small calls; watching each would cost more than they do. A thread looks
at the stack of the recording thread every 5 ms instead. In the document its time fills only what
watched calls leave free.
"""

from __future__ import annotations

import sys
import time
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from threading import get_ident
from typing import NamedTuple

from jupyter_serprof.capture.draft import MAIN_LANE, Draft, Run
from jupyter_serprof.capture.failure import describe_failure
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.dask.frames import Seen, StackReader

INTERVAL_S = 0.005
#: A thread that wants to run waits up to 5 ms more for one that does not pause (Python's switch
#: interval), and makes it stand still for a moment: so there is always a whole pause in between.
#: Where cores are short it stands still until this one has got one: then this one looks less often.
_PAUSE_FACTOR = 30
#: How long the sampler asks for the interpreter before it is handed over. Each time that the code
#: itself lets go of it for a moment (a hash, a read) the asking begins anew: with Python's 5 ms a
#: thread may wait for ever, seen with Dask's tokens.
_SWITCH_S = 0.0005
_LONGEST_S = 0.025
_PATIENCE_S = 1.0
#: More pieces than people can look at; the smallest ones are left out, and that is said.
_PIECES = 5_000
_MS = 1e6


@dataclass(slots=True)
class Stretch:
    """Samples one after the other that saw the same; ns."""

    seen: Seen | None
    first: int
    last: int


class ConstructionSampler(Probe):
    """Sees which call of Dask, or which code of the user, the recording thread spends its time in.

    What it cannot see: what is over before the next look; where one call of compiled code goes that
    keeps the interpreter for itself (it is counted to what was seen around it).

    Parameters
    ----------
    interval_s
        Time between two looks, s.
    """

    name = "construction"
    library = "sys"
    requires = "python"

    def __init__(self, *, detail: bool = False, interval_s: float = INTERVAL_S) -> None:
        super().__init__(detail=detail)
        self.interval_s = interval_s
        self._stretches: list[Stretch] = []
        self._looks_count = 0
        self._longest_ns = 0
        self._failure = ""
        self._hidden_count = 0
        self._stop: LockType | None = None
        self._switch_s: float | None = None
        self._gone = allocate_lock()

    def arm(self, recorder: Recorder) -> None:
        """Begin to look at the thread that calls."""
        self.was_armed = True
        if self._stop is not None:
            return
        reader = StackReader(sys._getframe())  # noqa: SLF001  (documented; inspect's is slower)
        stop = self._stop = allocate_lock()
        stop.acquire()
        self._gone.acquire()
        if sys.getswitchinterval() > _SWITCH_S:
            self._switch_s = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_S)
        # Not threading's: programs count its threads, and its join is a watched place.
        start_new_thread(self._look_until, (stop, recorder, get_ident(), reader))

    def remove(self) -> None:
        """Stop looking, and wait until the thread is gone; called again it does nothing."""
        if self._stop is not None:
            with suppress(RuntimeError):  # an interrupted removal has come as far as this
                self._stop.release()
            if self._gone.acquire(timeout=_PATIENCE_S):
                self._gone.release()
            self._stop = None
        if self._switch_s is not None and sys.getswitchinterval() == _SWITCH_S:
            sys.setswitchinterval(self._switch_s)
        self._switch_s = None
        super().remove()

    @property
    def resolution_ns(self) -> int:
        """The longest time between two looks so far, ns."""
        return self._longest_ns

    @property
    def is_looking(self) -> bool:
        """Whether the thread is still there."""
        return self._gone.locked()

    def _look_until(
        self, stop: LockType, recorder: Recorder, ident: int, reader: StackReader
    ) -> None:
        try:
            pause_s = self.interval_s
            due = time.perf_counter() + pause_s
            while not stop.acquire(timeout=pause_s):
                late_s = time.perf_counter() - due - sys.getswitchinterval()
                if recorder.thread == ident:
                    self._look(recorder.now, ident, reader)
                pause_s = min(_LONGEST_S, max(self.interval_s, late_s * _PAUSE_FACTOR))
                due = time.perf_counter() + pause_s
        except Exception as error:  # noqa: BLE001  (nobody is there to catch it; `quality` has it)
            self._failure = describe_failure(error)
        finally:
            self._gone.release()

    def _look(self, now: Callable[[], int], ident: int, reader: StackReader) -> None:
        # No frame may outlive this call: it would keep the user's values.
        frame = sys._current_frames().get(ident)  # noqa: SLF001  (documented, for debuggers)
        if frame is None:
            return
        seen, at = reader.read(frame), now()
        self._looks_count += 1
        last = self._stretches[-1] if self._stretches else None
        if last is not None:
            self._longest_ns = max(self._longest_ns, at - last.last)
        if last is not None and last.seen == seen:
            last.last = at
        else:
            self._stretches.append(Stretch(seen, at, at))

    def refine(self, run: Run) -> None:
        """Lay what was seen into the gaps that watched calls leave on the main lane."""
        watched = sorted(
            (draft.start, draft.end)
            for draft in run.drafts
            if draft.lane == MAIN_LANE and not draft.is_dropped
        )
        pieces = list(gaps_filled(spread(self._stretches, run.start, run.end), watched))
        kept = sorted(pieces, key=lambda piece: piece.start - piece.end)[:_PIECES]
        self._hidden_count = len(pieces) - len(kept)
        run.drafts += [
            Draft(stage, name, MAIN_LANE, start, end, "sample")
            for start, end, (stage, name) in kept
        ]
        self._stretches = []

    def level(self) -> str:
        """Return how often it looked, in words."""
        return f"{self._looks_count} looks, at most {self._longest_ns / _MS:.0f} ms apart"

    def unseen(self) -> Sequence[str]:
        """Return how fine it sees."""
        found = [f"what is over between two looks, {self.interval_s * 1e3:.0f} ms apart or more"]
        if self._hidden_count:
            found.append(f"{self._hidden_count} gaps between watched calls, the shortest ones")
        return [*found, *filter(None, [self._failure])]


class Piece(NamedTuple):
    """A part of the main lane that no watched call covers; ns."""

    start: int
    end: int
    seen: Seen


def spread(stretches: Sequence[Stretch], start: int, end: int) -> Iterator[Piece]:
    """Give each instant to the nearest look; two that saw different things share in the middle."""
    edges = [start, *((a.last + b.first) // 2 for a, b in pairwise(stretches)), end]
    for stretch, (low, high) in zip(stretches, pairwise(edges), strict=False):
        low, high = max(low, start), min(high, end)  # noqa: PLW2901  (clipped to the run)
        if stretch.seen is not None and low < high:
            yield Piece(low, high, stretch.seen)


def gaps_filled(pieces: Iterable[Piece], watched: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """Yield what is left of pieces (in order) beside the watched intervals (sorted)."""
    at, cover_end = 0, 0
    for start, end, seen in pieces:
        low = max(start, cover_end)
        while at < len(watched) and watched[at][0] < end:
            if low < watched[at][0]:
                yield Piece(low, watched[at][0], seen)
            cover_end = max(cover_end, watched[at][1])
            low = max(low, cover_end)
            at += 1
        if low < end:
            yield Piece(low, end, seen)
