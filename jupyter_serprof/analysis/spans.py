"""Small questions that findings and summaries ask of a trace.

A parent that does not exist, or a circle of parents, ends at a root: every span is met once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from jupyter_serprof.model import Row, Span, Trace, stages_of

#: Stands in a remedy for the user's variable until it is known; no code has such a name.
NAME = "<name>"
#: Begins a remedy that no line of code can be: its words are told with the evidence.
WORDS = "<words>   # "


class SpanEdge(NamedTuple):
    """A step of the walk: a span begins, or ends after all that lies in it."""

    at: int
    is_begin: bool


#: The spans that are asked about now, and their walk.
_SHARED: ContextVar[tuple[Sequence[Span], Sequence[SpanEdge]]] = ContextVar(
    "walk of spans", default=((), ())
)


@contextmanager
def shared_walk(spans: Sequence[Span]) -> Iterator[None]:
    """Walk spans once for all questions in the block: the walk takes longer than most answers."""
    token = _SHARED.set((spans, tuple(_walked(spans))))
    try:
        yield
    finally:
        _SHARED.reset(token)


def walk(spans: Sequence[Span]) -> Iterable[SpanEdge]:
    """Return the begin and the end of every span, nested as their parents say. O(n)."""
    shared, visits = _SHARED.get()
    return visits if shared is spans else _walked(spans)


def _walked(spans: Sequence[Span]) -> Iterator[SpanEdge]:
    inside = defaultdict[int, list[int]](list)
    for index, span in enumerate(spans):
        inside[span.parent if 0 <= span.parent < len(spans) else -1].append(index)
    is_met = bytearray(len(spans))
    # After the roots only circles are left; each is cut where it is met first.
    for root in chain(inside[-1], range(len(spans))):
        pending = [] if is_met[root] else [SpanEdge(root, is_begin=True)]
        while pending:
            visit = pending.pop()
            if not (visit.is_begin and is_met[visit.at]):
                yield visit
            if visit.is_begin and not is_met[visit.at]:
                is_met[visit.at] = True
                pending.append(SpanEdge(visit.at, is_begin=False))
                pending += [SpanEdge(index, is_begin=True) for index in inside.get(visit.at, ())]


def depths(spans: Sequence[Span], visits: Iterable[SpanEdge]) -> list[int]:
    """Return how many spans lie around each span."""
    found, depth = [0] * len(spans), 0
    for index, is_begin in visits:
        if is_begin:
            found[index] = depth
        depth += 1 if is_begin else -1
    return found


def nearest(
    spans: Sequence[Span], visits: Iterable[SpanEdge], holds: Callable[[Span], object]
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
    spans: Sequence[Span], visits: Iterable[SpanEdge], value: Callable[[Span], int | None]
) -> Iterator[tuple[int, int]]:
    """Yield (index, value) of the spans that know it inside no other of their stage that does."""
    around: Counter[str] = Counter()
    for index, is_begin in visits:
        span = spans[index]
        if (known := value(span)) is not None:
            around[span.stage] += 1 if is_begin else -1
            if is_begin and around[span.stage] == 1:
                yield index, known


def indexed(trace: Trace, key: str) -> Iterator[tuple[int, Span]]:
    """Yield (index, span) of the spans of a stage."""
    return ((index, span) for index, span in enumerate(trace.spans) if span.stage == key)


def covered_ns(spans: Iterable[Span]) -> int:
    """Return for how long at least one of the spans ran."""
    covered = end = 0
    for span in sorted(spans, key=lambda span: span.start_ns):
        covered += max(0, span.end_ns - max(end, span.start_ns))
        end = max(end, span.end_ns)
    return covered


def number(span: Span, key: str) -> int | None:
    """Return a whole number from the details of a span, or None."""
    return whole(span.details or {}, key)


def calls_of(span: Span) -> int:
    """Return how many calls a span stands for: short ones are told together, a leg of one is 0."""
    calls = number(span, "calls")
    return 1 if calls is None else calls


def count_calls(spans: Iterable[Span]) -> int:
    """Return how many calls spans stand for."""
    return sum(map(calls_of, spans))


def text(span: Span, key: str) -> str:
    """Return a text from the details of a span, or an empty one."""
    return word(span.details or {}, key)


def whole(record: Mapping[str, object], key: str) -> int | None:
    """Return a whole number of a record, or None."""
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def word(record: Mapping[str, object], key: str) -> str:
    """Return a text of a record, or an empty one."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def captured(span: Span) -> list[Mapping[str, object]]:
    """Return the captured variables of an export."""
    value = span.details.get("captured") if span.details else None
    entries = value if isinstance(value, list | tuple) else ()
    return [entry for entry in entries if isinstance(entry, Mapping)]


