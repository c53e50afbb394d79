"""Probe of Dask in this process: finding and optimizing what is computed, and local schedulers.

The steps before a graph is handed over are the same for a cluster, for Ray and for the schedulers
of this machine; the rest is for threads, processes and the synchronous scheduler.
Source: dask 2026.8.0, base.py:compute, persist, _expr.py:Expr, local.py:get_async, threaded.py:get,
multiprocessing.py:get.
"""

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.hook import Place, Sink
from jupyter_serprof.capture.recorder import Recorder, active_recorders
from jupyter_serprof.capture.stacks import stack_of
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.objects.ask import kind_module, kind_name
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.dask.local import lanes
from jupyter_serprof.probes.dask.local.columns import Failed, Log
from jupyter_serprof.probes.dask.local.naming import complete_names, naming_places
from jupyter_serprof.probes.dask.local.processes import Roads, is_local, with_clocks
from jupyter_serprof.probes.dask.local.tables import add_facts
from jupyter_serprof.probes.dask.local.threads import note_end, note_start, tell_ready

_SHUTDOWN_PLACE = "concurrent.futures.process:ProcessPoolExecutor.shutdown"
_SPAWN_PLACE = "multiprocessing.process:BaseProcess.start"
#: Shorter waits are the queue's own work: the result was there.
_SHORTEST_WAIT_NS = 5_000
#: Where ``get_async`` has the keys of its tasks; the first are over.
_STATES = ("finished", "running", "ready", "waiting")


