"""Where the time inside one dumps and one loads goes: the same work again, with less each time.

Passes of dumps: reducers (watched one by one); a pickler without memo into nowhere; the pickler
into nowhere, buffers handed over; into one block of memory that is known already; real dumps. Of
loads: buffers handed over; their copy into a known block; real loads. The collector of Python is
paused; the passes take turns, and each is the median of its runs.

Reducers of the user run once in each pass, as in any dumps. The value is not changed; buffers that
are handed to loads are read-only. At the peak there are, as in a round trip, two more copies of the
data: the pickle and the block or the result.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.limits import measure_limits
from jupyter_serprof.analysis.stage_split import (
    Half,
    Level,
    Measured,
    Timed,
    split_findings,
    split_summary,
    split_trace,
)
from jupyter_serprof.capture.collector import paused_collector
from jupyter_serprof.capture.environment import describe_environment, producer
from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.experiments.culprits import culprits_text, find_culprits, told
from jupyter_serprof.experiments.split_picklers import (
    PROTOCOL,
    Block,
    Nowhere,
    hand_over,
    watching,
)
from jupyter_serprof.model import Trace, UsageError
from jupyter_serprof.model.units import format_bytes

BUDGET_S = 10.0
#: So many rounds are wanted within the budget, more while they are short.
_WANTED, _MOST = 7, 101
_PASS_S = 0.2
#: A pickler without memo writes what is shared again: then the difference is not the memo.
_MOST_GROWN = 2
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
        Seconds for all passes; a pass that has begun is ended.

    Returns
    -------
    Trace
        Two groups, first run and warm median. The parts add up to the time of real dumps and loads;
        what no pass explains is the own time of ``pickle.dumps`` or ``pickle.loads``.

    Raises
    ------
    UsageError
        If it cannot be pickled, with the culprit, or if there is no memory for its pickle.
    """
    return Split(value, name, budget_s).run()


class Split:
    """The passes over one value."""

    def __init__(self, value: object, name: str, budget_s: float) -> None:
        self._value, self._name, self._budget_s = value, name, budget_s
        self._kind = _pickler_kind(value, name)
        self._notes: list[str] = []

    def run(self) -> Trace:
        """Make the passes and return the document."""
        started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with paused_collector():
            measured = self._measured()
        base = Trace(
            name=self._name,
            started=started,
            wall_ns=0,
            producer=producer(),
            environment=describe_environment(),
        )
        trace = analyse(split_trace(base, measured), measure_limits())
        summary, findings = split_summary(trace, measured), split_findings(trace, measured)
        return replace(trace, summary=summary, findings=findings)

    def _measured(self) -> Measured:
        # The very first dumps is the cold one; only a count into nowhere has been before it.
        plain_bytes = self._counted(in_band=True)
        _check_memory(self._name, plain_bytes)
        dumps, data = self._dumps_half(plain_bytes)
        loads, large = self._loads_half(data)
        return Measured((dumps, loads), len(data), large, tuple(self._notes))

    def _counted(self, *, in_band: bool) -> int:
        sink = Nowhere()
        self._pickler(sink, in_band=in_band).dump(self._value)
        return sink.size_bytes

    def _pickler(self, sink: Any, *, in_band: bool = False) -> Any:  # noqa: ANN401
        callback = None if in_band else hand_over
        return self._kind(sink, protocol=PROTOCOL, buffer_callback=callback)

    def _dumps(self) -> bytes:
        if self._kind is pickle.Pickler:
            return pickle.dumps(self._value, protocol=PROTOCOL)
        import cloudpickle

        return bytes(cloudpickle.dumps(self._value, protocol=PROTOCOL))

    def _dumps_half(self, plain_bytes: int) -> tuple[Half, bytes]:
        cold = _timed(self._dumps)
        sink_bytes = self._counted(in_band=False)
        spent: list[int] = []
        block = Block(plain_bytes)
        found = self._rounds(
            {
                "whole": self._dumps,
                "reduce": lambda: self._watched(spent),
                "forgetful": lambda: self._without_memo(sink_bytes),
                "sink": lambda: self._pickler(Nowhere()).dump(self._value),
                "block": lambda: self._into_block(block),
            }
        )
        warm, sink = _middle(found["whole"]), _middle(found["sink"])
        levels = (
            Level("pickle.reduce", _reduce_ns(found["reduce"], spent, sink.duration_ns)),
            Level("pickle.opcodes", (_middle_ns(found["forgetful"]) or sink.duration_ns)),
            Level("pickle.memo", sink.duration_ns),
            Level("pickle.copy", _middle_ns(found["block"])),
            Level("pickle.allocate", warm.duration_ns),
        )
        self._say_what_is_missing(found)
        return Half("pickle.dumps", cold, warm, levels, len(found["whole"])), self._dumps()

    def _say_what_is_missing(self, found: Mapping[str, Sequence[Timed]]) -> None:
        if not found["reduce"]:
            self._notes.append("reducers were not told apart: one minds being asked directly")
        if not found["forgetful"]:
            self._notes.append(
                "the memo was not told apart from the opcodes: the value holds cycles, or much "
                "that is shared"
            )

    def _watched(self, spent: list[int]) -> None:
        """Add up the time inside reducers."""
        kind = watching(self._kind)
        pickler = kind(Nowhere(), protocol=PROTOCOL, buffer_callback=hand_over)
        pickler.dump(self._value)
        spent.append(pickler.spent_ns)

    def _without_memo(self, sink_bytes: int) -> None:
        """Pickle without remembering anything; raises for what needs the memo."""
        pickler = self._pickler(Nowhere(_MOST_GROWN * max(1_000, sink_bytes)))
        pickler.fast = True
        pickler.dump(self._value)

    def _into_block(self, block: Block) -> None:
        block.rewind()
        self._pickler(block, in_band=True).dump(self._value)

    def _loads_half(self, data: bytes) -> tuple[Half, int]:
        cold = _timed(lambda: pickle.loads(data))  # noqa: S301  (our own bytes)
        frames, buffers = self._handed_over()
        block = memoryview(bytearray(max((buffer.nbytes for buffer in buffers), default=0)))
        found = self._rounds(
            {
                "whole": lambda: pickle.loads(data),  # noqa: S301  (our own bytes)
                "objects": lambda: pickle.loads(frames, buffers=buffers),  # noqa: S301
                "copy": lambda: _copy_each(buffers, block),
            }
        )
        warm = _middle(found["whole"])
        if not found["objects"]:
            self._notes.append("loads was not split: it writes into the buffers that it is given")
        large = sum(buffer.nbytes for buffer in buffers)
        levels = _loads_levels(warm, found) if large else [_all_objects(warm)]
        return Half("pickle.loads", cold, warm, tuple(levels), len(found["whole"])), large

    def _handed_over(self) -> tuple[bytes, list[memoryview]]:
        """Return the pickle without its buffers, and the buffers: read-only, not copied."""
        frames, found = BytesIO(), list[pickle.PickleBuffer]()
        pickler = self._kind(frames, protocol=PROTOCOL, buffer_callback=found.append)
        pickler.dump(self._value)
        return frames.getvalue(), [buffer.raw().toreadonly() for buffer in found]

    def _rounds(self, passes: Mapping[str, Callable[[], object]]) -> dict[str, list[Timed]]:
        """Run all passes in turns: what drifts, drifts for all. One that raises is left out."""
        runs: dict[str, list[Timed]] = {name: [] for name in passes}
        left = {name: call for name, call in passes.items() if name == "whole" or _works(call)}
        start = time.monotonic()
        for number in range(_MOST):
            for name, call in left.items():
                runs[name].append(_timed(call))
            spent_s = time.monotonic() - start
            wanted_s = self._budget_s / 2 if number + 1 < _WANTED else _PASS_S
            if spent_s > min(wanted_s, self._budget_s / 2):
                break
        return runs


