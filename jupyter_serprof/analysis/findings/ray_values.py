"""Findings about values of Ray that go the wrong way: through the notebook, or by hand."""

from collections import defaultdict
from collections.abc import Iterable

from jupyter_serprof.analysis.findings.dask_facts import records
from jupyter_serprof.analysis.findings.ray import _GETS, POINTED_SPANS, _outermost
from jupyter_serprof.analysis.spans import (
    NAME,
    WORDS,
    around_or_itself,
    indexed,
    inside,
    number,
    self_share,
    text,
    whole,
)
from jupyter_serprof.model import Finding, Span, Trace
from jupyter_serprof.model.trace import FORKED
from jupyter_serprof.model.units import counted, format_bytes, format_count, format_ns

#: What a get of so many objects brings at once is worth a sentence.
TOGETHER_BYTES = 200_000_000
#: Tasks that waited for what is inside of an argument, of the time.
NESTED_SHARE, MANY_REFERENCES = 0.1, 10
#: Bytes below which a copy is not worth a sentence.
WORTH_BYTES = 1_000_000
_FILE = "TextIOWrapper"
_MADE_ANEW = "its small objects are made anew by each get; arrays and Arrow tables are not"
_COPIED_REMEDIES = {
    "ray.unpack": f"ref = ray.put(np.frombuffer({NAME}, np.uint8))   # bytes as an array",
    "ray.unpickle": f"ref = ray.put(np.ascontiguousarray({NAME}))   # once",
}
_OF_POLARS = f"ref = ray.put({NAME}.to_arrow())   # pl.from_arrow(ray.get(ref)) is it again\n"
_AS_ARROW = f"{WORDS}return or put `frame.to_arrow()`; `pl.from_arrow(table)` is the frame again"
#: As an Arrow table it is neither copied into a pickle nor out of it.
COPIES_OF_POLARS = ("ray.msgpack", "ray.pickle", "ray.outputs.pickle", "ray.unpickle")
#: Of a reply that brings references; that of values takes the rest.
REPLY_SHARE = 0.5
#: Arrays in one pickle: from so many on, and smaller than that, it is the objects that cost.
MANY_ARRAYS, SMALL_ARRAY_BYTES = 1_000, 4_096


def returned_put(trace: Trace) -> Iterable[Finding]:
    """Tasks that return a reference to what they put: each value takes a second road.

    Its time is that of the next get, of the puts in the tasks, of the references as results, and a
    part of the replies: who owns what was put is told who holds it. 2.7 to 3.4 times as fast
    without, in pairs.
    """
    unpacked = indexed(trace, "ray.unpack")
    found = {at: n for at, span in unpacked if (n := number(span, "references"))}
    count = sum(found.values())
    if count < MANY_REFERENCES:
        return
    after_ns = trace.spans[min(found)].end_ns
    gets = (trace.spans[at] for at in _outermost(trace, _GETS))
    later = sorted((s.start_ns, s.duration_ns) for s in gets if s.start_ns >= after_ns)
    took_ns = later[0][1] if later else 0
    rows = records(trace, "ray.tasks")
    put_ns, ran_ns = (
        sum(whole(row, key) or 0 for row in rows) for key in ("put_total", "execute_total")
    )
    put_share = self_share(trace, "ray.execute") * put_ns / max(1, ran_ns, put_ns)
    share = took_ns / max(1, trace.wall_ns) + put_share
    if put_ns:
        share += self_share(trace, "ray.outputs") + REPLY_SHARE * self_share(trace, "ray.reply")
    yield Finding(
        "ray.return-put",
        "warn",
        f"{format_count(count)} results were references instead of values",
        {"references": count, "took_ns": took_ns, "put_ns": put_ns},
        "",
        spans=tuple(found)[:POINTED_SPANS],
        because=f"`ray.put` in the tasks took {format_ns(put_ns)} in all; " * bool(put_ns)
        + f"the `ray.get` after it took {format_ns(took_ns)}; " * bool(later)
        + "return the value itself: a small one comes back with the reply",
        share=min(1.0, share),
    )


