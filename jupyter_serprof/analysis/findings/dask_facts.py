"""What is asked of a Dask trace: tables by column, bytes, tasks, workers, and what it computed."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jupyter_serprof.analysis.spans import indexed, number, rows_of, total, whole, word
from jupyter_serprof.model import Row, Span, Sweep, Trace, stage
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import counted, first_of, format_count

Record = Mapping[str, Scalar]
_SCHEDULING = "dask.schedule"
#: In the lanes of worker threads; a worker has other lanes too: its event loop, its disk.
_THREAD, _ENCODING = "/thread ", "dask.dispatch.encode"
#: What is paid for each task, beside its own work.
OF_EACH_TASK = (
    *("dask.schedule", "dask.queue", "dask.report", "dask.worker"),
    *("dask.optimize", "dask.materialize"),
)
#: Computations of futures.
_FUTURES = frozenset({"submit", "map"})
#: What makes the partitions of a data frame, as Dask names its tasks.
_BAGS = ("from_sequence", "bag-", "read-text", "foldbinop")
_SOURCES = ("frompandas", "readcsv", "readparquet", "frommap")
#: Classes of dask.dataframe whose methods make steps.
_FRAMES = ("DataFrame.", "FrameBase.", "GroupBy.", "Series.")
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
    return _seen_bytes(trace, "dask.serialize", "graph_bytes")


def dispatched_bytes(trace: Trace) -> int | None:
    """Return the bytes of all task specifications that left the scheduler."""
    return _seen_bytes(trace, _ENCODING, "dispatched_bytes")


def _seen_bytes(trace: Trace, key: str, column: str) -> int | None:
    """Return the bytes of a stage; where it was not seen, those of a column of computations."""
    seen = total(row.size_bytes for row in rows_of(trace, key))
    computations = records(trace, "dask.computations")
    return total(whole(entry, column) for entry in computations) if seen is None else seen


def task_count(trace: Trace) -> int | None:
    """Return how many tasks ran, by the table; else how many the scheduler took in."""
    counts = total(whole(entry, "count") for entry in records(trace, "dask.tasks"))
    if counts is None:
        counts = total(number(span, "tasks") for _, span in indexed(trace, _SCHEDULING))
    return counts


def has_partitions(trace: Trace) -> bool:
    """Tell whether data frames or bags are computed, which have partitions in place of chunks."""
    names = (word(entry, "prefix") for entry in records(trace, "dask.tasks"))
    return any(is_source(name) or name.startswith(_BAGS) for name in names)


def is_source(name: str) -> bool:
    """Tell whether a task makes partitions of a data frame, by the name that Dask gives it."""
    return name.replace("_", "").replace("-", "").startswith(_SOURCES)


def is_of_calls(trace: Trace) -> bool:
    """Tell whether a layer was made for each task, as `dask.delayed` does."""
    layers = sum(number(span, "layers") or 0 for _, span in indexed(trace, "dask.serialize"))
    return 2 * layers >= (task_count(trace) or math.inf)


def is_of_futures(trace: Trace) -> bool:
    """Tell whether all tasks are calls of `submit` and `map`."""
    kinds = {word(entry, "kind") for entry in records(trace, "dask.computations")}
    return bool(kinds) and kinds <= _FUTURES


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
    # The scheduler knows of the idle ones; where it did not tell, those count that did anything.
    seen = {span.lane for _, span in indexed(trace, "dask.execute")}
    told = (number(span, "threads") for _, span in indexed(trace, "dask.submit")) if seen else ()
    idle = (lane.key for lane in trace.lanes if lane.kind == "worker" and _THREAD in lane.key)
    lanes = set(idle) if seen else set()
    busy_ns = sum(row.busy_ns for row in rows_of(trace, "dask.execute"))
    return Workers(max(len(lanes | seen), *(count or 0 for count in told), 0), busy_ns)


def computation_of(trace: Trace, span: Span) -> str:
    """Return the name of the computation of a span, with its number if there are several, or ""."""
    at = number(span, "computation")
    names = [word(entry, "computation") for entry in records(trace, "dask.computations")]
    if len(trace.groups) == len(names) > 1:
        names = [group.title for group in trace.groups]
    return names[at] if at is not None and 0 <= at < len(names) else ""


def spans_of(trace: Trace, *keys: str, computation: int | None = None) -> tuple[int, ...]:
    """Return where the spans of some stages are, of one computation or of all."""
    return tuple(
        index
        for index, span in enumerate(trace.spans)
        if span.stage in keys and computation in {None, number(span, "computation")}
    )


#: What Dask adds where results are gathered.
_GATHERING, _MOST_NAMED = frozenset({"finalize", "hlgfinalizecompute"}), 4


def is_of_dask(document: Trace | Sweep) -> bool:
    """Tell whether a stage of Dask is in a document."""
    found = {key for point in getattr(document, "points", ()) for key in point.stages}
    for trace in _traces(document):
        found.update(row.stage for row in (trace.waterfall.rows if trace.waterfall else ()))
        found.update(span.stage for span in trace.spans)
    return any(key.startswith("dask.") for key in found)


def _traces(document: Trace | Sweep) -> list[Trace]:
    return [document] if isinstance(document, Trace) else [one.trace for one in document.traces]


def graph_notes(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    """Yield sentences about what else is different between two runs of one computation."""
    nothing = Trace(name="", started="", wall_ns=0)
    # The last one is a warm run where there is one: the first may have found less, or more.
    sides = [[nothing, *_traces(document)][-1] for document in (before, after)]
    first, second = map(task_count, sides)
    if first and second and first != second:
        counts = f"{format_count(first)} tasks before, {format_count(second)} after"
        yield f"the graph is another one: {counts}"
    one, other = map(_kinds, sides)
    if one and other and one != other:
        told = ((one - other, "only before"), (other - one, "only after"))
        said = [f"{first_of(sorted(names), _MOST_NAMED)} {when}" for names, when in told if names]
        yield f"kinds of tasks: {'; '.join(said)}"
    first, second = (len(records(trace, "dask.computations")) for trace in sides)
    if first and second and first != second:
        yield f"{counted(first, 'computation')} before, {second} after"
    places = [any(lane.kind == "worker" for lane in trace.lanes) for trace in sides]
    if places[0] != places[1]:
        where = ("in this process", "on a cluster")
        yield f"before ran {where[places[0]]}, after {where[places[1]]}: few stages are the same"


def _kinds(trace: Trace) -> set[str]:
    """Return the parts of the names of all tasks: ``sum-partial`` has two. Fusion joins names."""
    names = (prefix(word(entry, "prefix")) for entry in records(trace, "dask.tasks"))
    return {part for name in names for part in name.split("-") if part} - _GATHERING


def partitions(trace: Trace) -> tuple[int, float]:
    """Return how many partitions a data frame has: each has a task of most steps; and its bytes."""
    rows = [row for row in records(trace, "dask.tasks") if whole(row, "count")]
    cut = [row for row in rows if word(row, "prefix") == "repartitiondivisions"]
    made = cut or [row for row in rows if is_source(word(row, "prefix"))]
    if not made and any(s.name.startswith(_FRAMES) for _, s in indexed(trace, "dask.construct")):
        counts = Counter(row["count"] for row in rows)
        made = [row for row in rows if row["count"] == counts.most_common(1)[0][0]]
    largest = max(made, key=lambda row: whole(row, "result_bytes") or 0, default={})
    count = whole(largest, "count") or 0
    return count, (whole(largest, "result_bytes") or 0) / max(1, count)


def is_sorted(trace: Trace) -> bool:
    """Tell whether a computation sorts rows by an index, as `set_index` does."""
    return any(number(span, "sorts") for _, span in indexed(trace, "dask.submit"))
