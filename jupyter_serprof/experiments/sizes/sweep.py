"""The sweep: the same over many sizes."""

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from jupyter_serprof.capture.machine import resident_bytes
from jupyter_serprof.experiments.engine.experiment import Steps
from jupyter_serprof.experiments.engine.machine import MemoryGuard
from jupyter_serprof.experiments.engine.order import Visit, checked_sizes, expected, passes_of
from jupyter_serprof.experiments.engine.passes import PassSweep, sum_known
from jupyter_serprof.experiments.engine.runs import bytes_written
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.experiments.roundtrip.trip import checked_result, chosen_transports, is_all
from jupyter_serprof.experiments.sizes.document import Cell, SizeRecord, without_imports_s
from jupyter_serprof.model import Sweep, Trace, UsageError, Variant
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.objects.ask import size_bytes
from jupyter_serprof.objects.culprits import error_text, refusal_text
from jupyter_serprof.objects.equality import Witness
from jupyter_serprof.objects.picklers import CountingFile

#: What is not measured yet costs at most so much per unit (byte, element): the slowest of the
#: usual ones takes half of it (facts of `joblib` on lists of dicts: 185 ns a byte, in memory).
_SLOWEST_S = 100e-9
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


def _pickled_bytes(value: object) -> int | None:
    """Return the length of the pickle of a value, which is not made; None if pickle refuses."""
    count = CountingFile()
    try:
        pickle.Pickler(count, protocol=5).dump(value)
    except Exception:  # noqa: BLE001  (the transports will say why)
        return None
    return count.size_bytes


