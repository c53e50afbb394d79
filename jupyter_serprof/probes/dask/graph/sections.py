"""The pieces that a Dask graph is pickled from, by layer and key, without materializing any layer.

Nothing here iterates a layer, asks an expression for a property or calls a reducer: pieces are read
from instance dictionaries only, because a cached property travels in the next pickle of its owner.
Read in Dask and distributed 2026.8.0: ``dask/_expr.py``, ``dask/highlevelgraph.py``,
``dask/blockwise.py``, ``distributed/client.py:_MapExpr``.
"""

import copy
import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.model import UsageError
from jupyter_serprof.objects import ask

#: A literal of ``client.map(f, ..., name=literal)`` above this size becomes a task of its own.
#: Source: distributed 2026.8.0, client.py:_MapExpr._layer.
#: An item of a container counts there as a reference and a small number at least.
_OWN_TASK_BYTES, _ITEM_BYTES = 1e5, 36
LARGE_BYTES = 1_000_000
EXPRESSION, OUTPUT_KEYS, LOW_LEVEL = "(expression)", "(output keys)", "(low-level graph)"

Item = tuple[Any, object]


@dataclass(frozen=True, slots=True)
class Section:
    """Pieces of one layer that behave alike.

    ``times``: How many task specifications each item gets into; 0 if it stays on the scheduler,
        None if that cannot be told without materializing.
    ``has_keys``: True if items are named by a key of Dask, False if by an attribute or a parameter.
    """

    layer: str
    items: Collection[Item]
    times: int | None = None
    has_keys: bool = False


def sections(graph: object) -> Iterator[Section]:
    """Yield the pieces of a collection, a high level graph, an expression, or what was sent.

    ``graph``: What `distributed.client.serialize` was given (also wrapped in ``ToPickle`` or
        ``Serialize``), a collection, a HighLevelGraph, or a dict of tasks.
    Raises ``UsageError``: If it is nothing of Dask.
    """
    graph = sent_graph(graph)
    if ask.is_of(graph, "dask._expr", "Expr"):
        yield from _expression(graph)
    elif hasattr(graph, "layers"):
        yield from _high_level(graph)
    elif ask.is_a(graph, Mapping):
        yield _tasks(LOW_LEVEL, graph)  # type: ignore[arg-type]  # tasks
    else:
        give = "give a Dask collection, its .dask, or an expression"
        message = f"a {type(graph).__name__} has no graph; {give}"
        raise UsageError(message)


def sent_graph(graph: object) -> object:
    """Return the graph inside what is sent, or of a collection."""
    while type(graph).__name__ in ("Serialize", "ToPickle"):
        graph = graph.data  # type: ignore[attr-defined]
    if ask.is_of(graph, "dask._expr", "Expr") or ask.is_a(graph, Mapping):
        return graph
    if hasattr(type(graph), "expr") or "expr" in getattr(graph, "__dict__", ()):
        return graph.expr  # type: ignore[attr-defined]  # .dask would materialize it
    if hasattr(graph, "__dask_graph__"):
        return graph.__dask_graph__()
    return graph


def _high_level(graph: Any) -> Iterator[Section]:  # noqa: ANN401  (a HighLevelGraph)
    for name, layer in vars(graph)["layers"].items():
        # A client of 2024.8 names the one layer that it sends after an address.
        yield from _layer(name if ask.is_a(name, str) else LOW_LEVEL, layer)


def _layer(name: str, layer: Any) -> Iterator[Section]:  # noqa: ANN401  (a Layer)
    if type(layer) is dict:
        yield _tasks(name, layer)
    elif not _has_plain_state(layer):
        yield Section(name, [(name, layer)])
        return
    is_dasks = ask.kind_module(type(layer)).startswith("dask")
    if is_dasks and ask.is_of(layer, "dask.blockwise", "Blockwise"):
        yield from _blockwise(name, layer)
    elif ask.is_of(layer, "dask.highlevelgraph", "MaterializedLayer"):
        state = ask.state_of(layer)
        yield _tasks(name, state["mapping"])  # type: ignore[arg-type]  # tasks
        yield Section(name, [entry for entry in state.items() if entry[0] != "mapping"], times=0)
    else:
        # Only materializing would turn it into tasks.
        for key, part in ask.state_of(layer).items():
            yield Section(name, part.items() if type(part) is dict else [(key, part)])


def _tasks(name: str, tasks: Mapping[Any, object]) -> Section:
    """Return tasks one by one; a mapping that may build them when it is asked stays closed."""
    if not ask.is_a(tasks, dict):
        return Section(name, [(name, tasks)])
    return Section(name, dict.items(tasks), times=1, has_keys=True)


def _has_plain_state(layer: object) -> bool:
    ways = ("__reduce__", "__reduce_ex__", "__getstate__")
    is_plain = all(ask.of_class(type(layer), way) is vars(object).get(way) for way in ways)
    return is_plain and bool(ask.state_of(layer))


#: What every task of a Blockwise is made of; in 2024.8 it is ``dsk``.
_TEMPLATE = ("task", "dsk", "indices")


def _blockwise(name: str, layer: Any) -> Iterator[Section]:  # noqa: ANN401  (a Blockwise)
    state, count = vars(layer), _block_count(layer)
    template = [(key, state[key]) for key in _TEMPLATE if key in state]
    yield Section(name, template, times=count)
    for dep in state.get("io_deps", {}).values():
        yield from _block_arguments(name, dep, count)
    built = state.get("_cached_dict", {}).get("dsk")
    if isinstance(built, dict):
        yield Section(name, built.items(), times=0, has_keys=True)
    known = {*_TEMPLATE, "io_deps", "_cached_dict"}
    rest = [(key, part) for key, part in state.items() if key not in known]
    yield Section(name, rest, times=0)


