"""The graph of an array as it would be if its sources had fewer, larger chunks.

Nothing is rechunked: that would add work. The layers are made again with so many chunks of each
axis in one, from the sources on: a source is asked for larger parts, an operation by blocks is
applied to those, and a reduction begins with fewer of them. What is not understood is refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from jupyter_serprof.experiments.graphs.values import graph_of
from jupyter_serprof.model import SerprofError

Grid = tuple[int, ...]
Axes = tuple[int, ...]
#: Arrays in a graph are put together here: that is a copy of them.
_COPIED_BYTES = 500_000_000


class NotRemadeError(SerprofError):
    """A graph that cannot be made again with other chunks; the message says why."""


@dataclass(slots=True)
class _Tree:
    """The reduction of a layer, as far as it was seen: its first steps are made again at its end.

    ``split`` is how many chunks one step takes of each axis; None where there is only one step.
    """

    root: str
    combine: Any = None
    split: Grid | None = None


class _Remake:
    """One graph that is made again; ``layers`` and ``below`` are those of the new one."""

    def __init__(self, graph: Any, factor: int) -> None:  # noqa: ANN401
        self.factor = factor
        self.layers: dict[str, Any] = {}
        self.below: dict[str, set[str]] = {}
        #: Chunks along each axis, after; of a layer that is no array, none.
        self.grids: dict[str, Grid] = {}
        self.joined: list[str] = []
        self._trees: dict[str, _Tree] = {}
        for name in graph._toposort_layers():  # noqa: SLF001  (the order of its own optimization)
            self._take(name, graph.layers[name], set(graph.dependencies[name]))

    def _take(self, name: str, layer: Any, below: set[str]) -> None:  # noqa: ANN401
        from dask.blockwise import Blockwise

        if isinstance(layer, Blockwise):
            if below & self._trees.keys():
                raise NotRemadeError(_not_understood(name))
            self._put(name, self._blockwise(name, layer), below)
            return
        tasks = _converted(name, layer)
        if not any(isinstance(key, tuple) for key in tasks) and not below & self.grids.keys():
            self._put(name, layer, below)
            return
        grid = _grid(name, tasks)
        if grid is None:
            raise NotRemadeError(_not_understood(name))
        if not below and not any(task.dependencies for task in tasks.values()):
            self._put(name, self._source(name, tasks, grid), below)
            self.grids[name] = _fewer(grid, self.factor)
        else:
            self._reduction(name, tasks, below)

    def _put(self, name: str, layer: Any, below: set[str]) -> None:  # noqa: ANN401
        self.layers[name], self.below[name] = layer, below

    def _blockwise(self, name: str, layer: Any) -> Any:  # noqa: ANN401
        from dask.blockwise import Blockwise
        from dask.layers import ArrayChunkShapeDep, ArraySliceDep

        if layer.output_blocks is not None or layer.new_axes:
            raise NotRemadeError(_not_understood(name))
        sources = {}
        for key, source in layer.io_deps.items():
            if type(source) not in (ArrayChunkShapeDep, ArraySliceDep):
                message = f"the function of its step {_step(name)} is told which chunk it is given"
                raise NotRemadeError(message)
            sources[key] = type(source)(merged(source.chunks, self.factor))
        made = Blockwise(
            layer.output,
            layer.output_indices,
            layer.task,
            layer.indices,
            {key: _fewer(grid, self.factor) for key, grid in layer.numblocks.items()},
            concatenate=layer.concatenate,
            annotations=layer.annotations,
            io_deps=sources,
        )
        self.grids[name] = tuple(made.dims[index] for index in made.output_indices)
        return made

    def _source(self, name: str, tasks: Mapping[Any, Any], grid: Grid) -> Any:  # noqa: ANN401
        """Put tasks that need nothing together, those of a larger chunk in one task."""
        from dask._task_spec import DataNode, List, Task
        from dask.array.core import concatenate3
        from dask.highlevelgraph import MaterializedLayer

        parts = list(tasks.values())
        arrays = [part.value for part in parts if isinstance(part, DataNode)]
        if arrays and not _are_small_arrays(arrays):
            message = f"its chunks are in memory already, those of step {_step(name)}"
            raise NotRemadeError(message)
        if not arrays and math.prod(grid) > 1:
            self.joined.append(_step(name))

        def nested(places: tuple[range, ...], at: Grid = ()) -> Any:  # noqa: ANN401
            if not places:
                task = tasks[(name, *at)]
                return task.value if arrays else task
            inner = [nested(places[1:], (*at, place)) for place in places[0]]
            return inner if arrays else List(*inner)

        made: dict[Any, Any] = {}
        for at in product(*map(range, _fewer(grid, self.factor))):
            places = tuple(
                range(self.factor * place, min(self.factor * (place + 1), count))
                for place, count in zip(at, grid, strict=True)
            )
            key = (name, *at)
            if math.prod(map(len, places)) == 1:
                made[key] = tasks[(name, *(place[0] for place in places))].substitute({}, key=key)
            elif arrays:
                made[key] = DataNode(key, concatenate3(nested(places)))  # type: ignore[no-untyped-call]  # dask
            else:
                made[key] = Task(key, concatenate3, nested(places))
        return MaterializedLayer(made)

    def _reduction(self, name: str, tasks: Mapping[Any, Any], below: set[str]) -> None:
        """Note a step of a tree of reductions; at its end the tree is made again."""
        function, axes = _reduced_by(name, tasks)
        [parent] = below if len(below) == 1 else [""]
        tree = self._trees.get(parent)
        if tree is None:
            if parent not in self.grids:
                raise NotRemadeError(_not_understood(name))
            tree = _Tree(parent)
        if "-partial-" in name:
            split = tree.split or _split(tasks, len(self.grids[tree.root]))
            self._trees[name] = _Tree(tree.root, tree.combine or function, split)
            return
        ndim = len(next(iter(tasks))) - 1
        self._grow(name, tree, function, axes, is_kept=ndim == len(self.grids[tree.root]))

    def _grow(self, name: str, tree: _Tree, function: Any, axes: Axes, *, is_kept: bool) -> None:  # noqa: ANN401
        """Make the steps of a reduction, as `dask.array.reductions._tree_reduce` does."""
        below, grid = tree.root, self.grids[tree.root]
        while tree.split and any(grid[axis] > tree.split[axis] for axis in axes):
            step = f"{name}-partial-{len(self.layers)}"
            split = tuple(tree.split[axis] if axis in axes else 1 for axis, _ in enumerate(grid))
            self._put(step, _level(step, below, grid, split, axes, tree.combine), {below})
            below, grid = step, tuple(-(-n // s) for n, s in zip(grid, split, strict=True))
        whole = tuple(count if axis in axes else 1 for axis, count in enumerate(grid))
        last = _level(name, below, grid, whole, axes, function, is_kept=is_kept)
        self._put(name, last, {below})
        self.grids[name] = tuple(
            1 if axis in axes else count
            for axis, count in enumerate(grid)
            if is_kept or axis not in axes
        )


def with_larger_chunks(array: Any, factor: int) -> tuple[Any, list[str]]:  # noqa: ANN401
    """Return an array whose graph has ``factor`` chunks of each axis in one.

    Parameters
    ----------
    array
        A `dask.array.Array`; neither it nor its graph is changed or materialized.

    Returns
    -------
    tuple
        The new array, and the names of steps whose parts are made as before and put together
        within one task, because nothing else gives the same values (random numbers).

    Raises
    ------
    NotRemadeError
        With the step that cannot be made again.

    Notes
    -----
    Whether the result is the same is for the caller to compare: a function that is applied to
    chunks may depend on them.

    Source: dask 2026.8, ``dask.blockwise.Blockwise``, ``dask.layers``, ``dask.array.reductions``.
    """
    from dask.array import Array
    from dask.highlevelgraph import HighLevelGraph

    graph = graph_of(array)
    if graph is None or not hasattr(graph, "layers"):
        message = "its graph has no layers to make again"
        raise NotRemadeError(message)
    if any(isinstance(length, float) for axis in array.chunks for length in axis):
        message = "the sizes of its chunks are not known before it is computed"
        raise NotRemadeError(message)
    made = _Remake(graph, factor)
    chunks = merged(array.chunks, factor)
    if made.grids.get(array.name) != tuple(map(len, chunks)):
        raise NotRemadeError(_not_understood(array.name))
    graph = HighLevelGraph(made.layers, made.below)
    meta = array._meta  # noqa: SLF001  (public as an argument)
    return Array(graph, array.name, chunks, meta=meta), made.joined  # type: ignore[no-untyped-call]  # dask


def merged(chunks: tuple[tuple[int, ...], ...], factor: int) -> tuple[tuple[int, ...], ...]:
    """Return chunks of which so many are one along each axis.

    >>> merged(((3, 3, 1), (5,)), 2)
    ((6, 1), (5,))
    """
    return tuple(
        tuple(sum(axis[at : at + factor]) for at in range(0, len(axis), factor)) for axis in chunks
    )


def _fewer(grid: Grid, factor: int) -> Grid:
    return tuple(-(-count // factor) for count in grid)


def _converted(name: str, layer: Any) -> dict[Any, Any]:  # noqa: ANN401
    """Return the tasks of a layer that is materialized, of today's kind."""
    from dask._task_spec import convert_legacy_graph

    if not layer.is_materialized():
        message = f"a layer of type {type(layer).__name__} is not understood"
        raise NotRemadeError(message)
    tasks = dict(layer)
    if any(type(task).__name__ == "Future" for task in tasks.values()):
        message = f"its chunks are on the cluster already, those of step {_step(name)}"
        raise NotRemadeError(message)
    return dict(convert_legacy_graph(tasks, all_keys=set(_keys_in(tasks))))


