"""Passes over one value that take turns: timed, bounded, and kept as far as they came."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from jupyter_serprof.experiments.split.words import Half, Level, Timed
from jupyter_serprof.model.times import middle_run
from jupyter_serprof.model.units import format_ns
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.objects.split_picklers import Look

#: What takes longer gets one pass of each kind.
SLOW_S = 2.0
#: So many rounds are wanted within the time, more while they are short.
_WANTED, _MOST = 7, 101
_PASS_S = 0.2

#: Passes are warmed, and made several times, if the time is enough for so many.
_WARMED = 20
#: The name of the pass that is real dumps or loads.
WHOLE = "whole"

Call = Callable[[], object]


@dataclass(slots=True)
class Passes:
    """What was measured of dumps or of loads until now.

    ``cold`` is the very first run, ``runs`` those of each pass after it. ``raised`` says why a
    pass was left out, ``spent_ns`` the time inside reducers of each watched pass.
    """

    cold: Timed | None = None
    runs: dict[str, list[Timed]] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)
    spent_ns: list[int] = field(default_factory=list)

    def middle(self, name: str) -> Timed | None:
        """Return the run whose time is that of all of a pass; None without any."""
        runs = self.runs.get(name)
        return _middle(runs) if runs else None

    def middle_ns(self, name: str) -> int | None:
        """Return how long the median run of a pass took."""
        middle = self.middle(name)
        return None if middle is None else middle.duration_ns

    def least_ns(self, name: str) -> int | None:
        """Return how long the shortest run of a pass took."""
        return min((run.duration_ns for run in self.runs.get(name, ())), default=None)

    def take_turns(self, calls: Mapping[str, Call], expected_s: float, left_s: float) -> None:
        """Run all passes in turns: what drifts, drifts for all.

        Parameters
        ----------
        calls
            The most important first. One that raises is left out.
        expected_s
            How long one run is likely to take, seconds.
        left_s
            Seconds for all; a run that begins is ended, one that would end later does not begin.
        """
        __tracebackhide__ = True
        start = time.monotonic()
        is_short = are_short(expected_s, left_s)
        left = {
            name: call
            for name, call in calls.items()
            if not is_short or name == WHOLE or self._works(call, name)
        }
        for number in range(1 if expected_s > SLOW_S else _MOST):
            for name, call in list(left.items()):
                is_late = time.monotonic() - start + expected_s > left_s
                if (is_late and not is_short) or not self._add(name, call):
                    del left[name]
            spent_s = time.monotonic() - start
            wanted_s = left_s / 2 if number + 1 < _WANTED else _PASS_S
            if not left or spent_s > min(wanted_s, left_s / 2):
                break

    def _works(self, call: Call, name: str) -> bool:
        """Run a pass once, not counted: it warms what is to be warm, or it is left out."""
        __tracebackhide__ = True
        try:
            call()
        except Exception as error:  # noqa: BLE001  (cycles, what is shared, reducers that mind)
            self.raised[name] = error_text(error)
        return name not in self.raised

    def _add(self, name: str, call: Call) -> bool:
        __tracebackhide__ = True
        try:
            run = timed(call)
        except Exception as error:  # noqa: BLE001  (the same)
            self.raised[name] = error_text(error)
            return False
        self.runs.setdefault(name, []).append(run)
        return True


def are_short(expected_s: float, left_s: float) -> bool:
    """Tell whether passes can be warmed first and made several times."""
    return expected_s <= SLOW_S and _WARMED * expected_s <= left_s


def timed(call: Call) -> Timed:
    """Run it once; what it returns is dropped outside of the timing."""
    __tracebackhide__ = True
    faults = _faults()
    start = time.perf_counter_ns()
    result = call()
    duration_ns = time.perf_counter_ns() - start
    after = _faults()
    del result
    return Timed(duration_ns, None if faults is None or after is None else after - faults)


def _middle(runs: Sequence[Timed]) -> Timed:
    return middle_run(runs, lambda run: run.duration_ns)


def _faults() -> int | None:
    """Return the pages that this thread has touched for the first time; None where unknown."""
    with suppress(ImportError, AttributeError):
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    return None


_DUMPS, _LOADS = "pickle.dumps", "pickle.loads"
#: A pickler without memo that takes so much longer writes again what is shared; less is noise.
_MOST_LONGER = 1.2


def dumps_half(look: Look, passes: Passes) -> Half | None:
    """Return what was measured of dumps; None where no dumps has ended."""
    if passes.cold is None:
        return None
    warm = passes.middle(WHOLE)
    whole_ns = (warm or passes.cold).duration_ns
    sink_ns = passes.middle_ns("sink")
    levels = [Level("pickle.reduce", _reduce_ns(look, passes))]
    if sink_ns is not None and warm is not None:
        levels += [*_written(passes, sink_ns), *_moved(passes, whole_ns)]
    return Half(_DUMPS, passes.cold, warm, tuple(levels), len(passes.runs.get(WHOLE, ())))


def _reduce_ns(look: Look, passes: Passes) -> int:
    """Return the time inside reducers; what watching costs, the same in every run, is taken off."""
    watched_ns, spent = passes.least_ns("reduce"), sorted(passes.spent_ns)
    spent_ns = spent[len(spent) // 2] if spent and watched_ns is not None else look.spent_ns
    sink_ns = passes.least_ns("sink") or passes.least_ns(WHOLE) or look.duration_ns
    overhead_ns = max(0, (watched_ns or look.duration_ns) - sink_ns)
    return max(0, spent_ns - overhead_ns)


def _written(passes: Passes, sink_ns: int) -> list[Level]:
    """Return opcodes and memo: together where a pickler without memo is no measure of it."""
    forgetful_ns = passes.middle_ns("forgetful")
    if forgetful_ns is None or forgetful_ns > _MOST_LONGER * sink_ns:
        return [Level("pickle.opcodes-memo", sink_ns)]
    return [Level("pickle.opcodes", forgetful_ns), Level("pickle.memo", sink_ns)]


def _moved(passes: Passes, whole_ns: int) -> list[Level]:
    """Return copy and pages; without a pass into a block they stay with the whole."""
    block_ns = passes.middle_ns("block")
    if block_ns is None:
        return []
    return [Level("pickle.copy", block_ns), Level("pickle.allocate", whole_ns)]


def loads_half(passes: Passes, large_bytes: int) -> Half | None:
    """Return what was measured of loads; None where no loads has ended."""
    if passes.cold is None:
        return None
    warm = passes.middle(WHOLE)
    whole_ns = (warm or passes.cold).duration_ns
    # Without large buffers loads does nothing but build objects.
    levels = (
        _loads_levels(passes, whole_ns) if large_bytes else [Level("unpickle.objects", whole_ns)]
    )
    return Half(_LOADS, passes.cold, warm, tuple(levels), len(passes.runs.get(WHOLE, ())))


def _loads_levels(passes: Passes, whole_ns: int) -> list[Level]:
    objects_ns, copy_ns = passes.middle_ns("objects"), passes.middle_ns("copy")
    if objects_ns is None or copy_ns is None:
        return []
    return [
        Level("unpickle.objects", objects_ns),
        Level("unpickle.copy", objects_ns + copy_ns),
        Level("unpickle.allocate", whole_ns),
    ]


def missing_notes(dumped: Passes, loaded: Passes, halves: Sequence[Half]) -> Iterator[str]:
    """Say what was not told apart, and why."""
    for half in halves:
        yield from (
            _dumps_notes(dumped, half) if half.whole == _DUMPS else _loads_notes(loaded, half)
        )
    if WHOLE in loaded.raised and loaded.cold is None:
        yield f"loads was not measured: it raised {loaded.raised[WHOLE]}"
    elif halves and loaded.cold is None and WHOLE in dumped.raised:
        yield "loads was not measured: there is no pickle for it"


def _dumps_notes(passes: Passes, half: Half) -> Iterator[str]:
    stages = {level.stage for level in half.levels}
    if WHOLE in passes.raised:
        yield f"dumps raised when it was repeated: {passes.raised[WHOLE]}"
    took = format_ns(half.cold.duration_ns)
    if half.warm is None:
        yield f"one dumps takes {took}: it was not made again, and only reducers were told apart"
    elif half.cold.duration_ns > SLOW_S * 1e9:
        yield f"one dumps takes {took}: each pass was made once at most"
    if "pickle.opcodes-memo" in stages:
        yield (
            "memo: n/a, it is in Opcodes and memo. A pickler without memo would do other work: for "
            "cycles, shared objects, classes and functions written by value, or slow reducers"
        )
    if len(stages) > 1 and "pickle.copy" not in stages:
        yield "copy and new pages: n/a, they are in Pickle itself: no pass could leave them out"


def _loads_notes(passes: Passes, half: Half) -> Iterator[str]:
    if WHOLE in passes.raised:
        yield f"loads raised when it was repeated: {passes.raised[WHOLE]}"
    if "objects" in passes.raised:
        yield "loads was not split: it writes into the buffers that it is given"
    elif "buffers" in passes.raised:
        yield f"loads was not split: dumps raised {passes.raised['buffers']}"
    elif not half.levels:
        yield f"loads was not split: one takes {format_ns(half.cold.duration_ns)}"