def _block_count(layer: Any) -> int | None:  # noqa: ANN401  (a Blockwise)
    """Ask a shallow copy for its number of blocks: the answer is cached, and caches are pickled."""
    try:
        return len(copy.copy(layer))
    except Exception:  # noqa: BLE001  (a subclass may do anything)
        return None


def _block_arguments(name: str, dep: object, count: int | None) -> Iterator[Section]:
    state = ask.state_of(dep)
    mapping = state.get("mapping")
    if type(mapping) is not dict or not _has_plain_state(dep):
        yield Section(name, [(ask.kind_name(type(dep)), dep)])
        return
    times = None if count is None else max(1, count // max(1, len(mapping)))
    yield Section(name, mapping.items(), times=times, has_keys=True)
    yield Section(name, [entry for entry in state.items() if entry[0] != "mapping"], times=0)


def _expression(expression: Any) -> Iterator[Section]:  # noqa: ANN401  (an Expr)
    """Yield what an expression and those below it hold, each once; those below come first."""
    waiting, seen = [(expression, False)], {id(expression)}
    while waiting:
        node, is_ready = waiting.pop()
        if is_ready:
            yield from _node(node)
            continue
        below = [part for part in node.operands if ask.is_of(part, "dask._expr", "Expr")]
        new = [part for part in below if id(part) not in seen]
        seen |= {id(part) for part in new}
        waiting += [(node, True), *((part, False) for part in reversed(new))]


def _node(node: Any) -> Iterator[Section]:  # noqa: ANN401  (an Expr)
    names = [*type(node)._parameters, *map(str, range(len(node.operands)))]  # noqa: SLF001  (its own protocol)
    named = zip(names, node.operands, strict=False)
    operands = [entry for entry in named if not ask.is_of(entry[1], "dask._expr", "Expr")]
    if type(node).__name__ == "_MapExpr":
        yield from _mapped(dict(operands))
    elif "dsk" in type(node)._parameters:  # noqa: SLF001  (as above)
        yield from _wrapped_graph(operands)
    else:
        yield from _frame_node(node, operands)


def _wrapped_graph(operands: Iterable[Item]) -> Iterator[Section]:
    for name, operand in operands:
        if hasattr(operand, "layers"):
            yield from _high_level(operand)
        elif name == "dsk":
            yield _tasks(LOW_LEVEL, operand)  # type: ignore[arg-type]  # a dict of tasks
        elif name == "output_keys":
            yield Section(OUTPUT_KEYS, [(name, operand)], times=0)
        else:
            yield Section(EXPRESSION, [(name, operand)], times=0)


def _mapped(operands: dict[str, Any]) -> Iterator[Section]:
    """Yield the parts of ``client.map``: the function is in every task, an element in one."""
    name = str(operands.get("key"))
    keys = operands.pop("_cached_keys", None)
    count = len(keys) if isinstance(keys, list) else None
    yield Section(name, [("func", operands.pop("func", None))], times=count)
    for elements in operands.pop("iterables", ()):
        if ask.is_exactly(elements, (list, tuple)):
            named = keys if count == len(elements) else range(len(elements))
            yield Section(name, list(zip(named, elements, strict=True)), times=1, has_keys=True)
        else:
            yield Section(name, [("iterables", elements)])
    for literal in operands.pop("kwargs", {}).items():
        items = ask.length(literal[1]) or 0
        size = items * _ITEM_BYTES or ask.size_bytes(literal[1]) or 0
        own = ask.kind_module(type(literal[1])) != "builtins" or size > _OWN_TASK_BYTES
        yield Section(name, [literal], times=1 if own else count)
    yield Section(OUTPUT_KEYS, [("_cached_keys", keys)], times=0)
    yield Section(EXPRESSION, operands.items(), times=0)


def _frame_node(node: Any, operands: list[tuple[str, Any]]) -> Iterator[Section]:  # noqa: ANN401  (an Expr)
    """Yield the literals of an expression of a dataframe or an array, and what it has cached."""
    state = vars(node)
    layer = str(state.get("_name", type(node).__name__))
    count = _partitions(state)
    is_source = type(node).__name__.startswith("From")
    for name, operand in operands:
        if ask.is_exactly(operand, (list, tuple)) and name in ("iterables", "dfs"):
            yield Section(layer, [(f"{name}[{i}]", part) for i, part in enumerate([*operand])], 1)
        else:
            # What a source cuts into partitions crosses once, whatever their number; at most:
            # columns that are not read stay in the graph.
            is_cut = is_source and name in ("frame", "array")
            yield Section(layer, [(name, operand)], 1 if is_cut else count)
    # The cached properties that ``Expr.__reduce__`` sends along.
    own = vars(type(node)).items()
    cached = [name for name, part in own if isinstance(part, functools.cached_property)]
    yield Section(layer, [(name, state[name]) for name in cached if name in state], times=0)


def _partitions(state: Mapping[str, Any]) -> int | None:
    if state.get("divisions") is not None:
        return max(0, len(state["divisions"]) - 1)
    chunks = state.get("chunks")
    return math.prod(map(len, chunks)) if isinstance(chunks, tuple) else None
