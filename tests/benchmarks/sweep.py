"""How long a sweep takes, when its first point is there, and how large its document is.

Twelve sizes from 1 KB to 100 MB through pickle (in-band and out-of-band), cloudpickle and Ray: an
array of floats, then a list of dicts up to 10 MB. Prints the figures, the fitted lines and the
crossovers. Bounds: 60 s on two cores, first point after 1 s, document of 250 KB.
Run: RAY_ENABLE_UV_RUN_RUNTIME_ENV=0 uv run python tests/benchmarks/sweep.py [--no-ray]
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext

from bench import heading, small_ray, table

from jupyter_serprof import api
from jupyter_serprof.model import Sweep, to_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.model.units import format_bytes, format_ns, format_ratio

LOCAL = ("pickle", "pickle-oob", "cloudpickle")
#: Generator, the largest size in bytes.
SWEPT = (("float64", 1e8), ("dicts", 1e7))
COUNT = 12


def swept(key: str, largest: float, transports: tuple[str, ...]) -> tuple[Sweep, float, float]:
    """Return a sweep, how long it took and when its first point was told, s."""
    start_s = time.perf_counter()
    told_s: list[float] = []

    def tell(_: Sweep) -> None:
        told_s.append(time.perf_counter() - start_s)

    runner = api.size_sweep(key, api.log_spaced(1e3, largest, COUNT), transports, seed=1)
    sweep = runner.run(tell)
    return sweep, time.perf_counter() - start_s, told_s[0]


def json_bytes(data: object) -> int:
    """Return the size of data as JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def show_figures(sweep: Sweep, took_s: float, first_s: float) -> None:
    """Print the time, the sizes of the document and what it says in one sentence."""
    data, _ = api.bundle(sweep)
    sizes = {name: json_bytes(part) for name, part in data.items()}
    print(f"took {took_s:.1f} s, first point after {first_s:.2f} s, {len(sweep.points)} points")
    print(f"document {json_bytes(to_document(sweep)):,} bytes; sent: {sizes[MIME_TYPE]:,} bytes")
    print(f"whole output {sum(sizes.values()):,} bytes: {sizes}")
    print(sweep.summary.headline if sweep.summary else "")
    for fact in sweep.summary.facts if sweep.summary else ():
        print(f"  {fact}")
    for note in sweep.quality.notes:
        print(f"  note: {note}")


def show_lines(sweep: Sweep) -> None:
    """Print the warm lines of whole runs, and the warm crossovers."""
    titles = {variant.key: variant.title for variant in sweep.variants}
    rows = []
    for line in sweep.fits:
        if line["cold"] or line.get("stage"):
            continue
        rate, power = line.get("ns_per_byte"), line.get("exponent")
        ends = f"{format_bytes(line['from_bytes'])} to {format_bytes(line['to_bytes'])}"  # type: ignore[arg-type]  # numbers
        bounds = (
            "" if power is None else f"{line['exponent_low']:.2f} to {line['exponent_high']:.2f}"
        )
        rows.append(
            [
                titles[str(line["variant"])],
                ends,
                str(line["growth"]),
                "" if rate is None else format_ns(line["fixed_ns"]),  # type: ignore[arg-type]  # a number
                "" if rate is None else f"{rate:.3f}",
                "" if power is None else f"{power:.2f}",
                bounds,
                str(line.get("cause", "")),
            ]
        )
    table(["transport", "sizes", "growth", "fixed", "ns/B", "exponent", "95 %", "cause"], rows)
    for entry in sweep.crossovers:
        if not entry["cold"]:
            low, high = entry["from_bytes"], entry["to_bytes"]
            between = (
                "" if low is None else f": between {format_bytes(low)} and {format_bytes(high)}"  # type: ignore[arg-type]  # numbers
            )
            print(f"{entry['title']}{between}")


def show_medians(sweep: Sweep) -> None:
    """Print the median warm time of each transport at each size."""
    keys = [variant.key for variant in sweep.variants if variant.state == "ok"]
    times: dict[tuple[str, int], list[int]] = {}
    for point in sweep.points:
        if not point.cold and point.size_bytes:
            times.setdefault((point.variant, point.size_bytes), []).append(point.wall_ns)
    sizes = sorted({size for _, size in times})
    middle = {at: sorted(walls)[(len(walls) - 1) // 2] for at, walls in times.items()}
    spread = {at: max(walls) / min(walls) for at, walls in times.items()}
    rows = [
        [
            format_bytes(size),
            *(
                f"{format_ns(middle[key, size])} ({format_ratio(spread[key, size])})"
                if (key, size) in middle
                else ""
                for key in keys
            ),
        ]
        for size in sizes
    ]
    table(["size", *(f"{key} (max/min)" for key in keys)], rows)


def main() -> None:
    """Sweep and print."""
    has_ray = "--no-ray" not in sys.argv
    transports = (*LOCAL, "ray") if has_ray else LOCAL
    with small_ray() if has_ray else nullcontext():
        for key, largest in SWEPT:
            heading(f"{key}: {COUNT} sizes from 1 KB to {format_bytes(largest)}")
            sweep, took_s, first_s = swept(key, largest, transports)
            show_figures(sweep, took_s, first_s)
            show_medians(sweep)
            show_lines(sweep)


if __name__ == "__main__":
    main()
