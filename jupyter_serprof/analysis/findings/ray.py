"""Findings about calls of Ray in a loop: many puts of little, many gets of one reference each."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from jupyter_serprof.analysis.spans import inside, number, self_share, text
from jupyter_serprof.model import Finding, Trace
from jupyter_serprof.model.units import counted, format_bytes, format_count, format_ns

MANY_PUTS = 500
#: Ray keeps smaller objects in the process: what a put of one costs is the call.
SMALL_BYTES = 100_000
PUT_SHARE = 0.2
MANY_GETS = 100
GET_SHARE = 0.3
POINTED_SPANS = 20
_ALL_AT_ONCE = "values = ray.get(refs)   # all at once; as they come: ready, refs = ray.wait(refs)"
_SUBMIT_FIRST = (
    "values = ray.get([f.remote(x) for x in xs])   # submit all first, where none needs the value "
    "of the one before"
)
_GETS = ("ray.fetch", "ray.map", "ray.wait")
#: A loop of `ray.wait` is the remedy.
_WAIT_NAME = "wait"
#: Where the time of a task goes that never ends.
_ROAD = (*_GETS, "ray.schedule", "ray.arguments", "ray.execute")


def many_puts(trace: Trace) -> Iterable[Finding]:
    """Many small objects put one by one: the calls are the cost, not the bytes."""
    puts = _outermost(trace, ("ray.store",))
    sizes = [_bytes_of(trace, index) for index in puts]
    small = [(at, size) for at, size in zip(puts, sizes, strict=True) if size is not None]
    small = [(at, size) for at, size in small if size < SMALL_BYTES]
    took_ns = sum(trace.spans[at].duration_ns for at, _ in small)
    if len(small) < MANY_PUTS or took_ns < PUT_SHARE * trace.wall_ns:
        return
    total = sum(size for _, size in small)
    yield Finding(
        "ray.many-puts",
        "warn",
        f"{format_count(len(small))} small objects were put one by one",
        {"times": len(small), "total_bytes": total, "took_ns": took_ns},
        "ref = ray.put(values)   # all of them as one object; or pass small values as they are: "
        "f.remote(value)",
        spans=tuple(at for at, _ in small)[:POINTED_SPANS],
        because=f"{format_bytes(total / len(small))} in {format_ns(took_ns / len(small))} each",
        share=min(1.0, took_ns / trace.wall_ns),
    )


def get_in_a_loop(trace: Trace) -> Iterable[Finding]:
    """Many gets one after the other: each waits for its own task while others are done."""
    gets = [at for at in _outermost(trace, _GETS) if trace.spans[at].name != _WAIT_NAME]
    share = sum(self_share(trace, key) for key in _GETS)
    if len(gets) < MANY_GETS or share < GET_SHARE:
        return
    took_ns = sum(trace.spans[at].duration_ns for at in gets)
    yield Finding(
        "ray.get-in-loop",
        "warn",
        f"`ray.get` was called {format_count(len(gets))} times, one after the other",
        {"times": len(gets), "took_ns": took_ns, "share": round(share, 3)},
        _SUBMIT_FIRST if _submits_between(trace, gets) >= len(gets) / 2 else _ALL_AT_ONCE,
        spans=tuple(gets)[:POINTED_SPANS],
        because=f"each waits for one result only, {format_ns(took_ns)} in all",
        share=min(1.0, share),
    )


def workers_died(trace: Trace) -> Iterable[Finding]:
    """Workers that died in the middle of a task, which Ray may have tried again on others."""
    died: dict[tuple[str, str], set[str]] = defaultdict(set)
    seen = set[str]()
    # An actor takes the calls behind the first one along.
    for span in sorted(trace.spans, key=lambda span: span.start_ns):
        if (word := text(span, "died")) and span.lane not in seen:
            seen.add(span.lane)
            died[span.name, word].add(span.lane)
    for (name, word), lanes in died.items():
        said = counted(len(lanes), "worker")
        yield Finding(
            "ray.worker-died",
            "warn",
            f"{said} died while executing `{name}`",
            {"times": len(lanes)},
            "# what they wrote at the end: !tail -n 40 /tmp/ray/session_latest/logs/worker-*.err",
            spans=tuple(
                at
                for at, span in enumerate(trace.spans)
                if span.name == name and text(span, "died")
            )[:POINTED_SPANS],
            because=f"Ray says {word}",
            share=min(1.0, self_share(trace, *_ROAD)),
        )


def _submits_between(trace: Trace, gets: Sequence[int]) -> int:
    """Count the gets before which something was submitted after the get before."""
    edges = sorted(trace.spans[at].start_ns for at in gets)
    submitted = sorted(trace.spans[at].start_ns for at in _outermost(trace, ("ray.submit",)))
    return len({bisect_right(edges, start) for start in submitted} - {len(edges)})


def _outermost(trace: Trace, stages: Sequence[str]) -> list[int]:
    """Return the indices of the spans of stages that lie in no other one of them."""
    within, spans = inside(trace, *stages), enumerate(trace.spans)
    return [index for index, span in spans if span.stage in stages and index not in within]


def _bytes_of(trace: Trace, index: int) -> int | None:
    span = trace.spans[index]
    return span.size_bytes if span.size_bytes is not None else number(span, "total_bytes")


RULES: Sequence[Callable[[Trace], Iterable[Finding]]] = (many_puts, get_in_a_loop, workers_died)
