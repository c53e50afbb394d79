"""Totals in bounded memory: intervals that are joined, durations in bins; what threads ran."""

from __future__ import annotations

import math
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

#: (lane, stage, name, start, end, size, count, busy), ns and bytes.
Block = tuple[int, str, str, int, int, "int | None", int, int]
#: A bin of a histogram of durations is 1.1 % wide.
BINS_PER_DOUBLING = 64


class JoinedBlocks:
    """Intervals of one kind beside each other, joined where there are too many.

    Adding is one append. A block is (lane, stage, name, start, end, size, count, busy); ``busy`` is
    the exact sum of the intervals in it.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.kept: list[Block] = []
        self.gap_ns = 0
        self.is_folded = False

    def add(
        self,
        lane: int,
        stage: str,
        name: str,
        start: int,
        end: int,
        size: int | None = None,
        count: int = 1,
    ) -> None:
        """Add one interval."""
        self.kept.append((lane, stage, name, start, end, size, count, end - start))
        if len(self.kept) > 3 * self.most:
            self.fold()

    def fold(self) -> None:
        """Join neighbours of a lane and stage until few enough are left; totals stay exact."""
        # What is added meanwhile (a garbage collection in the midst of it) goes to a new list.
        if len(self.kept) <= self.most:
            return
        taken, self.kept = self.kept, []
        self.is_folded = True
        self.gap_ns = self.gap_ns or 1_000
        taken.sort(key=lambda block: (block[0], block[1], block[3]))
        taken = _joined(taken, self.gap_ns)
        while len(taken) > self.most and self.gap_ns < 2**63:
            self.gap_ns *= 2
            taken = _joined(taken, self.gap_ns)
        self.most = max(self.most, len(taken))  # one for each lane and stage is the least
        self.kept.extend(taken)


def _joined(blocks: list[Block], gap_ns: int) -> list[Block]:
    joined: list[Block] = []
    last: Block | None = None
    for block in blocks:
        if last is not None and last[:2] == block[:2] and block[3] - last[4] <= gap_ns:
            name = last[2] if last[7] >= block[7] else block[2]
            size = last[5] if block[5] is None else (last[5] or 0) + block[5]
            end, count, busy = max(last[4], block[4]), last[6] + block[6], last[7] + block[7]
            last = (last[0], last[1], name, last[3], end, size, count, busy)
            joined[-1] = last
        else:
            last = block
            joined.append(block)
    return joined


class Durations:
    """Count, sum, bounds and a histogram of durations, ns."""

    def __init__(self) -> None:
        self.count = self.total = self.most = 0
        self.least: int | None = None
        self.bins: Counter[int] = Counter()

    def add(self, duration: int) -> None:
        """Add one duration."""
        self.count += 1
        self.total += duration
        if self.least is None or duration < self.least:
            self.least = duration
        self.most = max(self.most, duration)
        self.bins[int(math.log2(duration) * BINS_PER_DOUBLING) if duration > 0 else 0] += 1

    def quantile(self, share: float) -> int | None:
        """Return the middle of the bin in which the given share (0..1) of durations is reached."""
        if not self.count:
            return None
        wanted, seen = share * self.count, 0
        for at in sorted(self.bins):
            seen += self.bins[at]
            if seen >= wanted:
                middle = round(2 ** ((at + 0.5) / BINS_PER_DOUBLING))
                return min(self.most, max(self.least or 0, middle))
        return self.most


def ran_ns() -> dict[int, tuple[int, int]]:
    """Return how long each thread of this process ran, and waited for a core; nothing elsewhere."""
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):  # it ended, or the system does not tell
            running, waiting, _ = path.read_text().split()
            found[int(path.parent.name)] = int(running), int(waiting)
    return found


def queued_ns() -> int:
    """Return how long this thread has waited for a core until now; 0 where nobody tells."""
    with suppress(OSError, ValueError, IndexError):
        path = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        return int(path.read_text().split()[1])
    return 0


def since(before: dict[int, tuple[int, int]]) -> dict[int | None, tuple[int, int]]:
    """Return by its ident what each thread ran and waited since `ran_ns` gave what it had."""
    idents = {thread.native_id: thread.ident for thread in threading.enumerate()}
    known = ((at, now, before.get(at, (0, 0))) for at, now in ran_ns().items())
    return {idents.get(at): (ran - a, waited - b) for at, (ran, waited), (a, b) in known}
