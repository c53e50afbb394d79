"""The sweep: the same over many sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from jupyter_serprof.experiments.engine.experiment import Steps
from jupyter_serprof.experiments.engine.machine import MemoryGuard
from jupyter_serprof.experiments.engine.order import Visit, checked_sizes, cold_pass, passes_of
from jupyter_serprof.experiments.engine.passes import PassSweep
from jupyter_serprof.experiments.roundtrip.trip import chosen_transports, is_all
from jupyter_serprof.experiments.sizes.bench import Bench, TimedCode
from jupyter_serprof.experiments.sizes.document import SizeRecord
from jupyter_serprof.model import Sweep, Trace, UsageError, Variant


class SizeSweep(PassSweep):
    """A sweep over sizes: the same, and how it grows. An `Experiment`.

    Parameters
    ----------
    make, sizes, transports, repeat, budget_s, name, parameter, detail, seed
        As of `jupyter_serprof.sweep`; the sizes in any order.
    code
        Measure ``make(size)`` itself, as one variant ``code``; then without ``transports``.
    is_bytes
        Sizes are bytes: then the memory guard knows the first size before it is made.

    Notes
    -----
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
        self._bench = Bench(
            make,
            self._ways,
            record,
            passes.budget,
            self._guard,
            detail=detail,
            is_code=code,
            is_bytes=is_bytes,
        )

    def take_first(self, trace: Trace | None) -> None:
        """Take a recording of code at the smallest size that was made already, if there is one."""
        self._bench.first = trace

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
        return self._bench.costs.visits_s(visits)

    def _first_pass(self) -> deque[Visit]:
        """See who can run, and plan the first pass."""
        for key, way in self._ways.items():
            self._record.started[key] = way.start() if self._asked else ""
            state, reason = way.state()
            if state != "ok":
                self._record.absent[key] = Variant(key, way.title, state, reason)
        able = [key for key in self._ways if key not in self._record.absent]
        self._guard.keys = tuple(able)
        return cold_pass(self._record.parameters, able, self._passes.draw) if able else deque()

    def _visit(self, visit: Visit) -> Steps:
        """Make the value of a size and run what is still to run on it; it is dropped here."""
        __tracebackhide__ = True
        value = self._bench.open(visit)
        yield
        while visit.keys:
            self._bench.step(visit.keys[0], visit.parameter, value)
            visit.keys.pop(0)
            yield