class SizeSweep(PassSweep):
    """A sweep over sizes: the same, and how it grows. An `Experiment`.

    ``make``, ``sizes``, ``transports``, ``repeat``, ``budget_s``, ``name``, ``parameter``,
        ``detail``, ``seed``: As of `jupyter_serprof.sweep`; the sizes in any order.
    ``code``: Measure ``make(size)`` itself, as one variant ``code``; then without ``transports``.
    ``first``: A recording of code at the smallest size that was made already.
    ``is_bytes``: Sizes are bytes: then the memory guard knows the first size before it is made.

    Transports are shuffled within a size, too. The value is made anew in each visit and dropped
    before the next one. Runs below 0.2 ms are measured several at a time.
    """

    _record: SizeRecord

    def __init__(  # noqa: PLR0913  (keywords of sp.sweep)
        self,
        make: Callable[[float], object],
        sizes: Iterable[float],
        *,
        name: str = "value",
        parameter: str = "n",
        transports: Sequence[str] | None = None,
        repeat: int | None = None,
        budget_s: float | None = None,
        detail: bool = False,
        seed: int | None = None,
        code: bool = False,
        first: Trace | None = None,
        is_bytes: bool = False,
    ) -> None:
        passes = passes_of(repeat, budget_s, seed)
        self._asked = transports is not None and not is_all(transports)
        if code and transports is not None:
            message = "transports are for values; code that serializes by itself is timed as it is"
            raise UsageError(message)
        ways = [TimedCode(make, name)] if code else chosen_transports(transports)
        parameters = checked_sizes(sizes)
        self._ways = {way.key: way for way in ways}
        record = SizeRecord(name, parameter, parameters, passes.seed, transports=ways)
        super().__init__(record, passes, self._ways)
        self._guard = MemoryGuard(tuple(self._ways))
        self._make, self._detail = make, detail
        self._is_code, self._is_bytes = code, is_bytes
        self._first = first
        #: Seconds that making the value of a size took, and running a variant on it.
        self._made_s: dict[float, float] = {}
        self._ran_s: dict[str, dict[float, float]] = {}

    @property
    def document(self) -> Sweep:
        """What was measured so far; with fitted lines and crossovers where it does not run."""
        if self._passes.is_running:
            return self._record.document(has_lines=False)
        return self._record.document(waiting="stopped before its turn")

    @property
    def _bound(self) -> str:
        return self._guard.bound

    def _visits_s(self, visits: Sequence[Visit]) -> float | None:
        steps = list[float | None]()
        for visit in visits:
            steps.append(self._cost_s(self._made_s, visit.parameter))
            steps += [self._cost_s(self._ran_s.get(key, {}), visit.parameter) for key in visit.keys]
        return sum_known(steps)

    def _cost_s(self, known: Mapping[float, float], parameter: float) -> float | None:
        """Return what a step will take; None if unknown."""
        return expected(known, parameter, slowest=_SLOWEST_S)

    def _first_pass(self) -> deque[Visit]:
        """See who can run, and plan the first pass: small sizes first, the variants shuffled."""
        for key, way in self._ways.items():
            self._record.started[key] = way.start() if self._asked else ""
            state, reason = way.state()
            if state != "ok":
                self._record.absent[key] = Variant(key, way.title, state, reason)
        able = [key for key in self._ways if key not in self._record.absent]
        self._guard.keys = tuple(able)
        sample = self._passes.draw.sample
        visits = deque(
            Visit(0, at, sample(able, len(able))) for at in self._record.parameters if able
        )
        if visits:
            # At the smallest size they keep their order: the first one is mostly there at once,
            # while Ray imports a lot in its first run, and somebody waits for the first point.
            visits[0].keys = able.copy()
        return visits

    def _visit(self, visit: Visit) -> Steps:
        """Make the value of a size and run what is still to run on it; it is dropped here."""
        __tracebackhide__ = True
        value = self._open(visit)
        yield
        while visit.keys:
            self._step(visit.keys[0], visit.parameter, value)
            visit.keys.pop(0)
            yield

    # One size

    def _open(self, visit: Visit) -> object:
        """Return the value of a size; without any keys left in the visit it is of no use."""
        # Too large, too long, an exception, as large as another one: then the visit ends here, and
        # the record says why.
        __tracebackhide__ = True
        if problem := self._too_much(visit.parameter):
            self._leave_out(visit, problem)
            return None
        try:
            value = self._made(visit.parameter)
        except Exception as error:  # noqa: BLE001  (one size fails, others go on)
            self._record.error = self._record.error or error
            self._leave_out(visit, f"making the value failed: {error_text(error)}")
            return None
        if visit.number == 0 and not self._is_code:
            self._place(visit)
        return value

    def _too_much(self, parameter: float) -> str:
        sizes = {at: float(size) for at, size in self._record.sizes.items() if size}
        size = expected(sizes, parameter)
        if size is None and self._is_bytes:
            size = parameter
        if self._guard.problem(size):
            self._record.notes["bound"] = self._guard.bound
            return "left out for lack of memory"
        return self._passes.budget.problem(self._cost_s(self._made_s, parameter))

    def _leave_out(self, visit: Visit, reason: str) -> None:
        """Skip a size: all of it in the first pass, later only what is left of it."""
        cells = [self._record.cells.get((key, visit.parameter)) for key in visit.keys]
        if not any(cell and cell.points for cell in cells):
            self._record.left_out[visit.parameter] = reason
        for cell in cells:
            if cell:
                cell.close(reason)
        visit.keys.clear()

    def _made(self, parameter: float) -> object:
        __tracebackhide__ = True
        if self._is_code:
            return parameter
        before, start_s = resident_bytes(), time.monotonic()
        value = self._make(parameter)
        self._made_s[parameter] = time.monotonic() - start_s
        after = resident_bytes()
        # The payload; of containers the pickle is the only size.
        size = None if isinstance(value, list | tuple | dict) else size_bytes(value)
        if parameter not in self._record.sizes:
            self._record.sizes[parameter] = _pickled_bytes(value) if size is None else size
        elif size not in (None, self._record.sizes[parameter]):
            self._record.notes["sizes"] = (
                "the same size gives another number of bytes each time; the first one is its place"
            )
        if before is not None and after is not None:
            self._guard.learn(self._record.sizes[parameter], after - before)
        return value

    def _place(self, visit: Visit) -> None:
        """Leave out a size whose value is as large as that of another one; note other sizes."""
        sizes, at = self._record.sizes, visit.parameter
        size = sizes[at]
        double = next((o for o in sizes if o != at and sizes[o] == size and size is not None), None)
        if double is not None:
            del sizes[at]
            self._leave_out(
                visit, f"as large as {self._record.parameter}={double:g}, measured once"
            )
        elif self._is_bytes and size is not None and abs(size / at - 1) > _OTHER_SIZE:
            self._record.notes.setdefault(
                "asked",
                f"values are not as large as asked ({format_bytes(size)} for {format_bytes(at)}); "
                "the real size counts",
            )

    # One run

    def _step(self, key: str, parameter: float, value: object) -> None:
        """Run a variant once more at a size, unless that would take too long or cannot work."""
        __tracebackhide__ = True
        cell = self._record.cells.get((key, parameter))
        if cell is None:
            cell = Cell(key=key, parameter=parameter, size_bytes=self._record.sizes.get(parameter))
        if problem := self._problem(cell, value):
            cell.close(problem)
        else:
            try:
                self._run(cell, value)
            except Exception as error:  # noqa: BLE001  (one variant at one size fails, others go on)
                self._record.error = self._record.error or (error if self._is_code else None)
                cell.failed = self._why(cell, value, error)
        self._record.cells[key, parameter] = cell

    def _problem(self, cell: Cell, value: object) -> str:
        cost_s = self._cost_s(self._ran_s.get(cell.key, {}), cell.parameter)
        return (
            self._guard.store_problem(cell.key, cell.size_bytes)
            or self._passes.budget.problem(cost_s)
            or ("" if cell.points else self._ways[cell.key].refuses(value))
        )

    def _run(self, cell: Cell, value: object) -> None:
        __tracebackhide__ = True
        way, start_s, is_cold = self._ways[cell.key], time.monotonic(), not cell.points
        if self._first is not None and is_cold:
            trace, self._first = self._first, None
            cell.take(trace)
        else:
            if is_cold:
                way.prepare(value)
            witness = Witness(value) if is_cold and not self._is_code else None
            trace, result = cell.run(way, value, detail=self._detail)
            if witness:
                cell.checked = checked_result(value, result, witness)
        self._record.latest = trace
        if self._is_code and is_cold:
            self._guard.learn_stages(cell.points[-1].stages)
        if is_cold and cell.size_bytes is None:
            self._settle(cell, trace)
        took_s = max(time.monotonic() - start_s, trace.wall_ns / 1e9)
        self._ran_s.setdefault(cell.key, {})[cell.parameter] = without_imports_s(trace, took_s)

    def _settle(self, cell: Cell, trace: Trace) -> None:
        """Place code, or what pickle cannot measure, on the axis: by what its first run moved."""
        moved, sizes = bytes_written(trace)["total_bytes"], self._record.sizes
        double = next((at for at in sizes if sizes[at] == moved and moved is not None), None)
        if double is not None:
            cell.close_as_double(f"moves as many bytes as {self._record.parameter}={double:g}")
            return
        sizes[cell.parameter] = moved
        cell.settle(moved)
        if moved is None:
            self._record.notes["moved"] = (
                "nobody saw how many bytes moved: without sizes there are no lines"
            )

    def _why(self, cell: Cell, value: object, error: Exception) -> str:
        """Explain a failure; the search for culprits is made once for each transport."""
        if self._is_code or isinstance(error, MemoryError):
            return error_text(error)
        others = [o.failed for (key, _), o in self._record.cells.items() if key == cell.key]
        if any(others):
            return next(filter(None, others))
        takes_functions = self._ways[cell.key].takes_functions
        return refusal_text(value, self._record.name, error, takes_functions=takes_functions)
