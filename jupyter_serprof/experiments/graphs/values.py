"""Values of Dask: collections and futures, how far along they are, and the same under new names."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from traceback import walk_tb
from types import FrameType
from typing import Any, NoReturn, cast

from jupyter_serprof.model import ProbeUnavailable
from jupyter_serprof.objects.ask import is_exactly, is_of
from jupyter_serprof.probes.dask.graph.persisted import (
    expression_of,
    has_expression,
    is_task,
    persisted_futures,
)

_PIP = 'Run: pip install "jupyter_serprof[dask]"'
_PLAIN = (list, tuple, set)


@dataclass(frozen=True, slots=True)
class Listed:
    """A collection of a namespace; what cannot be known without computing is None.

    ``state`` is ``""`` where tasks are left, else where the results are.
    """

    name: str
    kind: str
    partitions: int | None
    tasks: int | None
    layers: int | None
    state: str


def require_dask() -> None:
    """Tell how to get Dask where it is not installed.

    Raises ``ProbeUnavailable``: With the line that installs it.
    """
    if find_spec("dask") is None:
        message = f"graphstages needs Dask, which is not installed. {_PIP}"
        raise ProbeUnavailable(message)


def is_collection(value: object) -> bool:
    """Tell whether a value is a Dask collection; one that cannot be asked is none."""
    if "dask" not in sys.modules:
        return False
    from dask.base import is_dask_collection

    try:
        return is_dask_collection(value)
    except Exception:  # noqa: BLE001  (an object of somebody else that answers to every name)
        return False


def collections_in(value: object) -> list[Any]:
    """Return the collection itself, or those of a list that holds nothing else."""
    if is_collection(value):
        return [value]
    if is_exactly(value, _PLAIN) and value and all(map(is_collection, cast("list[object]", value))):
        return list(cast("list[object]", value))
    return []


def futures_in(value: object) -> list[Any]:
    """Return the futures of a value that is one, or that is a list or a dict of them."""
    client = sys.modules.get("distributed.client")
    is_plain = is_exactly(value, (*_PLAIN, dict))
    if client is None or not (is_plain or isinstance(value, client.Future)):
        return []
    return list(client.futures_of(value))


def same_futures(futures: Iterable[Any]) -> list[Any]:
    """Return futures of our own with the same keys, which can be released without asking whose."""
    return [type(future)(future.key, client=future.client) for future in futures]


def client_of(collections: Iterable[Any]) -> Any:  # noqa: ANN401
    """Return the distributed client that would compute collections, None for a local scheduler."""
    from dask.base import get_scheduler

    schedule = get_scheduler(collections=list(collections))  # type: ignore[no-untyped-call]  # dask
    owner = getattr(schedule, "__self__", None)
    return owner if is_of(owner, "distributed.client", "Client") else None


def run_here(collections: Iterable[Any], *, compute: bool) -> tuple[Any, ...]:
    """Compute collections as the user would, or persist them."""
    from dask import base

    __tracebackhide__ = True
    with given_up_wholly():
        return tuple((base.compute if compute else base.persist)(*collections))  # type: ignore[no-untyped-call]  # dask


@contextmanager
def given_up_wholly() -> Iterator[None]:
    """Empty the frames of Dask after an interrupt: futures in them go with them."""
    # IPython keeps the last traceback, and what was submitted would go on for it.
    __tracebackhide__ = True
    try:
        yield
    except KeyboardInterrupt as error:
        # Dask shortens its tracebacks: a frame that is left out lives on as the caller of another.
        for frame, _ in walk_tb(error.__traceback__):
            caller: FrameType | None = frame
            while caller is not None:
                library = str(caller.f_globals.get("__name__", "")).partition(".")[0]
                if library in ("dask", "distributed"):
                    with suppress(RuntimeError):  # it still runs: it is below this call
                        caller.clear()
                caller = caller.f_back
        raise


def default_client(*, is_asynchronous: bool = False) -> Any:  # noqa: ANN401
    """Return the client that code of the user computes with; None without one."""
    # An asynchronous one, whose event loop is the one that runs now, only where that is asked for.
    module = sys.modules.get("distributed.client")
    with suppress(ValueError):  # there is none
        client = module.default_client() if module else None
        return client if client and bool(client.asynchronous) == is_asynchronous else None
    return None


def wait_for(futures: list[Any], timeout_s: float | None) -> None:
    """Wait for futures, each with its own client; raise what the first failed one raised.

    Raises ``TimeoutError``: If they are not done in time.
    """
    from distributed import wait

    __tracebackhide__ = True
    for client in {id(future.client): future.client for future in futures}.values():
        with client.as_current():
            own = [future for future in futures if future.client is client]
            wait(own, timeout=timeout_s)  # type: ignore[no-untyped-call]  # distributed
    for future in futures:
        if future.status == "error":
            future.result()


def release(futures: Iterable[Any]) -> None:
    """Give futures back; other futures of the same keys, the user's, keep their results."""
    for future in futures:
        # A client that was closed meanwhile has released them.
        with suppress(RuntimeError, AttributeError):
            future.release()


