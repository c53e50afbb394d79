"""What can be known of the chunks of a collection without computing or materializing anything."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

from jupyter_serprof.experiments.graphs.values import graph_of

Chunks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ChunkLook:
    """The chunks of the largest array in a graph, or the partitions of a frame or bag.

    What cannot be known without computing is None. ``marks`` is equal where the chunks of two
    collections are; None where nobody can tell.
    """

    chunk_bytes: int | None = None
    largest_bytes: int | None = None
    chunks: int | None = None
    tasks: int | None = None
    result_bytes: int | None = None
    marks: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The chunks of one array and the bytes of one of its elements."""

    chunks: Chunks
    item_bytes: int

    @property
    def total_bytes(self) -> int:
        return math.prod(sum(axis) for axis in self.chunks) * self.item_bytes

    @property
    def median_bytes(self) -> int:
        """The product of the median lengths: exact where chunks are equal but at the edges."""
        lengths = (statistics.median_high(axis) for axis in self.chunks if axis)
        return math.prod(lengths) * self.item_bytes

    @property
    def largest_bytes(self) -> int:
        return math.prod(max(axis, default=0) for axis in self.chunks) * self.item_bytes

    @property
    def count(self) -> int:
        return math.prod(map(len, self.chunks))


def look_at(collections: Sequence[Any]) -> ChunkLook:
    """Look at collections that are computed together.

    Notes
    -----
    The end of a graph is often one number: the chunks are those of the largest array on the way,
    which Dask keeps with each layer; of equal ones the last. Data frames and bags only tell their
    partitions.

    Source: dask 2026.8, dask.array.core.Array.__new__, ``Layer.collection_annotations``.
    """
    graphs = [graph for each in collections if (graph := graph_of(each)) is not None]
    results = [_own_blocks(each) for each in collections]
    blocks = [found for found in results if found]
    blocks += [found for graph in graphs for found in _blocks_of(graph)]
    tasks = sum(map(len, graphs)) if len(graphs) == len(collections) else None
    result_bytes = sum(each.total_bytes for each in results if each) if all(results) else None
    if not blocks:
        count = _partitions(collections)
        marks = None if count is None else (count, tasks)
        return ChunkLook(chunks=count, tasks=tasks, marks=marks)
    largest = max(blocks, key=lambda each: each.total_bytes)
    return ChunkLook(
        largest.median_bytes,
        largest.largest_bytes,
        largest.count,
        tasks,
        result_bytes,
        (largest.chunks, largest.item_bytes, tasks),
    )


def _blocks_of(graph: Any) -> Iterable[_Blocks]:  # noqa: ANN401
    """Yield the arrays of a graph from its end to its beginning."""
    layers, below = getattr(graph, "layers", {}), getattr(graph, "dependencies", {})
    used = {name for names in below.values() for name in names}
    waiting, seen = deque(name for name in layers if name not in used), set[object]()
    while waiting:
        name = waiting.popleft()
        if name in seen:
            continue
        seen.add(name)
        waiting.extend(below.get(name, ()))
        known = getattr(layers.get(name), "collection_annotations", None) or {}
        found = _blocks(known.get("chunks"), known.get("dtype"))
        if found:
            yield found


def _own_blocks(collection: Any) -> _Blocks | None:  # noqa: ANN401
    # A Delayed would make a new Delayed of any attribute.
    if "chunks" not in dir(type(collection)):
        return None
    return _blocks(collection.chunks, getattr(collection, "dtype", None))


def _blocks(chunks: object, dtype: object) -> _Blocks | None:
    """Return chunks whose lengths are all known; unknown ones are NaN."""
    item_bytes = getattr(dtype, "itemsize", None)
    if not isinstance(chunks, tuple) or not isinstance(item_bytes, int):
        return None
    axes = cast("tuple[tuple[object, ...], ...]", chunks)
    if not all(isinstance(length, Integral) for axis in axes for length in axis):
        return None
    return _Blocks(cast("Chunks", chunks), item_bytes)


def _partitions(collections: Sequence[Any]) -> int | None:
    counts = []
    for collection in collections:
        # A Delayed would make a new Delayed of any attribute.
        if "npartitions" not in {*dir(type(collection)), *getattr(collection, "__dict__", {})}:
            return None
        with suppress(Exception):  # it may have to compute them
            counts.append(collection.npartitions)
    known = [count for count in counts if isinstance(count, int)]
    return max(known) if known and len(known) == len(collections) else None
