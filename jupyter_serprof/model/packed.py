"""The points and traces of a large sweep as tables: a key is written once, a column is one text.

A cell is compact JSON; ``#n`` is the n-th of ``values``, where everything stands that holds text,
because it repeats; a record without the key has an empty cell. Cells are parted by spaces, so a
column is one line of a notebook file, which gives each number of a list a line of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from jupyter_serprof.model.errors import damaged, shown

Record = Mapping[str, Any]
#: Up to so many points a sweep stays in lists, which people and diffs can read.
MOST_LISTED = 20
#: Objects whose keys are columns of their own, ``trace/wall_ns``; other objects are values.
_OPENED = {
    *("stages", "trace", "trace/spans", "trace/summary", "trace/waterfall"),
    "facts",
}
_KEYS = ("points", "traces")
_TABLES = (*_KEYS, "rows", "details")
_COMPACT = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
#: What no iterator counts further than.
_MOST = 2**31


def packed(document: Record) -> dict[str, object]:
    """Return the data of a sweep, its points and traces as tables where there are many points."""
    if len(document["points"]) <= MOST_LISTED:
        return dict(document)
    values = _Values()
    rows: list[Record] = []
    details: list[Record] = []
    traces = [_outlined(entry, rows, details) for entry in document["traces"]]
    records = {"points": document["points"], "traces": traces, "rows": rows, "details": details}
    tables = {name: _table(entries, values) for name, entries in records.items() if entries}
    plain = {key: value for key, value in document.items() if key not in _KEYS}
    return {**plain, "packed": {"values": values.known, **tables}}


def unpacked(document: Record) -> dict[str, object]:
    """Return the valid data of a sweep with its points and traces as lists.

    Those that stand in the document as lists, beside the tables, come after the packed ones.

    Raises
    ------
    DocumentError
        If a table is damaged.
    """
    plain = {key: value for key, value in document.items() if key != "packed"}
    if "packed" not in document:
        return plain
    tables = document["packed"]
    known: dict[str, Sequence[Record]] = {name: _records(name, tables) for name in _TABLES}
    rows, details = iter(known["rows"]), iter(known["details"])
    known["traces"] = [_filled(entry, rows, details) for entry in known["traces"]]
    if next(rows, None) or next(details, None):
        problem = "it has rows or details of no trace"
        raise damaged(problem)
    return {**plain, **{key: [*known[key], *document.get(key, ())] for key in _KEYS}}


class _Values:
    """Things that hold text, each once."""

    def __init__(self) -> None:
        self.known: list[object] = []
        self._places: dict[str, int] = {}

    def cell(self, value: object) -> str:
        """Return a value as JSON, or where it stands."""
        if type(value) is int:  # most are, and this is faster
            return str(value)
        text = _COMPACT.encode(value)
        if '"' not in text:
            return text
        if text not in self._places:
            self._places[text] = len(self.known)
            self.known.append(value)
        return f"#{self._places[text]}"


def _outlined(entry: Record, rows: list[Record], details: list[Record]) -> Record:
    """Return a trace that says how many rows and details it has; these follow in their tables."""
    trace = dict(entry["trace"])
    if trace["waterfall"] is not None:
        own = trace["waterfall"]["rows"]
        rows += own
        trace["waterfall"] = {**trace["waterfall"], "rows": len(own)}
    told = trace["details"]
    details += ({"span": int(span), "facts": facts} for span, facts in told.items())
    return {**entry, "trace": {**trace, "details": len(told)}}


def _table(records: Sequence[Record], values: _Values) -> dict[str, str]:
    columns: dict[str, list[str]] = {}
    for at, record in enumerate(records):
        for path, value in _opened(record):
            column = columns.setdefault(path, [""] * len(records))
            column[at] = values.cell(value)
    return {path: " ".join(column) for path, column in columns.items()}


def _opened(record: Record, outer: str = "") -> Iterator[tuple[str, object]]:
    for key, value in record.items():
        path = outer + key
        is_plain = isinstance(value, Mapping) and not any("/" in inner for inner in value)
        if value and is_plain and path in _OPENED:
            yield from _opened(value, f"{path}/")
        else:
            yield path, value


def _records(name: str, tables: Record) -> list[dict[str, Any]]:
    table = {path: text.split(" ") for path, text in tables.get(name, {}).items()}
    lengths = {len(cells) for cells in table.values()}
    if len(lengths) > 1:
        problem = f"the packed columns of its {name} have lengths {sorted(lengths)}"
        raise damaged(problem)
    records: list[dict[str, Any]] = [{} for _ in range(lengths.pop() if lengths else 0)]
    for path, cells in table.items():
        for record, cell in zip(records, cells, strict=True):
            if cell:
                _put(record, path.split("/"), _value(cell, tables["values"]))
    return records


def _put(record: dict[str, Any], path: Sequence[str], value: object) -> None:
    inner: Any = record
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            problem = f"the packed column {shown('/'.join(path))} is inside a value"
            raise damaged(problem)
    inner[path[-1]] = value


def _value(cell: str, values: Sequence[object]) -> object:
    try:
        if cell[0] == "#":
            return values[_place(cell[1:])]
        return json.loads(cell)
    except (ValueError, IndexError, RecursionError) as error:
        problem = f"a packed column holds {shown(cell)}"
        raise damaged(problem) from error


def _place(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _filled(entry: Record, rows: Iterator[Record], details: Iterator[Record]) -> Record:
    """Return a trace with the rows and details that it counts."""
    trace = entry.get("trace")
    if not isinstance(trace, dict):
        return entry  # the schema says what is wrong
    told = _taken(details, trace.get("details"))
    own = {str(each.get("span")): each.get("facts") for each in told}
    waterfall = trace.get("waterfall")
    if isinstance(waterfall, dict):
        waterfall = {**waterfall, "rows": _taken(rows, waterfall.get("rows"))}
    return {**entry, "trace": {**trace, "details": own, "waterfall": waterfall}}


def _taken(records: Iterator[Record], count: object) -> list[Record]:
    is_count = isinstance(count, int) and 0 <= count <= _MOST
    found = list(islice(records, cast("int", count))) if is_count else []
    if len(found) != count:
        problem = f"a packed trace counts {shown(count)} rows or details, there are {len(found)}"
        raise damaged(problem)
    return found
