"""What makes two documents hard to compare: other versions, another machine, other code."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from jupyter_serprof.analysis.compare_samples import UNACCOUNTED, Match, Run
from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.model.units import format_rate, format_share

#: Said of runs that were not made in turns: nothing tells the code from the machine then.
TIMES_APART = (
    "before was measured at another time, without a control run of it now: a machine that is "
    "slower or faster than it was then looks like slower or faster code. To tell them apart run "
    "both in turns: sp.compare(f, g)"
)
_MACHINE = ("platform", "machine", "cores")
#: Stages that two runs of the same computation share, at least, of their wall time.
_SHARED_SHARE = 0.3
#: The same machine copies memory this much faster from one minute to the next.
_MEMCPY_RATIO = 1.5


def notes_on(
    before: Trace | Sweep, after: Trace | Sweep, matches: Sequence[Match]
) -> Iterator[str]:
    """Yield sentences about what else differs than the code."""
    yield from _environment_notes(before, after)
    yield from _memory_notes(before, after)
    yield from _computation_notes(before, after, matches)


def _environment_notes(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    one, other = before.environment, after.environment
    keys = [key for key in one if key in other and one[key] != other[key]]
    for label, chosen in (
        ("another machine", [key for key in keys if key in _MACHINE]),
        ("other versions", [key for key in keys if key not in _MACHINE]),
    ):
        if chosen:
            listed = ", ".join(f"{key} {one[key]} before and {other[key]} after" for key in chosen)
            yield f"{label}: {listed}; a change may come from there"
    if bool(one) != bool(other):
        yield f"{'after' if one else 'before'} does not say on which machine and versions it ran"


def _memory_notes(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    one, other = before.limits.memcpy_bytes_per_s, after.limits.memcpy_bytes_per_s
    if one and other and max(one, other) > _MEMCPY_RATIO * min(one, other):
        rates = f"{format_rate(one)} before, {format_rate(other)} after"
        yield f"memory was copied at {rates}: another or a busier machine"


def _computation_notes(
    before: Trace | Sweep, after: Trace | Sweep, matches: Sequence[Match]
) -> Iterator[str]:
    if before.name == after.name:
        return
    shared = max(_shared_share(match) for match in matches)
    if shared < _SHARED_SHARE:
        yield (
            f"{before.name} and {after.name} have {format_share(shared, decimals=0)} of their "
            "stages in common: probably not the same computation"
        )


def _shared_share(match: Match) -> float:
    """Return how much of the explained time the two have in the same stages."""
    one, other = _shares(match.before.runs), _shares(match.after.runs)
    if not one or not other:
        return 1.0
    return sum(min(share, other.get(key, 0.0)) for key, share in one.items())


def _shares(runs: Sequence[Run]) -> dict[str, float]:
    keys = {key for run in runs for key in run.stages} - {UNACCOUNTED}
    owned = {key: statistics.median(run.stages.get(key, 0) for run in runs) for key in keys}
    total = sum(owned.values())
    return {key: value / total for key, value in owned.items()} if total else {}
