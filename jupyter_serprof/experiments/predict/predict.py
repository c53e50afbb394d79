"""What the waterfall of an object would be at another size, or over another link.

Nothing is predicted that was not checked: a measured size is held out and predicted in the same
way, and its error goes with the answer, beside the error of one straight line. Where no size was
measured within a factor of ten, or the check failed, there is no answer.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.experiments.predict.answer import (
    REST,
    Answer,
    between,
    medians,
    signed,
    sizes_of,
    spread_at,
    stages_at,
)
from jupyter_serprof.experiments.predict.beyond import beyond
from jupyter_serprof.model import (
    Lane,
    Prediction,
    Span,
    Summary,
    Sweep,
    Trace,
    UsageError,
    WrongTypeError,
    stage,
)
from jupyter_serprof.model.errors import shown
from jupyter_serprof.model.units import format_bytes, format_ns, format_rate

#: A held-out size is in the decade of what is asked; a reach of more is refused.
REACH = 10.0
#: What a column of a document holds: bytes, or 146 years.
_MOST = 2**62
_MOST_BYTES_PER_S = 1e15
WIRE = "network.wire"
_LANE = "client/main"


def predict(
    sweep: Sweep,
    size: float | None = None,
    bandwidth_bytes_per_s: float | None = None,
    *,
    variant: str | None = None,
) -> Trace:
    """Predict what the waterfall of an object would be at another size, or over another link.

    Parameters
    ----------
    sweep
        Warm runs: of three sizes to predict between them, of five to predict beyond them; for
        another link only, one size is enough.
    size
        Bytes of the value, at most ten times the largest measured size; None takes that one.
    bandwidth_bytes_per_s
        Rate of a link that the bytes cross between pickling and unpickling, in bytes: 1 Gbit/s is
        1.25e8; above 0, up to 1e15. None has no link.
    variant
        Key of a transport of the sweep; None takes the fastest one at the largest size.

    Returns
    -------
    Trace
        With ``prediction`` set: it is drawn hatched and says how far off it was at a measured size
        that was held out (``error_share``), and how far off one straight line was
        (``straight_error_share``). What the check was made from is among the ``assumptions``.

    Raises
    ------
    UsageError
        Where no measured size within a factor of ten can check it, for fewer than four sizes below
        that one (one on each side, between sizes), where the held-out size was missed by more than
        a factor of 2 (measure the size that is asked for, with more runs), for a transport that the
        sweep has not, for a sweep over chunk sizes, and for values that are no sizes or rates.

    Notes
    -----
    At a measured size it is the median of what was measured there, and the range that of its runs.
    Between two measured sizes each stage is interpolated between its medians there, on a line of
    logarithms, and never leaves them; to check it, the nearest size with measured ones on both
    sides is left out and interpolated from those. The range has at least the spread of the runs at
    both sizes.
    Beyond them each stage is modelled apart: a fixed cost, bytes at the warm rate, fresh pages by
    the price of a page in first runs, and growth of the memo for many small objects. To check it,
    the last size is predicted from as far below.
    Where a straight line held out clearly better, the line answers, and the assumptions say so. It
    holds for the machine and the allocator that the sweep was measured with.
    Source: ``tests/benchmarks/prediction.py`` measures the held-out errors; glibc's
    ``DEFAULT_MMAP_THRESHOLD_MAX`` (malloc/malloc.c) is why blocks of 32 MiB are always fresh.
    """
    _check_bandwidth(bandwidth_bytes_per_s)
    key = _checked_variant(sweep, variant)
    sizes = sizes_of(sweep, key)
    size_bytes = sizes[-1] if size is None else _checked_size(size)
    answer = _answer(sweep, key, size_bytes)
    rate = None if bandwidth_bytes_per_s is None else float(bandwidth_bytes_per_s)
    low_ns, high_ns = answer.interval()
    moved = None if rate is None else _moved_bytes(sweep, key, size_bytes)
    wire_ns = _wire_ns(moved, rate)
    checked, is_alias = answer.checked, _is_alias(sweep, key)
    about = Prediction(
        size_bytes=size_bytes,
        bandwidth_bytes_per_s=rate,
        low_ns=round(low_ns + wire_ns),
        high_ns=round(high_ns + wire_ns),
        holdout_bytes=checked.size_bytes if checked else None,
        error_share=checked.error_share if checked else None,
        straight_error_share=checked.straight_share if checked else None,
        assumptions=tuple(_assumptions(answer, moved, rate, is_alias=is_alias)),
    )
    stages = {**answer.stages, WIRE: wire_ns} if moved else answer.stages
    return _trace(sweep, key, stages, about, moved)


def _answer(sweep: Sweep, key: str, size: int) -> Answer:
    """Return what was measured, lies between what was measured, or follows from it."""
    sizes = sizes_of(sweep, key)
    if size in sizes:
        said = "the stages are medians of what was measured at this size"
        spread = spread_at(sweep, key, (size,))
        return Answer(stages_at(sweep, key, size), assumptions=(said,), spread=spread)
    answer = between if sizes[0] < size < sizes[-1] else beyond
    return answer(sweep, key, size, reach=REACH)


# What was asked


def _checked_size(size_bytes: float) -> int:
    if not _is_number(size_bytes, 1, _MOST):
        message = f"size is {shown(size_bytes)}; it is a number of bytes, e.g. size=100e6"
        raise UsageError(message)
    return round(size_bytes)


def _check_bandwidth(bandwidth: float | None) -> None:
    if bandwidth is None or (_is_number(bandwidth, 0, _MOST_BYTES_PER_S) and bandwidth > 0):
        return
    message = (
        f"bandwidth_bytes_per_s is {shown(bandwidth)}; it is a rate above 0 and up to 1e15, "
        "e.g. bandwidth_bytes_per_s=1.25e8 for 1 Gbit/s"
    )
    raise UsageError(message)


def _is_number(value: object, least: float, most: float) -> bool:
    """Tell whether it is a number within bounds; those of numpy are, too."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: Any = value
    return bool(least <= number <= most)


