"""The document of a sweep over chunk sizes, and the runs of each size, cold and warm."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.findings.dask_facts import graph_bytes, task_count, workers
from jupyter_serprof.experiments.chunks.best import ChunkFacts, Recommendation, recommend
from jupyter_serprof.experiments.chunks.look import ChunkLook, ChunkSubject
from jupyter_serprof.experiments.chunks.words import best_size, chunk_finding, summarize_chunks
from jupyter_serprof.experiments.engine.document import lean_traces, sweep_findings
from jupyter_serprof.experiments.engine.passes import SweepRecord, apart
from jupyter_serprof.experiments.engine.runs import Runs, median_trace, thin_trace
from jupyter_serprof.model import Finding, Summary, Sweep, SweepTrace, Trace, Variant
from jupyter_serprof.model.units import counted_in_each

#: The one way that is measured.
KEY = "dask"
#: Spans of a recording and pieces of a row that are kept, the longest: a document holds
#: one for each size. Rows and tables are exact.
MOST_SPANS, MOST_PIECES = 200, 12


@dataclass(slots=True, kw_only=True)
class ChunkCell(Runs):
    """What was measured of one chunk size.

    ``took_s``: The latest run with all around it.
    """

    key: str = KEY
    look: ChunkLook = field(default_factory=ChunkLook)
    busy: list[float] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def count(self) -> int | None:
        """Tasks of the graph, else chunks: what the time of a run grows with."""
        return self.look.chunks if self.look.tasks is None else self.look.tasks

    def take(self, trace: Trace, **told: int | None) -> None:
        """Take a run; the first one is the cold one."""
        if not self.points:
            self.size_bytes = self.look.chunk_bytes
        threads, busy_ns = workers(trace)
        if self.cold and threads and trace.wall_ns:
            self.busy.append(min(1.0, busy_ns / (threads * trace.wall_ns)))
        Runs.take(self, trace, moved_bytes=graph_bytes(trace), **told)

    def kept(self, trace: Trace) -> Trace:
        """Return a recording with its longest spans."""
        return thin_trace(trace, spans=MOST_SPANS, pieces=MOST_PIECES)

    @property
    def facts(self) -> ChunkFacts:
        """What is known of this size."""
        trace = median_trace(self.warm) or self.cold
        ran = task_count(trace) if trace else None
        return ChunkFacts(
            self.parameter,
            self.size_bytes,
            self.look.chunks,
            self.look.tasks if ran is None else ran,
            statistics.median(self.busy) if self.busy else None,
        )

    @property
    def shown(self) -> tuple[SweepTrace, ...]:
        """The warm recording in the middle; the cold one where there is no other yet."""
        warm = median_trace(self.warm)
        trace = warm or self.cold
        return (SweepTrace(KEY, self.size_bytes, warm is None, trace),) if trace else ()


@dataclass(slots=True, kw_only=True)
class ChunkRecord(SweepRecord[ChunkCell]):
    """Everything that a sweep over chunk sizes knows so far.

    ``title``: What is done with each collection: persisted or computed.
    """

    subject: ChunkSubject
    title: str

    def document(self, *, waiting: str) -> Sweep:
        """Return the sweep so far, with what it recommends."""
        cells = [self.cells[at] for at in sorted(self.cells)]
        sweep = self.made("chunks", [self._variant(cells, waiting)], cells)
        found = recommend(sweep.points, [cell.facts for cell in cells if cell.points])
        findings, summary = self._findings(sweep, found), self._summary(found, cells)
        sweep = replace(sweep, findings=findings, summary=summary, best=best_size(found))
        sizes = [cell.points[0].size_bytes for cell in cells if cell.points]
        are_placed = None not in sizes[1:] and len(set(sizes)) == len(sizes)
        return lean_traces(sweep if are_placed else apart(sweep, cells, self.subject.parameter))

    def _findings(self, sweep: Sweep, found: Recommendation | None) -> tuple[Finding, ...]:
        if found is None:
            return ()
        subject, best = self.subject, self.cells[KEY, found.sizes[found.best].parameter]
        own = chunk_finding(found, subject.parameter, subject.code, subject.remedy)
        at_best = replace(sweep, traces=best.shown if found.is_told else ())
        return (own, *sweep_findings(at_best))

    def _summary(self, found: Recommendation | None, cells: Sequence[ChunkCell]) -> Summary:
        counts = [len(cell.points) - 1 for cell in cells if cell.points]
        facts = []
        if any(counts):
            facts.append(
                f"{counted_in_each(counts, 'warm run')} of each size, the first one apart; later "
                f"passes in shuffled order (seed {self.seed})"
            )
        sizes = sum(count > 0 for count in counts) if counts else None
        return summarize_chunks(self.subject.name, self.subject.parameter, found, facts, sizes)

    def _variant(self, cells: Sequence[ChunkCell], waiting: str) -> Variant:
        plain = Variant(KEY, self.title)
        if not any(cell.points for cell in cells):
            reasons = [cell.failed for cell in cells if cell.failed]
            state = "failed" if reasons else "skipped"
            return replace(plain, state=state, reason=next(iter(reasons), waiting))
        return replace(plain, notes=tuple(self.problems(cells)))

    def label(self, parameter: float) -> str:
        """Return what was asked for."""
        return f"{self.parameter} = {parameter:g}"
