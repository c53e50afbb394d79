"""Collections that hold nothing but results: futures on a cluster, or values in memory."""

from collections.abc import Iterable
from typing import Any

from jupyter_serprof.objects.ask import is_of

#: A persisted graph has one value for each key; its tasks would be of these modules.
_TASKS = "dask._task_spec"


def persisted_futures(collections: Iterable[Any]) -> list[Any] | None:
    """Return the futures of collections that hold nothing but results, None if a task is left."""
    # Nothing is materialized: a layer that is not, is a task that is left.
    futures = []
    for collection in collections:
        values = _results(collection)
        if values is None:
            return None
        futures += [value for value in values if is_of(value, "distributed.client", "Future")]
    return futures


def _results(collection: Any) -> list[object] | None:  # noqa: ANN401
    expression = expression_of(collection)
    if expression is None:
        graph = collection.__dask_graph__()
    else:  # what `persist` put into its place, if it did
        is_persisted = type(expression).__name__ == "FromGraph"
        graph = expression.operand("layer") if is_persisted else None
    layers = getattr(graph, "layers", None)
    if graph is None or not all(layer.is_materialized() for layer in (layers or {}).values()):
        return None
    values: list[object] = list(graph.values())
    return None if any(map(is_task, values)) else values


def expression_of(collection: Any) -> Any:  # noqa: ANN401
    """Return the expression that a data frame (or an array with query planning) wraps, else None.

    Its graph is never asked for: making it may compute divisions.
    """
    # A Delayed would make a new Delayed of any attribute.
    found = getattr(collection, "expr", None) if has_expression(collection) else None
    return found if is_of(found, "dask._expr", "Expr") else None


def has_expression(collection: Any) -> bool:  # noqa: ANN401
    """Tell whether a collection is an expression, which has no graph until it is optimized."""
    return "expr" in dir(type(collection)) or "_expr" in vars(type(collection))


def is_task(value: object) -> bool:
    """Tell whether a value of a graph has to be computed."""
    is_old_task = type(value) is tuple and bool(value) and callable(value[0])
    is_data = type(value).__name__ in ("DataNode", "Alias")
    return is_old_task or (type(value).__module__ == _TASKS and not is_data)
