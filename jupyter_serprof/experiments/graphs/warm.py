"""What the first computation on a cluster would wait for, asked for while nobody waits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from jupyter_serprof.experiments.graphs.stages import stage_recording
from jupyter_serprof.experiments.graphs.values import client_of, collections_in

#: In a thread of its own: the event loop of the worker goes on. What is not there is met by the
#: first task, which says so.
_IMPORTER = """
import threading
def load(names={names!r}):
    from importlib import import_module
    for name in names:
        try:
            import_module(name)
        except Exception:
            pass
threading.Thread(target=load, name="serprof-imports", daemon=True).start()
"""
#: A cluster that does not answer must not hold the kernel.
_ASKED_S = 2.0


def warm_graphs(values: Iterable[object]) -> None:
    """Prepare for a first run of some values; nothing of them is computed.

    Workers begin to import what the collections are made of, and one recording of nothing ships the
    agents and loads what analyses. Values that are no collections are left out.

    Notes
    -----
    Measured on a new cluster of two processes, two busy cores: of 2.0 s to the first point of a
    chunk sweep 1.5 s were imports on workers, 0.2 s what is paid once by the client, 0.3 s the run.
    """
    made = [found for value in values for found in collections_in(value)]
    clients = {id(client): client for each in made if (client := client_of([each])) is not None}
    for client in clients.values():
        ask_to_import(client, modules_of(made))
    with stage_recording("nothing") as recording:
        pass
    _ = recording.trace  # made when it is asked for


def modules_of(collections: Sequence[Any]) -> tuple[str, ...]:
    """Return the modules of collections and of what they are made of, each once."""
    kinds = [type(each) for each in collections]
    metas = (getattr(each, "_meta", None) for each in collections if "_meta" in dir(type(each)))
    kinds += [type(meta) for meta in metas if meta is not None]
    return tuple(dict.fromkeys(kind.__module__ for kind in kinds if kind.__module__ != "builtins"))


def ask_to_import(client: Any, names: Sequence[str]) -> None:  # noqa: ANN401
    """Let all workers of a client begin to import modules, and wait for none of that."""
    if client.asynchronous or client.status != "running":
        return
    with suppress(Exception):  # it admits nothing, or is slow: the first run pays, as without us
        source = _IMPORTER.format(names=tuple(names))
        client.run(exec, source, {}, on_error="ignore", callback_timeout=_ASKED_S)