def _keys_in(tasks: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield its own keys, and what may be keys of chunks in the arguments of old-style tasks."""
    waiting = [task[1:] for task in tasks.values() if type(task) is tuple]
    while waiting:
        for part in waiting.pop():
            if isinstance(part, list):
                waiting.append(tuple(part))
            elif type(part) is tuple and _is_place(part):
                yield part
    yield from tasks


def _is_place(key: tuple[Any, ...]) -> bool:
    is_named = bool(key) and isinstance(key[0], str)
    return is_named and all(isinstance(number, int) for number in key[1:])


def _grid(name: str, tasks: Mapping[Any, Any]) -> Grid | None:
    """Return the chunks along each axis; None unless there is a task for each and no other."""
    places = [key[1:] for key in tasks if isinstance(key, tuple) and key[0] == name]
    if len(places) != len(tasks) or not all(isinstance(n, int) for at in places for n in at):
        return None
    grid = tuple(max(axis) + 1 for axis in zip(*places, strict=True))
    return grid if math.prod(grid) == len(tasks) else None


def _are_small_arrays(values: list[Any]) -> bool:
    numpy: Any = sys.modules.get("numpy")
    is_plain = numpy is not None and all(type(value) is numpy.ndarray for value in values)
    return is_plain and sum(value.nbytes for value in values) <= _COPIED_BYTES


def _reduced_by(name: str, tasks: Mapping[Any, Any]) -> tuple[Any, Axes]:
    """Return the function of a step of a reduction, and the axes that it takes together."""
    from dask._task_spec import Task

    task = next(iter(tasks.values()))
    if not isinstance(task, Task) or len(task.args) != 1 or task.kwargs:
        raise NotRemadeError(_not_understood(name))
    axes = next(_axes(task.func), None)
    if axes is None:
        raise NotRemadeError(_not_understood(name))
    return task.func, axes


def _axes(function: Any) -> Iterator[Axes]:  # noqa: ANN401
    for each in (function, getattr(function, "first", None), *getattr(function, "funcs", ())):
        axis = each.keywords.get("axis") if isinstance(each, partial) else None
        if axis is not None:
            yield axis if isinstance(axis, tuple) else (axis,)


def _split(tasks: Mapping[Any, Any], ndim: int) -> Grid:
    """Return how many chunks of each axis a task takes at most."""
    most = [1] * ndim
    for task in tasks.values():
        places = [key[1:] for key in task.dependencies]
        most = [
            max(m, len(set(axis))) for m, axis in zip(most, zip(*places, strict=True), strict=True)
        ]
    return tuple(most)


def _level(  # noqa: PLR0913, PLR0917  (what one step of a tree is)
    name: str,
    below: str,
    grid: Grid,
    split: Grid,
    axes: Axes,
    function: Any,  # noqa: ANN401
    *,
    is_kept: bool = True,
) -> Any:  # noqa: ANN401  (a layer)
    """Return one step: so many chunks of each axis in one task, as lists of lists of them."""
    from dask._task_spec import List, Task, TaskRef
    from dask.highlevelgraph import MaterializedLayer

    def nested(places: tuple[range, ...], at: Grid = ()) -> Any:  # noqa: ANN401
        axis = len(at)
        if axis == len(grid):
            return TaskRef((below, *at))
        if axis not in axes:
            return nested(places, (*at, places[axis][0]))
        return List(*(nested(places, (*at, place)) for place in places[axis]))

    tasks = {}
    counts = [-(-count // size) for count, size in zip(grid, split, strict=True)]
    for at in product(*map(range, counts)):
        places = tuple(
            range(size * place, min(size * (place + 1), count))
            for place, size, count in zip(at, split, grid, strict=True)
        )
        key = (name, *(place for axis, place in enumerate(at) if is_kept or axis not in axes))
        tasks[key] = Task(key, function, nested(places))
    return MaterializedLayer(tasks)


def _step(name: str) -> str:
    """Return the name of a layer without its token."""
    from dask.utils import key_split

    return str(key_split(name))


def _not_understood(name: str) -> str:
    return f"its step {_step(name)} is cut into the chunks that there are"
