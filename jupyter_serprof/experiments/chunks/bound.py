"""Which chunks are too large or too many: said before anything runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.experiments.chunks.look import ChunkLook
from jupyter_serprof.experiments.graphs.values import client_of
from jupyter_serprof.model import SerprofError
from jupyter_serprof.model.units import format_bytes, format_count

#: A graph of more tasks keeps a scheduler busy for minutes (facts: 1 ms a task).
MOST_TASKS = 200_000
#: A thread holds a chunk and what it makes of it.
_COPIES = 2
#: A worker pauses there (``distributed.worker.memory.pause``).
_SHARE = 0.8


class LeftOutError(SerprofError):
    """A chunk size that is not tried; the message says why."""


@dataclass(frozen=True, slots=True)
class WorkerBound:
    """The memory and the threads of the smallest worker; of this process without a cluster.

    ``memory_bytes`` is None where nobody limits it or can say.
    """

    memory_bytes: int | None
    threads: int
    is_cluster: bool

    @property
    def text(self) -> str:
        """The bound in words; "" where there is none."""
        if self.memory_bytes is None:
            return ""
        where = "a worker" if self.is_cluster else "this process"
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        return (
            f"chunks up to {format_bytes(self.most_bytes(self.threads))} fit: {where} has "
            f"{format_bytes(self.memory_bytes)} for {threads}, and each holds a chunk and what is "
            "made of it"
        )

    def most_bytes(self, chunks: int | None) -> int | None:
        """Return the largest chunk that fits, where there are so many of them."""
        if self.memory_bytes is None:
            return None
        at_once = max(1, min(self.threads, self.threads if chunks is None else chunks))
        return int(_SHARE * self.memory_bytes / _COPIES / at_once)

    def check(self, look: ChunkLook) -> None:
        """Raise `LeftOutError` for a chunk that is too large, or a graph of too many tasks."""
        most, largest = self.most_bytes(look.chunks), look.largest_bytes
        if most is not None and largest is not None and largest > most:
            message = f"left out: the largest chunk has {format_bytes(largest)}; {self.text}"
            raise LeftOutError(message)
        held = look.result_bytes
        if not self.is_cluster and held and self.memory_bytes and held > _SHARE * self.memory_bytes:
            message = (
                f"left out: the result has {format_bytes(held)}, and this process has "
                f"{format_bytes(self.memory_bytes)} free"
            )
            raise LeftOutError(message)
        count = look.tasks if look.tasks is not None else look.chunks
        if count is not None and count > MOST_TASKS:
            raise LeftOutError(too_many(count))


def too_many(count: float, about: str = "") -> str:
    """Say that a graph has too many tasks."""
    return f"left out: {about}{format_count(round(count))} tasks, more than {MOST_TASKS:,}"


def worker_bound(collections: Sequence[Any]) -> WorkerBound:
    """Return the bound of whatever would compute collections."""
    client = client_of(collections)
    if client is None:
        return WorkerBound(available_bytes(), os.cpu_count() or 1, is_cluster=False)
    workers: list[dict[str, Any]] = []
    with suppress(Exception):  # an asynchronous client, or one that was closed: told when it runs
        workers = list(client.scheduler_info()["workers"].values())
    limits = [worker.get("memory_limit") or 0 for worker in workers]
    threads = max((worker.get("nthreads") or 1 for worker in workers), default=1)
    memory = min((limit for limit in limits if limit > 0), default=None)
    return WorkerBound(memory, threads, is_cluster=True)
