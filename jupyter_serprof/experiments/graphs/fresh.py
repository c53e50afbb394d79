"""The same computation under new names, so that no result of before is taken for it."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, cast

from jupyter_serprof.experiments.graphs.values import graph_of, has_tasks_left, is_collection

_PLAIN = (list, tuple, set)


def fresh(value: object, client: Any) -> object:  # noqa: ANN401
    """Return a value that shares no key with results that the client holds.

    Notes
    -----
    Only where the client holds results of a layer that has tasks left is a collection renamed; that
    is part of what is measured. Results themselves, of what was persisted, keep their names: they
    are what the computation begins with. An expression gets its names when it is optimized; it
    stays as it is. Results that another client holds are not seen.
    """
    keys: list[object] = list(getattr(client, "futures", {}))
    held = {key[0] if isinstance(key, tuple) and key else key for key in keys}
    if held and is_collection(value):
        return _fresh(value, held)
    if held and type(value) in _PLAIN:
        return [_fresh(each, held) for each in cast("list[object]", value)]
    return value


def _fresh(collection: Any, held: set[object]) -> object:  # noqa: ANN401
    layers = getattr(graph_of(collection), "layers", {})
    left = {name for name, layer in layers.items() if has_tasks_left(layer)}
    if left & held:
        # An older Dask has no specifications of tasks: then its results are taken as they are.
        with suppress(ImportError, AttributeError):
            return _renamed(collection, left)
    return collection


def _renamed(collection: Any, left: set[str]) -> object:  # noqa: ANN401
    """Give layers new names; `dask.graph_manipulation.clone` does not reach into tasks of 2026."""
    from dask.base import clone_key
    from dask.highlevelgraph import HighLevelGraph

    graph, seed = graph_of(collection), uuid.uuid4().hex
    keys = {key for name in left for key in graph.layers[name].get_output_keys()}

    def called(name: str) -> str:
        return clone_key(name, seed) if name in left else name

    layers = {
        called(name): _renamed_layer(layer, keys, seed) if name in left else layer
        for name, layer in graph.layers.items()
    }
    below = {
        called(name): {called(other) for other in others}
        for name, others in graph.dependencies.items()
    }
    rebuild, arguments = collection.__dask_postpersist__()
    names = {name: called(name) for name in collection.__dask_layers__()}
    made: object = rebuild(HighLevelGraph(layers, below), *arguments, rename=names)
    return made


def _renamed_layer(layer: Any, keys: set[Any], seed: str) -> Any:  # noqa: ANN401
    from dask._task_spec import convert_legacy_graph
    from dask.base import clone_key
    from dask.highlevelgraph import MaterializedLayer

    if not layer.is_materialized():
        return layer.clone(keys=keys, seed=seed)[0]
    tasks = convert_legacy_graph(dict(layer), all_keys=keys | set(layer))
    return MaterializedLayer(
        {
            clone_key(key, seed): task.substitute(
                {other: clone_key(other, seed) for other in task.dependencies & keys},
                key=clone_key(key, seed),
            )
            for key, task in tasks.items()
        }
    )