def nested_get(trace: Trace) -> Iterable[Finding]:
    """Tasks that hold a worker while they wait for references inside of their argument."""
    waits: dict[str, dict[int, int]] = defaultdict(dict)
    for at, span in indexed(trace, "ray.execute"):
        if wait_ns := number(span, "nested_wait_ns"):
            waits[span.name][at] = wait_ns
    for name, found in waits.items():
        lanes = len({trace.spans[at].lane for at in found})
        share = sum(found.values()) / lanes / max(1, trace.wall_ns)
        if share >= NESTED_SHARE:
            yield Finding(
                "ray.nested-get",
                "warn",
                f"{counted(len(found), 'task')} of `{name}` waited for references in an argument",
                {"tasks": len(found), "wait_ns": sum(found.values())},
                "",
                spans=tuple(found)[:POINTED_SPANS],
                because=f"each held a worker for {format_ns(sum(found.values()) / len(found))} "
                f"while the tasks that it needs still ran; as `{name}.remote(*refs)` it starts "
                "when all are there, and gets their values",
                share=min(1.0, share),
            )


def unnecessary_get(trace: Trace) -> Iterable[Finding]:
    """Results that are got only to be handed to another task: they travel twice."""
    in_submit, passed, got = inside(trace, "ray.submit"), dict[int, Span](), dict[int, Span]()
    for at, span in indexed(trace, "ray.msgpack"):
        if at in in_submit and (key := number(span, "value_key")) is not None:
            passed[key] = span
    for _, span in indexed(trace, "ray.unpack"):
        keys = (span.details or {}).get("value_keys")
        got |= {key: span for key in keys if key in passed} if isinstance(keys, list) else {}
    gets = {span.parent: trace.spans[span.parent] for span in got.values() if span.parent >= 0}
    took_ns = sum(span.duration_ns for span in (*gets.values(), *(passed[key] for key in got)))
    if got and took_ns >= NESTED_SHARE * trace.wall_ns:
        total = sum(number(passed[key], "total_bytes") or 0 for key in got)
        yield Finding(
            "ray.unnecessary-get",
            "warn",
            f"{counted(len(got), 'result')} went through the notebook into another task",
            {"results": len(got), "total_bytes": total, "took_ns": took_ns},
            "ref = <passed>   # hand over the reference itself, Ray brings the value",
            spans=tuple(gets)[:POINTED_SPANS],
            because=f"{format_bytes(total)} were got, and serialized and stored anew",
            share=min(1.0, took_ns / max(1, trace.wall_ns)),
        )


def too_many_objects(trace: Trace) -> Iterable[Finding]:
    """One get of many objects, which have to fit into memory together."""
    for at, span in indexed(trace, "ray.unpack"):
        count, size = number(span, "objects"), span.size_bytes or 0
        if count and size >= TOGETHER_BYTES:
            yield Finding(
                "ray.too-many-objects",
                "info",
                f"one `ray.get` took {format_count(count)} objects of {format_bytes(size)}",
                {"objects": count, "total_bytes": size},
                "while <refs>: ready, <refs> = ray.wait(<refs>, num_returns=min(20, len(<refs>))); "
                "values = ray.get(ready)   # take some at a time, by `ray.wait`",
                spans=(at,),
                because="all of them have to fit into the object store at once",
            )


def not_zero_copy(trace: Trace) -> Iterable[Finding]:
    """Find a get that copied its result to the heap."""
    large = {
        index: copied
        for index, span in enumerate(trace.spans)
        if span.stage in _COPIED_REMEDIES
        and (copied := number(span, "copied_bytes") or 0) >= WORTH_BYTES
    }
    in_get = inside(trace, *_GETS) if large else set[int]()
    for index in filter(in_get.__contains__, large):
        remedy, because = _COPIED_REMEDIES[trace.spans[index].stage], ""
        saved: tuple[str, ...] = (trace.spans[index].stage,)
        if array_form(trace, index) == "polars":
            puts = (text(span, "array_form") for _, span in indexed(trace, "ray.msgpack"))
            remedy, because = _OF_POLARS * ("polars" in puts) + _AS_ARROW, "it is a polars frame"
            saved = COPIES_OF_POLARS
        elif not has_payloads(trace.spans[index]):
            remedy, because = "", _MADE_ANEW
        yield Finding(
            "ray.not-zero-copy",
            "info",
            f"`ray.get` copied {format_bytes(large[index])}: the result is not zero-copy",
            {"copied_bytes": large[index]},
            remedy,
            spans=(index,),
            because=because,
            share=self_share(trace, *saved),
        )


def holds_file(trace: Trace, span: Span) -> bool:
    """Tell whether a pickle is of an open text file, or of what holds one."""
    return span.parent >= 0 and text(trace.spans[span.parent], "element_type") == _FILE


