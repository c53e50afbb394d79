"""One stage as a model: fixed cost, bytes at the warm rate, fresh pages, and growth of a memo.

``time = fixed + rate * bytes + page * fresh_pages + growth * bytes * log10(bytes / first)``, each
coefficient 0 or above (non-negative least squares, relative errors). Warm medians of all sizes and
single cold runs of the larger ones are fitted together: the cold ones have the fresh pages that
the warm ones lack, so that the price of a page is known before the size at which it is due.
Growth is allowed only where the bytes are no large buffers: a memo of many small objects outgrows
the caches of the processor, and each look into it takes longer (memory, not arithmetic).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_serprof.analysis.predict_pages import PAGE_BYTES, Pages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Cold runs below it pay for imports and first calls, not for pages.
_COLD_FROM_BYTES = 200_000
#: A memo of fewer bytes fits into the caches.
_GROWTH_FROM_BYTES = 200_000
#: A cold run is one run, and the machine may give it memory that was never touched.
_COLD_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class StageModel:
    """What a stage costs by size; see the module for the law."""

    fixed_ns: float
    ns_per_byte: float
    ns_per_page: float
    growth_ns_per_byte: float
    pages: Pages

    def time_ns(self, size_bytes: int, fresh_blocks_share: float) -> float:
        """Return the time at a size (ns)."""
        share = self.pages.expected_share(size_bytes, fresh_blocks_share)
        numbers = _features(size_bytes, share, grows=True)
        prices = (self.fixed_ns, self.ns_per_byte, self.ns_per_page, self.growth_ns_per_byte)
        return sum(number * price for number, price in zip(numbers, prices, strict=True))


def fit_stage(
    warm: Mapping[int, float], cold: Mapping[int, float], pages: Pages, *, grows: bool
) -> StageModel:
    """Return the model of a stage.

    Parameters
    ----------
    warm, cold
        Time (ns) by size (bytes).
    pages
        Fresh pages beside them.
    grows
        Whether a memo may be what takes the time.
    """
    import numpy as np
    from scipy.optimize import nnls

    runs = [
        *((size, time, pages.warm.get(size, 0.0), 1.0) for size, time in warm.items()),
        *(
            (size, time, pages.cold[size], _COLD_WEIGHT)
            for size, time in cold.items()
            if size >= _COLD_FROM_BYTES and size in pages.cold
        ),
    ]
    rows = [_features(size, share, grows=grows) for size, _, share, _ in runs]
    weights = _weights(runs)
    scaled: NDArray[np.float64] = np.array(rows) * weights[:, None]
    norms = np.linalg.norm(scaled, axis=0)
    norms[norms == 0] = 1.0
    times = np.array([time for _, time, _, _ in runs])
    prices = nnls(scaled / norms, times * weights)[0] / norms
    return StageModel(*(float(price) for price in prices), pages=pages)


def _weights(runs: Sequence[tuple[int, float, float, float]]) -> NDArray[np.float64]:
    """Weigh relative errors, and larger sizes more: they are nearer to what is asked."""
    import numpy as np

    last = max(size for size, *_ in runs)
    near = np.array([0.1 + math.sqrt(size / last) for size, *_ in runs])
    times = np.array([max(time, 1.0) for _, time, *_ in runs])
    weight = np.array([weight for *_, weight in runs])
    result: NDArray[np.float64] = near * weight / times
    return result


def _features(size_bytes: float, share: float, *, grows: bool) -> tuple[float, ...]:
    over = math.log10(size_bytes / _GROWTH_FROM_BYTES) if size_bytes > _GROWTH_FROM_BYTES else 0.0
    pages = share * size_bytes / PAGE_BYTES
    return (1.0, size_bytes, pages, size_bytes * over if grows else 0.0)


def straight_ns(warm: Mapping[int, float], size_bytes: int) -> float:
    """Return one straight line through all sizes (ordinary least squares), at a size."""
    sizes, times = list(warm), list(warm.values())
    if len(sizes) == 1:
        return times[0]
    slope, fixed = statistics.linear_regression(sizes, times)
    return fixed + slope * size_bytes
