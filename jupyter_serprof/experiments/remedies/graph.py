"""``%graphstages --try y``: embedded objects as one key of the graph, or scattered; in pairs.

The graph of the collection is copied before it is looked at, so the collection stays as it was. Its
tasks run once in each trip, as persisting it would run them (but not fused), under keys of their
own; what was made is released.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any
from uuid import uuid4

from jupyter_serprof.experiments.engine.order import GRAPH_TRIALS
from jupyter_serprof.experiments.graphs import values as found_values
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.table import REMEDIES, pasted
from jupyter_serprof.experiments.remedies.trial import Attempt, Sides, Trials
from jupyter_serprof.experiments.remedies.ways import Trip, Watch
from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import code_text, counted, format_bytes, format_count
from jupyter_serprof.objects.ask import notebook_name, size_bytes
from jupyter_serprof.objects.equality import differences, same_value
from jupyter_serprof.probes.dask.agent import hooks
from jupyter_serprof.probes.dask.graph.look import is_crowd
from jupyter_serprof.probes.dask.graph.picklers import pickled_bytes
from jupyter_serprof.probes.dask.stopped import name_of

LARGE_BYTES, _PICKLE_S = 1_000_000, 10
#: More is not brought to the client for the check.
_GATHERED_BYTES = 200_000_000
_MOST_TASKS, _NEAR = 200_000, 1e-12
_WAYS = ("dask-delayed", "dask-scatter")


class DaskTryout(Trials):
    """Trials on one computation: its graph as it is, and with what it embeds apart.

    ``value``: A Dask collection, or a list of them, which are computed together.
    ``budget_s``: Seconds for all pairs; a computation that has begun is ended.
    Raises ``UsageError``: If it is no collection, if no cluster computes it, or its client is
        asynchronous.
    """

    def __init__(
        self, value: object, *, name: str = "y", budget_s: float = GRAPH_TRIALS.budget_s
    ) -> None:
        found_values.require_dask()
        try:
            import_module("dask._task_spec").NestedContainer  # noqa: B018
        except (ImportError, AttributeError):
            message = (
                "--try of a graph needs dask>=2025.1, whose tasks tell what they hold. "
                "Run: pip install -U dask distributed"
            )
            raise UsageError(message) from None
        found = found_values.collections_in(value)
        if not found:
            message = (
                f"{name} is no Dask collection (array, dataframe, bag, delayed) or list of them. "
                f"For any other value: %serprof --try {name}"
            )
            raise UsageError(message)
        self._collections = found
        self._client = found_values.client_of(found)
        if self._client is None:
            message = (
                f"no cluster computes {name}: threads share what is embedded in a graph, and "
                "nothing travels. Make one: from distributed import Client; client = Client()"
            )
            raise UsageError(message)
        if found_values.default_client(is_asynchronous=True) is not None:
            message = (
                "the client is asynchronous: waiting here would block its event loop. "
                "Use another one: client = Client()"
            )
            raise UsageError(message)
        super().__init__(name, budget_s, GRAPH_TRIALS.most)
        self._graph: Mapping[Any, Any] = {}
        self._embedding: Mapping[Any, Any] = {}
        self._outputs: list[Any] = []
        self._large: Mapping[int, tuple[Any, int]] = {}

    def _look(self) -> Sequence[Attempt]:
        """Find large objects of its tasks: as keys of their own, or scattered."""
        from dask.core import flatten

        __tracebackhide__ = True
        graphs = map(materialized, self._collections)
        self._graph = {key: task for graph in graphs for key, task in graph.items()}
        wanted = [one.__dask_keys__() for one in self._collections]
        self._outputs = list(flatten(wanted))  # type: ignore[no-untyped-call]  # dask
        is_embedded = bool(large_values(self._graph))
        self._embedding = _embedding(self._graph, self._outputs)
        self._large = large_values(self._embedding)
        if not self._large:
            self._said = (
                f"nothing to try: no task of {code_text(self._name)} takes a large object. Large "
                f"is {format_bytes(LARGE_BYTES)}, or a long container. What functions hold: "
                f"%graphstages --blame {self._name}; all that it costs: %graphstages {self._name}"
            )
            return ()
        self._plain_bytes = sum(_bytes_of(value) for value, _ in self._large.values())
        used = format_count(sum(count for _, count in self._large.values()))
        embedded = counted(len(self._large), "embedded object")
        self._notes.append(
            f"{embedded}, {format_bytes(self._plain_bytes)}, used by {used} tasks; "
            f"every trip runs the tasks of {self._name}"
        )
        largest, _ = max(self._large.values(), key=lambda each: _bytes_of(each[0]))
        name, ways = notebook_name(largest), _WAYS if is_embedded else _WAYS[1:]
        lines = {key: pasted(REMEDIES[key].code, name) for key in ways if name}
        caller = f"{name_of(self._client)}."
        codes = {key: lines.get(key, "").replace("client.", caller) or None for key in ways}
        now = "the graph as it is"
        return [(Trial(key, now, code), partial(self._sides, key)) for key, code in codes.items()]

    def _sides(self, key: str, _: Callable[[], bool]) -> Sides:
        __tracebackhide__ = True
        from dask._task_spec import DataNode, TaskRef

        made = list[Any]()
        self._shield(hooks.shield)
        values = {identity: value for identity, (value, _) in self._large.items()}
        start = time.perf_counter_ns()
        if key == "dask-scatter":
            made = list(self._client.scatter([*values.values()], broadcast=True, hash=False))
            changed = _replaced(self._embedding, dict(zip(values, made, strict=True)))
        else:  # as dask.delayed does; nothing has to be released
            keys = {identity: f"embedded-{uuid4().hex}" for identity in values}
            changed = _replaced(self._embedding, {each: TaskRef(keys[each]) for each in keys})
            changed |= {keys[each]: DataNode(keys[each], values[each]) for each in keys}
        prepare_ns = time.perf_counter_ns() - start if made else None
        ways = self._graph, changed
        cold, calls = (
            tuple(partial(self._trip, graph, gathers=gathers) for graph in ways)
            for gathers in (True, False)
        )
        return Sides(calls, _checked, prepare_ns, cold, partial(self._release, made))

    def _release(self, made: list[Any]) -> None:
        found_values.release(made)
        self._shield(hooks.put_back)

    def _shield(self, change: Callable[[], None]) -> None:
        """Begin or end to let Ctrl-C pass workers below this process by, as in a recording."""
        if type(getattr(self._client, "cluster", None)).__name__ == "LocalCluster":
            self._client.run(change)

    def _trip(self, graph: Mapping[Any, Any], *, gathers: bool = False) -> Trip:
        __tracebackhide__ = True
        renamed, keys = _renamed(graph, self._outputs)
        watch = Watch()
        with warnings.catch_warnings():
            # That the graph is large is why it is tried.
            warnings.filterwarnings("ignore", "Sending large graph")
            futures = self._client.get(renamed, keys, sync=False)
        try:
            watch.stage("dask.submit")
            found_values.wait_for(futures, None)
            watch.stage("dask.wait")
            run = self._client.run_on_scheduler
            is_small = gathers and run(_result_bytes, keys=keys) <= _GATHERED_BYTES
            result = self._client.gather(futures) if is_small else None
        finally:
            found_values.release(futures)
        return Trip(watch.stages, None, result)


def _result_bytes(dask_scheduler: Any, keys: list[Any]) -> int:  # noqa: ANN401
    tasks = (dask_scheduler.tasks.get(key) for key in keys)
    return sum(task.nbytes for task in tasks if task is not None and task.nbytes > 0)


def _checked(before: object, after: object) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether results are equal; floats may differ in their last digits, which is said."""
    if before is None or after is None:
        return None, ()
    changes = tuple(differences(before, after))
    equal = same_value(before, after)
    if equal is False and nearly_same(before, after):
        note = "floats differ in their last digits: a sum depends on where its array lies"
        return True, (*changes, note)
    return equal, changes


