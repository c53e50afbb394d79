"""The Recorder: the page that records are written on while probes are armed, and marks of users."""

from __future__ import annotations

import gc
import os
import sys
import time
from _pickle import dumps as _dumps  # no hook stands there
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from threading import Lock, get_ident
from traceback import walk_tb
from typing import TYPE_CHECKING, Protocol

from jupyter_serprof.capture.hook import OWN_NS, Hook, Place, Record, note
from jupyter_serprof.capture.patching import forget_all, silence
from jupyter_serprof.capture.records import Records
from jupyter_serprof.model import ProbeReport
from jupyter_serprof.model.stages import MARK
from jupyter_serprof.model.units import moment_text

if TYPE_CHECKING:
    from jupyter_serprof.capture.freeze import Page


def describe_failure(error: BaseException) -> str:
    """Return type, function and line of an error; not its message, which may quote a value.

    >>> try:
    ...     {}["a secret"]
    ... except KeyError as error:
    ...     describe_failure(error)
    'KeyError in <module>, line 2'
    """
    name = type(error).__name__
    for frame, line in list(walk_tb(error.__traceback__))[-1:]:
        name += f" in {frame.f_code.co_name}, line {line}"
    return name


#: 1,000,000 records are about 100 MB; what comes after is counted, not kept.
LIMIT = 1_000_000
#: Of both clocks; the closest counts. Together they take some us.
_READINGS = 5
_ACTIVE: list[Recorder] = []
#: Threads of our own that run now: what they import is nobody's first use.
OWN_THREADS: set[int] = set()
#: Records that wait to be moved to columns: they fit into a processor's cache. What one costs is
#: measured after so many.
_FRESH, _BETWEEN = 1_024, 16_384
_CALLS, _ROUNDS = 32, 5
_SCRAP = "jupyter_serprof:weighed"


class Watcher(Protocol):
    """What a recorder needs of a probe."""

    @property
    def library(self) -> str:
        """Name of the module that it watches."""

    def arm(self, recorder: Recorder) -> None:
        """Begin to listen."""

    def remove(self) -> None:
        """Stop listening; called again it does nothing."""

    def forget(self) -> None:
        """Stop listening in the child of a fork: no thread of the parent is there, ask nobody."""

    def refine(self, run: Page) -> None:
        """Complete the drafts of a run: sizes, stages, remote lanes."""

    def report(self) -> ProbeReport:
        """Say what was seen and what was not."""


