"""The functions of the package; each option of a magic is a keyword of the function of its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from jupyter_serprof.capture.marks import span
from jupyter_serprof.experiments.dask_values import is_collection, list_collections, require_dask
from jupyter_serprof.experiments.graphstages import GraphStages, explained, stage_recording
from jupyter_serprof.experiments.recording import Recording
from jupyter_serprof.experiments.repeat import Repeats
from jupyter_serprof.experiments.roundtrip import RoundTrip
from jupyter_serprof.model import Sweep, Trace, UsageError, load, save_document
from jupyter_serprof.model.files import write_whole
from jupyter_serprof.views.bundle import bundle
from jupyter_serprof.views.figure import png, svg
from jupyter_serprof.views.html import html
from jupyter_serprof.views.live import Live
from jupyter_serprof.views.text import text

__all__ = [
    "GraphStages",
    "Live",
    "Recording",
    "Repeats",
    "RoundTrip",
    "bundle",
    "explained",
    "graphstages",
    "list_collections",
    "load",
    "profile",
    "record",
    "require_dask",
    "roundtrip",
    "save",
    "show",
    "span",
    "stage_recording",
]

Given = ParamSpec("Given")
Result = TypeVar("Result")


def record(name: str = "recording", *, detail: bool = False) -> Recording:
    """Record a block of code with every probe that is available.

    Parameters
    ----------
    name
        What the document is called.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart, at the price of two calls each.

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
    return Recording(name, detail=detail)


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
        result = function(*args, **kwargs)
    return result, recording.trace


def roundtrip(
    value: object,
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    name: str = "value",
    detail: bool = False,
) -> Sweep:
    """Send a value through every transport and back, cold and warm, side by side.

    Parameters
    ----------
    value
        Anything; it is not changed.
    transports
        Keys of transports, in order: ``pickle``, ``pickle-oob``, ``cloudpickle``, ``ray``,
        ``dask``, ``dask-scatter``. None takes all, those of Dask if it is imported or has a client;
        one that is not available keeps a row that says why. A named one is started if need be.
    repeat
        Warm runs of each, 1 to 1000; None runs at least 3, and more while 2 s last.
    name
        What the document calls the value.
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
    trip = RoundTrip(value, name=name, transports=transports, repeat=repeat, detail=detail)
    return trip.run()


def graphstages(
    collection: object,
    *,
    compute: bool = False,
    timeout: float | None = None,
    name: str | None = None,
    detail: bool = False,
) -> Trace:
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

    Returns
    -------
    Trace
        From construction to gather; client, scheduler and workers on one clock.

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
    What a task raises passes through. Use `record` to keep the trace then.
    """
    require_dask()
    is_maker = callable(collection) and not is_collection(collection)
    build: Callable[[], object] = collection if is_maker else lambda: collection  # type: ignore[assignment]  # checked
    known = (
        getattr(collection, "__name__", "computation") if is_maker else type(collection).__name__
    )
    title = known.replace("<lambda>", "computation") if name is None else name
    return GraphStages(build, title, compute, timeout, detail).run()


def show(document: Trace | Sweep, view: str | None = None) -> None:
    """Display a document: drawn in a notebook, as text in a terminal.

    Parameters
    ----------
    document
        A trace or a sweep, fresh or loaded.
    view
        Name of a view; None chooses the one that fits.
    """
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        print(text(document, view=view))  # noqa: T201  (there is nothing else to show it with)
        return
    data, metadata = bundle(document, view=view)
    ipython.display.display(data, metadata=metadata, raw=True)


def save(document: Trace | Sweep, path: str | os.PathLike[str]) -> None:
    """Write a document: ``.serprof.json``, ``.png`` or ``.svg`` as a picture, ``.html`` as a page.

    The page is complete in itself: it opens offline and asks for nothing.

    Raises
    ------
    UsageError
        If the file has another ending.
    DocumentError
        If the file cannot be written; what was there before is still there.
    """
    ending = os.fspath(path).lower()
    if ending.endswith(".json"):
        save_document(document, path)
    elif ending.endswith(".png"):
        write_whole(Path(path), png(document))
    elif ending.endswith(".svg"):
        write_whole(Path(path), svg(document))
    elif ending.endswith((".html", ".htm")):
        write_whole(Path(path), html(document).encode("utf-8"))
    else:
        message = (
            f"cannot tell how to save {Path(path).name!r}; end the name with .serprof.json, "
            ".html, .png or .svg, e.g. --save run.serprof.json"
        )
        raise UsageError(message)
