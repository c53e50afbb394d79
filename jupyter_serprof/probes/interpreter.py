"""Probe of the interpreter: first-use imports, garbage collection and waiting for threads.

They are named apart because they are blamed on serialization otherwise: the first ``ray.put`` of a
process spends 200 ms and more on imports.
"""

import gc
import selectors
import sys
from _thread import interrupt_main
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from threading import get_ident
from typing import Any

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.hook import Place, Record, note
from jupyter_serprof.capture.patching import silence
from jupyter_serprof.capture.recorder import OWN_THREADS, Recorder, active_recorders
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.looks import LOOK, LOOKS, sleeps_between, tell_start

_GC = Place("gc:collect", "gc", "gc")
#: What is over sooner did not wait: the result was there. Dask asks once for each task.
_LEAST_WAIT_NS = 20_000
_WAITS = (("threading:Thread.join", 0), ("concurrent.futures._base:Future.result", _LEAST_WAIT_NS))
_PAUSE = "python.pause"
#: Where the thread of the caller idles itself. Libraries do so inside of what is watched already:
#: there it is theirs. A condition is what Event.wait, Queue.get and futures.wait wait for; an event
#: loop with nothing to do is in its selector: so is who awaits. Not `time.sleep`: a builtin that
#: stands replaced cannot be pickled by who holds the original, such as Dask's scheduler in here.
PAUSES = tuple(
    Place(path, "python.wait", _PAUSE, least_ns=_LEAST_WAIT_NS, joins=True)
    for path in (
        "threading:Condition.wait",
        f"selectors:{selectors.DefaultSelector.__name__}.select",
        # Sleeps and looks, until blocks of Ray Data are there.
        "ray.data._internal.execution.streaming_executor_state:OpState.get_output_blocking",
    )
)


#: ``import_module`` asks the seam for modules that are loaded, too: nothing is imported then.
_LOADED = ""


