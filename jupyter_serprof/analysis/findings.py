"""Findings: causes with evidence and a remedy; each a pure function of a trace.

A new one: a function (trace) -> findings in ``RULES``, and two golden traces in the tests, one on each
side of its threshold. A finding never claims a gain that was not measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from jupyter_serprof.analysis.spans import (
    captured,
    indexed,
    is_inside,
    number,
    row_of,
    self_share,
    text,
)
from jupyter_serprof.model import Finding, Row, Span, Trace
from jupyter_serprof.model.units import format_bytes, format_count, format_ns, format_share

#: Bytes below which a copy is not worth a sentence.
WORTH_BYTES = 1_000_000
REPEATED_BYTES = 100_000
CAPTURED_BYTES = 1_000_000
WALKED_ELEMENTS = 10_000
WALK_SHARE = 0.1
IMPORT_SHARE = 0.1
IMPORT_NS = 10_000_000
TOUCHED_BYTES = 8_000_000
#: Share of the copied bytes whose pages had to be made first.
TOUCHED_SHARE = 0.5
PAGE_BYTES = 4_096
_GETS = ("ray.fetch", "ray.map")


def in_band_copy(trace: Trace) -> Iterable[Finding]:
    """Large bytes inside the pickle although buffers could have gone out-of-band."""
    for index, span in indexed(trace, "ray.pickle"):
        copied = number(span, "in_band_bytes") or 0
        if copied >= WORTH_BYTES and _elements_around(trace, span) < WALKED_ELEMENTS:
            form = text(_serialization(trace, span), "array_form")
            what = {"object": "an array of Python objects", "strided": "a non-contiguous array"}
            yield Finding(
                "pickle.in-band-copy",
                "warn",
                f"{format_bytes(copied)} were copied into the pickle instead of handed over"
                + (f": {what[form]}" if form in what else ""),
                {"in_band_bytes": copied, "out_of_band_bytes": number(span, "out_of_band_bytes")},
                _IN_BAND_REMEDIES.get(form, _IN_BAND_REMEDIES[""]),
                spans=(index,),
            )


_IN_BAND_REMEDIES = {
    "object": "give the column a fixed dtype, e.g. a.astype(float) or df.astype('str') (pandas 3)",
    "strided": "a = np.ascontiguousarray(a)   # once, before it is sent",
    "": "send arrays, Arrow tables or pandas 3 strings instead of Python objects; "
    "make arrays contiguous once: np.ascontiguousarray(a)",
}


def msgpack_walk(trace: Trace) -> Iterable[Finding]:
    """Ray's walk over many small elements, one Python callback for each."""
    for index, span in indexed(trace, "ray.pickle"):
        elements = number(span, "elements") or 0
        if elements >= WALKED_ELEMENTS and self_share(trace, "ray.msgpack") >= WALK_SHARE:
            kind = text(span, "element_type") or "object"
            walk = row_of(trace, "ray.msgpack")
            yield Finding(
                "ray.msgpack-walk",
                "warn",
                f"Ray walked {format_count(elements)} elements of type {kind} one by one, "
                f"{format_ns(walk.self_ns if walk else None)}",
                {"elements": elements, "element_type": kind},
                "send the array itself instead of a list of its elements; or arr.tolist(), "
                "whose Python floats need no callback",
                spans=(index,),
            )


def same_object_again(trace: Trace) -> Iterable[Finding]:
    """One living object serialized more than once."""
    times: dict[int, list[int]] = defaultdict(list)
    for index, span in indexed(trace, "ray.msgpack"):
        key, size = number(span, "value_key"), number(span, "total_bytes") or 0
        if key is not None and size >= REPEATED_BYTES:
            times[key].append(index)
    for found in times.values():
        if len(found) > 1:
            size = sum(number(trace.spans[index], "total_bytes") or 0 for index in found)
            kind = text(trace.spans[found[0]], "value_type") or "object"
            yield Finding(
                "ray.same-object",
                "warn",
                f"the same {kind} was serialized {len(found)} times, {format_bytes(size)} in all",
                {"times": len(found), "total_bytes": size, "value_type": kind},
                "ref = ray.put(value) once, then pass ref: f.remote(ref)",
                spans=tuple(found),
            )


