"""Dask traces as large as real ones, for views: many parts, several computations, tables."""

import random
from dataclasses import replace
from functools import cache
from typing import Any

from dask_golden import ARRAY, CLIENT, HASH, SCHEDULER, computations_table, graph_table, tasks_table

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import Group, Table, Trace
from jupyter_serprof.testing import make_trace

_MS = 1_000_000


def spans_of(at: float, index: int, *, scale: float = 1, lanes: int = 4, tasks: int = 200) -> Any:
    """Return the spans of one computation that begins at an instant, and when it ends (ms)."""
    draw = random.Random(index)  # noqa: S311  (the same picture every time)
    mark = {"computation": index}
    steps: list[tuple[str, str, float]] = [
        *(("python.code", CLIENT, 12), ("dask.construct", CLIENT, 25)),
        *(("dask.prepare", CLIENT, 1.5), ("dask.serialize", CLIENT, 3.1)),
        ("dask.communicate.batch", CLIENT, 6.8),
        ("dask.communicate.frames", CLIENT, 0.2),
        ("dask.communicate.wire", CLIENT, 2.4),
        ("dask.communicate.read", SCHEDULER, 0.4),
        ("dask.schedule.unpickle", SCHEDULER, 9),
        ("dask.optimize", SCHEDULER, 110),
        ("dask.materialize", SCHEDULER, 22),
        ("dask.schedule.order", SCHEDULER, 61),
        ("dask.schedule.state", SCHEDULER, 38),
    ]
    spans: list[tuple[Any, ...]] = []
    begun = at
    for key, lane, length in steps:
        size = 91_400 if key in {"dask.serialize", "dask.communicate.wire"} else None
        spans.append((key, lane, at, length * scale, size, -1, mark))
        at += length * scale
    ready, waiting = at, begun + 50 * scale
    ends = []
    for thread in range(lanes):
        free = ready + 4 * scale
        for _ in range(tasks):
            free += draw.uniform(0.1, 1.4) * scale
            length = draw.uniform(0.2, 1.9) * scale
            where = f"worker {thread // 2 + 1}/thread {thread % 2 + 1}"
            spans.append(("dask.execute", where, free, length, None, -1, {"count": 5}))
            free += length
        ends.append(free)
    end = max(ends)
    step = (end - ready) / 60
    for i in range(60):
        spans.append(("dask.schedule.transitions", SCHEDULER, ready + i * step, step * 0.6))
        spans.append(
            ("dask.dispatch.encode", SCHEDULER, ready + (i + 0.6) * step, step * 0.1, 40_000)
        )
    spans += [
        ("dask.transfer", "worker 1/thread 1", ready, 3 * scale, 56_000_000),
        ("dask.wait", CLIENT, waiting, end - waiting),
        ("gc", SCHEDULER, ready + 8 * step, 0.5 * step),
        ("dask.gather", CLIENT, end, 6.3 * scale, 176, -1, mark),
    ]
    return spans, end + 6.3 * scale


def tables(count: int = 3) -> tuple[Table, ...]:
    """Return the three tables, one with more rows than are shown."""
    prefixes = [(f"random_sample-{i}", 4_000 - i, (40 - i) * _MS, 80_000_000) for i in range(15)]
    objects = [(f"mysum-{HASH}", ARRAY, 32_000_000, 100), (f"sum-{HASH}", "", 40_000, 0)]
    names = [(f"{i + 1}: compute sum", "compute", 1_600, 0, 400 * _MS) for i in range(count)]
    return tasks_table(*prefixes), computations_table(*names), graph_table(*objects)


@cache
def computation(**changes: Any) -> Trace:
    """Return one computation with its tables."""
    spans, end = spans_of(0, 0, **changes)
    trace = make_trace(spans, wall_ms=end + 9, name="(x + x.T).sum()")
    return analyse(replace(trace, tables=tables(1)))


@cache
def several(count: int, title: str = "compute sum", **changes: Any) -> Trace:
    """Return so many computations one after the other, of unequal length."""
    at, spans, groups = 0.0, [], []
    for index in range(count):
        begun = at
        some, at = spans_of(at, index, scale=1 + (index * 7) % 5, tasks=40, **changes)
        spans += some
        groups.append(Group(f"{index + 1}: {title}", round(begun * _MS), round(at * _MS)))
    trace = make_trace(spans, wall_ms=at + 3, name="several(x)")
    return analyse(replace(trace, groups=tuple(groups), tables=tables(count)))


def hundred_thousand_tasks(spans_count: int = 20_000, lanes: int = 8) -> Trace:
    """Return 100,000 tasks of 1,000 prefixes, put together to so many spans on worker threads."""
    draw = random.Random(7)  # noqa: S311  (the same trace every time)
    free = [20.0] * lanes
    spans: list[tuple[Any, ...]] = [("dask.serialize", CLIENT, 0, 5, 90_000, -1, {"layers": 3})]
    for at in range(spans_count):
        lane, length = at % lanes, draw.lognormvariate(1, 1.2)
        free[lane] += draw.expovariate(1.4)
        where = f"worker {lane // 2 + 1}/thread {lane % 2 + 1}"
        count = {"count": 100_000 // spans_count}
        spans.append(("dask.execute", where, free[lane], length, None, -1, count))
        free[lane] += length
    spans.append(("dask.wait", CLIENT, 5, max(free) - 5))
    named = tuple(
        span._replace(name=f"random_sample-{draw.randrange(1_000)}")
        for span in make_trace(spans).spans
    )
    prefixes = [(f"random_sample-{i}", 100, (i + 1) * _MS, 80_000_000) for i in range(1_000)]
    trace = replace(make_trace(spans, name="(x + x.T).sum()"), spans=named)
    return analyse(replace(trace, tables=(tasks_table(*prefixes), *tables(1)[1:])))
