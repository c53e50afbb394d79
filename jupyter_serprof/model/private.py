"""A copy of a document without a name in it: of code, paths, keys, arrays, classes, hosts.

A word is kept only if a text of our own files has it; the same name gets the same replacement.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from jupyter_serprof.model.anatomy import Anatomy, Part, below
from jupyter_serprof.model.stages import MARK
from jupyter_serprof.model.trace import Span, Table

Document = TypeVar("Document")
#: Whose texts are in documents, without their docstrings; and what else is no name.
_FOLDERS = "analysis", "api", "capture", "experiments", "model", "objects", "probes", "timelines"
_WRITERS = tuple(f"{folder}/**/*.py" for folder in _FOLDERS)
_FORMAT = "model/*.json"
_ALSO = {"x86_64", "aarch64", "arm64", "amd64", "linux", "darwin", "win32", *dir(builtins)}
_DOCSTRING, _HOLE = re.compile(r'""".*?"""', re.DOTALL), re.compile(r"\{[^}]*\}")
_TEXT, _WORD = re.compile(r'"([^"\n]*)"'), re.compile(r"\w+")
_TOKEN, _HOST = re.compile(r"\w(?:[\w.:/@\\-]*\w)?"), re.compile(r"\d(\.\d+){3}")
#: A number of a sentence, of a version, of times, of a date.
_NUMBER = re.compile(r"\d{1,7}((a|b|rc|T)\d+|x|Z)?")
#: What an error says; the name in a step of a path or in a type, or a key, which is no place.
_MESSAGE = re.compile(r"((?:Error|Exception|Exit|Interrupt|Warning): )(.+)", re.DOTALL)
_STEP = re.compile(r"(\.|function |class |<\w+ (?=\D))(.+?)(>?)|\[(?![\d*:.,]+\]$).+", re.DOTALL)
_CODE, _GIVEN = re.compile(r"[^\w\s./:-]"), re.compile(r"\[(name|code|text) \d+\]")
#: A shorter name is not looked for in sentences: most are words, too.
_SHORTEST = 3
#: Fields, columns of tables and keys of details that hold names.
_NAMES = {
    *("Trace.name", "Sweep.name", "Span.name", "Anatomy.name", "Group.title"),
    *("Comparison.before", "Comparison.after", "captured", "code", "computation", "host", "key"),
    *("client", "layer", "module", "name", "names", "path", "prefix", "task", "worker"),
}


def without_names(document: Document) -> Document:
    """Return a copy of any document, with ``[name 1]`` and the like in the place of names.

    Stages, numbers, versions and our own words stay. A name of one or two letters, and one that is
    also a word of a stage or of the format, stays where it is a word of a sentence.
    """
    names = _Replacements()
    names.copy(document)  # meets every name, of which any sentence may tell
    names.settle()
    copied: Document = names.copy(document)
    return copied


@cache
def _words(*patterns: str) -> frozenset[str]:
    files = [file for each in patterns for file in Path(__file__).parents[1].glob(each)]
    codes = [_DOCSTRING.sub("", file.read_text("utf-8")) for file in files]
    texts = [_HOLE.sub(" ", text) for code in codes for text in _TEXT.findall(code)]
    return frozenset([*texts, *_WORD.findall(" ".join(texts))])


def _is_ours(token: str) -> bool:
    ours = _words(*_WRITERS, _FORMAT)
    is_known = all(
        word in ours or word in _ALSO or _NUMBER.fullmatch(word) for word in _WORD.findall(token)
    )
    return is_known and not _HOST.search(token)


class _Replacements:
    """What stands for each name of one document."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._told: dict[tuple[str, bool], str] = {}
        self._counts: Counter[str] = Counter()
        #: Names that sentences may tell, the longest first; those of spans are too many.
        self._sought: set[str] = set()
        self._known: list[str] = []
        self._in_span = False

    def settle(self) -> None:
        """Find the names that were met by now in the sentences to come."""
        names = (name for name in self._sought - _words(_FORMAT) if len(name) >= _SHORTEST)
        self._known = sorted(names, key=len, reverse=True)
        self._told.clear()

    def copy(self, value: Any, place: str = "") -> Any:  # noqa: ANN401  (any part of a document)
        """Return a part of a document without names; its place is a field, or the key of a detail.

        A trace in a sweep has the title of its variant, which is ours.
        """
        if isinstance(value, str):
            return self._text(value, place)
        if isinstance(value, Mapping):
            return {self._sentence(key): self.copy(item, key) for key, item in value.items()}
        if isinstance(value, Span) or is_dataclass(value):
            return self._object(value, place)
        if isinstance(value, tuple | list):
            return type(value)(self.copy(item, place) for item in value)
        return value

    def _object(self, value: Any, place: str) -> Any:  # noqa: ANN401  (of any class of the model)
        kind = type(value).__name__ if place != "SweepTrace.trace" else "SweepTrace"
        names = Span._fields if isinstance(value, Span) else [field.name for field in fields(value)]
        self._in_span = kind == "Span"
        copied = {name: self.copy(getattr(value, name), f"{kind}.{name}") for name in names}
        self._in_span = False
        if isinstance(value, Table):
            keys = [column.key for column in value.columns]
            pairs = (zip(row, keys, strict=True) for row in value.rows)
            copied["rows"] = tuple(
                tuple(self.copy(cell, key) for cell, key in row) for row in pairs
            )
        if isinstance(value, Anatomy):
            copied["parts"] = self._parts(value.parts)
        return type(value)(**copied)

    def _parts(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        made: list[Part] = []
        for part in parts:
            is_root = part.parent < 0
            label = self._name(part.label) if is_root else self._step(part.label)
            path = below("" if is_root else made[part.parent].path, label)
            self._given[part.path] = path
            self._sought.add(part.path)
            kind, note = self._step(part.kind), self._sentence(part.note)
            made.append(replace(part, label=label, path=path, kind=kind, note=note))
        return tuple(made)

    def _step(self, text: str) -> str:
        found = _STEP.fullmatch(text)
        if found is None:
            return self._sentence(text)
        ends = (found[1], found[3]) if found[1] else ("", "")
        return self._name(found[2] or text).join(ends)

    def _text(self, text: str, place: str) -> str:
        if text.startswith(MARK):
            return MARK + self._name(text.removeprefix(MARK))
        if place == "Span.name" and "." in text and _is_ours(text):
            return text  # a function of a library
        if place in _NAMES:
            return self._name(text)
        return self._sentence(text)

    def _name(self, text: str, kind: str = "name") -> str:
        if not text or _GIVEN.fullmatch(text):
            return text
        if not self._in_span:
            self._sought.add(text)
        if text not in self._given:
            if kind == "name" and _CODE.search(text):
                kind = "key" if text.startswith("[") else "code"
            self._counts[kind] += 1
            self._given[text] = f"[{kind} {self._counts[kind]}]"
        return self._given[text]

    def _sentence(self, text: str) -> str:
        known = (text, self._in_span)
        if known not in self._told:
            said = text if self._in_span else self._without_known(text)
            said = _MESSAGE.sub(lambda found: found[1] + self._name(found[2], "text"), said)
            self._told[known] = _TOKEN.sub(lambda found: self._token(found[0]), said)
        return self._told[known]

    def _without_known(self, text: str) -> str:
        # Whole words only, but a name may begin with a bracket.
        ways = [rf"(?:\b|(?=\W)){re.escape(name)}(?!\w)" for name in self._known if name in text]
        return re.sub("|".join(ways), lambda found: self._given[found[0]], text) if ways else text

    def _token(self, token: str) -> str:
        return token if _is_ours(token) else self._name(token)
