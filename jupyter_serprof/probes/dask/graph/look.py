"""One look at a Dask graph: the bytes of its layers and large objects, and who holds those.

Method: one pickler with one memo pickles the pieces of the graph one after the other into a file
that only counts, so each piece gets the bytes that it adds and what is repeated counts once.
Pieces of a megabyte and more are opened; then every task is asked which large objects it holds.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, islice

from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.probes.dask.graph.holders import Large, References, label, large_objects
from jupyter_serprof.probes.dask.graph.picklers import (
    CountingPickler,
    NeedsCloudpickle,
    PicklerKind,
    pickler_kinds,
)
from jupyter_serprof.probes.dask.graph.sections import Item, Section, sections

LARGE_BYTES = 1_000_000
_SECONDS = 20.0
#: Items of a long section are counted in groups of this size: a dump of its own takes 2 us.
_STEP = 128
#: Up to this length each key is counted for itself.
_SHORT = 2_000
#: Pieces of which only materializing would tell where they go do not spoil a prediction below this.
_NEGLIGIBLE_BYTES = 100_000
_TEXT = 120


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """What a layer adds to the pickle.

    Attributes
    ----------
    crossing_bytes
        Predicted bytes of the task specifications to the workers: large objects as often as tasks
        hold them, small ones once (in a template: with each task). None if that cannot be told.
    """

    layer: str
    size_bytes: int
    crossing_bytes: int | None


@dataclass(frozen=True, slots=True)
class ObjectBytes:
    """A large object, where it was met first, and how many task specifications hold it.

    Attributes
    ----------
    key
        The key of a task, or "every task" of a layer whose template holds it.
    kind
        Type, dtype and shape.
    references
        None if only materializing would tell, or if there was no time to count them.
    """

    layer: str
    key: str
    kind: str
    size_bytes: int
    references: int | None

    @property
    def crossing_bytes(self) -> int | None:
        """Bytes to the workers: each message of a task pickles its own specification."""
        return None if self.references is None else self.size_bytes * self.references


@dataclass(frozen=True, slots=True)
class GraphBytes:
    """The bytes of a graph as it is sent.

    Attributes
    ----------
    size_bytes
        Sum over the layers; within 1 % of one pickle of what was sent, if that has 100 kB.
    not_opened
        What there was no time for, one phrase each.
    """

    size_bytes: int
    layers: tuple[LayerBytes, ...]
    objects: tuple[ObjectBytes, ...]
    not_opened: tuple[str, ...] = ()


def graph_bytes(graph: object, *, seconds: float = _SECONDS) -> GraphBytes:
    """Return who holds the bytes of a graph; it is neither changed nor materialized.

    Parameters
    ----------
    graph
        A collection, its graph, or the expression that was sent to the scheduler.
    seconds
        Time budget; a single slow reducer can exceed it.

    Raises
    ------
    UsageError
        If it is nothing of Dask.
    Exception
        Whatever the pickler raises if the graph cannot be pickled; `find_unpicklable` tells where.

    Notes
    -----
    Takes about the time of one pickle, and of half another if there are large objects. What the
    scheduler's optimization fuses or culls later is not known here: crossing bytes are predicted.
    """
    deadline = time.monotonic() + seconds
    with paused_collector():
        *first, last = pickler_kinds()
        for kind in first:
            try:
                return _GraphLook(graph, kind, deadline).result()
            except NeedsCloudpickle:
                break
            except Exception:  # noqa: BLE001, S112  (as distributed: the next pickler may do it)
                continue
        return _GraphLook(graph, last, deadline).result()


def graph_objects(graph: object, deadline: float) -> list[Found]:
    """Return the large objects of a graph themselves, for a closer look.

    Parameters
    ----------
    deadline
        On the clock of `time.monotonic`.
    """
    *_, kind = pickler_kinds()
    look = _GraphLook(graph, kind, deadline)
    look.result()
    return look.found()


@dataclass(slots=True)
class _Layer:
    """What was counted of a layer so far."""

    size_bytes: int = 0
    small_crossing_bytes: int = 0
    is_predictable: bool = True


@dataclass(slots=True)
class Found:
    """A large object and the sections that hold it."""

    large: Large
    layer: str
    key: str
    references: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    is_counted: bool = True


class _GraphLook:
    """One look at a graph with one kind of pickler."""

    def __init__(self, graph: object, kind: PicklerKind, deadline: float) -> None:
        self._graph = graph
        self._kind = kind
        self._deadline = deadline
        self._pickler = CountingPickler(kind)
        self._layers: dict[str, _Layer] = defaultdict(_Layer)
        self._found: dict[int, Found] = {}
        self._not_opened: list[str] = []

    def result(self) -> GraphBytes:
        """Count, open what is large, count references."""
        self._count()
        if self._found:
            self._count_references()
        largest = sorted(self._found.values(), key=lambda found: -found.large.size_bytes)
        layers = [self._layer(name) for name in self._layers]
        return GraphBytes(
            size_bytes=sum(layer.size_bytes for layer in layers),
            layers=tuple(sorted(layers, key=lambda layer: -layer.size_bytes)),
            objects=tuple(self._object(found) for found in largest),
            not_opened=tuple(self._not_opened),
        )

    def found(self) -> list[Found]:
        """Return what was opened."""
        return list(self._found.values())

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _count(self) -> None:
        skipped = 0
        for section in sections(self._graph):
            layer = self._layers[section.layer]
            skipped += not self._count_section(section, layer)
        if skipped:
            self._not_opened.append(f"{skipped} pieces of the graph: their bytes are not counted")

    def _count_section(self, section: Section, layer: _Layer) -> bool:
        is_short = section.has_keys and len(section.items) <= _SHORT
        items, step = iter(section.items), 1 if is_short else _STEP
        while some := list(islice(items, step)):
            if self._is_late():
                return False
            size = self._pickler.size_bytes(_pickled(section, some))
            self._add(section, layer, size)
            if size >= LARGE_BYTES and section.times != 0:  # what stays needs no rows
                self._look_closer(section, layer, some, size)
        return True

    def _add(self, section: Section, layer: _Layer, size: int) -> None:
        layer.size_bytes += size
        if section.times is not None:
            layer.small_crossing_bytes += size * section.times
        elif size > _NEGLIGIBLE_BYTES:
            layer.is_predictable = False

    def _look_closer(self, section: Section, layer: _Layer, some: list[Item], size: int) -> None:
        """Count several items for themselves, and open what is large."""
        own = CountingPickler(self._kind)
        apart = [_pickled(section, [item]) for item in some]
        sizes = [size] if len(some) == 1 else [own.size_bytes(values) for values in apart]
        for (key, value), one in zip(some, sizes, strict=True):
            if one >= LARGE_BYTES:
                inside = self._open(section, key, value)
                layer.small_crossing_bytes -= min(inside, one) * (section.times or 0)

    def _open(self, section: Section, key: object, value: object) -> int:
        """Keep the large objects of a piece; return the bytes of those that are new."""
        found, is_whole = large_objects(value, self._kind, LARGE_BYTES, self._deadline)
        where = _text(key) if section.has_keys else "every task" if _is_template(section) else ""
        if not is_whole:
            self._not_opened.append(f"{section.layer} {where}".strip())
        new = 0
        for large in found:
            lasting = self._lasting(large, value)
            if id(lasting.value) not in self._found:
                self._found[id(lasting.value)] = Found(lasting, section.layer, where)
                new += large.size_bytes
        return new

    def _lasting(self, large: Large, value: object) -> Large:
        """Return the object itself, or the innermost around it that a second pickle meets again."""
        chain = [large.value, *large.owners]
        for at, candidate in enumerate(chain, 1):
            if References([candidate], self._kind).inside(value):
                return Large(candidate, large.size_bytes, tuple(chain[at:]))
        return large

    def _count_references(self) -> None:
        founds = list(self._found.values())
        references = References([found.large.value for found in founds], self._kind)
        skipped = 0
        for section in sections(self._graph):
            if section.times == 0:
                continue
            for number, (_, value) in enumerate(section.items):
                if number % _STEP == 0 and self._is_late():
                    skipped += len(section.items) - number
                    break
                for index in references.inside(value):
                    self._refer(founds[index], section)
        if skipped:
            text = f"{skipped} tasks were not asked which large objects they hold"
            self._not_opened.append(text)
            for found in founds:
                found.is_counted = False

    def _refer(self, found: Found, section: Section) -> None:
        if section.times is None:
            found.is_counted = False
            self._layers[section.layer].is_predictable = False
        else:
            found.references[section.layer] += section.times

    def _layer(self, name: str) -> LayerBytes:
        layer = self._layers[name]
        large = sum(
            found.references.get(name, 0) * found.large.size_bytes for found in self._found.values()
        )
        crossing = layer.small_crossing_bytes + large if layer.is_predictable else None
        return LayerBytes(name, layer.size_bytes, crossing)

    def _object(self, found: Found) -> ObjectBytes:
        count = sum(found.references.values()) if found.is_counted else None
        kind = label(found.large.value)
        return ObjectBytes(found.layer, found.key, kind, found.large.size_bytes, count)


def _pickled(section: Section, items: list[Item]) -> list[object]:
    """Return what the pickle has of items: with the keys, without the names of attributes."""
    if section.has_keys:
        return list(chain.from_iterable(items))
    return [value for _, value in items]


def _is_template(section: Section) -> bool:
    return section.times is not None and section.times > 1


def _text(key: object) -> str:
    text = str(key)
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."
