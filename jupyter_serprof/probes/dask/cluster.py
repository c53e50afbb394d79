"""The agent's journey: shipped to a scheduler and its workers, asked for its notes, taken away.

It travels as source text, so that clusters without this package and with another Python version are
seen too. Nothing is installed for longer than a recording; an agent whose client is gone leaves by
itself.

Source: distributed 2026.8.0, client.py:Client._run_on_scheduler and Client._run, worker.py:run.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from threading import Thread
from types import ModuleType
from typing import Any
from uuid import uuid4

from jupyter_serprof.probes.dask import events as dask_events

_PARTS = ("", "totals", "notes", "hooks")
#: Makes the modules of the agent from their sources; runs wherever the agent goes.
_LOADER = """
import sys
from types import ModuleType
if {name!r} not in sys.modules:
    sources = {sources!r}
    modules = {{part: ModuleType({name!r} + ('.' + part if part else '')) for part in sources}}
    try:
        for part in [*[part for part in sources if part], '']:
            module = modules[part]
            module.__package__ = {name!r}
            if not part:
                module.__path__ = []
            sys.modules.setdefault({name!r}, modules[''])
            sys.modules[module.__name__] = module
            exec(compile(sources[part], module.__name__, 'exec'), module.__dict__)
    except BaseException:
        for module in modules.values():
            sys.modules.pop(module.__name__, None)
        raise
