"""Findings about the time of a Dask computation: tasks, layers, scheduler, gather, construction.

What is said about bytes stands in ``dask_bytes.py``; the rules are registered in
``findings.py``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.findings import dask_bytes as dask_payload
from jupyter_serprof.analysis.findings import dask_facts as facts
from jupyter_serprof.analysis.findings import dask_runs, dask_tiny
from jupyter_serprof.analysis.findings.pickle import collected
from jupyter_serprof.analysis.spans import indexed, number, row_of, rows_of, self_share, whole, word
from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.model import Finding, Trace, stage
from jupyter_serprof.model.units import counted, format_bytes, format_count, format_ns, format_share

MANY_LAYERS, MAIN_FUNCTIONS = 1_000, 1_000
SERIALIZE_SHARE, SERIALIZE_NS = 0.1, 50_000_000
GC_SHARE, BOUND_SHARE, BOUND_NS = 0.1, 0.5, 100_000_000
GATHER_SHARE, GATHERED_BYTES = 0.3, 1_000_000
#: 15 lists of 1,000 lists took 3 s, as pickles 30 ms; an array is as slow in a slow network only.
ITEM_BYTES_PER_S, MANY_ITEMS = 2_000_000, 1_000
#: From the second share, of the wall time, on, what is repeated is worth a warning.
REPEATED_SHARE, REPEATED_WALL_SHARE = 0.3, 0.1
CODE_SHARE, CODE_NS = 0.3, 200_000_000
_SENDING, _SCHEDULER = ("dask.prepare", "dask.submit", "dask.serialize"), "scheduler"
_PERSIST = "<x> = <x>.persist()   # persist what both need, once"
_TOGETHER = "".join(
    f"{dask_runs.AT_ONCE.format(names, 'dask.compute(<lazies>)')}\n"
    for names in ("<results>", "results")
)


def many_layers(trace: Trace) -> Iterable[Finding]:
    """Graphs of very many layers: culling them takes a time that grows with their square."""
    counts = {
        index: layers
        for key in ("dask.serialize", "dask.schedule")
        for index, span in indexed(trace, key)
        if (layers := number(span, "layers") or 0) >= MANY_LAYERS
    }
    if not counts:
        return
    layers = max(counts.values())
    at = next(index for index, count in counts.items() if count == layers)
    name = facts.computation_of(trace, trace.spans[at])
    optimized = row_of(trace, "dask.optimize")
    yield Finding(
        "dask.many-layers",
        "warn",
        f"the graph{f' of `{name}`' if name else ''} has {format_count(layers)} layers",
        {"layers": layers, "optimize_ns": optimized.self_ns if optimized else None},
        "futures = <client>.map(<function>, <values>)   # `client.map` and bags make no layer for "
        "each call, as dask.delayed does",
        spans=tuple(counts),
        because="the time to build and cull them grows with the square of their number",
        share=self_share(trace, "dask.optimize", "dask.materialize", "dask.construct"),
    )


def main_functions(trace: Trace) -> Iterable[Finding]:
    """Functions of the notebook: pickle writes them, sees ``__main__``, cloudpickle starts anew."""
    counts = {
        index: count
        for index, span in indexed(trace, "dask.serialize")
        if (count := number(span, "main_functions") or 0) > 0
    }
    count, row = sum(counts.values()), row_of(trace, "dask.serialize")
    if not count or row is None:
        return
    share = self_share(trace, "dask.serialize")
    is_slow = share >= SERIALIZE_SHARE and row.self_ns >= SERIALIZE_NS
    if is_slow or count >= MAIN_FUNCTIONS:
        times = counted(count, "time")
        yield Finding(
            "dask.main-functions",
            "warn" if is_slow else "info",
            "functions of the notebook were pickled twice",
            {"main_functions": count, "self_ns": row.self_ns, "share": round(share, 3)},
            '<client>.upload_file("tasks.py")   # once you have moved the functions there, and '
            "import them from it",
            spans=tuple(counts),
            because=f"by pickle, which needs a module to import them from, then by cloudpickle, "
            f"{times}; pickling the graph took {format_ns(row.self_ns)}",
            share=share,
        )


def scheduler_gc(trace: Trace) -> Iterable[Finding]:
    """Find a garbage collector that holds the scheduler up; in the kernel, that of all objects."""
    found = collected(
        trace,
        (_SCHEDULER, range(len(trace.spans))),
        Finding(
            "dask.scheduler-gc",
            "warn",
            "garbage collection held the scheduler up",
            {},
            "import gc; <client>.run_on_scheduler(gc.freeze)   # what lives there now is not "
            "searched any more; fewer, larger tasks make fewer objects",
            share=self_share(trace, "gc"),
        ),
        GC_SHARE,
    )
    is_kernel = any((span.details or {}).get("is_kernel") for _, span in indexed(trace, "gc"))
    for one in found:
        why = f"{one.because}; the scheduler lives in this kernel: all objects here are searched"
        yield replace(one, severity="info", remedy="", because=why) if is_kernel else one


def scheduler_bound(trace: Trace) -> Iterable[Finding]:
    """Most of the wait after the graph was sent is work of the scheduler."""
    sent = [span.end_ns for span in trace.spans if span.stage == "dask.serialize"] or [
        span.start_ns for span in trace.spans if span.lane == _SCHEDULER
    ]
    # Optimization counts where the scheduler does it.
    known = [*rows_of(trace, "dask.optimize"), *rows_of(trace, "dask.materialize")]
    there = [row for row in known if row.lane.partition("/")[0] == _SCHEDULER]
    rows = [row for row in (*there, *facts.scheduling_rows(trace)) if row.self_ns]
    after_ns = trace.wall_ns - min(sent, default=trace.wall_ns)
    owned_ns = sum(row.self_ns for row in rows)
    if not sent or owned_ns < BOUND_NS or owned_ns < BOUND_SHARE * after_ns:
        return
    share = min(1.0, owned_ns / after_ns) if after_ns else 1.0
    parts: Counter[str] = Counter()
    for row in rows:
        parts[stage(row.stage).title] += row.self_ns
    largest, largest_ns = parts.most_common(1)[0]
    tasks = facts.task_count(trace)
    of_tasks = f", with {format_count(tasks)} tasks" if tasks else ""
    yield Finding(
        "dask.scheduler-bound",
        "warn",
        f"the workers waited for the scheduler{of_tasks}",
        {
            "owned_ns": owned_ns,
            "share": round(share, 3),
            "after_sent_ns": after_ns,
            "largest": largest,
            "tasks": tasks,
        },
        dask_tiny.larger_chunks(trace, 4) if tasks and tasks >= dask_tiny.TINY_TASKS else "",
        spans=facts.spans_of(trace, *dict.fromkeys(row.stage for row in rows)),
        because=f"the scheduler worked for {format_ns(owned_ns)}, "
        f"{format_share(share, decimals=0)} of the time after the graph was sent, "
        f"most of it {largest}, {format_ns(largest_ns)}",
        share=min(1.0, owned_ns / trace.wall_ns) if trace.wall_ns else None,
    )


def large_gather(trace: Trace) -> Iterable[Finding]:
    """Find a result so large that bringing it to the client takes longer than anything else."""
    row = row_of(trace, "dask.gather")
    if row is None or (row.size_bytes or 0) < GATHERED_BYTES:
        return
    owned: Counter[str] = Counter()
    for other in trace.waterfall.rows if trace.waterfall else ():
        owned[stage(other.stage).parent or other.stage] += other.self_ns
    share = self_share(trace, "dask.gather")
    others_ns = max((ns for key, ns in owned.items() if key != row.stage), default=0)
    if share >= GATHER_SHARE and row.self_ns > others_ns:
        spans = facts.spans_of(trace, row.stage)
        longest = max((trace.spans[index] for index in spans), key=lambda s: s.duration_ns)
        name, size_bytes = facts.computation_of(trace, longest), row.size_bytes or 0
        items = sum(number(trace.spans[at], "items") or 0 for at in spans)
        is_slow = items >= MANY_ITEMS and row.self_ns > size_bytes / ITEM_BYTES_PER_S * 1e9
        how = "item by item" if is_slow else "to the client"
        yield Finding(
            "dask.large-gather",
            "warn",
            f"{format_bytes(size_bytes)} were gathered {how}",
            {"size_bytes": row.size_bytes, "self_ns": row.self_ns, "share": round(share, 3)},
            "result = <reduced>   # on the workers\n"
            "<x> = <x>.persist()   # keep it on the workers, and compute what is small"
            * (not is_slow),
            spans=spans,
            because=f"{format_ns(row.self_ns)}{f', most for `{name}`' if name else ''}"
            + f"; each of {format_count(items)} items is packed: an array, or "
            "`pickle.dumps(values)` in the task, goes whole" * is_slow,
            share=share,
        )


def recompute(trace: Trace) -> Iterable[Finding]:
    """Name computations that repeat tasks of earlier ones; kept, what these gave is made once."""
    entries, found = facts.records(trace, "dask.computations"), dict[int, facts.Record]()
    for index, entry in enumerate(entries):
        many, repeated = whole(entry, "tasks") or 0, whole(entry, "repeated_tasks") or 0
        is_later = index > 0 or word(entry, "computation").endswith(" graphs)")
        is_long = _repeated_share(trace, entry) >= REPEATED_WALL_SHARE
        if repeated and is_later and (repeated >= REPEATED_SHARE * many or is_long):
            found[index] = entry
    columns = ("repeated_tasks", "tasks", "repeated_ns")
    sums = {key: sum(whole(one, key) or 0 for one in found.values()) or None for key in columns}
    for last, entry in list(found.items())[-1:]:
        share = min(1.0, sum(_repeated_share(trace, one) for one in found.values()))
        name = word(entry, "computation").partition(" (")[0]
        one = f"`{name}`" if name else f"computation {last + 1}"
        kinds = {word(other, "kind") for other in entries[: last + 1]}
        keys = "dask.schedule", "dask.serialize"
        spans = [at for index in found for at in facts.spans_of(trace, *keys, computation=index)]
        yield Finding(
            "dask.recompute",
            "warn" if share >= REPEATED_WALL_SHARE else "info",
            f"{format_count(sums['repeated_tasks'] or 0)} of {format_count(sums['tasks'] or 0)} "
            f"tasks of {one if len(found) == 1 else counted(len(found), 'computation')} "
            "did earlier work again",
            sums,
            dask_runs.INDEXED * (not any(dask_runs.shuffle(trace)))  # which says it
            if facts.is_sorted(trace)
            else f"{_TOGETHER}{dask_runs.COMPUTE}\n" * (kinds == {"compute"}) + _PERSIST,
            spans=tuple(spans) or facts.spans_of(trace, *keys, "dask.execute"),
            because=f"these took {format_ns(took)}" if (took := sums["repeated_ns"]) else "",
            share=share,
        )


def _repeated_share(trace: Trace, entry: facts.Record) -> float:
    """Return which share its repeated tasks own: by their time, without a cluster by number."""
    took_ns, all_ns = whole(entry, "repeated_ns"), facts.compute_ns(trace)
    if took_ns is not None and all_ns:
        return self_share(trace, "dask.execute") * min(1.0, took_ns / all_ns)
    of_tasks = (whole(entry, "repeated_tasks") or 0) / max(1, whole(entry, "tasks") or 0)
    return min(1.0, of_tasks * (whole(entry, "duration") or 0) / max(1, trace.wall_ns))


def slow_construction(trace: Trace) -> Iterable[Finding]:
    """Find slow code of the user before the first computation."""
    # Made of tasks, which workers run side by side, it would take a part of that time for each.
    starts = [span.start_ns for span in trace.spans if span.stage in _SENDING]
    before = dict(indexed(trace, "python.code"))
    if not starts or sum(span.duration_ns for span in before.values()) < CODE_NS:
        return
    early = partition(replace(trace, wall_ns=max(0, min(starts)), groups=()))
    code_ns = sum(row.self_ns for row in early.rows if row.stage == "python.code")
    # As tasks it would run on all of them.
    places = dask_runs.places(trace) or 2
    if code_ns >= CODE_NS and code_ns >= CODE_SHARE * trace.wall_ns and places > 1:
        share = code_ns / trace.wall_ns if trace.wall_ns else 1.0
        built = row_of(trace, "dask.construct")
        yield Finding(
            "dask.slow-construction",
            "warn",
            "your own code ran before the first computation began",
            {
                "code_ns": code_ns,
                "share": round(share, 3),
                "construct_ns": built.self_ns if built else None,
            },
            "",
            spans=tuple(index for index, span in before.items() if span.start_ns < min(starts)),
            because=f"{format_ns(code_ns)} in which the cluster had nothing of this cell to do; "
            "dask.delayed makes tasks of what reads and prepares",
            share=min(1.0, share) * (1 - 1 / places),
        )


RULES: Sequence[Callable[[Trace], Iterable[Finding]]] = (
    *(*dask_payload.RULES, *dask_runs.RULES, dask_tiny.tiny_tasks, scheduler_bound, many_layers),
    *(main_functions, scheduler_gc, large_gather, recompute, slow_construction),
)
