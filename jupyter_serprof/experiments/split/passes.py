"""Where the time inside one dumps and one loads goes: the same work again, with less each time.

Passes of dumps: reducers (watched one by one); the pickler into nowhere, buffers handed over; into
one block of memory that is known already; real dumps. Of loads: buffers handed over; their copy
into a known block; real loads. The collector of Python is paused; all passes are made twice, in
turns, and the shorter of the two counts. What each does more than the one before it is a part.

Reducers of the user run once in each pass, as in any dumps; how often the value was pickled is
told. What takes more than 2 s to pickle gets one pass of each kind, as far as the budget goes. The
value is not changed; buffers that are handed to loads are read-only. At the peak there are, as in
a round trip, two more copies of the data: the pickle and the block or the result.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import Any

from jupyter_serprof.analysis import analyse
from jupyter_serprof.capture.machine import (
    available_bytes,
    describe_environment,
    measure_limits,
    producer,
)
from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.experiments.engine.order import SPLIT_S
from jupyter_serprof.experiments.split.words import (
    DUMPS,
    LOADS,
    WHOLE,
    Half,
    Level,
    Measured,
    Timed,
    split_findings,
    split_summary,
    split_trace,
)
from jupyter_serprof.model import Trace, UsageError
from jupyter_serprof.model.units import format_bytes, format_ns
from jupyter_serprof.objects.classes import classes_kept
from jupyter_serprof.objects.culprits import error_text, refusal_text
from jupyter_serprof.objects.picklers import CountingFile
from jupyter_serprof.objects.split_picklers import PROTOCOL, Block, Watched, hand_over, watch

#: What takes longer gets one pass of each kind.
SLOW_S = 2.0
_ROUNDS = 2
#: What is over so soon may be held up for as long by anything else: it gets more passes.
_SHORT_NS, _SHORT_ROUNDS = 10_000_000, 5
#: Of one run each, passes differ by what reducers do, unless these take less of the time.
_CHEAP_SHARE = 0.1
#: The value itself is there already; the pickle and a block or a result come on top.
_COPIES = 2.2

Call = Callable[[], object]


@dataclass(slots=True)
class Passes:
    """What was measured of dumps or of loads: the very first run, and those of each pass after it.

    ``raised`` says why a pass was left out.
    """

    cold: Timed | None = None
    runs: dict[str, list[Timed]] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)

    def least(self, name: str) -> Timed | None:
        """Return the shortest run of a pass; None without any."""
        return min(self.runs.get(name, ()), key=lambda run: run.duration_ns, default=None)

    def least_ns(self, name: str) -> int | None:
        """Return how long it took."""
        least = self.least(name)
        return None if least is None else least.duration_ns

    def take_turns(self, calls: Mapping[str, Call], expected_ns: int, left_s: float) -> None:
        """Run all passes in turns, again if they are not slow; one that raises is left out.

        A run that would end later than in ``left_s`` seconds does not begin.
        """
        __tracebackhide__ = True
        end_s = time.monotonic() + left_s - expected_ns / 1e9
        for _ in range(_rounds(expected_ns)):
            for name in [name for name in calls if name not in self.raised]:
                if time.monotonic() > end_s:
                    return
                try:
                    run = _timed(calls[name])
                except Exception as error:  # noqa: BLE001  (reducers raise anything)
                    self.raised[name] = error_text(error)
                else:
                    self.runs.setdefault(name, []).append(run)

    def half(self, whole: str, levels: Sequence[Level]) -> Half | None:
        """Return what was measured with its levels; None where not even the first run ended."""
        if self.cold is None:
            return None
        runs = len(self.runs.get(WHOLE, ()))
        return Half(whole, self.cold, self.least(WHOLE), tuple(levels), runs, self.raised)


def _rounds(expected_ns: int) -> int:
    if expected_ns > SLOW_S * 1e9:
        return 1
    return _SHORT_ROUNDS if expected_ns < _SHORT_NS else _ROUNDS


def _timed(call: Call) -> Timed:
    """Run it once; what it returns is dropped outside of the timing."""
    __tracebackhide__ = True
    faults = _faults()
    start = time.perf_counter_ns()
    result = call()
    duration_ns = time.perf_counter_ns() - start
    after = _faults()
    del result
    return Timed(duration_ns, None if faults is None or after is None else after - faults)


def _faults() -> int | None:
    """Return the pages that this thread has touched for the first time; None where unknown."""
    with suppress(ImportError, AttributeError):
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    return None


def split(value: object, *, name: str = "value", budget_s: float = SPLIT_S) -> Trace:
    """Tell reducers, opcodes, copy and pages apart inside one dumps and one loads.

    Parameters
    ----------
    value
        Anything that pickle or else cloudpickle takes; it is not changed.
    name
        What the document calls it.
    budget_s
        Seconds for all passes; a pass that has begun is ended, and the value is pickled twice and
        unpickled once, however long that takes.

    Returns
    -------
    Trace
        Two groups, first run and the shortest of two to five more; the first alone where there was
        no time for more. The parts add up to the time of real dumps and loads; what no pass
        explains is the own time of ``pickle.dumps`` or ``pickle.loads``.

    Raises
    ------
    UsageError
        If it cannot be pickled, with the culprit, or if there is no memory for its pickle.
    """
    return Split(value, name, budget_s).run()


class Split:
    """The passes over one value: `trace` is whatever was measured, also after an interrupt."""

    def __init__(self, value: object, name: str = "value", budget_s: float = SPLIT_S) -> None:
        self._value, self._name = value, name
        self._started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._end_s = time.monotonic() + budget_s
        self._kind: Any = pickle.Pickler
        #: The very first pass into nowhere, and those that are passes.
        self._watched: list[Watched] = []
        self._dumped, self._loaded = Passes(), Passes()
        self._sizes: list[int] = []
        self._pickled = self._unpickled = 0
        self._is_interrupted = False

    def run(self) -> Trace:
        """Make the passes and return the document."""
        __tracebackhide__ = True
        try:
            with classes_kept(), paused_collector():
                self._measure()
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise
        return self.trace

    @property
    def trace(self) -> Trace:
        """The document of what was measured until now."""
        measured = self._measured()
        base = Trace(
            name=self._name,
            started=self._started,
            wall_ns=0,
            outcome="interrupted" if self._is_interrupted else "ok",
            producer=producer(),
            environment=describe_environment(),
        )
        trace = analyse(split_trace(base, measured), measure_limits())
        summary, findings = split_summary(trace, measured), split_findings(trace, measured)
        return replace(trace, summary=summary, findings=findings)

    def _measured(self) -> Measured:
        halves = self._dumped.half(DUMPS, self._dumps_levels()), self._loads_half()
        known = tuple(half for half in halves if half is not None)
        return Measured(
            known,
            self._sizes[0] if self._sizes else None,
            tuple(self._notes()),
            self._pickled,
            self._unpickled,
        )

    def _measure(self) -> None:
        __tracebackhide__ = True
        look = self._look()
        _check_memory(self._name, look.size_bytes + look.large_bytes)
        data = self._measure_dumps(look)
        if data is not None:
            self._measure_loads(data, look.large_bytes)

    def _look(self) -> Watched:
        """Choose the pickler that takes a value with all that it needs elsewhere.

        Of a function or class of the notebook pickle writes only the name; cloudpickle writes it.
        """
        import cloudpickle

        __tracebackhide__ = True
        try:
            look = self._watch(cloudpickle.Pickler)
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            try:
                return self._watch(pickle.Pickler)
            except Exception:  # noqa: BLE001  (that of cloudpickle says more)
                message = refusal_text(self._value, self._name, error, takes_functions=True)
                raise UsageError(message) from error
        self._kind = cloudpickle.Pickler if look.has_own_ways else pickle.Pickler
        return look

    def _watch(self, kind: Any = None) -> Watched:  # noqa: ANN401  (a class of picklers)
        self._pickled += 1
        self._watched.append(watch(self._value, kind or self._kind))
        return self._watched[-1]

    def _dumps(self) -> bytes:
        self._pickled += 1
        if self._kind is pickle.Pickler:
            data = pickle.dumps(self._value, protocol=PROTOCOL)
        else:
            import cloudpickle

            data = bytes(cloudpickle.dumps(self._value, protocol=PROTOCOL))
        self._sizes.append(len(data))
        return data

    def _pickle_into(self, file: Any, take: Callable[[pickle.PickleBuffer], object] | None) -> None:  # noqa: ANN401
        self._pickled += 1
        self._kind(file, protocol=PROTOCOL, buffer_callback=take).dump(self._value)

    def _loads(self, data: bytes, buffers: Sequence[memoryview] = ()) -> object:
        self._unpickled += 1
        return pickle.loads(data, buffers=buffers)  # noqa: S301  (our own bytes)

    def _left_s(self) -> float:
        return self._end_s - time.monotonic()

    def _measure_dumps(self, look: Watched) -> bytes | None:
        """Make the passes of dumps; return a pickle, None where the value gives no more."""
        __tracebackhide__ = True
        passes, kept = self._dumped, list[bytes]()
        try:
            passes.cold = _timed(lambda: kept.append(self._dumps()))
        except Exception as error:
            message = f"{self._name} was pickled once, not twice: {error_text(error)}"
            raise UsageError(message) from error
        # Large arrays take no time until somebody copies them.
        expected_ns, left_s = max(look.duration_ns, passes.cold.duration_ns), self._left_s()
        calls: dict[str, Call] = {
            WHOLE: self._dumps,
            "sink": lambda: self._pickle_into(CountingFile(), hand_over),
        }
        is_short, block = _rounds(expected_ns) > 1, None
        is_alike = is_short or look.spent_ns <= _CHEAP_SHARE * expected_ns
        if is_alike and left_s * 1e9 > len(calls) * expected_ns:
            block = Block(len(kept.pop()))
            calls["block"] = partial(self._into_block, block)
        if is_short:
            calls["watched"] = self._watch
        passes.take_turns(calls, expected_ns, left_s / 2 if is_short else left_s)
        if kept:
            return kept[0]
        if block is not None and "block" in passes.runs and "block" not in passes.raised:
            return block.written()
        del calls, block
        try:
            return self._dumps()
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            passes.raised.setdefault(WHOLE, error_text(error))
        return None

    def _into_block(self, block: Block) -> None:
        block.rewind()
        self._pickle_into(block, None)

    def _measure_loads(self, data: bytes, large_bytes: int) -> None:
        __tracebackhide__ = True
        passes = self._loaded
        try:
            passes.cold = _timed(lambda: self._loads(data))
        except Exception as error:  # noqa: BLE001  (a __setstate__ raises anything)
            passes.raised[WHOLE] = error_text(error)
            return
        calls: dict[str, Call] = {WHOLE: lambda: self._loads(data)}
        expected_ns = passes.cold.duration_ns
        again_ns = expected_ns + (self._dumped.least_ns("sink") or 0)
        if large_bytes and self._left_s() * 1e9 > again_ns:
            frames, found = BytesIO(), list[pickle.PickleBuffer]()
            try:
                self._pickle_into(frames, found.append)
            except Exception as error:  # noqa: BLE001  (reducers raise anything)
                passes.raised["buffers"] = error_text(error)
            else:
                written = frames.getvalue()
                buffers = [buffer.raw().toreadonly() for buffer in found]
                block = memoryview(bytearray(max((one.nbytes for one in buffers), default=0)))
                calls["objects"] = lambda: self._loads(written, buffers)
                calls["copy"] = lambda: _copy_each(buffers, block)
        passes.take_turns(calls, expected_ns, self._left_s())

    def _dumps_levels(self) -> list[Level]:
        """Return each stage with the time of the pass that ends with it."""
        if not self._watched:
            return []
        passes, best = self._dumped, min(self._watched, key=lambda one: one.duration_ns)
        sink_ns, block_ns = passes.least_ns("sink"), passes.least_ns("block")
        whole_ns = passes.least_ns(WHOLE)
        # What watching costs is taken off: the same pass is made without it.
        watching_ns = max(0, best.duration_ns - (sink_ns or whole_ns or best.duration_ns))
        levels = [Level("pickle.reduce", max(0, best.spent_ns - watching_ns))]
        if whole_ns is not None and sink_ns is not None:
            levels.append(Level("pickle.opcodes", sink_ns))
            if block_ns is not None:
                levels += [Level("pickle.copy", block_ns), Level("pickle.allocate", whole_ns)]
        return levels

    def _loads_half(self) -> Half | None:
        passes = self._loaded
        objects_ns, copy_ns = passes.least_ns("objects"), passes.least_ns("copy")
        half = passes.half(LOADS, ())
        if half is None:
            return None
        whole = Level("unpickle.allocate", half.last.duration_ns)
        if not self._watched[0].large_bytes:
            return replace(half, levels=(replace(whole, stage="unpickle.objects"),))
        if objects_ns is None or copy_ns is None:
            return half
        copied = Level("unpickle.copy", objects_ns + copy_ns)
        return replace(half, levels=(Level("unpickle.objects", objects_ns), copied, whole))

    def _notes(self) -> Iterator[str]:
        """Say what is not known of the passes as a whole; a half tells its own."""
        sizes = self._sizes
        if self._watched and not sizes:
            took, spent = self._watched[0].duration_ns, self._watched[0].spent_ns
            within = f"{format_ns(took)}, {format_ns(spent)} of it in reducers"
            yield f"a first pass into nowhere took {within}"
        if sizes and max(sizes) > min(sizes):
            yield (
                f"{self._name} changes while it is pickled: its pickle had {sizes[0]:,} B at first "
                f"and {sizes[-1]:,} B at last; the passes did not all do the same work"
            )
        if self._loaded.cold is None and WHOLE in self._loaded.raised:
            yield f"loads was not measured: it raised {self._loaded.raised[WHOLE]}"
        elif self._loaded.cold is None and WHOLE in self._dumped.raised:
            yield "loads was not measured: there is no pickle for it"


def _copy_each(buffers: Sequence[memoryview], block: memoryview) -> None:
    """Copy the buffers, each into the same known block."""
    for buffer in buffers:
        block[: buffer.nbytes] = buffer


def _check_memory(name: str, plain_bytes: int) -> None:
    free = available_bytes()
    if free is not None and free < _COPIES * plain_bytes:
        message = (
            f"the pickle of {name} takes {format_bytes(plain_bytes)} twice, and "
            f"{format_bytes(free)} are free. Split a part of it, e.g. {name}[:1000]"
        )
        raise UsageError(message)
