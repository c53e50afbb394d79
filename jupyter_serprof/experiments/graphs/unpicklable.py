"""A graph that could not be sent: which object in it cannot be pickled, by layer, key and path."""

from __future__ import annotations

from collections.abc import Iterator
from traceback import walk_tb

from jupyter_serprof.model import UsageError
from jupyter_serprof.objects.culprits import culprits_text, find_culprits
from jupyter_serprof.probes.dask.graph.culprit import find_unpicklable

_SECONDS = 2.0
#: Where Dask pickles what it sends, and what it calls that there (distributed 2024.8 to 2026.8).
_MODULE, _FUNCTION, _VALUE = "distributed.protocol.serialize", "serialize", "x"


def unpicklable_notes(error: BaseException) -> list[str]:
    """Return a sentence that names the object, none for any other error.

    Notes
    -----
    The graph is found in the tracebacks of the causes (Dask shortens its own), so that also a cell
    that computes by itself has its note. It takes 3 s at most; the graph is pickled into nowhere,
    piece by piece, and nothing of it is kept.
    """
    graph = next(_unsent(error), None)
    if graph is None:
        return []
    try:
        found = find_unpicklable(graph, seconds=_SECONDS)
    except UsageError:  # something else was sent
        return []
    if found is None:
        return []
    place = " -> ".join(step for step in (found.layer, found.key) if step)
    said = culprits_text(find_culprits(found.value, found.argument or "the value"))
    return [f"the graph was not sent. {place} {said or 'cannot be pickled'}"]


def _unsent(error: BaseException | None) -> Iterator[object]:
    """Yield what was being pickled when one of the causes was raised, the outermost first."""
    while error is not None:
        for frame, _ in walk_tb(error.__traceback__):
            is_place = frame.f_globals.get("__name__") == _MODULE
            if is_place and frame.f_code.co_name == _FUNCTION:
                yield frame.f_locals.get(_VALUE)
        error = error.__cause__
