"""Two samples of times: the ratio with its interval, how far chance, drift and the machine reach.

Method: logarithms of all ratios between the two samples (Hodges-Lehmann), with the interval that
inverts the exact Mann-Whitney test; for pairs that ran side by side the means of all two log ratios
(Walsh averages) and the exact signed-rank test. No distribution is assumed, and a few wild runs do
not matter. Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3.2 and 4.2.

Two documents differ in more than the code: in the moment, and in what the process had of memory. No
run inside one of them shows that, so fixed work is timed beside the runs
(``experiments.engine.machine``). The rule: a change is told where all of its interval lies beyond
the reach of the machine: how much longer than its quick tenth of the fixed work its slow tenth
took, of both documents together and of the worst kind, and a quarter more for what no fixed work
sees. Where one side filled new pages and the other next to none, often a matter of the process, the
other is given them, too.

What it cannot see: disks, the network, other machines; and code that shares something with a
neighbour that no kind touches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import NormalDist, median

from jupyter_serprof.experiments.engine.machine import FEWEST
from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.model.units import format_count, format_ratio

#: With more runs the normal distribution is as good as the exact one, and far quicker.
_MOST_EXACT = 20
#: Runs of a side that are looked at, evenly chosen: pairs are a product, and a longer sample
#: narrows the interval below what drift allows anyway.
_MOST_RUNS = 200
ALPHA = 0.05
#: How often chance may be told as a change of pairs: there is no machine to exceed beside it.
PAIRED_ALPHA = 0.01
#: With fewer there is no A against A.
_FEWEST_HALVES = 8


@dataclass(frozen=True, slots=True)
class Shift:
    """A difference of logarithms, after minus before.

    ``low`` and ``high`` are the ends of its interval; None where so few runs allow none.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def factor(self) -> float:
        """Return the end of the interval that is nearest to no change, as a factor of 1 or more."""
        if self.low is None or self.high is None:
            return 1.0
        return math.exp(max(0.0, self.low, -self.high))


def shift_of(before: Sequence[float], after: Sequence[float], alpha: float = ALPHA) -> Shift:
    """Return the shift between two samples of times that were taken apart."""
    one, other = _logs(before), _logs(after)
    differences = sorted(late - early for late in other for early in one)
    return _ends(differences, _cut(len(one), len(other), alpha))


def paired_shift(before: Sequence[float], after: Sequence[float], alpha: float = ALPHA) -> Shift:
    """Return the shift between pairs that ran side by side: what drifts, drifts for both."""
    ratios = [late - early for early, late in zip(_logs(before), _logs(after), strict=True)]
    means = sorted((a + b) / 2 for at, a in enumerate(ratios) for b in ratios[at:])
    return _ends(means, _signed_cut(len(ratios), alpha))


def fewest_runs(alpha: float, *, is_paired: bool) -> int:
    """Return how many runs of each side can have an interval."""
    cuts = (_signed_cut(n, alpha) if is_paired else _cut(n, n, alpha) for n in range(_MOST_RUNS))
    return next(at for at, cut in enumerate(cuts) if cut)


def noise(times: Sequence[float]) -> float | None:
    """Return half the width of the interval of A against A: every other run against the rest."""
    if len(times) < _FEWEST_HALVES:
        return None
    found = shift_of(times[::2], times[1::2])
    return None if found.low is None or found.high is None else (found.high - found.low) / 2


