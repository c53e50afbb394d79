"""The document of a sweep over sizes, from whatever was measured until now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.ranking import with_ranking
from jupyter_serprof.analysis.sizes.words import summarize_growth
from jupyter_serprof.experiments.engine.document import (
    grouped,
    lean_traces,
    made_here,
    problems,
    row_of_one,
    with_findings,
)
from jupyter_serprof.experiments.engine.words import drift_note, sweep_findings
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.experiments.sizes.cells import Cell
from jupyter_serprof.model import Sweep, Trace, Variant
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import format_bytes, plain


@dataclass(slots=True)
class SizeRecord:
    """Everything that a sweep knows so far.

    Attributes
    ----------
    parameters
        The sizes that were asked for, in increasing order.
    sizes
        The real size of each that was made.
    left_out
        Why a size has no points at all.
    absent
        The variants that cannot run here.
    notes
        Sentences about the whole sweep.
    """

    name: str
    parameter: str
    parameters: tuple[float, ...]
    seed: int
    transports: list[Transport] = field(default_factory=list)
    holdout: float | None = None
    cells: dict[tuple[str, float], Cell] = field(default_factory=dict)
    sizes: dict[float, int | None] = field(default_factory=dict)
    left_out: dict[float, str] = field(default_factory=dict)
    absent: dict[str, Variant] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    latest: Trace | None = None

    @property
    def point_count(self) -> int:
        """How many points there are."""
        return sum(len(cell.points) for cell in self.cells.values())

    def document(self, *, has_lines: bool = True, waiting: str = "waits for its turn") -> Sweep:
        """Return the sweep so far; without lines and crossovers while it grows."""
        sweep = Sweep(
            name=self.name,
            started="",
            kind="sweep",
            parameter=self.parameter,
            variants=tuple(self._variant(transport, waiting) for transport in self.transports),
            points=tuple(point for cell in self._ordered() for point in cell.points),
            traces=tuple(entry for cell in self._ordered() for entry in cell.shown),
            environment={"seed": self.seed},
        )
        sweep = made_here(sweep, self.latest, self._said())
        sweep = self._apart(sweep)
        if not has_lines:
            return _bare(sweep)
        held = None if self.holdout is None else self.sizes.get(self.holdout)
        return with_findings(sweep, summarize_growth, holdout_bytes=held)

    def _apart(self, sweep: Sweep) -> Sweep:
        """Give each size of code a row of its own where nobody saw bytes: no median is of many."""
        cells = self._ordered()
        if len(self.transports) > 1 or any(p.size_bytes is not None for p in sweep.points):
            return sweep
        if len({point.parameter for point in sweep.points}) <= 1:
            return sweep
        (transport,) = self.transports
        keys = [f"{cell.key}-{cell.parameter:g}" for cell in cells]
        return replace(
            sweep,
            variants=tuple(
                row_of_one(
                    key, f"{transport.title}, {self.parameter} = {plain(cell.parameter)}", cell
                )
                for key, cell in zip(keys, cells, strict=True)
            ),
            points=tuple(
                replace(point, variant=key)
                for key, cell in zip(keys, cells, strict=True)
                for point in cell.points
            ),
            traces=tuple(
                replace(entry, variant=key)
                for key, cell in zip(keys, cells, strict=True)
                for entry in cell.shown
            ),
        )

    def _ordered(self) -> list[Cell]:
        keys = [transport.key for transport in self.transports]
        return sorted(self.cells.values(), key=lambda cell: (keys.index(cell.key), cell.parameter))

    def _said(self) -> list[str]:
        # Stores of other processes warm up slowly: that is no change of the machine.
        here = [cell for cell in self.cells.values() if not cell.key.startswith(("ray", "dask"))]
        drift = drift_note([point for cell in here for point in cell.points])
        notes = [*self.notes.values(), *([drift] if drift else [])]
        return [*notes, *grouped(self.left_out, self._label)]

    def _label(self, parameter: float) -> str:
        size = self.sizes.get(parameter)
        return f"{self.parameter}={parameter:g}" if size is None else format_bytes(size)

    def _variant(self, transport: Transport, waiting: str) -> Variant:
        if transport.key in self.absent:
            return self.absent[transport.key]
        own = [cell for cell in self._ordered() if cell.key == transport.key]
        notes = [self.started.get(transport.key, ""), *problems(own, self._label)]
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
        """Say what came back otherwise than it went, and where another kind of result did."""
        last = str(cells[-1].checked["result"]) if cells else ""
        other = {cell.parameter: str(cell.checked["result"]) for cell in cells}
        others = {at: result for at, result in other.items() if result != last}
        unequal = {
            cell.parameter: "what comes back is not equal to what was sent"
            for cell in cells
            if cell.checked["equal"] is False
        }
        changed = [line for cell in cells for line in str(cell.checked["notes"]).splitlines()]
        return [*grouped(others, self._label), *grouped(unequal, self._label), *changed]


def _facts(cells: Sequence[Cell]) -> dict[str, Scalar]:
    """Return whether all results were equal (None: not told), and the type of the largest one.

    What shares memory at any size takes part in no ranking: its largest share stands for all.
    """
    equal = [cell.checked["equal"] for cell in cells]
    if not equal:
        return {}
    verdict = False if False in equal else None if None in equal else True
    shares = [cell.checked["shared_share"] for cell in cells]
    return {
        "equal": verdict,
        "type": str(cells[-1].checked["type"]),
        "shared_share": max((each for each in shares if isinstance(each, float)), default=None),
        "has_buffers": any(cell.checked["has_buffers"] is not False for cell in cells),
    }


def _bare(sweep: Sweep) -> Sweep:
    """Return what is shown while it grows: lines are fitted at the end, they take a while."""
    found = lean_traces(replace(with_ranking(sweep), findings=sweep_findings(sweep)))
    return replace(found, summary=summarize_growth(found))
