"""Beyond the measured sizes: each stage by its model, checked with the same reach.

The nearest measured size is held out and predicted from as far below as what is asked lies beyond;
its error goes with the answer, beside that of one straight line.

A stage is ``fixed + rate * bytes + page * more_pages + growth * bytes * log10(bytes / first)``,
each coefficient 0 or above (non-negative least squares of relative errors; runs far off count
less).
Pages are counted for the whole run, so ``more_pages`` are those beyond the usual share of the large
sizes, and the rate is that of a stage in a usual run. All runs are fitted together, cold ones of
larger sizes too: some have the fresh pages that others lack, so that the price of a page is known
before the size at which every run pays it. Growth is allowed only where a byte costs far more than
its copy: a memo of many small objects outgrows the caches, and each look into it takes longer.

Whether memory is fresh is decided by the allocator: glibc keeps no block of 32 MiB and more
(``DEFAULT_MMAP_THRESHOLD_MAX``, 64 bit), so that at large sizes every run takes the pages that
smaller sizes took only in their worst run.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jupyter_serprof.experiments.predict.answer import (
    Answer,
    Checked,
    better,
    line_stages,
    medians,
    names_of,
    sizes_of,
    time_ns,
)
from jupyter_serprof.model import Limits, Point, Sweep, UsageError
from jupyter_serprof.model.units import format_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_SIZES = 4
PAGE_BYTES = 4096
#: glibc maps larger blocks anew each time.
ALWAYS_FRESH_BYTES = 32 * 2**20
#: The last sizes that tell what is usual.
_LAST = 3
#: Stages that may copy the value into one block: the pickle, and what comes out of it.
_COPIES = ("pickle.dumps", "pickle.loads")
#: A stage that takes less than this of the time of a copy hands buffers over.
_COPY_SHARE = 0.5
#: A size at which the model is off by more is an accident, not a correction.
_MOST_CORRECTED = 5.0
#: Cold runs below it pay for imports and first calls, not for pages.
_COLD_FROM_BYTES = 200_000
#: A memo of fewer bytes fits into the caches.
_GROWTH_FROM_BYTES = 200_000
#: Where a byte costs less, it is copied and not made of objects (a copy: 0.1 to 1 ns).
OBJECTS_NS_PER_BYTE = 5.0
#: Relative errors beyond it count less and less.
_FAR_SHARE = 0.1
_ROUNDS = 10


def beyond(sweep: Sweep, key: str, size: int, *, reach: float) -> Answer:
    """Return what a size below or above all measured ones takes.

    Parameters
    ----------
    sweep, key
        Warm runs of this variant at five sizes or more.
    size
        Bytes.
    reach
        The largest factor between it and the nearest measured size.

    Raises
    ------
    UsageError
        Where no size is in reach, too few are left to check it, or the check failed.
    """
    sizes = sizes_of(sweep, key)
    answer = Answer(
        _stages(sweep, key, size, sizes[-1]),
        _check(sweep, key, size, reach),
        tuple(_assumptions(size)),
    )
    line = line_stages(sweep, key, sizes, size)[1]
    return better(answer, line, size, "through all measured sizes")


def _check(sweep: Sweep, key: str, size: int, reach: float) -> Checked:
    """Hold the nearest size out and predict it from as far below as what is asked lies beyond."""
    sizes = sizes_of(sweep, key)
    held = _held_out(sizes, size, reach)
    away = max(1.0, size / sizes[-1])
    train = [known for known in sizes if known < held and known * away <= held]
    _check_enough(train, held, size)
    return Checked(
        size_bytes=held,
        trained=f"from sizes up to {format_bytes(train[-1])}",
        measured_ns=medians(sweep, key, None)[held],
        guess_ns=sum(_stages(sweep, key, held, train[-1]).values()),
        line_ns=line_stages(sweep, key, train, held)[0],
    )


def _stages(sweep: Sweep, key: str, size: int, known_bytes: int) -> Mapping[str, float]:
    """Return the time of each stage at a size, from the sizes up to the last known one."""
    known = [p for p in sweep.points if p.variant == key and 0 < (p.size_bytes or 0) <= known_bytes]
    return stage_times(known, size, sweep.limits)


def _assumptions(size: int) -> list[str]:
    known = ["each stage apart: fixed cost, bytes, fresh pages, growth of the memo"]
    if size >= ALWAYS_FRESH_BYTES:
        known.append("blocks of 32 MiB and more are always fresh pages (glibc)")
    return known


def _held_out(sizes: Sequence[int], size: int, reach: float) -> int:
    """Return the measured size that is nearest to what is asked: the first or the last."""
    held = sizes[0] if size < sizes[0] else sizes[-1]
    if not 1 / reach <= held / size <= reach:
        message = (
            f"no size within a factor of {reach:.0f} of {format_bytes(size)} was measured "
            f"({format_bytes(sizes[0])} to {format_bytes(sizes[-1])}), so nothing says how good a "
            f"prediction is. Measure one there: sp.sweep(make, sizes, holdout={size})"
        )
        raise UsageError(message)
    return held


def _check_enough(train: Sequence[int], held: int, size: int) -> None:
    if len(train) < _FEWEST_SIZES:
        message = (
            f"to predict {format_bytes(size)}, {format_bytes(held)} is held out and predicted from "
            f"as far below; only {len(train)} sizes are left for that, and it takes "
            f"{_FEWEST_SIZES}. Measure more small sizes"
        )
        raise UsageError(message)


def stage_times(points: Sequence[Point], size_bytes: int, limits: Limits) -> Mapping[str, float]:
    """Return the time of each stage at a size (ns); that of no stage has the key "".

    Parameters
    ----------
    points
        Runs of one variant at the sizes that are known.
    size_bytes
        The size that is asked for.
    limits
        Of the machine that they ran on.
    """
    runs = {name: _runs(points, name) for name in names_of(points)}
    copies = [name for name in _COPIES if name in runs and _is_copy(runs[name], limits)]
    pages = expected_pages(points, size_bytes, blocks=len(copies))
    times = {}
    for name, found in runs.items():
        is_copy = name in copies
        known = [*found, *_page_price(found, len(copies), limits)] if is_copy else found
        model = fit_stage(known)
        near = _nearest(found, size_bytes, is_copy=is_copy)
        times[name] = model.time_ns(size_bytes, pages) * _correction(model, near)
    return times


def _runs(points: Sequence[Point], name: str) -> list[StageRun]:
    return [
        StageRun(point.size_bytes or 0, point.cold, time_ns(point, name), point.minor_faults or 0)
        for point in points
    ]


def _usual(runs: Sequence[StageRun]) -> tuple[int, float, float]:
    """Return the largest size, and the median time and pages of its warm runs."""
    largest = max(run.size_bytes for run in runs)
    there = [run for run in runs if run.size_bytes == largest]
    warm = [run for run in there if not run.is_cold] or there
    times, pages = [run.time_ns for run in warm], [run.pages for run in warm]
    return largest, statistics.median(times), statistics.median(pages)


def _nearest(runs: Sequence[StageRun], size_bytes: int, *, is_copy: bool) -> list[StageRun]:
    """Return the warm runs of the size that is nearest and has the same kind of memory."""
    side = size_bytes >= ALWAYS_FRESH_BYTES
    warm = [
        run
        for run in runs
        if not run.is_cold and (not is_copy or (run.size_bytes >= ALWAYS_FRESH_BYTES) == side)
    ]
    away = {run.size_bytes: abs(math.log(run.size_bytes / size_bytes)) for run in warm}
    nearest = min(away, key=lambda size: away[size], default=None)
    return [run for run in warm if run.size_bytes == nearest]


def _correction(model: StageModel, near: Sequence[StageRun]) -> float:
    """Return what the model is to be multiplied with to meet the nearest measured size."""
    if not near:
        return 1.0
    fitted = statistics.median(model.time_ns(run.size_bytes, run.pages) for run in near)
    measured = statistics.median(run.time_ns for run in near)
    if fitted <= 0 or measured <= 0:
        return 1.0
    return min(_MOST_CORRECTED, max(1 / _MOST_CORRECTED, measured / fitted))


def _is_copy(runs: Sequence[StageRun], limits: Limits) -> bool:
    if not limits.memcpy_bytes_per_s:
        return False
    size, time, _ = _usual(runs)
    ns_per_byte = time / size
    return _COPY_SHARE * 1e9 / limits.memcpy_bytes_per_s < ns_per_byte < OBJECTS_NS_PER_BYTE


def _page_price(runs: Sequence[StageRun], blocks: int, limits: Limits) -> tuple[StageRun, ...]:
    """Return a run as the limits of the machine make it: like a usual one, on fresh pages only."""
    if not limits.first_touch_bytes_per_s or not limits.memcpy_bytes_per_s:
        return ()
    size, time, pages = _usual(runs)
    price = 1e9 / limits.first_touch_bytes_per_s - 1e9 / limits.memcpy_bytes_per_s
    fresh = pages + blocks * size / PAGE_BYTES
    return (StageRun(size, is_cold=True, time_ns=time + max(0.0, price) * size, pages=fresh),)


class StageRun(NamedTuple):
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
        """Return the time at a size with ``pages`` fresh pages in the run (ns)."""
        more = pages - self.usual_share * size_bytes / PAGE_BYTES
        numbers = _features(size_bytes, more, grows=True)
        prices = (self.fixed_ns, self.ns_per_byte, self.ns_per_page, self.growth_ns_per_byte)
        return max(0.0, sum(n * price for n, price in zip(numbers, prices, strict=True)))


def fit_stage(runs: Sequence[StageRun]) -> StageModel:
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


def _usual_share(runs: Sequence[StageRun]) -> float:
    """Return the least fresh pages over pages of the value that a run of the large sizes took."""
    large = sorted({run.size_bytes for run in runs})[-_LAST:]
    return min(run.pages * PAGE_BYTES / run.size_bytes for run in runs if run.size_bytes in large)


def _is_of_objects(runs: Sequence[StageRun]) -> bool:
    largest = max(run.size_bytes for run in runs)
    times = [run.time_ns for run in runs if run.size_bytes == largest]
    return statistics.median(times) > OBJECTS_NS_PER_BYTE * largest


def _weights(runs: Sequence[StageRun]) -> Floats:
    """Weigh relative errors, each size as a whole, and larger sizes more: they are nearer."""
    import numpy as np

    last = max(run.size_bytes for run in runs)
    counts = Counter(run.size_bytes for run in runs)
    usual = {
        size: statistics.median(run.time_ns for run in runs if run.size_bytes == size)
        for size in counts
    }
    return np.array(
        [
            (0.1 + (run.size_bytes / last) ** 0.25)
            / math.sqrt(counts[run.size_bytes])
            / max(run.time_ns, usual[run.size_bytes], 1.0)
            for run in runs
        ]
    )


def _features(size_bytes: float, pages: float, *, grows: bool) -> tuple[float, ...]:
    over = math.log10(size_bytes / _GROWTH_FROM_BYTES) if size_bytes > _GROWTH_FROM_BYTES else 0.0
    return (1.0, size_bytes, pages, size_bytes * over if grows else 0.0)


def expected_pages(points: Sequence[Point], size_bytes: int, *, blocks: int) -> float:
    """Return the fresh pages of a run at a size, of which ``blocks`` stages copy the value.

    Pages are told as a share of the pages of the value. A share near a whole number is that many
    blocks as large as the value, of which a few pages happened to be known.
    """
    shares = _shares(points)
    last = [shares[size] for size in sorted(shares)[-_LAST:]]
    if not last:
        return 0.0  # this platform counts none
    if size_bytes < ALWAYS_FRESH_BYTES:
        share = statistics.median(statistics.median(found) for found in last)
    else:
        most = max(max(found) for found in last)
        share = max(most, round(most), blocks)
    return share * size_bytes / PAGE_BYTES


def _shares(points: Sequence[Point]) -> Mapping[int, list[float]]:
    found: dict[int, list[float]] = defaultdict(list)
    for point in points:
        if point.size_bytes and point.minor_faults is not None:
            found[point.size_bytes].append(point.minor_faults * PAGE_BYTES / point.size_bytes)
    return found
