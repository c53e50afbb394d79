"""The agent: notes what happens inside a scheduler and its workers, in bounded memory.

It travels as source (see `dask_cluster`), so this package stands alone: the standard library and
distributed only. Every name of distributed that it replaces is private; one that is missing is
reported and the others still work. Times are ns of ``time.perf_counter_ns`` of the process that the
agent runs in. The last recording that leaves a process puts every original back.

Source: distributed 2026.8.0, scheduler.py:Scheduler.update_graph, comm/tcp.py:TCP.read and write,
core.py:Server.handle_stream.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from .hooks import (
    MARK,
    counting,
    decoding,
    encoding,
    executing,
    handling,
    importing,
    is_patched,
    is_wrapped,
    marked,
    often,
    put_back,
    reading,
    replace,
    replace_item,
    timed,
    update_graph,
    writing,
)
from .notes import AGENTS, SCHEDULER, Agent, clock, delay_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_LOCK = threading.RLock()
#: Names that this process's distributed does not have.
_MISSING: list[str] = []
#: Keys of a computation that are read to tell it apart.
_FEW_KEYS = 256
#: The message that tells where in the stream of a client a recording begins: it releases no key.
BEGINNING = "client-releases-keys"
#: Messages to workers that are under way: an event loop alone would forget them.
_LEAVING: set[asyncio.Future[None]] = set()


def _patch_wire(missing: list[str]) -> None:
    for module in ("tcp", "ws"):
        try:
            comm = import_module("distributed.comm." + module)
        except ImportError:
            continue
        if hasattr(comm, "read_bytes_rw"):
            replace(missing, "read_bytes_rw", comm, "read_bytes_rw", reading)
        replace(missing, module + ".from_frames", comm, "from_frames", decoding)
        replace(missing, module + ".to_frames", comm, "to_frames", encoding)
        if module == "tcp":
            replace(missing, "TCP.write", comm.TCP, "write", writing)


def _patch_scheduler(scheduler: Any, missing: list[str]) -> None:
    """Watch one scheduler; watching it twice does nothing."""
    if is_wrapped(scheduler, "transitions"):
        return
    handlers = scheduler.stream_handlers
    replace_item(missing, "update-graph", handlers, "update-graph", update_graph)
    replace_item(missing, BEGINNING, handlers, BEGINNING, marked)
    transitions = "dask.schedule.transitions"
    for op in ("task-finished", "task-erred"):
        replace_item(missing, op, handlers, op, often(transitions, op))
    replace(missing, "transitions", scheduler, "transitions", often(transitions, "transitions"))
    for attribute in ("_create_taskstate_from_graph", "_generate_taskstates"):
        make = timed("dask.schedule.state", attribute.lstrip("_"))
        replace(missing, attribute, scheduler, attribute, make)


def _patch_modules(missing: list[str]) -> None:
    module = import_module("distributed.scheduler")
    for attribute, stage, counted in (
        ("deserialize", "dask.schedule.unpickle", None),
        ("_materialize_graph", "dask.materialize", _materialized_count),
        ("convert_legacy_graph", "dask.materialize", None),
        ("_cull", "dask.optimize", None),
    ):
        make = timed(stage, attribute.lstrip("_"), counted)
        replace(missing, attribute, module, attribute, make)
    order = import_module("dask.order")
    replace(missing, "order", order, "order", timed("dask.schedule.order", "order"))
    # What pickle cannot do alone, such as functions that were defined in a notebook. Only the name
    # in distributed is replaced: cloudpickle itself is the user's, and watched by others as well.
    pickle = import_module("distributed.protocol.pickle")
    replace(missing, "cloudpickle.dumps", pickle, "cloudpickle", counting("dumps", "cloudpickled"))
    _patch_optimizers(missing)


def _patch_workers(missing: list[str]) -> None:
    """Watch the workers of this process; watching them twice does nothing."""
    kind = import_module("distributed.worker").Worker
    if not is_wrapped(kind, "execute"):
        replace(missing, "Worker.execute", kind, "execute", executing)
        replace(missing, "Worker.handle_stimulus", kind, "handle_stimulus", handling)


def _patch_imports(missing: list[str]) -> None:
    """Watch imports; the process of the client sees its own."""
    seam = import_module("importlib._bootstrap")
    if not is_wrapped(seam, "_find_and_load"):
        replace(missing, "imports", seam, "_find_and_load", importing)


def _materialized_count(made: Any) -> int:
    return len(made[0]) if isinstance(made, tuple) and made and isinstance(made[0], dict) else 1


def _patch_optimizers(missing: list[str]) -> None:
    try:
        expressions = import_module("dask._expr")
    except ImportError:
        missing.append("_optimized_dsk")
        return
    for kind in ("HLGExpr", "_HLGExprSequence"):
        cached = vars(getattr(expressions, kind, object)).get("_optimized_dsk")
        if hasattr(cached, "func"):
            replace(missing, kind, cached, "func", timed("dask.optimize", "low_level_optimize"))
        else:
            missing.append(kind + "._optimized_dsk")


_GC_START = [0]


def _collected(phase: str, info: dict[str, int]) -> None:
    if phase == "start":
        _GC_START[0] = clock()
        return
    for agent in list(AGENTS.values()):
        if agent.has_own_process:
            name = "generation " + str(info.get("generation"))
            agent.collections.add(SCHEDULER, "gc", name, _GC_START[0], clock())


def _plugin(agent: Agent, scheduler: Any, token: str) -> Any:
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Listener(SchedulerPlugin):
        """Hears of graphs and of every change of a task."""

        name = MARK + token

        def update_graph(
            self, scheduler: Any, *, client: str, keys: Any, tasks: Any, **_: Any
        ) -> None:
            if client in agent.clients and agent.is_taking():
                sign = min(map(str, keys)) if 0 < len(keys) <= _FEW_KEYS else ""
                agent.sent(scheduler, sign, tasks)

        def transition(self, key: Any, start: str, finish: str, *_: Any, **details: Any) -> None:
            agent.transitions += 1
            if start == "processing":
                if finish in ("memory", "erred"):
                    agent.finished(scheduler, key, finish, details)
            elif finish == "processing" and agent.is_unassigned:
                agent.assigned(scheduler, key)

        def remove_client(self, scheduler: Any, client: str) -> None:
            agent.clients.discard(client)
            if not agent.clients:
                scheduler.remove_plugin(name=self.name)
                abandon(token)
                _LEAVING.add(leaving := asyncio.ensure_future(_abandon_workers(scheduler, token)))
                leaving.add_done_callback(_LEAVING.discard)

    return Listener()


async def _abandon_workers(scheduler: Any, token: str) -> None:
    """Tell the workers that a recording is over; those that never heard of it stay silent."""
    pickle: Any = import_module("distributed.protocol.pickle")
    source = (
        "import sys\n"
        f"agent = sys.modules.get({__name__!r})\n"
        f"if agent is not None: agent.abandon({token!r})"
    )
    parts = {"function": exec, "args": (source, {}), "kwargs": {}}
    call = {name: pickle.dumps(part) for name, part in parts.items()}
    with suppress(Exception):  # workers that are gone, or a scheduler that goes itself
        await scheduler.broadcast(msg={"op": "run", **call, "wait": True}, on_error="ignore")


def start(
    token: str, clients: Sequence[str], pid: int, dask_scheduler: Any = None
) -> dict[str, Any]:
    """Begin to note for one recording; return what is known of this process.

    Parameters
    ----------
    token
        Names the recording.
    clients
        Dask's ids of the clients whose graphs are followed.
    pid
        Process of the client, which sees its own garbage collections.
    dask_scheduler
        The scheduler or the worker that the agent runs in; distributed gives both by this name.
    """
    with _LOCK:
        if not AGENTS:
            _MISSING.clear()
            _patch_wire(_MISSING)
            _patch_modules(_MISSING)
        agent = AGENTS.get(token)
        if agent is None:
            agent = AGENTS[token] = Agent(clients, has_own_process=os.getpid() != pid)
        agent.users += 1
        if agent.has_own_process:  # the client's process sees its own
            _patch_imports(_MISSING)
            if _collected not in gc.callbacks:
                gc.callbacks.append(_collected)
        if _is_scheduler(dask_scheduler):
            agent.loop_thread, agent.is_scheduler = threading.get_ident(), True
            _patch_scheduler(dask_scheduler, _MISSING)
            if BEGINNING in _MISSING:
                agent.begun = agent.clients
            dask_scheduler.add_plugin(_plugin(agent, dask_scheduler, token))
        elif dask_scheduler is not None:
            _patch_workers(_MISSING)
    known = {"pid": os.getpid(), "missing": list(_MISSING), "delay": delay_s(dask_scheduler)}
    return {**ping(), **known}


def _is_scheduler(server: Any) -> bool:
    return hasattr(server, "update_graph")


def mark(token: str, client: str) -> dict[str, Any]:
    """Return the message that a client has to send where a recording begins."""
    return {"op": BEGINNING, "keys": [], "client": client, "stimulus_id": MARK + token}


async def leave(token: str, dask_scheduler: Any) -> None:
    """Stop noting on a scheduler and its workers, whatever has been started of it."""
    stop(token, dask_scheduler)
    abandon(token)
    await _abandon_workers(dask_scheduler, token)


def workers(dask_scheduler: Any) -> list[str]:
    """Return the addresses of the workers that there are now."""
    return list(dask_scheduler.workers)


def ping() -> dict[str, Any]:
    """Return the time of this process's clock, ns, and what tells its clock apart."""
    return {"clock": clock(), "boot": _boot()}


