"""Findings about pickle itself: its protocol, its pages, many small objects, what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jupyter_serprof.analysis.spans import indexed, number, self_share, text
from jupyter_serprof.model import Finding, Limits, Span, Trace
from jupyter_serprof.model.units import (
    bytes_per_s,
    format_bytes,
    format_count,
    format_ns,
    format_rate,
    format_share,
)

PAGE_BYTES = 4_096
PROTOCOL_BYTES = 8_000_000
OLD_PROTOCOL = 4
#: Protocol 4 copies a buffer into bytes, and those into the pickle: both into new pages.
COPIED_TWICE = 1.8
FRESH_BYTES = 8_000_000
FRESH_RUNS = 3
FRESH_SHARE = 0.5
FRESH_REMEDY = (
    "buffer = io.BytesIO()   # keep it; each time: buffer.seek(0); "
    "pickle.Pickler(buffer, protocol=5).dump(a)"
)
SMALL_BYTES = 1_000_000
SMALL_NS = 20_000_000
#: Of the speed of a copy: below it the bytes are not the work.
SMALL_SHARE = 0.03
GC_NS = 20_000_000
GC_SHARE = 0.2
_DUMPS = ("pickle.dumps", "ray.pickle", "ray.export")
#: Stages in which somebody waits for a pickle that failed.
_REFUSING = (*_DUMPS, "ray.msgpack", "ray.store", "ray.submit", "dask.serialize")


def old_protocol(trace: Trace) -> Iterable[Finding]:
    """Arrays by protocol 4: twice the pages of protocol 5, and twice the time."""
    for index, span in indexed(trace, "pickle.dumps"):
        size, faults = number(span, "in_band_bytes") or 0, number(span, "minor_faults") or 0
        protocol = number(span, "protocol")
        if protocol is None or protocol > OLD_PROTOCOL or size < PROTOCOL_BYTES:
            continue
        if faults * PAGE_BYTES >= COPIED_TWICE * size:
            yield Finding(
                "pickle.protocol-4",
                "warn",
                f"protocol {protocol} copied {format_bytes(size)} twice: "
                f"{format_count(faults)} new pages are {format_bytes(faults * PAGE_BYTES)}",
                {"protocol": protocol, "in_band_bytes": size, "minor_faults": faults},
                "data = pickle.dumps(a, protocol=5)   # the default is still 4 before Python 3.14",
                spans=(index,),
            )


def fresh_buffers(trace: Trace) -> Iterable[Finding]:
    """Large pickles again and again, each into new pages: warm runs do not get faster."""
    fresh = {index: span for index, span in indexed(trace, "pickle.dumps") if _is_fresh(span)}
    if len(fresh) < FRESH_RUNS:
        return
    size = sum(number(span, "in_band_bytes") or 0 for span in fresh.values())
    faults = sum(number(span, "minor_faults") or 0 for span in fresh.values())
    yield Finding(
        "pickle.fresh-buffers",
        "info",
        f"{format_count(len(fresh))} pickles, {format_bytes(size)} in all, were each written into "
        f"new pages: {format_count(faults)}",
        {"times": len(fresh), "in_band_bytes": size, "minor_faults": faults},
        FRESH_REMEDY,
        spans=tuple(fresh)[:20],
    )


def _is_fresh(span: Span) -> bool:
    size, faults = number(span, "in_band_bytes") or 0, number(span, "minor_faults") or 0
    return size >= FRESH_BYTES and faults * PAGE_BYTES >= FRESH_SHARE * size


def small_objects(trace: Trace) -> Iterable[Finding]:
    """Pickles far below the speed of a copy: the objects are the work, not their bytes."""
    warm, told = trace.limits.memcpy_bytes_per_s, set()
    for key in ("pickle.dumps", "ray.pickle"):
        for index, span in indexed(trace, key):
            size = number(span, "in_band_bytes") or 0
            rate = bytes_per_s(size, span.duration_ns)
            if not warm or rate is None or size < SMALL_BYTES:
                continue
            work_ns = span.duration_ns - _new_pages_ns(span, trace.limits)
            # What was handed over is not in the rate.
            if work_ns < SMALL_NS or number(span, "out_of_band_bytes") or size in told:
                continue
            if size < SMALL_SHARE * warm * work_ns / 1e9:
                told.add(size)  # the same object again is the same finding
                yield _small(index, span, size, rate, rate / warm)


def _new_pages_ns(span: Span, limits: Limits) -> float:
    """Return how long its new pages take on this machine: that is not the work of objects."""
    faults, rate = number(span, "minor_faults") or 0, limits.first_touch_bytes_per_s
    return faults * PAGE_BYTES / rate * 1e9 if rate else 0.0


def _small(index: int, span: Span, size: int, rate: float, share: float) -> Finding:
    return Finding(
        "pickle.small-objects",
        "warn",
        f"{format_bytes(size)} were pickled at {format_rate(rate)}, "
        f"{format_share(share)} of a copy: many small objects, not bytes, took "
        f"{format_ns(span.duration_ns)}",
        {"in_band_bytes": size, "duration_ns": span.duration_ns, "share": round(share, 4)},
        "columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}   "
        "# rows of dicts; texts: dtype str or Arrow. To measure it: %serprof --try NAME",
        spans=(index,),
    )


def unpicklable(trace: Trace) -> Iterable[Finding]:
    """Tell of a run that ended with an error after a pickle had failed."""
    if trace.outcome != "error":
        return
    failed = [
        index
        for index, span in enumerate(trace.spans)
        if span.stage in _REFUSING and text(span, "error")
    ]
    refused = [index for index in failed if trace.spans[index].stage in _DUMPS]
    last = max((trace.spans[index].end_ns for index in failed), default=None)
    later = any(span.start_ns > (last or 0) for span in trace.spans if span.parent < 0)
    if not refused or later:
        return
    kind = text(trace.spans[refused[-1]], "error")
    yield Finding(
        "pickle.unpicklable",
        "warn",
        f"something in it cannot be pickled ({kind})",
        {"error": kind, "attempts": len(refused)},
        "__getstate__ = lambda self: {**vars(self), 'lock': None}   # in the class of what "
        "%serprof --blame NAME names; make it anew in __setstate__",
        spans=tuple(refused[-1:]),
    )


def collector(trace: Trace) -> Iterable[Finding]:
    """Python's collector runs while many objects are made: it searches all of them each time."""
    runs = {
        index: span.duration_ns
        for index, span in indexed(trace, "gc")
        if span.lane.partition("/")[0] == "client"
    }
    share = self_share(trace, "gc")
    busy_ns = sum(runs.values())
    is_pickling = any(span.stage.startswith(("pickle.", "ray.")) for span in trace.spans)
    if is_pickling and busy_ns >= GC_NS and share >= GC_SHARE:
        yield Finding(
            "python.gc",
            "warn",
            f"garbage collection took {format_share(share, decimals=0)} of the wall time in "
            f"{format_count(len(runs))} run{'' if len(runs) == 1 else 's'}",
            {"busy_ns": busy_ns, "share": round(share, 3), "runs": len(runs)},
            "import gc; gc.freeze()   # what lives now is not searched any more; or gc.disable() "
            "around loads, gc.enable() behind it",
            spans=tuple(sorted(runs, key=lambda index: -runs[index]))[:20],
        )


RULES: Sequence[Callable[[Trace], Iterable[Finding]]] = (
    old_protocol,
    fresh_buffers,
    small_objects,
    unpicklable,
    collector,
)
