"""What the waterfall of an object would be at another size, or over another link.

Nothing is predicted that was not checked: the nearest measured size is held out, predicted from
the sizes below it with the same reach, and its error goes with the answer, beside the error of one
straight line. Where no size was measured within a factor of ten, there is no answer.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from jupyter_serprof.analysis.predict_pages import ALWAYS_FRESH_BYTES
from jupyter_serprof.analysis.predict_road import REST, names_of, stage_times, time_ns
from jupyter_serprof.analysis.predict_stages import straight_ns
from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.model import (
    Lane,
    Prediction,
    Span,
    Summary,
    Sweep,
    Trace,
    UsageError,
    stage,
)
from jupyter_serprof.model.units import format_bytes, format_ns, format_rate, format_share

#: A held-out size is in the decade of what is asked; a reach of more is refused.
REACH = 10.0
_FEWEST_SIZES = 4
WIRE = "network.wire"
_LANE = "client/main"


@dataclass(frozen=True, slots=True)
class _Guess:
    """Time by stage (ns); the key of what no stage explains is empty."""

    stages: Mapping[str, float]

    @property
    def wall_ns(self) -> float:
        return sum(self.stages.values())


def predict(
    sweep: Sweep,
    size_bytes: float | None = None,
    *,
    bandwidth_bytes_per_s: float | None = None,
    variant: str | None = None,
) -> Trace:
    """Return the predicted trace; see `jupyter_serprof.predict`."""
    _check_bandwidth(bandwidth_bytes_per_s)
    key = _checked_variant(sweep, variant)
    sizes = _sizes(sweep, key)
    size = sizes[-1] if size_bytes is None else _checked_size(size_bytes)
    if size in sizes:
        guess, checked = _measured(sweep, key, size), _Checked()
    else:
        guess, checked = _guess(sweep, key, size, sizes[-1]), _check(sweep, key, size)
    wire = _wire(sweep, key, size, bandwidth_bytes_per_s)
    low_ns, high_ns = checked.around(guess.wall_ns)
    about = Prediction(
        size_bytes=size,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        low_ns=round(low_ns + sum(wire.values())),
        high_ns=round(high_ns + sum(wire.values())),
        holdout_bytes=checked.size_bytes,
        error_share=checked.error_share,
        straight_error_share=checked.straight_share,
        assumptions=tuple(_assumptions(sweep, key, size, bandwidth_bytes_per_s)),
    )
    return _trace(sweep, key, _Guess({**guess.stages, **wire}), about)


@dataclass(frozen=True, slots=True)
class _Checked:
    """How good a prediction of a measured size was; empty when nothing had to be predicted."""

    size_bytes: int | None = None
    error_share: float | None = None
    straight_share: float | None = None

    def around(self, wall_ns: float) -> tuple[float, float]:
        """Return the wall time, lower and upper end, that an error as large leaves possible."""
        error = abs(self.error_share or 0.0)
        return wall_ns / (1 + error), wall_ns / max(0.1, 1 - error)


def _check(sweep: Sweep, key: str, size: int) -> _Checked:
    """Hold the nearest size out and predict it from as far below as what is asked lies beyond."""
    sizes = _sizes(sweep, key)
    held = _held_out(sizes, size)
    reach = max(1.0, size / sizes[-1])
    train = [known for known in sizes if known < held and known * reach <= held]
    _check_enough(train, held, size)
    walls = _medians(sweep, key, None)
    guess_ns = _guess(sweep, key, held, train[-1]).wall_ns
    line_ns = straight_ns({known: walls[known] for known in train}, held)
    return _Checked(held, guess_ns / walls[held] - 1, line_ns / walls[held] - 1)


# What was asked


def _checked_size(size_bytes: float) -> int:
    known: object = size_bytes
    is_number = isinstance(known, int | float) and not isinstance(known, bool)
    if not is_number or not math.isfinite(size_bytes) or size_bytes < 1:
        message = f"size is {size_bytes!r}; it is a number of bytes, e.g. size=100e6"
        raise UsageError(message)
    return round(size_bytes)


def _check_bandwidth(bandwidth: float | None) -> None:
    known: object = bandwidth
    is_number = isinstance(known, int | float) and not isinstance(known, bool)
    if bandwidth is None or (is_number and math.isfinite(bandwidth) and bandwidth > 0):
        return
    message = (
        f"bandwidth_bytes_per_s is {bandwidth!r}; it is a rate above 0, "
        "e.g. bandwidth_bytes_per_s=1.25e8 for 1 Gbit/s"
    )
    raise UsageError(message)


def _checked_variant(sweep: Sweep, variant: str | None) -> str:
    given: object = sweep
    if not isinstance(given, Sweep):
        message = "a prediction needs a sweep over sizes, e.g. sp.sweep(make, sizes=[...])"
        raise UsageError(message)
    known = [v.key for v in sweep.variants if v.state == "ok" and _sizes(sweep, v.key)]
    if variant is not None and variant not in known:
        message = f"the sweep did not measure {variant!r}; it has: {', '.join(known) or 'nothing'}"
        raise UsageError(message)
    if not known:
        message = "the sweep has no warm runs; measure it with repeat=3 or more"
        raise UsageError(message)
    return variant or min(known, key=lambda key: _fastest(sweep, key))


def _fastest(sweep: Sweep, key: str) -> tuple[bool, int, float]:
    """Order variants: real copies before aliases, more sizes first, then the fastest."""
    described = next(v for v in sweep.variants if v.key == key)
    walls = _medians(sweep, key, None)
    largest = max(walls)
    return "aliases" in described.result, -largest, walls[largest]


# What was measured


def _medians(sweep: Sweep, key: str, name: str | None) -> dict[int, float]:
    """Return the median warm time by size of a stage, of the rest (""), or of the whole (None)."""
    times: dict[int, list[float]] = {}
    for point in sweep.points:
        if point.variant == key and not point.cold and point.size_bytes:
            took_ns = point.wall_ns if name is None else time_ns(point, name)
            times.setdefault(point.size_bytes, []).append(took_ns)
    return {size: statistics.median(found) for size, found in sorted(times.items())}


def _sizes(sweep: Sweep, key: str) -> list[int]:
    return sorted(_medians(sweep, key, None))


def _held_out(sizes: list[int], size: int) -> int:
    """Return the measured size that is nearest to what is asked: the next larger, or the last."""
    held = next((known for known in sizes if known >= size), sizes[-1])
    if not 1 / REACH <= held / size <= REACH:
        message = (
            f"no size within a factor of 10 of {format_bytes(size)} was measured "
            f"({format_bytes(sizes[0])} to {format_bytes(sizes[-1])}), so nothing says how good a "
            f"prediction is. Measure one there: sp.sweep(make, sizes, holdout={size})"
        )
        raise UsageError(message)
    return held


def _check_enough(train: list[int], held: int, size: int) -> None:
    if len(train) < _FEWEST_SIZES:
        message = (
            f"to predict {format_bytes(size)}, {format_bytes(held)} is held out and predicted from "
            f"as far below; only {len(train)} sizes are left for that, and it takes "
            f"{_FEWEST_SIZES}. Measure more small sizes"
        )
        raise UsageError(message)


# What follows


def _measured(sweep: Sweep, key: str, size: int) -> _Guess:
    """Return the median of each stage at a measured size."""
    names = names_of([point for point in sweep.points if point.variant == key])
    return _Guess({name: _medians(sweep, key, name)[size] for name in names})


def _guess(sweep: Sweep, key: str, size: int, known_bytes: int) -> _Guess:
    """Return the time of each stage at a size, from the sizes up to the last known one."""
    known = [p for p in sweep.points if p.variant == key and 0 < (p.size_bytes or 0) <= known_bytes]
    return _Guess(stage_times(known, size, sweep.limits))


def _wire(sweep: Sweep, key: str, size: int, bandwidth: float | None) -> dict[str, float]:
    if bandwidth is None:
        return {}
    return {WIRE: _moved_bytes(sweep, key, size) / bandwidth * 1e9}


def _moved_bytes(sweep: Sweep, key: str, size: int) -> float:
    """Return the bytes on the wire: as many for each byte of the value as at the largest size."""
    moved = [
        (point.size_bytes, point.moved_bytes)
        for point in sweep.points
        if point.variant == key and point.size_bytes and point.moved_bytes is not None
    ]
    if not moved:
        message = f"nobody saw how many bytes {key!r} moves, so its time on a link is unknown"
        raise UsageError(message)
    largest, bytes_there = max(moved)
    return bytes_there * size / largest


def _assumptions(sweep: Sweep, key: str, size: int, bandwidth: float | None) -> list[str]:
    known = ["warm runs on this machine; the first run is slower"]
    if size in _sizes(sweep, key):
        known.append("the stages are medians of what was measured at this size")
    else:
        known.append("each stage apart: fixed cost, bytes, fresh pages, growth of the memo")
        if size >= ALWAYS_FRESH_BYTES:
            known.append("blocks of 32 MiB and more are always fresh pages (glibc)")
    if bandwidth is not None:
        moved = _moved_bytes(sweep, key, size)
        known.append(
            f"{format_bytes(round(moved))} cross a link of {format_rate(bandwidth)} that is free, "
            "after pickling and before unpickling, without latency"
        )
    return known


def _trace(sweep: Sweep, key: str, guess: _Guess, about: Prediction) -> Trace:
    """Lay the stages one behind the other, in the order of the road."""
    keys = sorted((k for k in guess.stages if k), key=lambda k: stage(k).order)
    spans, at_ns = [], 0
    for name in keys:
        duration = round(guess.stages[name])
        if duration > 0:
            size = about.size_bytes if stage(name).family == "pickle" else None
            spans.append(Span(name, "predicted", _LANE, at_ns, duration, size))
            at_ns += duration
    title = next(entry.title for entry in sweep.variants if entry.key == key)
    trace = Trace(
        name=f"{sweep.name}, {title}",
        started=sweep.started,
        wall_ns=at_ns + round(max(0.0, guess.stages.get(REST, 0.0))),
        producer=sweep.producer,
        stages=tuple(stage(span.stage) for span in spans),
        lanes=(Lane(_LANE),),
        spans=tuple(spans),
        prediction=about,
        limits=sweep.limits,
        environment=sweep.environment,
    )
    return replace(trace, waterfall=partition(trace), summary=_summary(trace, title, about))


def _summary(trace: Trace, title: str, about: Prediction) -> Summary:
    link = (
        f" over {format_rate(about.bandwidth_bytes_per_s)}" if about.bandwidth_bytes_per_s else ""
    )
    headline = (
        f"Predicted, not measured: {format_bytes(about.size_bytes)} by {title}{link} "
        f"takes about {format_ns(trace.wall_ns)}."
    )
    return Summary(headline, (*_held_facts(about), *about.assumptions))


def _held_facts(about: Prediction) -> tuple[str, ...]:
    if about.holdout_bytes is None:
        return ()
    held, error = format_bytes(about.holdout_bytes), _signed(about.error_share)
    straight = _signed(about.straight_error_share)
    return (
        f"{format_ns(about.low_ns)} to {format_ns(about.high_ns)}",
        f"{held} was held out: predicted with an error of {error}, by a straight line {straight}",
    )


def _signed(share: float | None) -> str:
    if share is None:
        return "unknown"
    sign = "+" if share >= 0 else "\N{MINUS SIGN}"
    return f"{sign}{format_share(abs(share), decimals=0)}"
