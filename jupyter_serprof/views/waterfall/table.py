"""The table of a waterfall: its lines and columns, in characters and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from jupyter_serprof.analysis.outline import Entry, entries_of, outline, stored_lines
from jupyter_serprof.analysis.spans import joined
from jupyter_serprof.model import Row, Stage, Trace, Waterfall, stages_of, units
from jupyter_serprof.views.kit import bars
from jupyter_serprof.views.kit import table as tables
from jupyter_serprof.views.kit.lines import clip, plain, wrap

#: A waterfall with more lines than this shows the smallest ones as one.
MOST_ROWS = 60

#: Their stages carry bytes: an unknown size was not seen there, elsewhere it does not apply.
_CARRIES_BYTES = frozenset({"pickle", "move", "store"})
ZERO_COPY = "zero-copy"
#: One thread measured the memcpy of this machine.
SEVERAL_THREADS = "> 100 %"
#: Begins the lanes of the threads of Dask's workers, which are numbered.
_THREADS = "worker "


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: rows of the waterfall, or the unaccounted time (``row`` is None).

    ``row``: The row of the line, or the sum of its rows.
    ``depth``: How far it is indented: a part below its stage, a stage below its computation.
    ``kind``: As of an `outline.Entry`: ``stage``, ``heading``, ``part``, ``group``, ``more``;
        ``rest``.
    ``members``: The rows that the line is the sum of, each with its stage.
    """

    title: str
    row: Row | None
    family: str
    waits: bool
    count: str
    lane: str
    self_text: str
    share_text: str
    size_text: str = units.NOT_APPLICABLE
    rate_text: str = units.NOT_APPLICABLE
    memcpy_text: str = units.NOT_APPLICABLE
    faults_text: str = units.NOT_APPLICABLE
    depth: int = 0
    kind: str = "stage"
    members: tuple[tuple[Row, Stage], ...] = ()


@dataclass(frozen=True, slots=True)
class StageTable:
    """The lines of a waterfall; ``self_text`` adds up to the total, each share is rounded alone."""

    unit: str
    lines: tuple[Line, ...]
    wall_text: str
    wall_share_text: str


def quantities(table: StageTable) -> list[tables.Quantity[Line]]:
    """Return the columns of numbers that say something, for characters, Markdown and pixels."""
    unit, wall, share = table.unit, table.wall_text, table.wall_share_text
    every: Sequence[tables.Quantity[Line]] = (
        tables.Quantity(("self", unit), lambda line: line.self_text, wall, is_bold=True),
        tables.Quantity(("share", "%"), lambda line: line.share_text, share, is_bold=True),
        tables.Quantity(("bytes", ""), lambda line: line.size_text),
        tables.Quantity(("rate", ""), lambda line: line.rate_text),
        tables.Quantity(("of", "memcpy"), lambda line: line.memcpy_text),
        # New pages: times 4 kB, what was copied into memory that was not used before.
        tables.Quantity(("page", "faults"), lambda line: line.faults_text),
    )
    return [one for one in every if one.speaks(table.lines)]


def waterfall_of(trace: Trace) -> Waterfall:
    """Return the stored waterfall; a trace without one is unaccounted as a whole."""
    return trace.waterfall or Waterfall((), trace.wall_ns)


def table_of(trace: Trace, most_rows: int | None = MOST_ROWS) -> StageTable:
    """Return the table of a trace: its rows in the order of the road, then what is unaccounted."""
    # Beyond ``most_rows`` lines the smallest are put together; the times add up nevertheless. None
    # gives all of them.
    waterfall = waterfall_of(trace)
    entries = entries_of(trace) if most_rows is None else outline(trace, most_rows)
    unit = units.column_unit(trace.wall_ns)
    digits, last = _digits(trace)
    lines = _lines(trace, entries, digits, _lane_names(trace, waterfall))
    numbers = _numbers(trace, waterfall.unaccounted_ns, last)
    rest = Line("Unaccounted", None, "other", False, "", "", *numbers, kind="rest")  # noqa: FBT003
    total = "100.0" if trace.wall_ns else units.NOT_APPLICABLE
    return StageTable(unit.name, (*lines, rest), unit.text(trace.wall_ns), total)


def _digits(trace: Trace) -> tuple[dict[int, int], int]:
    """Return how many of the last digit each row has, by its place, and the unaccounted time."""
    # They are handed down the stored outline, so that folding and opening changes no number; the
    # front end does the same (``labextension/src/waterfall/columns.ts``).
    waterfall, unit = waterfall_of(trace), units.column_unit(trace.wall_ns)
    digits: dict[int, int] = {}

    def hand_down(whole: int, entries: Sequence[Entry], *others: int) -> int:
        owned = [*(entry.self_ns for entry in entries), *others]
        given = units.column_digits(owned, whole, unit.decimals, unit.unit_ns)
        for entry, own in zip(entries, given, strict=False):
            if entry.inside:
                hand_down(own, entry.inside)
            else:
                digits.update(dict.fromkeys(entry.at, own))
        return given[-1]

    whole = units.last_digits(trace.wall_ns, unit.decimals, unit.unit_ns)
    return digits, hand_down(whole, stored_lines(trace), waterfall.unaccounted_ns)


