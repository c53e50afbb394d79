"""Documents: a Trace or a Sweep as plain JSON data, and back.

Spans travel as columns with a string table (23 bytes a span instead of 133); stages and lanes are
named once and pointed at by index. The shape is fixed by ``trace.v1.json`` and ``sweep.v1.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from jupyter_serprof.model.anatomy import PART_COLUMNS, anatomy_document, anatomy_of
from jupyter_serprof.model.codec import at, decode, encode, field_names, pack, unfit, unpack_columns
from jupyter_serprof.model.errors import DocumentError, refuse, shown
from jupyter_serprof.model.schema import check_details, check_sweep, check_trace, validate
from jupyter_serprof.model.stages import meet, stage
from jupyter_serprof.model.sweep import Sweep, SweepTrace, runs_of
from jupyter_serprof.model.trace import Heading, Lane, Row, Span, Stage, Trace, Waterfall

MIME_TYPE = "application/vnd.jupyter-serprof.v1+json"
VERSION = 1
_NO_DEFAULT = object()
#: What a reader assumes where a document says nothing; the traces inside a sweep say little.
_ABSENT = {
    name: getattr(Trace(name="", started="", wall_ns=0), name)
    for name in (
        *("findings", "groups", "tables", "comparison"),
        *("limits", "quality", "environment", "summary"),
    )
}
#: Keys of a sweep that came later; those that wrote without them are read and written unchanged.
_LATER = ("parameter", "comparison", "control", "best")
#: Of memory, for each; what takes that much at most is read, more of it only with its size.
_SPAN_BYTES, _PART_BYTES, _FREE_BYTES, _MOST_TIMES = 190, 1_000, 8_000_000, 50
#: Each is an object in memory. Dask's computations are told as 12 at most, asyncio's tasks have
#: lanes, and each mark of the user is a stage.
_MOST = dict.fromkeys(("stages", "lanes", "rows", "outline", "traces"), 20_000)
_COLUMNS = ("parent", "stage", "lane", "name", "start_ns", "duration_ns", "size_bytes")
_CALLS, _MOST_CALLS = "calls", 2**53


def to_document(doc: Trace | Sweep) -> dict[str, object]:
    """Return the JSON data of a trace or sweep."""
    if isinstance(doc, Sweep):
        return _sweep_document(doc)
    return _trace_document(doc)


def from_document(data: object) -> Trace | Sweep:
    """Return the trace or sweep that JSON data describes.

    Raises ``DocumentError``: If the data is not a document of this package, is damaged, or is newer
        than this version.
    """
    checked = _checked(data)
    if checked["format"] == "serprof.sweep":
        return _sweep(checked)
    return _trace(checked)


def _checked(data: object) -> Mapping[str, Any]:
    kind = data.get("format") if isinstance(data, Mapping) else None
    if kind not in ("serprof.trace", "serprof.sweep"):
        message = (
            f"not a jupyter_serprof document: format is {shown(kind)}, expected 'serprof.trace' or "
            "'serprof.sweep'. Open a file that was written with --save or sp.save(doc, path)"
        )
        raise DocumentError(message)
    document = cast("Mapping[str, Any]", data)
    _check_version(document.get("version"))
    _check_counts(document)
    if place := unfit(document):
        refuse(f"document{place}")
    validate(document, f"{kind.removeprefix('serprof.')}.v1.json")
    _check_size(document)
    return document


def _check_counts(document: Mapping[str, Any]) -> None:
    given = document.get("traces")
    inside = given if isinstance(given, list) else ()
    traces = (document, *(entry.get("trace") for entry in inside if isinstance(entry, Mapping)))
    counts: Counter[str] = Counter()
    for trace in (trace for trace in traces if isinstance(trace, Mapping)):
        waterfall = trace.get("waterfall")
        lists = {**trace, **(waterfall if isinstance(waterfall, Mapping) else {})}
        counts.update(
            {name: len(lists[name]) for name in _MOST if isinstance(lists.get(name), list)}
        )
    for name, count in counts.items():
        if count > _MOST[name]:
            refuse(f"its {name} are {count:,}, at most {_MOST[name]:,} can be")


def _check_size(document: Mapping[str, Any]) -> None:
    # A hundred thousand recorded spans take 6 bytes each in a file and 190 in memory.
    traces = [document, *(entry["trace"] for entry in document.get("traces", ()))]
    parts = [anatomy["parts"] for trace in traces for anatomy in trace.get("anatomies", ())]
    tables = [
        *((_SPAN_BYTES, (*_COLUMNS, _CALLS), one["spans"]) for one in traces if "spans" in one),
        *((_PART_BYTES, PART_COLUMNS, table) for table in parts),
    ]
    packed = [
        (each, [table[name] for name in names if isinstance(table.get(name), dict)])
        for each, names, table in tables
    ]
    given = sum(len(column["data"]) for _, columns in packed for column in columns)
    claimed = sum(each * max([0, *(column["n"] for column in columns)]) for each, columns in packed)
    if claimed > _FREE_BYTES + _MOST_TIMES * given:
        refuse(f"its columns announce {claimed:,} bytes of values in {given:,}")


def _check_version(version: object) -> None:
    if isinstance(version, int | float) and not isinstance(version, bool) and version > VERSION:
        message = (
            f"the document has version {shown(version)}; this jupyter_serprof reads up to "
            f"{VERSION}. Run: pip install --upgrade jupyter_serprof"
        )
        raise DocumentError(message)


class _Numbering(dict[str, int]):
    """Numbers things in the order in which they are first met."""

    def __missing__(self, key: str) -> int:
        return self.setdefault(key, len(self))


def _trace_document(trace: Trace) -> dict[str, object]:
    stages, lanes, strings = _Numbering(), _Numbering(), _Numbering()
    for numbers, known in ((stages, trace.stages), (lanes, trace.lanes)):
        for entry in known:
            numbers.setdefault(entry.key, len(numbers))
    spans = _columns(trace.spans, stages, lanes, strings)
    waterfall = _waterfall_data(trace.waterfall, stages, lanes) if trace.waterfall else None
    special = {"stages", "lanes", "spans", "waterfall", "anatomies"}
    anatomies = [anatomy_document(anatomy) for anatomy in trace.anatomies]
    plain = {
        name: encode(getattr(trace, name))
        for name in field_names(Trace)
        if name not in special and getattr(trace, name) != _ABSENT.get(name, _NO_DEFAULT)
    }
    told = ((str(i), _without_calls(span.details)) for i, span in enumerate(trace.spans))
    details = {key: encode(known) for key, known in told if known}
    return {
        "format": "serprof.trace",
        "version": VERSION,
        **plain,
        "stages": _described(stages, trace.stages, stage),
        "lanes": _described(lanes, trace.lanes, Lane),
        "strings": list(strings),
        "spans": spans,
        "details": details,
        "waterfall": waterfall,
        **({"anatomies": anatomies} if anatomies else {}),
    }


def _described(
    table: _Numbering, known: Sequence[Stage | Lane], make: Callable[[str], object]
) -> list[object]:
    """Return the entries of a table, the first one of each key; what nobody described is made."""
    by_key = {entry.key: entry for entry in reversed(known)}
    return [encode(by_key.get(key) or make(key)) for key in table]


def _columns(
    spans: Sequence[Span], stages: _Numbering, lanes: _Numbering, strings: _Numbering
) -> dict[str, object]:
    tables = {"stage": stages, "lane": lanes, "name": strings}
    values = {name: [getattr(span, name) for span in spans] for name in _COLUMNS}
    numbers = {name: [table[key] for key in values[name]] for name, table in tables.items()}
    calls = [_calls(span.details) for span in spans]
    joined = {_CALLS: calls} if any(calls) else {}
    return {name: pack(column) for name, column in (values | numbers | joined).items()}


def _calls(details: Mapping[str, object] | None) -> int | None:
    """Return how many calls were joined in a span; with a column, as most of many spans say it."""
    calls = details.get(_CALLS) if details else None
    return calls if type(calls) is int and 0 < calls <= _MOST_CALLS else None


def _without_calls(details: Mapping[str, object] | None) -> Mapping[str, object]:
    known = details or {}
    return {key: known[key] for key in known if key != _CALLS} if _calls(details) else known


def _waterfall_data(
    waterfall: Waterfall, stages: _Numbering, lanes: _Numbering
) -> dict[str, object]:
    rows = [
        {**_plain(row), "stage": stages[row.stage], "lane": lanes[row.lane]}
        for row in waterfall.rows
    ]
    outline = [_line_data(line, stages) for line in waterfall.outline]
    told = {"outline": outline} if outline else {}
    return {"rows": rows, "unaccounted_ns": waterfall.unaccounted_ns, **told}


def _line_data(line: int | Heading, stages: _Numbering) -> object:
    if isinstance(line, int):
        return line
    of = {"group": line.group} if line.group is not None else {}
    of |= {"stage": stages[line.stage]} if line.stage else {}
    inside = [_line_data(inner, stages) for inner in line.inside]
    return {**of, "self_ns": line.self_ns, "inside": inside}


def _plain(row: Row) -> dict[str, object]:
    """Return a row as data; without ``pieces`` it owned one, from its start, of its length."""
    data = {**cast("dict[str, object]", encode(row)), "pieces": encode(row.pieces)}
    if row.pieces == ((row.start_ns, row.self_ns),):
        del data["pieces"]
    return data


def _trace(data: Mapping[str, Any]) -> Trace:
    _check_version(data["version"])  # a trace inside a sweep has its own
    stages = [entry["key"] for entry in data["stages"]]
    lanes = [entry["key"] for entry in data["lanes"]]
    spans = _spans(data, stages, lanes)
    rows = data.get("waterfall")
    waterfall = _waterfall(rows, stages, lanes) if rows else None
    anatomies = tuple(anatomy_of(entry) for entry in data.get("anatomies", ()))
    special = ("spans", "waterfall", "anatomies")
    plain = {key: value for key, value in data.items() if key not in special}
    trace = replace(decode(Trace, plain), spans=spans, waterfall=waterfall, anatomies=anatomies)
    check_trace(trace)
    meet(trace.stages)
    return trace


def _waterfall(data: Mapping[str, Any], stages: list[str], lanes: list[str]) -> Waterfall:
    rows = (
        {"pieces": [[row["start_ns"], row["self_ns"]]], **row}
        | {"stage": at(stages, row["stage"]), "lane": at(lanes, row["lane"])}
        for row in data["rows"]
    )
    outline = tuple(_line(line, stages) for line in data.get("outline", ()))
    return Waterfall(tuple(decode(Row, row) for row in rows), data["unaccounted_ns"], outline)


def _line(line: Any, stages: list[str]) -> int | Heading:  # noqa: ANN401  (JSON)
    if not isinstance(line, Mapping):
        return int(line)
    key = at(stages, line["stage"]) if "stage" in line else ""
    inside = tuple(_line(inner, stages) for inner in line["inside"])
    group = int(line["group"]) if "group" in line else None
    return Heading(int(line["self_ns"]), key, group, inside)


def _spans(data: Mapping[str, Any], stages: list[str], lanes: list[str]) -> tuple[Span, ...]:
    names = (*_COLUMNS, _CALLS) if _CALLS in data["spans"] else _COLUMNS
    columns, count = unpack_columns(data["spans"], names, "span")
    details = data.get("details", {})
    check_details(details, count)
    numbers = columns.get(_CALLS) or [None] * count
    joined = {number: {_CALLS: number} for number in set(numbers) if number}  # one for all alike
    return tuple(
        Span(
            stage=at(stages, columns["stage"][i]),
            name=at(data["strings"], columns["name"][i]),
            lane=at(lanes, columns["lane"][i]),
            start_ns=_whole(columns["start_ns"][i]),
            duration_ns=_whole(columns["duration_ns"][i]),
            size_bytes=columns["size_bytes"][i],
            parent=_parent(columns["parent"][i], count),
            details=(joined.get(numbers[i] or 0) or {}) | (details.get(str(i)) or {}) or None,
        )
        for i in range(count)
    )


def _whole(value: int | None) -> int:
    if value is None:
        refuse("a span has no time")
    return value


def _parent(index: int | None, count: int) -> int:
    if index is None or not -1 <= index < count:
        refuse(f"a span has parent {index!r} of {count} spans")
    return index


def _sweep_document(sweep: Sweep) -> dict[str, object]:
    plain = {
        name: encode(getattr(sweep, name))
        for name in field_names(Sweep)
        if name != "traces" and (name not in _LATER or getattr(sweep, name))
    }
    traces = [
        {key: getattr(entry, key) for key in ("variant", "size_bytes", "cold")}
        | {"trace": _trace_document(entry.trace)}
        for entry in sweep.traces
    ]
    runs = {"runs": encode(tuple(runs_of(sweep)))}  # told for the front end, not read again
    return {"format": "serprof.sweep", "version": VERSION, **plain, **runs, "traces": traces}


def _sweep(data: Mapping[str, Any]) -> Sweep:
    traces = tuple(
        SweepTrace(entry["variant"], entry["size_bytes"], entry["cold"], _trace(entry["trace"]))
        for entry in data["traces"]
    )
    plain = {key: value for key, value in data.items() if key != "traces"}
    sweep = replace(decode(Sweep, plain), traces=traces)
    check_sweep(sweep)
    return sweep
