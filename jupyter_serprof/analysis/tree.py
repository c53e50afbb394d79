"""The tree of spans: what lies around a span, answered for all of them in one walk.

A parent that does not exist, or a circle of parents, ends at a root: every span is met once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from jupyter_serprof.model import Span


class Visit(NamedTuple):
    """A step of the walk: a span begins, or ends after all that lies in it."""

    at: int
    is_begin: bool


def walk(spans: Sequence[Span]) -> Iterator[Visit]:
    """Yield the begin and the end of every span, nested as their parents say. O(n)."""
    inside = defaultdict[int, list[int]](list)
    for index, span in enumerate(spans):
        inside[span.parent if 0 <= span.parent < len(spans) else -1].append(index)
    is_met = bytearray(len(spans))
    # After the roots only circles are left; each is cut where it is met first.
    for root in chain(inside[-1], range(len(spans))):
        pending = [] if is_met[root] else [Visit(root, is_begin=True)]
        while pending:
            visit = pending.pop()
            if not (visit.is_begin and is_met[visit.at]):
                yield visit
            if visit.is_begin and not is_met[visit.at]:
                is_met[visit.at] = True
                pending.append(Visit(visit.at, is_begin=False))
                pending += [Visit(index, is_begin=True) for index in inside.get(visit.at, ())]


def depths(spans: Sequence[Span], visits: Iterable[Visit]) -> list[int]:
    """Return how many spans lie around each span."""
    found, depth = [0] * len(spans), 0
    for index, is_begin in visits:
        if is_begin:
            found[index] = depth
        depth += 1 if is_begin else -1
    return found


def nearest(
    spans: Sequence[Span], visits: Iterable[Visit], holds: Callable[[Span], object]
) -> list[int]:
    """Return the index of the innermost span around each for which `holds` is true, else -1."""
    found, around = [-1] * len(spans), [-1]
    for index, is_begin in visits:
        if is_begin:
            found[index] = around[-1]
            around.append(index if holds(spans[index]) else around[-1])
        else:
            around.pop()
    return found


def outermost(
    spans: Sequence[Span], visits: Iterable[Visit], value: Callable[[Span], int | None]
) -> Iterator[tuple[int, int]]:
    """Yield (index, value) of the spans that know it inside no other of their stage that does."""
    around: Counter[str] = Counter()
    for index, is_begin in visits:
        span = spans[index]
        if (known := value(span)) is not None:
            around[span.stage] += 1 if is_begin else -1
            if is_begin and around[span.stage] == 1:
                yield index, known