class Recorder:
    """Takes records from the start to the stop of one run.

    ``probes``: What to listen with. A probe whose library is not imported yet is armed when it is.
    ``clock``: Monotonic clock, ns; recordings that run at the same time share one.
    ``limit``: Records kept; the others are counted in ``dropped_count``.
    ``wall_clock``: Time of day, ns.
    """

    def __init__(
        self,
        probes: Sequence[Watcher],
        *,
        clock: Callable[[], int] = time.perf_counter_ns,
        limit: int = LIMIT,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.probes = tuple(probes)
        self.now = clock
        self.wall_now = wall_clock
        self.limit = limit
        self.page = Records()
        self._room, self._making = 0, Lock()
        self.dropped_count = 0
        #: Of one call, ns: what its hook takes outside of what it measures itself, and what it adds
        #: between start and end.
        self.costs: list[tuple[float, float]] = []
        self.moved_ns = 0
        self.own_ns: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        #: Why nothing moved, as a line said it last, and when; the longest call that held the
        #: interpreter, s, and where.
        self.stood, self.held = ("", 0), (0.0, "")
        self.thread = 0
        self.start_ns = 0
        self.end_ns: int | None = None
        self.wall_start_ns = 0
        self.wall_end_ns = 0
        self.started = ""
        self._waiting: list[Watcher] = []

    def add(self, record: Record) -> None:
        """Take one record; called by hooks from any thread (extending a list is atomic)."""
        fresh = self.page.fresh
        if len(fresh) < self._room:
            fresh += record
        else:
            self._make_room(record)

    def _make_room(self, record: Record) -> None:
        if self._room < 0:  # full: looking at all that is kept would take longer than the call
            self.dropped_count += 1
            return
        start_ns, page = time.perf_counter_ns(), self.page
        if self._making.acquire(blocking=False):
            try:
                self._room = 0  # all others come here, too, until the new one is known
                page.move()
                self._room = Records.WIDTH * min(_FRESH, self.limit - len(page)) or -1
            finally:
                self._making.release()
        if len(page) < self.limit:
            page.fresh += record
        else:
            self.dropped_count += 1
        if len(page) > 1 + _BETWEEN * (len(self.costs) // _ROUNDS):
            self.weigh(record[0])
        self.moved_ns += time.perf_counter_ns() - start_ns

    def weigh(self, place: Place) -> None:
        """Measure what it costs to write a call down, here and now, in the kind of a place."""
        # In turns: nothing, a bare call, the same call watched; a call as heavy as those that come
        # by the hundred thousand, which finds the processor's caches as they do. ``before`` is
        # called with its one argument; what ``before`` and ``after`` take is measured by the hook
        # itself.
        if self.now is not time.perf_counter_ns:  # a clock that knows nothing of this machine
            return
        scrap = Recorder(())
        hook = Hook(_dumps, replace(place, path=_SCRAP, after=None, faults="", least_ns=0))
        hook.sinks = (scrap,)
        for _ in range(_ROUNDS):
            scrap.page.clear()
            OWN_NS.pop(_SCRAP, None)
            empty, bare, armed = _each_ns(None), _each_ns(_dumps), _each_ns(hook)
            seen = sum(end - start for _, _, start, end, *_ in scrap.page) / _CALLS
            inner, own = seen - (bare - empty), OWN_NS.pop(_SCRAP, 0) / _CALLS
            self.costs.append((armed - bare - inner - own, inner))

    def failed(self, place: Place, error: BaseException) -> None:
        """Note that our own part of a hook failed; the user's call went on."""
        self.failures[f"a hook failed at {place.path}: {describe_failure(error)}"] += 1

    def start(self) -> None:
        """Arm the probes, then start the clock."""
        # If arming is interrupted, everything that was armed is removed again.
        try:
            for probe in self.probes:
                if _is_imported(probe.library):
                    self._arm(probe)
                else:
                    self._waiting.append(probe)
            _ACTIVE.append(self)
            self.thread = get_ident()
            self.own_ns = Counter(OWN_NS)
            offset_ns = self._offset_ns()
            self.started = moment_text(self.now() + offset_ns)
            self.start_ns = self.now()
            self.wall_start_ns = self.start_ns + offset_ns
        except BaseException:
            self.stop()
            raise

    def begin(self) -> None:
        """Let the run begin now: what else happened in the start is none of it."""
        later_ns = self.now() - self.start_ns
        self.start_ns += later_ns
        self.wall_start_ns += later_ns

    def stop(self, end_ns: int | None = None) -> None:
        """Stop the clock, at a time, then remove everything; after an interrupt, call it again."""
        if self.end_ns is None:
            self.end_ns = max(self.now() if end_ns is None else end_ns, self.start_ns)
            self.wall_end_ns = self.end_ns + self._offset_ns()
            self.own_ns = OWN_NS - self.own_ns
        if self in _ACTIVE:
            _ACTIVE.remove(self)
        for probe in reversed(self.probes):
            self._guarded(probe, probe.remove, "removed")
        silence(self)

    def forget(self) -> None:
        """End in the child of a fork: what its parent records is told there."""
        self.page.clear()
        self.end_ns = self.end_ns or self.now()
        for probe in reversed(self.probes):
            self._guarded(probe, probe.forget, "forgotten")

    def _offset_ns(self) -> int:
        # Read several times: a thread that must pause between the two clocks reads them apart, and
        # all that other processes tell would be drawn too late by that pause.
        readings = ((self.now(), self.wall_now(), self.now()) for _ in range(_READINGS))
        before, wall, after = min(readings, key=lambda reading: reading[2] - reading[0])
        return wall - (before + after) // 2

    def _arm(self, probe: Watcher) -> None:
        self._guarded(probe, lambda: probe.arm(self), "armed")

    def _guarded(self, probe: Watcher, action: Callable[[], None], done: str) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001  (ours fails, the user's code runs)
            why = describe_failure(error)
            self.failures[f"the probe of {probe.library} could not be {done}: {why}"] += 1

    def arm_waiting(self) -> None:
        """Arm the probes whose library got imported meanwhile."""
        for probe in [probe for probe in self._waiting if _is_imported(probe.library)]:
            try:
                self._waiting.remove(probe)
            except ValueError:  # another thread took it
                continue
            self._arm(probe)
        if self.end_ns is not None:
            # The recording ended while another thread was still importing.
            self.stop()


def _each_ns(call: Callable[[int], object] | None) -> float:
    start = time.perf_counter_ns()
    if call is None:
        for _ in range(_CALLS):
            pass
    else:
        for _ in range(_CALLS):
            call(1)
    return (time.perf_counter_ns() - start) / _CALLS


def _forget_all() -> None:
    forget_all()
    while _ACTIVE:
        _ACTIVE.pop().forget()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_all)


def active_recorders() -> tuple[Recorder, ...]:
    """Return the recorders that run now, the oldest first."""
    return tuple(_ACTIVE)


def _is_imported(library: str) -> bool:
    """Tell whether a module is there and complete: while it is being imported its names are not."""
    spec = getattr(sys.modules.get(library), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


@contextmanager
def paused_collector() -> Iterator[None]:
    """Keep the collector out of the block; it would look through a large object again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@lru_cache(1_000)
def _mark(name: str) -> Place:
    return Place(f"{MARK}{name}", f"{MARK}{name}", role="user", joins=True)


class span:  # noqa: N801  (used like a keyword: with sp.span(...))
    """Mark a part of your own code; free when nothing records.

    Parameters
    ----------
    name
        What the picture calls it. It is saved with the document, so keep secrets out of it.

    Notes
    -----
    One mark may be used again and inside itself; threads need one each.

    Examples
    --------
    >>> with span("load model"):
    ...     pass
    """

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        # A mark kept in a variable may be open more than once, in a function that calls itself.
        self._open: list[tuple[tuple[Recorder, ...], int]] = []

    def __enter__(self) -> None:
        """Start the mark if somebody records."""
        recorders = active_recorders()
        self._open.append((recorders, recorders[0].now() if recorders else 0))

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        """End the mark; an exception passes through."""
        recorders, start = self._open.pop()
        if not recorders:
            return
        end = recorders[0].now()
        place = _mark(self._name)
        error_name = kind.__name__ if kind else None
        note(recorders, (place, get_ident(), start, end, None, None, error_name))
