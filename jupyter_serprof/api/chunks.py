"""Sweep over chunk sizes of a Dask computation: which one is best, and what limits beside it."""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_serprof.api.resumes import resumable
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.model import Sweep


def chunk_sweep(  # noqa: PLR0913  (the options of the magic)
    make: object,
    chunks: Iterable[float],
    repeat: int | None = None,
    *,
    budget_s: float | None = None,
    compute: bool = False,
    timeout: float | None = None,
    name: str | None = None,
    parameter: str = "",
    detail: bool = False,
    seed: int | None = None,
) -> Sweep:
    """Run a Dask computation with many chunk sizes and recommend one.

    Parameters
    ----------
    make
        A function of the chunk size that returns a collection which is not computed yet; or a
        collection: an array is rechunked to the number along each axis, a data frame or bag is
        repartitioned into that many partitions.
    chunks
        The chunk sizes: numbers above 0, up to 200 of them.
    repeat
        Warm runs of each size, 1 to 1000; None runs 3, and up to 5 while the budget lasts.
    budget_s
        Seconds for all of it; None: 60 where ``repeat`` is None, else no limit. What would take
        longer than what is left is skipped, and the document says so.
    compute
        Compute each collection and gather the result instead of persisting it.
    timeout
        Seconds after which one run is given up; the size counts as failed. Clusters only.
    name, parameter
        What the document calls the computation, and the number: ``chunk``.
    detail
        Look closer, at the price of some time.
    seed
        Of the shuffled order; None draws one. The document holds it.

    Returns
    -------
    Sweep
        Of kind ``chunks``. One point for each run: the time of each stage, the median bytes of a
        chunk. The finding ``dask.chunk-sweep`` has the best size, the interval of sizes that the
        runs cannot tell from it, and the stages that grow towards either side.

    Raises
    ------
    ProbeUnavailable
        If Dask is not installed.
    UsageError
        For bad sizes, for something else than a collection, and for a function that gives the same
        chunks for every size.
    Exception
        What the function or a task raises, if that happens for every size.

    Notes
    -----
    Large chunks come first, later passes are shuffled. Chunks that do not fit into a worker's
    memory and graphs of more than 200,000 tasks are left out, with the reason. Where the runs
    cannot tell, no size is recommended; of the smallest or largest size measured it is said that
    the best may lie beyond. A collection that is cut anew pays for that in each run.
    After Ctrl-C, `resume` goes on with it, or gives what was measured.

    Examples
    --------
    >>> import dask.array as da, jupyter_serprof as sp  # doctest: +SKIP
    >>> sp.chunk_sweep(  # doctest: +SKIP
    ...     lambda chunk: da.random.random((8000, 8000), chunks=chunk).sum(), [250, 500, 1000, 2000]
    ... )
    """
    __tracebackhide__ = True
    runs = ChunkSweep(
        make,
        chunks,
        name=name,
        parameter=parameter,
        repeat=repeat,
        budget_s=budget_s,
        compute=compute,
        timeout_s=timeout,
        detail=detail,
        seed=seed,
    )
    return resumable(runs)
