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
from dataclasses import replace
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
from jupyter_serprof.capture.recorder import moment_text, paused_collector
from jupyter_serprof.experiments.engine.experiment import Progress, Steps, run
from jupyter_serprof.experiments.engine.order import SPLIT_S
from jupyter_serprof.experiments.split.words import (
    WHOLE,
    Half,
    Measured,
    Timed,
    split_findings,
    split_summary,
    split_trace,
)
from jupyter_serprof.model import Quality, Trace, UsageError
from jupyter_serprof.model.units import format_bytes, format_ns
from jupyter_serprof.objects.classes import classes_kept
from jupyter_serprof.objects.culprits import error_text, refusal_text
from jupyter_serprof.objects.picklers import CountingFile
from jupyter_serprof.objects.split_picklers import PROTOCOL, Block, Watched, watch

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


def take_turns(half: Half, calls: Mapping[str, Call], expected_ns: int, left_s: float) -> None:
    """Run all passes in turns, again if they are not slow; one that raises is left out.

    A run that would end later than in ``left_s`` seconds does not begin.
    """
    __tracebackhide__ = True
    end_s = time.monotonic() + left_s - expected_ns / 1e9
    for _ in range(_rounds(expected_ns)):
        for name in [name for name in calls if name not in half.raised]:
            if time.monotonic() > end_s:
                return
            try:
                done = _timed(calls[name])
            except Exception as error:  # noqa: BLE001  (reducers raise anything)
                half.raised[name] = error_text(error)
            else:
                half.runs.setdefault(name, []).append(done)


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
    __tracebackhide__ = True
    return run(Split(value, name, budget_s))


