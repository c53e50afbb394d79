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
import pickle
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from . import hooks
from .leftovers import drop_leftovers
from .lines import BEAT_S, ask, compared, invite, is_set, miss, ping
from .looks import Lookout, adopt, running, sign_of, spills
from .notes import AGENTS, Agent, clock, collected, delay_s
from .totals import queued_ns

#: What the client asks for, too.
__all__ = ["AGENTS", "BEAT_S", "adopt", "ask", "compared", "is_set"]

_LOCK = threading.RLock()
#: Names that this process's distributed does not have.
_MISSING: list[str] = []
#: The message that tells where in the stream of a client a recording begins: it releases no key.
BEGINNING = "client-releases-keys"
#: How long an agent stays without news of its recording: so many ticks of so many seconds.
LEASE, TICK_S = 8, 1.0
#: How often an event loop is asked to turn, s; what comes so much later, ns, stood still.
_PULSE_S, _LATE_NS = 0.02, 100_000_000
#: How often it is looked whether workers have answered, s.
_LOOK_S = 0.005
#: Of the time to leave, workers that came just now have one of so many.
_MOMENTS = 12


def _patch_wire(missing: list[str]) -> None:
    for module in ("tcp", "ws"):
        try:
            comm = import_module("distributed.comm." + module)
        except ImportError:
            continue
        if hasattr(comm, "read_bytes_rw"):
            hooks.replace(missing, "read_bytes_rw", comm, "read_bytes_rw", hooks.reading)
        hooks.replace(missing, module + ".from_frames", comm, "from_frames", hooks.decoding)
        hooks.replace(missing, module + ".to_frames", comm, "to_frames", hooks.encoding)
        if module == "tcp":
            hooks.replace(missing, "TCP.write", comm.TCP, "write", hooks.writing)


def _patch_scheduler(scheduler: Any, missing: list[str]) -> None:
    """Watch one scheduler; watching it twice does nothing."""
    if hooks.is_wrapped(scheduler, "transitions"):
        return
    handlers = scheduler.stream_handlers
    hooks.replace(missing, "update-graph", handlers, "update-graph", hooks.update_graph)
    hooks.replace(missing, BEGINNING, handlers, BEGINNING, hooks.marked)
    tables = {"task-finished": handlers, "task-erred": handlers, "transitions": scheduler}
    for at, owner in tables.items():
        hooks.replace(missing, at, owner, at, hooks.often("dask.schedule.transitions", at))
    for attribute in ("_create_taskstate_from_graph", "_generate_taskstates"):
        make = hooks.timed("dask.schedule.state", attribute.lstrip("_"))
        hooks.replace(missing, attribute, scheduler, attribute, make)


def _patch_modules(missing: list[str]) -> None:
    module = import_module("distributed.scheduler")
    for attribute, stage, counted in (
        ("deserialize", "dask.schedule.unpickle", None),
        ("_materialize_graph", "dask.materialize", _materialized_count),
        ("convert_legacy_graph", "dask.materialize", None),
        ("_cull", "dask.optimize", None),
    ):
        make = hooks.timed(stage, attribute.lstrip("_"), counted)
        hooks.replace(missing, attribute, module, attribute, make)
    order = import_module("dask.order")
    hooks.replace(missing, "order", order, "order", hooks.timed("dask.schedule.order", "order"))
    # What pickle cannot do alone, such as functions that were defined in a notebook. Only the name
    # in distributed is replaced: cloudpickle itself is the user's, and watched by others as well.
    pickle = import_module("distributed.protocol.pickle")
    make = hooks.counting("dumps", "cloudpickled")
    hooks.replace(missing, "cloudpickle.dumps", pickle, "cloudpickle", make)
    _patch_optimizers(missing)


def _patch_workers(missing: list[str]) -> None:
    """Watch the workers of this process; watching them twice does nothing."""
    kind = import_module("distributed.worker").Worker
    if not hooks.is_wrapped(kind, "execute"):
        hooks.replace(missing, "Worker.execute", kind, "execute", hooks.executing)
        hooks.replace(missing, "Worker.handle_stimulus", kind, "handle_stimulus", hooks.handling)


def _patch_imports(missing: list[str]) -> None:
    """Watch imports; the process of the client sees its own."""
    seam = import_module("importlib._bootstrap")
    if not hooks.is_wrapped(seam, "_find_and_load"):
        hooks.replace(missing, "imports", seam, "_find_and_load", hooks.importing)


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
            make = hooks.timed("dask.optimize", "low_level_optimize")
            hooks.replace(missing, kind, cached, "func", make)
        else:
            missing.append(kind + "._optimized_dsk")