def _logs(times: Sequence[float]) -> list[float]:
    count = len(times)
    chosen = [times[at * count // _MOST_RUNS] for at in range(_MOST_RUNS)]
    return [math.log(max(1.0, time)) for time in (chosen if count > _MOST_RUNS else times)]


def _ends(differences: Sequence[float], cut: int) -> Shift:
    middle = median(differences)
    return Shift(middle, differences[cut - 1], differences[-cut]) if cut else Shift(middle)


@cache
def _cut(before: int, after: int, alpha: float) -> int:
    """Return which of the ordered differences ends the interval, from 1; 0 if none may."""
    if max(before, after) > _MOST_EXACT:
        spread = math.sqrt(before * after * (before + after + 1) / 12)
        return _normal_cut(before * after / 2, spread, alpha)
    return _exact_cut(_mann_whitney(before, after), alpha)


@cache
def _signed_cut(count: int, alpha: float) -> int:
    if count > _MOST_EXACT:
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return _normal_cut(count * (count + 1) / 4, spread, alpha)
    ways = [1]
    for rank in range(1, count + 1):  # each rank counts for one side or for the other one
        ways = [a + b for a, b in zip(ways + [0] * rank, [0] * rank + ways, strict=True)]
    return _exact_cut(tuple(ways), alpha)


def _normal_cut(middle: float, spread: float, alpha: float) -> int:
    return max(0, int(middle + NormalDist().inv_cdf(alpha / 2) * spread))


def _exact_cut(ways: tuple[int, ...], alpha: float) -> int:
    total = sum(ways)
    return sum(1 for so_far in accumulate(ways) if so_far <= alpha / 2 * total)


@cache
def _mann_whitney(before: int, after: int) -> tuple[int, ...]:
    if before == 0 or after == 0:
        return (1,)
    ways = [0] * (before * after + 1)
    for value, count in enumerate(_mann_whitney(before - 1, after)):
        ways[value + after] += count
    for value, count in enumerate(_mann_whitney(before, after - 1)):
        ways[value] += count
    return tuple(ways)


#: Kinds of work, as `MachineCheck` has them, and how many new pages the last one fills.
_TITLES = {"pickle": "pickling", "copy": "copying memory", "pages": "filling new pages"}
_PAGES = 256
#: Between documents on a machine that stayed as it was.
LEAST, _TENTH = 1.25, 0.1


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine may have done to one of two documents.

    ``reach``: What a verdict has to exceed, as a factor.
    ``text``: Why, in words.
    ``page_ns``: What a new page cost in the slow tenth, ns; 0 if unknown.
    """

    reach: float
    text: str
    page_ns: float


def machine_between(before: Trace | Sweep, after: Trace | Sweep) -> Machine | None:
    """Return what the machine did, None where one side has no control, or too short a one."""
    if isinstance(before, Trace) or isinstance(after, Trace):
        return None
    sides = {kind: (before.control.get(kind, ()), after.control.get(kind, ())) for kind in _TITLES}
    known = {kind: times for kind, times in sides.items() if all(times)}
    if not known or any(len(times) < FEWEST for both in known.values() for times in both):
        return None
    ends = {kind: _quick_and_slow_ns([*one, *other]) for kind, (one, other) in known.items()}
    ratios = {kind: slow / quick for kind, (quick, slow) in ends.items()}
    worst = max(ratios, key=lambda kind: ratios[kind])
    reach = LEAST * ratios[worst]
    text = (
        f"within {format_ratio(reach)}, which the machine alone may make: {_TITLES[worst]} "
        f"varied by {format_ratio(ratios[worst])}"
    )
    return Machine(reach, text, ends["pages"][1] / _PAGES if "pages" in ends else 0.0)


def _quick_and_slow_ns(times: Sequence[int]) -> tuple[float, float]:
    ordered, count = sorted(times), len(times)
    return max(1.0, ordered[int(_TENTH * count)]), max(1.0, ordered[int((1 - _TENTH) * count)])


def held_back(
    before_ns: Sequence[int], after_ns: Sequence[int], pages: Sequence[float], machine: Machine
) -> str:
    """Return why a change may not be of the code; nothing if it exceeds the machine.

    ``pages``: New pages of a run before and after; nothing where unknown.
    """
    if shift_of(before_ns, after_ns).factor <= machine.reach:
        return machine.text
    if not pages or min(pages) > _TENTH * max(pages):
        return ""
    # Both sides fill them: the slower one has, if it is for them.
    more_ns = (pages[1] - pages[0]) * machine.page_ns
    is_slower = shift_of(before_ns, after_ns).value > 0
    before = [time + max(0.0, more_ns if is_slower else 0.0) for time in before_ns]
    after = [time + max(0.0, 0.0 if is_slower else -more_ns) for time in after_ns]
    if shift_of(before, after).factor > machine.reach:
        return ""
    counts = "{} new pages a run before, {} after".format(*map(format_count, map(round, pages)))
    return f"{counts}: another process may know them already"


def machine_text(machine: Machine) -> str:
    """Return what the fixed work says, for a note."""
    return (
        f"up to {format_ratio(machine.reach)} may come from the machine, whose speed changed as "
        "much between the runs. To be sure, run both in turns: sp.compare(f, g)"
    )
