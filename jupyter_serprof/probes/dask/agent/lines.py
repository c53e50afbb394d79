"""Lines between client, scheduler and workers: how the agent reaches the other end and is asked."""

from __future__ import annotations

import asyncio
import os
from _pickle import dumps  # which no recording watches
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .notes import AGENTS, Agent, clock

#: How often a lease is renewed, s.
BEAT_S = 2.0
#: How often the clocks of two processes are compared.
PINGS = 4
#: The name of the agent and what it is made of, beginning with the loader, which notes both here.
SHIPPED: list[Any] = ["", ()]
#: What the other end runs: small, as schedulers write down each function that they are sent.
_CALL = """
async def serprof_agent(name, shipped, verb, args, dask_scheduler=None):
    import sys
    if shipped and name not in sys.modules:
        exec(shipped[0], {"shipped": shipped})
    agent = sys.modules.get(name)
    answer = agent and getattr(agent, verb)(*args, dask_scheduler)
    return await answer if hasattr(answer, "__await__") else answer
"""


class _Call:
    """Unpickles as a function that its source makes: no bytecode travels."""

    def __reduce__(self) -> Any:
        made = "(exec(source, space), space['serprof_agent'])[1]"
        return eval, (made, {"source": _CALL, "space": {}})


async def ask(run: Callable[..., Any], verb: str, *args: Any) -> Any:
    """Let the agent at the other end do something; only to start it is it brought there.

    Loading and calling are one message: nobody else's recording can end in between.

    ``run``: ``run_function`` of a line to a scheduler, ``run`` of one to a worker.
    """
    name, shipped = SHIPPED
    told = (name, shipped if verb == "start" else None, verb, args)
    parts = {"function": _Call(), "args": told, "kwargs": {}}
    answer = await run(**{key: dumps(part, 4) for key, part in parts.items()}, wait=True)
    if answer["status"] == "error":
        error = import_module("distributed.core").clean_exception(**answer)[1]
        raise error or RuntimeError(verb)
    return answer["result"]


async def compared(run: Callable[..., Any]) -> tuple[int, int]:
    """Return (offset, error) of the clock at the other end, ns; the same clock has neither."""
    trips = []
    for _ in range(PINGS):
        low = clock()
        answer = await ask(run, "ping")
        trips.append((low, clock(), answer))
    return offset(trips, ping())


def offset(trips: Sequence[tuple[int, int, Any]], here: dict[str, Any]) -> tuple[int, int]:
    """Return (offset, error) by the quickest round trip: asked, answered, the answer."""
    low, high, answer = min(trips, key=lambda trip: trip[1] - trip[0])
    ahead, error = answer["clock"] - (low + high) // 2, (high - low + 1) // 2
    is_same = answer["boot"] and answer["boot"] == here["boot"] and abs(ahead) <= error
    return (0, 0) if is_same else (ahead, error)


def ping(_: object = None) -> dict[str, Any]:
    """Return the time of this process's clock, ns, and what tells its clock apart."""
    return {"clock": clock(), "boot": _boot()}


def _boot() -> str:
    """Return what names the run of the machine: processes of one run share their clock on Linux."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {Path('/proc/self/ns/time').readlink()}"
    except OSError:
        return ""


def invite(agent: Agent, token: str, scheduler: Any, address: str) -> None:
    """Send the agent to a worker on a line of its own: one that is deaf keeps nobody waiting."""
    station = agent.stations[address] = {"start": (token, sorted(agent.clients), *agent.origin)}
    errand = _attend(station, address, scheduler, agent)
    agent.errands[address] = asyncio.ensure_future(errand)


def miss(agent: Agent, address: str) -> None:
    """Wait no more for a worker that is gone."""
    if address in agent.errands:
        agent.stations[address]["error"] = "gone"
        agent.errands[address].cancel()


async def _attend(station: dict[str, Any], address: str, scheduler: Any, agent: Agent) -> None:
    """Bring the agent to a worker, renew its lease, take it away when the scheduler's is gone."""
    token = station["start"][0]
    try:
        rpc = import_module("distributed.core").rpc
        async with rpc(address, connection_args=scheduler.connection_args) as line:
            started = await ask(line.run, "start", *station["start"])
            is_apart = started["pid"] != os.getpid()
            started["offset"] = await compared(line.run) if is_apart else (0, 0)
            station.update(started)
            while not await is_set(agent.leaving, BEAT_S) and AGENTS.get(token) is agent:
                await ask(line.run, "start", *station["start"])
            station.update(await ask(line.run, "hand_over", token) or {})
    except Exception as error:  # it is gone, or refuses
        station["error"] = type(error).__name__


async def is_set(event: Any, seconds: float) -> bool:
    """Tell whether an event comes within a time."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return bool(event.is_set())
