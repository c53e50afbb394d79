"""A sweep over chunk sizes on a real cluster of processes: a curve, its stages, nothing left."""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import jupyter_serprof as sp
from jupyter_serprof.experiments.chunks.look import worker_bound

if TYPE_CHECKING:
    from distributed import Client

da: Any = import_module("dask.array")

_PATIENCE_S = 30


def make(chunk: float) -> Any:
    """Return a sum over a random array of so large chunks."""
    return da.random.random((1600, 1600), chunks=chunk).sum()


def is_empty(client: Client) -> bool:
    """Tell whether the scheduler comes to know no task any more."""
    cluster: Any = client.cluster
    end = time.monotonic() + _PATIENCE_S
    while cluster.scheduler.tasks and time.monotonic() < end:
        client.run_on_scheduler(int)  # type: ignore[no-untyped-call]  # a round trip
    return not cluster.scheduler.tasks


def test_tiny_chunks_cost_more_than_large_ones(dask_client: Client) -> None:
    """256 tiny chunks take longer than four: the best is not among them, and the stages say why."""
    for seed in range(4):  # on a busy machine the runs may tell nothing, and that is said
        sweep = sp.chunk_sweep(make, [100, 400, 800], repeat=3, seed=seed)

        (finding, *_) = [each for each in sweep.findings if each.rule == "dask.chunk-sweep"]
        assert len(sweep.points) == 12
        assert all("dask.execute" in point.stages for point in sweep.points)
        assert is_empty(dask_client)
        if finding.evidence["best"] is not None:
            break
        assert "cannot tell" in finding.title

    assert finding.evidence["best"] in {400, 800}
    assert finding.evidence["limits_below"] or finding.evidence["low"] == 100
    assert sweep.summary is not None
    assert "is best" in sweep.summary.headline
    tiny = [point.stages["dask.execute"] for point in sweep.points if point.parameter == 100]
    assert min(tiny) > 0


def test_the_wall_time_is_told_to_the_last_nanosecond(dask_client: Client) -> None:
    """The rows of each recording and its unaccounted time add up to its wall time."""
    sweep = sp.chunk_sweep(make, [400, 800], repeat=1)

    for entry in sweep.traces:
        waterfall = entry.trace.waterfall
        assert waterfall is not None
        owned = sum(row.self_ns for row in waterfall.rows) + waterfall.unaccounted_ns
        assert owned == entry.trace.wall_ns
    assert is_empty(dask_client)


def test_the_bound_is_that_of_a_worker(dask_client: Client) -> None:
    """Its memory limit and its threads, asked of the scheduler."""
    workers = dask_client.scheduler_info()["workers"].values()

    bound = worker_bound([make(400)])

    assert bound.is_cluster
    assert bound.threads == 1
    assert bound.memory_bytes == min(worker["memory_limit"] for worker in workers)
    assert bound.text.startswith("chunks up to ")
