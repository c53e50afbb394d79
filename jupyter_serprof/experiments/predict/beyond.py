"""Beyond the measured sizes: each stage by its model, checked with the same reach.

The nearest measured size is held out and predicted from as far below as what is asked lies beyond;
its error goes with the answer, beside that of one straight line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jupyter_serprof.experiments.predict.answer import (
    Answer,
    Checked,
    better,
    line_stages,
    medians,
    sizes_of,
)
from jupyter_serprof.experiments.predict.pages import ALWAYS_FRESH_BYTES
from jupyter_serprof.experiments.predict.road import stage_times
from jupyter_serprof.model import Sweep, UsageError
from jupyter_serprof.model.units import format_bytes

_FEWEST_SIZES = 4


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
