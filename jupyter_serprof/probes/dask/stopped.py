"""After Ctrl-C: what a cluster goes on with, the line that ends it, and silence on stderr."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from traceback import walk_tb
from types import FrameType
from typing import Any

from jupyter_serprof.capture.hook import Hook
from jupyter_serprof.capture.stacks import stack_of
from jupyter_serprof.model.live import seconds_text
from jupyter_serprof.model.units import counted
from jupyter_serprof.probes.dask.graph.persisted import persisted_futures
from jupyter_serprof.probes.held import left_note, parts_of, variables

#: A task that a worker has begun is told of from here on, s: others end by themselves.
_LONG_S = 0.5


def hush(error: BaseException, args: tuple[Any, ...]) -> None:
    """Take the errors of waits that nobody asks for after Ctrl-C: asyncio would write each down."""
    # Source: distributed 2026.8.0, client.py:Client._gather, Future.result, utils.py:sync, All.
    if isinstance(error, KeyboardInterrupt):
        args[0].loop.add_callback(_take_errors)
        AWAITED.update(_waited(args))


def waited_keys(thread: int) -> set[str]:
    """Return the keys of the futures that a thread waits for now, as its watched calls say."""
    return set[str]().union(*map(_waited, stack_of(thread, _arguments)))


def _arguments(frame: FrameType) -> tuple[Any, ...]:
    known = frame.f_locals if frame.f_code is Hook.__call__.__code__ else {}
    return known["args"] if known and known["self"].place.stage == "dask.wait" else ()


def _waited(args: tuple[Any, ...]) -> set[str]:
    # Of `sync(client, future._result)`, `sync(client, wait, futures)`, `as_completed.__next__`.
    futures = list(getattr(args[0], "futures", ())) if args else ()
    owners = [getattr(one, "__self__", None) for one in args[1:2]]
    return set[str]().union(*map(_keys, [futures, *owners, *args[2:3]]))


#: Keys of graphs that never left: their futures are pending as long as a traceback holds them.
UNSENT: set[Any] = set()
#: Keys that a wait was given up for.
AWAITED: set[str] = set()


def note_unsent(error: BaseException, _: object) -> None:
    """Remember the keys of a graph that was not sent."""
    # Source: distributed 2026.8.0, client.py:Client._graph_to_futures.
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    for frame in [one for one in frames if one.f_code.co_name == "_graph_to_futures"]:
        known = frame.f_locals
        UNSENT.update(known.get("keyset", ()))
        if isinstance(known, dict):  # before Python 3.13 a copy, which outlives a cleared frame
            known.clear()


def _take_errors() -> None:
    for task in asyncio.all_tasks():
        if getattr(task.get_coro(), "__qualname__", "") == "Client._gather.<locals>.wait":
            task.add_done_callback(lambda one: one.cancelled() or one.exception())


def pending(client: Any) -> set[str]:  # noqa: ANN401  (a Client)
    """Return the keys that a client waits for."""
    return {key for key, one in list(client.futures.items()) if one.status == "pending"}


def left_notes(
    clients: Sequence[Any], running: Sequence[tuple[str, float, bool]], before: set[str]
) -> Iterator[str]:
    """Yield what the cluster of some clients goes on with, and a line that ends it.

    ``running``: Name and seconds of each task that a worker is in, and whether in another process.
    ``before``: What was pending when it began: it is left alone, but for what was waited for.
    """
    for client in clients:
        if left := pending(client) - UNSENT - (before - AWAITED):
            yield left_note(counted(len(left), "future"), client.id, partial(_cancel, client, left))
    name, ran_s, is_apart = max(running, key=itemgetter(1), default=("", 0.0, True))
    if ran_s >= _LONG_S:
        run = f"{counted(len(running), 'task')} still run{'s' * (len(running) == 1)} on the workers"
        end = f"{_line(clients[0], 'restart()')} ends all" if is_apart else "this process ends all"
        yield f"{run}, {name} for {seconds_text(ran_s)}: Dask ends no task that has begun; {end}"


def name_of(client: Any) -> str:  # noqa: ANN401  (a Client)
    """Return the variable that holds a client."""
    return next((name for name, value in variables().items() if value is client), "client")


def scaling(client: Any) -> str:  # noqa: ANN401  (a Client)
    """Return the line that gets workers; empty where the client has no cluster that it can ask."""
    is_there = getattr(getattr(client.cluster, "status", None), "name", "") == "running"
    return f"{name_of(client)}.cluster.scale(2)" if is_there else ""


def unsent(client: Any) -> int:  # noqa: ANN401  (a Client)
    """Return how many bytes a client has written that its socket has not taken yet."""
    # Source: distributed 2026.8.0, comm/tcp.py:TCP.write; tornado 6.5, iostream.py:_handle_write.
    stream = getattr(getattr(client.scheduler_comm, "comm", None), "stream", None)
    written, taken = (getattr(stream, f"_total_write_{at}index", 0) for at in ("", "done_"))
    return int(written) - int(taken)


def _cancel(client: Any, left: set[str]) -> None:  # noqa: ANN401  (a Client)
    if futures := [
        sys.modules["distributed"].Future(key, client) for key in left & pending(client)
    ]:
        cancel = partial(client.cancel, futures)
        # On its own event loop nobody can wait for it.
        client.loop.add_callback(cancel) if client.asynchronous else cancel()


def _line(client: Any, call: str) -> str:  # noqa: ANN401  (a Client)
    caller = name_of(client)
    made = "" if variables().get(caller) is client else "client = distributed.get_client(); "
    line = f"{made}{'await ' * bool(client.asynchronous)}{caller}.{call}"
    return f"import distributed; {line}" if "distributed." in line else line


def _keys(value: Any) -> set[str]:  # noqa: ANN401
    """Return the keys of the futures in a variable: itself, its items, what was persisted in it."""
    is_graph = type(value).__module__.startswith("dask.") and hasattr(value, "__dask_graph__")
    persisted = persisted_futures([value]) if is_graph else None
    found = persisted or parts_of(value, "distributed.client", "Future")
    return {future.key for future in found}
