"""The mini validator gives the verdicts of the jsonschema library, on every keyword in use."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource
from strategies import FOREIGN_VALUES, json_values, mutated, sweeps, traces

from jupyter_serprof.model import DocumentError, Sweep, Trace, to_document
from jupyter_serprof.model.schema import read_schema, validate

DATA = Path(__file__).parents[1] / "data"
NAMES = ("trace.v1.json", "sweep.v1.json")
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
KEYWORDS = {
    *("$ref", "anyOf", "type", "const", "enum", "minimum"),
    *("required", "properties", "additionalProperties"),
    *("items", "minItems", "maxItems", "fits"),
}
GOLDEN = [
    json.loads((DATA / f"{name}.serprof.json").read_bytes())
    for name in ("trace.v1", "trace.v1.packed", "sweep.v1")
]
foreign = st.sampled_from(FOREIGN_VALUES) | json_values


def schema_of(document: Mapping[str, object]) -> str:
    return "sweep.v1.json" if document["format"] == "serprof.sweep" else "trace.v1.json"


def library(schema_name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of the jsonschema library for a schema of the package."""
    resources = ((name, Resource.from_contents(read_schema(name))) for name in NAMES)
    registry: Registry[Any] = Registry().with_resources(resources)
    return jsonschema.Draft202012Validator(read_schema(schema_name), registry=registry)


LIBRARY = {name: library(name) for name in NAMES}


def accepts(document: object, schema_name: str) -> bool:
    try:
        validate(document, schema_name)
    except DocumentError:
        return False
    return True


@given(st.sampled_from(GOLDEN).flatmap(lambda document: mutated(document, foreign)), st.data())
@settings(max_examples=120)
def test_mutated_documents_get_the_verdict_of_the_library(
    document: Any, data: st.DataObject
) -> None:
    """A document is refused here exactly when any JSON Schema validator refuses it."""
    kind = document.get("format") if isinstance(document, dict) else None
    other = data.draw(st.sampled_from(NAMES))
    name = other if kind not in ("serprof.trace", "serprof.sweep") else schema_of(document)

    assert accepts(document, name) == LIBRARY[name].is_valid(document)


@given(traces() | sweeps())
@settings(max_examples=30)
def test_what_is_written_is_valid_for_both(doc: Trace | Sweep) -> None:
    """Every document of this package passes in any JSON Schema validator."""
    document = json.loads(json.dumps(to_document(doc)))

    name = schema_of(document)

    assert accepts(document, name)
    assert LIBRARY[name].is_valid(document)


def subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and every schema inside it."""
    yield schema
    groups = (schema.get("properties", {}), schema.get("$defs", {}))
    inner = [
        *(item for group in groups for item in group.values()),
        *schema.get("anyOf", ()),
        *(schema[key] for key in ("items", "additionalProperties") if key in schema),
    ]
    for item in inner:
        yield from subschemas(item)


def unread(schema: Mapping[str, Any]) -> list[str]:
    """Return what stands in a schema and is not read by the mini validator."""
    found = []
    for part in subschemas(schema):
        used = set(part) - ANNOTATIONS
        found += sorted(used - KEYWORDS)
        if "$ref" in used and len(used) > 1:
            found.append(f"beside a reference: {sorted(used)}")
        texts = [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]
        found += [f"not a text: {value!r}" for value in texts if not isinstance(value, str)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_schemas_are_valid_and_use_only_keywords_that_are_implemented(name: str) -> None:
    """TypeScript types are generated from them; what nobody reads would be a rule for nobody."""
    schema = read_schema(name)

    jsonschema.Draft202012Validator.check_schema(schema)

    assert schema["$id"] == name
    assert unread(schema) == []


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"properties": {"a": {"pattern": "x"}}}, ["pattern"]),
        ({"$defs": {"a": {"items": {"maxLength": 1}}}}, ["maxLength"]),
        ({"anyOf": [{"additionalProperties": {"format": "x"}}]}, ["format"]),
        ({"$ref": "#/a", "minimum": 1}, ["beside a reference: ['$ref', 'minimum']"]),
        ({"const": 1}, ["not a text: 1"]),
        ({"enum": ["a", True]}, ["not a text: True"]),
    ],
)
def test_an_unread_keyword_is_found_wherever_it_stands(
    schema: dict[str, Any], found: list[str]
) -> None:
    """The guard above sees new keywords at every depth."""
    assert unread(schema) == found


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 1.0, 10**30], [1.5, True, "1", None, float("inf")]),
        ({"type": "number"}, [1, 1.5], [True, "1"]),
        ({"type": ["integer", "null"]}, [1, None], [False, "a"]),
        ({"type": "boolean"}, [True], [1, 0, None]),
        ({"type": "string"}, ["", "a"], [None, 1]),
        ({"type": "array", "items": {"type": "string"}}, [[], ["a"]], [["a", 1], {}]),
        ({"type": "array", "minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
        ({"type": "object", "required": ["a"]}, [{"a": 1}], [{}, {"b": 1}, []]),
        ({"properties": {"a": {"type": "null"}}}, [{"a": None}, {}, 5], [{"a": 1}]),
        ({"additionalProperties": {"type": "null"}}, [{"a": None}], [{"a": 1}]),
        ({"const": "a"}, ["a"], ["b", 1]),
        ({"enum": ["a", "b"]}, ["a"], ["c", None, []]),
        ({"minimum": 0}, [0, 1.5, "text"], [-1, -0.5]),
        ({"anyOf": [{"type": "null"}, {"minimum": 0, "type": "integer"}]}, [None, 0], [-1, "a"]),
        (
            {
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                "properties": {"a": {"type": "null"}},
            },
            [{"a": None}, {"b": 1}, 5],
            [{}, {"a": 1}],
        ),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, [None], [1]),
        ({"$ref": "trace.v1.json#/$defs/limits"}, [{}], [[], {"memcpy_bytes_per_s": "a"}]),
    ],
)
def test_each_keyword_means_what_json_schema_says(
    schema: dict[str, Any], good: list[object], bad: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One keyword at a time, on both sides, so that a wrong verdict names its keyword."""
    original = read_schema
    known = {"small.json": {**schema, "$id": "small.json"}}
    monkeypatch.setattr(
        "jupyter_serprof.model.schema.read_schema", lambda name: known.get(name) or original(name)
    )
    contents = {**known, "trace.v1.json": original("trace.v1.json")}
    draft = jsonschema.Draft202012Validator.META_SCHEMA["$schema"]
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents({**content, "$schema": draft}))
        for name, content in contents.items()
    )
    reference = jsonschema.Draft202012Validator({"$ref": "small.json"}, registry=registry)

    verdicts = [(accepts(value, "small.json"), reference.is_valid(value)) for value in good + bad]

    assert verdicts == [(True, True)] * len(good) + [(False, False)] * len(bad)
