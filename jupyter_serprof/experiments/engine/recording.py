"""One recording: every probe armed from the start to the end of a block of code."""

from __future__ import annotations

import sys
import time
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import enumerate as threads
from typing import Any, Self

from jupyter_serprof.capture.freeze import Page, freeze, page_of
from jupyter_serprof.capture.hook import Place, Record
from jupyter_serprof.capture.interrupts import held
from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.capture.patching import Subscription, arm
from jupyter_serprof.capture.recorder import Recorder, describe_failure
from jupyter_serprof.experiments.engine.live import Ticker, Told
from jupyter_serprof.model import SerprofError, Trace
from jupyter_serprof.objects.culprits import Culprit
from jupyter_serprof.objects.walk import DASK_THREADS
from jupyter_serprof.probes import Probe, available_probes
from jupyter_serprof.probes.pickle import refused_parts

#: Stages that say nothing about serialization when they stand alone.
_BACKGROUND = ("import", "gc", "python.wait")


#: A kernel interrupts an ``await`` by cancelling it.
_INTERRUPTS = (KeyboardInterrupt, CancelledError)
Raised = BaseException | type[BaseException] | None
_SHOWN = "IPython.core.interactiveshell:InteractiveShell.showtraceback"


class Deaf:
    """A sink for a place whose records nobody wants."""

    now = staticmethod(time.perf_counter_ns)

    def add(self, record: Record) -> None:
        """Forget it."""

    def failed(self, place: Place, error: BaseException) -> None:
        """Forget it, too."""


class Recording:
    """A context manager that records its block; made by `record`.

    ``also``: Probes that only this recording has, beside those that are always chosen.
    ``trace``: The document, made when it is first asked for after the block ended.
    ``live``: Called from another thread with what is known while it runs, from one second on.
    ``code``: What was typed, without literals: remedies are written by its names, it is not kept.
    """

    def __init__(self, name: str, *, detail: bool, also: Sequence[Probe] = ()) -> None:
        self.name, self.code = name, ""
        self._recorder = Recorder([*available_probes(detail=detail), *also])
        self.live: Told | None = None
        self._ticker: Ticker | None = None
        self._outcome = "ok"
        self._trace: Trace | None = None
        self._frozen: Trace | None = None
        self._had_spans = False
        self._loops = set[int | None]()
        self._at_traceback: Subscription | None = None
        self._refused: list[Culprit] = []

    def __enter__(self) -> Self:
        """Arm every probe and start the clock."""
        self.start()
        self._recorder.begin()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Stop the clock and remove everything; an exception passes through."""
        try:
            self.stop(error)
        except BaseException:  # Ctrl-C before it began
            self.stop(error and type(error))
            raise

    def start(self) -> None:
        """Arm every probe and start the clock; after Ctrl-C meanwhile nothing is armed."""
        self._loops = _dask_loops()
        try:
            with held():
                if self.live is not None:
                    self._ticker = Ticker(self.live, before="Preparing to record")
                    self._ticker.start()
                self._recorder.start()
                if self._ticker is not None:
                    self._ticker.begin()
        except BaseException:
            self.stop()
            raise

    def stop(self, error: Raised = None) -> None:
        """Stop the clock and remove everything; called again it does nothing.

        ``error``: What the code raised, if it did; its type where nobody looks into it.
        """
        end_ns = self._recorder.now()
        if self._recorder.end_ns is None and error is not None:
            kind = error if isinstance(error, type) else type(error)
            self._outcome = "interrupted" if issubclass(kind, _INTERRUPTS) else "error"
        with held():
            if self._ticker is not None:
                self._ticker.stop(is_whole=self._outcome == "ok")
            self._recorder.stop(end_ns)
            if self._at_traceback is not None:
                self._at_traceback.remove()
        try:
            known = None if isinstance(error, type) else error
            self._refused = self._refused or refused_parts(known)
        except Exception as ours:  # noqa: BLE001  (what the code raised is for the user)
            self._recorder.failures[f"what could not be pickled: {describe_failure(ours)}"] += 1

    def stop_at_traceback(self, is_ours: Callable[[], bool]) -> None:
        """Stop as soon as IPython shows an exception of the running cell.

        ``is_ours``: Tells whether the traceback that is about to be shown belongs to the recorded
            cell, and not to a cell that this one runs.

        Drawing a traceback imports and reads files; that is not the time of the cell. Without the
        place (another IPython) the recording ends with the cell.
        """

        def note_shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
            if kwargs.get("running_compiled_code") and is_ours():
                self.stop(sys.exc_info()[1])
            return args, kwargs, None

        with held(), suppress(AttributeError, ImportError, TypeError):
            self._at_traceback = arm(Place(_SHOWN, "user", before=note_shown), Deaf())

    @property
    def has_spans(self) -> bool:
        """Tell whether anything but imports, garbage collection and waits for threads was seen."""
        # What the threads of an open Dask client do, its heartbeats, is not the code's.
        if self._had_spans:
            return True
        own = self._loops | _dask_loops()  # one that is being closed says so, and is gone
        places = {name for name in self._recorder.page.names if isinstance(name, Place)}
        seen = {place for place in places if place.stage not in _BACKGROUND}
        return bool(seen) and any(
            place in seen and thread not in own for place, thread, *_ in self._recorder.page
        )

    @property
    def trace(self) -> Trace:
        """The trace of the block.

        Raises ``SerprofError``: If the block has not ended yet.
        """
        if self._trace is None:
            if self._recorder.end_ns is None:
                message = "the recording still runs. Read recording.trace after its with block"
                raise SerprofError(message)
            if self._frozen is None:
                run = page_of(self._recorder)  # of a million records it takes seconds
                with held():
                    self._frozen = self._made(run)
            from jupyter_serprof.analysis import analyse  # nothing that a recording waits for

            # Outside: it only looks, so Ctrl-C ends it, and who asks again has the document.
            rules = [rule for one in self._recorder.probes for rule in getattr(one, "rules", ())]
            self._trace = analyse(self._frozen, measure_limits(), rules, self.code)
            self._frozen = None
        return self._trace

    def _made(self, run: Page) -> Trace:
        trace = freeze(self._recorder, name=self.name, outcome=self._outcome, run=run)
        if self._refused:
            trace = _with_culprits(trace, self._refused)
        self._had_spans = self.has_spans
        # The page may hold the last references to values of the user.
        self._recorder.page.clear()
        return trace


def _dask_loops() -> set[int | None]:
    return {thread.ident for thread in threads() if thread.name.startswith(DASK_THREADS)}


def _with_culprits(trace: Trace, culprits: Sequence[Culprit]) -> Trace:
    failed = [at for at, span in enumerate(trace.spans) if "error" in (span.details or {})]
    spans = list(trace.spans)
    for at in failed[-1:]:
        told = {
            "culprit": "\n".join(one.path for one in culprits),
            "culprit_type": "\n".join(one.type_name for one in culprits),
        }
        spans[at] = spans[at]._replace(details={**(spans[at].details or {}), **told})
    return replace(trace, spans=tuple(spans))
