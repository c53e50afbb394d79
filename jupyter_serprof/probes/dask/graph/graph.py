"""Who holds the bytes of a Dask graph: as a table of the document, for graphs that were sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

from jupyter_serprof.model import Table, TableColumn
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.probes.dask.graph.sections import LARGE_BYTES

if TYPE_CHECKING:
    from jupyter_serprof.probes.dask.graph.look import GraphBytes, ObjectBytes

_GRAPHS, _SECONDS = 4, 0.3
#: Of smaller graphs it is not asked what they hold; many small things cost more than their bytes.
_KEPT_BYTES = 100_000
_COLUMNS = TableColumn.each(
    *("layer: Layer", "key: Key", "object: Object", "name: Variable", "bytes: Bytes, bytes"),
    *("share: Share, ratio", "references: References, count"),
    "crossing_bytes: Bytes to workers (predicted), bytes",
)
_TITLE = "Who holds the bytes of the graph"
_NOTE = (
    "Arrays, tables, texts and buffers of a megabyte, as they lie in memory; containers of many "
    "small things, as pickles; where that takes long, as the rest of the graph. The share is that "
    "of what was sent. References are task specifications that hold the object; each is pickled "
    "with it when it goes to a worker, unless optimization fuses or drops the task."
)


def table(found: GraphBytes, *, title: str = _TITLE) -> Table | None:
    """Return the table ``dask.graph``: the large objects, at most 20 rows; None without any."""
    # Objects that look alike share a row if their layers differ in the token only: bytes and
    # references are their sums.
    from dask.utils import key_split

    groups: dict[object, list[ObjectBytes]] = defaultdict(list)
    for entry in found.objects:
        groups[key_split(entry.layer), entry.kind, entry.name].append(entry)
    ordered = sorted(groups.values(), key=lambda alike: -sum(one.size_bytes for one in alike))
    rows = tuple(_row(alike, found.sent_bytes) for alike in ordered[:20])
    left = len(ordered) - len(rows)
    notes = [_NOTE, *([f"{left} smaller rows are left out."] if left else [])]
    notes += [f"For lack of time {late}." for late in found.not_opened]
    return Table("dask.graph", title, _COLUMNS, rows, " ".join(notes)) if rows else None


def _row(alike: list[ObjectBytes], sent_bytes: int) -> tuple[Scalar, ...]:
    first, size = alike[0], sum(entry.size_bytes for entry in alike)
    kind = first.kind if len(alike) == 1 else f"{first.kind}, {len(alike)} of them"
    references, crossing = (
        None if None in known else sum(filter(None, known))
        for known in zip(*((one.references, one.crossing_bytes) for one in alike), strict=True)
    )
    share = min(1.0, size / sent_bytes) if sent_bytes else None
    return first.layer, first.key, kind, first.name, size, share, references, crossing


_Given = tuple[ReferenceType[FunctionType], dict[str, object]]


def _habits(functions: Iterable[_Given]) -> dict[str, object]:
    """Return the first function that writes a global, makes graphs, or changes what it is given."""
    from dask.utils import key_split

    from jupyter_serprof.objects.captured import globals_written, inputs_changed, makes_graphs

    for function, given in ((known, given) for each, given in functions if (known := each())):
        writes, makes = globals_written(function), makes_graphs(function)
        places = {str(at): name for at, name in enumerate(function.__code__.co_varnames)}
        keys = {places.get(at, at): key for at, key in given.items()}
        changed = {name: sure for name, sure in inputs_changed(function).items() if name in keys}
        noted: dict[str, object] = {"writes": writes, "makes_graphs": int(makes)}
        for name in list(changed)[:1]:
            task = "" if changed[name] else key_split(keys[name])
            noted |= {"changes": name, "task": task}
        if writes or makes or changed:
            return {"function": function.__name__, **noted}
    return {}


class KeptGraphs:
    """Holds the largest graphs between sending and the end of the block: at most 4.

    Holding a graph keeps alive what is in it, futures too: `tables` lets them go.
    """

    def __init__(self) -> None:
        # Not in the call of the user.
        from jupyter_serprof.probes.dask.graph.look import functions_of

        self._functions_of = functions_of
        #: Bytes that were sent, and the graph, by its number.
        self._kept: dict[int, tuple[int, object]] = {}
        self._functions: dict[int, list[_Given]] = {}
        #: What functions of the user do that other processes do not see, by the number of a graph.
        self.details: dict[int, dict[str, object]] = {}
        #: Why a graph has no table, for the notes of the run.
        self.notes: list[str] = []

    def keep(self, computation: int, graph: object, sent_bytes: int) -> None:
        """Hold a graph if it is one of the largest, of the first small ones functions, weakly."""
        if sent_bytes < LARGE_BYTES:
            with suppress(Exception):  # a graph of another Dask
                if len(self._functions) < _GRAPHS:
                    found = self._functions_of(graph)
                    self._functions[computation] = [(ref(one), given) for one, given in found]
        if sent_bytes < _KEPT_BYTES:
            return
        self._kept[computation] = sent_bytes, graph
        if len(self._kept) > _GRAPHS:
            del self._kept[min(self._kept, key=lambda number: (self._kept[number][0], number))]

    def tables(self) -> list[Table]:
        """Return a table for each graph, in the order in which they were sent, and let them go."""
        kept, self._kept = self._kept, {}
        self.details |= {at: _habits(functions) for at, functions in self._functions.items()}
        made = [self._table(number, *kept[number], len(kept)) for number in sorted(kept)]
        return [table for table in made if table is not None]

    def _table(self, number: int, sent_bytes: int, graph: object, count: int) -> Table | None:
        from jupyter_serprof.probes.dask.graph.look import graph_bytes  # the first recording waits

        title = _TITLE if count == 1 else f"{_TITLE} of computation {number + 1}"
        try:
            return table(graph_bytes(graph, sent_bytes, seconds=_SECONDS / count), title=title)
        except Exception as error:  # noqa: BLE001  (a graph of another Dask)
            kind = type(error).__name__
            self.notes.append(f"who holds the bytes of graph {number} is not known: {kind}")
            return None
