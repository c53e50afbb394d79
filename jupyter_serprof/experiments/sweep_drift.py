"""Drift: one point measured again and again tells whether the machine changed meanwhile."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

from jupyter_serprof.experiments.sweep_cells import loops_for
from jupyter_serprof.model.units import format_ratio

#: Runs of the control point each time.
CONTROL_RUNS = 5
#: Less than this (a logarithm) is no drift, whatever the spread.
_LEAST_DRIFT = 0.2
#: The control point is the largest one that takes no longer.
_LONGEST_NS = 20_000_000


@dataclass(slots=True)
class Control:
    """The control point, and the wall times (ns) of its runs each time it was measured.

    ``loops`` is how many runs one recording holds, the same each time.
    """

    key: str
    parameter: float
    loops: int = 1
    times_ns: list[list[int]] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """How many times as long as at first each later time took, by the medians."""
        first, *later = (statistics.median(times) for times in self.times_ns)
        return [again / first for again in later]

    @property
    def noise_share(self) -> float:
        """Three standard errors of such a ratio, from the spread within each time."""
        logs = [[math.log(time) for time in times] for times in self.times_ns if len(times) > 1]
        if not logs:
            return math.inf
        spread = math.sqrt(statistics.mean(statistics.variance(times) for times in logs))
        runs = min(len(times) for times in logs)
        return 3 * spread * math.sqrt(math.pi / 2 * 2 / runs)

    def note(self, what: str) -> str:
        """Say that the machine changed, if it did beyond the noise; "" otherwise."""
        if len(self.times_ns) <= 1 or min(map(min, self.times_ns)) <= 0:
            return ""
        ratios = self.ratios
        at = max(range(len(ratios)), key=lambda index: abs(math.log(ratios[index])))
        if abs(math.log(ratios[at])) <= max(_LEAST_DRIFT, self.noise_share):
            return ""
        when = "at the end" if at == len(ratios) - 1 else "in between"
        return (
            f"the machine drifted: {what} took {format_ratio(ratios[at])} as long {when} as at the "
            "start. Sizes were visited in shuffled order, so this is no growth, but it is noise: "
            "sweep again when nothing else runs"
        )


def control_point(cold_ns: dict[tuple[str, float], int]) -> Control | None:
    """Choose the control point: the longest run of up to 20 ms, else the shortest one."""
    if not cold_ns:
        return None
    short = {at: time for at, time in cold_ns.items() if time <= _LONGEST_NS}
    chosen = (
        max(short, key=lambda at: short[at]) if short else min(cold_ns, key=lambda a: cold_ns[a])
    )
    return Control(*chosen, loops_for(cold_ns[chosen]))
