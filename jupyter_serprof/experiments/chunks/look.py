"""The chunks of a collection: what is known without computing, and how they are cut anew."""

from __future__ import annotations

import math
import os
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.experiments.chunks.words import BEST
from jupyter_serprof.experiments.graphs.values import client_of, graph_of, is_collection
from jupyter_serprof.model import SerprofError, UsageError
from jupyter_serprof.model.units import counted, format_bytes, format_count

Chunks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ChunkLook:
    """The chunks of the largest array in a graph, or the partitions of a frame or bag.

    What cannot be known without computing is None. ``marks`` is equal where the chunks of two
    collections are; None where unknown.
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

    def bytes_by(self, length: Callable[[tuple[int, ...]], int]) -> int:
        """Return the bytes of so many elements along each axis."""
        return math.prod(map(length, self.chunks)) * self.item_bytes


def look_at(collections: Sequence[Any]) -> ChunkLook:
    """Look at collections that are computed together.

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
    result_bytes = sum(each.bytes_by(sum) for each in results if each) if all(results) else None
    if not blocks:
        count = _partitions(collections)
        marks = None if count is None else (count, tasks)
        return ChunkLook(chunks=count, tasks=tasks, marks=marks)
    largest = max(blocks, key=lambda each: each.bytes_by(sum))
    return ChunkLook(
        # Exact where chunks are equal but at the edges.
        largest.bytes_by(statistics.median_high),
        largest.bytes_by(max),
        math.prod(map(len, largest.chunks)),
        tasks,
        result_bytes,
        (largest.chunks, largest.item_bytes, tasks),
    )


def _blocks_of(graph: Any) -> Iterable[_Blocks]:  # noqa: ANN401
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
        if found := _blocks(known.get("chunks"), known.get("dtype")):
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
    if not all(axis and all(isinstance(length, Integral) for length in axis) for axis in axes):
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


#: A graph of more tasks keeps a scheduler busy for minutes (facts: 1 ms a task).
MOST_TASKS = 200_000
#: A thread holds a chunk and what it makes of it.
_COPIES = 2
#: A worker pauses there (``distributed.worker.memory.pause``).
_SHARE = 0.8


class LeftOutError(SerprofError):
    """A chunk size that is not tried; the message says why."""


@dataclass(frozen=True, slots=True)
class WorkerBound:
    """The memory and the threads of the smallest worker; of this process without a cluster.

    ``memory_bytes`` is None where it is not limited or unknown.
    """

    memory_bytes: int | None
    threads: int
    is_cluster: bool

    @property
    def text(self) -> str:
        """The bound in words; "" where there is none."""
        if self.memory_bytes is None:
            return ""
        where = "a worker" if self.is_cluster else "this process"
        threads = counted(self.threads, "thread")
        return (
            f"chunks up to {format_bytes(self.most_bytes(self.threads))} fit: {where} has "
            f"{format_bytes(self.memory_bytes)} for {threads}, and each holds a chunk and what is "
            "made of it"
        )

    def most_bytes(self, chunks: int | None) -> int | None:
        """Return the largest chunk that fits, at this number of ``chunks``."""
        if self.memory_bytes is None:
            return None
        at_once = max(1, min(self.threads, self.threads if chunks is None else chunks))
        return int(_SHARE * self.memory_bytes / _COPIES / at_once)

    def check(self, look: ChunkLook) -> None:
        """Raise `LeftOutError` for a chunk that is too large, or a graph of too many tasks."""
        most, largest = self.most_bytes(look.chunks), look.largest_bytes
        if most is not None and largest is not None and largest > most:
            message = f"left out: the largest chunk has {format_bytes(largest)}; {self.text}"
            raise LeftOutError(message)
        held = look.result_bytes
        if not self.is_cluster and held and self.memory_bytes and held > _SHARE * self.memory_bytes:
            message = (
                f"left out: the result has {format_bytes(held)}, and this process has "
                f"{format_bytes(self.memory_bytes)} free"
            )
            raise LeftOutError(message)
        count = look.tasks if look.tasks is not None else look.chunks
        if count is not None and count > MOST_TASKS:
            raise LeftOutError(too_many(count))


