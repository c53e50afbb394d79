"""What a sweep over sizes measured: a cell for each variant and size, and the document of all."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.ranking import with_ranking
from jupyter_serprof.analysis.sizes.words import summarize_growth
from jupyter_serprof.experiments.engine.document import lean_traces, sweep_findings, with_findings
from jupyter_serprof.experiments.engine.passes import SweepRecord, apart
from jupyter_serprof.experiments.engine.runs import thin_trace
from jupyter_serprof.experiments.roundtrip.transport import Transport, TransportRuns
from jupyter_serprof.model import Sweep, Trace, Variant
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import format_bytes

#: What is kept of a recording: a sweep has a hundred. The waterfall is stored, so no total changes.
_MOST_SPANS, _MOST_PIECES, _DIGITS = 12, 8, 4


@dataclass(slots=True, kw_only=True)
class Cell(TransportRuns):
    """What was measured of one variant at one size."""

    def kept(self, trace: Trace) -> Trace:
        """Return a recording with its longest spans, and nothing that says no more."""
        summary = trace.summary
        if summary:
            strict, total = (
                None if share is None else round(share, _DIGITS)
                for share in (summary.strict_share, summary.total_share)
            )
            summary = replace(summary, strict_share=strict, total_share=total)
        thin = thin_trace(trace, spans=_MOST_SPANS, pieces=_MOST_PIECES)
        return replace(thin, summary=summary, producer="")

    def settle(self, size_bytes: int | None) -> None:
        """Take the size, where only the first run told it."""
        self.size_bytes = size_bytes
        self.points = [replace(point, size_bytes=size_bytes) for point in self.points]

    def close_as_double(self, reason: str) -> None:
        """Forget what was measured: another cell has the same place."""
        self.points.clear()
        self.cold, self.skipped = None, reason


def without_imports_s(trace: Trace, took_s: float) -> float:
    """Return what a run would have taken without the imports that only the first one needs."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    imports_ns = sum(row.self_ns for row in rows if row.stage == "import")
    return max(0.0, took_s - imports_ns / 1e9)


@dataclass(slots=True)
class SizeRecord(SweepRecord[Cell]):
    """Everything that a sweep knows so far.

    ``sizes``: The real size of each that was made.
    ``absent``: The variants that cannot run here.
    """

    transports: Sequence[Transport] = ()
    sizes: dict[float, int | None] = field(default_factory=dict)
    absent: dict[str, Variant] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)

    def document(self, *, has_lines: bool = True, waiting: str = "waits for its turn") -> Sweep:
        """Return the sweep so far; without lines and crossovers while it grows."""
        cells = self._ordered()
        variants = (self._variant(transport, waiting) for transport in self.transports)
        sweep = self.made("sweep", variants, cells)
        if self._has_no_axis(sweep):
            sweep = apart(sweep, cells, f"{self.transports[0].title}, {self.parameter}")
        if has_lines:
            return with_findings(sweep, summarize_growth)
        # While it grows: lines are fitted at the end, they take a while.
        found = lean_traces(replace(with_ranking(sweep), findings=sweep_findings(sweep)))
        return replace(found, summary=summarize_growth(found))

    def _has_no_axis(self, sweep: Sweep) -> bool:
        """Tell whether the bytes of sizes of code were not seen: no median is of many."""
        has_bytes = any(point.size_bytes is not None for point in sweep.points)
        sizes = {point.parameter for point in sweep.points}
        return len(self.transports) == 1 and not has_bytes and len(sizes) > 1

    def _ordered(self) -> list[Cell]:
        keys = [transport.key for transport in self.transports]
        return sorted(self.cells.values(), key=lambda cell: (keys.index(cell.key), cell.parameter))

    def label(self, parameter: float) -> str:
        """Return its bytes; what was asked for where those are unknown."""
        size = self.sizes.get(parameter)
        return f"{self.parameter}={parameter:g}" if size is None else format_bytes(size)

    def _variant(self, transport: Transport, waiting: str) -> Variant:
        if transport.key in self.absent:
            return self.absent[transport.key]
        own = [cell for cell in self._ordered() if cell.key == transport.key]
        notes = [self.started.get(transport.key, ""), *self.problems(own)]
        plain = Variant(transport.key, transport.title)
        if not any(cell.points for cell in own):
            reasons = [("failed", cell.failed) for cell in own if cell.failed]
            reasons += [("skipped", cell.skipped) for cell in own if cell.skipped]
            if len(self.left_out) == len(self.parameters):
                reasons += [("skipped", why) for why in self.left_out.values()]
            state, reason = (reasons or [("skipped", waiting)])[0]
            return replace(plain, state=state, reason=reason, notes=tuple(filter(None, notes[:1])))
        told = [cell for cell in own if cell.checked]
        return replace(
            plain,
            result=str(told[-1].checked["result"]) if told else "",
            facts=_facts(told),
            notes=tuple(dict.fromkeys(filter(None, [*notes, *self._results(told)]))),
        )

    def _results(self, cells: Sequence[Cell]) -> list[str]:
        last = str(cells[-1].checked["result"]) if cells else ""
        other = {cell.parameter: str(cell.checked["result"]) for cell in cells}
        others = {at: result for at, result in other.items() if result != last}
        unequal = {
            cell.parameter: "what comes back is not equal to what was sent"
            for cell in cells
            if cell.checked["equal"] is False
        }
        changed = [line for cell in cells for line in str(cell.checked["notes"]).splitlines()]
        return [*self.grouped(others), *self.grouped(unequal), *changed]


def _facts(cells: Sequence[Cell]) -> dict[str, Scalar]:
    """Return whether all results were equal (None: not told), and the type of the largest one."""
    # What shares memory at any size takes part in no ranking: its largest share stands for all.
    equal = [cell.checked["equal"] for cell in cells]
    if not equal:
        return {}
    verdict = False if False in equal else None if None in equal else True
    shares = [cell.checked["shared_share"] for cell in cells]
    # None: there was no time to look.
    buffers = {cell.checked["has_buffers"] for cell in cells} - {None}
    return {
        "equal": verdict,
        "type": str(cells[-1].checked["type"]),
        "shared_share": max((each for each in shares if isinstance(each, float)), default=None),
        "has_buffers": any(buffers) if buffers else None,
    }
