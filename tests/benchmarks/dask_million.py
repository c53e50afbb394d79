"""A graph of 1,000,000 tasks: what a recording of it holds, and how large its output is.

The tasks are not run (no worker is there): the graph is built, sent, and taken in by a scheduler of
its own process. Prints the growth of this process while it is recorded, and the size of the output.
With ``bare`` the same without a recording: the difference is what the recording holds.
Run: uv run python tests/benchmarks/dask_million.py [blocks of an edge] [bare]
"""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call, attr-defined"

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bench import heading

from jupyter_serprof.api import bundle
from jupyter_serprof.experiments.graphs.stages import stage_recording

sys.path.insert(0, str(Path(__file__).parents[1]))
#: x + x.T has twice as many tasks after fusion as this has blocks squared.
EDGE = 708


def peak_mb() -> float:
    """Return the most memory that this process has held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def taken_in(dask_scheduler: Any) -> tuple[int, int]:
    """Return how many tasks a scheduler knows, and how many graphs it still takes in."""
    return len(dask_scheduler.tasks), dask_scheduler._active_graph_updates


def main(edge: int, *, is_bare: bool) -> None:
    """Record the submission of one large graph, or only submit it."""
    import dask.array as da
    from clusters.outside import outside_cluster
    from distributed import Client

    heading(f"{edge} x {edge} blocks")
    with (
        tempfile.TemporaryDirectory() as folder,
        outside_cluster(Path(folder), workers_count=0) as cluster,
        Client(cluster.address) as client,
    ):
        da.ones((4, 4), chunks=(2, 2)).sum().persist()
        before_mb = peak_mb()
        begin = time.perf_counter()
        recording = stage_recording("a million tasks")
        with nullcontext() if is_bare else recording:
            x = da.ones((edge, edge), chunks=(1, 1))
            kept = (x + x.T).persist()
            count, running = 0, 1
            while running or count < edge:
                time.sleep(2)
                count, running = client.run_on_scheduler(taken_in)
        recorded_s = time.perf_counter() - begin
        during_mb = peak_mb()
        print(f"{count:,} tasks on the scheduler after {recorded_s:.0f} s")
        print(f"peak memory grew by {during_mb - before_mb:.0f} MB (graph and futures included)")
        if is_bare:
            return
        begin = time.perf_counter()
        trace = recording.trace
        output = len(json.dumps(bundle(trace)[0]))
        print(f"{count:,} tasks on the scheduler after {recorded_s:.0f} s")
        print(
            f"peak memory grew by {during_mb - before_mb:.0f} MB while recording (graph included)"
        )
        print(f"and by {peak_mb() - during_mb:.0f} MB while it was analysed and drawn")
        print(f"analysed in {time.perf_counter() - begin:.1f} s; output {output / 1e3:.0f} kB")
        assert trace.summary is not None
        print(trace.summary.headline)
        print(*trace.summary.facts, sep="\n")
        del kept


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "bare"]
    main(int(given[0]) if given else EDGE, is_bare="bare" in sys.argv)
