"""A page for each finding: what it says, why, the remedy, and the gain that was measured."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import programs

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings import RULES
from jupyter_serprof.experiments.remedies.table import REMEDIES
from jupyter_serprof.model import Finding, Trace, load

from . import pictures
from .corpus import Case, cases
from .sources import sources

_KEY = re.compile(r"[a-z]+\.[a-z0-9-]+")
_KINDS = {
    "ray": "Ray",
    "dask": "Dask",
    "pickle": "pickle and cloudpickle",
    "memory": "Memory",
    "python": "Python",
    "joblib": "joblib",
    "plugin": "Probes of others",
}


class Found(NamedTuple):
    """A finding as the code knows it: the rule that makes it, and traces in which it does."""

    key: str
    does: str
    examples: tuple[Finding, ...]
    trace: Trace | None


def keys(root: Path) -> list[str]:
    """Return the names of all findings: of goldens, of trials, and what makes a ``Finding``."""
    made = {*goldens(root), *(remedy.rule for remedy in REMEDIES.values())}
    for path in (root / "jupyter_serprof").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        names = {
            node.targets[0].id: node.value  # type: ignore[attr-defined]  # a plain constant
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Finding":
                first = call.args[0] if call.args else ast.Constant("")
                first = names.get(getattr(first, "id", ""), first)
                values = (getattr(node, "value", "") for node in ast.walk(first))
                made |= {v for v in values if isinstance(v, str) and _KEY.fullmatch(v)}
    return sorted(made)


@cache
def goldens(root: Path) -> dict[str, list[Trace]]:
    """Return the traces of the tests in which each rule has to tell its finding."""
    sys.path[:0] = [str(root / f"tests{part}") for part in ("", "/support", "/views")]
    from analysis import test_findings  # the traces on both sides of each threshold

    return {rule: [above for _, above in pairs] for rule, pairs in test_findings.ALL.items()}


@cache
def found(root: Path) -> tuple[Found, ...]:
    """Return every finding with the traces of its tests, on which its rule is run here."""
    return tuple(_found(key, goldens(root).get(key, [])) for key in keys(root))


def _found(key: str, traces: list[Trace]) -> Found:
    told = [analyse(trace) for trace in traces]
    examples = [each for trace in told for each in trace.findings if each.rule == key]
    makers = (rule for rule in RULES for trace in told[:1] if any(_of(rule(trace), key)))
    rule = next(makers, None)
    does = (inspect.getdoc(rule) or "") if rule else ""
    unlike = {(each.because, each.remedy): each for each in reversed(examples)}
    return Found(key, does, tuple(reversed(unlike.values())), told[0] if told else None)


def _of(findings: object, key: str) -> list[Finding]:
    return [each for each in findings if each.rule == key]  # type: ignore[attr-defined]


@cache
def written(root: Path) -> dict[str, dict[str, str]]:
    """Return what people wrote about findings, beyond what the code says: title and why."""
    return tomllib.loads((root / "docs/why.toml").read_text("utf-8"))


def title_of(each: Found, root: Path) -> str:
    """Return the line that a search lands on."""
    own = written(root).get(each.key, {}).get("title", "")
    return own or each.does.split("\n")[0].rstrip(".") or each.key


def pages(root: Path) -> dict[str, str]:
    """Return the page of each finding, and the list of them."""
    told = found(root)
    made = {f"findings/{each.key}.md": "\n".join(_page(each, root)) for each in told}
    return {**made, "findings/index.md": "\n".join(_index(told, root))}


def _index(told: tuple[Found, ...], root: Path) -> Iterator[str]:
    yield "# Findings\n"
    yield (
        f"{len(told)} causes that a picture can name, each with its page. The name in the list is"
        " that in the document (`finding.rule`). The tables of gains: [causes](../causes.md),"
        " [more pairs](../pairs.md).\n"
    )
    for kind, title in _KINDS.items():
        members = [each for each in told if each.key.partition(".")[0] == kind]
        if members:
            yield f"## {title}\n"
            for each in members:
                yield f"- [{title_of(each, root)}]({each.key}.md) (`{each.key}`)"
            yield ""
    yield "```{toctree}\n:hidden:\n"
    yield "\n".join(each.key for each in told)
    yield "```\n"


def _page(each: Found, root: Path) -> Iterator[str]:
    mine = [case for case in cases(root) if case.rule == each.key]
    own = written(root).get(each.key, {})
    yield f"# {title_of(each, root)}\n"
    yield f"The finding `{each.key}`.\n"
    saved = next((root / "docs/documents").glob(f"{each.key}@*.json"), None)
    yield from _picture(each, root, saved)
    measured = tuple(f for f in load(saved).findings if f.rule == each.key) if saved else ()
    lacks = sources().get(each.key, {})
    yield from _says(measured[:1] or each.examples[:2])
    if "why" in own:
        yield f"## Why it happens\n\n{own['why'].strip()}\n"
    if each.does:
        yield f"## What the rule does\n\n{_plain(each.does)}\n"
    yield from _remedies(each, measured)
    yield from _programs(mine)
    yield from _gains(mine, lacks.get("gain", ""))
    yield from _read_on([case.link for case in mine] + lacks.get("pages", []))


def _plain(docstring: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", docstring)


def _picture(each: Found, root: Path, saved: Path | None) -> Iterator[str]:
    if saved is not None:
        name = saved.name.partition("@")[2].partition(".")[0]
        yield pictures.block(load(saved))
        yield f"Measured on two cores. {_of_program(name, root)}\n"
    elif each.trace is not None:
        yield pictures.block(each.trace)
        why = sources().get(each.key, {}).get("picture", "")
        yield f"Artificial: made for tests by `jupyter_serprof.testing`. {why}".strip() + "\n"


def _of_program(name: str, root: Path) -> str:
    """Return what a recorded program does, and where it is."""
    if name in programs.SHOWN:
        return f"{inspect.getdoc(programs.SHOWN[name][1])} (`docs/programs.py`: {name})"
    case = next((case for case in cases(root) if case.name == name), None)
    return f"{case.title} (`{case.place}`: {name})" if case else f"(`tests/corpus`: {name})"


def _says(examples: tuple[Finding, ...]) -> Iterator[str]:
    if examples:
        yield "## What it says\n"
        for example in examples:
            because = f", because {example.because}" if example.because else ""
            yield f"> {example.title}{because}\n"


def _remedies(each: Found, measured: tuple[Finding, ...]) -> Iterator[str]:
    lines = [e.remedy for e in (*measured, *each.examples)] + [
        f"{remedy.code}" for remedy in REMEDIES.values() if remedy.rule == each.key and remedy.code
    ]
    if lines := list(dict.fromkeys(line for line in lines if line.partition("#")[0].strip())):
        yield "## What to type instead\n"
        yield "The line names your own variables where the code of the cell tells them.\n"
        yield "```{code-block} text\n:class: remedy\n\n" + "\n".join(lines[:4]) + "\n```\n"


def _programs(mine: list[Case]) -> Iterator[str]:
    shown = [case for case in mine if case.slow and case.fast][:3]
    if shown:
        yield "## Slow, and faster\n"
    for case in shown:
        yield f"{case.title}\n"
        yield f"```{{code-block}} python\n:caption: slow\n\n{case.slow}\n```\n"
        yield f"```{{code-block}} python\n:caption: faster\n\n{case.fast}\n```\n"


def _gains(mine: list[Case], reason: str) -> Iterator[str]:
    yield "## What it gains\n"
    measured = [case for case in mine if case.gain]
    if not measured:
        yield f"{reason}\n"
        return
    yield "| program | times faster |\n|---|---|"
    yield "\n".join(f"| {case.title} | {case.gain} |" for case in measured)
    yield (
        f"\nMedian of alternating pairs on two cores: `{measured[0].command}`. Where it is about 1"
        " there is nothing to gain here, and the finding is of an error in the making, or of"
        " larger data; below 1 being right costs time.\n"
    )


def _read_on(links: list[str]) -> Iterator[str]:
    yield "## Read on\n"
    yield "The library's own page:\n"
    yield "\n".join(f"- {link}" for link in dict.fromkeys(links)) + "\n"
