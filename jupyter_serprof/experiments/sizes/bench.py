"""The bench of a sweep: makes the value of a size, and runs one variant on it once more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jupyter_serprof.capture.machine import resident_bytes
from jupyter_serprof.experiments.engine.machine import MemoryGuard
from jupyter_serprof.experiments.engine.order import Budget, Costs, Visit, expected
from jupyter_serprof.experiments.engine.runs import bytes_written
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.experiments.roundtrip.trip import checked_result, pickled_bytes
from jupyter_serprof.experiments.sizes.document import Cell, SizeRecord, without_imports_s
from jupyter_serprof.model import Trace
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.objects.ask import size_bytes
from jupyter_serprof.objects.culprits import error_text, refusal_text
from jupyter_serprof.objects.equality import Witness

#: A row more or less is no other size.
_OTHER_SIZE = 0.15


class TimedCode(Transport):
    """Code that is timed as a whole: the size is handed over, nothing needs to come back."""

    key = "code"

    def __init__(self, call: Callable[[float], object], title: str) -> None:
        self._call = call
        # The title of a variant is its own here, not that of its class.
        self.title = title  # type: ignore[misc]

    def round_trip(self, value: object) -> object:
        """Run the code for one size; what it returns is dropped."""
        __tracebackhide__ = True
        self._call(value)  # type: ignore[arg-type]  # the sizes are numbers
        return None


def _known_bytes(value: object) -> int | None:
    """Return the payload; of containers, the pickle of which is their only size, None."""
    return None if isinstance(value, list | tuple | dict) else size_bytes(value)


@dataclass(slots=True)
class Bench:
    """Measures single steps and notes what they gave in ``known``.

    Attributes
    ----------
    first
        A recording of code that was made already: the cold run of the smallest size.
    """

    make: Callable[[float], object]
    ways: Mapping[str, Transport]
    known: SizeRecord
    budget: Budget
    guard: MemoryGuard
    detail: bool = False
    is_code: bool = False
    is_bytes: bool = False
    first: Trace | None = None
    costs: Costs = field(default_factory=Costs)

    # One size

    def open(self, visit: Visit) -> object:
        """Return the value of a size; without any keys left in the visit it is of no use.

        Too large, too long, an exception, as large as another one: then the visit ends here, and
        ``known`` says why.
        """
        __tracebackhide__ = True
        problem = self._too_much(visit.parameter)
        if problem:
            self._leave_out(visit, problem)
            return None
        try:
            value = self._made(visit.parameter)
        except Exception as error:  # noqa: BLE001  (one size fails, others go on)
            self.known.error = self.known.error or error
            self._leave_out(visit, f"making the value failed: {error_text(error)}")
            return None
        if visit.number == 0 and not self.is_code:
            self._place(visit)
        return value

    def _too_much(self, parameter: float) -> str:
        """Return why a size should not even be made."""
        sizes = {at: float(size) for at, size in self.known.sizes.items() if size}
        size = expected(sizes, parameter)
        if size is None and self.is_bytes:
            size = parameter
        if self.guard.problem(size):
            self.known.notes["bound"] = self.guard.bound
            return "left out for lack of memory"
        return self.budget.problem(self.costs.make_s(parameter))

    def _leave_out(self, visit: Visit, reason: str) -> None:
        """Skip a size: all of it in the first pass, later only what is left of it."""
        cells = [self.known.cells.get((key, visit.parameter)) for key in visit.keys]
        if not any(cell and cell.points for cell in cells):
            self.known.left_out[visit.parameter] = reason
        for cell in cells:
            if cell:
                cell.close(reason)
        visit.keys.clear()

    def _made(self, parameter: float) -> object:
        __tracebackhide__ = True
        if self.is_code:
            return parameter
        before, start_s = resident_bytes(), time.monotonic()
        value = self.make(parameter)
        self.costs.made_s[parameter] = time.monotonic() - start_s
        after, size = resident_bytes(), _known_bytes(value)
        if parameter not in self.known.sizes:
            self.known.sizes[parameter] = pickled_bytes(value) if size is None else size
        elif size not in (None, self.known.sizes[parameter]):
            self.known.notes["sizes"] = (
                "the same size gives another number of bytes each time; the first one is its place"
            )
        if before is not None and after is not None:
            self.guard.learn(self.known.sizes[parameter], after - before)
        return value

    def _place(self, visit: Visit) -> None:
        """Leave out a size whose value is as large as that of another one; note other sizes."""
        sizes, at = self.known.sizes, visit.parameter
        size = sizes[at]
        double = next((o for o in sizes if o != at and sizes[o] == size and size is not None), None)
        if double is not None:
            del sizes[at]
            self._leave_out(visit, f"as large as {self.known.parameter}={double:g}, measured once")
        elif self.is_bytes and size is not None and abs(size / at - 1) > _OTHER_SIZE:
            self.known.notes.setdefault(
                "asked",
                f"values are not as large as asked ({format_bytes(size)} for {format_bytes(at)}); "
                "the real size counts",
            )

    # One run

    def step(self, key: str, parameter: float, value: object) -> None:
        """Run a variant once more at a size, unless that would take too long or cannot work."""
        __tracebackhide__ = True
        cell = self.known.cells.get((key, parameter))
        if cell is None:
            cell = Cell(key=key, parameter=parameter, size_bytes=self.known.sizes.get(parameter))
        problem = self._problem(cell, value)
        if problem:
            cell.close(problem)
        else:
            try:
                self._run(cell, value)
            except Exception as error:  # noqa: BLE001  (one variant at one size fails, others go on)
                self.known.error = self.known.error or (error if self.is_code else None)
                cell.failed = self._why(cell, value, error)
        self.known.cells[key, parameter] = cell

    def _problem(self, cell: Cell, value: object) -> str:
        return (
            self.guard.store_problem(cell.key, cell.size_bytes)
            or self.budget.problem(self.costs.run_s(cell.key, cell.parameter))
            or ("" if cell.points else self.ways[cell.key].refuses(value))
        )

    def _run(self, cell: Cell, value: object) -> None:
        __tracebackhide__ = True
        way, start_s, is_cold = self.ways[cell.key], time.monotonic(), not cell.points
        if self.first is not None and is_cold:
            trace, self.first = self.first, None
            cell.take(trace)
        else:
            if is_cold:
                way.prepare(value)
            witness = Witness(value) if is_cold and not self.is_code else None
            trace, result = cell.run(way, value, detail=self.detail)
            if witness:
                cell.checked = checked_result(value, result, witness)
        self.known.latest = trace
        if self.is_code and is_cold:
            self.guard.learn_stages(cell.points[-1].stages)
        if is_cold and cell.size_bytes is None:
            self._settle(cell, trace)
        took_s = max(time.monotonic() - start_s, trace.wall_ns / 1e9)
        self.costs.note_run(cell.key, cell.parameter, without_imports_s(trace, took_s))

    def _settle(self, cell: Cell, trace: Trace) -> None:
        """Place code, or what pickle cannot measure, on the axis: by what its first run moved."""
        moved, sizes = bytes_written(trace)["total_bytes"], self.known.sizes
        double = next((at for at in sizes if sizes[at] == moved and moved is not None), None)
        if double is not None:
            cell.close_as_double(f"moves as many bytes as {self.known.parameter}={double:g}")
            return
        sizes[cell.parameter] = moved
        cell.settle(moved)
        if moved is None:
            self.known.notes["moved"] = (
                "nobody saw how many bytes moved: without sizes there are no lines"
            )

    def _why(self, cell: Cell, value: object, error: Exception) -> str:
        """Explain a failure; the search for culprits is made once for each transport."""
        if self.is_code or isinstance(error, MemoryError):
            return error_text(error)
        others = [o.failed for (key, _), o in self.known.cells.items() if key == cell.key]
        if any(others):
            return next(filter(None, others))
        takes_functions = self.ways[cell.key].takes_functions
        return refusal_text(value, self.known.name, error, takes_functions=takes_functions)
