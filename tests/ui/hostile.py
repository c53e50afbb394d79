"""Documents of somebody who wants to run a script in the reader's page."""

from __future__ import annotations

from itertools import product
from typing import Any

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
#: Words that a document of the right shape must keep.
_KEPT = frozenset({"format", "started", "outcome", "kind", "family", "severity", "state"})


def poisoned(value: Any, payload: str, key: str = "") -> Any:
    """Return JSON data in which every text that may be free has become the payload."""
    if isinstance(value, dict):
        return {name: poisoned(inner, payload, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [poisoned(inner, payload, key) for inner in value]
    return payload if isinstance(value, str) and key not in _KEPT else value
