"""The sweep: the same over many sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.machine import MemoryGuard
from jupyter_serprof.experiments.engine.order import (
    Visit,
    checked_sizes,
    cold_pass,
    passes_of,
    warm_pass,
)
from jupyter_serprof.experiments.roundtrip.trip import chosen_transports, is_all
from jupyter_serprof.experiments.sizes.bench import Bench, TimedCode
from jupyter_serprof.experiments.sizes.document import SizeRecord
from jupyter_serprof.model import Sweep, Trace, UsageError, Variant


class SizeSweep:
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
        self._passes = passes_of(repeat, budget_s, seed)
        self._asked = transports is not None and not is_all(transports)
        if code and transports is not None:
            message = "transports are for values; code that serializes by itself is timed as it is"
            raise UsageError(message)
        ways = [TimedCode(make, name)] if code else chosen_transports(transports)
        parameters = checked_sizes(sizes)
        self._ways = {way.key: way for way in ways}
        self._known = SizeRecord(name, parameter, parameters, self._passes.seed, list(ways))
        self._guard = MemoryGuard(tuple(self._ways))
        self._bench = Bench(
            make,
            self._ways,
            self._known,
            self._passes.budget,
            self._guard,
            detail=detail,
            is_code=code,
            is_bytes=is_bytes,
        )
        self._visits: deque[Visit] = deque()

    def take_first(self, trace: Trace | None) -> None:
        """Take a recording of code at the smallest size that was made already, if there is one."""
        self._bench.first = trace

    def steps(self) -> Steps:
        """Measure what is left, and yield after each value and each run.

        Raises
        ------
        Exception
            What ``make`` raised, where it raised for every size.
        """
        __tracebackhide__ = True
        yield from self._passes.steps(self._run_all)
        if self._bench.error and not self._known.point_count:
            raise self._bench.error

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to run."""
        return self._passes.number >= 0 and not self._visits and not self._wants_pass()

    @property
    def document(self) -> Sweep:
        """What was measured so far; with fitted lines and crossovers where it does not run."""
        if self._passes.is_running:
            return self._known.document(has_lines=False)
        return self._known.document(waiting="stopped before its turn")

    @property
    def progress(self) -> Progress:
        """How far it is; may be asked at any time, also from another thread."""
        visits = self._planned()
        left = sum(len(visit.keys) for visit in visits)
        left_s = self._bench.costs.visits_s(visits)
        if left_s is not None:
            left_s = min(left_s, self._passes.budget.left_s)
        return Progress(self._known.point_count, left, left_s, self._guard.bound)

    def _run_all(self) -> Steps:
        __tracebackhide__ = True
        if self._passes.number < 0:
            self._begin()
        while True:
            if self._visits:
                if self._visits[0].keys:
                    yield from self._visit(self._visits[0])
                self._visits.popleft()
            else:
                if not self._wants_pass():
                    self._note_end()
                    return
                self._passes.number += 1
                self._visits = warm_pass(self._passes.number, self._open_keys(), self._passes.draw)

    def _begin(self) -> None:
        """See who can run, and plan the first pass."""
        # Measured once in a process: it is not the cost of the first size.
        measure_limits()
        for key, way in self._ways.items():
            self._known.started[key] = way.start() if self._asked else ""
            state, reason = way.state()
            if state != "ok":
                self._known.absent[key] = Variant(key, way.title, state, reason)
        able = [key for key in self._ways if key not in self._known.absent]
        self._guard.keys = tuple(able)
        draw = self._passes.draw
        self._visits = cold_pass(self._known.parameters, able, draw) if able else deque()
        self._passes.number = 0

    def _visit(self, visit: Visit) -> Steps:
        """Make the value of a size and run what is still to run on it; it is dropped here."""
        __tracebackhide__ = True
        value = self._bench.open(visit)
        yield
        while visit.keys:
            self._bench.step(visit.keys[0], visit.parameter, value)
            visit.keys.pop(0)
            yield

    def _open_keys(self) -> dict[float, list[str]]:
        keys: dict[float, list[str]] = {}
        for (key, parameter), cell in list(self._known.cells.items()):
            if cell.is_open and parameter not in self._known.left_out:
                keys.setdefault(parameter, []).append(key)
        return keys

    def _wants_pass(self) -> bool:
        """Tell whether another pass follows the latest one."""
        again = [Visit(0, at, keys) for at, keys in self._open_keys().items()]
        return bool(again) and self._passes.follows(
            lambda: self._bench.costs.visits_s(again) or 0.0
        )

    def _planned(self) -> list[Visit]:
        """Return the visits that are sure to come."""
        if self._passes.number < 0:
            every = [Visit(0, at, list(self._ways)) for at in self._known.parameters]
            return every * (1 + self._passes.sure)
        visits = [Visit(v.number, v.parameter, list(v.keys)) for v in list(self._visits)]
        keys = self._open_keys()
        if self._passes.number == 0:
            for visit in visits:
                keys[visit.parameter] = [*keys.get(visit.parameter, ()), *visit.keys]
        return visits + [Visit(1, at, keys[at]) for at in keys] * self._passes.sure_left

    def _note_end(self) -> None:
        why = self._passes.cut_short
        if why and self._open_keys():
            self._known.notes["budget"] = why
