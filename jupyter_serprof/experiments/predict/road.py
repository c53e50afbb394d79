"""All stages of a run at another size: which of them copy, and what their fresh pages cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from jupyter_serprof.experiments.predict.pages import ALWAYS_FRESH_BYTES, PAGE_BYTES, expected_pages
from jupyter_serprof.experiments.predict.stages import (
    OBJECTS_NS_PER_BYTE,
    Run,
    StageModel,
    fit_stage,
)
from jupyter_serprof.model import Limits, Point

#: The key of what no stage explains.
REST = ""
#: Stages that may copy the value into one block: the pickle, and what comes out of it.
_COPIES = ("pickle.dumps", "pickle.loads")
#: A stage that takes less than this of the time of a copy hands buffers over.
_COPY_SHARE = 0.5
#: A size at which the model is off by more is an accident, not a correction.
_MOST_CORRECTED = 5.0


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


def names_of(points: Sequence[Point]) -> list[str]:
    """Return the keys of all stages, and that of the rest."""
    return [*sorted({name for point in points for name in point.stages if name}), REST]


def time_ns(point: Point, name: str) -> float:
    """Return the time of a stage in a run, or what no stage explains."""
    if name == REST:
        return point.wall_ns - sum(time for key, time in point.stages.items() if key)
    return point.stages.get(name, 0)


def _runs(points: Sequence[Point], name: str) -> list[Run]:
    return [
        Run(point.size_bytes or 0, point.cold, time_ns(point, name), point.minor_faults or 0)
        for point in points
    ]


def _usual(runs: Sequence[Run]) -> tuple[int, float, float]:
    """Return the largest size, and the median time and pages of its warm runs."""
    largest = max(run.size_bytes for run in runs)
    there = [run for run in runs if run.size_bytes == largest]
    warm = [run for run in there if not run.is_cold] or there
    times, pages = [run.time_ns for run in warm], [run.pages for run in warm]
    return largest, statistics.median(times), statistics.median(pages)


def _nearest(runs: Sequence[Run], size_bytes: int, *, is_copy: bool) -> list[Run]:
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


def _correction(model: StageModel, near: Sequence[Run]) -> float:
    """Return what the model is to be multiplied with to meet the nearest measured size."""
    if not near:
        return 1.0
    fitted = statistics.median(model.time_ns(run.size_bytes, run.pages) for run in near)
    measured = statistics.median(run.time_ns for run in near)
    if fitted <= 0 or measured <= 0:
        return 1.0
    return min(_MOST_CORRECTED, max(1 / _MOST_CORRECTED, measured / fitted))


def _is_copy(runs: Sequence[Run], limits: Limits) -> bool:
    if not limits.memcpy_bytes_per_s:
        return False
    size, time, _ = _usual(runs)
    ns_per_byte = time / size
    return _COPY_SHARE * 1e9 / limits.memcpy_bytes_per_s < ns_per_byte < OBJECTS_NS_PER_BYTE


def _page_price(runs: Sequence[Run], blocks: int, limits: Limits) -> tuple[Run, ...]:
    """Return a run as the limits of the machine make it: like a usual one, on fresh pages only."""
    if not limits.first_touch_bytes_per_s or not limits.memcpy_bytes_per_s:
        return ()
    size, time, pages = _usual(runs)
    price = 1e9 / limits.first_touch_bytes_per_s - 1e9 / limits.memcpy_bytes_per_s
    fresh = pages + blocks * size / PAGE_BYTES
    return (Run(size, is_cold=True, time_ns=time + max(0.0, price) * size, pages=fresh),)