def file_sent(trace: Trace, index: int, size: int) -> Finding:
    """Tell of an open file that was sent: cloudpickle reads it, and sends all that is in it."""
    around = around_or_itself(trace.spans, index, lambda at: text(trace.spans[at], "value_type"))
    is_itself = around >= 0 and text(trace.spans[around], "value_type") == _FILE
    return Finding(
        "pickle.in-band-copy",
        "warn",
        f"an open file was sent with its content, {format_bytes(size)}",
        {"in_band_bytes": size},
        f"{NAME} = {NAME}.name   # its path: open it where it is used" * is_itself,
        spans=(index,),
        because="what arrives is text in memory, no file; its path is enough where it can be read",
        share=self_share(trace, "ray.store", "ray.submit", "ray.msgpack", "ray.pickle"),
    )


def many_arrays(trace: Trace) -> Iterable[Finding]:
    """Find a get of many small arrays, each of which is an object to be made: one would do."""
    # One array instead of 20,000 in a dict made such a get 24 times faster.
    in_get, share = inside(trace, *_GETS), self_share(trace, "ray.unpack", "ray.unpickle", "gc")
    for at, span in indexed(trace, "ray.unpickle"):
        count, size = number(span, "buffers") or 0, number(span, "out_of_band_bytes") or 0
        is_many = count >= MANY_ARRAYS and size < SMALL_ARRAY_BYTES * count
        if at in in_get and is_many and share >= 1 / 3:
            yield Finding(
                "ray.many-arrays",
                "warn",
                f"`ray.get` made {format_count(count)} small arrays or frames one by one",
                {"buffers": count, "total_bytes": size},
                f"{WORDS}`np.stack` makes one array of all, `pd.concat` one frame",
                spans=(at,),
                because=f"{format_bytes(size / count)} each: their bytes are not copied, but each "
                "is an object that every get makes anew",
                share=share,
            )


def has_payloads(span: Span) -> bool:
    """Tell whether a pickle has what could be handed over; many small objects can not."""
    large = number(span, "large_bytes")
    return large is None or large >= WORTH_BYTES


def array_form(trace: Trace, index: int) -> str:
    """Ask the span of Ray's serialize or deserialize around a pickle, which knows the value."""
    spans = trace.spans
    at = around_or_itself(
        spans, index, lambda at: text(spans[at], "value_type") or text(spans[at], "array_form")
    )
    return text(spans[at], "array_form") if at >= 0 else ""


def global_written(trace: Trace) -> Iterable[Finding]:
    """Find a task of Ray or Dask that writes to a global: each worker has a copy of its own."""
    for at, span in enumerate(trace.spans):
        names, function = (span.details or {}).get("writes"), text(span, "function")
        library = span.stage.partition(".")[0]
        if isinstance(names, list) and names:
            yield Finding(
                f"{library}.global-write",
                "info",
                f"`{function}` writes to `{names[0]}`, a global that each worker has of its own",
                {"names": ", ".join(map(str, names))},
                f"{WORDS}an actor holds what tasks share" * (library == "ray"),
                spans=(at,),
                because="the one of the notebook stays as it is: return what is to be kept",
            )


def reference_out_of_band(trace: Trace) -> Iterable[Finding]:
    """Find a reference in a pickle that Ray does not make: nobody counts who needs its object."""
    for at, span in enumerate(trace.spans):
        if (count := number(span, "references")) and span.stage != "ray.unpack":
            yield Finding(
                "ray.reference-out-of-band",
                "warn",
                f"{counted(count, 'ObjectRef')} in a pickle that Ray did not make",
                {"references": count},
                f"{WORDS}inside of a list argument it stays a reference, and Ray counts it",
                spans=(at,),
                because="Ray keeps the object until this process ends, or loses it too early",
            )


def forked(trace: Trace) -> Iterable[Finding]:
    """Find processes that were forked while Ray ran in this one."""
    for note in trace.quality.notes:
        if note.endswith(FORKED):
            yield Finding(
                "ray.fork-after-init",
                "warn",
                note,
                {},
                "import multiprocessing as mp; from concurrent.futures import ProcessPoolExecutor; "
                "pool = ProcessPoolExecutor(mp_context=mp.get_context('spawn'))   # or use Ray",
                because="they inherit its connections and locks, not its threads, and may hang",
            )


RULES = (
    *(returned_put, nested_get, unnecessary_get, too_many_objects),
    *(many_arrays, global_written, reference_out_of_band, forked),
)
