"""The agent's journey: shipped to a scheduler and its workers, asked for its notes, taken away.

It travels as source text, so that clusters without this package and with another Python version are
seen too. Nothing is installed for longer than a recording; an agent that hears no more of its
recording leaves by itself. A cluster that is deaf keeps nobody waiting: one thread talks to it.

Source: distributed 2026.8.0, client.py:Client._run_on_scheduler, worker.py:run.
"""

import asyncio
import math
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from threading import Event, Thread, get_ident
from types import ModuleType
from typing import Any
from uuid import uuid4

from jupyter_serprof.capture.interrupts import is_pressed
from jupyter_serprof.model.trace import NO_WORKER
from jupyter_serprof.model.units import counted
from jupyter_serprof.probes import shipping
from jupyter_serprof.probes.dask.looks import Looks
from jupyter_serprof.probes.dask.stopped import pending, scaling, unsent, waited_keys
from jupyter_serprof.probes.shipping import Shipped, loaded

_PACKAGE = "jupyter_serprof.probes.dask.agent"
_PARTS = ("", "totals", "notes", "hooks", "leftovers", "lines", "looks")
#: A cluster that does not answer must not hold the user's cell: s, of the scheduler; workers have
#: less, so that its answer is here in time. ``serprof.patience`` of Dask's configuration is longer.
_PATIENCE_S, _LOOK_S = 0.85, 0.7
#: At the end of a long recording it has a part of that time, at most so many s: it may be busy.
_PATIENT_SHARE, _PATIENT_S = 0.05, 5.0
_WORKERS_START, _WORKERS_STOP = 0.07, 0.7
#: How soon Ctrl-C is heard, s.
_SLICE_S, _MOST_NAMED, _MOST_WAITED = 0.05, 3, 1_000
_LOST = "the notes of the agents are lost"
#: When our threads talked of late: [thread, start_ns, end_ns]. Idents of threads are used again.
_TALKS: deque[list[float]] = deque(maxlen=1_000)


@dataclass(slots=True)
class Station:
    """One process of a cluster as the client knows it: what it noted and how its clock goes.

    ``offset_ns``: Its clock minus ours; 0 if both are the same clock.
    ``error_ns``: Half the width of what remains unknown of the offset.
    ``delay_s``: What a worker added to its times at the start to have those of its scheduler.
    ``delay_end_s``: The same at the end; None if it was gone then.
    ``delays``: From when by its clock it added what, ns: each heartbeat may change it.
    ``is_here``: Whether it shares our process, and so the agent of the scheduler.
    ``report``: What its agent noted; None if it could not be asked.
    """

    offset_ns: int = 0
    error_ns: int = 0
    delay_s: float = 0.0
    delay_end_s: float | None = None
    delays: tuple[tuple[int, int], ...] = ()
    is_here: bool = False
    report: dict[str, Any] | None = None


