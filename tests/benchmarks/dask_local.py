"""Coverage and slow-down of Dask's own schedulers: threads, synchronous, processes.

Coverage: strict counts the stages that work, total also those that wait; the best of a few runs
stands beside the median, because cores that others use make threads wait for each other.
Slow-down: alternating pairs in one process on 1,600 tiny tasks, beside a control of bare against
bare; one column has the probes that are always there, one this one in addition.
Run: uv run python tests/benchmarks/dask_local.py
"""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable
from typing import Any

from bench import heading, quartiles, ratios, table, timed_ns

from jupyter_serprof.analysis import analyse
from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import Trace
from jupyter_serprof.probes import Probe, available_probes
from jupyter_serprof.probes.dask.local.probe import DaskLocalProbe
from jupyter_serprof.probes.dask.sampling import ConstructionSampler

RUNS = {"threads": 5, "synchronous": 5, "processes": 2}
PAIRS = 30
Work = Callable[[str], object]


def main() -> None:
    """Print both tables."""
    rows = [_covered(name, by) for name in WORK for by in RUNS]
    heading("coverage of a whole cell: construction, compute, result")
    table(["graph", "scheduler", "tasks", "wall", "strict (best)", "total (least)"], rows)
    rows = [_slowed(by) for by in ("threads", "synchronous")]
    heading(f"slow-down on 1,600 tiny tasks: median [quartiles] of {PAIRS} alternating pairs")
    table(["scheduler", "bare", "all probes / bare", "this probe / bare", "bare / bare"], rows)


def _probes() -> list[Probe]:
    others = [probe for probe in available_probes() if probe.name not in {"dask", "dask-local"}]
    return [*others, DaskLocalProbe(), ConstructionSampler()]


def _traced(work: Callable[[], object]) -> Trace:
    recorder = Recorder(_probes())
    recorder.start()
    try:
        work()
    finally:
        recorder.stop()
    return analyse(freeze(recorder, name="coverage"))


def _covered(name: str, by: str) -> list[str]:
    traces = [_traced(lambda: WORK[name](by)) for _ in range(RUNS[by])]
    summaries = [trace.summary for trace in traces if trace.summary is not None]
    strict = [summary.strict_share or 0 for summary in summaries]
    total = [summary.total_share or 0 for summary in summaries]
    wall = statistics.median(trace.wall_ns for trace in traces) / 1e6
    tasks = sum(
        int(str(line[1])) for t in traces[0].tables if t.key == "dask.tasks" for line in t.rows
    )
    best = f"{statistics.median(strict):.1%} ({max(strict):.1%})"
    return [name, by, str(tasks), f"{wall:,.0f} ms", best, f"{min(total):.2%}"]


def _slowed(by: str) -> list[str]:
    import dask

    tasks = {f"task-{number}": (operator.add, number, 1) for number in range(1_600)}

    def work() -> object:
        module: Any = dask
        if by == "threads":
            return module.threaded.get(tasks, list(tasks))
        return module.get(tasks, list(tasks))

    def with_probes(make: Callable[[], list[Probe]]) -> Callable[[], int]:
        def run() -> int:
            recorder = Recorder(make())
            recorder.start()
            try:
                return timed_ns(work)
            finally:
                recorder.stop()

        return run

    work()
    bare = with_probes(list)
    everything = _spread(ratios(bare, with_probes(_probes), PAIRS))
    alone = _spread(ratios(bare, with_probes(lambda: [DaskLocalProbe()]), PAIRS))
    control = _spread(ratios(bare, bare, PAIRS))
    wall = statistics.median(bare() for _ in range(5)) / 1e6
    return [by, f"{wall:.0f} ms", everything, alone, control]


def _spread(values: list[float]) -> str:
    low, median, high = quartiles(values)
    return f"{median:.3f} [{low:.3f}, {high:.3f}]"


def _array(scheduler: str) -> object:
    import dask.array as da

    x = da.random.random((3_000, 3_000), chunks=(150, 150))
    return (x + x.T).sum().compute(scheduler=scheduler)


def _frame(scheduler: str) -> object:
    import dask

    datasets: Any = dask.datasets
    frame = datasets.timeseries(end="2000-01-31", freq="10s", partition_freq="3h")
    return frame.groupby("name").x.mean().compute(scheduler=scheduler)


def _bag(scheduler: str) -> object:
    from dask import bag

    numbers: Any = bag
    return numbers.range(200_000, npartitions=600).map(_digits).sum().compute(scheduler=scheduler)


def _digits(number: int) -> int:
    return len(str(number**20))


def _delayed(scheduler: str) -> object:
    import dask

    wrapped: Any = dask
    parts = [wrapped.delayed(_digits)(number) for number in range(1_000)]
    return wrapped.delayed(sum)(parts).compute(scheduler=scheduler)


WORK: dict[str, Work] = {
    "array (x + x.T).sum()": _array,
    "data frame groupby": _frame,
    "bag map sum": _bag,
    "delayed sum": _delayed,
}

if __name__ == "__main__":
    main()
