"""Round trips, and sweeps over sizes and chunk sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.order import checked_sizes
from jupyter_serprof.experiments.remedies.forms import offered
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.experiments.sizes.subject import serializes, subject_of
from jupyter_serprof.experiments.sizes.sweep import SizeSweep
from jupyter_serprof.model import Sweep
from jupyter_serprof.objects.ask import notebook_name


def sweep(  # noqa: PLR0913  (the options of the magic)
    make: object,
    sizes: Iterable[float],
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    budget_s: float | None = None,
    name: str | None = None,
    parameter: str | None = None,
    detail: bool = False,
    seed: int | None = None,
) -> Sweep:
    """Measure the same over many sizes: how it grows, and which transport is best from where on.

    Parameters
    ----------
    make
        A function of the size. If it serializes something itself, its call is measured; if not,
        what it returns makes the round trip through the transports. Or the key of a generator, as
        ``"float64"``; or a list, array, frame or table, whose leading rows are taken.
    sizes
        What ``make`` is called with: numbers above 0; bytes for a generator, rows for a value.
    transports
        Keys of transports, in order; None takes those that are available.
    repeat
        Warm runs of each transport and size, 1 to 1000; None runs 3, and up to 5 while the budget
        lasts.
    budget_s
        Seconds for all of it; None: 60 where ``repeat`` is None, else no limit. What would take
        longer than what is left is skipped, and the document says so.
    name, parameter
        What the document calls the values, and the number: ``n``.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart.
    seed
        Of the shuffled order; None draws one. The document holds it.

    Returns
    -------
    Sweep
        One point for each run, fitted lines, crossovers, and two recordings for each transport and
        size. Lines end at the largest size that was measured.

    Raises
    ------
    UsageError
        For bad sizes, an unknown generator or transport, a bad number of runs or seconds.
    Exception
        What ``make`` raises, if it raises for every size; of some sizes the others stay.

    Notes
    -----
    The first pass goes from small to large and is cold; later passes are shuffled, so that drift of
    the machine does not look like growth. Sizes that would not fit into the memory are left out.
    After Ctrl-C, `resume` goes on with it, or gives what was measured.
    """
    given = dict(locals())  # what was asked for, all of it
    __tracebackhide__ = True
    return run(size_sweep(**given))


def size_sweep(  # noqa: PLR0913  (as sweep)
    make: object,
    sizes: Iterable[float],
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    budget_s: float | None = None,
    name: str | None = None,
    parameter: str | None = None,
    detail: bool = False,
    seed: int | None = None,
) -> SizeSweep:
    """Return the sweep that `sweep` would run, to be run, watched, stopped and gone on with."""
    __tracebackhide__ = True
    subject = subject_of(make)
    asked = checked_sizes(sizes)
    title = subject.name if name is None else name
    made = partial(
        SizeSweep,
        subject.make,
        asked,
        name=title,
        parameter=subject.parameter if parameter is None else parameter,
        transports=transports,
        repeat=repeat,
        budget_s=budget_s,
        detail=detail,
        seed=seed,
        is_bytes=subject.is_bytes,
    )
    prepared = made()  # bad options are refused before anything runs
    if not subject.is_unknown or transports is not None:
        return prepared
    is_code, first = serializes(subject.make, asked, title)
    if not is_code:
        return prepared
    return made(code=True, first=first)


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
    given = dict(locals())
    __tracebackhide__ = True
    return run(ChunkSweep(timeout_s=given.pop("timeout"), **given))


def roundtrip(
    value: object,
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    name: str = "",
    detail: bool = False,
) -> Sweep:
    """Send a value through every transport and back, cold and warm, side by side.

    Parameters
    ----------
    value
        Anything; it is not changed.
    transports
        Keys of transports, in order: ``pickle``, ``pickle-oob``, ``cloudpickle``, ``ray``,
        ``dask``, ``dask-scatter``; only when named: ``pickle4``, ``arrow``, ``lz4``, ``zstd``. None
        takes the first six, those of Dask if it is imported or has a client; one that is not
        available keeps a row that says why. A named one is started if need be. ``"all"`` takes
        every one that is available. What does not take this kind of value is skipped, with the
        reason.
    repeat
        Warm runs of each, 1 to 1000; None makes 7, or those that end within 10 s.
    name
        What the document calls the value; else as the notebook does, or ``value``.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart.

    Returns
    -------
    Sweep
        One point for each run; the cold one is never averaged with the warm ones.

    Raises
    ------
    UsageError
        For an unknown transport or a bad number of runs.
    ProbeUnavailable
        If a transport that was asked for by name cannot be started.

    Notes
    -----
    At the peak the value is held three times for an in-band transport (value, pickle, result) and
    once for out-of-band pickle, whose result aliases it. Ray's store holds one copy, and for a
    moment two: it frees that of the run before late.
    """
    name = name or notebook_name(value) or "value"
    trip = RoundTrip(value, name=name, transports=transports, repeat=repeat, detail=detail)
    return offered(run(trip), {name: value})