def nearly_same(before: Any, after: Any) -> bool:  # noqa: ANN401
    """Tell whether results of floats are the same but for a 1e-12 of them."""
    if isinstance(before, list) and isinstance(after, list):
        pairs = zip(before, after, strict=False)
        return len(before) == len(after) and all(nearly_same(a, b) for a, b in pairs)
    try:
        # Floats, numpy's floats and its arrays alike; anything else raises or is unequal.
        near = abs(before - after) <= _NEAR * abs(before)
        return bool(near.all() if hasattr(near, "all") else near)
    except Exception:  # noqa: BLE001  (values of the user)
        return False


def materialized(collection: Any) -> dict[Any, Any]:  # noqa: ANN401
    """Return the tasks of a collection by key; its own layers stay as they were."""
    # A layer keeps what it was materialized to, and would send that from then on: a copy does.
    from dask._task_spec import convert_legacy_graph

    graph = collection.__dask_graph__()
    layers = getattr(graph, "layers", None)
    if layers is None:
        return dict(convert_legacy_graph(graph))
    tasks: dict[Any, Any] = {}
    for layer in layers.values():
        tasks.update(dict(copy(layer)))
        if len(tasks) > _MOST_TASKS:
            message = (
                f"the graph has more than {format_count(_MOST_TASKS)} tasks, too many to try. "
                "Try a part of it, e.g. y.blocks[:2, :2]"
            )
            raise UsageError(message)
    return dict(convert_legacy_graph(tasks))


