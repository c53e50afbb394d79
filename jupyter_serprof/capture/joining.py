"""Short calls that follow each other, told as few: a loop of 200,000 pickles is no 200,000 spans.

In: the records of a page. Out: entries, joined where there are many, each with how many calls it
stands for. Calls are joined with their like, on one thread, inside one call, within a short window,
and so are the calls in them; their sums stay exact. Long ones are told one by one.

>>> from jupyter_serprof.capture.hook import Place
>>> from jupyter_serprof.capture.records import Records
>>> page, dumps = Records(), Place("pickle:dumps", "pickle.dumps", joins=True)
>>> for start in (0, 100, 200):
...     page.fresh += (dumps, 1, start, start + 30, None, 5 << 8 | 4, None)
>>> [entry] = entries_of(page, few=2)
>>> entry.record[2:4], entry.record[5] >> 8, entry.calls
((0, 90), 15, 3)
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from jupyter_serprof.capture.hook import Place, Record
from jupyter_serprof.capture.records import Records

#: So few records are told one by one.
FEW = 10_000
#: A longer call is told by itself, ns; or one that takes more than this part of the whole.
_SHORT_NS, _PARTS = 20_000, 5_000
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
    whole_ns = max(page.numbers(3)) - min(page.numbers(2))
    window_ns, short_ns = max(_WINDOW_NS, whole_ns // _WINDOWS), max(_SHORT_NS, whole_ns // _PARTS)
    threads: dict[int, _Thread] = defaultdict(lambda: _Thread(window_ns, short_ns))
    position = len(page)
    # From the end: who calls was written after those that it called.
    for record in reversed(page):
        position -= 1
        threads[record[1]].add(position, record)
    return sorted(entry for thread in threads.values() for entry in thread.end())


#: What tells apart calls that are not joined: place, kind, and whether page faults were noted.
_Likes = dict[tuple[Place, object, bool], "_Like"]


class _Like:
    """Calls that may be told as one, met from the last to the first, and those in them; in ns."""

    __slots__ = ("calls", "faults", "inside", "kind", "position", "record", "size", "start", "took")

    def __init__(self, position: int, record: Record, kind: object) -> None:
        self.position, self.record, self.kind = position, record, kind
        self.start = self.calls = self.took = self.faults = self.size = 0
        self.inside: _Likes = {}

    def add(self, start: int, calls: int, sums: tuple[int, int, int], inside: _Likes) -> None:
        """Take calls of the same kind that were before: time, faults, bytes, and those in them."""
        self.start = start
        self.calls += calls
        self.took += sums[0]
        self.faults += sums[1]
        self.size += sums[2]
        for key, like in inside.items():
            known = self.inside.setdefault(key, like)
            if known is not like:
                known.add(like.start, like.calls, (like.took, like.faults, like.size), like.inside)

    def told(self, at: int) -> Written:
        """Return the entry of all of them, from a time on."""
        place, thread, _, _, faults, noted, error = self.record
        whole = None if faults is None else self.faults
        noted = noted if self.calls == 1 else place.whole(self.kind, self.size)
        record = (place, thread, at, at + self.took, whole, noted, error)
        return Written(self.position, record, self.calls)


def _told(likes: _Likes, at: int | None = None) -> Iterator[Written]:
    """Tell each like as one call, one after the other from a time on, with those in them."""
    # Without a time it is that of the first call; where each is one call, they stay where they are.
    ordered = sorted(likes.values(), key=lambda like: like.start)
    stay = at is None and all(like.calls == 1 for like in ordered)
    at = ordered[0].start if at is None and ordered else at
    for like in ordered:
        begin = like.start if stay else at
        yield like.told(begin)  # type: ignore[arg-type]  # a time, as there is one
        yield from _told(like.inside, None if stay else begin)
        at = begin + like.took  # type: ignore[operator]


class _Open:
    """A call whose calls are being met; what of them is not joined stands in the entries."""

    __slots__ = ("end", "is_whole", "likes", "position", "record", "start")

    def __init__(self, position: int, record: Record | None) -> None:
        self.position, self.record = position, record
        self.start = record[2] if record else -1
        #: What is being joined, and the end of its window.
        self.likes: _Likes = {}
        self.end = 0
        self.is_whole = True


class _Thread:
    """The records of one thread, met from the last to the first."""

    def __init__(self, window_ns: int, short_ns: int) -> None:
        self._window_ns, self._short_ns = window_ns, short_ns
        self._entries: list[Written] = []
        self._most = FEW
        #: What was met last: only the next one tells whether it called something.
        self._held: tuple[int, Record] | None = None
        #: The calls that may be around the next one, the innermost last; the first is the thread.
        self._around = [_Open(-1, None)]

    def add(self, position: int, record: Record) -> None:
        """Meet the record that was written before the one met last."""
        held, self._held = self._held, (position, record)
        if held is None:
            return
        if record[3] > held[1][2]:
            self._around.append(_Open(*held))
        else:
            self._put(*held, {}, is_whole=True)
        while self._around[-1].start > record[2]:
            self._close()

    def end(self) -> list[Written]:
        if self._held is not None:
            self._put(*self._held, {}, is_whole=True)
        while len(self._around) > 1:
            self._close()
        self._join(self._around[0])
        return self._entries

    def _close(self) -> None:
        call = self._around.pop()
        if not call.is_whole:
            self._join(call)
        self._put(call.position, call.record, call.likes, is_whole=call.is_whole)  # type: ignore[arg-type]  # only the thread has none

    def _put(self, position: int, record: Record, inside: _Likes, *, is_whole: bool) -> None:
        """Join a call to its like if it and all in it can be; else tell it."""
        outer = self._around[-1]
        place, _, start, end, faults, noted, error = record
        parted = place.parted(noted) if is_whole and place.joins and error is None else None
        if parted is None or end - start > self._short_ns:
            self._join(outer)
            outer.is_whole = False
            self._entries += (*_told(inside), Written(position, record))
            return
        if not outer.likes or outer.end - start > self._window_ns:
            self._join(outer)
            outer.end = end
        kind, size = parted
        key = (place, kind, faults is None)
        like = outer.likes.get(key)
        if like is None:
            like = outer.likes[key] = _Like(position, record, kind)
        like.add(start, 1, (end - start, faults or 0, size), inside)

    def _join(self, call: _Open) -> None:
        if call.likes:
            self._entries += _told(call.likes)
            call.likes = {}
        if len(self._entries) > self._most:  # a thousand marks in turn: few of each in a window
            self._most, self._window_ns = self._most + FEW, self._window_ns * 2


def joined_note(entries: list[Written]) -> Iterator[str]:
    """Say how many calls are told as how many, if some are."""
    if told := [entry.calls for entry in entries if entry.calls > 1]:
        each = "each as long as its calls together; counts, times and sizes are exact"
        yield f"{sum(told):,} short calls are told as {len(told):,}, {each}"
