"""Recordings of a block of code, of one call, and of the stages of a Dask computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar, Unpack, overload

from jupyter_serprof.capture.patching import listening
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from jupyter_serprof.experiments.engine.live import Told
    from jupyter_serprof.model import Sweep, Trace
    from jupyter_serprof.model.live import LiveFacts

Given = ParamSpec("Given")
Result = TypeVar("Result")


def record(
    name: str = "recording",
    *,
    detail: bool = False,
    blame: bool = False,
    live: Callable[[LiveFacts], object] | bool | None = False,
) -> Recording:
    """Record a block of code with every probe that is available.

    Parameters
    ----------
    name
        What the document is called.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart, at the price of two calls each.
    blame
        Hold the three largest values that cross until ``recording.trace`` is asked for, and open
        them then.
    live
        From one second on, True shows a line with what runs, how far it is, what is left, and why
        nothing moves (in a notebook or a terminal); a function is called with the same as
        `LiveFacts`, from another thread, four times a second at most. ``SERPROF_LIVE=0`` in the
        environment turns both off.

    Returns
    -------
    Recording
        A context manager; after the block, ``recording.trace`` is the document.

    Examples
    --------
    >>> import pickle
    >>> with record("two pickles") as recording:
    ...     data = pickle.dumps([1, 2, 3])
    >>> [span.stage for span in recording.trace.spans]
    ['pickle.dumps']
    """
    recording = _kind(blame=blame)(name, detail=detail)
    recording.live = teller(live, name)
    return recording


def teller(live: Callable[[LiveFacts], object] | bool | None, name: str) -> Told | None:
    """Return what is told while something runs: a function, a line of ours, or nothing."""
    if live is True:
        from jupyter_serprof.views.notebook.live import Live

        return Live(name).tell
    if live not in (None, False) and not callable(live):
        message = "live wants True, for a line, or a function of one argument, a LiveFacts"
        raise UsageError(message)
    return live if callable(live) else None


def _kind(*, blame: bool) -> type[Recording]:
    if not blame:
        return Recording
    from jupyter_serprof.experiments.blame.recording import BlamingRecording

    return BlamingRecording


def stage_recording(name: str, *, detail: bool = False, blame: bool = False) -> Recording:
    """Record a block as `record` does, and how its Dask graphs are built."""
    from jupyter_serprof.experiments.graphs import stages

    return stages.stage_recording(name, detail=detail, kind=_kind(blame=blame))


def profile(
    function: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs
) -> tuple[Result, Trace]:
    """Call a function and see where its serialization time went.

    Returns
    -------
    tuple
        What the function returned, and the trace. If it raises, the exception passes through; use
        `record` to keep the trace then.
    """
    with record(getattr(function, "__name__", type(function).__name__)) as recording:
        result = listening(function)(*args, **kwargs)
    return result, recording.trace


class _StageOptions(TypedDict, total=False):
    compute: bool
    timeout: float | None
    name: str | None
    detail: bool
    live: Callable[[LiveFacts], object] | bool | None


@overload
def graphstages(
    collection: object, *, repeat: None = None, **options: Unpack[_StageOptions]
) -> Trace: ...
@overload
def graphstages(collection: object, *, repeat: int, **options: Unpack[_StageOptions]) -> Sweep: ...
def graphstages(  # noqa: PLR0913  (the options of the magic)
    collection: object,
    *,
    compute: bool = False,
    timeout: float | None = None,
    name: str | None = None,
    detail: bool = False,
    repeat: int | None = None,
    live: Callable[[LiveFacts], object] | bool | None = False,
) -> Trace | Sweep:
    """Persist a Dask collection, wait for it, and see every stage on the way.

    Parameters
    ----------
    collection
        A Dask collection (array, dataframe, bag, delayed), a list of them, a future, or a function
        without arguments that returns one: then the construction is seen too.
    compute
        Compute it and gather the result instead of persisting it. What was made here is released
        in both cases.
    timeout
        Seconds to wait for a cluster, above 0; None waits as long as it takes.
    name
        What the document calls it; None takes the name of its type, or of the function.
    detail
        Look closer, at the price of some time.
    repeat
        Run it once cold and this often warm, 1 to 1000; what a run made is released before the
        next one. Compare two such documents with `compare`.
    live
        As of `record`.

    Returns
    -------
    Trace or Sweep
        From construction to gather; client, scheduler and workers on one clock. With ``repeat`` a
        point for each run.

    Raises
    ------
    ProbeUnavailable
        If Dask is not installed.
    UsageError
        For something else than a collection, for an asynchronous client (await it inside
        ``with sp.record()`` instead), and for a timeout where a local scheduler runs it.
    ComputationTimeoutError
        If it was not done in time; its futures were released.

    Notes
    -----
    What a task raises passes through. Use `record` to keep the trace then; after Ctrl-C, `resume`.
    """
    from jupyter_serprof.experiments.engine.experiment import kept, run
    from jupyter_serprof.experiments.graphs.repeats import GraphRepeats
    from jupyter_serprof.experiments.graphs.stages import GraphStages
    from jupyter_serprof.experiments.graphs.values import is_collection, require_dask

    require_dask()
    is_maker = callable(collection) and not is_collection(collection)
    build: Callable[[], object] = collection if is_maker else lambda: collection  # type: ignore[assignment]  # checked
    own = collection if is_maker else type(collection)
    known: str = getattr(own, "__name__", "computation")
    title = known.replace("<lambda>", "computation") if name is None else name
    tell = teller(live, title)
    if repeat is not None:
        runs = GraphRepeats(build, title, detail, repeat=repeat, compute=compute, timeout_s=timeout)
        return run(runs, live=tell)
    stages = GraphStages(build, title, compute, timeout, detail)
    with kept(lambda: stages.document):
        return run(stages, live=tell)