def inside(trace: Trace, *stages: str) -> set[int]:
    """Return the indices of the spans that lie in a span of one of the stages."""
    around = nearest(trace.spans, walk(trace.spans), lambda span: span.stage in stages)
    return {index for index, above in enumerate(around) if above >= 0}


def around_or_itself(spans: Sequence[Span], index: int, holds: Callable[[int], object]) -> int:
    """Return the innermost place for which `holds` is true: the given one or one around it."""
    met: set[int] = set()
    while 0 <= index < len(spans) and index not in met:
        if holds(index):
            return index
        met.add(index)
        index = spans[index].parent
    return -1


def rows_of(trace: Trace, key: str) -> list[Row]:
    """Return the rows of a stage: several, where each computation has one of its own."""
    return [row for row in trace.waterfall.rows if row.stage == key] if trace.waterfall else []


def row_of(trace: Trace, key: str) -> Row | None:
    """Return the row of a stage; of several computations what their rows sum to."""
    rows = rows_of(trace, key)
    return joined(rows) if rows else None


def joined(rows: Sequence[Row]) -> Row:
    """Return rows of one stage as one, of no computation."""
    if len(rows) == 1:
        return rows[0]
    return replace(
        max(rows, key=lambda row: (row.self_ns, row.busy_ns)),
        start_ns=min(row.start_ns for row in rows),
        self_ns=sum(row.self_ns for row in rows),
        busy_ns=sum(row.busy_ns for row in rows),
        size_bytes=total(row.size_bytes for row in rows),
        count=sum(row.count for row in rows),
        copied_bytes=total(row.copied_bytes for row in rows),
        minor_faults=total(row.minor_faults for row in rows),
        pieces=tuple(sorted(piece for row in rows for piece in row.pieces)),
        group=None,
    )


Piece = tuple[int, int]


def fewer_pieces(pieces: Iterable[Piece], most: int) -> tuple[Piece, ...]:
    """Return (start, length) in order, touching ones as one, at most ``most``: small gaps close."""
    whole: list[list[int]] = []
    for start, length in pieces:
        if whole and whole[-1][1] == start:
            whole[-1][1] += length
        else:
            whole.append([start, start + length])
    # Of equal gaps the first one closes.
    gaps = sorted(range(1, len(whole)), key=lambda at: whole[at][0] - whole[at - 1][1])
    closing = set(gaps[: max(0, len(whole) - most)])
    kept: list[list[int]] = []
    for at, (start, end) in enumerate(whole):
        if at in closing:
            kept[-1][1] = max(kept[-1][1], end)
        else:
            kept.append([start, end])
    return tuple((start, end - start) for start, end in kept)


def longest(
    spans: Sequence[Span], most: int, pointed: Iterable[int] = ()
) -> tuple[tuple[Span, ...], Mapping[int, int]]:
    """Return the longest spans in their order, and the new place of each by its old one.

    Each points at the nearest one around it that is left.

    ``pointed``: The places of those that stay before any longer one.
    """
    by_length = sorted(range(len(spans)), key=lambda at: -spans[at].duration_ns)
    kept = sorted(list(dict.fromkeys([*pointed, *by_length]))[:most])
    places = {old: new for new, old in enumerate(kept)}
    above = (around_or_itself(spans, spans[at].parent, places.__contains__) for at in kept)
    left = zip(kept, above, strict=True)
    return tuple(spans[at]._replace(parent=places.get(up, -1)) for at, up in left), places


def total(found: Iterable[int | None]) -> int | None:
    """Return the sum of what was seen; None if none was seen."""
    known = [value for value in found if value is not None]
    return sum(known) if known else None


def self_share(trace: Trace, *keys: str) -> float:
    """Return the share (0..1) of the wall time that stages own, each with its parts."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    known = stages_of(trace)
    homes = ((row, (row.stage, known[row.stage].parent or "")) for row in rows)
    owned_ns = sum(
        row.self_ns
        for row, home in homes
        if any(f"{at}.".startswith(f"{key}.") for at in home for key in keys)
    )
    return owned_ns / trace.wall_ns if trace.wall_ns else 0.0
