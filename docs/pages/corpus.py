"""What programs know of a finding: the slow code, its faster twin, page, gain.

They are those of tests/corpus, with docs/causes.md, and of docs/programs.py, with docs/pairs.md.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import programs

from tests.corpus import Entry, entries

from .sources import sources

_PAGES = {
    "ray": "https://docs.ray.io/en/latest/{}.html",
    "dask": "https://docs.dask.org/en/stable/{}.html",
    "distributed": "https://distributed.dask.org/en/stable/{}.html",
}
_ROW = re.compile(
    r"\| (?P<title>.*) \| (?P<page>\S*) \| (?:`(?P<rule>\S+)`)? ?\| .* \| \S* ?\| (?P<gain>\S*) ?\|"
)


@dataclass(frozen=True)
class Case:
    """An antipattern: its two programs, the page that tells of it, and what was measured."""

    name: str
    title: str
    page: str
    rule: str
    gain: str
    slow: str
    fast: str
    #: Where the programs are, and what measures them.
    place: str
    command: str

    @property
    def link(self) -> str:
        """The page of the library as a link."""
        cluster, _, page = self.page.partition(": ")
        path, _, anchor = page.partition("#")
        if path in sources()["addresses"]:
            return f"[{path}]({sources()['addresses'][path]})"
        kind = "distributed" if path.startswith("distributed/") else cluster
        address = _PAGES[kind].format(path.removeprefix("distributed/"))
        if not anchor:
            return f"[{path}]({address})"
        return f"[{path}, {anchor.replace('-', ' ')}]({address}#{anchor})"


@cache
def cases(root: Path) -> tuple[Case, ...]:
    """Return all of them, as the programs and the two tables have them."""
    rows = {row["title"]: row for row in _rows(root)}
    known = [e for e in (*entries([]), *programs.ENTRIES) if e.rule]
    return tuple(_case(entry, rows.get(entry.title, {})) for entry in known)


def _rows(root: Path) -> Iterator[dict[str, str]]:
    texts = ((root / f"docs/{name}.md").read_text("utf-8") for name in ("causes", "pairs"))
    for line in "".join(texts).splitlines():
        if (match := _ROW.fullmatch(line)) and match["title"] != "antipattern":
            yield match.groupdict("")


def _case(entry: Entry, row: dict[str, str]) -> Case:
    """Take the gain from the table, and whether the finding was told there."""
    prepare = inspect.unwrap(entry.prepare)
    source = inspect.getsource(prepare)
    (function,) = ast.parse(source).body
    is_own = entry in programs.ENTRIES
    gain = row.get("gain", "")
    if gain and not is_own and not row["rule"]:
        gain = f"{gain}, not told in that run"
    around = _around(prepare.__module__)
    is_function = isinstance(function, ast.FunctionDef)
    texts = _programs(function, source, around) if is_function else ("", "")
    made = (
        ("docs/programs.py", f"python docs/programs.py {entry.name}")
        if is_own
        else ("tests/corpus", f"python -m tests.corpus {entry.name} --pairs 5")
    )
    return Case(entry.name, entry.title, entry.page, entry.rule, gain, *texts, *made)


def _programs(function: ast.FunctionDef, source: str, around: dict[str, str]) -> tuple[str, str]:
    """Return both programs as one reads them: what each needs, then what is run."""
    *before, last = function.body[1:]  # behind the docstring
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
        return "", ""
    slow, fast = last.value.elts
    known = {node.name: node for node in before if isinstance(node, ast.FunctionDef)}
    runs = {known.get(getattr(run, "id", "")) for run in (slow, fast)}
    needed = around | {
        ",".join(_made_by(node)) or str(at): _text(node, source)
        for at, node in enumerate(before)
        if node not in runs
    }
    return _program(slow, known, needed, source), _program(fast, known, needed, source)


def _made_by(node: ast.stmt) -> list[str]:
    """Return the names that a statement makes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name)]


def _program(
    run: ast.expr, known: dict[str, ast.FunctionDef], needed: dict[str, str], source: str
) -> str:
    """Return what is run, behind what it names of that which stands before it."""
    lines, used = _run(run, known, source), dict[str, str]()
    for names, part in reversed(needed.items()):
        text = "\n".join([*used.values(), *lines])
        if names.isdigit() or any(re.search(rf"\b{name}\b", text) for name in names.split(",")):
            used[names] = part
    return "\n".join([*(_spaced(part) for part in reversed(used.values())), *lines])


def _spaced(part: str) -> str:
    return f"{part}\n" if "def " in part or part.startswith("class ") else part


def _run(run: ast.expr, known: dict[str, ast.FunctionDef], source: str) -> list[str]:
    node = known.get(getattr(run, "id", ""))
    if node is not None:
        return [_text(line, source, is_last=True) for line in node.body]
    called = "" if isinstance(run, ast.Lambda) else "()"
    return [_text(getattr(run, "body", run), source) + called]


@cache
def _around(module: str) -> dict[str, str]:
    """Return the functions of a module that are no entries, by name."""
    source = inspect.getsource(sys.modules[module])
    nodes = ast.parse(source).body
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    plain = [
        f
        for f in functions
        if not re.search("entry|twins|shown", ast.unparse(f).partition("def ")[0])
    ]
    return {node.name: _text(node, source) for node in plain}


def _text(node: ast.AST, source: str, *, is_last: bool = False) -> str:
    """Return the source of a node without indentation; of what is returned, the value."""
    if is_last and isinstance(node, ast.Return) and node.value is not None:
        node = node.value
    lines = source.splitlines()
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    if first != node.lineno:
        return textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno]))
    text = ast.get_source_segment(source, node) or ""
    head, _, rest = text.partition("\n")
    return f"{head}\n{_led(rest, node.col_offset)}" if rest else head


def _led(rest: str, columns: int) -> str:
    """Take away the indentation of the first line, as far as all others have it."""
    least = min(len(line) - len(line.lstrip()) for line in rest.splitlines() if line.strip())
    cut = min(columns, least)
    return "\n".join(line[cut:] for line in rest.splitlines())
