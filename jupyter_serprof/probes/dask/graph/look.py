"""One look at a Dask graph that was sent: its large objects, who holds them, and how often.

Nothing is pickled and no code of the user runs: pieces are read from the dictionaries of Dask's own
objects, arrays, tables and buffers say how long they are. Inside of objects of the user their
attributes are looked at, inside of functions what these capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from jupyter_serprof.objects.ask import notebook_name
from jupyter_serprof.probes.dask.graph.holders import label, large_inside, text_of
from jupyter_serprof.probes.dask.graph.sections import Section, sections

_SECONDS = 0.3


@dataclass(slots=True)
class ObjectBytes:
    """A large object, where it was met first, and how many task specifications hold it.

    Attributes
    ----------
    key
        The key of a task, or "every task" of a layer whose template holds it.
    kind
        Type, dtype and shape.
    name
        The variable of the notebook that it is, if it is one.
    size_bytes
        What it holds, as it lies in memory.
    references
        None if only materializing would tell, or if there was no time to count them.
    """

    layer: str
    key: str
    kind: str
    size_bytes: int
    references: int | None = 0
    name: str = ""

    @property
    def crossing_bytes(self) -> int | None:
        """Bytes to the workers: each message of a task pickles its own specification."""
        return None if self.references is None else self.size_bytes * self.references


@dataclass(frozen=True, slots=True)
class GraphBytes:
    """The large objects of a graph, the largest first; ``sent_bytes`` is what was written of it."""

    sent_bytes: int
    objects: tuple[ObjectBytes, ...]
    not_opened: tuple[str, ...] = ()


def graph_bytes(graph: object, sent_bytes: int, *, seconds: float = _SECONDS) -> GraphBytes:
    """Return who holds the bytes of a graph; it is neither changed nor materialized.

    Parameters
    ----------
    graph
        A collection, its graph, or the expression that was sent to the scheduler.
    sent_bytes
        The bytes of its pickle.
    seconds
        Time budget.

    Raises
    ------
    UsageError
        If it is nothing of Dask.

    Notes
    -----
    Large are arrays, tables, texts and buffers of a megabyte: many small things are not. What the
    scheduler's optimization fuses or culls later is not known here: crossing bytes are predicted.
    """
    deadline = monotonic() + seconds
    found: dict[int, ObjectBytes] = {}
    skipped = 0
    for section in sections(graph):
        if section.times == 0:  # it stays on the scheduler
            continue
        for number, (key, value) in enumerate(section.items):
            if monotonic() > deadline:
                skipped += len(section.items) - number
                break
            _refer(found, section, key, value)
    if skipped:
        for one in found.values():
            one.references = None
    late = [f"{skipped} tasks were not asked which large objects they hold"] if skipped else []
    largest = sorted(found.values(), key=lambda one: -one.size_bytes)
    return GraphBytes(sent_bytes, tuple(largest), tuple(late))


def _refer(found: dict[int, ObjectBytes], section: Section, key: object, value: object) -> None:
    """Count one more holder, with what it is a template of, for each large object in a piece."""
    for large, size in large_inside(value):
        one = found.get(id(large))
        if one is None:
            where = text_of(section, key)
            one = ObjectBytes(section.layer, where, label(large), size, name=notebook_name(large))
            found[id(large)] = one
        if section.times is None or one.references is None:
            one.references = None
        else:
            one.references += section.times
