"""The remedies that can be tried, with what to paste: ``table.json`` beside this file has them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from keyword import iskeyword

#: Stands for the variable in what is to be pasted.
NAME = "NAME"
#: What reads a part of a variable, and does nothing else.
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*|\[\w+\])*")


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy with a mechanical transformation.

    ``cause``: What is the matter, a sentence without the name of the variable.
    ``rule``: The rule whose finding it answers.
    ``code``: A line to paste; `NAME` stands for the variable. "" where the trial has its own: the
        line that made the very form that was sent.
    """

    rule: str
    title: str
    cause: str
    code: str


_TABLE = files("jupyter_serprof.experiments.remedies").joinpath("table.json").read_text("utf-8")
REMEDIES: Mapping[str, Remedy] = {entry.pop("key"): Remedy(**entry) for entry in json.loads(_TABLE)}


def pasted(code: str, name: str) -> str:
    """Return the line with the name of the variable; an expression is called ``a``."""
    return code.replace(NAME, variable(name))


def known(line: str, name: str) -> str:
    """Return a line that says what ``a`` is; "" where that cannot be said.

    >>> known("a = np.array(a)", "rows[3].w"), known("a = np.array(a)", "<list>")
    ('a = rows[3].w; a = np.array(a)', '')
    """
    called = variable(name)
    if called == name or not re.search(rf"\b{called}\b", line):
        return line
    return f"{called} = {name}; {line}" if _PATH.fullmatch(name) else ""


def variable(name: str) -> str:
    """Return what a line to paste calls it.

    >>> variable("rows"), variable("rows[3].w")
    ('rows', 'a')
    """
    return name if name.isidentifier() and not iskeyword(name) else "a"
