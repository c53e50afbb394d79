"""The machine between two documents: fixed work that was timed beside the runs of each.

Two documents differ in more than the code: in the moment, and in what the process had of memory. No
run inside one of them shows that, so fixed work is timed beside the runs (``experiments/control``).
The rule: a change is told where all of its interval lies beyond the reach of the machine: so many
times as long as the quick tenth of the fixed work its slow tenth took, of both documents together
and of the worst kind, and a quarter more for what no fixed work sees. Where one side filled new
pages and the other next to none, often a matter of the process, the other is given them, too.

What it cannot see: disks, the network, other machines; and code that shares something with a
neighbour that no kind touches.

Measured (``tests/benchmarks/compare_calibration.py``, two cores that others used): without the
quarter 31 of 7350 pairs of the same code were told as changed, and 9 of 300 of the worst set; with
it 1 of 1225 (dicts) and 0 of 946 (loads). Beside such neighbours a code that takes twice as long
was told in 0 to 4 %; simulated at 3 % noise 1.5 times as long is told always, 1.3 times never. In
turns a tenth is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_serprof.experiments.compare.statistics import Shift, shift_of
from jupyter_serprof.model import Change, Sweep, Trace
from jupyter_serprof.model.sweep import middle_ns
from jupyter_serprof.model.units import format_count

#: Kinds of work, as ``experiments/control.py`` has them, and how many new pages the last one fills.
_TITLES = {
    "pickle": "pickling",
    "copy": "copying memory",
    "pages": "filling new pages",
}
_PAGES = 256
#: Between documents on a machine that stayed as it was.
LEAST = 1.25
_TENTH = 0.1
_TURNS = "To know, run both in turns: sp.compare(f, g)"


@dataclass(frozen=True, slots=True)
class Machine:
    """What happened to the machine between two documents.

    Attributes
    ----------
    changes
        A line for each kind of work, after against before.
    reach
        What a verdict has to exceed, as a factor.
    worst
        The title of that kind.
    page_ns
        What a new page cost in the slow tenth, ns; 0 if nobody knows.
    """

    changes: tuple[Change, ...]
    reach: float
    worst: str
    page_ns: float


def machine_between(before: Trace | Sweep, after: Trace | Sweep) -> Machine | None:
    """Return what the machine did, None where one side has no control, or too short a one."""
    if isinstance(before, Trace) or isinstance(after, Trace):
        return None
    sides = {
        kind: (before.control[kind], after.control[kind])
        for kind in _TITLES
        if before.control.get(kind) and after.control.get(kind)
    }
    changes = tuple(_change(kind, *times) for kind, times in sides.items())
    if not changes or any(change.low is None for change in changes):
        return None
    ends = {kind: _ends([*one, *other]) for kind, (one, other) in sides.items()}
    worst = max(ends, key=lambda kind: ends[kind][1] / ends[kind][0])
    page_ns = ends["pages"][1] / _PAGES if "pages" in ends else 0.0
    reach = LEAST * ends[worst][1] / ends[worst][0]
    return Machine(changes, reach, _TITLES[worst], page_ns)


def _ends(times: Sequence[int]) -> tuple[float, float]:
    """Return where the quick tenth ends, and the slow one begins, ns."""
    ordered, count = sorted(times), len(times)
    return max(1.0, ordered[int(_TENTH * count)]), max(1.0, ordered[int((1 - _TENTH) * count)])


def _change(key: str, before: Sequence[int], after: Sequence[int]) -> Change:
    shift = shift_of(before, after)
    return Change(
        stage=key,
        title=_TITLES[key],
        before_ns=middle_ns(before),
        after_ns=middle_ns(after),
        verdict=("slower" if shift.value > 0 else "faster") if shift.is_told else "cannot tell",
        ratio=math.exp(shift.value),
        low=None if shift.low is None else math.exp(shift.low),
        high=None if shift.high is None else math.exp(shift.high),
        before_runs=len(before),
        after_runs=len(after),
        reason="" if shift.is_told else "within chance",
    )


def held_back(
    before_ns: Sequence[int], after_ns: Sequence[int], pages: Sequence[float], machine: Machine
) -> str:
    """Return why a change may not be of the code; nothing if it exceeds the machine.

    Parameters
    ----------
    before_ns, after_ns
        The runs.
    pages
        New pages of a run before and after, medians; empty where nobody counted.
    """
    if _nearest(shift_of(before_ns, after_ns)) <= machine.reach:
        return _reach_text(machine)
    sides = _with_pages(before_ns, after_ns, pages, machine.page_ns)
    if _nearest(shift_of(*sides)) > machine.reach:
        return ""
    counts = "{} new pages a run before, {} after".format(*map(format_count, map(round, pages)))
    return f"{counts}: another process may know them already"


def _with_pages(
    before_ns: Sequence[int], after_ns: Sequence[int], pages: Sequence[float], page_ns: float
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the runs as if both sides had filled the new pages of the slower one."""
    if not pages or min(pages) > _TENTH * max(pages):
        return before_ns, after_ns
    more_ns = (pages[1] - pages[0]) * page_ns
    if shift_of(before_ns, after_ns).value > 0:
        return [time + max(0.0, more_ns) for time in before_ns], after_ns
    return before_ns, [time + max(0.0, -more_ns) for time in after_ns]


def _nearest(shift: Shift) -> float:
    """Return the end of the interval that is nearest to no change, as a factor of 1 or more."""
    if shift.low is None or shift.high is None:
        return 1.0
    return math.exp(max(0.0, shift.low, -shift.high))


def _reach_text(machine: Machine) -> str:
    by = f"{machine.reach / LEAST:.2f}×"  # noqa: RUF001
    return (
        f"within {machine.reach:.2f}×, what the machine may have done: the same "  # noqa: RUF001
        f"{machine.worst} took {by} as long in its slow moments as in its quick ones"
    )


def machine_text(machine: Machine) -> str:
    """Return what the fixed work says, for a note."""
    said = ", ".join(f"{change.title} {change.ratio:.2f}×" for change in machine.changes)  # noqa: RUF001
    return (
        f"fixed work beside the runs, middle after against before: {said}. A verdict has to exceed "
        f"{machine.reach:.2f}×; it is a hint all the same. {_TURNS}"  # noqa: RUF001
    )
