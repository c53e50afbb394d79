"""Drift: one point measured again and again tells whether the machine changed meanwhile."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

from jupyter_serprof.experiments.sizes.cells import loops_for
from jupyter_serprof.model.units import format_ratio

#: Runs of the control point each time.
CONTROL_RUNS = 5
#: Less than this (a logarithm) is no drift, whatever the spread.
_LEAST_DRIFT = 0.2
#: The control point takes no longer, if there is one.
_LONGEST_NS = 500_000


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
    """Choose the control point of the first variant: its longest run of up to 0.5 ms.

    Longer runs move so many bytes that the allocator, which learns, would be taken for the machine;
    where there are no shorter ones, it is the shortest.

    Parameters
    ----------
    cold_ns
        Wall times of the cold runs by variant and size, the variants in their order.
    """
    first = next((key for key, _ in cold_ns if not _is_remote(key)), None)
    own = {at: time for at, time in cold_ns.items() if at[0] == first} or cold_ns
    if not own:
        return None
    short = [at for at, time in own.items() if time <= _LONGEST_NS]
    chosen = max(short, key=lambda at: at[1]) if short else min(own, key=lambda at: own[at])
    return Control(*chosen, loops_for(cold_ns[chosen]))


def _is_remote(key: str) -> bool:
    """Tell whether other processes take part, whose stores warm up slowly."""
    return key.partition("-")[0] in ("ray", "dask")
