"""Documents of somebody who wants to run a script in the reader's page."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

from browser.samples import PACKAGE

#: What each payload calls when it is executed.
FIRED = "globalThis.fired=1"
_TEMPLATES = (
    "<script>{0}</script>",
    "<img src=x onerror={0}>",
    "<svg onload={0}>",
    "<svg><script>{0}</script></svg>",
    "<iframe srcdoc='<script>parent.{0}</script>'></iframe>",
    "<a href='javascript:{0}'>a</a>",
    "<body onload={0}>",
    "<details open ontoggle={0}>",
    "<input autofocus onfocus={0}>",
    "<style>@import 'javascript:{0}';</style><b onmouseover={0}>",
)
#: What stands around it: ends of the places that a text may be put in.
_BEFORE = (
    *("", "'", '"', "`", "</script>", "</title>", "</style>", "</textarea>", "</pre>", "-->"),
    *("<!--", "]]>", "\\", "\\u003c/script>", "';", '";', "${", "</svg>", "\u2028", "@@document@@"),
)
PAYLOADS = tuple(
    before + template.format(FIRED) for before, template in product(_BEFORE, _TEMPLATES)
)
#: The payloads in tens that have the same beginning; each ends what it opens.
BATCHES = tuple("".join(PAYLOADS[at : at + 10]) for at in range(0, len(PAYLOADS), 10))
#: Values whose keys are free.
_FREE = ("evidence", "environment", "facts")
#: Words that a document of the right shape must keep.
_KEPT = frozenset(
    {"format", "started", "outcome", "kind", "family", "severity", "state", "verdict", "growth"}
)


def poisoned(value: Any, payload: str, key: str = "") -> Any:
    """Return JSON data in which every text that may be free has become the payload."""
    if isinstance(value, dict):
        behind = payload if key in _FREE else ""
        return {f"{name}{behind}": poisoned(one, payload, name) for name, one in value.items()}
    if isinstance(value, list):
        return [poisoned(inner, payload, key) for inner in value]
    return payload if isinstance(value, str) and key not in _KEPT else value


def texts_of_schema(name: str) -> set[str]:
    """Return the places of all texts that a document of a schema may have, but the fixed words."""
    return set(_places(_schema(name), name))


def texts_of_document(name: str, document: Any) -> set[str]:
    """Return those of them that a document has."""
    return set(_found(_schema(name), name, document))


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((PACKAGE / "model" / name).read_text("utf-8"))
    return schema


def _resolved(node: dict[str, Any], home: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Follow references and alternatives; give each with the file that it stands in."""
    if "$ref" in node:
        file, _, place = node["$ref"].partition("#/$defs/")
        there = file or home
        yield from _resolved(_schema(there)["$defs"][place] if place else _schema(there), there)
        return
    for choice in node.get("anyOf", ()):
        yield from _resolved(choice, home)
    if "anyOf" not in node:
        yield node, home


def _parts(node: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what is inside by name; ``*`` for what has any name, ``[]`` for items."""
    parts: dict[str, dict[str, Any]] = dict(node.get("properties", {}))
    for name, key in (("*", "additionalProperties"), ("[]", "items")):
        if isinstance(node.get(key), dict):
            parts[name] = node[key]
    return parts


def _is_text(node: dict[str, Any]) -> bool:
    kinds = node.get("type", ())
    return "string" in ((kinds,) if isinstance(kinds, str) else kinds)


def _places(
    node: dict[str, Any], home: str, at: str = "", around: tuple[int, ...] = ()
) -> Iterator[str]:
    """Give the places of texts; what holds itself, as lines of an outline do, is entered once."""
    for each, there in _resolved(node, home):
        if _is_text(each):
            yield at
        for name, inner in _parts(each).items() if id(each) not in around else ():
            yield from _places(inner, there, f"{at}/{name}", (*around, id(each)))


def _found(node: dict[str, Any], home: str, value: Any, at: str = "") -> Iterator[str]:
    for each, there in _resolved(node, home):
        if _is_text(each) and isinstance(value, str):
            yield at
        for name, inner in _parts(each).items():
            for one in _inside(name, value):
                yield from _found(inner, there, one, f"{at}/{name}")


def _inside(name: str, value: Any) -> Iterator[Any]:
    if name == "[]":
        yield from value if isinstance(value, list) else ()
    elif isinstance(value, dict):
        yield from value.values() if name == "*" else [value[name]] if name in value else ()
