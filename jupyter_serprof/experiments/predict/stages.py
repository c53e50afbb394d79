"""One stage as a model: fixed cost, bytes at the warm rate, fresh pages, and growth of a memo.

``time = fixed + rate * bytes + page * more_pages + growth * bytes * log10(bytes / first)``, each
coefficient 0 or above (non-negative least squares of relative errors; runs far off count less).
Pages are counted for the whole run, so ``more_pages`` are those beyond the usual share of the large
sizes, and the rate is that of a stage in a usual run. All runs are fitted together, cold ones of
larger sizes too: some have the fresh pages that others lack, so that the price of a page is known
before the size at which every run pays it.
Growth is allowed only where a byte costs far more than its copy: a memo of many small objects
outgrows the caches of the processor, and each look into it takes longer.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jupyter_serprof.experiments.predict.pages import PAGE_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Cold runs below it pay for imports and first calls, not for pages.
_COLD_FROM_BYTES = 200_000
#: A memo of fewer bytes fits into the caches.
_GROWTH_FROM_BYTES = 200_000
#: Where a byte costs less, it is copied and not made of objects (a copy: 0.1 to 1 ns).
OBJECTS_NS_PER_BYTE = 5.0
#: Relative errors beyond it count less and less.
_FAR_SHARE = 0.1
_ROUNDS = 10
_LAST = 3


class Run(NamedTuple):
    """Time of a stage in one run, with the fresh pages of the whole run."""

    size_bytes: int
    is_cold: bool
    time_ns: float
    pages: float


@dataclass(frozen=True, slots=True)
class StageModel:
    """What a stage costs by size; see the module for the law."""

    fixed_ns: float = 0.0
    ns_per_byte: float = 0.0
    ns_per_page: float = 0.0
    growth_ns_per_byte: float = 0.0
    usual_share: float = 0.0

    def time_ns(self, size_bytes: int, pages: float) -> float:
        """Return the time at a size with so many fresh pages in the run (ns)."""
        more = pages - self.usual_share * size_bytes / PAGE_BYTES
        numbers = _features(size_bytes, more, grows=True)
        prices = (self.fixed_ns, self.ns_per_byte, self.ns_per_page, self.growth_ns_per_byte)
        return max(0.0, sum(n * price for n, price in zip(numbers, prices, strict=True)))


def fit_stage(runs: Sequence[Run]) -> StageModel:
    """Return the model of a stage from its runs; cold ones of small sizes do not count."""
    import numpy as np
    from scipy.optimize import nnls

    used = [run for run in runs if not run.is_cold or run.size_bytes >= _COLD_FROM_BYTES]
    if not any(run.time_ns > 0 for run in used):
        return StageModel()
    grows = _is_of_objects(used)
    share = _usual_share(used)
    more = [run.pages - share * run.size_bytes / PAGE_BYTES for run in used]
    sizes = [run.size_bytes for run in used]
    rows = np.array([_features(n, m, grows=grows) for n, m in zip(sizes, more, strict=True)])
    times = np.array([run.time_ns for run in used])
    known = _weights(used)
    near = known
    for _ in range(_ROUNDS):
        scaled = rows * near[:, None]
        norms = np.linalg.norm(scaled, axis=0)
        norms[norms == 0] = 1.0
        prices = nnls(scaled / norms, times * near)[0] / norms
        off = np.abs(rows @ prices - times) / np.maximum(times, 1.0)
        near = known * np.sqrt(_FAR_SHARE / np.maximum(off, _FAR_SHARE))
    fixed, rate, page, growth = (float(price) for price in prices)
    return StageModel(fixed, rate, page, growth, usual_share=share)


def _usual_share(runs: Sequence[Run]) -> float:
    """Return the least fresh pages over pages of the value that a run of the large sizes took."""
    large = sorted({run.size_bytes for run in runs})[-_LAST:]
    return min(run.pages * PAGE_BYTES / run.size_bytes for run in runs if run.size_bytes in large)


def _is_of_objects(runs: Sequence[Run]) -> bool:
    largest = max(run.size_bytes for run in runs)
    times = [run.time_ns for run in runs if run.size_bytes == largest]
    return statistics.median(times) > OBJECTS_NS_PER_BYTE * largest


def _weights(runs: Sequence[Run]) -> Floats:
    """Weigh relative errors, each size as a whole, and larger sizes more: they are nearer."""
    import numpy as np

    last = max(run.size_bytes for run in runs)
    counts = Counter(run.size_bytes for run in runs)
    usual = _usual(runs)
    return np.array(
        [
            (0.1 + (run.size_bytes / last) ** 0.25)
            / math.sqrt(counts[run.size_bytes])
            / max(run.time_ns, usual[run.size_bytes], 1.0)
            for run in runs
        ]
    )


def _usual(runs: Sequence[Run]) -> Mapping[int, float]:
    sizes = {run.size_bytes for run in runs}
    return {
        size: statistics.median(run.time_ns for run in runs if run.size_bytes == size)
        for size in sizes
    }


def _features(size_bytes: float, pages: float, *, grows: bool) -> tuple[float, ...]:
    over = math.log10(size_bytes / _GROWTH_FROM_BYTES) if size_bytes > _GROWTH_FROM_BYTES else 0.0
    return (1.0, size_bytes, pages, size_bytes * over if grows else 0.0)


def straight_ns(medians: Mapping[int, float], size_bytes: int) -> float:
    """Return one straight line through all sizes (ordinary least squares), at a size."""
    sizes, times = list(medians), list(medians.values())
    slope, fixed = statistics.linear_regression(sizes, times)
    return fixed + slope * size_bytes
