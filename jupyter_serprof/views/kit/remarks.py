"""Findings, remarks and tables of facts: what stands below a picture."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from jupyter_serprof.model import Finding, ProbeReport, Sweep, Table, TableColumn, Trace, units
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.views.kit.lines import clip, code, plain, wrap
from jupyter_serprof.views.kit.lines import width as columns_of
from jupyter_serprof.views.kit.pages import finding_page
from jupyter_serprof.views.kit.table import Column, fitted, table_lines

_FINDINGS_SHOWN = 4
#: A library that was not there took no time, so nothing was missed.
_SILENT_STATES = frozenset({"not installed", "not imported"})
Remark = tuple[str, str]


def headline_of(doc: Trace | Sweep) -> str:
    """Return the sentence above the picture; a document without a summary gives name and wall."""
    if doc.summary is not None:
        return doc.summary.headline
    name = doc.name or "unnamed"
    return f"{name}: {units.format_ns(doc.wall_ns)}" if isinstance(doc, Trace) else name


def outcome_of(doc: Trace | Sweep) -> str | None:
    """Return how a run ended early, or None where it went through or the headline says so."""
    if not isinstance(doc, Trace) or doc.outcome == "ok":
        return None
    word = "interrupted" if doc.outcome == "interrupted" else "raised"
    if re.search(rf"\b(until|{word})\b", headline_of(doc)):
        return None
    return f"{word} after {units.format_ns(doc.wall_ns)}: what was measured until then"


def first_remedy(doc: Trace | Sweep) -> Iterator[Remark]:
    """Yield what stands above the picture: the remedy of the first finding that has one."""
    if (first := _first(doc)) is not None:
        yield from list(finding_remarks(first))[1:]


def _first(doc: Trace | Sweep) -> Finding | None:
    return next((finding for finding in doc.findings if finding.remedy), None)


def findings_of(doc: Trace | Sweep, most: int | None = _FINDINGS_SHOWN) -> Iterator[Remark]:
    """Yield (label, sentence) pairs: ``warn``/``info``, ``try``, and what was measured of it."""
    # What stands above the picture is not said again: the cause, and the first remedy.
    for finding in doc.findings[:most]:
        told, *remedy = finding_remarks(finding, headline_of(doc))
        yield from [told] if told[1] else []
        yield from remedy if finding is not _first(doc) else []
        yield from [("page", page)] if (page := finding_page(finding.rule)) else []
    more = 0 if most is None else len(doc.findings) - most
    if more > 0:
        yield "note", f"{more} more finding{' is' if more == 1 else 's are'} in the document"


def details_of(doc: Trace | Sweep) -> list[str]:
    """Return what stands behind the picture: facts, and how good the numbers are."""
    return [*(doc.summary.details if doc.summary else ()), *note_sentences(doc)]


def finding_remarks(finding: Finding, headline: str = "") -> Iterator[Remark]:
    """Yield what a finding tells, and its remedy, with the gain if it was measured."""
    # It tells cause and evidence; of what the headline says only the evidence.
    cause = "" if finding.title in headline else finding.title
    yield finding.severity, ": ".join(filter(None, (cause, finding.because)))
    if finding.remedy:
        yield "try", finding.remedy
    if finding.gain is not None:
        yield "", _gain_text(finding)


def _gain_text(finding: Finding) -> str:
    measured = finding.measured or {}
    low, high, pairs = (measured.get(key) for key in ("low", "high", "pairs"))
    said = f"measured: {units.format_ratio(finding.gain)} faster"
    if isinstance(low, int | float) and isinstance(high, int | float):
        said += f", 95 % interval {units.format_ratio(low)} to {units.format_ratio(high)}"
    if isinstance(pairs, int) and not isinstance(pairs, bool):
        said += f", {units.counted(pairs, 'pair')}"
    equal = measured.get("equal")
    return said + (f", {'equal' if equal else 'NOT equal'}" if isinstance(equal, bool) else "")


def note_sentences(doc: Trace | Sweep) -> Iterator[str]:
    """Yield what a reader of the numbers should know about them."""
    seen = isinstance(doc, Trace) and (doc.anatomies or (doc.waterfall and doc.waterfall.rows))
    if isinstance(doc, Trace) and doc.is_of_a_run and not seen:
        why = "none had ended" if doc.outcome == "interrupted" else "nothing was serialized"
        yield f"no stage was seen: {why}, or no probe could watch it"
    if doc.quality.spans_dropped:
        dropped = units.format_count(doc.quality.spans_dropped)
        yield f"{dropped} spans were dropped; their time went to what encloses them"
    for probe in doc.quality.probes:
        yield from _probe_sentences(probe)
    yield from doc.quality.notes


def _probe_sentences(probe: ProbeReport) -> Iterator[str]:
    if probe.state in _SILENT_STATES:
        return
    name = f"{probe.name} {probe.version}" if probe.version else probe.name
    level = f" ({probe.level})" if probe.level else ""
    missed = ", ".join(probe.unseen)
    if probe.state != "armed":
        reason = f": {missed}" if missed else ""
        yield f"{name} was not watched, {probe.state}{level}{reason}"
    elif missed:
        yield f"{name}{level} could not see: {missed}"


def remark_blocks(remarks: Iterable[Remark]) -> Iterator[str]:
    """Yield remarks in Markdown: a remedy as code to paste."""
    for label, said in remarks:
        yield (
            code(said)
            if label == "try"
            else f"**{plain(label)}**: {plain(said)}"
            if label
            else plain(said)
        )


MOST_ROWS = 12
#: Dask's names end in a hash, of which the beginning tells them apart.
_HASH = re.compile(
    r"\b([0-9a-f]{6})(?:[0-9a-f]{10,}|[0-9a-f]{2}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)
#: Of tables of one kind, one for each computation, this number is shown.
_ALIKE = 2
#: Rows with a smaller share of the whole are not worth a line beside all others.
_SMALLEST_SHARE, _FEWEST = 0.001, 3
#: A head that is longer than this and than its cells stands on two lines.
_LONG_HEAD = 10
#: How wide texts may be: the first that lets all columns fit.
_WIDTHS = (36, 28, 20, 14)
#: What goes first when the lines get narrow; then what stands on the right.
_SPARE = ("key", "compute_p25", "compute_p75", "compute_min", "disk_total")
#: By what the largest rows are chosen where not all are shown; other tables show the first ones.
_RANKS = {
    "dask.tasks": "compute_total",
    "dask.computations": "duration",
    "dask.graph": "bytes",
    "ray.tasks": "execute_total",
}
_FORMATS: Mapping[str, Callable[[int | float], str]] = {
    "ns": units.format_ns,
    "bytes": units.format_bytes,
    "ratio": units.format_share,
    "count": lambda value: units.format_count(round(value)),
}


def table_blocks(trace: Trace, columns: int) -> Iterator[list[str]]:
    """Yield the lines of each table, of at most ``columns`` characters, under its title."""
    for alike in _alike(trace.tables):
        for table in _heaviest(alike, _ALIKE):
            yield _block(table, columns)
        more = len(alike) - _ALIKE
        if more > 0:
            tables = f"more table{'' if more == 1 else 's'} like this"
            yield [clip(f"{units.format_count(more)} {tables} in the document", columns)]


def table_sentence(trace: Trace) -> str:
    """Say which tables there are, for a picture that has no room for them."""
    named = [_named(alike) for alike in _alike(trace.tables)]
    return f"in the text and the document: {', '.join(named)}" if named else ""


def _alike(tables: Iterable[Table]) -> list[list[Table]]:
    """Return the tables by their keys; those that say nothing are left out."""
    found: dict[str, list[Table]] = {}
    for table in tables:
        if table.rows and table.columns:
            found.setdefault(table.key, []).append(table)
    return list(found.values())


def fewer_tables(tables: Iterable[Table], most: int) -> list[Table]:
    """Return at most ``most`` tables of each kind, those that say most, in their order."""
    return [table for alike in _alike(tables) for table in _heaviest(alike, most)]


def _heaviest(alike: list[Table], most: int) -> list[Table]:
    weights = [sum(_number(row[at]) for row in table.rows) for table in alike for at in _at(table)]
    if len(weights) != len(alike):
        return alike[:most]
    return [alike[i] for i in largest(weights, most)]


def largest(weights: Sequence[float], most: int) -> list[int]:
    """Return where the largest numbers are, at most ``most``, in their order."""
    return sorted(sorted(range(len(weights)), key=lambda i: -weights[i])[:most])


def _at(table: Table) -> list[int]:
    """Return where the column is by which rows are chosen; nowhere if there is none."""
    rank = _RANKS.get(table.key)
    return [at for at, column in enumerate(table.columns) if column.key == rank][:1]


def _named(alike: list[Table]) -> str:
    more = f" and {units.format_count(len(alike) - 1)} more like it" if alike[1:] else ""
    return f"{units.clean(alike[0].title)} ({units.counted(len(alike[0].rows), 'row')}){more}"


def _block(table: Table, columns: int) -> list[str]:
    shown = _shown(table)
    chosen = _fitting(table, [table.rows[at] for at in shown], columns)
    hidden = len(table.rows) - len(shown)
    more = [f"{units.counted(hidden, 'more row')} in the document"] if hidden else []
    note = [table.note] if table.note else []
    said = [line for text in (*more, *note) for line in wrap(units.clean(text), columns)]
    return [clip(units.clean(table.title), columns), *table_lines(chosen, columns), *said]


def largest_rows(table: Table, most: int) -> list[int]:
    """Return where the rows are that say most, at most ``most``, in the order of the table."""
    for at in _at(table):
        return largest([_number(row[at]) for row in table.rows], most)
    return list(range(len(table.rows)))[:most]


def _shown(table: Table) -> list[int]:
    rows = largest_rows(table, MOST_ROWS)
    for at, column in enumerate(table.columns):
        if column.key == "share":
            worth = [i for i in rows if _number(table.rows[i][at]) >= _SMALLEST_SHARE]
            return worth if len(worth) >= _FEWEST else rows[:_FEWEST]
    return rows


def _number(value: Scalar) -> float:
    return value if isinstance(value, int | float) else 0


def _fitting(table: Table, rows: list[tuple[Scalar, ...]], columns: int) -> list[Column]:
    """Return as many columns as fit: the spare ones go, then texts are cut, then more columns."""
    kept = [at for at in range(len(table.columns)) if _says_something(table, rows, at)]
    spare = [at for key in _SPARE for at in kept[1:] if table.columns[at].key == key]
    fewer = [[at for at in kept if at not in spare[:count]] for count in range(len(spare) + 1)]
    cut = [fewer[-1][:count] for count in range(len(fewer[-1]), 0, -1)]
    attempts = [
        *((width, some) for some in fewer for width in _WIDTHS[:2]),
        *((width, cut[0]) for width in _WIDTHS[2:]),
        *((_WIDTHS[-1], some) for some in cut),
    ]
    return fitted(
        (
            [_column(table.columns[at], [row[at] for row in rows], width) for at in some]
            for width, some in attempts
        ),
        columns,
    )


def _says_something(table: Table, rows: list[tuple[Scalar, ...]], at: int) -> bool:
    """Leave out what is nothing in every row; the first column names the rows."""
    cells = [row[at] for row in rows]
    unit = table.columns[at].unit
    return at == 0 or any(cell is not None and (cell or unit == "ratio") for cell in cells)


def _column(entry: TableColumn, cells: list[Scalar], width: int) -> Column:
    is_text = entry.unit not in _FORMATS
    texts = tuple(clip(_cell(cell, entry.unit), width) for cell in cells)
    return Column(_head(entry, texts, width), texts, leans_right=not is_text)


def _head(entry: TableColumn, texts: tuple[str, ...], width: int) -> str:
    title = units.clean(entry.title).strip()
    widest = max(_LONG_HEAD, *(columns_of(text) for text in texts))
    if columns_of(title) <= widest or " " not in title:
        return clip(title, width)
    breaks = [at for at, letter in enumerate(title) if letter == " "]
    at = min(breaks, key=lambda at: max(at, len(title) - at - 1))
    return f"{clip(title[:at], width)}\n{clip(title[at + 1 :], width)}"


def _cell(value: Scalar, unit: str) -> str:
    """Return a value as people read it; a text that is empty does not apply."""
    if value is None:
        return units.NOT_SEEN
    if isinstance(value, int | float) and not isinstance(value, bool) and unit in _FORMATS:
        return _FORMATS[unit](value)
    return _HASH.sub(r"\1…", units.clean(str(value)))