"""
_PINGS = 8
_WORKER_PINGS = 3
#: A cluster that does not answer must not hold the user's cell.
_START_S, _STOP_S = 5.0, 10.0

Action = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class Station:
    """One process of a cluster as the client knows it: what it noted and how its clock goes.

    Attributes
    ----------
    offset_ns
        Its clock minus ours; 0 if both are the same clock.
    error_ns
        Half the width of what remains unknown of the offset.
    delay_s
        What a worker added to its times at the start to have those of its scheduler.
    delay_end_s
        The same at the end; None if it was gone then.
    delays_s
        The least and the most that it added meanwhile: each heartbeat may change it.
    is_here
        Whether it shares our process, and so the agent of the scheduler.
    report
        What its agent noted; None if it could not be asked.
    """

    offset_ns: int = 0
    error_ns: int = 0
    delay_s: float = 0.0
    delay_end_s: float | None = None
    delays_s: tuple[float, ...] = ()
    is_here: bool = False
    report: dict[str, Any] | None = None


@dataclass(slots=True)
class Cluster:
    """The agents of one recording on one scheduler and its workers.

    Parameters
    ----------
    clients
        The ``distributed.Client`` of this process that are connected to the same scheduler; not
        changed.
    """

    clients: tuple[Any, ...]
    token: str = field(default_factory=lambda: uuid4().hex)
    scheduler: Station | None = None
    workers: dict[str, Station] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    #: Where the clock of the scheduler's own events stood; None where agents are admitted.
    events: dict[str, int] | None = None
    #: What this process sent, and when its socket had taken it (see the agent's notes).
    outgoing: list[Any] = field(default_factory=list)
    drained: list[int] = field(default_factory=list)

    @property
    def ids(self) -> tuple[str, ...]:
        """Dask's ids of the clients."""
        return tuple(client.id for client in self.clients)

    def start(self) -> None:
        """Ship the agent and begin to note; what fails is told in ``trouble``."""
        agent = load_agent()
        self.missing += agent.start(self.token, self.ids, os.getpid())["missing"]
        self._guarded("the scheduler admits no agent", _START_S, self._start)
        # One that has not answered in time would not answer this either.
        if self.scheduler is None and not any("Timeout" in known for known in self.trouble):
            self._guarded("the scheduler gives no events", _START_S, self._start_events)

    def stop(self) -> None:
        """Take the agents away and keep what they noted; called again it does nothing."""
        agent = sys.modules.get(agent_name())
        mine = agent.AGENTS.get(self.token) if agent is not None else None
        if agent is None or mine is None:
            if self.scheduler is not None and self.scheduler.report is None and not self.trouble:
                self.trouble.append("the client was closed, and the notes of the agents with it")
            return
        self.outgoing, self.drained = mine.messages, mine.drained
        try:
            if self.events is not None:
                self._guarded("the events of the scheduler are lost", _STOP_S, self._stop_events)
            elif self.scheduler is not None:
                self._guarded("the notes of the agents are lost", _STOP_S, self._stop)
        finally:
            agent.abandon(self.token)

    def _guarded(self, what: str, seconds: float, action: Action) -> None:
        try:
            _run(self.clients[0], action, seconds)
        except Exception as error:  # noqa: BLE001  (what the client sees itself must survive)
            self.trouble.append(f"{what} ({type(error).__name__})")

    async def _start(self, line: Any) -> None:  # noqa: ANN401  (an rpc of distributed)
        try:
            await self._start_all(line)
        except asyncio.CancelledError:  # the scheduler was slow, or the user interrupted
            if self.scheduler is None:
                with suppress(Exception):
                    await _on_scheduler(line, load_agent().leave, self.token)
            raise

    async def _start_all(self, line: Any) -> None:  # noqa: ANN401
        agent, loader = load_agent(), agent_loader()
        await _on_scheduler(line, exec, loader, {})
        known = await _on_scheduler(line, agent.start, self.token, self.ids, os.getpid())
        self.scheduler = Station()
        self.missing += known["missing"]
        for client in self.clients:
            # Behind all that it sent before, and not by what another recording may watch.
            send = client._send_to_scheduler_safe  # noqa: SLF001
            client.loop.add_callback(send, agent.mark(self.token, client.id))
        if known["pid"] != os.getpid():
            asked = [await _timed(_on_scheduler(line, agent.ping)) for _ in range(_PINGS)]
            self.scheduler.offset_ns, self.scheduler.error_ns = _offset(asked, agent.ping())
        try:
            await self._start_workers(line, None)
        except Exception as error:  # noqa: BLE001  (as above)
            self.trouble.append(f"the workers admit no agent ({type(error).__name__})")

    async def _start_workers(self, line: Any, chosen: list[str] | None) -> None:  # noqa: ANN401
        """Ship the agent to workers (None: all), and compare clocks with each."""
        agent = load_agent()
        await _on_workers(line, chosen, exec, agent_loader(), {})
        started = await _on_workers(line, chosen, agent.start, self.token, self.ids, os.getpid())
        known = {address: one for address, one in started.items() if isinstance(one, dict)}
        self.workers |= {address: Station(delay_s=one["delay"]) for address, one in known.items()}
        asked = [await _timed(_on_workers(line, chosen, agent.ping)) for _ in range(_WORKER_PINGS)]
        for address, one in known.items():
            station = self.workers[address]
            mine = [
                (low, high, pings[address])
                for low, high, pings in asked
                if isinstance(pings.get(address), dict)
            ]
            station.is_here = one["pid"] == os.getpid()
            if not station.is_here:
                station.offset_ns, station.error_ns = _offset(mine, agent.ping())

    async def _start_events(self, line: Any) -> None:  # noqa: ANN401
        self.events = await dask_events.begin(line, f"serprof-{self.token}")
        self.scheduler = Station(error_ns=self.events["error"])

    async def _stop_events(self, line: Any) -> None:  # noqa: ANN401
        if self.scheduler is not None and self.events is not None:
            self.scheduler.report = await dask_events.end(line, self.ids, self.events)

    async def _stop(self, line: Any) -> None:  # noqa: ANN401
        agent = load_agent()
        try:
            here = await _on_scheduler(line, agent.workers)
            # Those that came meanwhile know nothing of us, but their clocks are asked for.
            if new := [address for address in here if address not in self.workers]:
                await self._start_workers(line, new)
            mine = [address for address in here if address in self.workers]
            noted = await _on_workers(line, mine, agent.stop, self.token)
            for address, report in noted.items():
                if isinstance(report, dict):
                    self.workers[address].delay_end_s = report["delay"]
                    self.workers[address].delays_s = tuple(report["delays"])
                    self.workers[address].report = report if "blocks" in report else None
        finally:
            if self.scheduler is not None:
                self.scheduler.report = await _on_scheduler(line, agent.stop, self.token)


def clusters_of(clients: Sequence[Any]) -> Iterator[Cluster]:
    """Yield one cluster for each scheduler that running clients are connected to."""
    by_address: dict[str, list[Any]] = {}
    for client in clients:
        if client.status == "running" and client.scheduler is not None:
            by_address.setdefault(client.scheduler.address, []).append(client)
    for connected in by_address.values():
        yield Cluster(tuple(connected))


# The agent as source.


def agent_sources() -> dict[str, str]:
    """Return the source of each module of the agent by its name; the package itself is ''."""
    home = files("jupyter_serprof.probes.dask.agent")
    return {part: (home / f"{part or '__init__'}.py").read_text("utf-8") for part in _PARTS}


