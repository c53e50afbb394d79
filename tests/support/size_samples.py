"""Sweeps over sizes for the tests of views: two ways that cross, one that jumps, and chunks."""

from dataclasses import replace
from typing import Any

from jupyter_serprof.model import Crossover, Finding, Fit, Limits, Point, Summary, Sweep, Variant
from jupyter_serprof.model.sweep import BestSize

US = 1_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def make_sizes() -> Sweep:
    """Return pickle, which jumps at 1 MB, Ray, which overtakes it there, and one that was skipped.

    pickle takes 20 us up to 100 kB and 2 ns a byte from 1 MB on.
    """
    pickled = {1_000: 20, 10_000: 20, 100_000: 20, 1_000_000: 2_000, 10_000_000: 20_000}
    stored = dict.fromkeys(SIZES, 500)
    points = [*_points("pickle", pickled, "pickle.dumps"), *_points("ray", stored, "ray.store")]
    return Sweep(
        name="a",
        started="2026-11-21T08:00:00.000Z",
        kind="sweep",
        parameter="n",
        variants=(
            Variant("pickle", "pickle in-band", notes=("unstable: spreads 20 %",)),
            Variant("ray", "Ray", result="zero-copy, read-only"),
            Variant("npy", "numpy .npy", "skipped", ".npy holds plain arrays, not the type list"),
        ),
        points=tuple(points),
        fits=(
            _fit("pickle", 1_000, 100_000, fixed_ns=20_000.0, growth="constant"),
            replace(
                _fit("pickle", 1_000_000, 10_000_000, ns_per_byte=2.0, growth="linear"),
                low=1.6,
                high=2.5,
                cause="new memory pages",
            ),
            _fit("ray", 1_000, 10_000_000, fixed_ns=500_000.0, growth="constant"),
            replace(_fit("pickle", 1_000, 10_000_000), stage="pickle.dumps"),
        ),
        crossovers=(
            Crossover(
                title="Ray overtakes pickle in-band",
                cold=False,
                from_bytes=100_000,
                to_bytes=1_000_000,
            ),
        ),
        summary=Summary("Ray overtakes pickle between 100 kB and 1 MB.", ("5 sizes",)),
        limits=Limits(memcpy_bytes_per_s=10e9),
    )


def _points(key: str, walls_us: dict[int, int], stage: str) -> list[Point]:
    """Return a cold run of three times the time, and three warm ones around it."""
    return [
        Point(key, size, number, number == 0, wall * US, size, {stage: wall * US // 2})
        for size, middle in walls_us.items()
        for number, wall in enumerate((3 * middle, middle, middle * 9 // 10, middle * 11 // 10))
    ]


def _fit(variant: str, low: int, high: int, growth: str = "linear", **line: Any) -> Fit:
    line = {"from_bytes": low, "to_bytes": high, "fixed_ns": 0.0, "ns_per_byte": 0.0, **line}
    return Fit(variant=variant, cold=False, growth=growth, **line)


def make_chunks() -> Sweep:
    """Return the U-curve of a sweep of chunks, whose best one is 8 MB, 1 to 32 MB."""
    walls_us = {125_000: 4_000, 1_000_000: 1_000, 8_000_000: 500, 32_000_000: 900}
    points = tuple(
        replace(point, parameter=(point.size_bytes or 0) / 1_000)
        for point in _points("x", walls_us, "dask.execute")
    )
    sizes = {"size_bytes": 8_000_000, "low_bytes": 1_000_000, "high_bytes": 32_000_000}
    best = BestSize(**sizes, parameter=8_000.0, below="Scheduling", above="Execution")
    return Sweep(
        name="make(chunk)",
        started="2026-11-21T08:00:00.000Z",
        kind="chunks",
        parameter="chunk",
        variants=(Variant("x", "make(chunk)"),),
        points=points,
        best=best,
        findings=(Finding("dask.chunk-sweep", "info", "The chunk 8,000 is fastest", {}, ""),),
        summary=Summary("The fastest chunk is 8.00 MB.", ()),
    )
