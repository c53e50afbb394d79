"""What findings and summaries ask of a Dask trace: tables by column, bytes, tasks, workers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jupyter_serprof.analysis.spans import indexed, number, rows_of, total
from jupyter_serprof.model import Row, Span, Trace, stage
from jupyter_serprof.model.trace import Scalar

Record = Mapping[str, Scalar]
_SCHEDULING = "dask.schedule"
#: In the lanes of worker threads; a worker has other lanes too: its event loop, its disk.
_THREAD = "/thread "
_ENCODING = "dask.dispatch.encode"
#: What Dask puts behind the name of a layer: a hash or a UUID, and what follows.
_HASH = re.compile(r"-(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}).*$", re.DOTALL)


class Workers(NamedTuple):
    """The worker threads that were seen and how long they computed, all together (ns)."""

    threads: int
    busy_ns: int


def records(trace: Trace, key: str) -> list[Record]:
    """Return the rows of a table by the keys of its columns; none where there is no such table."""
    return [
        dict(zip((column.key for column in table.columns), row, strict=False))
        for table in trace.tables
        if table.key == key
        for row in table.rows
    ]


def whole(record: Record, key: str) -> int | None:
    """Return a whole number of a record, or None."""
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def word(record: Record, key: str) -> str:
    """Return a text of a record, or an empty one."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def prefix(name: str) -> str:
    """Return the name of a key or layer without its hash.

    >>> prefix("random_sample-0a1b2c3d4e5f60718293a4b5c6d7e8f9")
    'random_sample'
    >>> prefix("('sum-aggregate-0a1b2c3d4e5f60718293a4b5c6d7e8f9', 0, 1)")
    'sum-aggregate'
    """
    return _HASH.sub("", name.lstrip("('\"")) or name


def graph_bytes(trace: Trace) -> int | None:
    """Return the bytes of all graphs as they were sent."""
    seen = total(row.size_bytes for row in rows_of(trace, "dask.serialize"))
    computations = records(trace, "dask.computations")
    return total(whole(entry, "graph_bytes") for entry in computations) if seen is None else seen


def dispatched_bytes(trace: Trace) -> int | None:
    """Return the bytes of all task specifications that left the scheduler."""
    seen = total(row.size_bytes for row in rows_of(trace, _ENCODING))
    computations = records(trace, "dask.computations")
    if seen is not None:
        return seen
    return total(whole(entry, "dispatched_bytes") for entry in computations)


def task_count(trace: Trace) -> int | None:
    """Return how many tasks ran, by the table; else how many the scheduler took in."""
    counts = total(whole(entry, "count") for entry in records(trace, "dask.tasks"))
    if counts is None:
        counts = total(number(span, "tasks") for _, span in indexed(trace, _SCHEDULING))
    return counts


def compute_ns(trace: Trace) -> int | None:
    """Return how long all tasks computed, by the table; else by the spans of workers."""
    totals = total(whole(entry, "compute_total") for entry in records(trace, "dask.tasks"))
    return (
        total(row.busy_ns for row in rows_of(trace, "dask.execute")) if totals is None else totals
    )


def scheduling_rows(trace: Trace) -> Iterator[Row]:
    """Yield the rows of the scheduler's own work on tasks."""
    for row in trace.waterfall.rows if trace.waterfall else ():
        if row.stage == _SCHEDULING or stage(row.stage).parent == _SCHEDULING:
            yield row


def scheduling_ns(trace: Trace) -> int:
    """Return how long the scheduler worked on tasks: graph, states, transitions, dispatch."""
    encoding = sum(row.busy_ns for row in rows_of(trace, _ENCODING))
    return sum(row.busy_ns for row in scheduling_rows(trace)) + encoding


def workers(trace: Trace) -> Workers:
    """Return the worker threads of a cluster and how long they computed; 0 where no task ran."""
    seen = {span.lane for _, span in indexed(trace, "dask.execute")}
    idle = (lane.key for lane in trace.lanes if lane.kind == "worker" and _THREAD in lane.key)
    lanes = set(idle) if seen else set()
    busy_ns = sum(row.busy_ns for row in rows_of(trace, "dask.execute"))
    return Workers(len(lanes | seen), busy_ns)


def computation_of(trace: Trace, span: Span) -> str:
    """Return the name of the computation that a span belongs to; empty where nobody knows."""
    at = number(span, "computation")
    return "" if at is None else computation_name(trace, at)


def computation_name(trace: Trace, index: int) -> str:
    """Return the name of a computation, with its number where there are several."""
    names = [word(entry, "computation") for entry in records(trace, "dask.computations")]
    if len(trace.groups) == len(names) > 1:
        names = [group.title for group in trace.groups]
    return names[index] if 0 <= index < len(names) else ""


def spans_of(trace: Trace, *keys: str, computation: int | None = None) -> tuple[int, ...]:
    """Return where the spans of some stages are, of one computation or of all."""
    return tuple(
        index
        for index, span in enumerate(trace.spans)
        if span.stage in keys and computation in {None, number(span, "computation")}
    )
