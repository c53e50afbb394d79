"""The sweep over chunk sizes: one Dask computation in few large chunks or many small ones."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jupyter_serprof.experiments.chunks import look
from jupyter_serprof.experiments.chunks.document import KEY, ChunkCell, ChunkRecord
from jupyter_serprof.experiments.engine.experiment import Steps, run
from jupyter_serprof.experiments.engine.order import Visit, checked_sizes, expected, passes_of
from jupyter_serprof.experiments.engine.passes import PassSweep, sum_known
from jupyter_serprof.experiments.graphs.stages import GraphStages
from jupyter_serprof.experiments.graphs.values import client_of, collections_in, fresh, require_dask
from jupyter_serprof.model import Sweep, UsageError
from jupyter_serprof.objects.culprits import error_text

#: What is not measured yet costs at most so much for each further task.
_SLOWEST_TASK_S = 2e-3
#: Tasks that are only foreseen may be more by this factor before a size is not even built.
_FORESIGHT = 2.0
_WAITING, _STOPPED = "waits for its turn", "stopped before its turn"


class ChunkSweep(PassSweep):
    """A sweep over chunk sizes, with what it recommends. An `Experiment`.

    ``make``, ``chunks``, ``name``, ``parameter``, ``repeat``, ``budget_s``, ``compute``,
        ``timeout_s``, ``detail``, ``seed``: As of `jupyter_serprof.chunk_sweep` (``timeout``); the
        chunks in any order. A number whose name has "part" in it counts partitions: then larger
        numbers make smaller chunks.

    The first pass is cold and goes from large chunks to small ones: their graphs are cheap. Later
    passes are shuffled. What a run made is released before the next one. Left out, with a reason:
    chunks that do not fit into a worker's memory, graphs of more than 200,000 tasks, sizes that
    give the same chunks as another one, and what would take longer than what is left.
    """

    _record: ChunkRecord

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
        self._subject = subject = look.chunk_subject(make, name, parameter, code)
        passes = passes_of(repeat, budget_s, seed)
        self._compute, self._timeout_s, self._detail = compute, timeout_s, detail
        title = "compute" if compute else "persist and wait"
        sizes = checked_sizes(chunks)
        # From large chunks to small ones.
        ordered = sizes if subject.is_count else sizes[::-1]
        known = (subject.name, subject.parameter, ordered, passes.seed)
        super().__init__(ChunkRecord(*known, subject=subject, title=title), passes, [KEY])
        self._worker: look.WorkerBound | None = None
        self._stages(lambda: None, "")  # a bad timeout is refused before anything runs

    @property
    def document(self) -> Sweep:
        """The document of what was measured so far, with what it recommends."""
        return self._record.document(waiting=_WAITING if self._passes.is_running else _STOPPED)

    @property
    def _bound(self) -> str:
        return self._worker.text if self._worker else ""

    def _first_pass(self) -> deque[Visit]:
        return deque(Visit(0, at, [KEY]) for at in self._record.parameters)

    def _visit(self, visit: Visit) -> Steps:
        __tracebackhide__ = True
        self._measure(visit.parameter)
        visit.keys.clear()
        yield

    def _visits_s(self, visits: Sequence[Visit]) -> float | None:
        return sum_known([self._cost_s(visit.parameter) for visit in visits if visit.keys])

    def _end_first_pass(self) -> None:
        """Refuse a function that does not use its argument: nothing can be recommended."""
        name, asked = self._subject.parameter, self._record.parameters
        measured = [cell for cell in list(self._record.cells.values()) if cell.points]
        same = [at for at, why in self._record.left_out.items() if "same chunks" in why]
        if len(measured) == 1 and same and len(same) == len(asked) - 1:
            message = (
                f"{self._subject.name} gives the same chunks for all {len(asked)} values of "
                f"{name}, {min(asked):g} to {max(asked):g}. Use it where the chunks are chosen, "
                f"e.g. da.random.random((8000, 8000), chunks={name}).sum()"
            )
            raise UsageError(message)

    # One run

    def _measure(self, parameter: float) -> None:
        __tracebackhide__ = True
        cell = self._record.cells.setdefault((KEY, parameter), ChunkCell(parameter=parameter))
        try:
            self._check(cell)
            self._run(cell)
        except look.LeftOutError as error:
            if cell.points:
                cell.close(str(error))
            else:
                del self._record.cells[KEY, parameter]
                self._record.left_out[parameter] = str(error)
        except UsageError as error:
            if not self._record.point_count:
                raise
            cell.failed = error_text(error)
        except Exception as error:  # noqa: BLE001  (one size fails, the others go on)
            self._record.error = self._record.error or error
            cell.failed = error_text(error)
        finally:
            if not cell.points and not cell.failed:
                self._record.cells.pop((KEY, parameter), None)

    def _check(self, cell: ChunkCell) -> None:
        """Refuse a size that would have too many tasks or take too long, before it is built."""
        foreseen = None if cell.points else self._foreseen_count(cell.parameter)
        if foreseen is not None and foreseen > _FORESIGHT * look.MOST_TASKS:
            raise look.LeftOutError(look.too_many(foreseen, "about "))
        cost_s = self._cost_s(cell.parameter)
        budget = self._passes.budget
        if cost_s is None and self._record.point_count and budget.left_s <= 0:
            cost_s = 0.0
        if problem := budget.problem(cost_s):
            raise look.LeftOutError(problem)

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
        cell.take(trace)
        cell.took_s = time.monotonic() - start_s
        self._record.latest = trace

    def _stages(self, build: Callable[[], object], name: str) -> GraphStages:
        return GraphStages(build, name, self._compute, self._timeout_s, self._detail)

    def _look(self, cell: ChunkCell, collections: Sequence[Any]) -> None:
        if cell.points:
            return
        cell.look = look.look_at(collections)
        self._worker = look.worker_bound(collections)
        self._worker.check(cell.look)
        for other in self._record.cells.values():
            is_same = other is not cell and other.look.marks == cell.look.marks
            if is_same and cell.look.marks is not None:
                message = (
                    f"the same chunks as {self._subject.parameter} = {other.parameter:g}, "
                    "measured once"
                )
                raise look.LeftOutError(message)

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
        own = self._record.cells.get((KEY, parameter))
        if own and own.points:
            return own.took_s
        count = self._foreseen_count(parameter)
        cells = list(self._record.cells.values())
        known = {float(cell.count): cell.took_s for cell in cells if cell.points and cell.count}
        return None if count is None else expected(known, count, slowest=_SLOWEST_TASK_S)
