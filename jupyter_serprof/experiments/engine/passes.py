"""A sweep in passes: the first one cold, later ones warm and in shuffled order."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.experiments.engine.document import made_here
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.order import PassPlan, Visit
from jupyter_serprof.experiments.engine.runs import Runs
from jupyter_serprof.model import Point, Sweep, SweepTrace, Trace, Variant
from jupyter_serprof.model.units import plain

Measured = TypeVar("Measured", bound=Runs)
#: Of more sizes than this the ends are named.
_FEW = 3


@dataclass(slots=True)
class SweepRecord(Generic[Measured]):
    """Everything that a sweep knows so far.

    ``parameters``: The sizes that were asked for, in the order of the first pass.
    ``cells``: The runs of each variant at each size.
    ``left_out``: Why a size has no points at all.
    ``notes``: Sentences about the whole sweep.
    ``error``: The first exception of the user's own code.
    """

    name: str
    parameter: str
    parameters: tuple[float, ...]
    seed: int
    cells: dict[tuple[str, float], Measured] = field(default_factory=dict)
    left_out: dict[float, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    latest: Trace | None = None
    error: Exception | None = None

    @property
    def point_count(self) -> int:
        """How many points there are."""
        return sum(len(cell.points) for cell in list(self.cells.values()))

    def open_keys(self) -> dict[float, list[str]]:
        """Return the variants that take further runs, by size."""
        keys: dict[float, list[str]] = {}
        for (key, parameter), cell in list(self.cells.items()):
            if cell.is_open and cell.points and parameter not in self.left_out:
                keys.setdefault(parameter, []).append(key)
        return keys

    def label(self, parameter: float) -> str:
        """Return what a size is called in a sentence."""
        return f"{self.parameter}={parameter:g}"

    def problems(self, cells: Sequence[Runs]) -> list[str]:
        """Say what failed and what was skipped, each reason once."""
        failed = {cell.parameter: cell.failed for cell in cells if cell.failed}
        skipped = {cell.parameter: cell.skipped for cell in cells if cell.skipped}
        return [*(f"failed at {said}" for said in self.grouped(failed)), *self.grouped(skipped)]

    def grouped(self, reasons: Mapping[float, str]) -> list[str]:
        """Return each reason once, behind all the sizes that it stands for."""
        sizes: dict[str, dict[str, None]] = {}
        for parameter in sorted(reasons):
            sizes.setdefault(reasons[parameter], {})[self.label(parameter)] = None
        each = [*map(list, sizes.values())]
        said = [", ".join(n) if len(n) <= _FEW else f"{n[0]} to {n[-1]}" for n in each]
        return [f"{size}: {why}" for size, why in zip(said, sizes, strict=True)]

    def made(self, kind: str, variants: Iterable[Variant], cells: Sequence[Runs]) -> Sweep:
        """Return a document of cells, and of when and where it was made."""
        sweep = Sweep(
            name=self.name,
            started="",
            kind=kind,
            parameter=self.parameter,
            variants=tuple(variants),
            points=tuple(point for cell in cells for point in cell.points),
            traces=tuple(entry for cell in cells for entry in cell.shown),
            environment={"seed": self.seed},
        )
        return made_here(sweep, self.latest, [*self.notes.values(), *self.grouped(self.left_out)])


def apart(sweep: Sweep, cells: Sequence[Runs], title: str) -> Sweep:
    """Give each size a row of its own: what has no place on one axis must not be one median.

    ``title``: What a row is called before its value, e.g. the name of the parameter.
    """
    variants, points, traces = list[Variant](), list[Point](), list[SweepTrace]()
    for cell in cells:
        key = f"{cell.key}-{cell.parameter:g}"
        variants.append(_row_of_one(key, f"{title} = {plain(cell.parameter)}", cell))
        points += (replace(point, variant=key, size_bytes=None) for point in cell.points)
        traces += (replace(entry, variant=key, size_bytes=None) for entry in cell.shown)
    return replace(sweep, variants=tuple(variants), points=tuple(points), traces=tuple(traces))


def _row_of_one(key: str, title: str, cell: Runs) -> Variant:
    if cell.points:
        return Variant(key, title, notes=tuple(filter(None, (cell.failed, cell.skipped))))
    return Variant(key, title, "failed" if cell.failed else "skipped", cell.failed or cell.skipped)


def sum_known(costs: Sequence[float | None]) -> float | None:
    """Return what steps will take together, as far as that is known; None if nothing is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known or not costs else None


