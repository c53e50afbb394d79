"""The meter of a node: bytes that come to nodes, and files that its raylet spills to or reads.

Bytes are those of the connections of Ray's object managers, by the counters of the kernel, which
needs no privilege. Nothing here asks Ray. What this system has not is not measured.
Source: sock_diag(7), inotify(7), ``struct tcp_info`` of Linux, include/uapi/linux/tcp.h; Ray
2.60.0, ray/_private/external_storage.py: FileSystemStorage.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .copies import Copies
from .notes import clock

#: Of a node, its address and the port of its object manager.
Door = tuple[str, int]

#: A message of the kernel and an attribute in it: size and kind; what is behind them begins there.
_MESSAGE, _ATTRIBUTE = (struct.Struct("=IH"), 16), (struct.Struct("=HH"), 4)
_QUESTION = struct.Struct("=IHHIIBBBBI48x")
_PORTS, _COUNTS, _INFO, _INFO_BYTES = struct.Struct("!HH"), struct.Struct("=QQ"), 2, 136
_DONE, _MAPPED = (2, 3), b"\0" * 10 + b"\xff\xff"
#: Of a folder: a file was opened, made; and all that is asked for, as that it was closed.
_OPENED, _MADE, _ALL = 0x20, 0x100, 0x138
_EVENT, SPILLS = struct.Struct("iIII"), "ray_spilled_objects"
_DEVICES = Path("/sys/class/net")
#: Asking takes no more than this part of the time, and comes no sooner, s; so much is kept.
_PART, _SOONEST_S, _MOST, _HOUR_MS = 50, 0.02, 4_000, 3_600_000
#: A kernel that does not answer for so long is asked no more, s.
_ANSWER_S = 0.5


def _parts(data: bytes, shape: tuple[struct.Struct, int]) -> Iterator[tuple[int, bytes]]:
    (head, start), at = shape, 0
    while at + start <= len(data):
        size, kind = head.unpack_from(data, at)
        yield kind, data[at + start : at + size]
        at += max(start, (size + 3) & ~3)


def _wide(address: bytes, family: int) -> bytes:
    return _MAPPED + address[:4] if family == socket.AF_INET else address


class Wire:
    """How many bytes have come to each node, as far as this machine sends or takes them."""

    def __init__(self, doors: Mapping[Door, str]) -> None:
        self.line = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
        self.line.settimeout(_ANSWER_S)
        self._doors = dict[tuple[bytes, int], str]()
        for (address, port), node in doors.items():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            self._doors[_wide(socket.inet_pton(family, address), family), port] = node
        self._ports = {port for _, port in doors}
        self._sums = {(node, way): 0 for node in doors.values() for way in (0, 1)}
        self._known = dict(self._counts())
        #: By node, (when, bytes until then).
        self.series = {node: [(clock(), 0)] for node in doors.values()}

    def read(self) -> None:
        """Add what has come since the last time."""
        before, self._known, at = self._known, dict(self._counts()), clock()
        for key, count in self._known.items():
            self._sums[key[:2]] += count - before.get(key, 0)
        for node, series in self.series.items():
            total = max(self._sums[node, 0], self._sums[node, 1])  # on one machine both are seen
            if len(series) > 1 and series[-1][1] == series[-2][1] == total:
                series.pop()
            series.append((at, total))
            if len(series) > _MOST:
                del series[1:-1:2]

    def _counts(self) -> Iterator[tuple[tuple[str, int, tuple[int, ...], bytes], int]]:
        """Yield node, way (0: taken here, 1: sent from here), ends of connections, and bytes."""
        for family in (socket.AF_INET, socket.AF_INET6):
            for ports, ends, counts in self._connections(family):
                for way in (0, 1):
                    address = _wide(ends[16 * way : 16 * way + 16], family)
                    if (node := self._doors.get((address, ports[way]))) is not None:
                        yield (node, way, ports, ends), counts[way]

    def _connections(self, family: int) -> Iterator[tuple[tuple[int, ...], bytes, tuple[int, int]]]:
        asked = 20, 0x301, 1, 0, family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, 1 << 1
        self.line.send(_QUESTION.pack(_QUESTION.size, *asked))
        while True:
            for kind, row in _parts(self.line.recv(1 << 17), _MESSAGE):
                if kind in _DONE:
                    return
                ports = _PORTS.unpack_from(row, 4)
                for what, info in _parts(row[72:], _ATTRIBUTE):
                    if what == _INFO and len(info) >= _INFO_BYTES and self._ports & {*ports}:
                        sent, taken = _COUNTS.unpack_from(info, 120)
                        yield ports, row[8:40], (taken, sent)


def link_bytes_per_s() -> int | None:
    """Return how fast the only link of this machine is, if hardware tells; a virtual one cannot."""
    speeds = set[int]()
    for device in _DEVICES.glob("*/device"):
        with suppress(OSError, ValueError):  # it is off, or has no cable
            if (device.parent / "operstate").read_text("ascii").strip() != "down":
                speeds.add(125_000 * int((device.parent / "speed").read_text("ascii")))
    return speeds.pop() if len(speeds) == 1 and min(speeds) > 0 else None


class SpillFile(NamedTuple):
    """A file of spilled objects: whose, when it was written or read, and all of its bytes."""

    node: str
    start: int
    end: int
    size_bytes: int
    is_written: bool


class Disk:
    """Which files were written and read in the folders of spilled objects, and when."""

    def __init__(self, session: str) -> None:
        self._call, self._session = ctypes.CDLL(None, use_errno=True), Path(session)
        self.descriptor = self._call.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._watched, self._open = dict[int, Path](), dict[Path, tuple[int, bool]]()
        self.files: list[SpillFile] = []
        self._watch(self._session, _MADE)
        for folder in self._session.glob(f"{SPILLS}*"):
            self._watch(folder, _ALL)

    def _watch(self, folder: Path, events: int) -> None:
        number = self._call.inotify_add_watch(self.descriptor, os.fsencode(folder), events)
        self._watched[number] = folder

    def read(self) -> None:
        """Take what has happened since the last time."""
        data, at, now = os.read(self.descriptor, 1 << 16), 0, clock()
        while at < len(data):
            number, events, _, size = _EVENT.unpack_from(data, at)
            at += _EVENT.size + size
            if name := data[at - size : at].rstrip(b"\0").decode():
                self._take(self._watched[number] / name, events, now)

    def _take(self, path: Path, events: int, now: int) -> None:
        if path.parent == self._session:
            if path.name.startswith(SPILLS):
                self._watch(path, _ALL)
                made = ((file, (now, True)) for file in path.iterdir())  # before we watched
                self._open.update(made)
        elif events & (_MADE | _OPENED):
            self._open.setdefault(path, (now, bool(events & _MADE)))
        elif path in self._open:
            self._end(path, now)

    def _end(self, path: Path, now: int) -> None:
        start, is_written = self._open.pop(path)
        node = path.parent.name.removeprefix(SPILLS).strip("_")
        size = path.stat().st_size if path.exists() else 0
        if len(self.files) < _MOST:
            self.files.append(SpillFile(node, start, now, size, is_written))

    def end(self) -> None:
        """Watch no longer; what is being read still is told, too: who wanted it may have it."""
        for path in [path for path, (_, is_written) in self._open.items() if not is_written]:
            self._end(path, clock())
        os.close(self.descriptor)


class Meter:
    """Reads the disk, and the wire if there is one, on a thread of its own, until it is stopped.

    ``session``: The folder of Ray's session; empty: the disk is not read yet.
    ``look``: Called now and then; returns how soon it wants to be called again, s.
    """

    def __init__(self, session: str, look: Callable[[], float]) -> None:
        self._look, self._is_over, self._bell = look, False, os.pipe()
        self.wire: Wire | None = None
        self.disk: Disk | None = None
        #: What only one holder of has on a machine; how fast the link is to nodes here, if known.
        self.seat: socket.socket | None = None
        self.links: dict[str, int | None] = {}
        self.trouble = ""
        if session:
            self.read_disk(session)
        self.thread = threading.Thread(target=self._run, name="serprof-ray", daemon=True)
        self.thread.start()

    def read_disk(self, session: str) -> None:
        """Read of spilled objects from now on."""
        with suppress(OSError, AttributeError):  # another system
            self.disk = Disk(session)

    def count(self, doors: Mapping[tuple[str, int], str], node: str) -> None:
        """Count the bytes that come to nodes, if there are several, by address and port."""
        if len(doors) > 1 and not self._is_over:
            here = {address for (address, _), each in doors.items() if each == node}
            near, link = (one for (at, _), one in doors.items() if at in here), link_bytes_per_s()
            self.links = dict.fromkeys(near, link)
            try:
                self.wire = Wire(doors)
                self.wake()
            except (OSError, AttributeError) as error:
                self.trouble = type(error).__name__

    def facts(self, copies: Copies) -> dict[str, Any]:
        """Return what was seen here, and by the owner of objects, as plain data."""
        series, files = self.wire and self.wire.series, self.disk and self.disk.files
        seen = {"series": dict(series or {}), "files": [*map(tuple, files or ())]}
        of_copies = {name: dict(getattr(copies, name)) for name in ("given", "came", "sizes")}
        return {**seen, "links": self.links, **of_copies}

    def wake(self) -> None:
        """Let it look now."""
        if self.thread.is_alive():
            os.write(self._bell[1], b".")

    def stop(self) -> None:
        """End the thread; what was measured stays."""
        self._is_over = True
        self.wake()
        self.thread.join(1)

    def _run(self) -> None:
        try:
            self._measure()
        except Exception as error:
            self.trouble = type(error).__name__
        if self.disk is not None:
            self.disk.end()
        for line in (self.seat, self.wire.line if self.wire else None):
            if line is not None:
                line.close()
        for each in self._bell:
            os.close(each)

    def _measure(self) -> None:
        waiting, due_s, is_last = select.poll(), 0.0, False
        waiting.register(self._bell[0], select.POLLIN)
        while not is_last:
            next_s, start_s, is_last = self._look(), time.monotonic(), self._is_over
            used_s = time.thread_time()
            if self.disk is not None:
                waiting.register(self.disk.descriptor, select.POLLIN)
            if self.wire is not None:
                if start_s >= due_s or is_last:
                    self.wire.read()
                    due_s = start_s + max(_SOONEST_S, _PART * (time.thread_time() - used_s))
                next_s = min(next_s, due_s - start_s)
            for ready, _ in waiting.poll(0 if is_last else min(_HOUR_MS, max(1, 1_000 * next_s))):
                if ready == self._bell[0]:
                    os.read(ready, 1 << 12)
                elif self.disk is not None:
                    self.disk.read()