def _renamed(graph: Mapping[Any, Any], wanted: list[Any]) -> tuple[dict[Any, Any], list[Any]]:
    # A cluster forgets a key some time after its release, and warns of another task of that key;
    # and what the user has computed under the old keys would be taken for the result.
    from dask.utils import key_split

    mark = uuid4().hex
    names = {key: f"{key_split(key)}-{mark}-{at}" for at, key in enumerate(graph)}
    renamed = {names[key]: task.substitute(names, key=names[key]) for key, task in graph.items()}
    return renamed, [names[key] for key in wanted]


def _embedding(graph: Mapping[Any, Any], wanted: Sequence[Any]) -> dict[Any, Any]:
    """Return the graph with the large objects that are keys of their own in the tasks with them."""
    from dask._task_spec import DataNode

    nodes = {key: node for key, node in graph.items() if isinstance(node, DataNode)}
    own = {
        key: node
        for key, node in nodes.items()
        if key not in wanted and (size_bytes(node.value) or 0) >= LARGE_BYTES
    }
    return {key: task.substitute(own) for key, task in graph.items() if key not in own}


def large_values(graph: Mapping[Any, Any]) -> dict[int, tuple[Any, int]]:
    """Return large arguments, and long containers, by id: (object, number of tasks with it)."""
    arguments = (value for task in graph.values() for value in _arguments(task))
    large = [v for v in arguments if is_crowd(v) or (size_bytes(v) or 0) >= LARGE_BYTES]
    counts = Counter(map(id, large))
    return {id(value): (value, counts[id(value)]) for value in large}


def _bytes_of(value: object) -> int:
    """Return what it holds; a container of many small things, its pickle."""
    if is_crowd(value):
        return pickled_bytes(value, time.monotonic() + _PICKLE_S)
    return size_bytes(value) or 0


def _arguments(task: Any) -> Iterator[Any]:  # noqa: ANN401
    # Other entries of a graph have none.
    from dask._task_spec import DataNode, GraphNode, Task

    if isinstance(task, Task):
        for argument in (*task.args, *(task.kwargs or {}).values()):
            value = argument.value if isinstance(argument, DataNode) else argument
            if isinstance(value, Task):
                yield from _arguments(value)
            elif not isinstance(value, GraphNode):
                yield value


def _replaced(graph: Mapping[Any, Any], instead: Mapping[int, Any]) -> dict[Any, Any]:
    from dask._task_spec import DataNode, NestedContainer, Task

    def other(argument: Any) -> Any:  # noqa: ANN401
        value = argument.value if isinstance(argument, DataNode) else argument
        return changed(value) if isinstance(value, Task) else instead.get(id(value), argument)

    def changed(task: Any) -> Any:  # noqa: ANN401
        if not isinstance(task, Task) or not any(id(v) in instead for v in _arguments(task)):
            return task
        if isinstance(task, NestedContainer):
            return type(task)(*map(other, task.args))
        keywords = {name: other(value) for name, value in (task.kwargs or {}).items()}
        return Task(task.key, task.func, *map(other, task.args), **keywords)

    return {key: changed(task) for key, task in graph.items()}