class PassSweep:
    """A sweep in passes over sizes. An `Experiment`.

    ``passes``: How many passes there are, and for how long.
    """

    def __init__(self, record: SweepRecord[Any], passes: PassPlan, keys: Iterable[str]) -> None:
        self._record, self._passes, self._keys = record, passes, list(keys)
        self._visits: deque[Visit] = deque()

    def _first_pass(self) -> deque[Visit]:
        raise NotImplementedError

    def _visit(self, visit: Visit) -> Steps:
        raise NotImplementedError

    def _visits_s(self, visits: Sequence[Visit]) -> float | None:
        """Return what visits will take together; None if unknown."""
        raise NotImplementedError

    def _end_first_pass(self) -> None:
        """Look at what the first pass gave."""

    @property
    def _bound(self) -> str:
        """Up to which size the memory reaches, in words; "" where unknown."""
        return ""

    def steps(self) -> Steps:
        """Measure what is left, and yield after each run.

        Raises ``Exception``: What the user's own code raised, where it raised for every size.
        """
        __tracebackhide__ = True
        yield from self._passes.steps(self._run_all)
        if self._record.error and not self._record.point_count:
            raise self._record.error

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to run."""
        has_visits = any(visit.keys for visit in list(self._visits))
        return self._passes.number >= 0 and not has_visits and not self._wants_pass()

    @property
    def progress(self) -> Progress:
        """How far it is; may be asked at any time, also from another thread."""
        passes, budget, number = self._passes, self._passes.budget, max(0, self._passes.number)
        visits, again = self._planned()
        runs, more = (sum(len(visit.keys) for visit in each) for each in (visits, again))
        left = 0 if self.is_done else runs + more * (passes.most - number)
        spent_s, once_s = self._visits_s(visits) or 0.0, self._visits_s(again) or 0.0
        count = passes.left_after(spent_s, once_s)
        all_s = spent_s + count * once_s
        done, bound, out = self._record.point_count, self._bound, len(self._record.left_out)
        what = f"{out} of {len(self._record.parameters)} sizes left out" * bool(left and out)
        if not number:  # Of sizes that were not measured yet only the least is known.
            return Progress(done, left, None, bound, is_alike=False, what=what)
        if left and (number + count < passes.most or all_s > budget.left_s):
            what = budget.what
        return Progress(done, left, min(all_s, budget.left_s), bound, is_alike=False, what=what)

    def _run_all(self) -> Steps:
        __tracebackhide__ = True
        passes, record = self._passes, self._record
        if passes.number < 0:
            # Measured once in a process: it is not the cost of the first size.
            measure_limits()
            self._visits = self._first_pass()
            passes.number = 0
        while True:
            while self._visits:
                if self._visits[0].keys:
                    yield from self._visit(self._visits[0])
                self._visits.popleft()
            if passes.number == 0:
                self._end_first_pass()
            if not self._wants_pass():
                if passes.cut_short and record.open_keys():
                    record.notes["budget"] = passes.cut_short
                return
            passes.number += 1
            self._visits = self._warm_pass()

    def _warm_pass(self) -> deque[Visit]:
        """Plan a later pass: sizes and variants in shuffled order, so that drift is no growth."""
        used, sample = list(self._record.open_keys().items()), self._passes.draw.sample
        return deque(
            Visit(self._passes.number, at, sample(keys, len(keys)))
            for at, keys in sample(used, len(used))
        )

    def _wants_pass(self) -> bool:
        again = [Visit(0, at, keys) for at, keys in self._record.open_keys().items()]
        return bool(again) and self._passes.follows(lambda: self._visits_s(again) or 0.0)

    def _planned(self) -> tuple[list[Visit], list[Visit]]:
        if self._passes.number < 0:
            every = [Visit(0, at, self._keys) for at in self._record.parameters]
            return every, every
        visits = [Visit(v.number, v.parameter, list(v.keys)) for v in list(self._visits)]
        keys = self._record.open_keys()
        if self._passes.number == 0:
            for visit in visits:
                keys[visit.parameter] = [*keys.get(visit.parameter, ()), *visit.keys]
        return visits, [Visit(1, at, keys[at]) for at in keys]
