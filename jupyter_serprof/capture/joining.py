"""Short calls that follow each other, told as few: a loop of 200,000 pickles is no 200,000 spans.

In: the records of a page. Out: entries, joined where there are many, each with how many calls it
stands for. Calls are joined with their like, on one thread, inside one call, within a short window,
if nothing was called in them; their sums stay exact.

>>> from jupyter_serprof.capture.hook import Place
>>> from jupyter_serprof.capture.records import Records
>>> page, dumps = Records(), Place("pickle:dumps", "pickle.dumps", joins=True)
>>> for start in (0, 100, 200):
...     page.fresh += (dumps, 1, start, start + 30, None, 5 << 8 | 4, None)
>>> [entry] = entries_of(page, few=2)
>>> entry.record[2:4], entry.record[5] >> 8, entry.calls
((0, 90), 15, 3)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from jupyter_serprof.capture.hook import Place, Record
from jupyter_serprof.capture.records import Records

#: So few records are told one by one.
FEW = 10_000
#: A longer call is told by itself, ns.
_SHORT_NS = 20_000
#: What is joined lies within so much, ns, or within this part of the whole.
_WINDOW_NS, _WINDOWS = 100_000, 1_000


class Written(NamedTuple):
    """A record, where it was written among the others, and how many calls it stands for."""

    position: int
    record: Record
    calls: int = 1


def entries_of(page: Records, few: int = FEW) -> list[Written]:
    """Return the records in the order in which they were written, joined if there are many."""
    if len(page) <= few:
        return [Written(position, record) for position, record in enumerate(page)]
    starts, ends = page.column(2), page.column(3)
    window_ns = max(_WINDOW_NS, (max(ends) - min(starts)) // _WINDOWS)
    threads: dict[int, _Thread] = defaultdict(lambda: _Thread(window_ns))
    last = len(page) - 1
    # From the end: who calls was written after those that it called.
    for back, record in enumerate(reversed(page)):
        threads[record[1]].add(last - back, record)
    return sorted(entry for thread in threads.values() for entry in thread.end())


@dataclass(slots=True)
class _Like:
    """Calls that may be told as one, met from the last to the first; times in ns."""

    position: int
    record: Record
    start: int = 0
    calls: int = 0
    took: int = 0
    faults: int = 0
    size: int = 0

    def told(self, at: int) -> Written:
        """Return the entry of all of them, from a time on."""
        place, thread, _, _, faults, extra, _ = self.record
        noted = self.size << 8 | extra & 255 if isinstance(extra, int) else None
        whole = None if faults is None else self.faults
        record = (place, thread, at, at + self.took, whole, noted, None)
        return Written(self.position, record, self.calls)


class _Thread:
    """The records of one thread, met from the last to the first."""

    def __init__(self, window_ns: int) -> None:
        self._window_ns = window_ns
        self._entries: list[Written] = []
        #: What was met last: only the next one tells whether it called something.
        self._held: tuple[int, Record] | None = None
        #: When the calls began that may be around the next one, the innermost last.
        self._around: list[int] = []
        #: What is being joined, by place, kind and whether page faults were noted; and its end.
        self._likes: dict[tuple[Place, object, bool], _Like] = {}
        self._end = 0

    def add(self, position: int, record: Record) -> None:
        """Meet the record that was written before the one met last."""
        held, self._held = self._held, (position, record)
        if held is not None:
            self._put(*held, record[3] <= held[1][2])

    def end(self) -> list[Written]:
        """Return the entries."""
        if self._held is not None:
            self._put(*self._held, True)  # noqa: FBT003  (nothing was written before it)
        self._join()
        return self._entries

    def _put(self, position: int, record: Record, is_leaf: bool) -> None:
        place, _, start, end, faults, extra, error = record
        while self._around and self._around[-1] > start:
            self._around.pop()
            self._join()
        took, is_number = end - start, type(extra) is int
        is_plain = error is None and (extra is None or is_number)
        if not (is_leaf and place.joins and is_plain and took <= _SHORT_NS):
            self._join()
            self._entries.append(Written(position, record))
            if not is_leaf:
                self._around.append(start)
            return
        if not self._likes or self._end - start > self._window_ns:
            self._join()
            self._end = end
        key = (place, extra & 255 if is_number else None, faults is None)  # type: ignore[operator]
        like = self._likes.get(key)
        if like is None:
            like = self._likes[key] = _Like(position, record)
        like.start = start
        like.calls += 1
        like.took += took
        like.faults += faults or 0
        like.size += extra >> 8 if is_number else 0  # type: ignore[operator]

    def _join(self) -> None:
        """Tell each like as one call, one after the other from where the first call began."""
        if not self._likes:
            return
        likes = sorted(self._likes.values(), key=lambda like: like.start)
        self._likes = {}
        if all(like.calls == 1 for like in likes):
            self._entries += (Written(like.position, like.record) for like in likes)
            return
        at = likes[0].start
        for like in likes:
            self._entries.append(like.told(at))
            at += like.took


def joined_note(entries: list[Written]) -> Iterator[str]:
    """Say how many calls are told as how many, if some are."""
    told = [entry.calls for entry in entries if entry.calls > 1]
    if told:
        yield (
            f"{sum(told):,} short calls are told as {len(told):,}, each as long as its calls "
            "together; counts, times and sizes are exact"
        )
