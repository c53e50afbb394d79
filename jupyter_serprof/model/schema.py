"""Validation against the JSON Schemas beside this file.

The schemas are the one description of a document (the TypeScript types are generated from them).
This reads the few keywords that they use; ``tests/model/test_schema.py`` holds it to what
``jsonschema`` says of the same documents, so that the run-time package needs no validator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jupyter_serprof.model.errors import refuse, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_serprof.model.sweep import Sweep
    from jupyter_serprof.model.trace import Heading, Row, Span, Trace, Waterfall

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
#: Not the float of an integer, which must be whole.
_EXACT = {name: kinds for name, kinds in _TYPES.items() if name not in ("object", "array")}
_FITS = "fits"
Schema = Mapping[str, Any]


def validate(document: object, schema_name: str) -> None:
    """Check a document against a schema of this package.

    Raises ``DocumentError``: With the path of the first value that does not fit, and what was
        expected there.
    """
    problem = _problem(document, read_schema(schema_name), schema_name, "document")
    if problem:
        refuse(problem)


@cache
def read_schema(schema_name: str) -> dict[str, Any]:
    """Return a schema of this package by its file name."""
    text = files("jupyter_serprof.model").joinpath(schema_name).read_text("utf-8")
    schema: dict[str, Any] = json.loads(text, object_hook=_told_by_type)
    return schema


def _told_by_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Add the types of the values that fit whatever they are: a document is mostly those."""
    names = schema.get("type")
    if names and schema.keys() <= {"type", "description"}:
        each = names if isinstance(names, list) else [names]
        schema[_FITS] = {kind for name in each for kind in _EXACT.get(name, ())}
    return schema


def _problem(value: object, schema: Schema, home: str, path: str) -> str | None:
    if "$ref" in schema:
        target, target_home = _resolve(schema["$ref"], home)
        return _problem(value, target, target_home, path)
    if "anyOf" in schema:
        problems = [_problem(value, choice, home, path) for choice in schema["anyOf"]]
        if None not in problems:
            return problems[0]
    return _wrong_value(value, schema, path) or _wrong_inside(value, schema, home, path)


@cache
def _resolve(reference: str, home: str) -> tuple[Schema, str]:
    name, _, pointer = reference.partition("#")
    target: Any = read_schema(name or home)
    for step in pointer.strip("/").split("/") if pointer else ():
        target = target[step]
    return target, name or home


def _wrong_value(value: object, schema: Schema, path: str) -> str | None:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted
    if names and not any(_is(value, name) for name in names):
        return f"{path} should be {' or '.join(names)}, it is {shown(value)}"
    if "const" in schema and value != schema["const"]:
        return f"{path} should be {schema['const']!r}, it is {shown(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} should be one of {schema['enum']}, it is {shown(value)}"
    minimum = schema.get("minimum")
    if minimum is not None and isinstance(value, int | float) and value < minimum:
        return f"{path} should be at least {minimum}, it is {shown(value)}"
    return None


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _wrong_inside(value: object, schema: Schema, home: str, path: str) -> str | None:
    if isinstance(value, Mapping):
        return _wrong_object(value, schema, home, path)
    if isinstance(value, list):
        return _wrong_array(value, schema, home, path)
    return None


def _wrong_object(value: Mapping[str, object], schema: Schema, home: str, path: str) -> str | None:
    missing = [key for key in schema.get("required", ()) if key not in value]
    if missing:
        return f"{path} has no {missing[0]!r}"
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties")
    for key, item in value.items():
        inner = properties.get(key, extra if isinstance(extra, Mapping) else None)
        if inner is None or type(item) in inner.get(_FITS, ()):
            continue
        problem = _problem(item, inner, home, f"{path}.{key}")
        if problem:
            return problem
    return None


def _wrong_array(value: list[object], schema: Schema, home: str, path: str) -> str | None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return f"{path} has {len(value)} items"
    inner = schema.get("items")
    if inner is None:
        return None
    if set(map(type, value)).issubset(inner.get(_FITS, ())):
        return None  # columns are long
    problems = (_problem(item, inner, home, f"{path}[{i}]") for i, item in enumerate(value))
    return next((problem for problem in problems if problem), None)


def check_trace(trace: Trace) -> None:
    """Refuse what does not fit: sums, spans inside themselves, indices that point at nothing.

    Raises ``DocumentError``: With what does not fit; the document was changed after it was written.
    """
    if trace.waterfall is not None:
        _check_waterfall(trace.waterfall, trace)
    _check_parents(trace.spans)
    _check_tables(trace)
    count = len(trace.spans)
    for index in (index for finding in trace.findings for index in finding.spans):
        if not 0 <= index < count:
            refuse(f"a finding points at span {index} of {count}")


def check_details(details: Mapping[str, object], count: int) -> None:
    """Refuse details of spans that do not exist.

    Raises ``DocumentError``: With the index that is not one of the spans.
    """
    known = {str(index) for index in range(count)} if details else set()
    unknown = [key for key in details if key not in known]
    if unknown:
        refuse(f"it has details of span {shown(unknown[0])}, there are {count} spans")


def check_sweep(sweep: Sweep) -> None:
    """Refuse points and traces of variants that the sweep does not list.

    Raises ``DocumentError``: With the variant that is missing.
    """
    known = {variant.key for variant in sweep.variants}
    measured = {entry.variant for entry in sweep.points} | {entry.variant for entry in sweep.traces}
    unknown = sorted(measured - known)
    if unknown:
        refuse(f"it measures the variant {shown(unknown[0])} and does not describe it")


def _check_waterfall(waterfall: Waterfall, trace: Trace) -> None:
    """Refuse sums that are not the wall time, and an outline that is not about these rows."""
    rows = waterfall.rows
    total = sum(row.self_ns for row in rows) + waterfall.unaccounted_ns
    if total != trace.wall_ns:
        refuse(f"its rows add up to {total} ns, not {trace.wall_ns} ns")
    for index in (row.group for row in rows if row.group is not None):
        if not 0 <= index < len(trace.groups):
            refuse(f"a row belongs to group {index} of {len(trace.groups)}")
    told = [index for line in waterfall.outline for index in _rows_below(line, rows, trace)]
    if waterfall.outline and sorted(told) != list(range(len(rows))):
        refuse(f"its outline does not have each of its {len(rows)} rows once")


def _rows_below(line: int | Heading, rows: Sequence[Row], trace: Trace) -> list[int]:
    if isinstance(line, int):
        return [line]
    below = [index for inner in line.inside for index in _rows_below(inner, rows, trace)]
    total = sum(rows[index].self_ns for index in below if index < len(rows))
    if total != line.self_ns:
        refuse(f"a heading of its outline says {line.self_ns} ns, its rows {total} ns")
    if line.group is not None and line.group >= len(trace.groups):
        refuse(f"a heading of its outline is group {line.group} of {len(trace.groups)}")
    return below


def _check_tables(trace: Trace) -> None:
    for table in trace.tables:
        lengths = {len(row) for row in table.rows} - {len(table.columns)}
        if lengths:
            refuse(
                f"the table {shown(table.key)} has {len(table.columns)} columns "
                f"and a row of {lengths.pop()}"
            )


def _check_parents(spans: Sequence[Span]) -> None:
    """Refuse circles: a walk from a span to its root would never end."""
    rooted = {-1}
    for start in range(len(spans)):
        index, walked = start, set[int]()
        while index not in rooted:
            if index in walked:
                refuse(f"span {index} is inside itself")
            walked.add(index)
            index = spans[index].parent
        rooted |= walked
