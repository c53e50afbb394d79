"""The outline of a waterfall: computations, stages, and the parts that stages are made of.

It is made once (``outline_of``) and stored with the rows, so that texts, pictures and the front end
say the same. A stage with parts is a heading with their sum. Where there are more lines than fit,
headings stand for their parts, then computations for their stages, and last the smallest are put
together, with all that is below one percent and explains nothing. Whatever is folded, the lines of
the highest level still add up to the wall time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from jupyter_serprof.model import Heading, stages_of
from jupyter_serprof.model.units import clean, format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jupyter_serprof.model import Row, Stage, Trace

#: Of more lines than this, a heading stands for its parts; those of the largest one stay.
MOST_PARTED = 20
#: What is left for computations beside the stages of the largest one, at least.
_FEWEST_BLOCKS = 4
#: What owns less of the wall time, and is busy for less of it, is told together.
_SMALL_SHARE = 0.01
_NAMED_TOGETHER = {"group": "smaller computations", "part": "more parts"}
#: What a stage did apart from its parts.
OWN_PART = "itself"
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


def outline_of(rows: Sequence[Row], trace: Trace) -> tuple[int | Heading, ...]:
    """Return what stands below what of the rows of a trace, as its document holds it.

    A stage with parts is a heading, its own row one of them; each of several computations is one,
    between the rows that belong to none. Empty where no row stands below another.
    """
    known = stages_of(trace)
    groups: dict[int | None, list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(_group(row, trace), []).append(index)
    lines: list[int | Heading] = []
    for group, at in groups.items():
        inside = _families(rows, at, known)
        self_ns = sum(rows[index].self_ns for index in at)
        is_block = group is not None
        lines += [Heading(self_ns, group=group, inside=inside)] if is_block else inside
    # A plain list says nothing that the rows do not say.
    return () if lines == list(range(len(rows))) else tuple(lines)


def _group(row: Row, trace: Trace) -> int | None:
    is_one_of_several = len(trace.groups) > 1 and row.group is not None
    return row.group if is_one_of_several and row.group in range(len(trace.groups)) else None


def _families(
    rows: Sequence[Row], at: Iterable[int], known: Mapping[str, Stage]
) -> tuple[int | Heading, ...]:
    """Return stages in the order of the road; those with parts as headings."""
    members: dict[str, list[int]] = {}
    for index in at:
        members.setdefault(_root(rows[index].stage, known), []).append(index)
    lines: list[int | Heading] = []
    for key, found in members.items():
        has_parts = len({rows[index].stage for index in found}) > 1
        self_ns = sum(rows[index].self_ns for index in found)
        lines += [Heading(self_ns, key, inside=tuple(found))] if has_parts else found
    return tuple(lines)


def _root(key: str, known: Mapping[str, Stage]) -> str:
    """Return the stage that a stage is a part of, itself if it is none."""
    met = {key}
    while (parent := known[key].parent) and parent not in met:
        met.add(parent)
        key = parent
    return key


def outline(trace: Trace, most_rows: int) -> tuple[Entry, ...]:
    """Return the lines of a trace, at most ``most_rows`` with those inside of others."""
    entries, small = _apart(trace, entries_of(trace))
    entries = [replace(entry, inside=_gathered(trace, entry.inside)) for entry in entries]
    entries = _folded(entries, "heading", min(MOST_PARTED, most_rows), keeps_largest=True)
    if any(entry.kind == "group" for entry in entries):
        entries = _folded(entries, "group", most_rows, keeps_largest=True)
    if count_of(entries) + bool(small) > most_rows:
        return tuple(_fitted(entries, most_rows, small))
    return (*entries, *([_together(small)] if small else []))


def _apart(trace: Trace, entries: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Return what has a line of its own, and what is told together: none or several, never all."""
    given, told = list(entries), _told_of(trace)
    small = [entry for entry in given if _is_small(trace, entry) and told.isdisjoint(entry.at)]
    small = small if 1 < len(small) < len(given) else []
    return [entry for entry in given if entry not in small], small


