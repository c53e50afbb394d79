"""The sweep over chunk sizes: one Dask computation in few large chunks or many small ones."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.experiments.chunks.document import ChunkCell, ChunkRecord
from jupyter_serprof.experiments.chunks.look import (
    MOST_TASKS,
    LeftOutError,
    WorkerBound,
    chunk_subject,
    look_at,
    too_many,
    worker_bound,
)
from jupyter_serprof.experiments.engine.experiment import Progress, Steps, run
from jupyter_serprof.experiments.engine.order import checked_sizes, expected, passes_of
from jupyter_serprof.experiments.graphs.stages import GraphStages
from jupyter_serprof.experiments.graphs.values import (
    client_of,
    collections_in,
    fresh,
    require_dask,
)
from jupyter_serprof.model import Sweep, UsageError
from jupyter_serprof.objects.culprits import error_text

#: What is not measured yet costs at most so much for each further task.
_SLOWEST_TASK_S = 2e-3
#: Tasks that are only foreseen may be more by this factor before a size is not even built.
_FORESIGHT = 2.0
_WAITING = "waits for its turn"
_STOPPED = "stopped before its turn"


class ChunkSweep:
    """A sweep over chunk sizes, with what it recommends. An `Experiment`.

    Parameters
    ----------
    make, chunks, name, parameter, repeat, budget_s, compute, timeout_s, detail, seed
        As of `jupyter_serprof.chunk_sweep` (``timeout``); the chunks in any order. A number whose
        name has "part" in it counts partitions: then larger numbers make smaller chunks.
    code
        What was typed, for lines to paste.

    Notes
    -----
    The first pass is cold and goes from large chunks to small ones: their graphs are cheap. Later
    passes are shuffled. What a run made is released before the next one. Left out, with a reason:
    chunks that do not fit into a worker's memory, graphs of more than 200,000 tasks, sizes that
    give the same chunks as another one, and what would take longer than what is left.
    """

    def __init__(  # noqa: PLR0913  (keywords of sp.chunk_sweep)
        self,
        make: object,
        chunks: Iterable[float],
        *,
        name: str | None = None,
        parameter: str = "",
        code: str = "",
        repeat: int | None = None,
        budget_s: float | None = None,
        compute: bool = False,
        timeout_s: float | None = None,
        detail: bool = False,
        seed: int | None = None,
    ) -> None:
        require_dask()
        self._subject = chunk_subject(make, name, parameter, code)
        self._passes = passes_of(repeat, budget_s, seed)
        self._compute, self._timeout_s, self._detail = compute, timeout_s, detail
        title = "compute" if compute else "persist and wait"
        self._record = ChunkRecord(self._subject, title, self._passes.seed)
        sizes = checked_sizes(chunks)
        # From large chunks to small ones.
        self._parameters = sizes if self._subject.is_count else sizes[::-1]
        self._visits: deque[float] = deque()
        self._bound: WorkerBound | None = None
        self._error: Exception | None = None
        self._stages(lambda: None, "")  # a bad timeout is refused before anything runs

    def steps(self) -> Steps:
        """Measure what is left, and yield after each run.

        Raises
        ------
        UsageError
            If ``make`` returns no collection, or the same chunks for every size.
        Exception
            What ``make`` or a task raised, where every size failed.
        """
        __tracebackhide__ = True
        yield from self._passes.steps(self._run_all)
        if self._error and not self._record.point_count:
            raise self._error

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to run."""
        return self._passes.number >= 0 and not self._visits and not self._wants_pass()

    @property
    def document(self) -> Sweep:
        """The document of what was measured so far, with what it recommends."""
        return self._record.document(waiting=_WAITING if self._passes.is_running else _STOPPED)

    @property
    def progress(self) -> Progress:
        """How far it is; may be asked at any time, also from another thread."""
        ahead = self._planned()
        known = [cost for at in ahead if (cost := self._cost_s(at)) is not None]
        left_s = min(sum(known), self._passes.budget.left_s) if known or not ahead else None
        bound = self._bound.text if self._bound else ""
        return Progress(self._record.point_count, len(ahead), left_s, bound)

    # Passes

    def _run_all(self) -> Steps:
        __tracebackhide__ = True
        passes = self._passes
        if passes.number < 0:
            # Measured once in a process: it is not the cost of the first size.
            measure_limits()
            passes.number, self._visits = 0, deque(self._parameters)
        while True:
            if self._visits:
                self._visit(self._visits[0])
                self._visits.popleft()
                yield
                continue
            if passes.number == 0:
                self._check_argument()
            if not self._wants_pass():
                if passes.cut_short and self._open():
                    self._record.notes["budget"] = passes.cut_short
                return
            passes.number += 1
            opened = self._open()
            self._visits = deque(passes.draw.sample(opened, len(opened)))

    def _open(self) -> list[float]:
        cells = list(self._record.cells.values())
        return [cell.parameter for cell in cells if cell.is_open and cell.points]

    def _wants_pass(self) -> bool:
        """Tell whether another pass follows the latest one."""
        opened = self._open()
        return bool(opened) and self._passes.follows(
            lambda: sum(self._cost_s(at) or 0.0 for at in opened)
        )

    def _planned(self) -> list[float]:
        """Return the sizes of the runs that are sure to come."""
        if self._passes.number < 0:
            return list(self._parameters) * (1 + self._passes.sure)
        ahead = list(self._visits)
        again = self._open() + (ahead if self._passes.number == 0 else [])
        return ahead + again * self._passes.sure_left

    def _check_argument(self) -> None:
        """Refuse a function that does not use its argument: nothing can be recommended."""
        cells = list(self._record.cells.values())
        measured = [cell for cell in cells if cell.points]
        same = [at for at, why in self._record.left_out.items() if "same chunks" in why]
        if len(measured) == 1 and same and len(same) == len(self._parameters) - 1:
            name, low, high = self._subject.parameter, min(self._parameters), max(self._parameters)
            message = (
                f"{self._subject.name} gives the same chunks for all {len(self._parameters)} "
                f"values of {name}, {low:g} to {high:g}. Use it where the chunks are chosen, e.g. "
                f"da.random.random((8000, 8000), chunks={name}).sum()"
            )
            raise UsageError(message)

    # One run

    def _visit(self, parameter: float) -> None:
        """Run one size once more, unless that would take too long or cannot work."""
        __tracebackhide__ = True
        cell = self._record.cells.setdefault(parameter, ChunkCell(parameter=parameter))
        try:
            self._check(cell)
            self._run(cell)
        except LeftOutError as error:
            if cell.points:
                cell.close(str(error))
            else:
                del self._record.cells[parameter]
                self._record.left_out[parameter] = str(error)
        except UsageError as error:
            if not self._record.point_count:
                raise
            cell.failed = error_text(error)
        except Exception as error:  # noqa: BLE001  (one size fails, the others go on)
            self._error = self._error or error
            cell.failed = error_text(error)
        finally:
            if not cell.points and not cell.failed:
                self._record.cells.pop(parameter, None)

    def _check(self, cell: ChunkCell) -> None:
        """Refuse a size that would have too many tasks or take too long, before it is built."""
        foreseen = None if cell.points else self._foreseen_count(cell.parameter)
        if foreseen is not None and foreseen > _FORESIGHT * MOST_TASKS:
            raise LeftOutError(too_many(foreseen, "about "))
        cost_s = self._cost_s(cell.parameter)
        budget = self._passes.budget
        if cost_s is None and self._record.point_count and budget.left_s <= 0:
            cost_s = 0.0
        if problem := budget.problem(cost_s):
            raise LeftOutError(problem)

    def _run(self, cell: ChunkCell) -> None:
        __tracebackhide__ = True
        start_s = time.monotonic()

        def build() -> object:
            __tracebackhide__ = True
            value = self._subject.make(cell.parameter)
            collections = collections_in(value)
            if not collections:
                return value
            self._look(cell, collections)
            return fresh(value, client_of(collections))

        name = f"{self._subject.name}, {self._subject.parameter} = {cell.parameter:g}"
        trace = run(self._stages(build, name))
        cell.add(trace)
        cell.took_s = time.monotonic() - start_s
        self._record.latest = trace

    def _stages(self, build: Callable[[], object], name: str) -> GraphStages:
        return GraphStages(build, name, self._compute, self._timeout_s, self._detail)

    def _look(self, cell: ChunkCell, collections: Sequence[Any]) -> None:
        """Note what the collections tell, and leave a size out that cannot or need not run."""
        if cell.points:
            return
        cell.look = look_at(collections)
        self._bound = worker_bound(collections)
        self._bound.check(cell.look)
        for other in self._record.cells.values():
            is_same = other is not cell and other.look.marks == cell.look.marks
            if is_same and cell.look.marks is not None:
                message = (
                    f"the same chunks as {self._subject.parameter} = {other.parameter:g}, "
                    "measured once"
                )
                raise LeftOutError(message)

    # What a size will cost

    def _foreseen_count(self, parameter: float) -> float | None:
        """Return about how many tasks a size will have, after the two latest; None before."""
        known = [(cell.parameter, cell.count) for cell in self._record.cells.values() if cell.count]
        if len(known) <= 1:
            return None
        (first, some), (second, more) = known[-2:]
        if first == second or not some or not more:
            return None
        power = math.log(more / some) / math.log(second / first)
        return float(more * (parameter / second) ** power)

    def _cost_s(self, parameter: float) -> float | None:
        """Return what a run will take, with all around it; None if unknown."""
        own = self._record.cells.get(parameter)
        if own and own.points:
            return own.took_s
        count = self._foreseen_count(parameter)
        cells = list(self._record.cells.values())
        known = {float(cell.count): cell.took_s for cell in cells if cell.points and cell.count}
        return None if count is None else expected(known, count, slowest=_SLOWEST_TASK_S)
