"""One chunk size: its runs, cold and warm, and what they tell of it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.findings.dask_facts import (
    graph_bytes,
    records,
    task_count,
    whole,
    workers,
)
from jupyter_serprof.experiments.chunks.best import ChunkFacts
from jupyter_serprof.experiments.chunks.look import ChunkLook
from jupyter_serprof.experiments.engine.lean import thinned
from jupyter_serprof.experiments.engine.points import median_trace, point_of
from jupyter_serprof.model import Point, SweepTrace, Table, TableColumn, Trace

#: The one way that is measured.
KEY = "dask"
#: Of a recording so many spans are kept, the longest, and of a row so many pieces: a document holds
#: one for each size. Rows and tables are exact.
MOST_SPANS = 200
_COLUMNS = (
    TableColumn("parameter", "Asked for", "count"),
    TableColumn("chunk_bytes", "Median chunk", "bytes"),
    TableColumn("chunks", "Chunks", "count"),
    TableColumn("tasks", "Tasks that ran", "count"),
    TableColumn("graph_tasks", "Tasks before optimization", "count"),
    TableColumn("graph_bytes", "Graph", "bytes"),
)


@dataclass(slots=True)
class ChunkCell:
    """What was measured of one chunk size.

    Attributes
    ----------
    took_s
        The latest run with all around it.
    failed, skipped
        Why there are no further runs; empty otherwise.
    is_cut_anew
        What is measured ends with so many chunks of one collection.
    is_from_results
        The size of a chunk is that of what the tasks returned: nothing else tells it.
    """

    parameter: float
    is_cut_anew: bool = False
    look: ChunkLook = field(default_factory=ChunkLook)
    points: list[Point] = field(default_factory=list)
    cold: Trace | None = None
    warm: list[Trace] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    took_s: float = 0.0
    failed: str = ""
    skipped: str = ""
    is_from_results: bool = False
    _size_bytes: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether further runs may follow."""
        return not (self.failed or self.skipped)

    @property
    def count(self) -> int | None:
        """Tasks of the graph, else chunks: what the time of a run grows with."""
        return self.look.chunks if self.look.tasks is None else self.look.tasks

    def close(self, reason: str) -> None:
        """Take no further runs."""
        warm = len(self.points) - 1
        self.skipped = reason if warm < 0 else f"{warm} warm runs only: {reason}"

    def add(self, trace: Trace) -> None:
        """Take a run; the first one is the cold one."""
        if not self.points:
            self._settle(trace)
        point = point_of(KEY, self._size_bytes, len(self.points), trace)
        graph = graph_bytes(trace)
        self.points.append(replace(point, parameter=self.parameter, moved_bytes=graph))
        threads, busy_ns = workers(trace)
        if self.cold and threads and trace.wall_ns:
            self.busy.append(min(1.0, busy_ns / (threads * trace.wall_ns)))
        kept = thinned(replace(trace, tables=(self._table(trace), *trace.tables)), MOST_SPANS)
        if self.cold is None:
            self.cold = kept
        else:
            self.warm.append(kept)

    def _settle(self, trace: Trace) -> None:
        """Take the size of a chunk: from the collection, else from what its tasks returned."""
        self._size_bytes = self.look.chunk_bytes
        if self._size_bytes is None:
            self._size_bytes = _result_bytes(trace, self.look.chunks if self.is_cut_anew else None)
            self.is_from_results = self._size_bytes is not None

    def _table(self, trace: Trace) -> Table:
        row = (
            self.parameter,
            self._size_bytes,
            self.look.chunks,
            task_count(trace),
            self.look.tasks,
            graph_bytes(trace),
        )
        return Table("dask.chunks", "Chunks", _COLUMNS, (row,))

    @property
    def facts(self) -> ChunkFacts:
        """What is known of this size."""
        trace = median_trace(self.warm) or self.cold
        ran = task_count(trace) if trace else None
        return ChunkFacts(
            self.parameter,
            self._size_bytes,
            self.look.chunks,
            self.look.tasks if ran is None else ran,
            graph_bytes(trace) if trace else None,
            statistics.median(self.busy) if self.busy else None,
        )

    @property
    def shown(self) -> list[SweepTrace]:
        """The warm recording in the middle; the cold one where there is no other yet."""
        warm = median_trace(self.warm)
        trace = warm or self.cold
        return [SweepTrace(KEY, self._size_bytes, warm is None, trace)] if trace else []


def _result_bytes(trace: Trace, chunks: int | None) -> int | None:
    """Return the mean result of the kind of task whose results are the most bytes.

    A collection that is cut anew also has tasks of its former size: there the bytes are those of so
    many chunks.
    """
    sums = [
        (whole(entry, "result_bytes") or 0, whole(entry, "count") or 0)
        for entry in records(trace, "dask.tasks")
    ]
    total, count = max(sums, default=(0, 0))
    parts = chunks or count
    return round(total / parts) if total and parts else None
