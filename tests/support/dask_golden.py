"""Golden Dask traces: on each side of every threshold, and of workloads that are as they should be.

``run()`` is a computation as a client sees it; each argument that is given moves it across one
threshold. Times are ms, sizes bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jupyter_serprof.model import Group, Table, TableColumn, Trace
from jupyter_serprof.testing import make_trace

CLIENT, SCHEDULER = "client/main", "scheduler"
HASH = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
ARRAY = "numpy.ndarray float64 (2000, 2000)"
_UNITS = {
    "prefix": "text",
    "computation": "text",
    "kind": "text",
    "layer": "text",
    "key": "text",
    "object": "text",
    "bytes": "bytes",
    "graph_bytes": "bytes",
    "dispatched_bytes": "bytes",
    "result_bytes": "bytes",
    "crossing_bytes": "bytes",
    "share": "ratio",
}
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
        ("dask.gather", CLIENT, begun + compute, gather, gathered, -1, {"computation": 0}),
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
    """Return a graph with one object in it."""
    return run(graph=size, tables=[graph_table((f"{layer}-{HASH}", name, size, count))])


def tiny(**changes: Any) -> Trace:
    """Return 400 tasks for which the scheduler needs as long as two threads compute."""
    return run(**{"schedule": 95, "compute": 100, **changes})


Pair = tuple["Callable[[], Trace]", "Callable[[], Trace]", str]
#: rule -> (make below the threshold, make at it, what the title says)
DASK_GOLDEN: Mapping[str, list[Pair]] = {
    "dask.large-object": [
        (lambda: embedded(9_999_999), lambda: embedded(10_000_000), f"{ARRAY} of 10.0 MB"),
        (
            lambda: run(graph=6_000_000, out_of_band=3_999_999),
            lambda: run(graph=6_000_000, out_of_band=4_000_000),
            "10.0 MB",
        ),
        (
            lambda: embedded(9_999_999, "random_sample", ""),
            lambda: embedded(10_000_000, "random_sample", ""),
            "layer random_sample holds 10.0 MB",
        ),
    ],
    "dask.repeated-payload": [
        (
            lambda: run(graph=1_000_000, dispatched=99_999_999),
            lambda: run(graph=1_000_000, dispatched=100_000_000),
            "100 MB",
        ),
        (
            lambda: run(graph=40_000_000, dispatched=199_999_999),
            lambda: run(graph=40_000_000, dispatched=200_000_000),
            "5.0",
        ),
        (
            lambda: run(tasks=25_001, dispatched=100_000_000),
            lambda: run(tasks=25_000, dispatched=100_000_000),
            "90.0 kB",
        ),
    ],
    "dask.tiny-tasks": [
        (lambda: tiny(tasks=199), lambda: tiny(tasks=200), "200 tasks are too small"),
        (lambda: tiny(compute=100.1), tiny, "takes 250 µs, its work 500 µs on 2"),
        (lambda: tiny(wall=1_001), lambda: tiny(wall=1_000), "400 tasks"),
    ],
    "dask.many-layers": [
        (lambda: run(layers=999), lambda: run(layers=1_000), "1,000 layers"),
    ],
    "dask.main-functions": [
        (lambda: run(mains=999), lambda: run(mains=1_000), "1,000 times"),
        (
            lambda: run(mains=1, serialize=49.9, compute=99),
            lambda: run(mains=1, serialize=50, compute=99),
            "1 time:",
        ),
        (
            lambda: run(mains=1, serialize=100, wall=1_001),
            lambda: run(mains=1, serialize=100, wall=1_000),
            "100 ms",
        ),
    ],
    "dask.scheduler-gc": [
        (lambda: run(gc=19.9, compute=99), lambda: run(gc=20, compute=99), "took 20.0 ms"),
        (lambda: run(gc=100, wall=1_001), lambda: run(gc=100, wall=1_000), "10 %"),
        (lambda: run(gc=200, gc_lane=CLIENT), lambda: run(gc=200), "200 ms"),
    ],
    "dask.scheduler-bound": [
        (
            lambda: run(schedule=110, compute=100.1),
            lambda: run(schedule=110, compute=100),
            "50 % of the wait",
        ),
        (
            lambda: run(schedule=99.9, compute=20),
            lambda: run(schedule=100, compute=20),
            "most of it Transitions (70.0 ms)",
        ),
        (
            lambda: run(optimize=100, schedule=9, compute=100),
            lambda: run(optimize=100, schedule=10, compute=100),
            "most of it Graph optimization (100 ms)",
        ),
    ],
    "dask.large-gather": [
        (
            lambda: run(gather=300, compute=200, gathered=999_999),
            lambda: run(gather=300, compute=200, gathered=1_000_000),
            "1.00 MB were gathered",
        ),
        (
            lambda: run(gather=300, compute=200, gathered=10**7, wall=1_001),
            lambda: run(gather=300, compute=200, gathered=10**7, wall=1_000),
            "30 %",
        ),
        (
            lambda: run(gather=300, compute=300, gathered=10**7),
            lambda: run(gather=300, compute=299.9, gathered=10**7),
            "300 ms",
        ),
    ],
    "dask.recompute": [
        (
            lambda: repeats((1_000, 0), (1_000, 299)),
            lambda: repeats((1_000, 0), (1_000, 300)),
            "2: compute mean repeats 300 of its 1,000 tasks (30 %)",
        ),
        (lambda: repeats((10, 10), (10, 0)), lambda: repeats((10, 0), (10, 10)), "10 of its 10"),
    ],
    "dask.slow-construction": [
        (lambda: run(code=199.9, compute=200), lambda: run(code=200, compute=200), "200 ms"),
        (lambda: run(code=300, wall=1_001), lambda: run(code=300, wall=1_000), "30 %"),
    ],
}


def _prefixes(*rows: tuple[str, int, float]) -> Table:
    return tasks_table(*((name, n, round(n * ms * 1e6), 800 * n) for name, n, ms in rows))


#: Workloads in which nothing should be done differently; no rule may say anything about them.
HEALTHY: Mapping[str, Callable[[], Trace]] = {
    "array, chunks of 100 MB": lambda: run(
        schedule=90,
        encode=10,
        tasks=800,
        compute=30_000,
        tables=[
            _prefixes(("random_sample", 400, 120), ("sum", 400, 30)),
            computations_table(("1: compute sum", "compute", 800, 0, 30_100_000_000)),
            graph_table((f"random_sample-{HASH}", "", 80_000, 0)),
        ],
    ),
    "data frame, groupby": lambda: run(
        code=1,
        graph=30_000,
        schedule=60,
        tasks=557,
        compute=1_500,
        tables=[_prefixes(("timeseries", 30, 60), ("groupby-agg", 527, 2))],
    ),
    "bag of files": lambda: run(
        code=30, graph=260_000, schedule=40, tasks=859, compute=2_000, mains=12, gathered=90_000
    ),
    "delayed with parameters": lambda: run(
        graph=200_000,
        layers=120,
        tasks=121,
        schedule=30,
        compute=900,
        dispatched=2_000_000,
        tables=[graph_table((f"train-{HASH}", "", 1_900, 0))],
    ),
    "persist, then small results": lambda: replace(
        run(
            schedule=90,
            tasks=1_600,
            compute=8_000,
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
    "ten small tasks": lambda: run(
        code=0.2, serialize=0.4, schedule=4, encode=0.5, tasks=10, compute=3, gather=2, mains=3
    ),
    "submit and gather": lambda: run(
        graph=500_000,
        layers=None,
        tasks=1_000,
        schedule=150,
        encode=90,
        dispatched=4_000_000,
        compute=5_000,
        gathered=40_000_000,
        gather=60,
        mains=1,
        tables=[computations_table(("1: map f", "map", 1_000, 0, 5_300_000_000))],
    ),
    "sixty-four threads": lambda: run(
        schedule=900, encode=100, tasks=5_000, compute=12_000, threads=64, dispatched=10**7
    ),
    "a large array that was scattered": lambda: run(
        graph=20_000,
        tasks=100,
        dispatched=120_000,
        compute=700,
        tables=[graph_table((f"f-{HASH}", "", 20_000, 0))],
    ),
    "fifty thousand tasks in ten minutes": lambda: run(
        graph=900_000,
        schedule=9_000,
        encode=3_000,
        gc=900,
        tasks=50_000,
        compute=600_000,
        dispatched=110_000_000,
        threads=8,
    ),
    "threads, without a cluster": lambda: make_trace(
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
