"""Golden Dask traces: on each side of every threshold, and of workloads that are as they should be.

``run()`` is a computation as a client sees it; each argument that is given moves it across one
threshold. Times are ms, sizes bytes.
"""

from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jupyter_serprof.model import Group, Table, TableColumn, Trace
from jupyter_serprof.testing import make_trace

CLIENT, SCHEDULER = "client/main", "scheduler"
HASH = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
ARRAY = "numpy.ndarray float64 (2000, 2000)"
_TEXTS = ("prefix", "computation", "kind", "layer", "key", "object")
_SIZES = ("bytes", "graph_bytes", "dispatched_bytes", "result_bytes", "crossing_bytes")
_UNITS = dict.fromkeys(_TEXTS, "text") | dict.fromkeys(_SIZES, "bytes") | {"share": "ratio"}
_TIMES = ("compute_", "transfer_", "disk_", "duration")
TASKS = (
    *("prefix", "count", "compute_min", "compute_p25", "compute_p50", "compute_p75"),
    *("compute_max", "compute_total", "transfer_total", "disk_total", "result_bytes", "errors"),
)
COMPUTATIONS = (
    *("computation", "kind", "graph_bytes", "layers", "tasks", "repeated_tasks"),
    *("dispatched_bytes", "duration"),
)
GRAPH = ("layer", "key", "object", "bytes", "share", "references", "crossing_bytes")


