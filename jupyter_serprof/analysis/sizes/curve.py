"""One curve of a sweep: the median time and the page faults of a variant or stage at each size."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_serprof.model import Point
from jupyter_serprof.model.sweep import middle_ns

#: What a minor fault brings on the machines that this runs on.
_PAGE_BYTES = 4096
#: Below this number of pages a single fault says nothing about the bytes.
_FEW_PAGES = 16
#: A change in new pages per page of the value that counts as another regime of memory.
_FAULTS_STEP = 0.25


@dataclass(frozen=True, slots=True)
class Curve:
    """Medians over size, in increasing order of size.

    ``sizes_bytes``, ``medians_ns``, ``counts``: The sizes, the median time of the runs at each, and
        how many there were.
    ``fault_shares``: New pages over pages of the value at each size, beyond the faults of the
        smallest one: 0 is memory used again, 1 is one fresh page for each page of the value. None:
        not seen.
    ``spread_share``: Standard deviation of one run around the median of its size, as a share; None
        when no size was run twice. A size with a run far off does not move it.
    ``spread_freedom``: Degrees of freedom behind it.
    ``watching_ns``: What it cost to watch a run.
    """

    sizes_bytes: tuple[int, ...]
    medians_ns: tuple[float, ...]
    counts: tuple[int, ...]
    fault_shares: tuple[float | None, ...]
    spread_share: float | None
    spread_freedom: int
    watching_ns: float = 0

    def noise_share(self, count: float) -> float | None:
        """Return the relative standard error of a median of ``count`` runs; None if not seen."""
        if self.spread_share is None:
            return None
        efficiency = math.pi / 2 if count > 1 else 1.0
        return self.spread_share * math.sqrt(efficiency / count)

    def faults_turn(self, at: int) -> int:
        """Return 1 where pages become fresh at a size, -1 where they are used again, else 0."""
        if at == 0 or self.fault_shares[at] is None:
            return 0
        change = (self.fault_shares[at] or 0.0) - (self.fault_shares[at - 1] or 0.0)
        return 0 if abs(change) <= _FAULTS_STEP else int(math.copysign(1, change))


def curve_of(
    points: Sequence[Point], variant: str, *, cold: bool, stage: str | None = None
) -> Curve:
    """Return the curve of a variant, or of one of its stages; times of 0 have no place on it."""
    times: dict[int, list[float]] = defaultdict(list)
    faults: dict[int, list[int]] = defaultdict(list)
    for point in points:
        time_ns = point.wall_ns if stage is None else point.stages.get(stage, 0)
        if point.variant == variant and point.cold == cold and point.size_bytes and time_ns > 0:
            times[point.size_bytes].append(time_ns)
            if point.minor_faults is not None:
                faults[point.size_bytes].append(point.minor_faults)
    sizes = sorted(times)
    least = statistics.median(faults[sizes[0]]) if sizes and faults[sizes[0]] else 0
    spread, freedom = _spread([times[size] for size in sizes])
    return Curve(
        tuple(sizes),
        tuple(middle_ns(times[size]) for size in sizes),
        tuple(len(times[size]) for size in sizes),
        tuple(_fault_share(size, faults[size], least) for size in sizes),
        spread,
        freedom,
    )


def _fault_share(size_bytes: int, faults: Sequence[int], least: float) -> float | None:
    pages = size_bytes / _PAGE_BYTES
    if not faults or pages < _FEW_PAGES:
        return None
    return max(0.0, statistics.median(faults) - least) / pages


def _spread(runs: Sequence[Sequence[float]]) -> tuple[float | None, int]:
    logs = [[math.log(time) for time in times] for times in runs if len(times) > 1]
    if not logs:
        return None, 0
    # The median of a chi-square over its freedom is below 1 (Wilson and Hilferty, 1931).
    scaled = [statistics.variance(times) / (1 - 2 / (9 * (len(times) - 1))) ** 3 for times in logs]
    freedom = sum(len(times) - 1 for times in logs)
    return math.sqrt(statistics.median(scaled)), freedom
