"""A transport: one way in which a value can travel and come back; and the runs of one."""

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import ClassVar

from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.runs import Runs, one_of
from jupyter_serprof.model import ProbeUnavailable, Trace
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.objects.classes import classes_kept


def is_installed(library: str) -> bool:
    """Tell whether a library can be imported; it is not imported for that."""
    return sys.modules.get(library) is not None or find_spec(library) is not None


class Transport:
    """A way to send a value and get it back.

    ``hands_over_buffers``: True if large buffers may travel out-of-band.
    ``takes_functions``: True if functions and classes of the notebook travel by value.
    ``threads``: How the names of the threads begin that unpickle for it, apart from the caller's.
    ``is_extra``: True if it takes part only when it is named.
    ``same_as``: The transport whose bytes it copies, too: where time is short, one of them tells.
    ``latest``: What only the transport knows of its latest round trip, which sets it anew.
        ``in_band_bytes``, ``out_of_band_bytes``, ``buffers`` and ``total_bytes`` replace what the
        probes saw; ``total_bytes`` is what would go over a wire.
    """

    key: ClassVar[str] = ""
    title: ClassVar[str] = ""
    hands_over_buffers: ClassVar[bool] = False
    takes_functions: ClassVar[bool] = False
    threads: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[str] = ""
    is_extra: ClassVar[bool] = False
    same_as: ClassVar[str] = ""
    latest: Mapping[str, Scalar] = MappingProxyType({})

    def state(self) -> tuple[str, str]:
        """Return (``ok``, "") or why it cannot be used: (state, a sentence with a remedy)."""
        return "ok", ""

    def is_asked(self) -> bool:
        """Tell whether it takes part when no transports are named; never imports anything."""
        return not self.is_extra

    def start(self) -> str:
        """Start what the user asked for by name; return a note about what was started.

        Here nothing can be started.

        Raises ``ProbeUnavailable``: If it cannot be used, with the line that helps.
        """
        state, reason = self.state()
        if state != "ok":
            message = f"the transport {self.key} needs {self.needs}. {reason}"
            raise ProbeUnavailable(message)
        return ""

    def refuses(self, value: object) -> str:  # noqa: ARG002  (it decides by the value)
        """Return why it does not take this kind of value, one sentence; "" if it does."""
        # Asked once, after `state` was ``ok`` and before `prepare`; never sends anything.
        return ""

    def prepare(self, value: object) -> None:
        """Look at the value once before the first run, outside of the timing.

        Raises ``Exception``: What sending it would raise.
        """

    def round_trip(self, value: object) -> object:
        """Send the value and return what comes back; keeps nothing of it."""
        raise NotImplementedError


#: A shorter run is measured several times in one recording, which lasts about so long in all.
_SHORT_NS = 1_000_000
_RECORDING_NS, _MOST_LOOPS = 1_000_000, 100


@dataclass(slots=True, kw_only=True)
class TransportRuns(Runs):
    """The runs of one transport; runs of microseconds are made many in one recording.

    One such run alone finds cold caches, and its time is that of chance: of those in a recording
    the middle one counts, which has a trace of its own.

    ``checked``: What came back from the first run.
    ``facts``: What the transport knows of the latest one.
    ``took_s``: What the latest one took with its recording; looking at what came back is no part of
        it.
    ``loops``: Runs in one recording; None until the first warm run told.
    ``latest``: The latest recording, also of a run that failed.
    """

    checked: Mapping[str, Scalar] = field(default_factory=dict)
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    took_s: float = 0.0
    loops: int | None = None
    latest: Trace | None = None
    #: Of one of the latest runs, repeated without a recording.
    _bare_ns: float = math.inf

    def run(self, transport: Transport, value: object, *, detail: bool) -> tuple[Trace, object]:
        """Run once more: cold the first time; then one alone, which tells how many fit together."""
        # Gives the recording of a single run, or of the last ones, and what came back.
        __tracebackhide__ = True
        loops = self.loops or 1
        trace, result = self._recorded(transport, value, loops, detail=detail)
        if self.points and self.loops is None:
            # The machine may have been busy in one of the two: the shorter run tells.
            loops = self.loops = _loops_for(min(trace.wall_ns, self.points[0].wall_ns))
            if loops > 1:
                del result
                trace, result = self._recorded(transport, value, loops, detail=detail)
                # One alone finds cold caches: more of the others may fit together.
                self.loops = max(loops, _loops_for(trace.wall_ns // loops))
        alone = one_of(trace, loops, self._bare_ns) if loops > 1 else trace
        if alone is None:
            # They are not alike, or on several threads.
            del result
            loops = self.loops = 1
            trace, result = self._recorded(transport, value, loops, detail=detail)
        self.facts = transport.latest
        moved = self.facts.get("total_bytes")
        told = {"moved_bytes": moved} if isinstance(moved, int) else {}
        self.take(alone or trace, loops=loops if loops > 1 else None, **told)
        return trace, result

    def _recorded(
        self, transport: Transport, value: object, loops: int, *, detail: bool
    ) -> tuple[Trace, object]:
        """Record ``loops`` round trips in a row; return the recording and the last result."""
        __tracebackhide__ = True
        recording = Recording(transport.title, detail=detail)
        result: object = None
        try:
            with classes_kept(*transport.threads):
                with recording:
                    result = _looped(transport, value, loops)
                if loops > 1:
                    start_ns = time.perf_counter_ns()
                    result = None
                    result = _looped(transport, value, loops)
                    self._bare_ns = (time.perf_counter_ns() - start_ns) / loops
        except BaseException:
            # Ctrl-C may come before the first line of what leaves the block.
            recording.stop(KeyboardInterrupt)
            self.latest = recording.trace
            raise
        self.latest = recording.trace
        return recording.trace, result


def _looped(transport: Transport, value: object, loops: int) -> object:
    __tracebackhide__ = True
    result: object = None
    for _ in range(loops):
        result = None  # never two of them
        result = transport.round_trip(value)
    return result


def _loops_for(wall_ns: int) -> int:
    if wall_ns >= _SHORT_NS:
        return 1
    return min(_MOST_LOOPS, math.ceil(_RECORDING_NS / max(1, wall_ns)))