class Split:
    """The passes over one value: an `Experiment` of one run, whose steps belong together."""

    def __init__(self, value: object, name: str = "value", budget_s: float = SPLIT_S) -> None:
        self._value, self._name = value, name
        self._started = moment_text()
        self._end_s = time.monotonic() + budget_s
        self._kind: Any = pickle.Pickler
        #: The very first pass into nowhere, and those that are passes.
        self._watched: list[Watched] = []
        self._measured = Measured()
        self._is_interrupted = self.is_done = False

    def steps(self) -> Steps:
        """Make the passes, begun anew after an interrupt."""
        __tracebackhide__ = True
        self._watched.clear()
        self._measured = Measured()
        try:
            with classes_kept(), paused_collector():
                self._measure()
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise
        self._is_interrupted, self.is_done = False, True
        yield from ()

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(int(self.is_done), int(not self.is_done))

    @property
    def document(self) -> Trace:
        """The document of what was measured until now."""
        measured = self._measured
        measured.dumped.levels, measured.loaded.levels = self._dumps_levels(), self._loads_levels()
        base = Trace(
            name=self._name,
            started=self._started,
            wall_ns=0,
            outcome="interrupted" if self._is_interrupted else "ok",
            producer=producer(),
            environment=describe_environment(),
            quality=Quality(notes=tuple(self._notes())),
        )
        trace = analyse(split_trace(base, measured), measure_limits())
        summary, findings = split_summary(trace, measured), split_findings(trace, measured)
        return replace(trace, summary=summary, findings=findings)

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
        self._measured.pickled += 1
        self._watched.append(watch(self._value, kind or self._kind))
        return self._watched[-1]

    def _dumps(self) -> bytes:
        self._measured.pickled += 1
        if self._kind is pickle.Pickler:
            data = pickle.dumps(self._value, protocol=PROTOCOL)
        else:
            import cloudpickle

            data = bytes(cloudpickle.dumps(self._value, protocol=PROTOCOL))
        self._measured.sizes.append(len(data))
        return data

    def _pickle_into(self, file: Any, take: Callable[[pickle.PickleBuffer], object] | None) -> None:  # noqa: ANN401
        self._measured.pickled += 1
        self._kind(file, protocol=PROTOCOL, buffer_callback=take).dump(self._value)

    def _loads(self, data: bytes, buffers: Sequence[memoryview] = ()) -> object:
        self._measured.unpickled += 1
        return pickle.loads(data, buffers=buffers)  # noqa: S301  (our own bytes)

    def _left_s(self) -> float:
        return self._end_s - time.monotonic()

    def _measure_dumps(self, look: Watched) -> bytes | None:
        """Make the passes of dumps; return a pickle, None where the value gives no more."""
        __tracebackhide__ = True
        half, kept = self._measured.dumped, list[bytes]()
        try:
            half.cold = _timed(lambda: kept.append(self._dumps()))
        except Exception as error:
            message = f"{self._name} was pickled once, not twice: {error_text(error)}"
            raise UsageError(message) from error
        # Large arrays take no time until somebody copies them.
        expected_ns, left_s = max(look.duration_ns, half.cold.duration_ns), self._left_s()
        calls: dict[str, Call] = {
            WHOLE: self._dumps,
            "sink": lambda: self._pickle_into(CountingFile(), lambda _: None),
        }
        is_short, block = _rounds(expected_ns) > 1, None
        is_alike = is_short or look.spent_ns <= _CHEAP_SHARE * expected_ns
        if is_alike and left_s * 1e9 > len(calls) * expected_ns:
            block = Block(len(kept.pop()))
            calls["block"] = partial(self._into_block, block)
        if is_short:
            calls["watched"] = self._watch
        take_turns(half, calls, expected_ns, left_s / 2 if is_short else left_s)
        if kept:
            return kept[0]
        if block is not None and "block" in half.runs and "block" not in half.raised:
            return block.written()
        del calls, block
        try:
            return self._dumps()
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            half.raised.setdefault(WHOLE, error_text(error))
        return None

    def _into_block(self, block: Block) -> None:
        block.rewind()
        self._pickle_into(block, None)

    def _measure_loads(self, data: bytes, large_bytes: int) -> None:
        __tracebackhide__ = True
        half = self._measured.loaded
        try:
            half.cold = _timed(lambda: self._loads(data))
        except Exception as error:  # noqa: BLE001  (a __setstate__ raises anything)
            half.raised[WHOLE] = error_text(error)
            return
        calls: dict[str, Call] = {WHOLE: lambda: self._loads(data)}
        expected_ns = half.cold.duration_ns
        again_ns = expected_ns + (self._measured.dumped.least_ns("sink") or 0)
        if large_bytes and self._left_s() * 1e9 > again_ns:
            frames, found = BytesIO(), list[pickle.PickleBuffer]()
            try:
                self._pickle_into(frames, found.append)
            except Exception as error:  # noqa: BLE001  (reducers raise anything)
                half.raised["buffers"] = error_text(error)
            else:
                written = frames.getvalue()
                buffers = [buffer.raw().toreadonly() for buffer in found]
                block = memoryview(bytearray(max((one.nbytes for one in buffers), default=0)))
                calls["objects"] = lambda: self._loads(written, buffers)
                calls["copy"] = lambda: _copy_each(buffers, block)
        take_turns(half, calls, expected_ns, self._left_s())

    def _dumps_levels(self) -> dict[str, int]:
        """Return each stage with the time of the pass that ends with it."""
        if not self._watched:
            return {}
        half, best = self._measured.dumped, min(self._watched, key=lambda one: one.duration_ns)
        sink_ns, block_ns, whole_ns = map(half.least_ns, ("sink", "block", WHOLE))
        # What watching costs is taken off: the same pass is made without it.
        watching_ns = max(0, best.duration_ns - (sink_ns or whole_ns or best.duration_ns))
        levels = {"pickle.reduce": max(0, best.spent_ns - watching_ns)}
        if whole_ns is not None and sink_ns is not None:
            levels["pickle.opcodes"] = sink_ns
            if block_ns is not None:
                levels |= {"pickle.copy": block_ns, "pickle.allocate": whole_ns}
        return levels

    def _loads_levels(self) -> dict[str, int]:
        half = self._measured.loaded
        if half.cold is None:
            return {}
        objects_ns, copy_ns = half.least_ns("objects"), half.least_ns("copy")
        if not self._watched[0].large_bytes:
            return {"unpickle.objects": half.last.duration_ns}
        if objects_ns is None or copy_ns is None:
            return {}
        copied = {"unpickle.objects": objects_ns, "unpickle.copy": objects_ns + copy_ns}
        return {**copied, "unpickle.allocate": half.last.duration_ns}

    def _notes(self) -> Iterator[str]:
        if self._watched and not self._measured.sizes:
            took, spent = self._watched[0].duration_ns, self._watched[0].spent_ns
            within = f"{format_ns(took)}, {format_ns(spent)} of it in reducers"
            yield f"a first pass into nowhere took {within}"


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
