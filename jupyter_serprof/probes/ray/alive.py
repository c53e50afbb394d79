"""Signs of life of the processes that Ray's calls need, found out without a call into Ray.

A call that reaches for a dead raylet ends this process; one for a dead GCS waits for it, and Ray
ends the process after a minute. So what the user did not call is called only where both live.
Source: Ray 2.60.0, ray/_private/node.py: Node.raylet_socket_name, Node.gcs_address.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: On one machine a living process takes a connection in some us.
_TIMEOUT_S = 0.2
_RESTART = "run ray.shutdown(), then ray.init()"
DEAD = f"a process of Ray is dead (raylet or GCS): {_RESTART}"


def is_alive() -> bool:
    """Tell whether Ray is initialized here, and neither its raylet nor its GCS is known as dead.

    Only a refused connection is a proof; where nobody can say, they count as alive.
    """
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized()) and not dead_processes()


def dead_processes() -> list[str]:
    """Return which of the processes that Ray needs are known as dead: raylet, GCS."""
    ray, module = sys.modules.get("ray"), sys.modules.get("ray._private.worker")
    if ray is None or not ray.is_initialized():
        return []
    node: Any = getattr(getattr(module, "global_worker", None), "node", None)
    raylet = getattr(node, "raylet_socket_name", None)
    host, _, port = str(getattr(node, "gcs_address", None) or "").rpartition(":")
    is_path = isinstance(raylet, str) and Path(raylet).is_absolute()
    dead = {
        "raylet": is_path and _refuses(str(raylet)),
        "GCS": port.isdigit() and _refuses((host.strip("[]"), int(port))),
    }
    return [name for name, is_dead in dead.items() if is_dead]


def death_note(before: Sequence[str]) -> str:
    """Say of a recording which processes of Ray were dead when it began, or died in it.

    Parameters
    ----------
    before
        `dead_processes` when it began.
    """
    now = dead_processes()
    died = [name for name in now if name not in before]
    when = "died during the recording" if died else "was dead before the recording began"
    return f"Ray's {' and '.join(died or now)} {when}: {_RESTART}" if now else ""


def _refuses(address: str | tuple[str, int]) -> bool:
    try:
        if isinstance(address, tuple):
            socket.create_connection(address, _TIMEOUT_S).close()
        else:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(_TIMEOUT_S)
                probe.connect(address)
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except (OSError, AttributeError):  # too slow to say, or no such sockets on this system
        return False
    return False
