"""The watch of a worker: where the objects are that its tasks take, and the meter of its machine.

One worker of a machine is its meter, or the program itself on its own; the next one follows it.
What was seen stands in the control store soon after, beside the notes.
"""

from __future__ import annotations

import marshal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from .contact import RPC_S, SPACE
from .copies import Copies
from .meter import Door, Meter
from .notes import bridge

#: Behind the key of a recording: the doors of the nodes, once they are known.
DOORS = b":doors"
#: What is new is sent when no more comes, or so soon, s, and for this part of the time at most; so
#: often it is asked whether the seat of a machine is free, s.
_SOON_S, _CALM, _PERIOD_S = 0.25, 1_000, 1.0


def seat_of(key: bytes) -> socket.socket | None:
    """Return the seat of who measures this machine for a recording, on Linux; None: it is taken."""
    # It has a name, of no file, until it is closed or its process is gone.
    seat = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        seat.bind(b"\0serprof" + key[-32:])
    except OSError:
        seat.close()
        return None
    return seat


class WorkerMeter(Meter):
    """What one worker sees of objects on their way, until it is stopped.

    ``doors``: Those of all nodes.
    """

    def __init__(self, key: bytes, copies: Copies, doors: Mapping[Door, str]) -> None:
        self._worker = sys.modules["ray._private.worker"].global_worker
        self._key, self._copies, self._doors = key, copies, doors
        self._last = self._sent = (0, 0, 0)
        self._due_s, self._sending = 0.0, threading.Lock()
        super().__init__("", self._turn)
        copies.wake = self.wake

    def _turn(self) -> float:
        if self.seat is None and (seat := seat_of(self._key)) is not None:
            self.seat = seat
            self.read_disk(self._worker.node.get_session_dir_path())
            self.count(self._doors, self._worker.current_node_id.hex())
        with self._sending:
            soon_s = self._copies.look()
        state, now_s = self._state(), time.monotonic()
        if state == self._last or now_s >= self._due_s:
            self.send_news()
            self._due_s = now_s + max(_SOON_S, _CALM * (time.monotonic() - now_s))
        self._last = state
        return min(soon_s, _PERIOD_S if state == self._sent else _SOON_S / 10)

    def _state(self) -> tuple[int, int, int]:
        came = sum(series[-1][1] for series in self.wire.series.values()) if self.wire else 0
        return len(self._copies.came), len(self.disk.files) if self.disk else 0, came

    def send_news(self) -> None:
        """Send what was seen until now, if something is new; what fails is sent the next time."""
        with self._sending, suppress(Exception):
            self._copies.look()  # what has come just now may be what a task waited for
            if self._sent != (state := self._state()):
                packed = marshal.dumps({**self.facts(self._copies), **bridge()})
                at = b":".join((self._key, b"watch", self._worker.worker_id))
                self._worker.gcs_client.internal_kv_put(at, packed, True, SPACE, timeout=RPC_S)
                self._sent = state