def _plugin(agent: Agent, scheduler: Any, token: str) -> Any:
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Listener(SchedulerPlugin):
        """Hears of graphs and of every change of a task."""

        name = hooks.MARK + token

        def update_graph(
            self, scheduler: Any, *, client: str, keys: Any, tasks: Any, **_: Any
        ) -> None:
            _note_graph(agent, scheduler, client, keys, tasks)

        def transition(self, key: Any, start: str, finish: str, *_: Any, **details: Any) -> None:
            agent.transitions += 1
            if start == "processing":
                if finish in ("memory", "erred"):
                    agent.finished(scheduler, key, finish, details)
            elif finish == "processing" and agent.is_unassigned:
                agent.assigned(scheduler, key)

        def add_worker(self, scheduler: Any, worker: str) -> None:
            agent.count_threads(scheduler)
            invite(agent, token, scheduler, worker)

        def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:  # noqa: ARG002
            miss(agent, worker)

        def remove_client(self, scheduler: Any, client: str) -> None:
            agent.clients.discard(client)
            _go_with_the_last(agent, token, scheduler)

        async def close(self) -> None:
            stop(token, scheduler, agent)

    return Listener()


def _note_graph(agent: Agent, scheduler: Any, client: str, keys: Any, tasks: Any) -> None:
    if client not in agent.clients:
        return
    if not agent.is_taking(keys):
        agent.meet_earlier(scheduler.tasks.get(key) for key in keys)
    else:
        agent.count_threads(scheduler)
        agent.sent(scheduler, sign_of(keys), tasks)


def _go_with_the_last(agent: Agent, token: str, scheduler: Any) -> None:
    if not agent.clients:
        stop(token, scheduler)


def start(
    token: str,
    clients: Sequence[str],
    pid: int,
    running: tuple[int, Sequence[str]] = (0, ()),
    server: Any = None,
) -> dict[str, Any]:
    """Begin to note for one recording, or renew its lease; return what is known of this process.

    ``clients``: Dask's ids of the clients whose graphs are followed.
    ``pid``: Process of the client, which sees its own garbage collections.
    ``running``: When it told, by its clock, which recordings ran there, and which: older ones go.
    ``server``: The scheduler or the worker that the agent runs in.
    """
    with _LOCK:
        agent = AGENTS.get(token)
        if agent is None:
            agent = AGENTS[token] = Agent(clients, has_own_process=os.getpid() != pid)
            agent.origin = pid, running
        is_new = id(server) not in agent.leases
        agent.leases[id(server)] = LEASE
        if is_new:
            try:
                _listen(agent, token, server)
                drop_leftovers(agent, server, stop)
            except BaseException:
                abandon(token)
                raise
    known = {"pid": os.getpid(), "missing": list(_MISSING), "delay": delay_s(server)}
    return {**ping(), **known, "is_new": is_new}


def _listen(agent: Agent, token: str, server: Any) -> None:
    if not hooks.is_patched():
        _MISSING.clear()
        _patch_wire(_MISSING)
        _patch_modules(_MISSING)
    if agent.has_own_process:  # the client's process sees its own
        _patch_imports(_MISSING)
        if collected not in gc.callbacks:
            gc.callbacks.append(collected)
    if server is None:
        return
    _tick(agent, token, server)
    _pulse(agent, server, clock(), queued_ns())
    if not _is_scheduler(server):
        agent.bytes["spills"] -= spills(server)
        _patch_workers(_MISSING)
        if os.getppid() == agent.origin[0]:
            hooks.shield()
        return
    agent.loop_thread, agent.is_scheduler = threading.get_ident(), True
    agent.leaving = asyncio.Event()
    _patch_scheduler(server, _MISSING)
    if BEGINNING in _MISSING:
        agent.begun |= agent.clients
    for client in agent.clients & server.clients.keys():
        agent.meet_earlier(server.clients[client].wants_what)
    server.task_metadata[hooks.MARK + token] = Lookout(agent, server)
    server.add_plugin(_plugin(agent, server, token))
    for address in list(server.workers):
        invite(agent, token, server, address)


def _tick(agent: Agent, token: str, server: Any) -> None:
    """Let a lease grow older; a process that stands still meanwhile loses one tick, not all."""
    if id(server) not in agent.leases:
        return
    agent.leases[id(server)] -= 1
    if agent.leases[id(server)] > 0 and AGENTS.get(token) is agent:
        asyncio.get_running_loop().call_later(TICK_S, _tick, agent, token, server)
    else:
        stop(token, server, agent)