def table(key: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table whose columns have the units of the probes."""

    def unit(name: str) -> str:
        return _UNITS.get(name, "ns" if name.startswith(_TIMES) else "count")

    made = tuple(TableColumn(name, name.replace("_", " "), unit(name)) for name in columns)
    return Table(key, title, made, tuple(tuple(row) for row in rows))


def tasks_table(*rows: Sequence[Any]) -> Table:
    """Return the table of tasks: (prefix, count, compute in all, bytes of results) each."""
    full = [
        (name, count, *([total // max(1, count)] * 5), total, 0, 0, size, 0)
        for name, count, total, size in rows
    ]
    return table("dask.tasks", "Tasks by prefix", TASKS, full)


def computations_table(*rows: Sequence[Any]) -> Table:
    """Return the table of computations: (name, kind, tasks, repeated tasks, duration) each."""
    full = [
        (name, kind, 90_000, 3, tasks, repeated, 1_000_000, duration)
        for name, kind, tasks, repeated, duration in rows
    ]
    return table("dask.computations", "Computations", COMPUTATIONS, full)


def graph_table(*rows: Sequence[Any]) -> Table:
    """Return who holds the bytes: (layer, object, bytes, references) each."""
    full = [
        (layer, f"{layer}-0", name, size, 0.9, count, None if size is None else size * (count or 0))
        for layer, name, size, count in rows
    ]
    return table("dask.graph", "Who holds the bytes of the graph", GRAPH, full)


def told(text: str) -> dict[str, Any]:
    """Return the figures in a text, each a word: ``tasks=400``."""
    return {one.partition("=")[0]: literal_eval(one.partition("=")[2]) for one in text.split()}


def run(  # noqa: PLR0913  (each is a threshold of some rule)
    *,
    code: float = 5,
    serialize: float = 2,
    graph: int | None = 90_000,
    out_of_band: int | None = 0,
    layers: object = 3,
    mains: object = 0,
    schedule: float = 20,
    optimize: float = 0,
    gc: float = 0,
    gc_lane: str = SCHEDULER,
    encode: float = 5,
    dispatched: int | None = 400_000,
    tasks: object = 400,
    compute: float = 400,
    threads: int = 2,
    gather: float = 5,
    gathered: int | None = 1_000,
    items: int = 0,
    wall: float | None = None,
    tables: Sequence[Table] = (),
) -> Trace:
    """Return a computation: code, construction, graph, scheduling, execution, gather."""
    noted: dict[str, object] = {"in_band_bytes": graph, "out_of_band_bytes": out_of_band}
    noted = {**noted, "layers": layers, "main_functions": mains, "computation": 0}
    sent = code + 3 + serialize
    begun = sent + optimize + schedule + encode
    spans: list[tuple[Any, ...]] = [
        ("python.code", CLIENT, 0, code),
        ("dask.construct", CLIENT, code, 2),
        ("dask.prepare", CLIENT, code + 2, 1),
        ("dask.serialize", CLIENT, code + 3, serialize, graph, -1, noted),
        ("dask.wait", CLIENT, sent, begun - sent + compute),
        ("dask.optimize", SCHEDULER, sent, optimize),
        (
            *("dask.schedule", SCHEDULER, sent + optimize, schedule, None, -1),
            {"tasks": tasks, "layers": layers, "computation": 0},
        ),
        ("dask.schedule.transitions", SCHEDULER, sent + optimize, schedule * 0.7, None, 6),
        ("dask.dispatch.encode", SCHEDULER, begun - encode, encode, dispatched),
        (
            *("dask.gather", CLIENT, begun + compute, gather, gathered, -1),
            {"computation": 0, "items": items},
        ),
    ]
    spans += [
        ("dask.execute", f"worker {at + 1}/thread 1", begun, compute) for at in range(threads)
    ]
    if gc:
        spans.append(("gc", gc_lane, begun, gc))
    return replace(make_trace(spans, wall_ms=wall), tables=tuple(tables))


def repeats(*counts: tuple[object, object], kind: str = "compute", wall: float = 1_000) -> Trace:
    """Return computations of so many tasks, of which so many had been computed before."""
    rows = [
        (f"{at + 1}: {kind} mean", kind, tasks, repeated, 300_000_000)
        for at, (tasks, repeated) in enumerate(counts)
    ]
    return run(wall=wall, tables=[computations_table(*rows)])


def embedded(size: int | None, layer: str = "mysum", name: str = ARRAY, count: int = 100) -> Trace:
    return run(graph=size, tables=[graph_table((f"{layer}-{HASH}", name, size, count))])


def crowded(tasks_with: int, tasks: int = 20, optimize: float = 300, items: int = 5_000) -> Trace:
    """Return a graph in which so many tasks hold a dict of many small things."""
    held = graph_table(("prep", f"dict ({items})", 60_000, tasks_with))
    return run(tasks=tasks, optimize=optimize, tables=[held])


def in_graphs(size: int) -> Trace:
    """Return two graphs that embed what looks alike."""
    return run(graph=9_000_000, tables=[graph_table(("f", ARRAY, size, 1))] * 2)


OBJECTS = "pandas.DataFrame object (9, 1)"


def in_frames(kind: str, pickling: float) -> Trace:
    """Return a graph in which a frame is, pickled for so many ms of a second."""
    return run(
        serialize=pickling, encode=30, wall=1_000, tables=[graph_table(("f", kind, 1_600_000, 1))]
    )


def submitted(**noted: object) -> Trace:
    """Return a graph of one function of which something is noted."""
    details = {"function": "keep", "computation": 0, **noted}
    return make_trace([("dask.submit", CLIENT, 0, 5, None, -1, details)])


def given_by(task: str, size: int) -> Trace:
    """Return a function that adds to what the task `ones` gives, as so many bytes."""
    made = submitted(changes="array", task="ones")
    return replace(made, tables=(tasks_table((task, 2, 10**6, 2 * size)),))


def tiny(**changes: Any) -> Trace:
    """Return 400 tasks for which the scheduler needs as long as two threads compute."""
    return run(**{"schedule": 95, "compute": 100, **changes})


def large_gather(**changes: Any) -> Trace:
    return run(**{"gather": 300, "compute": 200, "gathered": 10**7, **changes})


Pair = tuple[Trace, Trace]


def _prefixes(*rows: tuple[str, int, float]) -> Table:
    return tasks_table(*((name, n, round(n * ms * 1e6), 800 * n) for name, n, ms in rows))


Task = tuple[str, int, float, float]


def ran(
    *tasks: Task, graphs: int = 1, size: int = 0, waits: int = 0, chained: int = 0, layers: int = 0
) -> Trace:
    """Return tasks of two workers: (name, worker, start, duration) each, of so many graphs."""
    spans: list[tuple[Any, ...]] = [
        ("dask.serialize", CLIENT, 0, 1, None, -1, {"layers": layers})
    ] * graphs
    spans += [("dask.execute", f"worker {at}/thread 1", *times) for _, at, *times in tasks]
    end = max(start + took for *_, start, took in tasks)
    trace = make_trace(
        [
            *spans,
            ("dask.worker", "worker 2/loop", 0, 1),
            ("dask.wait", CLIENT, 1, end),
            ("dask.schedule", SCHEDULER, 0, 0, None, -1, {"chained": chained}),
        ]
    )
    names = [*["serialize"] * graphs, *(name for name, *_ in tasks), "loop", "wait", "update_graph"]
    named = [span._replace(name=name) for span, name in zip(trace.spans, names, strict=True)]
    sums = {name: [took for own, *_, took in tasks if own == name] for name, *_ in tasks}
    rows = [(name, len(own), round(sum(own) * 1e6), size) for name, own in sums.items()]
    groups = tuple(Group(f"{at}: compute", at, at + 1) for at in range(waits))
    return replace(trace, spans=tuple(named), tables=(tasks_table(*rows),), groups=groups)


def in_turn(name: str, workers: int, count: int = 6, took: float = 100) -> list[Task]:
    """Return tasks of which as many run side by side as there are workers."""
    return [(name, 1 + at % workers, 5 + at // workers * took, took) for at in range(count)]


def in_threads(ready: int, second: float = 100, wall: float = 110) -> Trace:
    """Return two threads that run tasks for 100 ms, which were ready for so many ms."""
    lanes = [f"worker 1/thread {at}" for at in (1, 2)]
    run = ("dask.schedule", CLIENT, 0, wall, None, -1, {"ready_ns": ready * 10**6})
    tasks = [("dask.execute", lanes[0], 5, 100), ("dask.execute", lanes[1], 5, second)]
    return make_trace([run, ("dask.wait", CLIENT, 5, 100, None, 0), *tasks], wall_ms=wall)


def looped(count: int, workers: int = 1, waits: int | None = None, graphs: int = 0) -> Trace:
    """Return computations of one task each, if not said otherwise, most of which are waited for."""
    tasks = in_turn("slow", workers, count)
    return ran(*tasks, graphs=graphs or count, waits=count if waits is None else waits)


def apart(count: int) -> Trace:
    """Return computations of two tasks side by side, and a while between them."""
    tasks = [("chunk_max", worker, 5 + 100 * at, 40) for at in range(count) for worker in (1, 2)]
    return ran(*tasks, graphs=count, waits=count)


def parted(count: int, steps: int = 8, size: int = 40_000) -> Trace:
    """Return a data frame of so many partitions, each of which takes some steps."""
    trace = ran(*in_turn("assign", 2))
    rows = [("frompandas", count, 10**6, size * count), ("assign", (steps - 1) * count, 10**6, 9)]
    return replace(trace, tables=(tasks_table(*rows),))


def merged(size: int) -> Trace:
    """Return a merge of frames, the larger of so many bytes, by a shuffle."""
    return ran(*in_turn("hash-join-transfer", 2), ("hashjoinp2p", 1, 305, 90), size=size)


def in_shuffle(first: str) -> Trace:
    """Return a shuffle after tasks of a name."""
    return ran((first, 1, 5, 9), ("shuffle-barrier", 1, 305, 9), *in_turn("p2pshuffle", 2))


def split(first: str) -> Trace:
    """Return a shuffle after tasks of a name, of a frame that was cut into 50 small partitions."""
    rows = [("frompandas", 8, 10**6, 4_840_000), ("repartitiondivisions", 50, 10**6, 2_900_000)]
    return replace(in_shuffle(first), tables=(tasks_table(*rows, (first, 50, 10**6, 9)),))


def filtered(name: str) -> Trace:
    """Return what is done with 60 partitions that were made before, built by a method."""
    trace = parted(60)
    rows = [(key, 60, 10**6, size) for key, size in (("getitem", 240_000), ("chunk", 480))] * 4
    made = [span._replace(stage="dask.construct", name=name) for span in trace.spans[:1]]
    return replace(
        trace, spans=(*made, *trace.spans[1:]), tables=(tasks_table(*rows, ("sum", 9, 9, 9)),)
    )


def in_kernel(trace: Trace) -> Trace:
    """Return a trace whose scheduler, with its garbage, lives in the kernel."""
    spans = (
        span._replace(details={"is_kernel": True}) if span.stage == "gc" else span
        for span in trace.spans
    )
    return replace(trace, spans=tuple(spans))


def launched(start: int) -> Trace:
    """Return a wait for processes, of which the start took so many ms of 100."""
    noted = {"start_ns": start * 10**6}
    return make_trace([("python.wait", CLIENT, 0, 90, None, -1, noted)], wall_ms=100)


def pooled(start: float, end: float, work: float, wall: float | None = None) -> Trace:
    """Return a computation by processes: their start, their work, their end."""
    spans = [
        ("import", "worker 1/thread 1", 0, start),
        ("dask.execute", "worker 1/thread 1", start, work),
        ("dask.wait", CLIENT, 0, start + work),
        ("dask.wait", CLIENT, start + work, end),
    ]
    trace = make_trace(spans, wall_ms=wall)
    last = trace.spans[-1]._replace(name="ProcessPoolExecutor.shutdown")
    return replace(trace, spans=(*trace.spans[:-1], last))


_THEN = ("finalize-f", 1, 310, 100)
_LONG = ("finalize-f", 1, 5, 300)
_STRAGGLER = ("all_of", 1, 5, 400)
_FIRST: list[Task] = [("finalize-f", 1, 5, 100), ("train", 1, 110, 300)]
#: rule -> (below the threshold, at it)
DASK_GOLDEN: Mapping[str, list[Pair]] = {
    "dask.large-object": [
        (in_graphs(4_999_999), in_graphs(5_000_000)),
        (embedded(9_999_999), embedded(10_000_000)),
        (run(graph=6_000_000, out_of_band=3_999_999), run(graph=6_000_000, out_of_band=4_000_000)),
        (embedded(9_999_999, "random_sample", ""), embedded(10_000_000, "random_sample", "")),
    ],
    "dask.repeated-payload": [
        (run(graph=1_000_000, dispatched=99_999_999), run(graph=1_000_000, dispatched=100_000_000)),
        (
            run(graph=40_000_000, dispatched=199_999_999),
            run(graph=40_000_000, dispatched=200_000_000),
        ),
        (run(tasks=25_001, dispatched=100_000_000), run(tasks=25_000, dispatched=100_000_000)),
        (crowded(3), crowded(4)),
        (crowded(1, items=19_999), crowded(1, items=20_000)),
        (crowded(20, tasks=1_000), crowded(20, tasks=999)),
        (crowded(20, optimize=30), crowded(20, optimize=60)),
    ],
    "dask.object-columns": [
        (in_frames("pandas.DataFrame (9, 1)", 70), in_frames(OBJECTS, 70)),
        (in_frames(OBJECTS, 67), in_frames(OBJECTS, 68)),
    ],
    "dask.tiny-tasks": [
        (tiny(tasks=199), tiny(tasks=200)),
        (tiny(compute=100.1), tiny()),
        (tiny(wall=1_001), tiny(wall=1_000)),
        (tiny(optimize=510, wall=1_840), tiny(optimize=510, wall=1_800)),
    ],
    "dask.gil": [
        (in_threads(79), in_threads(80)),
        (in_threads(146), in_threads(145)),
        (in_threads(100, second=49), in_threads(100, second=50)),
        (in_threads(100, wall=260), in_threads(100, wall=240)),
    ],
    "dask.global-write": [(submitted(writes=[]), submitted(writes=["SEEN"]))],
    "dask.nested-delayed": [(submitted(makes_graphs=0), submitted(makes_graphs=1))],
    "dask.mutated-input": [
        (submitted(changes=""), submitted(changes="array", task="")),
        (given_by("ones", 199), given_by("ones", 200)),
        (given_by("twos", 200), given_by("ones", 200)),
    ],
    "dask.many-layers": [(run(layers=999), run(layers=1_000))],
    "dask.main-functions": [
        (run(mains=999), run(mains=1_000)),
        (run(mains=1, serialize=49.9, compute=99), run(mains=1, serialize=50, compute=99)),
        (run(mains=1, serialize=100, wall=1_001), run(mains=1, serialize=100, wall=1_000)),
    ],
    "dask.scheduler-gc": [
        (run(gc=19.9, compute=99), run(gc=20, compute=99)),
        (run(gc=100, wall=1_001), run(gc=100, wall=1_000)),
        (run(gc=200, gc_lane=CLIENT), run(gc=200)),
    ],
    "dask.scheduler-bound": [
        (run(schedule=110, compute=100.1), run(schedule=110, compute=100)),
        (run(schedule=99.9, compute=20), run(schedule=100, compute=20)),
        (run(optimize=100, schedule=9, compute=100), run(optimize=100, schedule=10, compute=100)),
    ],
    "dask.large-gather": [
        (large_gather(gathered=999_999), large_gather(gathered=1_000_000)),
        (large_gather(wall=1_001), large_gather(wall=1_000)),
        (large_gather(compute=300), large_gather(compute=299.9)),
    ],
    "dask.recompute": [
        (repeats((1_000, 0), (1_000, 299)), repeats((1_000, 0), (1_000, 300))),
        (repeats((9, 0), (9, 0)), repeats((9, 0), (9, 9), (9, 8))),
        (repeats((10, 10), (10, 0)), repeats((10, 0), (10, 10))),
    ],
    "dask.compute-in-loop": [
        (looped(6, workers=2), looped(6)),
        (looped(3), looped(4)),
        (looped(6, graphs=3), looped(6, graphs=4)),
        (looped(6, waits=2), looped(6, waits=3)),
        (apart(3), apart(4)),
    ],
    "dask.chain": [
        (ran(*in_turn("add", 2), chained=5), ran(*in_turn("add", 1), chained=5)),
        (ran(*in_turn("add", 1), chained=4), ran(*in_turn("add", 1), chained=5)),
        (
            ran(*in_turn("add", 1), ("sum", 1, 605, 9), chained=6),
            ran(*in_turn("add", 1), ("add", 1, 605, 9), chained=6),
        ),
    ],
    "dask.one-task": [
        (ran(("all_of", 1, 5, 400), ("b", 2, 5, 390)), ran(("all_of", 1, 5, 400))),
        (ran(("all_of", 1, 5, 99.9)), ran(("all_of", 1, 5, 100))),
        (
            ran(("all_of", 1, 5, 400), ("b", 1, 5, 401)),
            ran(("all_of", 1, 5, 400), ("b", 1, 405, 9)),
        ),
        (ran(_STRAGGLER, ("b", 2, 5, 201)), ran(_STRAGGLER, ("b", 2, 5, 200))),
    ],
    "dask.delayed-collection": [
        (ran(("train", 1, 5, 300), _THEN, size=38_000_000), ran(*_FIRST, size=38_000_000)),
        (ran(*_FIRST, size=999_999), ran(*_FIRST, size=1_000_000)),
        (ran(_LONG, size=38_000_000), ran(_LONG, ("train", 1, 310, 9), size=38_000_000)),
    ],
    "dask.shuffle": [
        (ran(*in_turn("x", 2), ("p2pshuffle", 1, 305, 9)), ran(*in_turn("p2pshuffle", 2))),
        (merged(500_000_001), merged(500_000_000)),
        (in_shuffle("chunk"), in_shuffle("apply")),
    ],
    "dask.text-files": [(ran(*in_turn("read-parquet", 2)), ran(*in_turn("read-csv", 2)))],
    "dask.small-partitions": [
        (parted(49), parted(50)),
        (parted(50, steps=7), parted(50, steps=8)),
        (parted(50, size=1_000_000), parted(50, size=999_999)),
        (split("apply"), split("chunk")),
        (filtered("Array.sum"), filtered("DataFrame.assign")),
    ],
    "dask.pool-start": [
        (pooled(400, 300, 701), pooled(400, 300, 699)),
        (pooled(100, 90, 10, wall=1_000), pooled(110, 90, 10, wall=1_000)),
    ],
    "joblib.pool-start": [(launched(33), launched(34))],
    "dask.slow-construction": [
        (run(code=199.9, compute=200), run(code=200, compute=200)),
        (run(code=300, wall=1_001), run(code=300, wall=1_000)),
    ],
}


#: Workloads in which nothing should be done differently; no rule may say anything about them.
HEALTHY: Mapping[str, Trace] = {
    "array, chunks of 100 MB": run(
        **told("schedule=90 encode=10 tasks=800 compute=30_000"),
        tables=[
            _prefixes(("random_sample", 400, 120), ("sum", 400, 30)),
            computations_table(("1: compute sum", "compute", 800, 0, 30_100_000_000)),
            graph_table((f"random_sample-{HASH}", "", 80_000, 0)),
        ],
    ),
    "data frame, groupby": run(
        **told("code=1 graph=30_000 schedule=60 tasks=557 compute=1_500"),
        tables=[_prefixes(("timeseries", 30, 60), ("groupby-agg", 527, 2))],
    ),
    "bag of files": run(
        code=30, graph=260_000, schedule=40, tasks=859, compute=2_000, mains=12, gathered=90_000
    ),
    "delayed with parameters": run(
        **told("graph=200_000 layers=120 tasks=121 schedule=30 compute=900 dispatched=2_000_000"),
        tables=[graph_table((f"train-{HASH}", "", 1_900, 0))],
    ),
    "persist, then small results": replace(
        run(
            **told("schedule=90 tasks=1_600 compute=8_000"),
            tables=[
                computations_table(
                    ("1: persist x", "persist", 1_600, 0, 7_000_000_000),
                    ("2: compute mean", "compute", 500, 0, 500_000_000),
                    ("3: compute std", "compute", 500, 12, 500_000_000),
                )
            ],
        ),
        groups=(
            Group("1: persist x", 0, 7_000_000_000),
            Group("2: compute mean", 7_000_000_000, 7_500_000_000),
            Group("3: compute std", 7_500_000_000, 8_000_000_000),
        ),
    ),
    "ten small tasks": run(
        code=0.2, serialize=0.4, schedule=4, encode=0.5, tasks=10, compute=3, gather=2, mains=3
    ),
    "submit and gather": run(
        **told("graph=500_000 layers=None tasks=1_000 schedule=150 encode=90 dispatched=4_000_000"),
        **told("compute=5_000 gathered=40_000_000 gather=60 mains=1"),
        tables=[computations_table(("1: map f", "map", 1_000, 0, 5_300_000_000))],
    ),
    "sixty-four threads": run(
        schedule=900, encode=100, tasks=5_000, compute=12_000, threads=64, dispatched=10**7
    ),
    "a large array that was scattered": run(
        **told("graph=20_000 tasks=100 dispatched=120_000 compute=700"),
        tables=[graph_table((f"f-{HASH}", "", 20_000, 0))],
    ),
    "fifty thousand tasks in ten minutes": run(
        **told("graph=900_000 schedule=9_000 encode=3_000 gc=900 tasks=50_000 compute=600_000"),
        **told("dispatched=110_000_000 threads=8"),
    ),
    "threads, without a cluster": make_trace(
        [
            ("python.code", CLIENT, 0, 20),
            ("dask.construct", CLIENT, 20, 10),
            ("dask.optimize", CLIENT, 30, 20),
            ("dask.schedule", CLIENT, 50, 8, None, -1, {"tasks": 400}),
            *(("dask.execute", f"client/thread {at}", 60, 500) for at in (1, 2)),
            ("dask.wait", CLIENT, 60, 500),
        ]
    ),
}


def _odd_graph() -> Table:
    known = graph_table(("f", ARRAY, 1, 1))
    return replace(known, rows=((7, None, ARRAY, "large", "most", 1.5, True),))


def _of_a_task() -> Table:
    known = graph_table(("(low-level graph)", ARRAY, 32_000_000, 1))
    layer, _, *rest = known.rows[0]
    return replace(known, rows=((layer, f"price-{HASH}", *rest),))


def _by_processes(*spans: tuple[Any, ...]) -> Trace:
    return replace(make_trace(spans), tables=embedded(32_000_000).tables)


def _known_bytes() -> Table:
    known = computations_table(("1: compute sum", "compute", 100, 0, 10**9))
    return replace(known, rows=tuple((*row[:6], 500_000_000, row[7]) for row in known.rows))


def _in_blocks() -> Trace:
    groups = tuple(Group(f"block {at}", at, at + 1) for at in range(2))
    return replace(repeats((100, 0), (100, 60)), groups=groups)


def _without_a_graph() -> Trace:
    trace = run(schedule=110, compute=100)
    spans = (span for span in trace.spans if span.stage != "dask.serialize")
    return replace(trace, spans=tuple(span._replace(parent=-1) for span in spans))


def _then_code() -> Trace:
    trace = run(code=100, compute=100)
    late = make_trace([("python.code", CLIENT, 200, 400)]).spans
    return replace(trace, spans=trace.spans + late, wall_ns=600_000_000)


def _gathered_twice() -> Trace:
    first = run(gather=300, compute=200, gathered=600_000)
    end = first.wall_ns
    again = (span._replace(start_ns=span.start_ns + end, parent=-1) for span in first.spans)
    one, two = HEALTHY["persist, then small results"].groups[:2]
    groups = (replace(one, end_ns=end), replace(two, start_ns=end, end_ns=2 * end))
    return replace(first, spans=(*first.spans, *again), wall_ns=2 * end, groups=groups)


_FRAME = "pandas.DataFrame (10, 3)"
#: What a finding says beyond its threshold: a rule without its numbers is silent.
DASK_SAMPLES: Mapping[str, Trace] = {
    "a frame cut by from_pandas is half of a large graph": run(
        graph=12_800_000,
        tables=[graph_table((f"frompandas-{HASH}", "pandas.DataFrame (400000, 2)", 6_400_132, 1))],
    ),
    "lists are gathered": large_gather(gather=1_001, gathered=10**6, items=1_000),
    "a slow network": large_gather(gather=1_001, gathered=10**6, items=999),
    "many tasks use an array": embedded(32_000_000, "mysum", ARRAY, 100),
    "two tasks use a frame": embedded(32_000_000, "mysum", _FRAME, 2),
    "two tasks use a dict": embedded(32_000_000, "mysum", "dict", 2),
    "one task uses an array": embedded(32_000_000, "mysum", ARRAY, 1),
    "an array is sliced": embedded(32_000_000, "array", ARRAY, 16),
    "a frame is cut": embedded(32_000_000, "from_pandas", _FRAME, 1),
    "a graph without layers names the task": run(tables=[_of_a_task()]),
    "without a scheduler nothing is scattered": _by_processes(
        ("dask.serialize", CLIENT, 0, 5, 32_000_000)
    ),
    "threads share the object": _by_processes(("dask.execute", "client/thread 1", 0, 5)),
    "dask.delayed names it by its class": embedded(32_000_000, "ndarray", ARRAY, 1),
    "one of many tasks ran alone": replace(
        ran(("all_of", 1, 5, 400)), tables=(tasks_table(("all_of", 8, 420_000_000, 9)),)
    ),
    "one call": ran(_STRAGGLER, layers=1),
    "eight calls that need nothing of each other": ran(
        ("work", 1, 5, 1200), *(("work", 2, 5 + 50 * at, 50) for at in range(7)), layers=8
    ),
    "the heap of a kernel is searched": in_kernel(run(gc=200)),
    "each ran once": ran(*((n, 1, 99 * (ord(n) - 97), 99) for n in "abcd"), graphs=4, waits=4),
    "three of five objects": run(
        tables=[graph_table(*((f"f{at}-{HASH}", ARRAY, 90_000_000 - at, 3) for at in range(5)))]
    ),
    "the object that crosses most": run(
        **told("graph=32_000_000 dispatched=3_200_000_000 tasks=100"),
        tables=[
            graph_table((f"f-{HASH}", "dict", 10**6, 1), (f"g-{HASH}", ARRAY, 32_000_000, 100))
        ],
    ),
    "bytes of the table where no span has them": run(
        graph=None, dispatched=None, tasks=100, tables=[_known_bytes()]
    ),
    "most tasks have one prefix": tiny(tables=[tasks_table(("random", 300, 1, 1))]),
    "batches for futures": tiny(tables=[computations_table(("1: map f", "map", 400, 0, 10**8))]),
    "repeated computes": repeats((100, 0), (100, 60)),
    "repeated persists": repeats((100, 0), (100, 60), kind="persist"),
    "computations named as their blocks": _in_blocks(),
    "a hundredth of the time": repeats((10, 0), (10, 10), wall=3_000),
    "less than a hundredth": repeats((10, 0), (10, 10), wall=3_001),
    "no scheduler to blame": make_trace(
        [("dask.schedule", CLIENT, 0, 200), ("dask.execute", "client/thread 1", 200, 50)]
    ),
    "the wait begins with the scheduler": _without_a_graph(),
    "code after the computation": _then_code(),
    "each computation counts": _gathered_twice(),
    "a little gathered once": run(gather=300, compute=200, gathered=600_000),
    "columns that are missing": run(
        tables=[replace(each, columns=each.columns[:2]) for each in embedded(10**8).tables]
    ),
    "cells of other types": run(tables=[_odd_graph(), computations_table(), tasks_table()]),
    "graph bytes unknown": run(graph=None, out_of_band=None, dispatched=10**9),
    "dispatched bytes unknown": run(dispatched=None),
    "tasks unknown": run(tasks=None, schedule=60),
    "layers unknown": run(layers=None),
    "functions unknown": run(mains=None),
    "gathered bytes unknown": run(gather=500, compute=300, gathered=None),
    "bytes of an object unknown": embedded(None),
    "repeated tasks unknown": repeats((100, None), (100, None)),
    "text for a number": repeats((100, "many"), (100, "many")),
    "truth for a number": run(layers=True, mains=True),
    "no time of tasks": run(tables=[tasks_table(("sum", 400, 0, None))]),
}
