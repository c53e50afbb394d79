"""A collection with fewer, larger chunks: which can be made, and why one cannot.

An array is made again from its sources on (`dask_larger_chunks`); a data frame that begins with
`from_pandas` is made with fewer partitions. What cannot be made again is suggested only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jupyter_serprof.experiments.chunks.look import ChunkLook, LeftOutError, look_at, worker_bound
from jupyter_serprof.experiments.graphs.values import graph_of, has_expression
from jupyter_serprof.experiments.remedies.larger_chunks import (
    NotRemadeError,
    merged,
    with_larger_chunks,
)
from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.culprits import told

FACTORS = (2, 4, 8)
#: Above this a chunk is not small: who has made it so had a reason.
_SMALL_BYTES = 16_000_000


class Cut(NamedTuple):
    """A collection with fewer, larger chunks.

    ``joined`` are the steps whose parts are made as before and put together in one task.
    """

    key: str
    collection: Any
    chunks: int
    chunk_bytes: int | None
    code: str
    joined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cuts:
    """What can be tried; ``notes`` say what was left out, ``reason`` why there is nothing."""

    found: tuple[Cut, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    chunks: int | None = None
    chunk_bytes: int | None = None

    def hint(self, name: str) -> Finding | None:
        """Return the suggestion where small chunks cannot be tried; None where none is due."""
        if self.found or not self.reason or self.chunks is None or self.chunk_bytes is None:
            return None
        if self.chunk_bytes > _SMALL_BYTES:
            return None
        return Finding(
            "dask.tiny-tasks",
            "info",
            f"{name} has {format_count(self.chunks)} chunks of {format_bytes(self.chunk_bytes)}; "
            f"fewer, larger ones make fewer tasks. Not tried: {self.reason}",
            {"chunks": self.chunks, "chunk_bytes": self.chunk_bytes},
            f"%graphstages --sweep chunk=100:1000:5 make(chunk)   # make: a function of yours that "
            f"makes {name} with such chunks",
        )


def cuts_of(collection: Any, client: Any, name: str) -> Cuts:  # noqa: ANN401
    """Return the collection with 2, 4 and 8 chunks of each axis in one, as far as memory allows.

    Parameters
    ----------
    collection
        An array or a data frame of Dask; neither is changed, computed or materialized. Of anything
        else nothing can be made.
    client
        Its cluster: with no more chunks than threads there is nothing to be gained.
    name
        What the lines to paste call it.
    """
    methods = dir(type(collection))
    is_array = "rechunk" in methods
    if not is_array and "repartition" not in methods:
        return Cuts()
    if not is_array and not has_expression(collection):
        kind = type(collection).__name__
        note = f"fewer partitions were not tried: a {kind} does not tell how it was cut"
        return Cuts(notes=(note,))
    look = look_at([collection])
    try:
        look = look if is_array else _looked_frame(collection)
        nothing = Cuts(chunks=look.chunks, chunk_bytes=look.chunk_bytes)
        if look.chunks is None or look.chunks <= sum(client.nthreads().values()):
            return nothing
        makes = _arrays if is_array else _frames
        return replace(nothing, **_sorted(makes(collection, look, name), look.chunks))
    except NotRemadeError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001  (another version of Dask, a collection of others)
        reason = f"its graph is not understood: {told(error)}"
    notes = () if is_array else (f"fewer partitions were not tried: {reason}",)
    return Cuts(notes=notes, reason=reason, chunks=look.chunks, chunk_bytes=look.chunk_bytes)


def _sorted(made: Iterator[Cut | str], chunks: int) -> dict[str, Any]:
    """Keep what has fewer chunks than the one before, and what was said of others."""
    found: list[Cut] = []
    notes: list[str] = []
    for cut in made:
        if isinstance(cut, str):
            notes.append(cut)
        elif cut.chunks < (found[-1].chunks if found else chunks):
            found.append(cut)
    return {"found": tuple(found), "notes": tuple(notes)}


def _arrays(array: Any, look: ChunkLook, name: str) -> Iterator[Cut | str]:  # noqa: ANN401
    bound = worker_bound([array])
    for factor in FACTORS:
        larger = _looked_larger(array, look, factor)
        try:
            bound.check(larger)
        except LeftOutError as error:
            yield f"{factor} times the chunk length was {error}"
            return
        made, joined = with_larger_chunks(array, factor)
        code = _array_code(array, factor, name)
        key = f"dask-chunks-{factor}"
        yield Cut(key, made, larger.chunks or 1, larger.chunk_bytes, code, tuple(joined))


def _looked_larger(array: Any, look: ChunkLook, factor: int) -> ChunkLook:  # noqa: ANN401
    """Return what the chunks of the largest array would be, before anything is made."""
    item_bytes = look.marks[1] if look.marks else None
    cut = [merged(axes, factor) for axes in _chunks_in(array)]
    most = max(math.prod(max(axis, default=0) for axis in axes) for axes in cut)
    size = most * item_bytes if isinstance(item_bytes, int) else None
    return ChunkLook(size, size, max(math.prod(map(len, axes)) for axes in cut))


def _chunks_in(array: Any) -> Iterator[tuple[tuple[int, ...], ...]]:  # noqa: ANN401
    """Yield the chunks of all arrays of a graph whose sizes are known."""
    yield array.chunks
    layers = getattr(graph_of(array), "layers", {})
    for layer in layers.values():
        chunks = (getattr(layer, "collection_annotations", None) or {}).get("chunks")
        if isinstance(chunks, tuple) and all(isinstance(n, int) for axis in chunks for n in axis):
            yield chunks


def _array_code(array: Any, factor: int, name: str) -> str:  # noqa: ANN401
    largest = max(_chunks_in(array), key=lambda axes: math.prod(map(sum, axes)))
    old = tuple(max(axis) for axis in largest)
    new = tuple(max(axis) for axis in merged(largest, factor))
    return f"chunks = {new}   # for the arrays that {name} begins with, where it is {old} now"


def _looked_frame(frame: Any) -> ChunkLook:  # noqa: ANN401
    """Return the partitions of what a data frame begins with, where that is `from_pandas`."""
    from dask.dataframe.dask_expr.io.io import FromPandas

    sources = _sources(frame)
    others = {type(node).__name__ for node in sources if type(node) is not FromPandas}
    steps = {type(node).__name__ for node in frame.expr.walk()}
    others |= {step for step in steps if step.startswith(("Repartition", "Partitions"))}
    if others:
        message = f"its step {min(others)} has the partitions that there are"
        raise NotRemadeError(message)
    count = max(node.npartitions for node in sources)
    size = max(map(_frame_bytes, sources)) // count
    return ChunkLook(size, size, count)


def _sources(frame: Any) -> list[Any]:  # noqa: ANN401
    return list({node._name: node for node in leaves(frame.expr)}.values())  # noqa: SLF001  (its key)


def _frames(frame: Any, look: ChunkLook, name: str) -> Iterator[Cut | str]:  # noqa: ANN401
    total = (look.chunk_bytes or 0) * (look.chunks or 1)
    most = worker_bound([frame]).most_bytes(None)
    for factor in FACTORS:
        expression, count = frame.expr, 1
        for node in _sources(frame):
            count = max(count, -(-node.npartitions // factor))
            changed = {"npartitions": -(-node.npartitions // factor), "chunksize": None}
            expression = expression.substitute(node, node.substitute_parameters(changed))
        size = total // count
        if most is not None and size > most:
            sizes = f"{format_bytes(size)} were left out: up to {format_bytes(most)} fit"
            yield f"partitions of {sizes}"
            return
        code = f"{name} = dd.from_pandas(frame, npartitions={count})   # where it begins"
        key = f"dask-partitions-{factor}"
        yield Cut(key, collection_of(expression), count, size, code)


def collection_of(expression: Any) -> Any:  # noqa: ANN401
    """Return the data frame or series of an expression."""
    from dask.dataframe.dask_expr import new_collection  # type: ignore[attr-defined]  # is there

    return new_collection(expression)


def leaves(expression: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield what an expression of data frames begins with, perhaps more than once."""
    return (node for node in expression.walk() if not node.dependencies())


def _frame_bytes(source: Any) -> int:  # noqa: ANN401
    used = source.operand("frame").memory_usage(index=True)
    return int(used if isinstance(used, int) else used.sum())
