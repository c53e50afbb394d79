"""Texts that stay texts in Markdown, tables, and code to paste."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$])")
#: GitHub makes links of them, and tells the people who are named.
_LINKING = re.compile(r"([@#])(?=\w)")
_TICKS = re.compile(r"`+")
_FEWEST_TICKS = 3
Line = Sequence[str]


def plain(text: str) -> str:
    """Return text as Markdown that shows it: on one line, nothing in it means anything."""
    line = " ".join(text.split())
    printable = "".join(character for character in line if character.isprintable())
    return _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", printable))


def table(heads: Line, lines: Iterable[Line], texts: int) -> str:
    """Return a table; so many columns at first lean to the left, the others are numbers."""
    marks = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, marks, *lines))


def listed(sentences: Iterable[str]) -> list[str]:
    """Return sentences as one block, a list; no block without any."""
    lines = [f"- {plain(sentence)}" for sentence in sentences]
    return ["\n".join(lines)] if lines else []


def code(text: str) -> str:
    """Return code to paste; whatever it holds does not end it."""
    kept = "".join(c for c in text if c.isprintable() or c in "\n\t")
    longest = max(map(len, _TICKS.findall(kept)), default=0)
    fence = "`" * max(_FEWEST_TICKS, longest + 1)
    return f"{fence}python\n{kept}\n{fence}"
