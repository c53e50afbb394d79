"""Findings about pickle itself, its objects and what it refuses; about imports and collections."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.spans import (
    NAME,
    WORDS,
    covered_ns,
    indexed,
    inside,
    number,
    self_share,
)
from jupyter_serprof.model import Finding, Span, Trace, units

PAGE_BYTES = 4_096
PROTOCOL_BYTES, OLD_PROTOCOL = 8_000_000, 4
#: Protocol 4 copies a buffer into bytes, and those into the pickle: both into new pages.
COPIED_TWICE = 1.8
#: Of the pickle; protocol 5 copies only contiguous arrays once.
CONTIGUOUS_SHARE = 0.8
#: These have no bytes: they are letters of a text in UTF-8, one or two bytes for each.
_TEXT, TEXT_SHARE = (1, 2), 0.45
SMALL_BYTES = 1_000_000
#: Of a pickle of an array with gaps, at most; smaller ones are gathered within the caches.
GATHERED_SHARE, GATHERED_BYTES = 0.5, 4_000_000
#: A pickle of little is slow, too, that takes so much of the time; many small objects take less.
SLOW_SHARE, SLOW_NS_PER_BYTE, SMALL_NS = 0.2, 1_000, 20_000_000
#: Bytes of a pickle for one of the rows that it is of.
SLICED_TIMES = 10
#: Of the speed of a copy: below it the bytes are not the work; of what many objects may reach.
SMALL_SHARE, MANY_SHARE, MANY_OBJECTS = 0.03, 0.1, 10_000
#: Of an object; larger ones are not small.
MEAN_BYTES = 200
#: Arrays in one pickle; stacked, those of 8 kB were pickled 7 times as fast, of 32 kB twice.
MANY_ARRAYS, SMALL_ARRAY_BYTES = 1_000, 2**15
#: Of the pickle that stands in small objects.
MOST_SHARE = 0.5
#: The longest that pickle itself needs for one, on a busy machine: it takes 0.03 to 0.5 us for a
#: plain object and 1 to 10 us for one with a reducer. Longer: its reducers are slow.
PLAIN_NS, REDUCED_NS = 1_000, 20_000
#: Where small objects are made again.
_LOADS = {
    "pickle.dumps": ["pickle.loads"],
    "ray.pickle": ["ray.unpickle", "ray.arguments.unpickle"],
}
FORMS = f"%serprof --try {NAME}   # measures it in other forms: arrays, columns, Arrow"
IMPORT_SHARE, IMPORT_NS, _IMPORT = 0.1, 10_000_000, "import "
GC_NS, GC_SHARE = 20_000_000, 0.2


def old_protocol(trace: Trace) -> Iterable[Finding]:
    """Arrays by protocol 4: twice the pages of protocol 5, and twice the time."""
    # Arrays that are not contiguous are copied twice by protocol 5, too: nothing is said of them.
    for index, span in indexed(trace, "pickle.dumps"):
        size, faults = number(span, "in_band_bytes") or 0, number(span, "minor_faults") or 0
        protocol = number(span, "protocol")
        if protocol is None or protocol > OLD_PROTOCOL or size < PROTOCOL_BYTES:
            continue
        arrays, is_text = number(span, "contiguous_bytes") or 0, protocol in _TEXT
        before, after = units.format_bytes(arrays), units.format_bytes(size)
        least = TEXT_SHARE if is_text else CONTIGUOUS_SHARE
        if faults * PAGE_BYTES >= COPIED_TWICE * size and arrays >= least * size:
            yield Finding(
                "pickle.protocol-4",
                "warn",
                f"protocol {protocol} of pickle copied "
                + (f"{before} as {after} of text" if is_text else f"{after} twice"),
                {"protocol": protocol, "in_band_bytes": size, "minor_faults": faults},
                f"data = pickle.dumps({NAME}, protocol=5)   # 4 is the default before Python 3.14",
                spans=(index,),
                because=f"{units.format_count(faults)} new pages are "
                f"{units.format_bytes(faults * PAGE_BYTES)}",
                share=(1 - GATHERED_SHARE * (not is_text)) * self_share(trace, "pickle.dumps"),
            )


def slow_for_its_bytes(trace: Trace) -> Iterable[Finding]:
    """Pickles far below the speed of a copy: of very many objects, or nothing recorded explains it.

    Reducers of the user may be slow or compress, or the machine was busy: that is not recorded.
    Of little a pickle is slow that takes much of the time.
    """
    slow = [one for one in _slow(trace) if not _arrays(one[1])]
    for index, span, size in slow:
        if not _objects(span):
            said, evidence = _speed(size, span.duration_ns, trace)
            yield Finding(
                "pickle.slow",
                "info",
                f"a pickle of {units.format_bytes(size)} took {units.format_ns(span.duration_ns)}",
                evidence,
                f"%serprof --blame {NAME}   # tells which part it is",
                spans=(index,),
                because=said,
                share=self_share(trace, span.stage) if size < SMALL_BYTES else None,
            )
    for key in dict.fromkeys(span.stage for _, span, _ in slow if _objects(span)):
        yield _crowd(trace, key, _objects)
    if any(_arrays(span) for _, span in indexed(trace, "pickle.dumps")):
        yield _crowd(trace, "pickle.dumps", _arrays)


def _crowd(trace: Trace, key: str, count_of: Callable[[Span], int]) -> Finding:
    """Tell of all pickles of many small things together: one alone is no evidence of a loop."""
    found = {at: n for at, span in indexed(trace, key) if (n := count_of(span))}
    spans, count = [trace.spans[at] for at in found], sum(found.values())
    took_ns = sum(span.duration_ns for span in spans)
    said, evidence = _speed(sum(number(s, "in_band_bytes") or 0 for s in spans), took_ns, trace)
    often = f" in {units.format_count(len(found))} pickles" * (len(found) > 1)
    about = f"about {units.format_count(round(count, 2 - len(str(count))))} small objects"
    what = about if count_of is _objects else f"{units.format_count(count)} small arrays"
    return Finding(
        "pickle.small-objects",
        "warn",
        f"{what} were pickled one by one",
        evidence | {"objects": sum(number(span, "objects") or 1 for span in spans)},
        FORMS,
        spans=tuple(found),
        because=f"{said}, {units.format_ns(took_ns / count)} each{often}",
        share=_many_share(trace, key, count_of),
    )


def _arrays(span: Span) -> int:
    """Return how many small arrays a pickle is made of; 0 for few, or large ones."""
    count, size = number(span, "arrays") or 0, span.size_bytes or 0
    return count if count >= MANY_ARRAYS and size < SMALL_ARRAY_BYTES * count else 0


def _many_share(trace: Trace, key: str, count_of: Callable[[Span], int]) -> float:
    """Return the share of the pickles of many small things, and of collections in them."""
    keys = (key, *_LOADS.get(key, ()))
    within = inside(trace, *keys)
    gc_ns = sum(span.duration_ns for at, span in indexed(trace, "gc") if at in within)
    loaded = ((s.size_bytes, s) for at in keys for _, s in indexed(trace, at))
    known = [(number(span, "in_band_bytes") or size, span) for size, span in loaded]
    sizes = {size for size, span in known if size and span.stage == key and count_of(span)}
    all_ns = covered_ns(span for size, span in known if size is not None)
    others_ns = all_ns - covered_ns(span for size, span in known if size in sizes)
    return max(0.0, self_share(trace, *keys) + (gc_ns - others_ns) / max(1, trace.wall_ns))


def _slow(trace: Trace) -> Iterable[tuple[int, Span, int]]:
    warm, told = trace.limits.memcpy_bytes_per_s, set()
    for key in ("pickle.dumps", "ray.pickle"):
        for index, span in indexed(trace, key):
            size = number(span, "in_band_bytes") or 0
            rate, faults = trace.limits.first_touch_bytes_per_s, number(span, "minor_faults") or 0
            new_ns = faults * PAGE_BYTES / rate * 1e9 if rate else 0.0
            work_ns = span.duration_ns - new_ns  # making pages is no work
            least_ns = max(SLOW_SHARE * trace.wall_ns, size * SLOW_NS_PER_BYTE)
            is_small = size < SMALL_BYTES and work_ns < least_ns
            # What is most of the time is worth a sentence, however short.
            is_most = _objects(span) and 3 * _many_share(trace, key, _objects) >= 1
            explains = is_most and 2 * work_ns >= span.duration_ns
            if not (warm and size) or ((is_small or work_ns < SMALL_NS) and not explains):
                continue
            # What was handed over is not in the rate.
            most = (MANY_SHARE if explains else SMALL_SHARE) * warm * work_ns / 1e9
            is_text = number(span, "contiguous_bytes") and number(span, "protocol") in _TEXT
            if is_text or number(span, "out_of_band_bytes") or size >= most:
                continue
            # The same object again is the same finding.
            if size not in told:
                told.add(size)
                yield index, span, size


def _objects(span: Span) -> int:
    """Return how many values a pickle of many small objects is of; 0 for any other."""
    size, small = number(span, "in_band_bytes") or 0, number(span, "small_bytes") or 0
    count, reduced = number(span, "objects") or 0, number(span, "reduced_objects") or 0
    longest_ns = (count - reduced) * PLAIN_NS + reduced * REDUCED_NS
    is_small = count >= MANY_OBJECTS and small < MEAN_BYTES * count
    is_many = is_small and small >= MOST_SHARE * size and span.duration_ns <= longest_ns
    # What a reducer gives for one are objects as well.
    return max(reduced, count - 2 * reduced) * is_many


def _speed(size: int, took_ns: int, trace: Trace) -> tuple[str, dict[str, float]]:
    rate = size / max(1, took_ns) * 1e9
    share = rate / (trace.limits.memcpy_bytes_per_s or 1)
    copy = f"{units.format_share(share)} of the speed of a copy"
    said = f"{units.format_bytes(size)} at {units.format_rate(rate)}, {copy}"
    return said, {"in_band_bytes": size, "duration_ns": took_ns, "share": round(share, 4)}


def gathered(trace: Trace) -> Iterable[Finding]:
    """Arrays with gaps: pickle gathers their elements into a copy, and copies that once more."""
    for index, span in indexed(trace, "pickle.dumps"):
        if (size := number(span, "gathered_bytes") or 0) >= GATHERED_BYTES:
            share = GATHERED_SHARE * self_share(trace, "pickle.dumps")
            most = f"up to {units.format_share(share, 0)} of the time"
            yield Finding(
                "pickle.in-band-copy",
                "warn",
                f"an array with gaps, {units.format_bytes(size)}, was copied twice, {most}",
                {"in_band_bytes": size},
                f"{NAME} = np.ascontiguousarray({NAME})   # once, before it is sent",
                spans=(index,),
                because="it is not contiguous: its elements are gathered into a copy first",
                share=share,
            )


def slice_of_a_table(trace: Trace) -> Iterable[Finding]:
    """Slices of Arrow tables: pickle writes the buffers behind them, with all rows of the table."""
    for index, span in indexed(trace, "pickle.dumps"):
        own, size = number(span, "arrow_bytes"), number(span, "in_band_bytes") or 0
        if own is not None and size >= SLICED_TIMES * max(1, own):
            yield Finding(
                "pickle.slice",
                "warn",
                f"a slice of {units.format_bytes(own)} was pickled with {units.format_bytes(size)} "
                "behind it",
                {"arrow_bytes": own, "in_band_bytes": size},
                f"import pyarrow as pa; {NAME} = {NAME}.take(pa.array(range(len({NAME}))))"
                f"   # its own rows\n{WORDS}`take` of its rows, or Arrow IPC, leaves the rest",
                spans=(index,),
                because="an Arrow slice is a view, and pickle writes whole buffers",
                share=(1 - own / size) * self_share(trace, "pickle.dumps", "pickle.loads"),
            )


def first_use_imports(trace: Trace) -> Iterable[Finding]:
    """Modules loaded while the code ran, here or on the workers of a cluster that was there."""
    loaded, share = list(indexed(trace, "import")), self_share(trace, "import")
    # A worker that starts imports for each computation anew: that is no import by its name.
    here = {at: span.duration_ns for at, span in loaded if span.lane.startswith("client")}
    there = {at: s.duration_ns for at, s in loaded if at not in here and s.name.startswith(_IMPORT)}
    where, remedy, imports = "modules were imported", "", here
    if sum(there.values()) > sum(here.values()):
        imports, longest = there, max(there, key=there.__getitem__)
        module = trace.spans[longest].name.removeprefix(_IMPORT)
        where = f"workers imported `{module}`"
        remedy = f'<client>.run(exec, "import {module}")   # once, before it, on all workers'
    elif 2 * sum(here[at] for at in inside(trace, "ray.store") & here.keys()) >= sum(here.values()):
        remedy = "ray.put(None)   # once, before what is measured: pays the imports"
    took_ns = round(share * trace.wall_ns)
    if imports and took_ns >= IMPORT_NS and share >= IMPORT_SHARE:
        yield Finding(
            "python.first-use-imports",
            "info",
            f"{where} for the first time, paid once",
            {"self_ns": took_ns, "count": len(imports)},
            remedy,
            spans=tuple(imports),
            because=f"{units.format_ns(took_ns)} of loading modules: "
            "the next run does not pay it again",
            share=share,
        )


def collector(trace: Trace) -> Iterable[Finding]:
    """Python's collector runs while objects are pickled or made: it searches all of them each time.

    Only runs inside of serialization count: others are not shortened by what is proposed.
    """
    stages = {span.stage for span in trace.spans if span.stage.startswith(("pickle.", "ray."))}
    made = inside(trace, "pickle.loads", "ray.unpack", "ray.unpickle")
    runs = {at: span.duration_ns for at, span in indexed(trace, "gc")}
    is_made = 2 * sum(runs[at] for at in runs if at in made) > sum(runs.values())
    yield from collected(
        trace,
        ("client", inside(trace, *stages)),
        Finding(
            "python.gc",
            "warn",
            f"garbage collection ran while objects were {'un' * is_made}pickled",
            {},
            "import gc; gc.disable()   # before it; behind it, also after an error: gc.enable()",
            share=1.0,
        ),
        GC_SHARE,
    )


def collected(
    trace: Trace, where: tuple[str, Container[int]], told: Finding, least_share: float
) -> Iterable[Finding]:
    """Fill a finding about the runs of the collector in a process, if they took long there."""
    process, among = where
    runs = {
        index: span.duration_ns
        for index, span in indexed(trace, "gc")
        if span.lane.partition("/")[0] == process and index in among
    }
    busy_ns = sum(runs.values())
    if busy_ns >= GC_NS and busy_ns >= least_share * trace.wall_ns:
        share = busy_ns / trace.wall_ns if trace.wall_ns else 1.0
        yield replace(
            told,
            evidence={"busy_ns": busy_ns, "share": round(share, 3), "runs": len(runs)},
            spans=tuple(sorted(runs, key=lambda index: -runs[index])),
            because=f"{units.counted(len(runs), 'run')} took {units.format_ns(busy_ns)}",
            share=min(share, told.share or 0.0),
        )


RULES: Sequence[Callable[[Trace], Iterable[Finding]]] = (
    *(old_protocol, slow_for_its_bytes, gathered, slice_of_a_table, first_use_imports, collector),
)