def _works(call: Callable[[], object]) -> bool:
    """Run a pass once, not counted: it warms what is to be warm, or it is left out."""
    try:
        call()
    except Exception:  # noqa: BLE001  (cycles, what is shared, reducers that mind)
        return False
    return True


def _middle(runs: Sequence[Timed]) -> Timed:
    """Return the (lower) median run, one that happened."""
    ordered = sorted(runs, key=lambda run: run.duration_ns)
    return ordered[(len(ordered) - 1) // 2]


def _middle_ns(runs: Sequence[Timed]) -> int | None:
    return _middle(runs).duration_ns if runs else None


def _reduce_ns(watched: Sequence[Timed], spent: Sequence[int], sink_ns: int) -> int | None:
    """Return the time inside reducers; what watching costs is taken off."""
    whole_ns = _middle_ns(watched)
    if whole_ns is None:
        return None
    overhead_ns = max(0, whole_ns - sink_ns)
    return max(0, sorted(spent)[len(spent) // 2] - overhead_ns)


def _loads_levels(warm: Timed, found: Mapping[str, Sequence[Timed]]) -> list[Level]:
    objects_ns = _middle_ns(found["objects"])
    if objects_ns is None:
        return []
    copy_ns = _middle_ns(found["copy"]) or 0
    return [
        Level("unpickle.objects", objects_ns),
        Level("unpickle.copy", objects_ns + copy_ns),
        Level("unpickle.allocate", warm.duration_ns),
    ]


def _all_objects(warm: Timed) -> Level:
    """Return that all of it is objects: without large buffers loads does nothing else."""
    return Level("unpickle.objects", warm.duration_ns)


def _copy_each(buffers: Sequence[memoryview], block: memoryview) -> None:
    """Copy the buffers, each into the same known block."""
    for buffer in buffers:
        block[: buffer.nbytes] = buffer


def _timed(call: Callable[[], object]) -> Timed:
    """Run it once; what it returns is dropped outside of the timing."""
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


def _check_memory(name: str, plain_bytes: int) -> None:
    free = available_bytes()
    if free is not None and free < _COPIES * plain_bytes:
        message = (
            f"the pickle of {name} takes {format_bytes(plain_bytes)} twice, and "
            f"{format_bytes(free)} are free. Split a part of it, e.g. {name}[:1000]"
        )
        raise UsageError(message)


def _pickler_kind(value: object, name: str) -> Any:  # noqa: ANN401  (a class of picklers)
    """Return the pickler that takes a value with all that it needs elsewhere.

    Of a function or class of the notebook pickle writes only the name; cloudpickle writes it.
    """
    import cloudpickle

    named = _size_by(pickle.Pickler, value)
    try:
        carried = _size_by(cloudpickle.Pickler, value, raises=True)
    except Exception as error:
        if named is not None:
            return pickle.Pickler
        culprits = find_culprits(value, name, takes_functions=True)
        raise UsageError(culprits_text(culprits) or told(error)) from error
    return pickle.Pickler if named == carried else cloudpickle.Pickler


def _size_by(kind: Any, value: object, *, raises: bool = False) -> int | None:  # noqa: ANN401
    """Return the in-band bytes that a pickler writes; None where it cannot."""
    sink = Nowhere()
    try:
        kind(sink, protocol=PROTOCOL, buffer_callback=hand_over).dump(value)
    except Exception:
        if raises:
            raise
        return None
    return sink.size_bytes
