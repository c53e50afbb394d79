"""The outline of a waterfall: computations, stages, and the parts that stages are made of.

It is made once (``outlined``) and stored with the rows, so that texts, pictures and the front end
say the same. A stage with parts is a heading with their sum; all that is below one percent
is told together. Where there are more lines than fit, headings stand for their
parts, then computations for their stages, and last the smallest are put together. Whatever is
folded, the lines of the highest level still add up to the wall time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from jupyter_serprof.model import Heading, stages_of
from jupyter_serprof.model.units import clean, format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jupyter_serprof.model import Row, Stage, Trace

#: Of more lines than this, a heading stands for its parts; those of the largest one stay.
MOST_PARTED = 20
#: What is left for computations beside the stages of the largest one, at least.
_FEWEST_BLOCKS = 4
#: What owns less of the wall time is told together, unless it executes so many times of it.
_SMALL_SHARE, _BUSY = 0.01, 10
_NAMED_TOGETHER = {"group": "smaller computations", "part": "more parts"}
#: What a stage did apart from its parts.
OWN_PART, _KEY = "itself", "serprof.folded"


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


def outlined(trace: Trace) -> Trace:
    """Return the trace whose waterfall says what stands below what of its rows.

    A stage with parts is a heading, its own row one of them; each of several computations is one,
    between the rows that belong to none; what is told together is one behind the others. Empty
    where no row stands below another.
    """
    if trace.waterfall is None:
        return trace
    known, rows = stages_of(trace), trace.waterfall.rows

    def is_small(own: Sequence[Row]) -> bool:
        works_ns = sum(row.busy_ns for row in own if known[row.stage].family == "execute")
        most_ns = max(sum(row.self_ns for row in own), works_ns / _BUSY)
        return most_ns < _SMALL_SHARE * trace.wall_ns

    groups: dict[int | None, list[int]] = {}
    for index, row in enumerate(rows):
        is_one = len(trace.groups) > 1 and row.group in range(len(trace.groups))
        groups.setdefault(row.group if is_one else None, []).append(index)
    lines: list[int | Heading] = []
    for group, at in groups.items():
        inside = _families(rows, at, known)
        self_ns = sum(rows[index].self_ns for index in at)
        lines += inside if group is None else [Heading(self_ns, group=group, inside=inside)]
    outline = _gathered(lines, rows, is_small)
    # A plain list says nothing that the rows do not say.
    told = () if outline == tuple(range(len(rows))) else outline
    return replace(trace, waterfall=replace(trace.waterfall, outline=told))


def _gathered(
    lines: Iterable[int | Heading], rows: Sequence[Row], is_small: Callable[[Sequence[Row]], bool]
) -> tuple[int | Heading, ...]:
    """Put small lines on every level below a heading of their own: none or several, never all."""
    whole = (
        line
        if isinstance(line, int)
        else replace(line, inside=_gathered(line.inside, rows, is_small))
        for line in lines
    )
    own = {line: _below(line, rows) for line in whole}
    small = [each for each in own if getattr(each, "group", None) is None and is_small(own[each])]
    if not 1 < len(small) < len(own):
        return tuple(own)
    self_ns = sum(row.self_ns for line in small for row in own[line])
    return *(line for line in own if line not in small), Heading(self_ns, inside=tuple(small))


def _below(line: int | Heading, rows: Sequence[Row]) -> list[Row]:
    if isinstance(line, int):
        return [rows[line]]
    return [row for inner in line.inside for row in _below(inner, rows)]


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
    met = {key}
    while (parent := known[key].parent) and parent not in met:
        met.add(parent)
        key = parent
    return key


def outline(trace: Trace, most_rows: int) -> tuple[Entry, ...]:
    """Return the lines of a trace, at most ``most_rows`` with those inside of others."""
    given = stored_lines(trace)
    small = [inner for entry in given if entry.kind == "more" for inner in entry.inside]
    entries = [entry for entry in given if entry.kind != "more"]
    entries = _folded(entries, "more", 0, keeps_largest=False)
    least_ns = _SMALL_SHARE * trace.wall_ns
    few = {it.at for it in _walk(entries) if all(part.self_ns < least_ns for part in it.inside)}
    entries = [_closed(entry, "heading", few) for entry in entries]
    entries = _folded(entries, "heading", min(MOST_PARTED, most_rows), keeps_largest=True)
    if any(entry.kind == "group" for entry in entries):
        entries = _folded(entries, "group", most_rows, keeps_largest=True)
    if count_of(entries) + bool(small) > most_rows:
        entries, small = _fitted(entries, most_rows, small)
    return (*entries, *([_together(small)] if small else []))


def entries_of(trace: Trace) -> tuple[Entry, ...]:
    """Return the lines of a trace, all of them, also those that are told together."""
    return _opened(stored_lines(trace))


def _opened(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    whole = [one for each in entries for one in (each.inside if each.kind == "more" else (each,))]
    if len(whole) > len(entries):
        whole.sort(key=lambda entry: entry.at)
    return tuple(replace(entry, inside=_opened(entry.inside)) for entry in whole)


def stored_lines(trace: Trace) -> list[Entry]:
    """Return the lines of a trace as its document has them."""
    if trace.waterfall is None:
        return []
    waterfall, known = trace.waterfall, stages_of(trace)

    def entry(line: int | Heading, above: str = "") -> Entry:
        if isinstance(line, int):
            row = waterfall.rows[line]
            made = _line("part" if above else "stage", known[row.stage], (line,), row.self_ns)
            return replace(made, title=OWN_PART) if row.stage == above else made
        inside = tuple(entry(inner, line.stage or above) for inner in line.inside)
        at = tuple(index for inner in inside for index in inner.at)
        if line.group is None and line.stage:
            return replace(_line("heading", known[line.stage], at, line.self_ns), inside=inside)
        if line.group is None:
            return replace(_together(inside), inside=inside)
        title, key = trace.groups[line.group].title, f"{_KEY}.{line.group}"
        return Entry("group", key, title, "other", False, at, line.self_ns, inside)  # noqa: FBT003

    return [entry(line) for line in waterfall.outline or range(len(waterfall.rows))]


def _line(
    kind: Literal["stage", "heading", "part"], entry: Stage, at: tuple[int, ...], self_ns: int
) -> Entry:
    return Entry(kind, entry.key, entry.title, entry.family, entry.waits, at, self_ns)


def stage_sums(trace: Trace) -> list[tuple[str, int]]:
    """Return (title, ns) of each stage with its parts, over all computations."""
    known, sums = stages_of(trace), Counter[str]()
    for row in trace.waterfall.rows if trace.waterfall else ():
        sums[_root(row.stage, known)] += row.self_ns
    return [(clean(known[key].title), self_ns) for key, self_ns in sums.items()]


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


def _fitted(entries: list[Entry], most: int, small: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Add to what is small; what is still open is closed where it leaves too little room."""
    room, beside = most - _FEWEST_BLOCKS, most - bool(small)
    if _widest(entries) > room or not any(entry.kind == "group" for entry in entries):
        entries = _folded(entries, "heading", beside, keeps_largest=False)
    if _widest(entries) > room:
        entries = _folded(entries, "group", beside, keeps_largest=False)
    room = most - (count_of(entries) - len(entries))
    if len(entries) + bool(small) <= room:
        return entries, small
    by_size = sorted(
        range(len(entries)), key=lambda i: (not entries[i].inside, -entries[i].self_ns)
    )
    kept = set(by_size[: max(1, room - 1)])
    others = [entry for i, entry in enumerate(entries) if i not in kept]
    return [entry for i, entry in enumerate(entries) if i in kept], [*others, *small]


def _widest(entries: Iterable[Entry]) -> int:
    return max(count_of(entry.inside) for entry in entries)


def _together(entries: Sequence[Entry]) -> Entry:
    kinds = {entry.kind for entry in entries}
    what = _NAMED_TOGETHER.get(kinds.pop() if len(kinds) == 1 else "", "more stages")
    title = f"{format_count(len(entries))} {what}"
    at = tuple(index for entry in entries for index in entry.at)
    self_ns = sum(entry.self_ns for entry in entries)
    return Entry("more", _KEY, title, "other", False, at, self_ns)  # noqa: FBT003