def agent_name() -> str:
    """Return the name under which the agent of this version is known everywhere."""
    return _named()[0]


def agent_loader() -> str:
    """Return the source that loads the agent under its name, once in a process."""
    return _named()[1]


@cache
def _named() -> tuple[str, str]:
    sources = agent_sources()
    digest = hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()
    name = f"_serprof_agent_{digest[:12]}"
    return name, _LOADER.format(name=name, sources=sources)


def load_agent() -> ModuleType:
    """Return the agent of this process, under the name that it has everywhere."""
    name, loader = _named()
    if name not in sys.modules:
        exec(loader, {})  # noqa: S102  (our own source, as everywhere else)
    return sys.modules[name]


# Talking to a cluster.


def _run(client: Any, action: Action, seconds: float) -> None:  # noqa: ANN401
    """Run a coroutine that talks to the scheduler, and wait for it at most so long."""
    from distributed.utils import sync

    if client.asynchronous:
        _run_apart(client, action, seconds)
    else:
        # Not the client's own method: another recording that runs may watch that.
        sync(client.loop, action, client.scheduler, callback_timeout=seconds)


def _run_apart(client: Any, action: Action, seconds: float) -> None:  # noqa: ANN401
    """Talk from a thread of our own: the client's event loop is this thread's, which waits."""
    from distributed.core import rpc

    address = client.scheduler.address
    if _is_in_this_thread(address):
        message = "the scheduler runs on the event loop of this very thread"
        raise RuntimeError(message)
    failures: list[BaseException] = []

    async def talk() -> None:
        arguments = client.security.get_connection_args("client")
        async with rpc(address, connection_args=arguments) as line:  # type: ignore[no-untyped-call]  # distributed
            await asyncio.wait_for(action(line), seconds)

    def run() -> None:
        try:
            asyncio.run(talk())
        except BaseException as error:  # noqa: BLE001  (raised below, in the thread that asked)
            failures.append(error)

    thread = Thread(target=run, name="serprof-dask", daemon=True)
    thread.start()
    thread.join(seconds + 1)
    if failures:
        raise failures[0]
    if thread.is_alive():
        message = "the scheduler does not answer"
        raise TimeoutError(message)


def _is_in_this_thread(address: str) -> bool:
    from distributed.scheduler import Scheduler

    here = asyncio.get_running_loop()
    return any(
        scheduler.address == address and scheduler.loop.asyncio_loop is here
        for scheduler in list(getattr(Scheduler, "_instances", ()))
    )


async def _on_scheduler(line: Any, function: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
    response = await line.run_function(**_call(function, args), wait=True)
    return _result(response)


def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, bytes]:
    from distributed.protocol import pickle

    parts = {"function": function, "args": args, "kwargs": {}}
    return {key: pickle.dumps(part) for key, part in parts.items()}  # type: ignore[no-untyped-call]  # distributed


async def _on_workers(
    line: Any,  # noqa: ANN401
    chosen: list[str] | None,
    function: Callable[..., Any],
    *args: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Run a function on workers (None: all); one that fails has the error's name in its place."""
    message = {"op": "run", **_call(function, args), "wait": True}
    responses = await line.broadcast(
        msg=message, workers=chosen, nanny=False, on_error="return", serializers=None
    )
    return {address: _or_name(response) for address, response in responses.items()}


def _result(response: Any) -> Any:  # noqa: ANN401
    from distributed.core import clean_exception

    if response["status"] == "error":
        error = clean_exception(**response)[1]
        raise error or RuntimeError(response)
    return response["result"]


def _or_name(response: Any) -> Any:  # noqa: ANN401
    if isinstance(response, dict) and response.get("status") == "OK":
        return response["result"]
    return type(response).__name__


async def _timed(asking: Awaitable[Any]) -> tuple[int, int, Any]:
    low = time.perf_counter_ns()
    answer = await asking
    return low, time.perf_counter_ns(), answer


def _offset(asked: Sequence[tuple[int, int, Any]], here: dict[str, Any]) -> tuple[int, int]:
    """Return (offset, error) of the quickest round trip; the same clock has neither."""
    quickest = min(asked, key=lambda entry: entry[1] - entry[0], default=None)
    if quickest is None:
        return 0, 0
    low, high, answer = quickest
    offset, error = answer["clock"] - (low + high) // 2, (high - low + 1) // 2
    if answer["boot"] and answer["boot"] == here["boot"] and abs(offset) <= error:
        return 0, 0
    return offset, error
