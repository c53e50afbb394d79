"""The signs of life of Ray's processes, and how they are asked: for a bounded time.

A call that reaches for a dead raylet ends this process; one for a GCS that is dead or stopped waits
for it, and Ray ends the process after a minute. So what the user did not call is called only where
both answer a greeting, on a thread and a connection of its own, and for a bounded time.
Source: Ray 2.60.0, ray/_private/node.py: Node.raylet_socket_name, Node.gcs_address.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Thread, get_ident
from typing import Any, TypeVar

from jupyter_serprof.capture.interrupts import is_pressed
from jupyter_serprof.capture.recorder import OWN_THREADS
from jupyter_serprof.model.trace import DIED, SILENT, WAS_DEAD

_Answer = TypeVar("_Answer")
#: On one machine a living process answers in some ms; and both of them have so long.
_DEAD, _GREETING_S, SILENCE_S = "is dead", 0.4, 1.0
POLL_S = 0.05
#: How a client of gRPC begins: a server says something to it, be it that it wants TLS or a token.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_RESTART = "run ray.shutdown(), then ray.init()"
DEAD = f"A process of Ray (raylet or GCS) is dead or does not answer: {_RESTART}"


def is_alive() -> bool:
    """Tell whether Ray is initialized here, and neither its raylet nor its GCS is known as silent.

    In doubt they count as alive.
    """
    return _node() is not None and not silent_processes()


def has_raylet() -> bool:
    """Tell whether Ray is initialized here and its raylet is not known as dead: waits need it."""
    return _node() is not None and not _silence(getattr(_node(), "raylet_socket_name", None))


def silent_processes() -> dict[str, str]:
    """Return which of raylet and GCS are dead (they refuse a connection) or do not answer."""
    try:
        return asked(_silent, time.monotonic() + SILENCE_S) if _node() else {}
    except (TimeoutError, InterruptedError):
        return {}


def _silent() -> dict[str, str]:
    names = ("raylet_socket_name", "node_ip_address", "node_manager_port", "gcs_address")
    path, host, port, gcs = (getattr(_node(), name, None) for name in names)
    gcs_host, _, gcs_port = str(gcs or "").rpartition(":")
    asked = {"raylet": (path, (host, port)), "GCS": ((gcs_host.strip("[]"), gcs_port),)}
    silent = {name: next(filter(None, map(_silence, each)), "") for name, each in asked.items()}
    return {name: state for name, state in silent.items() if state}


def _node() -> object:
    """Return what this process knows of its cluster; None: it is not connected to one."""
    ray, module = sys.modules.get("ray"), sys.modules.get("ray._private.worker")
    if ray is None or not ray.is_initialized():
        return None
    return getattr(getattr(module, "global_worker", None), "node", None) or ray


def _silence(address: object) -> str:
    """Say of a process that it is dead or does not answer; empty if it lives, or in doubt."""
    try:
        if isinstance(address, tuple) and all(address):
            with socket.create_connection(address, _GREETING_S) as line:
                line.sendall(_GREETING)
                line.recv(1)
        elif isinstance(address, str) and Path(address).is_absolute():
            with socket.socket(socket.AF_UNIX) as line:  # of Ray's own tongue: not to be fed
                line.settimeout(_GREETING_S)
                line.connect(address)
    except (ConnectionRefusedError, FileNotFoundError):
        return _DEAD
    except TimeoutError:
        return SILENT
    except (OSError, AttributeError):  # it hung up, or no such sockets on this system
        return ""
    return ""


def silence_note(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Say of a recording which processes of Ray were dead when it began, died in it or are silent.

    ``before``, ``now``: `silent_processes` when it began and when it is frozen.
    """
    died = [name for name in now if now[name] == _DEAD != before.get(name)]
    dead = died or [name for name in now if now[name] == _DEAD]
    when = (DIED if died else WAS_DEAD) if dead else SILENT
    return f"Ray's {' and '.join(dead or now)} {when}: {_RESTART}" if now else ""


def asking(ask: Callable[[], _Answer]) -> Future[_Answer]:
    """Ask on a thread that is left to itself; the answer may come late, or never."""
    answer: Future[_Answer] = Future()

    def run() -> None:
        OWN_THREADS.add(get_ident())
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001  (raised in the thread that asked)
            answer.set_exception(error)
        finally:
            OWN_THREADS.discard(get_ident())

    Thread(target=run, name="serprof-ray", daemon=True).start()
    return answer


def asked(ask: Callable[[], _Answer], until: float) -> _Answer:
    """Ask, and wait for so long; a late answer goes nowhere.

    Raises ``TimeoutError``, ``InterruptedError``: If there is no answer in time, or Ctrl-C waits to
        be heard.
    """
    answer = asking(ask)
    while not answer.done() and not is_pressed() and time.monotonic() < until:
        wait([answer], POLL_S)
    if is_pressed():
        raise InterruptedError
    return answer.result(0)


def own_state() -> Any:  # noqa: ANN401  (Ray has no types here)
    """Return what reads the tables of the GCS; None: Ray does not run."""
    shared: Any = getattr(sys.modules.get("ray._private.state"), "state", None)
    if getattr(shared, "gcs_options", None) is None:
        return None
    # One of our own: whoever waits in Ray's own one holds a lock that a shutdown needs.
    state = type(shared)()
    state._initialize_global_state(shared.gcs_options)  # noqa: SLF001  (Ray's)
    return state


def pending_tasks() -> set[bytes]:
    """Return the tasks that are not over, as this process, their owner, knows; none in doubt."""
    with suppress(Exception):  # private to Ray
        ray, worker = sys.modules["ray"], sys.modules["ray._private.worker"].global_worker
        driver = ray.TaskID.for_driver_task(worker.current_job_id)
        ids = worker.core_worker.get_pending_children_task_ids(driver)
        return {bytes(each.binary()) for each in ids}
    return set()
