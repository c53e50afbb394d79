"""Records in columns, written by hooks from any thread."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from jupyter_serprof.capture.hook import Record

#: Columns of a `Record`: thread, start, end.
_NUMBERS = (1, 2, 3)
#: For a thread that moves records; it takes milliseconds.
_WAIT_S = 1.0


class Records:
    """Records in columns: numbers and names, which the collector need not walk.

    To write one down is to extend a list, which no other thread can come between; nothing that the
    collector counts stays behind. From time to time what was written is moved to columns.
    """

    WIDTH = 7

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.fresh: list[Any] = []
        self._chunks: list[tuple[Sequence[Any], ...]] = []
        self._lock = Lock()

    def move(self, wait_s: float = 0) -> None:
        """Move what was written to columns, unless it is being moved; others may write meanwhile.

        A collection that begins in here writes a record, whose hook comes here again: it must not
        wait for itself. Who reads waits for another thread.
        """
        is_ours = self._lock.acquire(timeout=wait_s)
        if not is_ours and not wait_s:
            return
        try:
            moving = self.fresh[: len(self.fresh)]
            size, columns = len(moving), [moving[at :: self.WIDTH] for at in range(self.WIDTH)]
            chunk = tuple(
                array("q", column) if at in _NUMBERS else column
                for at, column in enumerate(columns)
            )
            # Without a call in between: no signal and no other thread comes between these two.
            self._chunks += [chunk]
            del self.fresh[:size]
        finally:
            if is_ours:
                self._lock.release()

    def column(self, at: int) -> Any:  # noqa: ANN401  (an array of numbers, or a list)
        """Return one column of the records."""
        self.move(_WAIT_S)
        joined: Any = array("q") if at in _NUMBERS else []
        for chunk in self._chunks:
            joined.extend(chunk[at])
        return joined

    def __iter__(self) -> Iterator[Record]:
        """Yield the records in the order in which the calls ended."""
        self.move(_WAIT_S)
        return (record for chunk in self._chunks for record in zip(*chunk, strict=True))

    def __reversed__(self) -> Iterator[Record]:
        """Yield them from the last to the first."""
        self.move(_WAIT_S)
        for chunk in reversed(self._chunks):
            yield from zip(*map(reversed, chunk), strict=True)

    def __len__(self) -> int:
        """How many there are."""
        return sum(len(chunk[0]) for chunk in self._chunks) + len(self.fresh) // self.WIDTH

    def __getitem__(self, at: int) -> Record:
        """Return one record."""
        return list(self)[at]
