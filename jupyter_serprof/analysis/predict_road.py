"""All stages of a run at another size: which of them copy, and what their fresh pages cost."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from jupyter_serprof.analysis.predict_pages import PAGE_BYTES, expected_pages
from jupyter_serprof.analysis.predict_stages import OBJECTS_NS_PER_BYTE, Run, fit_stage
from jupyter_serprof.model import Limits, Point

#: The key of what no stage explains.
REST = ""
#: Stages that may copy the value into one block: the pickle, and what comes out of it.
_COPIES = ("pickle.dumps", "pickle.loads")
#: A stage that takes less than this of the time of a copy hands buffers over.
_COPY_SHARE = 0.5


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
        known = [*found, *_page_price(found, len(copies), limits)] if name in copies else found
        times[name] = fit_stage(known).time_ns(size_bytes, pages)
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