def _numbers(trace: Trace, ns: int, digits: int) -> tuple[str, str]:
    """Return time and share of a line: the times add up to the printed one, the shares need not."""
    # A share is told in headline, facts and findings, too, and is the same in all of them.
    decimals = units.column_unit(trace.wall_ns).decimals
    share = units.format_share(ns / trace.wall_ns).removesuffix(" %") if ns else "0"
    return units.format_fixed(digits / 10**decimals, decimals) if ns else "0", share


def _lane_names(trace: Trace, waterfall: Waterfall) -> dict[str, str]:
    """Name lanes by their kind, by their key where two of one kind are drawn that differ."""
    keys = dict.fromkeys(row.lane for row in waterfall.rows)
    kinds = {lane.key: lane.kind for lane in trace.lanes}
    counts = Counter(kinds.get(key, key) for key in keys)
    names = {key: kinds.get(key, key) for key in keys}
    return {
        key: units.clean(name if key.startswith(_THREADS) or counts[name] == 1 else key)
        for key, name in names.items()
    }


def _lines(
    trace: Trace,
    entries: Sequence[Entry],
    digits: dict[int, int],
    lanes: dict[str, str],
    depth: int = 0,
) -> Iterator[Line]:
    for entry in entries:
        printed = _numbers(trace, entry.self_ns, sum(digits[at] for at in entry.at))
        yield replace(_line(trace, entry, printed, lanes), depth=depth)
        yield from _lines(trace, entry.inside, digits, lanes, depth + 1)


def _line(trace: Trace, entry: Entry, printed: tuple[str, str], lanes: dict[str, str]) -> Line:
    known, rows = stages_of(trace), [waterfall_of(trace).rows[at] for at in entry.at]
    row = rows[0] if len(rows) == 1 else sum_of(rows, entry.key)
    is_sum = entry.kind in {"group", "more"}  # of lines below it, and no stage by itself
    line = Line(
        title=units.clean(entry.title),
        row=row,
        family=entry.family,
        waits=entry.waits,
        count=f"×{units.format_count(row.count)}" if row.count > 1 else "",  # noqa: RUF001
        lane="" if is_sum else lanes[row.lane],
        self_text=printed[0],
        share_text=printed[1],
        kind=entry.kind,
        members=tuple((one, known[one.stage]) for one in rows),
    )
    return line if is_sum else _with_bytes(trace, line, row)


def sum_of(rows: Sequence[Row], key: str) -> Row:
    """Return rows as one; bytes that pass through its parts one after the other count once."""
    own = [row.size_bytes for row in rows if row.stage == key and row.size_bytes is not None]
    sizes = own or [row.size_bytes for row in rows if row.size_bytes is not None]
    whole = [replace(row, pieces=row.pieces or ((row.start_ns, row.self_ns),)) for row in rows]
    most = max(sizes, default=None)
    return replace(joined(whole), stage=key, size_bytes=most, count=1, copied_bytes=None)


def work_and_wait(line: Line) -> tuple[Row | None, Row | None]:
    """Return what works in a line and what waits, each as one row; None where there is none."""
    works = [row for row, stage in line.members if not stage.waits]
    waits = [row for row, stage in line.members if stage.waits]
    return sum_of(works, "") if works else None, sum_of(waits, "") if waits else None


def _with_bytes(trace: Trace, line: Line, row: Row) -> Line:
    unknown = units.NOT_SEEN if line.family in _CARRIES_BYTES else units.NOT_APPLICABLE
    is_most = 2 * (row.copied_bytes or 0) >= (row.size_bytes or 0)  # that the bytes beside it are
    rate = units.bytes_per_s(row.copied_bytes if is_most else None, row.busy_ns)
    is_heading, faults = line.kind == "heading", row.minor_faults
    return replace(
        line,
        size_text=unknown if row.size_bytes is None else units.format_bytes(row.size_bytes),
        rate_text=units.NOT_APPLICABLE if is_heading else _rate_text(row, rate, unknown),
        memcpy_text=_memcpy_text(rate, trace.limits.memcpy_bytes_per_s),
        faults_text=units.NOT_APPLICABLE if faults is None else units.format_count(faults),
    )


def _rate_text(row: Row, rate: float | None, unknown: str) -> str:
    if rate is not None:
        return units.format_rate(rate)
    if row.size_bytes is None or row.size_bytes < units.RATE_FLOOR_BYTES:
        return units.NOT_APPLICABLE
    if row.copied_bytes is None:
        return unknown
    return ZERO_COPY if row.copied_bytes == 0 else units.NOT_APPLICABLE


