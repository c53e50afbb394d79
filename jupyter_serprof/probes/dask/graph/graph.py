"""Who holds the bytes of a Dask graph: as a table of the document, for graphs that were sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from jupyter_serprof.model import Table, TableColumn
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.probes.dask.graph.look import (
    LARGE_BYTES,
    GraphBytes,
    LayerBytes,
    ObjectBytes,
    graph_bytes,
)

Entry = TypeVar("Entry", LayerBytes, ObjectBytes)

_ROWS = 20
#: Most rows for objects: the layers shall be seen as well.
_OBJECT_ROWS = 12
_GRAPHS = 4
_SECONDS = 10.0
_COLUMNS = (
    TableColumn("layer", "Layer"),
    TableColumn("key", "Key"),
    TableColumn("object", "Object"),
    TableColumn("bytes", "Bytes", "bytes"),
    TableColumn("share", "Share", "ratio"),
    TableColumn("references", "References", "count"),
    TableColumn("crossing_bytes", "Bytes to workers (predicted)", "bytes"),
)
_NOTE = (
    "Bytes of the pickle, what is repeated counted once. References are task specifications that "
    "hold the object; each is pickled with it when it goes to a worker, unless optimization fuses "
    "or drops the task."
)


def table(found: GraphBytes, *, title: str = "Who holds the bytes of the graph") -> Table:
    """Return the table ``dask.graph``: the large objects, then the layers, at most 20 rows.

    Objects that look alike share a row if their layers differ in the token only, and so do layers
    if they are too many: bytes and references are their sums.
    """
    from dask.utils import key_split

    groups = _grouped(found.objects, lambda entry: (key_split(entry.layer), entry.kind))
    objects = [_object_row(alike, found.size_bytes) for alike in groups]
    shown = objects[:_OBJECT_ROWS]
    left = _ROWS - len(shown)
    is_long = len(found.layers) > left
    names = _grouped(found.layers, lambda entry: key_split(entry.layer) if is_long else entry)
    layers = [_layer_row(alike, found.size_bytes) for alike in names]
    rows = (*shown, *layers[:left])
    note = _note(found, len(objects) + len(layers) - len(rows))
    return Table("dask.graph", title, _COLUMNS, rows, note)


def _grouped(entries: Iterable[Entry], key: Callable[[Entry], object]) -> list[list[Entry]]:
    """Put together what has the same key; the largest sum first."""
    groups: dict[object, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return sorted(groups.values(), key=lambda alike: -sum(entry.size_bytes for entry in alike))


def _object_row(alike: list[ObjectBytes], total: int) -> tuple[Scalar, ...]:
    first, size = alike[0], sum(entry.size_bytes for entry in alike)
    kind = first.kind if len(alike) == 1 else f"{first.kind}, {len(alike)} of them"
    references = _sum(entry.references for entry in alike)
    crossing = _sum(entry.crossing_bytes for entry in alike)
    return first.layer, first.key, kind, size, _share(size, total), references, crossing


def _layer_row(alike: list[LayerBytes], total: int) -> tuple[Scalar, ...]:
    first, size = alike[0], sum(entry.size_bytes for entry in alike)
    name = first.layer if len(alike) == 1 else f"{first.layer} and {len(alike) - 1} like it"
    crossing = _sum(entry.crossing_bytes for entry in alike)
    return name, "", "", size, _share(size, total), None, crossing


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _share(size: int, total: int) -> float | None:
    return size / total if total else None


def _note(found: GraphBytes, left: int) -> str:
    notes = [_NOTE]
    if left > 0:
        notes.append(f"{left} smaller rows are left out.")
    if found.not_opened:
        more = f" and {len(found.not_opened) - 3} more" if len(found.not_opened) > 3 else ""  # noqa: PLR2004
        notes.append(f"Not opened, for lack of time: {'; '.join(found.not_opened[:3])}{more}.")
    return " ".join(notes)


class KeptGraphs:
    """Holds the largest graphs between sending and freezing: at most 4, none below a megabyte.

    Holding a graph keeps alive what is in it, futures too: `clear` when the run is frozen.
    """

    def __init__(self) -> None:
        #: Bytes that were sent, and the graph, by its number.
        self._kept: dict[int, tuple[int, object]] = {}
        #: Why a graph has no table, for the notes of the run.
        self.notes: list[str] = []

    def __len__(self) -> int:
        """Return how many graphs are held."""
        return len(self._kept)

    def keep(self, computation: int, graph: object, sent_bytes: int) -> None:
        """Hold a graph if it is one of the largest; called in a hook, so it does nothing else."""
        if sent_bytes < LARGE_BYTES:
            return
        self._kept[computation] = sent_bytes, graph
        if len(self._kept) > _GRAPHS:
            del self._kept[min(self._kept, key=lambda number: (self._kept[number][0], number))]

    def tables(self, *, seconds: float = _SECONDS) -> list[Table]:
        """Return a table for each graph, in the order in which they were sent.

        A graph that cannot be pickled any more has none: the user may have changed it meanwhile.
        """
        share = seconds / max(1, len(self._kept))
        return [table for number in sorted(self._kept) for table in self._table(number, share)]

    def clear(self) -> None:
        """Let the graphs go."""
        self._kept.clear()

    def _table(self, computation: int, seconds: float) -> list[Table]:
        try:
            found = graph_bytes(self._kept[computation][1], seconds=seconds)
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            kind = type(error).__name__
            self.notes.append(f"who holds the bytes of graph {computation} is not known: {kind}")
            return []
        title = "Who holds the bytes of the graph"
        many = f"{title} of computation {computation + 1}"
        return [table(found, title=title if len(self) == 1 else many)]