def large_capture(trace: Trace) -> Iterable[Finding]:
    """A large variable that travels inside a function."""
    for index, span in indexed(trace, "ray.export"):
        for variable in captured(span)[:1]:
            size, name = variable["size_bytes"], variable["name"]
            if isinstance(size, int) and size >= CAPTURED_BYTES:
                yield Finding(
                    "ray.captured-variable",
                    "warn",
                    f"the function captures {variable['kind']} {name}: {format_bytes(size)} travel "
                    "with its code",
                    {"name": str(name), "size_bytes": size, "kind": str(variable["kind"])},
                    f"ref = ray.put({name}) and pass ref as an argument",
                    spans=(index,),
                )


def first_use_imports(trace: Trace) -> Iterable[Finding]:
    """Modules loaded while the code ran."""
    row = row_of(trace, "import")
    if row and row.self_ns >= IMPORT_NS and self_share(trace, "import") >= IMPORT_SHARE:
        share = format_share(self_share(trace, "import"), decimals=0)
        yield Finding(
            "python.first-use-imports",
            "info",
            f"{share} of the wall time are imports, paid once in this process; they are not "
            "serialization",
            {"self_ns": row.self_ns, "count": row.count},
            "run it again to see the warm time, or ray.put(None) once before",
            spans=tuple(index for index, _ in indexed(trace, "import"))[:20],
        )


def cold_first_touch(trace: Trace) -> Iterable[Finding]:
    """A copy whose time went into making new pages."""
    for key in ("pickle.dumps", "ray.pickle", "ray.store", "pickle.loads", "ray.unpickle"):
        row = row_of(trace, key)
        if row and (row.copied_bytes or 0) >= TOUCHED_BYTES and _is_slowed_by_pages(row, trace):
            faults, copied = row.minor_faults or 0, row.copied_bytes or 0
            yield Finding(
                "memory.first-touch",
                "info",
                f"the copy of {format_bytes(copied)} touched {format_count(faults)} new pages: "
                "making pages took longer than copying",
                {"minor_faults": faults, "copied_bytes": copied, "stage": key},
                "run it again: pages that are known already make the same copy faster",
            )


def _is_slowed_by_pages(row: Row, trace: Trace) -> bool:
    copied, warm = row.copied_bytes or 0, trace.limits.memcpy_bytes_per_s
    touched = (row.minor_faults or 0) * PAGE_BYTES
    is_slow = warm is not None and row.busy_ns > 0 and copied / row.busy_ns * 1e9 < warm / 2
    return is_slow and touched >= TOUCHED_SHARE * copied


def not_zero_copy(trace: Trace) -> Iterable[Finding]:
    """A get that copied its result to the heap."""
    for index, span in enumerate(trace.spans):
        copied = number(span, "copied_bytes") or 0
        is_get = span.stage in ("ray.unpickle", "ray.unpack") and is_inside(trace, span, *_GETS)
        if is_get and copied >= WORTH_BYTES:
            yield Finding(
                "ray.not-zero-copy",
                "info",
                f"ray.get copied {format_bytes(copied)} to the heap: the result is not zero-copy",
                {"copied_bytes": copied},
                "bytes: np.frombuffer(data, np.uint8); polars: df.to_arrow(); "
                "strided arrays: np.ascontiguousarray(a); then put that",
                spans=(index,),
            )


def _elements_around(trace: Trace, span: Span) -> int:
    """How many Python objects the pickle holds side by side; many small ones are another finding."""
    return number(trace.spans[span.parent], "elements") or 0 if span.parent >= 0 else 0


def _serialization(trace: Trace, span: Span) -> Span:
    """The span of Ray's serialize around a pickle; it knows the type of the value."""
    at = span
    while at.parent >= 0 and not text(at, "value_type"):
        at = trace.spans[at.parent]
    return at


RULES: tuple[Callable[[Trace], Iterable[Finding]], ...] = (
    in_band_copy,
    msgpack_walk,
    same_object_again,
    large_capture,
    first_use_imports,
    cold_first_touch,
    not_zero_copy,
)


def find(trace: Trace) -> tuple[Finding, ...]:
    """Return the findings of a trace, warnings first, one for each rule and title."""
    found: dict[tuple[str, str], Finding] = {}
    for rule in RULES:
        for finding in rule(trace):
            found.setdefault((finding.rule, finding.title), finding)
    return tuple(sorted(found.values(), key=lambda finding: finding.severity != "warn"))