def _memcpy_text(rate: float | None, memcpy_bytes_per_s: float | None) -> str:
    if rate is None:
        return units.NOT_APPLICABLE
    if not memcpy_bytes_per_s or memcpy_bytes_per_s < 0:
        return units.NOT_SEEN
    share = rate / memcpy_bytes_per_s
    if share >= 1.0005:  # noqa: PLR2004  (above 100.0 %)
        return SEVERAL_THREADS
    return "< 1 %" if share < 0.005 else units.format_share(share, decimals=0)  # noqa: PLR2004


def words_of(cells: Iterable[str]) -> list[str]:
    """Return what has to be known to read these cells."""
    return (
        [f"{SEVERAL_THREADS} of memcpy: several threads copy"] if SEVERAL_THREADS in cells else []
    )


_NARROWEST_BAR = 10
_NAMES = (32, 28, 24)
_SHORT_NAMES = (24, 20)
_SHORTEST_NAME = 12
_EDGES = 4
#: What goes first when the lines get narrow, by its head.
SPARE = ("page faults", "of memcpy", "rate", "bytes", "lane")


def trace_lines(trace: Trace, columns: int, *, has_bars: bool) -> list[str]:
    """Return the table of a trace, in lines of at most ``columns`` characters."""
    table = table_of(trace)
    chosen = _fitting(table, columns, has_bars=has_bars)
    room = columns - tables.table_width(chosen) - _EDGES
    if has_bars and room >= _NARROWEST_BAR:
        at = 2 if chosen[1].head == "lane" else 1
        chosen.insert(at, _bars(trace, table, room))
    words = words_of(cell for column in chosen for cell in column.cells)
    said = (line for word in words for line in wrap(word, columns))
    return [*tables.table_lines(chosen, columns), *said]


def _fitting(table: StageTable, columns: int, *, has_bars: bool) -> list[tables.Column]:
    """Return as many columns as leave two fifths for the time, a quarter where that is too much."""
    # The spare ones go before names are cut to a few letters.
    for wide, names, last in (
        (2 * columns // 5, _NAMES, []),
        (columns // 3, _NAMES, []),
        (columns // 4, _SHORT_NAMES, []),
        (0, _SHORT_NAMES, [tables.fewer(_columns(table, _SHORTEST_NAME), SPARE)]),
    ):
        least = max(_NARROWEST_BAR, wide) + _EDGES if has_bars else 0
        attempts = tables.narrower(partial(_columns, table), names, SPARE)
        chosen = tables.fitted(chain(attempts, last), columns - least)
        if tables.table_width(chosen) + least <= columns:
            break
    return chosen


def _columns(table: StageTable, names: int) -> list[tables.Column]:
    lines = table.lines
    titles = [_title(line, names) for line in lines]
    lanes = tables.Column("lane", (*(line.lane for line in lines), ""), leans_right=False)
    return [
        tables.Column("stage", (*titles, "Wall time"), leans_right=False),
        *([lanes] if any(lanes.cells) else []),
        *(tables.Column(q.head, (*map(q.cell, lines), q.total)) for q in quantities(table)),
    ]


def _title(line: Line, columns: int) -> str:
    count = f" {line.count}" if line.count else ""
    return clip("  " * line.depth + line.title, max(columns - len(count), columns // 2)) + count


def _bars(trace: Trace, table: StageTable, room: int) -> tables.Column:
    wall_text = f"{table.wall_text} {table.unit}"
    head = f"0{wall_text:>{room - 1}}" if len(wall_text) < room else wall_text[:room]
    drawn = [_bar(trace, line, room) for line in table.lines]
    return tables.Column(f" {head} ", (*(f"│{bar}│" for bar in drawn), ""), leans_right=False)


def _bar(trace: Trace, line: Line, room: int) -> str:
    if line.row is None:
        return bars.rest_bar(bars.unaccounted_shares(waterfall_of(trace), trace.wall_ns, room))
    work, wait = work_and_wait(line)
    worked = bars.work_bar(bars.row_shares(work, trace.wall_ns, room)) if work else " " * room
    waited = bars.wait_bar(bars.row_shares(wait, trace.wall_ns, room)) if wait else " " * room
    return "".join(a if a != " " else b for a, b in zip(worked, waited, strict=True))


def stages_table(trace: Trace) -> str:
    """Return all lines of a trace in Markdown, with the same columns; none is folded away."""
    # A part stands with a dash below its stage, whose time holds it; a computation is in bold.
    table = table_of(trace, None)
    columns = quantities(table)
    cells = {one.cell(line) for one in columns for line in table.lines}
    lines = (
        (_marked(line), plain(line.lane), *(plain(one.cell(line)) for one in columns))
        for line in table.lines
    )
    total = ("Wall time", "", *(one.total for one in columns))
    heads = ("stage", "lane", *(one.head for one in columns))
    return "\n\n".join(
        [tables.markdown_table(heads, (*lines, total), 2), *map(plain, words_of(cells))]
    )


def _marked(line: Line) -> str:
    title = plain(f"{line.title} {line.count}".rstrip())
    return {"group": f"**{title}**", "part": f"- {title}"}.get(line.kind, title)
