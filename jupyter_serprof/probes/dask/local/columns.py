"""Columns: calls that come by the hundred thousand, kept as numbers and drawn as few spans.

A task of a local scheduler takes 40 bytes here instead of the 200 of a record, and a graph of any
size is drawn with at most 20,000 spans, whose lengths add up to the exact total.
"""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from jupyter_serprof.capture.freeze import Draft
from jupyter_serprof.capture.hook import Place, Record, Sink

_WIDTH = 4
_UNKNOWN = -1
#: Records that wait to be moved to columns: a graph of usual size is moved after the run.
_MOST_FRESH = 50_000


class Failed(NamedTuple):
    """A key whose task raised."""

    key: object


class CallRow(NamedTuple):
    """One call; ns of the recorder's clock, size in bytes (-1: unknown)."""

    start: int
    end: int
    sign: int
    size: int
    name: object


@dataclass(slots=True)
class CallColumns:
    """Calls of one kind on one lane, in the order of their ends."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    names: list[object] = field(default_factory=list)
    failed: list[object] = field(default_factory=list)

    def add(self, start: int, end: int, key: object = "", size: int = _UNKNOWN) -> None:
        """Take one call; of the key only its hash and the name of its layer are kept."""
        self.names.append(key[0] if type(key) is tuple and key else key)
        self.numbers.extend((start, end, hash(key), size))

    def rows(self) -> Iterator[CallRow]:
        """Yield the calls."""
        columns = (self.numbers[at::_WIDTH] for at in range(_WIDTH))
        return (CallRow(*row) for row in zip(*columns, self.names, strict=False))

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self.names)


class Log:
    """Takes records of one place from many threads, each into columns of its own.

    ``sink``: Whose clock is used, and who is told of failures.
    ``shortest_ns``: Calls that took less are not kept.
    """

    def __init__(self, sink: Sink, shortest_ns: int = 0) -> None:
        self.now = sink.now
        self._tracks: dict[int, CallColumns] = {}
        self._fresh: list[Record] = []
        self._sink = sink
        self._shortest_ns = shortest_ns
        self._lock = Lock()

    def add(self, record: Record) -> None:
        """Take one record, as it is: the rest is done when there are many, or there is time."""
        if record[3] - record[2] < self._shortest_ns:
            return
        if record[6] is not None:
            record = (*record[:5], Failed(_key_of_error()), record[6])
        fresh = self._fresh
        fresh.append(record)
        if len(fresh) > _MOST_FRESH:
            self._move()

    def _move(self) -> None:
        """Move records to the columns of their threads; others may be written meanwhile."""
        with self._lock:
            count = len(self._fresh)
            moving = self._fresh[:count]
            del self._fresh[:count]
            for _, ident, start, end, _, key, _ in moving:
                track = self.track(ident)
                if type(key) is Failed:
                    key = key.key  # noqa: PLW2901  (the key itself)
                    track.failed.append(key)
                track.add(start, end, key)

    @property
    def tracks(self) -> dict[int, CallColumns]:
        """The columns by thread or process."""
        self._move()
        return self._tracks

    def track(self, ident: int) -> CallColumns:
        """Return the columns of a thread or process."""
        track = self._tracks.get(ident)
        return self._tracks.setdefault(ident, CallColumns()) if track is None else track

    def failed(self, place: Place, error: BaseException) -> None:
        """Pass on that our own part of a hook failed."""
        self._sink.failed(place, error)


def _key_of_error() -> object:
    """Return the key of the task that is raising now: its frame is just above the hook's."""
    error = sys.exc_info()[1]
    trace = error.__traceback__.tb_next if error is not None and error.__traceback__ else None
    return trace.tb_frame.f_locals.get("key", "task") if trace is not None else "task"


def laid(
    rows: Iterable[CallRow], each: int, named: Callable[[object], str], lane: str, stage: str
) -> Iterator[Draft]:
    """Yield drafts for calls of one lane: one for each, or one for each name in ``each`` calls."""
    # The span of several calls is as long as they are together; those of different names lie one
    # after the other from where the first call began.
    ordered = sorted(rows)
    for first in range(0, len(ordered), each):
        at = ordered[first].start
        together: dict[str, list[CallRow]] = defaultdict(list)
        for row in ordered[first : first + each]:
            together[named(row.name)].append(row)
        for name, some in together.items():
            start = max(at, some[0].start) if each == 1 else at
            at = start + sum(row.end - row.start for row in some)
            sizes = [row.size for row in some if row.size != _UNKNOWN]
            details = {"calls": len(some)} if len(some) > 1 else {}
            size = sum(sizes) if sizes else None
            yield Draft(stage, name, lane, start, at, "dask.task", None, size, details)