class Visit:
    """The stay of the agents at one scheduler: brought, kept up, fetched, on a thread of its own.

    ``clients``: The clients of that scheduler; the thread has a connection of its own.
    ``scheduler``: How its clock goes; None until it answered.
    ``answer``: What `leave` of the agent gave; None until then.
    ``troubles``: What did not work.
    """

    def __init__(self, token: str, clients: Sequence[Any]) -> None:
        self.token, self.clients, self.began = token, clients, time.monotonic()
        self.scheduler: Station | None = None
        self.answer: dict[str, Any] | None = None
        self.missing: list[str] = []
        self.troubles: list[str] = []
        self.looks = Looks(partial(scaling, clients[0]), lambda: sum(map(unsent, clients)))
        self.has_come, self.is_over = Event(), Event()
        self._loop, self._leaving = asyncio.new_event_loop(), asyncio.Event()
        self._look: Callable[[], Awaitable[dict[str, Any]]] | None = None
        self._caller, self._before = get_ident(), set[str]().union(*map(pending, clients))
        self._thread = Thread(target=self._run, name="serprof-dask", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Begin to take the agents away; called again it does nothing."""
        with suppress(RuntimeError):  # it is over
            self._loop.call_soon_threadsafe(self._leaving.set)

    def _run(self) -> None:
        talk = [get_ident(), time.perf_counter_ns(), math.inf]
        _TALKS.append(talk)
        try:
            self._loop.run_until_complete(self._stay_and_go())
        finally:
            self.has_come.set()
            self.is_over.set()
            self._loop.close()
            talk[2] = time.perf_counter_ns()

    async def _stay_and_go(self) -> None:
        """Stay until the recording is over, and then no longer than somebody waits for us."""
        ways = (self._stay(), self._leaving.wait(), self._watch())
        tasks = [asyncio.ensure_future(each) for each in ways]
        await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(tasks[:1], timeout=patience_s(self.began))
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=_PATIENCE_S)

    async def _watch(self) -> None:
        """Say where something waits and no worker is there, where no line says it."""
        while not await load_agent().is_set(self._leaving, _LOOK_S):
            likely = [one for one in self.clients if self.has_come.is_set() and has_no_worker(one)]
            # What was sent before, and is not waited for, keeps nobody.
            foreign = self._before - waited_keys(self._caller) if likely else set()
            # What a client heard is old where the scheduler is busy: it is asked itself.
            if not any(pending(one) - foreign for one in likely):
                continue
            seen = await self._look() if self._look else {}
            if not seen.get("workers"):
                self.troubles.append(seen.get("deaths") or NO_WORKER)
                if not self.looks.is_watched:
                    none = f"no worker: nothing can run; {scaling(self.clients[0])}"
                    print(seen.get("deaths") or none.removesuffix("; "), file=sys.stderr)  # noqa: T201
                return

    async def _stay(self) -> None:
        from distributed.core import rpc

        agent, client = load_agent(), self.clients[0]
        address = client.scheduler.address
        arguments = client.security.get_connection_args("client")
        try:
            async with rpc(address, connection_args=arguments) as line:  # type: ignore[no-untyped-call]  # distributed
                await self._come(line)
                self.has_come.set()
                look = self._look = partial(self._look_at, line)
                await self.looks.go_on(agent, self._leaving, partial(self._start, line), look)
                await self._go(line)
                self.is_over.set()
        except Exception as error:  # noqa: BLE001  (what the client sees itself must survive)
            is_refused = self.scheduler is None and not isinstance(error, OSError)
            what = "the scheduler admits no agent" if is_refused else _LOST
            self.troubles.append(f"{what} ({type(error).__name__})")
            if is_refused:  # no worker may be there either, which is said
                self.looks.asked_s = 0.0
                self.has_come.set()
                await self._leaving.wait()

    async def _come(self, line: Any) -> None:  # noqa: ANN401  (an rpc of distributed)
        known = await self._start(line)
        self.missing += known["missing"]
        is_apart = known["pid"] != os.getpid()
        offset, error_ns = await load_agent().compared(line.run_function) if is_apart else (0, 0)
        self.scheduler = Station(offset, error_ns)
        await self._ask(line, "settle", patience_s() * _WORKERS_START)

    async def _start(self, line: Any) -> dict[str, Any]:  # noqa: ANN401
        """Bring the agent, or renew its lease; where it begins, each client says so."""
        agent = load_agent()
        running = time.perf_counter_ns(), tuple(agent.AGENTS)  # the time first: more may begin
        ids = tuple(client.id for client in self.clients)
        known: dict[str, Any] = await self._ask(line, "start", ids, os.getpid(), running)
        if not known["is_new"]:
            return known
        for client in self.clients:
            # Behind all that it sent before, and not by what another recording may watch.
            send = client._send_to_scheduler_safe  # noqa: SLF001
            client.loop.add_callback(send, agent.mark(self.token, client.id))
        if since := set[str]().union(*map(pending, self.clients)) - self._before:
            await self._ask(line, "adopt", self._before, since)
        if self.scheduler is not None:
            self.troubles.append("the agents had left, as nothing was heard of this process")
        return known

    async def _look_at(self, line: Any) -> Any:  # noqa: ANN401
        waited = tuple(islice(waited_keys(self._caller), _MOST_WAITED))
        keys = load_agent().hooks.MARK + self.token, waited
        return await line.get_metadata(keys=keys, default={})

    async def _go(self, line: Any) -> None:  # noqa: ANN401
        answer = await self._ask(line, "leave", patience_s(self.began) * _WORKERS_STOP)
        for known in answer["stations"].values():  # here: to others it is a pickle of the user
            if known.get("report"):
                known["report"] = pickle.loads(known["report"])  # noqa: S301  (as Dask's own)
        self.answer = answer

    async def _ask(self, line: Any, verb: str, *args: Any) -> Any:  # noqa: ANN401
        return await load_agent().ask(line.run_function, verb, self.token, *args)


def is_talk(thread: int, at_ns: int) -> bool:
    """Tell whether a thread talked for some recording then: what it pickles is no user's."""
    return any(ident == thread and start <= at_ns <= end for ident, start, end in list(_TALKS))


def has_no_worker(client: Any) -> bool:  # noqa: ANN401  (a Client)
    """Tell whether a client waits for a cluster without workers, as it heard last: every 2 s."""
    # A cluster that adapts gets its workers when there is work.
    known = getattr(client, "_scheduler_identity", {})
    count = known.get("n_workers", len(known.get("workers", "?")))
    waits = any(future.status == "pending" for future in list(client.futures.values()))
    return waits and count == 0 and getattr(client.cluster, "_adaptive", None) is None


def patience_s(began: float = math.inf) -> float:
    """Return how long a cluster may take to answer at the start and at the end, s.

    ``began``: At the end: when the recording began, monotonic time, s.
    """
    import dask

    part_s = min(_PATIENT_S, _PATIENT_SHARE * (time.monotonic() - began))
    return max(part_s, float(dask.config.get("serprof.patience", _PATIENCE_S)))


@dataclass(slots=True)
class Cluster:
    """The agents of one recording on one scheduler and its workers.

    ``clients``: The ``distributed.Client`` of this process at the same scheduler; not changed.
    """

    clients: tuple[Any, ...]
    token: str = field(default_factory=lambda: uuid4().hex)
    scheduler: Station = field(default_factory=Station)
    workers: dict[str, Station] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    #: What this process sent, and when its socket had taken it (see the agent's notes).
    outgoing: list[Any] = field(default_factory=list)
    drained: list[int] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    #: Name and s of each task that ran at the end, and whether its worker has another process.
    running: list[tuple[str, float, bool]] = field(default_factory=list)
    visit: Visit | None = None
    #: Whether the scheduler took in a graph at the end, as far as it was heard.
    is_taking: bool = False
    #: How each client was connected when it began; whether an open one lost that at the end.
    lines: list[Any] = field(default_factory=list)
    is_lost: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Dask's ids of the clients."""
        return tuple(client.id for client in self.clients)

    def start(self) -> None:
        """Begin to note here, and send the agent to the scheduler."""
        self.lines = [client.scheduler_comm for client in self.clients]
        self.missing += load_agent().start(self.token, self.ids, os.getpid())["missing"]
        client = self.clients[0]
        if client.asynchronous and _is_in_this_thread(client.scheduler.address):
            self.trouble.append("the scheduler runs on the event loop of this very thread")
        elif not self.trouble:
            self.visit = Visit(self.token, self.clients)

    def settle(self, until: float) -> None:
        """Wait for the scheduler and its workers, no longer than until a monotonic time, s."""
        if self.visit is not None:
            _wait(self.visit.has_come, until)

    def stop(self, until: float) -> None:
        """Take the agents away and keep what they noted until then; may be called again."""
        agent, visit = load_agent(), self.visit
        known = [each for each in zip(self.clients, self.lines, strict=False) if each[1]]
        self.is_lost = any(a.status != "closed" and a.scheduler_comm is not b for a, b in known)
        if mine := agent.AGENTS.get(self.token):
            self.outgoing, self.drained = mine.messages, mine.drained
        try:
            if visit is not None:
                visit.leave()
                # One that has not answered until now would not answer this either.
                _wait(visit.is_over, until if visit.has_come.is_set() else 0)
                self._take(visit)
                self.visit = None
        finally:  # a scheduler or a worker of this process may still have it, and be late
            agent.stop(self.token, None)

    def _take(self, visit: Visit) -> None:
        self.scheduler, answer = visit.scheduler or self.scheduler, visit.answer
        self.missing += visit.missing
        self.trouble += visit.troubles
        self.is_taking = bool(visit.looks.seen.get("taking"))
        if any(client.status == "closed" for client in self.clients):
            self.trouble = ["the client was closed, and the notes of the agents with it"]
        elif answer is not None:
            self.scheduler.report = answer["report"]
            silent = {a: each for a, each in answer["stations"].items() if not self._add(a, each)}
            if silent:
                name, ran_s, _ = visit.looks.seen.get("oldest") or ("", 0.0, None)
                self.running.append((name, ran_s, True))
                names = ", ".join([*silent][:_MOST_NAMED])
                more = f" and {left} more" if (left := len(silent) - _MOST_NAMED) > 0 else ""
                is_gone = all(each.get("error") == "gone" for each in silent.values())
                did = "left the cluster meanwhile" if is_gone else "did not answer"
                what = f"{counted(len(silent), 'worker')} {did}"
                self.trouble.append(f"{what}, their notes are lost: {names}{more}")
        elif not self.trouble:
            self.trouble.append(
                f"the scheduler did not answer within {patience_s(self.began):.2g} s, the notes of "
                "the agents are lost; dask.config.set({'serprof.patience': 10}) waits longer"
            )

    def _add(self, address: str, known: dict[str, Any]) -> bool:
        """Add what is known of a worker; return whether it answered to the end."""
        if "clock" not in known:
            return False
        station = self.workers[address] = Station(delay_s=known["delay"])
        station.is_here = known["pid"] == os.getpid()
        if not station.is_here:
            ahead, error = known["offset"]
            station.offset_ns = self.scheduler.offset_ns + ahead
            station.error_ns = self.scheduler.error_ns + error
        if "report" not in known:
            return False
        station.delays = tuple((at - 1_000, round(s * 1e9)) for at, s in known["delays"])  # floats
        station.delay_end_s = known["delay_end"]
        station.report = known["report"]
        self.running += [(*one, not station.is_here) for one in known["running"]]
        return True


def _wait(event: Event, until: float) -> None:
    """Wait for an event until a monotonic time, s, or Ctrl-C; counted, for a clock may stand."""
    for _ in range(math.ceil((until - time.monotonic()) / _SLICE_S)):
        if is_pressed() or event.wait(_SLICE_S):
            return


def clusters_of(clients: Sequence[Any]) -> Iterator[Cluster]:
    """Yield one cluster for each scheduler that clients are connected to, or look for again."""
    by_address: dict[str, list[Any]] = {}
    for client in clients:
        if client.status == "connecting" and not client.asynchronous:
            yield Cluster((client,), trouble=["the scheduler was gone before the recording began"])
        elif client.status == "running" and client.scheduler is not None:
            by_address.setdefault(client.scheduler.address, []).append(client)
    for connected in by_address.values():
        yield Cluster(tuple(connected))


def agent_name() -> str:
    """Return the name under which the agent of this version is known everywhere."""
    return shipped()[1]


@cache
def shipped() -> Shipped:
    """Return what travels of the agent."""
    return shipping.shipped(_PACKAGE, "_serprof_agent", _PARTS)


def load_agent() -> ModuleType:
    """Return the agent of this process, under the name that it has everywhere."""
    return loaded(shipped())


def _is_in_this_thread(address: str) -> bool:
    from distributed.scheduler import Scheduler

    here, known = asyncio.get_running_loop(), list(getattr(Scheduler, "_instances", ()))
    return any(each.address == address and each.loop.asyncio_loop is here for each in known)