def _note_collections(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    found = result[0]
    layers = [_layers(each) for each in found]
    known = [count for count in layers if count is not None]
    return [_name(each) for each in found[:3]], len(found), sum(known) if known else None


def _name(collection: Any) -> str:  # noqa: ANN401
    """Return the name of a collection, without asking it for attributes that it may make up."""
    kind = type(collection)
    if not _is_dasks(kind):
        return kind_name(kind)
    if hasattr(kind, "expr"):
        return str(collection.expr._name)  # noqa: SLF001  (what Dask's own functions read)
    known = getattr(collection, "__dict__", {})
    for attribute in ("key", "name"):
        if hasattr(kind, attribute) or attribute in known:
            return str(getattr(collection, attribute))
    return kind_name(kind)


def _is_dasks(kind: type) -> bool:
    return kind_module(kind).partition(".")[0] == "dask"


def _layers(collection: Any) -> int | None:  # noqa: ANN401
    # Building the graph of an expression, or of a collection of another library, is work.
    if not _is_dasks(type(collection)) or hasattr(type(collection), "expr"):
        return None
    layers = getattr(collection.__dask_graph__(), "layers", None)
    return None if layers is None else len(layers)


def _with_clocks(args: Any, kwargs: Any) -> Any:  # noqa: ANN401
    probes = [probe for recorder in active_recorders() for probe in recorder.probes]
    listening = [probe for probe in probes if isinstance(probe, DaskLocalProbe)]
    for probe in listening:
        probe.saw_pool(getattr(args[0], "__self__", None))
    return with_clocks(args, kwargs, [probe.roads for probe in listening])


def client_places() -> list[Place]:
    """Return the places between the user's call and the scheduler, whichever it is."""
    base, client = (sys.modules.get(name) for name in ("dask.base", "distributed.client"))
    places = [
        Place(f"{module}:{call}", "dask.prepare", lanes.COMPUTE)
        for module in ("dask", "dask.base")
        for call in ("compute", "persist")
    ]
    for name in ("unpack_collections", "get_scheduler", *[_EXPRESSION] * _has_expressions(base)):
        after = _note_collections if name == "unpack_collections" else None
        places.append(Place(f"dask.base:{name}", "dask.prepare", "dask.prepare", after=after))
    if hasattr(base, _GRAPH):
        places.append(Place(f"dask.base:{_GRAPH}", "dask.optimize", "dask.optimize"))
    if client is not None and _has_expressions(client):  # it has a name of its own for it
        place = f"distributed.client:{_EXPRESSION}"
        places.append(Place(place, "dask.prepare", "dask.prepare"))
    return [*places, *expression_places()]


#: What Dask makes of collections: from 2025.1 on, and until 2025.3.
_EXPRESSION, _GRAPH = "collections_to_expr", "collections_to_dsk"


def _has_expressions(module: object) -> bool:
    """Tell whether a Dask has expressions; one that has neither is told what is missing."""
    return hasattr(module, _EXPRESSION) or not hasattr(module, _GRAPH)


def expression_places() -> Iterator[Place]:
    """Yield the places of expressions: each class may have its own way to optimize and build."""
    for place in _overrides("optimize"):
        yield Place(place, "dask.optimize", "dask.optimize")
    yield Place("dask._expr:optimize_until", "dask.optimize", "dask.optimize")
    for place in _overrides("__dask_graph__"):
        yield Place(place, "dask.materialize", lanes.MATERIALIZE)
    for name in ("HLGExpr", "_HLGExprSequence"):
        # The function inside a cached property: it runs once for each expression.
        place = f"dask._expr:{name}._optimized_dsk.func"
        yield Place(place, "dask.optimize", lanes.LOW_LEVEL)


def _overrides(method: str) -> list[str]:
    base = getattr(sys.modules.get("dask._expr"), "Expr", None)
    waiting, found = [base] if isinstance(base, type) else [], {f"dask._expr:Expr.{method}": None}
    while waiting:
        kind = waiting.pop()
        if method in vars(kind) and "<" not in kind.__qualname__:
            found[f"{kind.__module__}:{kind.__qualname__}.{method}"] = None
        waiting += kind.__subclasses__()
    return list(found)


def scheduler_places() -> list[Place]:
    """Return the places of the schedulers of this machine, without those called for each task."""
    home, inner = "dask.multiprocessing", {"dask.state": "dask.schedule.state"}
    threads, alone, processes = lanes.GETS
    return [
        Place(
            "dask.threaded:get_async", "dask.schedule", threads, before=note_start, after=note_end
        ),
        Place("dask.local:get_async", "dask.schedule", alone),
        Place(f"{home}:get_async", "dask.schedule", processes, before=_with_clocks),
        Place("dask.local:convert_legacy_graph", "dask.materialize", "dask.convert", inner),
        Place("dask.local:order", "dask.schedule.order", "dask.order"),
        Place("dask.local:start_state_from_dask", "dask.schedule.state", "dask.state"),
        Place(f"{home}:ensure_dict", "dask.materialize", "dask.convert"),
        Place(f"{home}:cull", "dask.optimize", "dask.fuse"),
        Place(f"{home}:fuse", "dask.optimize", "dask.fuse"),
        Place(_SHUTDOWN_PLACE, "dask.wait", lanes.SHUTDOWN),
        Place(_SPAWN_PLACE, "dask.schedule", "dask.spawn", after=lambda _, args, *__: args[0].pid),
    ]


def _state_of(frame: FrameType) -> object:
    return frame.f_locals.get("state") if frame.f_code.co_name == "get_async" else None


class DaskLocalProbe(Probe):
    """Sees what Dask does in this process, and the tasks of its own threads and processes.

    What it cannot see: tasks in processes of pools that are not Python's own, or that the user gave
    other functions to pickle with; where time goes inside a task.
    """

    name = "dask-local"
    library = "dask"

    def __init__(self, *, detail: bool = False) -> None:
        super().__init__(detail=detail)
        self._recorder: Recorder | None = None
        self._logs: dict[str, Log] = {}
        self._is_hidden = False
        self._reached: set[str] = set()

    def places(self) -> list[Place]:
        """Return the places that are watched."""
        key = lambda _, args, __, result: Failed(args[0]) if result[2] else args[0]  # noqa: E731
        task = Place("dask.local:execute_task", "dask.execute", "dask.task", after=key)
        wait = Place("dask.local:queue_get", "dask.wait", "dask.queue")
        return [*client_places(), *naming_places(), *scheduler_places(), task, wait]

    def arm(self, recorder: Recorder) -> None:
        """Listen; what comes with each task is kept in columns instead of on the page."""
        if not self._logs:
            tasks, waits = Log(recorder), Log(recorder, _SHORTEST_WAIT_NS)
            self._logs = {"dask.task": tasks, "dask.queue": waits}
            self.roads = Roads(Log(recorder), Log(recorder), {}, {}, {})
        self._recorder = recorder
        super().arm(recorder)

    def arm_place(
        self, place: Place, sink: Sink, *, owner: object = None, attribute: str = ""
    ) -> None:
        """Listen at one place; calls that come with each task go to the columns."""
        count = len(self._subscriptions)
        super().arm_place(place, self._logs.get(place.role, sink), owner=owner, attribute=attribute)
        if len(self._subscriptions) > count:
            self._reached.add(place.role)

    def look(self, stage: str, still_s: float) -> LiveFacts | None:  # noqa: ARG002
        """Return how many tasks are over, as the scheduler that the caller is in counts them."""
        for state in stack_of(self._recorder.thread if self._recorder else 0, _state_of):
            if isinstance(state, dict):
                done, *left = (len(state.get(key, ())) for key in _STATES)
                total = done + sum(left) or 1
                return LiveFacts("dask.execute", "", done, total, share=done / total, guessed=0.3)
        return None

    def saw_pool(self, pool: object) -> None:
        """Note whose processes are used."""
        self._is_hidden |= not is_local(pool)

    def refine(self, run: Page) -> None:
        """Add the tasks, their lanes, the computations and their tables."""
        lanes.complete_steps(run)
        complete_names(run.drafts)
        if not self._logs:
            return
        tell_ready(run.drafts, lanes.GETS[0], self._logs["dask.task"].tracks)
        calls = lanes.Calls(self._logs["dask.task"], self._logs["dask.queue"], self.roads)
        lanes.add_calls(run, calls)
        add_facts(run, calls)
        self._logs = {}

    def level(self) -> str:
        """Return the rung: tasks, the steps around them, or what comes before the scheduler."""
        if self._reached.isdisjoint(lanes.GETS):
            return "client"
        return "tasks" if "dask.task" in self._reached else "steps"

    def unseen(self) -> Sequence[str]:
        """Return what could not be seen, for ``quality``."""
        hidden = ["tasks in the processes of a pool that is not Python's own"]
        return [*dict.fromkeys(super().unseen()), *(hidden if self._is_hidden else ())]