def _gathered(trace: Trace, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    kept, small = _apart(trace, entries)
    inside = [replace(entry, inside=_gathered(trace, entry.inside)) for entry in kept]
    return (*inside, *([_together(small)] if small else []))


def _is_small(trace: Trace, entry: Entry) -> bool:
    if trace.waterfall is None or entry.kind == "group":
        return False
    busy_ns = sum(trace.waterfall.rows[index].busy_ns for index in entry.at)
    return max(entry.self_ns, busy_ns) < _SMALL_SHARE * trace.wall_ns


def _told_of(trace: Trace) -> set[int]:
    """Return the rows of the stages that a finding points at."""
    keys = {trace.spans[at].stage for each in trace.findings for at in each.spans}
    rows = trace.waterfall.rows if trace.waterfall else ()
    return {index for index, row in enumerate(rows) if row.stage in keys}


def entries_of(trace: Trace) -> list[Entry]:
    """Return the lines of a trace, all of them, as its outline says."""
    if trace.waterfall is None:
        return []
    waterfall, known = trace.waterfall, stages_of(trace)

    def entry(line: int | Heading, above: str = "") -> Entry:
        if isinstance(line, int):
            row = waterfall.rows[line]
            kind: Literal["part", "stage"] = "part" if above else "stage"
            made = _line(kind, known[row.stage], (line,), row.self_ns)
            return replace(made, title=OWN_PART) if row.stage == above else made
        inside = tuple(entry(inner, line.stage) for inner in line.inside)
        at = tuple(index for inner in inside for index in inner.at)
        if line.group is None:
            made = _line("heading", known[line.stage], at, line.self_ns)
            return replace(made, inside=inside)
        title, key = trace.groups[line.group].title, f"{_KEY}.{line.group}"
        return Entry("group", key, title, "other", False, at, line.self_ns, inside)  # noqa: FBT003

    return [entry(line) for line in waterfall.outline or range(len(waterfall.rows))]


def _line(
    kind: Literal["stage", "heading", "part"], entry: Stage, at: tuple[int, ...], self_ns: int
) -> Entry:
    return Entry(kind, entry.key, entry.title, entry.family, entry.waits, at, self_ns)


def stage_sums(trace: Trace) -> list[tuple[str, int]]:
    """Return (title, ns) of each stage with its parts, over all computations."""
    sums: dict[str, tuple[str, int]] = {}
    for entry in entries_of(trace):
        for family in entry.inside if entry.kind == "group" else (entry,):
            known_ns = sums.get(family.key, ("", 0))[1]
            sums[family.key] = clean(family.title), known_ns + family.self_ns
    return list(sums.values())


def count_of(entries: Iterable[Entry]) -> int:
    """Return how many lines there are, those inside of others too."""
    return sum(1 + count_of(entry.inside) for entry in entries)


def _folded(entries: Sequence[Entry], kind: str, most: int, *, keeps_largest: bool) -> list[Entry]:
    """Close what is of a kind, the smallest first, until ``most`` lines are left."""
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


def _fitted(entries: Sequence[Entry], most: int, small: Sequence[Entry]) -> list[Entry]:
    """Put the smallest together; what is still open is closed where it leaves too little room."""
    room = most - _FEWEST_BLOCKS
    if _widest(entries) > room or not any(entry.kind == "group" for entry in entries):
        entries = _folded(entries, "heading", most, keeps_largest=False)
    if _widest(entries) > room:
        entries = _folded(entries, "group", most, keeps_largest=False)
    room = most - (count_of(entries) - len(entries))
    if len(entries) + bool(small) <= room:
        return [*entries, *([_together(small)] if small else [])]
    by_size = sorted(
        range(len(entries)), key=lambda i: (not entries[i].inside, -entries[i].self_ns)
    )
    kept = set(by_size[: max(1, room - 1)])
    others = [entry for i, entry in enumerate(entries) if i not in kept]
    return [*(entry for i, entry in enumerate(entries) if i in kept), _together([*others, *small])]


def _widest(entries: Iterable[Entry]) -> int:
    return max(count_of(entry.inside) for entry in entries)


def _together(entries: Sequence[Entry]) -> Entry:
    kinds = {entry.kind for entry in entries}
    what = _NAMED_TOGETHER.get(kinds.pop() if len(kinds) == 1 else "", "more stages")
    title = f"{format_count(len(entries))} {what}"
    at = tuple(index for entry in entries for index in entry.at)
    self_ns = sum(entry.self_ns for entry in entries)
    return Entry("more", _KEY, title, "other", False, at, self_ns)  # noqa: FBT003
