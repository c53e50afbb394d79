"""What a sweep measured: median warm times by size, of a stage and of the whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from jupyter_serprof.experiments.predict.road import REST, names_of, time_ns
from jupyter_serprof.experiments.predict.stages import straight_ns
from jupyter_serprof.model import Sweep
from jupyter_serprof.model.times import middle_ns


def medians(sweep: Sweep, key: str, name: str | None) -> dict[int, float]:
    """Return the median warm time by size of a stage, of the rest (""), or of the whole (None)."""
    times: dict[int, list[float]] = {}
    for point in sweep.points:
        if point.variant == key and not point.cold and point.size_bytes:
            took_ns = point.wall_ns if name is None else time_ns(point, name)
            times.setdefault(point.size_bytes, []).append(took_ns)
    return {size: middle_ns(found) for size, found in sorted(times.items())}


def sizes_of(sweep: Sweep, key: str) -> list[int]:
    """Return the sizes that have warm runs, in order (bytes)."""
    return list(medians(sweep, key, None))


def stage_names(sweep: Sweep, key: str) -> list[str]:
    """Return the keys of all stages of a variant, and that of the rest."""
    return names_of([point for point in sweep.points if point.variant == key])


def stages_at(sweep: Sweep, key: str, size: int) -> Mapping[str, float]:
    """Return the median of each stage at a measured size (ns); the rest up to that of the whole."""
    named = {name: medians(sweep, key, name)[size] for name in stage_names(sweep, key) if name}
    return with_rest(named, medians(sweep, key, None)[size])


def spread_at(sweep: Sweep, key: str, sizes: Collection[int]) -> tuple[float, float]:
    """Return the least and the most that a warm run took there, over the median of its size."""
    middle = medians(sweep, key, None)
    shares = [
        point.wall_ns / middle[point.size_bytes]
        for point in sweep.points
        if point.variant == key and not point.cold and point.size_bytes in sizes
        if point.size_bytes
    ]
    return min(shares), max(shares)


def with_rest(named: Mapping[str, float], wall_ns: float) -> Mapping[str, float]:
    """Add what the stages leave of the whole.

    A median of sums is no sum of medians, and the whole is what was measured best.
    """
    return {**named, REST: max(0.0, wall_ns - sum(named.values()))}


def line_stages(
    sweep: Sweep, key: str, known: Sequence[int], size: int
) -> tuple[float, Mapping[str, float]]:
    """Return one straight line through known sizes, and what it gives each stage (ns).

    The line of the whole is what is checked, so the lines of the stages are brought to its sum.
    """

    def line(name: str | None) -> float:
        found = medians(sweep, key, name)
        return straight_ns({there: found[there] for there in known}, size)

    wall_ns = line(None)
    stages = {name: max(0.0, line(name)) for name in stage_names(sweep, key)}
    total = sum(stages.values())
    if wall_ns <= 0 or total <= 0:
        return wall_ns, {REST: max(0.0, wall_ns)}
    return wall_ns, {name: time * wall_ns / total for name, time in stages.items()}
