"""Records in columns, written by hooks from any thread."""

from array import array
from collections.abc import Iterator, KeysView, Sequence
from itertools import chain
from threading import Lock
from typing import Any

from jupyter_serprof.capture.hook import Record

#: Columns of a `Record`: thread, start, end; and place, page faults, name of the exception.
_NUMBERS, _NAMES = (1, 2, 3), (0, 4, 6)
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
        #: The number of each name, in their order.
        self._codes: dict[object, int] = {}
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
            chunk = tuple(self._packed(at, column) for at, column in enumerate(columns))
            # Without a call in between: no signal and no other thread comes between these two.
            self._chunks += [chunk]
            del self.fresh[:size]
        finally:
            if is_ours:
                self._lock.release()

    def _packed(self, at: int, column: list[Any]) -> Sequence[Any]:
        if at in _NAMES:
            names = set(column)
            for name in names - self._codes.keys():
                self._codes.setdefault(name, len(self._codes))
            if len(names) == 1:
                return array("q", [self._codes[column[0]]]) * len(column)
            return array("q", map(self._codes.__getitem__, column))
        try:
            is_plain = at in _NUMBERS or set(map(type, column)) == {int}
            return array("q", column) if is_plain else column
        except OverflowError:
            return column

    def _unpacked(self, chunk: tuple[Sequence[Any], ...]) -> Iterator[Sequence[Any]]:
        names = list(self._codes)
        for at, column in enumerate(chunk):
            yield [names[code] for code in column] if at in _NAMES else column

    def numbers(self, at: int) -> Iterator[int]:
        """Return one of the columns of numbers."""
        self.move(_WAIT_S)
        return chain.from_iterable(chunk[at] for chunk in self._chunks)

    @property
    def names(self) -> KeysView[object]:
        """The places, numbers of page faults and names of exceptions that occur."""
        self.move(_WAIT_S)
        return self._codes.keys()

    def __iter__(self) -> Iterator[Record]:
        """Yield the records in the order in which the calls ended."""
        self.move(_WAIT_S)
        return (
            record for chunk in self._chunks for record in zip(*self._unpacked(chunk), strict=True)
        )

    def __reversed__(self) -> Iterator[Record]:
        """Yield them from the last to the first."""
        self.move(_WAIT_S)
        for chunk in reversed(self._chunks):
            yield from zip(*map(reversed, self._unpacked(chunk)), strict=True)

    def __len__(self) -> int:
        """How many there are."""
        return sum(len(chunk[0]) for chunk in self._chunks) + len(self.fresh) // self.WIDTH
