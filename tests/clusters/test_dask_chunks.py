"""A sweep over chunk sizes on a real cluster of processes: a curve, its stages, nothing left."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dasks import forgotten

import jupyter_serprof as sp
from clusters.seen import adding_up
from jupyter_serprof.experiments.chunks.look import worker_bound

if TYPE_CHECKING:
    from distributed import Client

da: Any = import_module("dask.array")


def make(chunk: float) -> Any:
    """Return a sum over a random array of so large chunks."""
    return da.random.random((1600, 1600), chunks=chunk).sum()


def test_a_sweep_over_chunks_adds_up_and_leaves_nothing(dask_client: Client) -> None:
    """Each run has its stages, to the last ns; which size is best is asked of made sweeps."""
    sweep = sp.chunk_sweep(make, [200, 400, 800], repeat=1)

    (finding, *_) = [each for each in sweep.findings if each.rule == "dask.chunk-sweep"]
    assert finding.evidence["best"] in {200, 400, 800, None}
    assert len(sweep.points) == 6
    assert all(point.stages["dask.execute"] > 0 for point in sweep.points)
    for entry in sweep.traces:
        adding_up(entry.trace)
    assert forgotten(dask_client)


def test_the_bound_is_that_of_a_worker(dask_client: Client) -> None:
    """Its memory limit and its threads, asked of the scheduler."""
    workers = dask_client.scheduler_info()["workers"].values()

    bound = worker_bound([make(400)])

    assert bound.is_cluster
    assert bound.threads == 1
    assert bound.memory_bytes == min(worker["memory_limit"] for worker in workers)
    assert bound.text.startswith("chunks up to ")
