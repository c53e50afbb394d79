"""How much of a Dask computation is explained, for each kind of graph and of cluster.

Prints the share of the wall time in named stages: all of them, and strictly those that work (waits
left out), from the start of the code to the first task on a worker and to the end. Median of the
runs after a first one. Run: uv run python tests/benchmarks/dask_coverage.py [runs] [cluster ...]
"""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call, attr-defined"

import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jupyter_serprof as sp
from jupyter_serprof.analysis.waterfall import partition
from jupyter_serprof.experiments.graphs.stages import stage_recording
from jupyter_serprof.model import Trace, stage

sys.path.insert(0, str(Path(__file__).parents[1]))
CLUSTERS = ("processes", "in-process", "external")
RUNS = 3


def cases() -> dict[str, Callable[[Any], object]]:
    """Return the computations by name; each takes the client."""
    import dask
    import dask.array as da
    import dask.bag as db
    import numpy as np

    big = np.random.default_rng(0).random(4_000_000)

    def array(side: int, chunk: int) -> Any:
        x = da.random.random((side, side), chunks=(chunk, chunk))
        return x + x.T

    return {
        "array sum, 3,738 tasks, 3.2 GB": lambda _: array(20_000, 500).sum().compute(),
        "array sum, 9,558 small tasks": lambda _: array(6_400, 100).sum().compute(),
        "array persist, 3,600 tasks": lambda client: _wait(client, array(4_000, 100).sum(axis=0)),
        "dataframe groupby": lambda _: _timeseries().groupby("name").x.mean().compute(),
        "bag frequencies": lambda _: (
            db.from_sequence(range(10_000), npartitions=200)
            .map(lambda value: value % 7)
            .frequencies()
            .compute()
        ),
        "delayed, 32 MB in 100 tasks": lambda _: dask.compute(
            *[dask.delayed(np.ndarray.__getitem__)(big, number) for number in range(100)]
        ),
        "dask.compute(a, b)": lambda _: dask.compute(
            array(4_000, 100).sum(), array(4_000, 100).mean(axis=0)
        ),
        "submit and map, 1,050 tasks": lambda client: client.gather(
            [client.submit(pow, number, 2, pure=False) for number in range(50)]
            + client.map(lambda value: value + 1, range(1000), pure=False)
        ),
    }


def _timeseries() -> Any:
    import dask

    return dask.datasets.timeseries()


def _wait(client: Any, collection: Any) -> None:
    from distributed import wait

    wait(client.persist(collection))


@contextmanager
def client_of(kind: str) -> Iterator[Any]:
    """Give a client of a cluster with two workers of one thread each."""
    from clusters.outside import outside_cluster
    from distributed import Client, LocalCluster

    if kind == "external":
        with (
            tempfile.TemporaryDirectory() as folder,
            outside_cluster(Path(folder)) as cluster,
            Client(cluster.address) as client,
        ):
            client.wait_for_workers(2)
            yield client
        return
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=kind == "processes",
            host="127.0.0.1" if kind == "processes" else None,
            dashboard_address="127.0.0.1:0",
        ) as local,
        Client(local) as client,
    ):
        yield client


def shares(trace: Trace, until_ns: int) -> tuple[float, float]:
    """Return (all, strict) shares of the time up to a moment."""
    rows = partition(replace(trace, wall_ns=until_ns, groups=())).rows
    strict = sum(row.self_ns for row in rows if not stage(row.stage).waits)
    return sum(row.self_ns for row in rows) / until_ns, strict / until_ns


def first_task_ns(trace: Trace) -> int:
    """Return when the first task began on a worker."""
    starts = [span.start_ns for span in trace.spans if span.stage == "dask.execute"]
    return max(1, min(starts, default=trace.wall_ns))


def measured(run: Callable[[], object]) -> tuple[float, ...]:
    """Return wall time (ms), time to the first task (ms), and the four shares of one run."""
    with stage_recording("benchmark") as recording:
        run()
    trace = recording.trace
    first = first_task_ns(trace)
    summary = trace.summary
    assert summary is not None
    total, strict = summary.total_share or 0, summary.strict_share or 0
    return (trace.wall_ns / 1e6, first / 1e6, *shares(trace, first), total, strict)


def main(runs: int, kinds: list[str]) -> None:
    """Print one line for each case and cluster."""
    warnings.filterwarnings("ignore", message="Sending large graph")
    print(f"jupyter_serprof {sp.__version__}; median of {runs} runs after a first one")
    columns = ("case", "cluster", "wall", "first", "first: all", "strict", "done: all", "strict")
    print("{:<30} {:<11} {:>8} {:>8} {:>11} {:>6} {:>9} {:>6}".format(*columns))
    for kind in kinds:
        with client_of(kind) as client:
            for name, case in cases().items():
                case(client)
                rows = [measured(partial(case, client)) for _ in range(runs)]
                middle = [statistics.median(column) for column in zip(*rows, strict=True)]
                wall, first, *share = middle
                percent = [f"{100 * value:5.1f}" for value in share]
                print(
                    f"{name:<30} {kind:<11} {wall:>6.0f}ms {first:>6.0f}ms  "
                    f"{percent[0]:>9} {percent[1]:>6} {percent[2]:>9} {percent[3]:>6}",
                    flush=True,
                )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else RUNS, given[1:] or list(CLUSTERS))
