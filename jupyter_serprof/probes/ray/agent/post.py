"""Post: the workers of a node lay down what is new, and whoever comes first takes all of it along.

So the control store has one entry for each node, however many workers there are. What lies in the
folder outlives its worker. Who takes it along holds a lock, which ends with its process.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .contact import OPEN, RPC_S, SPACE
from .notes import Ledger, bridge

fcntl: Any
try:
    fcntl = import_module("fcntl")
except ImportError:  # Windows: each worker is a node by itself
    fcntl = None

#: Larger ones go without what was inside of tasks, bytes; where that stands in their facts.
_MOST_BYTES, _SPANS = 2_000_000, 10
#: How soon it is looked again whether nobody else takes something along, s.
_SOON_S = 0.002
_WRITTEN = ".new"


class Post:
    """The folder of a recording and of the node of this worker.

    ``key``: Of the recording.
    """

    def __init__(self, key: bytes) -> None:
        known = sys.modules["ray._private.worker"].global_worker
        self.gcs, core = known.gcs_client, known.core_worker
        self.worker: bytes = core.get_worker_id().binary()
        node = core.get_worker_id() if fcntl is None else core.get_current_node_id()
        self.open, self.at = key + OPEN, b":".join((key, b"notes", node.binary()))
        name = f"serprof_{key[-32:].decode()}_{node.hex()}"
        self.folder = Path(known.node.get_session_dir_path(), name)
        self.count = 0

    def lay(self, told: Mapping[str, Any]) -> None:
        """Lay down what a ledger told."""
        self.count += 1
        self.folder.mkdir(exist_ok=True)
        file = self.folder / f"{self.worker.hex()}{self.count:09}"
        written = file.with_suffix(_WRITTEN)
        written.write_bytes(marshal.dumps({**told, "taken": {self.worker: self.count}}))
        written.replace(file)

    def carry(self) -> bool:
        """Take along what lies there; tell whether nothing is left of it."""
        if not self.folder.is_dir():
            return True
        place, until = os.open(self.folder, os.O_RDONLY), time.monotonic() + RPC_S
        try:
            while not _is_alone(place):
                if time.monotonic() > until:
                    return False
                time.sleep(_SOON_S)
            self._carry()
        finally:
            os.close(place)
        return True

    def _carry(self) -> None:
        files = sorted(file for file in self.folder.iterdir() if not file.suffix)
        if files and self.gcs.internal_kv_exists(self.open, SPACE, timeout=RPC_S):
            known = self.gcs.internal_kv_get(self.at, SPACE, timeout=RPC_S)
            whole = merged([*filter(None, [known]), *map(Path.read_bytes, files)])
            self.gcs.internal_kv_put(self.at, packed(whole), True, SPACE, timeout=RPC_S)
        for file in files:
            file.unlink()

    def close(self) -> None:
        """Take the folder away, if nothing lies there any more."""
        with suppress(OSError):
            self.folder.rmdir()


def _is_alone(place: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def merged(laid: Iterable[bytes]) -> dict[str, Any]:
    """Put together what ledgers told, each thing once: by worker, the number of its last one."""
    ledger, taken, failures, missing = Ledger(), dict[bytes, int](), 0, set[str]()
    for one in map(marshal.loads, laid):
        if any(taken.get(worker, 0) < number for worker, number in one["taken"].items()):
            ledger.add(one)
            taken.update(one["taken"])
            failures += one["failures"]
            missing.update(one["missing"])
    more = {"taken": taken, "failures": failures, "missing": sorted(missing)}
    return {**ledger.told(), **more, **bridge()}


def packed(whole: dict[str, Any]) -> bytes:
    """Return as bytes what is sent, with as many details as there is room for."""
    made = marshal.dumps(whole)
    if len(made) <= _MOST_BYTES:
        return made
    kept = [(*one[:_SPANS], [], *one[_SPANS + 1 :]) for one in whole["kept"]]
    return marshal.dumps({**whole, "kept": kept})
