"""From the runs of passes to the levels of dumps and loads; what is not known is told together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jupyter_serprof.experiments.split.passes import SLOW_S, WHOLE, Passes
from jupyter_serprof.experiments.split.words import Half, Level
from jupyter_serprof.model.units import format_ns
from jupyter_serprof.objects.split_picklers import Look

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
