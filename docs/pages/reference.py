"""The reference: the functions from their docstrings, the options from the parsers."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import jupyter_serprof as sp
from jupyter_serprof.magics.options import SYNTAXES, Syntax

_RULE = re.compile(r"(?m)^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}\n")
_NAME = re.compile(r"\S.*")
_LABEL = re.compile(r"(?<!`)`([\w.]+)`(?!`)")


def pages(_: Path) -> dict[str, str]:
    """Return the pages of the functions, of the magics and of the command line."""
    return {
        "reference/functions.md": "\n".join(_functions()),
        "reference/magics.md": "\n".join(_magics()),
        "reference/command-line.md": "\n".join(_command_line()),
    }


def _functions() -> Iterator[str]:
    yield "# Functions\n"
    yield "`import jupyter_serprof as sp` loads none of the libraries that it knows.\n"
    for name in sorted(sp.__all__, key=lambda name: (name[0].isupper(), name)):
        public = getattr(sp, name)
        yield f"({_label(name)})=\n## `sp.{name}`\n"
        if inspect.isfunction(public):
            yield f"```{{code-block}} python\n{_signature(name, public)}\n```\n"
        yield _as_markdown(inspect.getdoc(public) or "")


def _signature(name: str, function: object) -> str:
    """Return a call with its parameters, each on a line of its own where there are many."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    whole = f"sp.{name}({', '.join(map(_typed, signature.parameters.values()))})"
    if len(whole) <= 88:
        return whole
    lines = []
    last = None
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and last not in {
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        }:
            lines.append("*")
        lines.append(_typed(parameter))
        last = parameter.kind
    return f"sp.{name}(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _typed(parameter: inspect.Parameter) -> str:
    """Return a parameter with its type, which the sources keep as text, without quotes."""
    return re.sub(r": '(.*?)'( = |$)", r": \1\2", str(parameter))


def _as_markdown(docstring: str) -> str:
    """Return a numpydoc docstring as Markdown: sections in bold, parameters as a list."""
    before, *parts = _RULE.split(docstring)
    sections = zip(parts[::2], parts[1::2], strict=True)
    told = [_inline(before)]
    for title, body in sections:
        is_code = title == "Examples"
        is_list = title in {"Parameters", "Returns", "Raises", "Attributes"}
        text = f"```{{code-block}} pycon\n{body.strip()}\n```\n" if is_code else _inline(body)
        told.append(f"**{title}**\n\n{_listed(body) if is_list else text}")
    return "\n".join(told)


def _listed(body: str) -> str:
    """Return the entries of a section: names first, what is said of them behind."""
    entries: list[tuple[str, list[str]]] = []
    for line in body.strip("\n").splitlines():
        if _NAME.match(line):
            entries.append((line, []))
        elif entries:
            entries[-1][1].append(line)
    told = ((name, _inline(textwrap.dedent("\n".join(lines))).strip()) for name, lines in entries)
    return "\n".join(f"- `{name}`: {' '.join(said.split())}" for name, said in told) + "\n"


def _inline(text: str) -> str:
    """Return reStructuredText of docstrings as Markdown: code, and names that are linked."""
    text = re.sub(r"``([^`]+)``", r"\0\1\0", text).replace("::\n", ":\n")
    return _LABEL.sub(_linked, text).replace("\0", "`")


def _linked(match: re.Match[str]) -> str:
    name = match[1].rpartition(".")[2]
    code = f"`{match[1]}`".replace("`", "\0")
    return f"[{code}](#{_label(name)})" if name in sp.__all__ else code


def _label(name: str) -> str:
    """Return the anchor; anchors do not tell `sp.Sweep` from `sp.sweep`."""
    return f"sp.{'class.' * name[0].isupper()}{name.lower()}"


def _magics() -> Iterator[str]:
    yield "# Magics\n\n`%load_ext jupyter_serprof` adds both; `-h` behind one shows its options.\n"
    for name, syntax in SYNTAXES.items():
        yield f"(magic-{name})=\n## `%{name}`\n"
        yield from _magic(syntax)


def _magic(syntax: Syntax) -> Iterator[str]:
    blocks = re.split(r"\n{2,}", syntax.help.partition("\nOptions")[0].strip())
    for block in blocks:
        if block.startswith("    "):
            yield f"```{{code-block}} text\n{textwrap.dedent(block)}\n```\n"
        else:
            yield f"{block}\n"
    yield "| option | what it does | in a whole cell |\n|---|---|---|"
    for flag, (_, value, said) in syntax.flags.items():
        told = " ".join(said.split()).replace("|", "\\|")
        instead = syntax.line_only.get(flag, "").replace("|", "\\|")
        cell = f"no. {instead}" if instead else "yes"
        yield f"| `{f'{flag} {value}'.strip()}` | {told} | {cell} |"
    yield ""


def _command_line() -> Iterator[str]:
    said = subprocess.run(
        [sys.executable, "-m", "jupyter_serprof", "-h"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "96", "PATH": "", "NO_COLOR": "1"},
    )
    yield "# Command line\n\nWithout a notebook, also where IPython is not installed.\n"
    yield f"```{{code-block}} text\n{said.stdout.strip()}\n```\n"