def _checked_variant(sweep: Sweep, variant: str | None) -> str:
    given: object = sweep
    if not isinstance(given, Sweep):
        kind = type(given).__name__
        message = f"a prediction needs a sweep, not a {kind}, e.g. sp.sweep(make, sizes=[...])"
        raise WrongTypeError(message)
    if sweep.kind == "chunks":
        message = (
            "this sweep is over chunk sizes of a Dask computation, and a prediction needs one over "
            "sizes of a value: sp.sweep(make, sizes=[...]). To know another chunk size, measure it"
        )
        raise UsageError(message)
    known = [v.key for v in sweep.variants if v.state == "ok" and sizes_of(sweep, v.key)]
    if variant is not None and variant not in known:
        message = f"the sweep did not measure {variant!r}; it has: {', '.join(known) or 'nothing'}"
        raise UsageError(message)
    if not known:
        message = "the sweep has no warm runs of known bytes; measure it with repeat=3 or more"
        raise UsageError(message)
    return variant or min(known, key=lambda key: _fastest(sweep, key))


def _fastest(sweep: Sweep, key: str) -> tuple[bool, int, float]:
    """Order variants: real copies before aliases, more sizes first, then the fastest."""
    walls = medians(sweep, key, None)
    largest = max(walls)
    return _is_alias(sweep, key), -largest, walls[largest]


def _is_alias(sweep: Sweep, key: str) -> bool:
    """Tell whether the result of a variant is the value itself."""
    return any(v.key == key and v.is_alias for v in sweep.variants)


# What follows


def _moved_bytes(sweep: Sweep, key: str, size: int) -> float:
    """Return the bytes on the wire: as many for each byte of the value as at the nearest size."""
    moved = [
        (point.size_bytes, point.moved_bytes)
        for point in sweep.points
        if point.variant == key and point.size_bytes and point.moved_bytes
    ]
    if not moved:
        message = f"nobody saw how many bytes {key!r} moves, so its time on a link is unknown"
        raise UsageError(message)
    nearest, _ = min(moved, key=lambda seen: abs(math.log(seen[0] / size)))
    bytes_there = statistics.median(there for known, there in moved if known == nearest)
    return bytes_there * size / nearest


def _wire_ns(moved: float | None, bandwidth: float | None) -> float:
    if not moved or not bandwidth:
        return 0.0
    wire_ns = moved / bandwidth * 1e9
    if wire_ns > _MOST:
        message = (
            f"{format_bytes(round(moved))} over {bandwidth:g} bytes/s take more than "
            "146 years. Ask for a faster link, e.g. bandwidth_bytes_per_s=1.25e8 for 1 Gbit/s"
        )
        raise UsageError(message)
    return wire_ns


def _assumptions(
    answer: Answer, moved: float | None, bandwidth: float | None, *, is_alias: bool
) -> list[str]:
    known = ["warm runs on this machine; the first run is slower", *answer.assumptions]
    if moved is not None:
        known.append(
            f"{format_bytes(round(moved))} cross a link of {format_rate(bandwidth)} that is free, "
            "after pickling and before unpickling, without latency"
        )
        if is_alias:
            known.append(
                "here the same memory is handed over; behind a link it arrives in new memory, "
                "which is not counted"
            )
    return known


def _trace(
    sweep: Sweep, key: str, stages: Mapping[str, float], about: Prediction, moved: float | None
) -> Trace:
    """Lay the stages one behind the other, in the order of the road."""
    keys = sorted((k for k in stages if k), key=lambda k: stage(k).order)
    spans, at_ns = [], 0
    for name in keys:
        duration = round(stages[name])
        if duration > 0:
            size = _span_bytes(name, about, moved)
            spans.append(Span(name, "predicted", _LANE, at_ns, duration, size))
            at_ns += duration
    title = next(entry.title for entry in sweep.variants if entry.key == key)
    trace = Trace(
        name=f"{sweep.name}, {title}",
        started=sweep.started,
        wall_ns=at_ns + round(max(0.0, stages.get(REST, 0.0))),
        producer=sweep.producer,
        stages=tuple(stage(span.stage) for span in spans),
        lanes=(Lane(_LANE),),
        spans=tuple(spans),
        prediction=about,
        limits=sweep.limits,
        environment=sweep.environment,
    )
    return replace(trace, waterfall=partition(trace), summary=_summary(trace, title, about))


def _span_bytes(name: str, about: Prediction, moved: float | None) -> int | None:
    """Return the bytes of a span: of the value where it is pickled, as many as move on the wire."""
    if name == WIRE and moved is not None:
        return round(moved)
    return about.size_bytes if stage(name).family == "pickle" else None


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
        ends = f"{format_ns(about.low_ns)} to {format_ns(about.high_ns)}"
        return (f"{ends}, as the runs that were measured",) if about.low_ns != about.high_ns else ()
    held, error = format_bytes(about.holdout_bytes), signed(about.error_share)
    straight = signed(about.straight_error_share)
    return (
        f"{format_ns(about.low_ns)} to {format_ns(about.high_ns)}",
        f"{held} was held out: predicted with an error of {error}, by a straight line {straight}",
    )
