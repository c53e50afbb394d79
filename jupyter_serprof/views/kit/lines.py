"""Lines of text: cut and wrapped for a terminal, and in Markdown so that it shows what it says."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate, takewhile

from jupyter_serprof.model.units import clean


def width(text: str) -> int:
    """Return how many columns of a terminal the text takes (wide characters take two)."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def clip(text: str, columns: int) -> str:
    """Return the text, or its beginning and an ellipsis where it is wider than asked.

    >>> clip("Graph optimization", 8)
    'Graph o…'
    """
    return text if width(text) <= columns else _head(text, columns - 1) + "…" * (columns > 0)


def _head(text: str, columns: int) -> str:
    ends = accumulate(map(_character_width, text))
    return text[: sum(1 for _ in takewhile(lambda end: end <= columns, ends))]


def wrap(text: str, columns: int) -> list[str]:
    """Return the text in lines that are not wider than asked; spaces inside a line are kept."""
    lines: list[str] = []
    line: str | None = None
    for word in text.split(" "):
        longer = word if line is None else f"{line} {word}"
        if line is not None and width(longer) > columns:
            lines.append(line)
            longer = word
        *full, line = _pieces(longer, columns)
        lines += full
    return [*lines, line or ""]


def _pieces(word: str, columns: int) -> list[str]:
    pieces = []
    while width(word) > columns:
        piece = _head(word, columns) or word[0]
        pieces.append(piece)
        word = word[len(piece) :]
    return [*pieces, word]


def hang(label: str, text: str, columns: int, indent: int = 6) -> list[str]:
    """Return a label and its text, whose further lines stand under the first one."""
    label = clip(label, indent - 1)
    room = columns - indent if label.rstrip() != "try" else max(columns, 2 * len(text))  # pasted
    lines = [part for line in text.splitlines() or [""] for part in wrap(clean(line), room)]
    first = label + " " * (indent - width(label))
    return [((first if i == 0 else " " * indent) + line).rstrip() for i, line in enumerate(lines)]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$])")
#: GitHub makes links of them, and tells the people who are named.
_LINKING = re.compile(r"([@#])(?=\w)")
#: Code between backquotes, and what makes its characters mean nothing elsewhere.
_CODE, _MEANT = re.compile(r"\\`(.+?)\\`"), re.compile(r"\\(?=[\\*_{}\[\]<>|~$])|<!-- -->")
_TICKS = re.compile(r"`+")
_FEWEST_TICKS = 3


def plain(text: str) -> str:
    """Return text as Markdown that shows it: on one line, nothing in it means anything."""
    line = " ".join(text.split())
    printable = "".join(character for character in line if character.isprintable())
    return _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", printable))


def coded(text: str) -> str:
    """Return a sentence as Markdown, with what stands in backquotes as code.

    >>> coded("`a_b` is 3")
    '`a_b` is 3'
    """
    return _CODE.sub(lambda found: f"`{_MEANT.sub('', found[1])}`", plain(text))


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