def list_collections(namespace: Mapping[str, object]) -> list[Listed]:
    """Return the Dask collections of a namespace by name, without computing or materializing."""
    if "dask" not in sys.modules:
        return []
    import dask

    names = sorted(name for name in namespace if not name.startswith("_"))
    # Asking for partitions may compute divisions: that is refused, and the number is unknown.
    with dask.config.set(scheduler=_refuse):
        return [_listed(name, namespace[name]) for name in names if is_collection(namespace[name])]


def _refuse(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError


def _listed(name: str, value: Any) -> Listed:  # noqa: ANN401
    expression = expression_of(value)
    partitions = tasks = layers = None
    with suppress(Exception):  # a collection of another library may not keep the protocol
        if expression is not None:
            layers = sum(1 for _ in expression.walk())
        else:
            graph = value.__dask_graph__()
            tasks, layers = len(graph), len(getattr(graph, "layers", "1"))
    with suppress(Exception):  # refused, or not there
        partitions = value.npartitions if isinstance(value.npartitions, int) else None
    futures = persisted_futures([value])
    state = "" if futures is None else "on the cluster" if futures else "in memory"
    return Listed(name, " ".join(_kind(value)), partitions, tasks, layers, state)


def _kind(value: object) -> Iterator[str]:
    """Yield type, dtype and shape; what only computing tells is left out."""
    yield type(value).__name__
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if type(shape) is tuple and all(isinstance(length, int) for length in shape):
        yield f"{dtype} {shape}"


def graph_of(collection: Any) -> Any:  # noqa: ANN401
    """Return the graph where asking for it makes nothing, None for an expression."""
    if has_expression(collection):
        return None
    with suppress(Exception):  # a collection of another library may not keep the protocol
        return collection.__dask_graph__()
    return None


def fresh(value: object, client: Any) -> object:  # noqa: ANN401
    """Return a value that shares no key with results that the client holds."""
    # Only where the client holds results of a layer that has tasks left is a collection renamed;
    # that is part of what is measured. Results themselves, of what was persisted, keep their names:
    # they are what the computation begins with. An expression gets its names when it is optimized;
    # it stays as it is. Results that another client holds are not seen.
    keys: list[object] = list(getattr(client, "futures", {}))
    held = {key[0] if isinstance(key, tuple) and key else key for key in keys}
    if held and is_collection(value):
        return _fresh(value, held)
    if held and is_exactly(value, _PLAIN):
        return [_fresh(each, held) for each in cast("list[object]", value)]
    return value


def _fresh(collection: Any, held: set[object]) -> object:  # noqa: ANN401
    layers = getattr(graph_of(collection), "layers", {})
    left = {
        name
        for name, layer in layers.items()
        if not layer.is_materialized() or any(map(is_task, layer.values()))
    }
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
