"""Probe of graph construction: samples where the recording thread is, apart from watched calls.

Construction is a thousand small calls; watching each would cost more than they do. A thread looks
at the stack of the recording thread every 5 ms instead. In the document its time fills only what
watched calls leave free.

Frames are looked at from the outside in. What lies below the user's code (a kernel, a test runner,
our own magic) is skipped; the first frame of Dask above it names the sample, whatever it calls.
"""

import sys
import time
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import pairwise
from threading import get_ident
from types import CodeType, FrameType
from typing import NamedTuple

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft, Page
from jupyter_serprof.capture.recorder import Recorder, describe_failure, paused_collector
from jupyter_serprof.capture.stacks import IS_SAFE
from jupyter_serprof.model.units import counted, format_ns
from jupyter_serprof.probes import Probe

#: The name of a sample in the cell itself.
YOUR_CODE = "your code"
_OURS = "jupyter_serprof"
_DASK = ("dask", "distributed")
#: Who runs the user's code. Above the user's code they are called by it, and count as its own.
_RUNNERS = frozenset(
    (
        *("IPython", "ipykernel", "ipywidgets", "comm", "jupyter_client", "traitlets"),
        *("asyncio", "tornado", "zmq", "selectors", "nest_asyncio", "concurrent", "threading"),
        *("contextlib", "runpy", "_pytest", "pytest", "pluggy", "debugpy", "_pydevd_bundle"),
    )
)
#: What may lie below the user's code, a magic of ours included.
_BELOW = _RUNNERS | {_OURS}
#: Parts of module names that say nothing to people: ``dask.array.core`` is ``array``.
_SILENT_PARTS = ("core", "dask_expr")
#: Calls that do not build a graph; their own time, between the calls that probes watch.
_OTHER = {
    "dask.prepare": "compute persist",
    "dask.submit": "Client.submit Client.map Client.get Client.compute Client.persist",
    "dask.gather": "Client.gather Future.result",
    "dask.scatter": "Client.scatter",
    "dask.wait": "wait",
    # Starting or closing a cluster or a client is what the cell does beside the graph.
    "python.code": "Client.__init__ Client.close LocalCluster.__init__ SyncMethodMixin.__exit__",
}
_OTHER_CALLS = {call: stage for stage, calls in _OTHER.items() for call in calls.split()}


class Seen(NamedTuple):
    """What a sample belongs to."""

    stage: str
    name: str


class _Kind(NamedTuple):
    """What is known of a code object: the top of its module's name, and its name for people."""

    top: str
    name: str


class StackReader:
    """Reads stacks of one thread; remembers where the recording began, and holds no frame.

    ``frame``: The innermost frame when the recording begins: the frames that are still there in a
        sample are around the user's code, or are the code that began to record.
    """

    def __init__(self, frame: FrameType | None = None) -> None:
        self._kinds: dict[CodeType, _Kind] = {}
        self._base: dict[int, CodeType] = {}
        while frame is not None:
            self._base[id(frame)] = frame.f_code
            frame = frame.f_back

    def read(self, frame: FrameType) -> Seen | None:
        """Return what the stack belongs to; None if it is not in code that the user wrote."""
        above = self._above_the_base(frame)
        user = next((at for at, kind in enumerate(above) if kind.top not in _BELOW), None)
        # The user's code calls us at the end of a ``with record()`` block.
        if user is None or [kind.top for kind in above[user + 1 : user + 2]] == [_OURS]:
            return None
        if above[user].top in _DASK:
            # A magic of ours calls Dask in the user's name; an event loop calls it in its own.
            is_for_user = user > 0 and above[user - 1].top == _OURS
            return _dask_call(above[user:]) if is_for_user else None
        dask = next((at for at in range(user + 1, len(above)) if above[at].top in _DASK), None)
        if dask is None:
            return Seen("python.code", _called(above[user + 1 :]))
        return _dask_call(above[dask:])

    def _above_the_base(self, frame: FrameType | None) -> list[_Kind]:
        # The first is the one that began to record: our own frames were above it then, and are
        # gone. A frame's address may be used again, but hardly for the same code while the frames
        # below it are the same.
        kinds, base, found = self._kinds, self._base, []
        while frame is not None:
            code = frame.f_code
            found.append(kinds.get(code) or self._learn(frame))
            if base.get(id(frame)) is code:
                break
            frame = frame.f_back
        found.reverse()
        return found

    def _learn(self, frame: FrameType) -> _Kind:
        module, code = str(frame.f_globals.get("__name__") or ""), frame.f_code
        kind = self._kinds[code] = _Kind(module.partition(".")[0], _name(module, code))
        return kind


