"""Where the time inside one dumps and one loads goes: the same work again, with less each time.

Passes of dumps: reducers (watched one by one); a pickler without memo into nowhere; the pickler
into nowhere, buffers handed over; into one block of memory that is known already; real dumps. Of
loads: buffers handed over; their copy into a known block; real loads. The collector of Python is
paused; the passes take turns, and each is the median of its runs.

Reducers of the user run once in each pass, as in any dumps; how often the value was pickled is
told. What takes more than 2 s to pickle gets one pass of each kind, as far as the budget goes. The
value is not changed; buffers that are handed to loads are read-only. At the peak there are, as in
a round trip, two more copies of the data: the pickle and the block or the result.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import Any

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.limits import measure_limits
from jupyter_serprof.capture.machine import available_bytes, describe_environment, producer
from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.experiments.split.passes import (
    WHOLE,
    Passes,
    are_short,
    dumps_half,
    loads_half,
    missing_notes,
    timed,
)
from jupyter_serprof.experiments.split.words import (
    Measured,
    split_findings,
    split_summary,
    split_trace,
)
from jupyter_serprof.model import Trace, UsageError
from jupyter_serprof.model.units import format_bytes, format_ns
from jupyter_serprof.objects.culprits import culprits_text, error_text, find_culprits
from jupyter_serprof.objects.split_picklers import (
    PROTOCOL,
    Block,
    Look,
    Nowhere,
    hand_over,
    look_at,
    watching,
)

BUDGET_S = 10.0
#: A pickler without memo writes what is shared again: then the difference is not the memo.
_MOST_GROWN = 2
_GRACE_NS = 10_000_000
#: Classes and functions that are written by value need the memo; they are not to be the most.
_MOST_CARRIED = 0.1
#: Of one run each, passes differ by what reducers do, unless these take less of the time; without
#: memo reducers may also run again and again.
_CHEAP_SHARE = 0.1
#: The passes that come before the block, and itself.
_UNTIL_BLOCK = 3
#: The value itself is there already; the pickle and a block or a result come on top.
_COPIES = 2.2


def split(value: object, *, name: str = "value", budget_s: float = BUDGET_S) -> Trace:
    """Tell reducers, opcodes, memo, copy and pages apart inside one dumps and one loads.

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
        Two groups, first run and warm median; the first alone where there was no time for more.
        The parts add up to the time of real dumps and loads; what no pass explains is the own time
        of ``pickle.dumps`` or ``pickle.loads``.

    Raises
    ------
    UsageError
        If it cannot be pickled, with the culprit, or if there is no memory for its pickle.
    """
    return Split(value, name, budget_s).run()


class Split:
    """The passes over one value: `trace` is whatever was measured, also after an interrupt."""

    def __init__(self, value: object, name: str = "value", budget_s: float = BUDGET_S) -> None:
        self._value, self._name, self._budget_s = value, name, budget_s
        self._started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._start_s = time.monotonic()
        self._kind: Any = pickle.Pickler
        self._look: Look | None = None
        self._dumped, self._loaded = Passes(), Passes()
        self._sizes: list[int] = []
        self._pickled = self._unpickled = 0
        self._is_interrupted = False

    def run(self) -> Trace:
        """Make the passes and return the document."""
        __tracebackhide__ = True
        try:
            with paused_collector():
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
        look = self._look
        large = look.large_bytes if look else None
        halves = [
            half
            for half in (
                dumps_half(look, self._dumped) if look else None,
                loads_half(self._loaded, large or 0),
            )
            if half is not None
        ]
        size = self._sizes[0] if self._sizes else None
        notes = [*self._look_notes(), *missing_notes(self._dumped, self._loaded, halves)]
        return Measured(
            tuple(halves),
            size,
            large,
            (*notes, *self._mutation_notes()),
            pickled=self._pickled,
            unpickled=self._unpickled,
        )

    def _look_notes(self) -> list[str]:
        """Tell what the first, watched pass saw, where nothing else was measured."""
        if self._look is None or self._dumped.cold is not None:
            return []
        took, spent = format_ns(self._look.duration_ns), format_ns(self._look.spent_ns)
        return [f"a first pass into nowhere took {took}, {spent} of it in reducers"]

    def _mutation_notes(self) -> list[str]:
        sizes = self._sizes
        if not sizes or max(sizes) == min(sizes):
            return []
        grown = f"{sizes[0]:,} B at first and {sizes[-1]:,} B at last"
        told_so = f"{self._name} changes while it is pickled: its pickle had {grown}"
        return [f"{told_so}; the passes did not all do the same work"]

    def _measure(self) -> None:
        __tracebackhide__ = True
        self._kind, self._look = self._looked()
        _check_memory(self._name, self._look.size_bytes + self._look.large_bytes)
        data = self._measure_dumps(self._look)
        if data is not None:
            self._measure_loads(data, self._look.large_bytes)

    def _looked(self) -> tuple[Any, Look]:
        """Return the pickler that takes a value with all that it needs elsewhere.

        Of a function or class of the notebook pickle writes only the name; cloudpickle writes it.
        """
        import cloudpickle

        __tracebackhide__ = True
        self._pickled += 1
        try:
            look = look_at(self._value, cloudpickle.Pickler)
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            self._pickled += 1
            return pickle.Pickler, self._looked_by_name(error)
        return cloudpickle.Pickler if look.has_own_ways else pickle.Pickler, look

    def _looked_by_name(self, error: Exception) -> Look:
        try:
            return look_at(self._value, pickle.Pickler)
        except Exception:  # noqa: BLE001  (that of cloudpickle says more)
            culprits = find_culprits(self._value, self._name, takes_functions=True)
            raise UsageError(culprits_text(culprits) or error_text(error)) from error

    def _pickler(self, sink: Any, *, in_band: bool = False) -> Any:  # noqa: ANN401
        self._pickled += 1
        callback = None if in_band else hand_over
        return self._kind(sink, protocol=PROTOCOL, buffer_callback=callback)

    def _dumps(self) -> bytes:
        self._pickled += 1
        if self._kind is pickle.Pickler:
            data = pickle.dumps(self._value, protocol=PROTOCOL)
        else:
            import cloudpickle

            data = bytes(cloudpickle.dumps(self._value, protocol=PROTOCOL))
        self._sizes.append(len(data))
        return data

    def _loads(self, data: bytes, buffers: Sequence[memoryview] = ()) -> object:
        self._unpickled += 1
        return pickle.loads(data, buffers=buffers)  # noqa: S301  (our own bytes)

    def _left_s(self) -> float:
        return self._budget_s - (time.monotonic() - self._start_s)

    def _measure_dumps(self, look: Look) -> bytes | None:
        """Make the passes of dumps; return a pickle, None where the value gives no more."""
        __tracebackhide__ = True
        passes = self._dumped
        kept: list[bytes] = []
        try:
            passes.cold = timed(lambda: kept.append(self._dumps()))
        except Exception as error:
            message = f"{self._name} was pickled once, not twice: {error_text(error)}"
            raise UsageError(message) from error
        left_s = self._left_s()
        # Large arrays take no time until somebody copies them.
        expected_s = max(look.duration_ns, passes.cold.duration_ns) / 1e9
        is_short = are_short(expected_s, left_s)
        is_alike = is_short or look.spent_ns <= _CHEAP_SHARE * 1e9 * expected_s
        calls: dict[str, Callable[[], object]] = {
            WHOLE: self._dumps,
            "sink": lambda: self._pickler(Nowhere()).dump(self._value),
        }
        block = None
        if is_alike and left_s > _UNTIL_BLOCK * expected_s:
            block = Block(len(kept.pop()))
            calls["block"] = partial(self._into_block, block)
        if is_alike and self._can_forget(look, is_short=is_short):
            calls["forgetful"] = partial(self._without_memo, look)
        if is_short:
            calls["reduce"] = partial(self._watched, passes)
        passes.take_turns(calls, expected_s, left_s / 2 if is_short else left_s)
        if kept:
            return kept[0]
        if block is not None and "block" in passes.runs and "block" not in passes.raised:
            return block.written()
        del block
        try:
            return self._dumps()
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            passes.raised.setdefault(WHOLE, error_text(error))
        return None

    def _watched(self, passes: Passes) -> None:
        """Keep the time inside reducers."""
        self._pickled += 1
        passes.spent_ns.append(look_at(self._value, self._kind).spent_ns)

    def _can_forget(self, look: Look, *, is_short: bool) -> bool:
        """Tell whether a pickler without memo does the same work but for the memo."""
        sink = Nowhere(_MOST_CARRIED * look.size_bytes)
        try:
            if look.carried:
                kind = self._kind(sink, protocol=PROTOCOL, buffer_callback=hand_over)
                for one in look.carried:
                    kind.dump(one)
            if is_short:
                self._forget(look, watching(self._kind), is_bounded=True)
        except Exception:  # noqa: BLE001  (cycles, what is shared, reducers that mind)
            return False
        return True

    def _without_memo(self, look: Look) -> None:
        self._forget(look, self._kind)

    def _forget(self, look: Look, kind: Any, *, is_bounded: bool = False) -> None:  # noqa: ANN401
        """Pickle without remembering more than code; raises for what needs the memo."""
        self._pickled += 1
        sink = Nowhere(_MOST_GROWN * max(1_000, look.size_bytes))
        pickler = kind(sink, protocol=PROTOCOL, buffer_callback=hand_over)
        if is_bounded:
            pickler.most_calls = look.calls * _MOST_GROWN
            pickler.most_ns = look.spent_ns * _MOST_GROWN + _GRACE_NS
        for one in look.carried:
            pickler.dump(one)
        pickler.fast = True
        pickler.dump(self._value)

    def _into_block(self, block: Block) -> None:
        block.rewind()
        self._pickler(block, in_band=True).dump(self._value)

    def _measure_loads(self, data: bytes, large_bytes: int) -> None:
        __tracebackhide__ = True
        passes = self._loaded
        try:
            passes.cold = timed(lambda: self._loads(data))
        except Exception as error:  # noqa: BLE001  (a __setstate__ raises anything)
            passes.raised[WHOLE] = error_text(error)
            return
        calls: dict[str, Callable[[], object]] = {WHOLE: lambda: self._loads(data)}
        expected_s, left_s = passes.cold.duration_ns / 1e9, self._left_s()
        dumps_s = (self._dumped.middle_ns("sink") or 0) / 1e9
        if large_bytes and left_s > dumps_s + expected_s:
            try:
                frames, buffers = self._handed_over()
            except Exception as error:  # noqa: BLE001  (reducers raise anything)
                passes.raised["buffers"] = error_text(error)
            else:
                block = memoryview(bytearray(max((one.nbytes for one in buffers), default=0)))
                calls["objects"] = lambda: self._loads(frames, buffers)
                calls["copy"] = lambda: _copy_each(buffers, block)
        passes.take_turns(calls, expected_s, min(left_s, self._budget_s / 2))

    def _handed_over(self) -> tuple[bytes, list[memoryview]]:
        """Return the pickle without its buffers, and the buffers: read-only, not copied."""
        self._pickled += 1
        frames, found = BytesIO(), list[pickle.PickleBuffer]()
        pickler = self._kind(frames, protocol=PROTOCOL, buffer_callback=found.append)
        pickler.dump(self._value)
        return frames.getvalue(), [buffer.raw().toreadonly() for buffer in found]


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