def _boot() -> str:
    """Return what names the run of the machine: processes of one run share their clock on Linux."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {Path('/proc/self/ns/time').readlink()}"
    except OSError:
        return ""


def stop(token: str, dask_scheduler: Any = None) -> dict[str, Any] | None:
    """Stop noting, put back what was replaced unless another one listens, return what was noted.

    Returns
    -------
    dict or None
        Only the delays where another role of the same process gives the report.
    """
    with _LOCK:
        agent = AGENTS.get(token)
        if agent is None:
            return None
        agent.users -= 1
        plugin = MARK + token
        if _is_scheduler(dask_scheduler) and plugin in dask_scheduler.plugins:
            dask_scheduler.remove_plugin(name=plugin)
        # The scheduler is asked last: workers of its process may have come or gone meanwhile.
        if _is_scheduler(dask_scheduler) or (agent.users <= 0 and not agent.is_scheduler):
            del AGENTS[token]
        if not AGENTS:
            _put_back()
    if _is_scheduler(dask_scheduler):
        return agent.report()
    known = {"delay": delay_s(dask_scheduler), "delays": agent.delays_of(dask_scheduler)}
    return known if agent.is_scheduler else {**agent.report(), **known}


def abandon(token: str) -> None:
    """Stop noting in this process, whoever still listens under this name."""
    with _LOCK:
        AGENTS.pop(token, None)
        if not AGENTS:
            _put_back()


def forget() -> None:
    """Stop noting in the child of a fork, where whoever held the lock may not exist."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.RLock()
    AGENTS.clear()
    _put_back()


def _put_back() -> None:
    put_back()
    if _collected in gc.callbacks:
        gc.callbacks.remove(_collected)


def is_running() -> bool:
    """Tell whether somebody listens in this process."""
    return bool(AGENTS) or is_patched()
