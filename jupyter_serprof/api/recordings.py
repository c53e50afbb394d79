"""Record a block of code, or one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from jupyter_serprof.experiments.blame.recording import BlamingRecording
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.graphs import stages
from jupyter_serprof.model import Trace

Given = ParamSpec("Given")
Result = TypeVar("Result")


def record(name: str = "recording", *, detail: bool = False, blame: bool = False) -> Recording:
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
    return (BlamingRecording if blame else Recording)(name, detail=detail)


def stage_recording(name: str, *, detail: bool = False, blame: bool = False) -> Recording:
    """Record a block as `record` does, and how its Dask graphs are built."""
    kind = BlamingRecording if blame else Recording
    return stages.stage_recording(name, detail=detail, kind=kind)


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
