"""The objects that a Dask graph embeds, opened: layer -> key -> object -> path inside it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.experiments.blame.recording import anatomies_of, with_anatomies
from jupyter_serprof.experiments.graphs.values import collections_in
from jupyter_serprof.model import Trace
from jupyter_serprof.probes.dask.graph.look import LARGE_BYTES, Found, graph_objects

_OPENED = 3
_SECONDS = 20.0
#: Dask's names end in a hash, of which the beginning tells them apart.
_HASH = re.compile(
    r"\b([0-9a-f]{6})(?:[0-9a-f]{10,}|[0-9a-f]{2}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)


def blame_graph(trace: Trace, value: object) -> Trace:
    """Return the trace of a computation with the anatomies of what its graph embeds.

    Parameters
    ----------
    value
        A Dask collection, or several. Its graph is neither changed nor materialized.
    """
    collections = collections_in(value)
    found = [one for collection in collections for one in _embedded(collection)]
    largest = sorted(found, key=lambda one: -one[2])[:_OPENED]
    anatomies = anatomies_of([value for _, value, _ in largest], [name for name, _, _ in largest])
    notes = [] if anatomies else [_nothing(collections)]
    return with_anatomies(trace, anatomies, notes)


def _embedded(collection: object) -> list[tuple[str, object, int]]:
    """Return (layer -> key -> type, object, bytes) of the large objects of a graph."""
    deadline = time.monotonic() + _SECONDS
    try:
        with paused_collector():
            found = graph_objects(collection, deadline)
    except Exception:  # noqa: BLE001  (a graph that cannot be pickled is told by the run itself)
        return []
    outer = {id(_outermost(one)): one for one in found}
    return [
        (_name(one.layer, one.key, _outermost(one)), _outermost(one), one.large.size_bytes)
        for one in outer.values()
    ]


def _outermost(found: Found) -> object:
    """Return the object of the user that a task holds, of which the large one is a part."""
    return found.large.owners[-1] if found.large.owners else found.large.value


def _name(layer: str, key: str, value: object) -> str:
    """Return where it is; the hash of a key of Dask is cut."""
    named = dict.fromkeys(_HASH.sub(r"\1…", step) for step in (layer, key) if step)
    return " -> ".join((*named, f"<{type(value).__name__}>"))


def _nothing(collections: Sequence[object]) -> str:
    if not collections:
        return "--blame opens what a Dask collection embeds, and there is none to open"
    return f"the graph embeds no object of {LARGE_BYTES:,} bytes or more: nothing to open"
