"""Probe of the interpreter: first-use imports, garbage collection and waiting for threads.

They are named apart because they are blamed on serialization otherwise: the first ``ray.put`` of a
process spends 200 ms and more on imports.
"""

from __future__ import annotations

import gc
import sys
import time
from _thread import interrupt_main, start_new_thread
from collections.abc import Sequence
from threading import get_ident
from typing import Any

from jupyter_serprof.capture.draft import Run
from jupyter_serprof.capture.point import Point
from jupyter_serprof.capture.recorder import Recorder, active_recorders
from jupyter_serprof.probes import Probe

_GC = Point("gc:collect", "gc", "gc")
#: What is over sooner did not wait: the result was there. Dask asks once for each task.
_LEAST_WAIT_NS = 20_000
#: Others listen to the collector, too: Ctrl-C is pressed again once all of them are through.
_AGAIN_S = 0.01
_WAITS = (
    ("threading:Thread.join", 0),
    ("concurrent.futures._base:Future.result", _LEAST_WAIT_NS),
)


#: ``import_module`` asks the seam for modules that are loaded, too: nothing is imported then.
_LOADED = ""


def _note_loaded(args: Any, kwargs: Any) -> Any:  # noqa: ANN401
    """Note whether the module is there already."""
    return args, kwargs, bool(args) and args[0] in sys.modules


def _arm_late_probes(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note which module was imported, and arm the probes that waited for it."""
    if token:
        return _LOADED
    for recorder in active_recorders():
        recorder.arm_waiting()
    return args[0] if args else None


def _interrupt_again() -> None:
    time.sleep(_AGAIN_S)
    interrupt_main()


class InterpreterProbe(Probe):
    """Sees imports that load a module, runs of the cycle collector, and joins of threads.

    The import seam is ``importlib._bootstrap._find_and_load``, which the import statement calls
    only for modules that are not loaded yet; nested imports count as part of the outermost one.
    """

    name = "interpreter"
    library = "importlib"
    requires = "python"

    def points(self) -> list[Point]:
        """Return the import seam and the waits."""
        imports = Point(
            "importlib._bootstrap:_find_and_load",
            "import",
            "import",
            before=_note_loaded,
            after=_arm_late_probes,
        )
        waits = [
            Point(place, "python.wait", "python.wait", least_ns=least_ns)
            for place, least_ns in _WAITS
        ]
        return [
            imports,
            *[point for point in waits if point.place.partition(":")[0] in sys.modules],
        ]

    def arm(self, recorder: Recorder) -> None:
        """Listen at the seams and to the collector."""
        super().arm(recorder)
        self._recorder = recorder
        self._gc_start_ns: int | None = None
        self._is_interrupted = False
        if self._collected not in gc.callbacks:
            gc.callbacks.append(self._collected)

    def remove(self) -> None:
        """Stop listening."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
        super().remove()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        """Take note of a collection; Python prints and drops what is raised in here."""
        try:
            self._note_collection(phase, info)
        except KeyboardInterrupt:
            self._is_interrupted = True
        if self._is_interrupted and phase == "stop":
            self._is_interrupted = False
            # A Thread would take locks, in the middle of whatever goes on.
            start_new_thread(_interrupt_again, ())

    def _note_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_start_ns = self._recorder.now()
        elif self._gc_start_ns is not None:
            end, generation = self._recorder.now(), info.get("generation")
            self._recorder.add((_GC, get_ident(), self._gc_start_ns, end, None, generation, None))

    def refine(self, run: Run) -> None:
        """Keep the outermost of nested imports; name the module."""
        for draft in run.drafts:
            if draft.role == "import":
                draft.is_dropped = draft.extra == _LOADED or draft.is_inside("import")
                draft.name = (
                    f"import {str(draft.extra).partition('.')[0]}" if draft.extra else "import"
                )
                draft.extra = None

    def unseen(self) -> Sequence[str]:
        """Return what the seams miss."""
        return [f"{place} (not in this Python)" for place in self.missing]
