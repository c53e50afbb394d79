"""What is swept over chunk sizes: a function of one, or a collection that is cut anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.experiments.chunks.words import BEST
from jupyter_serprof.experiments.graphs.values import is_collection
from jupyter_serprof.model import UsageError

Maker = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class ChunkSubject:
    """What gives a collection for each chunk size.

    Attributes
    ----------
    remedy
        A line of code with ``<best>`` where the best size goes.
    code
        What a line that sweeps again says.
    is_count
        The number is one of partitions: larger ones make smaller chunks.
    is_cut_anew
        A collection that is rechunked or repartitioned, not made.
    """

    make: Maker
    name: str
    parameter: str
    remedy: str
    code: str
    is_count: bool = False
    is_cut_anew: bool = False


def chunk_subject(
    make: object, name: str | None = None, parameter: str = "", code: str = ""
) -> ChunkSubject:
    """Return what is swept.

    Parameters
    ----------
    make
        A function of the chunk size that returns a collection, or a collection: an array is
        rechunked to the number along each axis, a data frame or bag repartitioned into so many.
    name, parameter
        What the document calls it, and the number; None and "" take what fits.
    code
        What was typed, for lines to paste; "" takes the name.

    Raises
    ------
    UsageError
        For something else, and for a collection that has no chunks.
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
    is_count = "part" in variable
    return ChunkSubject(make, name or called, variable, remedy, typed, is_count)


def _cut_anew(
    collection: Any,  # noqa: ANN401
    name: str | None,
    parameter: str,
    code: str,
) -> ChunkSubject:
    methods = dir(type(collection))
    typed = code or name or "x"
    variable = typed if typed.isidentifier() else "x"
    title = name or type(collection).__name__
    if "rechunk" in methods:

        def rechunked(size: float) -> object:
            return collection.rechunk(round(size))

        remedy = f"{variable} = {variable}.rechunk({BEST})"
        size = parameter or "chunk"
        return ChunkSubject(rechunked, title, size, remedy, typed, is_cut_anew=True)
    if "repartition" in methods:

        def repartitioned(count: float) -> object:
            return collection.repartition(npartitions=round(count))

        remedy = f"{variable} = {variable}.repartition(npartitions={BEST})"
        parts = parameter or "npartitions"
        return ChunkSubject(
            repartitioned, title, parts, remedy, typed, is_count=True, is_cut_anew=True
        )
    message = (
        f"a {type(collection).__name__} has no chunks to choose; sweep a function of the chunk "
        "size that returns one: %graphstages --sweep chunk=100:4000:8 make(chunk)"
    )
    raise UsageError(message)