def _pulse(agent: Agent, server: Any, due: int, queued: int) -> None:
    if id(server) not in agent.leases:
        return
    now, is_told = clock(), agent.has_own_process or _is_scheduler(server)
    waited = queued_ns()
    due += waited - queued
    if now - due >= _LATE_NS and is_told:  # a worker beside the client turns with its loop
        place = ("scheduler" if _is_scheduler(server) else server.address, "loop")
        lane = agent.lanes.setdefault(place, len(agent.lanes))
        agent.blocks.add(lane, "dask.blocked", "event loop", due, now)
    due = now + int(_PULSE_S * 1e9)
    asyncio.get_running_loop().call_later(_PULSE_S, _pulse, agent, server, due, waited)


def _is_scheduler(server: Any) -> bool:
    return hasattr(server, "update_graph")


def mark(token: str, client: str) -> dict[str, Any]:
    """Return the message that a client has to send where a recording begins."""
    return {"op": BEGINNING, "keys": [], "client": client, "stimulus_id": hooks.MARK + token}


async def settle(token: str, seconds: float, _: object) -> None:
    """Wait until the workers have the agent, at most so long; who is late is waited for no more."""
    agent, until = AGENTS.get(token), clock() + seconds * 1e9
    while agent and clock() < until and not all(map(_is_known, agent.stations.values())):  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_S)


def _is_known(station: dict[str, Any]) -> bool:
    return "clock" in station or "error" in station


async def leave(token: str, seconds: float, scheduler: Any) -> dict[str, Any] | None:
    """Take the agents away; return the report of the scheduler's, and what is known of each worker.

    Workers that had the agent are waited for, at most so long, one that came just now for a moment.
    To those that are deaf it is told as soon as they hear again, or their lease ends.
    """
    agent = AGENTS.get(token)
    if agent is None or agent.leaving is None:
        return None
    agent.leases[id(scheduler)] += int(seconds / TICK_S)
    await settle(token, seconds / _MOMENTS, scheduler)
    agent.leaving.set()
    awaited = [agent.errands[at] for at, known in agent.stations.items() if _is_known(known)]
    if awaited:
        await asyncio.wait(awaited, timeout=seconds)
    stations = {address: dict(known) for address, known in agent.stations.items()}
    return {"report": stop(token, scheduler), "stations": stations}


def hand_over(token: str, worker: Any) -> dict[str, Any]:
    """Stop noting on a worker; the report is packed: the scheduler only passes it on."""
    agent = AGENTS.get(token)
    delays = agent.delays.get(worker.address, []) if agent else []
    if agent:
        agent.bytes["spills"] += spills(worker)
    report = stop(token, worker)
    packed = None if report is None else pickle.dumps(report, 4)
    known = {"delay_end": delay_s(worker), "delays": delays, "running": running(worker)}
    return {**known, "report": packed}


def stop(token: str, server: Any, agent: Agent | None = None) -> dict[str, Any] | None:
    """Stop noting, put back what was replaced unless another one listens, return what was noted.

    A client leaves the agent to a scheduler or worker beside it.

    None where nothing was noted, or where another role of the process gives the report.
    """
    is_scheduler = _is_scheduler(server)
    with _LOCK:
        agent = agent or AGENTS.get(token)
        if agent is None or agent.leases.pop(id(server), None) is None:
            return None
        if is_scheduler:
            _dismiss(agent, token, server)
        # The scheduler is asked last: workers of its process may have come or gone meanwhile.
        is_last = is_scheduler or not (agent.leases or agent.is_scheduler)
        if is_last and AGENTS.get(token, agent) is agent:
            abandon(token)
    has_report = is_scheduler or not (server is None or agent.is_scheduler)
    return agent.report() if has_report else None


def _dismiss(agent: Agent, token: str, scheduler: Any) -> None:
    scheduler.task_metadata.pop(hooks.MARK + token, None)
    if hooks.MARK + token in scheduler.plugins:
        scheduler.remove_plugin(name=hooks.MARK + token)
    agent.leaving.set()
    for errand in agent.errands.values():
        errand.get_loop().call_later(LEASE * TICK_S, errand.cancel)


def abandon(token: str) -> None:
    """Stop noting in this process, whoever still listens under this name."""
    with _LOCK:
        agent = AGENTS.pop(token, None)
        if AGENTS:
            return
        _put_back()
        if agent is not None and agent.has_own_process:  # nobody will look for it here
            for name in [name for name in sys.modules if (name + ".").startswith(__name__ + ".")]:
                del sys.modules[name]


def forget() -> None:
    """Stop noting in the child of a fork, where whoever held the lock may not exist."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.RLock()
    AGENTS.clear()
    _put_back()


def _put_back() -> None:
    hooks.put_back()
    if collected in gc.callbacks:
        gc.callbacks.remove(collected)


def is_running() -> bool:
    """Tell whether somebody listens in this process."""
    return bool(AGENTS) or hooks.is_patched()