def too_many(count: float, about: str = "") -> str:
    """Say that a graph has too many tasks."""
    return f"left out: {about}{format_count(round(count))} tasks, more than {MOST_TASKS:,}"


def worker_bound(collections: Sequence[Any]) -> WorkerBound:
    """Return the bound of whatever would compute collections."""
    client = client_of(collections)
    if client is None:
        return WorkerBound(available_bytes(), os.cpu_count() or 1, is_cluster=False)
    workers: list[dict[str, Any]] = []
    with suppress(Exception):  # an asynchronous client, or one that was closed: told when it runs
        workers = list(client.scheduler_info()["workers"].values())
    limits = [worker.get("memory_limit") or 0 for worker in workers]
    threads = max((worker.get("nthreads") or 1 for worker in workers), default=1)
    memory = min((limit for limit in limits if limit > 0), default=None)
    return WorkerBound(memory, threads, is_cluster=True)


Maker = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class ChunkSubject:
    """What gives a collection for each chunk size.

    ``remedy``: A line of code with ``<best>`` where the best size goes.
    ``code``: What a line that sweeps again says.
    ``is_count``: The number is one of partitions: larger ones make smaller chunks.
    """

    make: Maker
    name: str
    parameter: str
    remedy: str
    code: str
    is_count: bool = False


def chunk_subject(
    make: object, name: str | None = None, parameter: str = "", code: str = ""
) -> ChunkSubject:
    """Return what is swept.

    ``make``: A function of the chunk size that returns a collection, or a collection: an array is
        rechunked to the number along each axis, a data frame or bag repartitioned into that number.
    ``name``, ``parameter``: What the document calls it, and the number; None and "" take what fits.
    Raises ``UsageError``: For something else, and for a collection that has no chunks.
    """
    if is_collection(make):
        return _cut_anew(make, name, parameter, code)
    if not callable(make):
        message = (
            f"a value of type {type(make).__name__} has no chunks; sweep a function of the "
            "chunk size or a Dask collection: sp.chunk_sweep(lambda chunk: da.ones((8000, 8000), "
            "chunks=chunk).sum(), [500, 1000, 2000])"
        )
        raise UsageError(message)
    own = getattr(make, "__name__", type(make).__name__).replace("<lambda>", "computation")
    variable = parameter or "chunk"
    called = f"{own}({variable})"
    typed = code or called.replace("computation(", "make(")
    remedy = f"{variable} = {BEST}   # then: {typed}"
    return ChunkSubject(make, name or called, variable, remedy, typed, "part" in variable)


def _cut_anew(collection: Any, name: str | None, parameter: str, code: str) -> ChunkSubject:  # noqa: ANN401
    typed = code or name or "x"
    variable = typed if typed.isidentifier() else "x"
    title = name or type(collection).__name__
    axes = getattr(collection, "ndim", None)  # of something delayed: delayed as well
    is_scalar = isinstance(axes, int) and axes == 0
    ways = [] if is_scalar else [way for way in _CUTS if way in dir(type(collection))]
    if way := next(iter(ways), ""):
        known, argument, is_count = _CUTS[way]

        def cut(size: float) -> object:
            return getattr(collection, way)(**{argument: round(size)})

        said = f"{argument}={BEST}" if is_count else BEST
        remedy = f"{variable} = {variable}.{way}({said})"
        return ChunkSubject(cut, title, parameter or known, remedy, typed, is_count)
    kind = "scalar" if is_scalar else type(collection).__name__
    message = (
        f"a {kind} has no chunks to choose; sweep a function of the chunk "
        "size that returns one: %graphstages --sweep chunk=100:4000:8 make(chunk)"
    )
    raise UsageError(message)


#: How a collection is cut anew: what the number is called, the argument, and whether it is a count.
_CUTS = {"rechunk": ("chunk", "chunks", False), "repartition": ("npartitions", "npartitions", True)}
