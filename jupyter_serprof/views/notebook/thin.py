"""A document cut to what a notebook should carry; every total stays exact.

Waterfall rows, findings and summary are stored results, so spans can go without changing a number.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from jupyter_serprof.analysis.outline import outlined
from jupyter_serprof.analysis.spans import fewer_pieces, joined, longest
from jupyter_serprof.model import Group, Row, Sweep, SweepTrace, Table, Trace, to_document
from jupyter_serprof.model.units import format_count
from jupyter_serprof.views.kit.remarks import fewer_tables, largest_rows

Made = TypeVar("Made", Trace, "Trace | Sweep")


def with_fewer_groups(trace: Trace, most_rows: int) -> Trace:
    """Return the trace with fewer computations, so that it has about ``most_rows`` rows."""
    rows = trace.waterfall.rows if trace.waterfall else ()
    if trace.waterfall is None or len(rows) <= most_rows or len(trace.groups) <= 1:
        return trace
    kept = _kept(rows, most_rows)
    places = {old: new for new, old in enumerate(sorted(kept))}
    others = [group for at, group in enumerate(trace.groups) if at not in kept]
    if not others:
        return trace
    title = f"{format_count(len(others))} smaller computations"
    ends = max(group.end_ns for group in others)
    rest = Group(title, min(group.start_ns for group in others), ends)
    stay = [
        row if row.group is None else replace(row, group=places[row.group])
        for row in rows
        if row.group is None or row.group in kept
    ]
    gone = [row for row in rows if row.group is not None and row.group not in kept]
    note = f"{title} are one in this output, all totals are exact. Save the whole with --save FILE"
    alike = (
        [row for row in gone if row.stage == key]
        for key in dict.fromkeys(row.stage for row in gone)
    )
    fewer = (*stay, *(replace(joined(rows), group=len(kept)) for rows in alike))
    told = replace(noted(trace, note), groups=(*(trace.groups[at] for at in sorted(kept)), rest))
    return outlined(replace(told, waterfall=replace(trace.waterfall, rows=fewer)))


def noted(doc: Made, note: str) -> Made:
    """Return a document with one more note."""
    return replace(doc, quality=replace(doc.quality, notes=(*doc.quality.notes, note)))


def _kept(rows: Sequence[Row], most_rows: int) -> set[int]:
    """Return the largest computations, while there is room for their rows and those of one more."""
    owned: Counter[int] = Counter()
    counts: Counter[int] = Counter()
    for row in rows:
        if row.group is not None:
            owned[row.group] += row.self_ns
            counts[row.group] += 1
    room = most_rows - len({row.stage for row in rows})
    ranked = [group for group, _ in owned.most_common()]
    filled = accumulate(counts[group] for group in ranked)
    return {group for group, count in zip(ranked, filled, strict=True) if count <= room}


#: This number of spans is 140-270 kB in a notebook.
MOST_SPANS = 20_000
#: What a document may take as JSON; with text and picture an output stays below 250 kB.
MOST_DOCUMENT_BYTES = 210_000
#: A document of fewer spans is not measured.
_FEW_SPANS = 4_000
#: A cut does not shrink everything: it is made a little deeper than the ratio of the bytes.
_DEEPER = 0.95
_FEWEST_SPANS = 1_000
#: Of a waterfall; a row takes some 160 bytes. Computations beyond it are put together.
MOST_ROWS = 300
#: Of a table; more rows are more than anybody reads in a notebook.
MOST_TABLE_ROWS = 100
#: Of one kind: a loop that computes a hundred times has as many graphs.
MOST_TABLES = 6
#: Over all rows of a waterfall; a piece takes some 20 bytes.
MOST_PIECES = 300
#: Bytes in-band and out-of-band, faults, types: what a click on a span shows.
MOST_DETAILS = 60
_FEWEST_PIECES = 4
_NOTABLY_LONGER = 1.5


def embedded(doc: Trace | Sweep) -> Trace | Sweep:
    """Return the document as it goes into a notebook.

    Of more than 20,000 spans, or 210 kB, the longest spans stay (and those that findings point
    at), and ``quality.notes`` says so. Pieces of rows that lie close together are merged. Of a
    table the 100 largest rows stay, of very many computations the largest. Of a round trip the
    waterfall of a first run stays where it differs from the later ones; all points stay.
    """
    if isinstance(doc, Trace):
        return _smaller(doc, MOST_SPANS, MOST_DOCUMENT_BYTES)
    telling = [entry for entry in doc.traces if not _is_like_a_later_one(entry, doc)]
    count = max(1, len(telling))
    spans, size = MOST_SPANS // count, MOST_DOCUMENT_BYTES // count
    traces = tuple(replace(entry, trace=_smaller(entry.trace, spans, size)) for entry in telling)
    return replace(doc, traces=traces)


def _is_like_a_later_one(first: SweepTrace, doc: Sweep) -> bool:
    """Tell whether a cold trace adds nothing to the warm one: same stages, no longer by half."""
    later = (entry for entry in doc.traces if not entry.cold)
    same = (e for e in later if (e.variant, e.size_bytes) == (first.variant, first.size_bytes))
    warm = next(same, None)
    if not first.cold or warm is None:
        return False
    is_as_fast = first.trace.wall_ns < _NOTABLY_LONGER * warm.trace.wall_ns
    return is_as_fast and _stages(first.trace) <= _stages(warm.trace)


def _stages(trace: Trace) -> set[str]:
    return {span.stage for span in trace.spans} - {"gc"}


def _smaller(trace: Trace, most_spans: int, most_bytes: int) -> Trace:
    trace = with_fewer_groups(trace, MOST_ROWS)
    waterfall = trace.waterfall
    if waterfall and sum(len(row.pieces) for row in waterfall.rows) > MOST_PIECES:
        most = max(_FEWEST_PIECES, MOST_PIECES // len(waterfall.rows))
        rows = tuple(
            replace(row, pieces=fewer_pieces(row.pieces, most)) if len(row.pieces) > most else row
            for row in waterfall.rows
        )
        trace = replace(trace, waterfall=replace(waterfall, rows=rows))
    trace = replace(trace, tables=tuple(map(_shorter, fewer_tables(trace.tables, MOST_TABLES))))
    smaller = _with_fewer_details(_cut(trace, most_spans))
    if len(smaller.spans) > _FEW_SPANS:
        fitting = _fitting_spans(smaller, most_bytes)
        smaller = _with_fewer_details(_cut(trace, fitting)) if fitting else smaller
    return smaller


def _fitting_spans(trace: Trace, most_bytes: int) -> int | None:
    """Return how many spans let the document fit; None if it does as it is."""
    document = to_document(trace)
    size, of_spans = _written_bytes(document), _written_bytes(document["spans"])
    if size <= most_bytes:
        return None
    share = (of_spans - (size - most_bytes)) / of_spans
    return max(_FEWEST_SPANS, int(len(trace.spans) * share * _DEEPER))


def _written_bytes(data: object) -> int:
    return len(json.dumps(data, separators=(",", ":")))


def _shorter(table: Table) -> Table:
    if len(table.rows) <= MOST_TABLE_ROWS:
        return table
    rows = tuple(table.rows[at] for at in largest_rows(table, MOST_TABLE_ROWS))
    cut = f"{format_count(len(rows))} of {format_count(len(table.rows))} rows are in this output"
    return replace(table, rows=rows, note=f"{table.note}; {cut}" if table.note else cut)


def _with_fewer_details(trace: Trace) -> Trace:
    """Keep the details of the longest spans and of those that findings point at: 120 B each."""
    told = [i for i, span in enumerate(trace.spans) if span.details]
    if len(told) <= MOST_DETAILS:
        return trace
    pointed = [i for finding in trace.findings for i in finding.spans]
    by_length = sorted(told, key=lambda i: -trace.spans[i].duration_ns)
    kept = set(list(dict.fromkeys([*pointed, *by_length]))[:MOST_DETAILS])
    spans = tuple(
        span if i in kept or not span.details else span._replace(details=None)
        for i, span in enumerate(trace.spans)
    )
    whole = "" if "--save" in str(trace.quality.notes) else ". Save the whole with --save FILE"
    note = f"bytes and page faults of a span are told of the {len(kept)} longest{whole}"
    return replace(noted(trace, note), spans=spans)


def _cut(trace: Trace, most: int) -> Trace:
    spans = trace.spans
    if len(spans) <= most:
        return trace
    pointed = [i for finding in trace.findings for i in finding.spans if i < len(spans)]
    kept, places = longest(spans, most, pointed)
    note = (
        f"{format_count(len(kept))} of {format_count(len(spans))} spans are in this output, the "
        "longest; all totals are exact. Save the whole with --save FILE"
    )
    findings = tuple(
        replace(finding, spans=tuple(places[span] for span in finding.spans if span in places))
        for finding in trace.findings
    )
    return replace(noted(trace, note), spans=kept, findings=findings)
