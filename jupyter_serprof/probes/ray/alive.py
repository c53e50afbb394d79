"""Signs of life of the processes that Ray's calls need, found out without a call into Ray.

A call that reaches for a dead raylet ends this process; one for a dead GCS waits for it, and Ray
ends the process after a minute. So what the user did not call is called only where both live.
Source: Ray 2.60.0, ray/_private/node.py: Node.raylet_socket_name, Node.gcs_address.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

#: On one machine a living process takes a connection in some us.
_TIMEOUT_S = 0.2
DEAD = "a process of Ray is dead (raylet or GCS): run ray.shutdown(), then ray.init()"


def is_alive() -> bool:
    """Tell whether Ray is initialized here, and neither its raylet nor its GCS is known as dead.

    Only a refused connection is a proof; where nobody can say, they count as alive.
    """
    ray, module = sys.modules.get("ray"), sys.modules.get("ray._private.worker")
    if ray is None or not ray.is_initialized():
        return False
    node: Any = getattr(getattr(module, "global_worker", None), "node", None)
    raylet = getattr(node, "raylet_socket_name", None)
    host, _, port = str(getattr(node, "gcs_address", None) or "").rpartition(":")
    if isinstance(raylet, str) and Path(raylet).is_absolute() and _refuses(raylet):
        return False
    return not (port.isdigit() and _refuses((host.strip("[]"), int(port))))


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