def _called(above: Sequence[_Kind]) -> str:
    name = above[0].name if above else ""
    return YOUR_CODE if not name or "<" in name else name


def _dask_call(above: Sequence[_Kind]) -> Seen:
    """Name a call of Dask; a wrapper made by a decorator is named by what it wraps."""
    named = (kind.name for kind in above if kind.top in _DASK and "<" not in kind.name)
    name = next(named, "dask")
    last_two = ".".join(name.split(".")[-2:])
    stage = _OTHER_CALLS.get(last_two) or _OTHER_CALLS.get(name.rpartition(".")[2])
    return Seen(stage or "dask.construct", name)


def _name(module: str, code: CodeType) -> str:
    """Return ``Array.__add__`` for a method, ``array.concatenate`` for a function of Dask."""
    qualified = code.co_qualname
    top, _, rest = module.partition(".")
    if top not in _DASK:
        return qualified.rpartition("<locals>.")[2]
    parts = [part for part in rest.split(".") if part not in _SILENT_PARTS]
    home = ".".join(part for part in parts if part and not part.startswith("_"))
    return qualified if "." in qualified or not home else f"{home}.{qualified}"


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


@dataclass(slots=True)
class SameSamples:
    """Samples one after the other that saw the same; ns."""

    seen: Seen | None
    first: int
    last: int


class ConstructionSampler(Probe):
    """Sees which call of Dask, or which code of the user, the recording thread spends its time in.

    What it cannot see: what is over before the next look; where one call of compiled code goes that
    keeps the interpreter for itself (it is counted to what was seen around it).

    ``interval_s``: Time between two looks, s.
    """

    name = "construction"
    library = "sys"

    def __init__(self, *, detail: bool = False, interval_s: float = INTERVAL_S) -> None:
        super().__init__(detail=detail)
        self.interval_s = interval_s
        self._stretches: list[SameSamples] = []
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

    def forget(self) -> None:
        """Stop in the child of a fork, which has no such thread."""
        if self._gone.locked():
            self._gone.release()
        self.remove()

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
        except Exception as error:  # noqa: BLE001  (there is no caller; `quality` has it)
            self._failure = describe_failure(error)
        finally:
            self._gone.release()

    def _look(self, now: Callable[[], int], ident: int, reader: StackReader) -> None:
        with nullcontext() if IS_SAFE else paused_collector():
            # No frame may outlive this call: it would keep the user's values.
            frame = sys._current_frames().get(ident)  # noqa: SLF001  (documented, for debuggers)
            if frame is None:
                return
            seen = reader.read(frame)
        at = now()
        self._looks_count += 1
        last = self._stretches[-1] if self._stretches else None
        if last is not None:
            self._longest_ns = max(self._longest_ns, at - last.last)
        if last is not None and last.seen == seen:
            last.last = at
        else:
            self._stretches.append(SameSamples(seen, at, at))

    def refine(self, run: Page) -> None:
        """Lay what was seen into the gaps that watched calls leave on the main lane."""
        own = (d for d in run.drafts if d.lane == MAIN_LANE and not d.is_dropped)
        watched = sorted((draft.start, draft.end) for draft in own)
        pieces = list(gaps_filled(spread(self._stretches, run.start, run.end), watched))
        kept = sorted(pieces, key=lambda piece: piece.start - piece.end)[:_PIECES]
        self._hidden_count = len(pieces) - len(kept)
        run.drafts += [Draft(*seen, MAIN_LANE, start, end, "sample") for start, end, seen in kept]
        self._stretches = []

    def level(self) -> str:
        """Return how often it looked, in words."""
        looks = f"looked {counted(self._looks_count, 'time')}"
        apart = f", at most {format_ns(self._longest_ns)} apart" if self._longest_ns else ""
        return f"{looks}{apart}"

    def unseen(self) -> Sequence[str]:
        """Return how fine it sees."""
        found = [f"steps that end within {self.interval_s * 1e3:.0f} ms, between two looks"]
        if self._hidden_count:
            found.append(f"{self._hidden_count} gaps between watched calls, the shortest ones")
        return [*found, *filter(None, [self._failure])]


class Piece(NamedTuple):
    """A part of a lane that no watched call covers; ns."""

    start: int
    end: int
    seen: Seen


def spread(stretches: Sequence[SameSamples], start: int, end: int) -> Iterator[Piece]:
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
