"""The outline of a waterfall: computations, stages, and the parts that stages are made of.

A stage with parts is a heading with their sum. Where there are more lines than fit, headings stand
for their parts, then computations for their stages, and last the smallest are put together.
Whatever is folded, the lines of the highest level still add up to the wall time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from jupyter_serprof.model import stage
from jupyter_serprof.model.units import clean, format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_serprof.model import Row, Stage, Trace

#: Of more lines than this, a heading stands for its parts; those of the largest one stay.
MOST_PARTED = 20
#: What is left for computations beside the stages of the largest one, at least.
_FEWEST_BLOCKS = 4
#: What a stage did apart from its parts.
_OWN_PART = "itself"
_KEY = "serprof.folded"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: a stage, a heading with parts inside, a computation with stages inside.

    ``at`` has the indices of the rows of the waterfall that it is the sum of.
    """

    kind: Literal["stage", "heading", "part", "group", "more"]
    key: str
    title: str
    family: str
    waits: bool
    at: tuple[int, ...]
    self_ns: int
    inside: tuple[Entry, ...] = ()


def outline(trace: Trace, most_rows: int) -> tuple[Entry, ...]:
    """Return the lines of a trace, at most so many with those inside of others."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    known = {entry.key: entry for entry in trace.stages}
    entries = _blocks(trace, rows, known)
    entries = _folded(entries, "heading", min(MOST_PARTED, most_rows), keeps_largest=True)
    if any(entry.kind == "group" for entry in entries):
        entries = _folded(entries, "group", most_rows, keeps_largest=True)
    if count_of(entries) > most_rows:
        entries = _fitted(entries, most_rows)
    return tuple(entries)


def stage_sums(trace: Trace) -> list[tuple[str, int]]:
    """Return (title, ns) of each stage with its parts, over all computations."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    families = _families(rows, range(len(rows)), {entry.key: entry for entry in trace.stages})
    return [(clean(entry.title), entry.self_ns) for entry in families]


def count_of(entries: Iterable[Entry]) -> int:
    """Return how many lines there are, those inside of others too."""
    return sum(1 + count_of(entry.inside) for entry in entries)


def _blocks(trace: Trace, rows: Sequence[Row], known: dict[str, Stage]) -> list[Entry]:
    """Return a block for each of several computations, between what belongs to none."""
    places: dict[int | None, list[int]] = {}
    for index, row in enumerate(rows):
        places.setdefault(_group(row, trace), []).append(index)
    entries: list[Entry] = []
    for group, at in places.items():
        inside = _families(rows, at, known)
        if group is None:
            entries += inside
        else:
            entries.append(_block(trace.groups[group].title, group, at, inside))
    return entries


def _block(title: str, group: int, at: list[int], inside: list[Entry]) -> Entry:
    return Entry(
        kind="group",
        key=f"{_KEY}.{group}",
        title=title,
        family="other",
        waits=False,
        at=tuple(at),
        self_ns=sum(entry.self_ns for entry in inside),
        inside=tuple(inside),
    )


def _group(row: Row, trace: Trace) -> int | None:
    is_one_of_several = len(trace.groups) > 1 and row.group is not None
    return row.group if is_one_of_several and row.group in range(len(trace.groups)) else None


def _families(rows: Sequence[Row], at: Iterable[int], known: dict[str, Stage]) -> list[Entry]:
    """Return stages in the order of the road; those with parts as headings."""
    members: dict[str, list[int]] = {}
    for index in at:
        members.setdefault(_root(rows[index].stage, known), []).append(index)
    return [_family(rows, key, found, known) for key, found in members.items()]


def _root(key: str, known: dict[str, Stage]) -> str:
    """Return the stage that a stage is a part of, itself if it is none."""
    met = {key}
    while (parent := _entry(key, known).parent) and parent not in met:
        met.add(parent)
        key = parent
    return key


def _entry(key: str, known: dict[str, Stage]) -> Stage:
    return known.get(key) or stage(key)


def _family(rows: Sequence[Row], key: str, at: list[int], known: dict[str, Stage]) -> Entry:
    if len({rows[index].stage for index in at}) == 1:
        return _line("stage", rows, at, _entry(rows[at[0]].stage, known))
    parts = tuple(_part(rows, key, index, known) for index in at)
    return replace(_line("heading", rows, at, _entry(key, known)), inside=parts)


def _part(rows: Sequence[Row], key: str, index: int, known: dict[str, Stage]) -> Entry:
    entry = _line("part", rows, [index], _entry(rows[index].stage, known))
    return replace(entry, title=_OWN_PART) if entry.key == key else entry


def _line(
    kind: Literal["stage", "heading", "part"], rows: Sequence[Row], at: list[int], entry: Stage
) -> Entry:
    self_ns = sum(rows[index].self_ns for index in at)
    return Entry(kind, entry.key, entry.title, entry.family, entry.waits, tuple(at), self_ns)


def _folded(entries: Sequence[Entry], kind: str, most: int, *, keeps_largest: bool) -> list[Entry]:
    """Close what is of a kind, the smallest first, until so many lines are left."""
    opened = [entry for entry in _walk(entries) if entry.kind == kind and entry.inside]
    closing: set[tuple[int, ...]] = set()
    count = count_of(entries)
    by_size = sorted(opened, key=lambda entry: entry.self_ns)
    for entry in by_size[:-1] if keeps_largest else by_size:
        if count > most:
            closing.add(entry.at)
            count -= count_of(entry.inside)
    return [_closed(entry, kind, closing) for entry in entries]


def _walk(entries: Iterable[Entry]) -> Iterable[Entry]:
    for entry in entries:
        yield entry
        yield from _walk(entry.inside)


def _closed(entry: Entry, kind: str, closing: set[tuple[int, ...]]) -> Entry:
    if entry.kind == kind and entry.at in closing:
        return replace(entry, inside=())
    return replace(entry, inside=tuple(_closed(inner, kind, closing) for inner in entry.inside))


def _fitted(entries: Sequence[Entry], most: int) -> list[Entry]:
    """Put the smallest together; what is still open is closed where it leaves too little room."""
    room = most - _FEWEST_BLOCKS
    if _widest(entries) > room or not any(entry.kind == "group" for entry in entries):
        entries = _folded(entries, "heading", most, keeps_largest=False)
    if _widest(entries) > room:
        entries = _folded(entries, "group", most, keeps_largest=False)
    room = most - (count_of(entries) - len(entries))
    if len(entries) <= room:
        return list(entries)
    by_size = sorted(
        range(len(entries)), key=lambda i: (not entries[i].inside, -entries[i].self_ns)
    )
    kept = set(by_size[: max(1, room - 1)])
    others = [entry for i, entry in enumerate(entries) if i not in kept]
    return [*(entry for i, entry in enumerate(entries) if i in kept), _together(others)]


def _widest(entries: Iterable[Entry]) -> int:
    return max(count_of(entry.inside) for entry in entries)


def _together(entries: Sequence[Entry]) -> Entry:
    kinds = {entry.kind for entry in entries}
    what = "computations" if kinds == {"group"} else "stages"
    title = f"{format_count(len(entries))} smaller {what}"
    at = tuple(index for entry in entries for index in entry.at)
    self_ns = sum(entry.self_ns for entry in entries)
    return Entry("more", _KEY, title, "other", False, at, self_ns)  # noqa: FBT003