def _arm_late_probes(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    if token:
        return _LOADED
    late = [place for place in (*PAUSES, *LOOKS) if args[:1] == (place.path.partition(":")[0],)]
    for recorder in active_recorders():
        for probe in recorder.probes if late else ():
            if isinstance(probe, InterpreterProbe):
                probe.arm_pauses(late)
        recorder.arm_waiting()  # last: it removes all where the recording has ended meanwhile
    return args[0] if args and get_ident() not in OWN_THREADS else _LOADED


class _Press(defaultdict[str, None]):
    """Presses Ctrl-C when ``stop`` is read for the first time, in nothing but C code."""

    # Python code would be interrupted right there.

    stop = property(itemgetter("once"))


class _Presses:
    """Presses Ctrl-C again where a callback of the collector has swallowed it."""

    # Python prints and drops what is raised in such a callback. A Ctrl-C that arrives while the
    # collector works is raised where Python code runs next: in a callback of ours, before its first
    # line, where nothing of ours can catch it; so this stands before ``sys.unraisablehook`` while
    # somebody listens to the collector.

    def __init__(self) -> None:
        self._callbacks: list[object] = []
        self._pressed: list[Any] = []
        self._hook: object = None

    def add(self, callback: object) -> None:
        if not self._callbacks:
            # Another one each time: the last one may still stand behind a hook of the user.
            self._hook = sys.unraisablehook = partial(self._hear, sys.unraisablehook)
        self._callbacks.append(callback)

    def remove(self, callback: object) -> None:
        """Watch it no longer; put everything back behind the last one."""
        self._callbacks = [known for known in self._callbacks if known is not callback]
        if self._callbacks:
            return
        gc.callbacks[:] = [
            known for known in gc.callbacks if all(known is not press for press in self._pressed)
        ]
        self._pressed.clear()
        if isinstance(self._hook, partial) and sys.unraisablehook is self._hook:
            sys.unraisablehook = self._hook.args[0]

    def press_behind_all(self) -> None:
        """Press it when all callbacks of this collection are through: the list is read as it grows.

        The collector calls ``getattr(press, "stop", info)``.
        """
        self._pressed.append(partial(getattr, _Press(interrupt_main)))
        gc.callbacks.append(self._pressed[-1])

    def _hear(self, before: Callable[[Any], object], unraised: Any, /) -> None:  # noqa: ANN401
        """Take what could not be caught; all that is not ours goes where it went before."""
        # Python 3.14 hands no object over; its message ends with the repr of the callback.
        said = str(unraised.err_msg)
        is_ours = any(
            unraised.object is known or said.endswith(f"GC callback {known!r}")
            for known in self._callbacks
        )
        if is_ours and issubclass(unraised.exc_type, KeyboardInterrupt):
            self.press_behind_all()
        else:
            before(unraised)


_PRESSES = _Presses()


class _OwnThread:
    """A sink for what the thread of a recorder does: those of libraries idle all the time."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.now, self.failed = recorder.now, recorder.failed

    def add(self, record: Record) -> None:
        if record[1] == self._recorder.thread:
            self._recorder.add(record)


class InterpreterProbe(Probe):
    """Sees imports that load a module, runs of the cycle collector, and waits of the caller.

    The import seam is ``importlib._bootstrap._find_and_load``, which the import statement calls
    only for modules that are not loaded yet; nested imports count as part of the outermost one.
    """

    name = "interpreter"
    library = "importlib"
    #: What the collector calls, the very object; None without a recording.
    _callback: object = None
    _own: _OwnThread | None = None

    def places(self) -> list[Place]:
        """Return the import seam and the waits."""
        seam = "importlib._bootstrap:_find_and_load"
        loaded = lambda args, kwargs: (args, kwargs, bool(args) and args[0] in sys.modules)  # noqa: E731
        imports = Place(seam, "import", "import", before=loaded, after=_arm_late_probes)
        waits = [
            Place(place, "python.wait", "python.wait", least_ns=least_ns)
            for place, least_ns in _WAITS
            if place.partition(":")[0] in sys.modules
        ]
        return [imports, *waits]

    def arm(self, recorder: Recorder) -> None:
        """Listen at the seams and to the collector."""
        super().arm(recorder)
        self._recorder, self._own = recorder, _OwnThread(recorder)
        self.arm_pauses((*PAUSES, *LOOKS))
        self._gc_start_ns: int | None = None
        self._is_interrupted = False
        if self._callback is None:
            self._callback = self._collected
            _PRESSES.add(self._callback)
            gc.callbacks.append(self._callback)

    def arm_pauses(self, places: Iterable[Place]) -> None:
        """Listen where the thread of the caller idles, in modules that are there."""
        for place in places:
            if self._own is not None and place.path.partition(":")[0] in sys.modules:
                self.arm_place(place, self._own)

    def remove(self) -> None:
        """Stop listening."""
        if self._callback is not None:
            if self._callback in gc.callbacks:
                gc.callbacks.remove(self._callback)
            _PRESSES.remove(self._callback)
            self._callback = None
        super().remove()
        if self._own is not None:  # also what an interrupt kept from being subscribed
            silence(self._own)

    forget = remove

    def _collected(self, phase: str, _: dict[str, int]) -> None:
        """Take note of a collection; Python prints and drops what is raised in here."""
        try:
            self._note_collection(phase)
        except KeyboardInterrupt:
            self._is_interrupted = True
        if self._is_interrupted and phase == "stop":
            self._is_interrupted = False
            _PRESSES.press_behind_all()

    def _note_collection(self, phase: str) -> None:
        if phase == "start":
            self._gc_start_ns = self._recorder.now()
        elif self._gc_start_ns is not None:
            start, end = self._gc_start_ns, self._recorder.now()
            self._gc_start_ns = None
            note((self._recorder,), (_GC, get_ident(), start, end, None, None, None))

    def refine(self, run: Page) -> None:
        """Keep the outermost of nested imports and the caller's own waits; name the module."""
        tell_start(run.drafts)
        run.drafts += [*sleeps_between(run.drafts)]
        for draft in run.drafts:
            draft.is_dropped |= draft.role == LOOK
            if draft.role == _PAUSE:
                draft.is_dropped = any(above.role != "user" for above in draft.ancestors())
            if draft.role == "import":
                draft.is_dropped = draft.extra == _LOADED or draft.is_inside("import")
                module, draft.extra = str(draft.extra or ""), None
                draft.name = f"import {module.partition('.')[0]}".rstrip()

    def unseen(self) -> Sequence[str]:
        """Return what the seams miss."""
        return [f"{place} (not in this Python)" for place in self.missing]
