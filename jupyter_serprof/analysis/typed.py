"""What the typed code calls by name: the places that a remedy leaves open, as ``<values>``.

The code is the name of the recording; what stood between the quotes of a literal is hidden in it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from jupyter_serprof.analysis.spans import NAME
from jupyter_serprof.model import Finding

_ROLE = re.compile(r"<\w+>")
_PICKLING = re.compile(r"(?:(?:ray|pickle|cloudpickle)\.)?(?:dumps|put)")
_EACH = re.compile(
    r"(?:(?:dask\.)?delayed\((?P<delayed>\w+)\)\(|(?P<remote>\w+)\.remote\(|"
    r"(?P<client>\w+)\.submit\((?P<submitted>\w+), )(?P<given>\w+)\)"
)
_MAP = re.compile(r"(?P<client>\w+)\.map\((?P<function>\w+), (?P<values>\w+|range\([^()]*\))\)")
_GOT = ".compute()."
_REDUCED = re.compile(rf"(.+){re.escape(_GOT)}(?:sum|mean|min|max|std|var)")
_LONGEST_CODE = 20_000
#: A name that no variable has: what was hidden, or is no variable.
_HIDDEN = "'...'"
_WAITS = {"ray.get": "tasks", "dask.compute": "computed"}
_METHODS = {"compute": "computed", "persist": "kept", "result": "futures"}
#: What stands before the point of a function of a library, and has no data.
_LIBRARIES = frozenset(("client", "cls", "da", "dask", "db", "dd", "np", "pd", "ray", "self", "xr"))

_Roles = Iterable[tuple[str, str]]


class _Loop(NamedTuple):
    """A loop or a comprehension: what each turn binds, what it goes over, what it does."""

    target: ast.expr
    values: ast.expr
    body: list[ast.AST]

    @property
    def each(self) -> str:
        return ast.unparse(self.target)

    def of(self, value: str) -> str:
        if value == self.each:
            return f"list({ast.unparse(self.values)})"
        return f"[{value} for {self.each} in {ast.unparse(self.values)}]"


def named(finding: Finding, roles: dict[str, str]) -> Finding:
    """Return a finding whose remedy has the user's names; without them its words are evidence.

    A remedy may have several lines: the first one whose names are all known is shown.
    """
    if not _ROLE.search(finding.remedy):
        return finding
    lines = finding.remedy.split("\n")
    known = (line for line in lines if roles.keys() >= {*_ROLE.findall(line)})
    remedy = _ROLE.sub(lambda role: roles[role[0]], next(known, ""))
    words = "" if remedy or NAME in lines[-1] else lines[-1].partition("   # ")[2]
    return replace(
        finding, remedy=remedy, because="; ".join(filter(None, (finding.because, words)))
    )


def roles_of(code: str) -> dict[str, str]:
    """Return what stands in code for each role that exactly one text tells.

    >>> roles_of("for x in xs: out.append(ray.get(f.remote(x)))")["<tasks>"]
    '[f.remote(x) for x in xs]'
    """
    known = defaultdict[str, set[str]](set)
    try:
        tree = ast.parse(code if len(code) <= _LONGEST_CODE else "")
        for role, text in (*_of_calls(tree), *_of_loops(tree)):
            known[f"<{role}>"].add(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a label, a magic, of a file
        return {}
    if 1 < len(known["<lazy>"]) <= 4:  # noqa: PLR2004
        known["<lazies>"] = {", ".join(sorted(known["<lazy>"]))}
    single = {role: next(iter(texts)) for role, texts in known.items() if len(texts) == 1}
    return {role: text for role, text in single.items() if _HIDDEN not in text}


def _of_calls(tree: ast.AST) -> _Roles:
    """Yield what calls tell wherever they stand; what needs its turn of a loop is told by that."""
    loops = [loop for node in ast.walk(tree) if (loop := _loop(node))]
    made, turns = _made([tree]), _stored(loop.target for loop in loops)
    for call in _calls([tree]):
        yield from _of_arguments(call, made)
        role, value = _waited(call)
        text = _HIDDEN if isinstance(value, ast.Starred) else ast.unparse(value)
        if turns & _names(value):
            continue
        if role == "tasks" and isinstance(value, ast.Name) and not _is_task(made, value):
            yield "refs", text
        if role == "computed":
            yield "lazy", f"({text})" if isinstance(value, ast.BinOp) else text
        if role in {"computed", "kept"}:
            yield "x", _variable(value) or _HIDDEN


def _of_arguments(call: ast.Call, made: dict[str, ast.expr]) -> _Roles:
    """Yield what a call tells by its name and by what it is given."""
    what, first = ast.unparse(call.func), next(iter(call.args), None)
    if _PICKLING.fullmatch(what):
        yield "name", first.id if isinstance(first, ast.Name) else _HIDDEN
    if what.endswith(".remote"):
        yield from _passed(call, made)
    if what.endswith(".merge") and isinstance(first, ast.Name):
        yield "merged", first.id
    if found := _REDUCED.fullmatch(what):
        yield "reduced", f"{found[1]}.{ast.unparse(call)[len(found[1] + _GOT) :]}.compute()"
    if found := _MAP.fullmatch(ast.unparse(call)):
        yield from found.groupdict().items()


def _calls(trees: Iterable[ast.AST]) -> Iterator[ast.Call]:
    return (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))


def _made(trees: Iterable[ast.AST]) -> dict[str, ast.expr]:
    """Return what is assigned to each name, not what is made of what it was before."""
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assign))
    made = {ast.unparse(node.targets[0]): node.value for node in nodes}
    return {name: value for name, value in made.items() if name not in _names(value)}


def _names(*trees: ast.AST) -> set[str]:
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _waited(call: ast.Call) -> tuple[str, ast.expr]:
    """Return the role of what is waited for by a call that waits for one thing, and that."""
    if (role := _WAITS.get(ast.unparse(call.func))) and len(call.args) == 1:
        return role, call.args[0]
    if isinstance(call.func, ast.Attribute) and not call.args:
        return _METHODS.get(call.func.attr, ""), call.func.value
    return "", call


def _is_task(made: dict[str, ast.expr], name: ast.Name) -> bool:
    return ast.unparse(made.get(name.id, name)).endswith(")")


def _variable(value: ast.AST) -> str:
    """Return the variable with data that a chain of methods and operators begins with."""
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call):
            value = value.func if isinstance(value.func, ast.Attribute) else ast.Constant(None)
        value = next(ast.iter_child_nodes(value), ast.Name(""))
    return "" if value.id in _LIBRARIES else value.id


def _passed(call: ast.Call, made: dict[str, ast.expr]) -> _Roles:
    """Yield the call of a task with references in place of the values that were got for it."""
    values = [made.get(ast.unparse(argument), argument) for argument in call.args]
    gets = [_waited(v)[1] if isinstance(v, ast.Call) and _is_get(v) else None for v in values]
    if any(gets):
        given = [got or argument for got, argument in zip(gets, call.args, strict=True)]
        yield "passed", ast.unparse(ast.Call(call.func, given, call.keywords))


def _is_get(call: ast.Call) -> bool:
    return _waited(call)[0] == "tasks"


def _of_loops(tree: ast.AST) -> _Roles:
    loops = [loop for node in ast.walk(tree) if (loop := _loop(node))]
    turns = _stored(loop.target for loop in loops)
    for loop in loops:
        # What another loop around it binds is no name outside of that.
        if not (turns - _stored([loop.target])) & _names(loop.values, *loop.body):
            made = _made(loop.body)
            for call in _calls(loop.body):
                yield from _in_loop(loop, call, made)


def _loop(node: ast.AST) -> _Loop | None:
    if isinstance(node, ast.For):
        return _Loop(node.target, node.iter, [*node.body])
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
        only = node.generators[0]
        return None if only.ifs else _Loop(only.target, only.iter, [node.elt])
    return None


def _in_loop(loop: _Loop, call: ast.Call, made: dict[str, ast.expr]) -> _Roles:
    """Yield what a call in each turn tells; nothing where it needs what the turn before made."""
    values, is_plain = ast.unparse(loop.values), isinstance(loop.values, ast.Name)
    if ast.unparse(call.func) == "ray.put" and len(call.args) == 1:
        text = ast.unparse(call.args[0])
        yield "puts", values if is_plain and text == loop.each else loop.of(text)
    role, value = _waited(call)
    value = made.get(ast.unparse(value), value)
    if role == "tasks" and ast.unparse(value) == loop.each:
        yield "refs", values if is_plain else _HIDDEN
    elif role and not _stored(loop.body) & _names(value):
        if _names(loop.target) & _names(value):
            yield role, loop.of(ast.unparse(value))
        elif isinstance(value, ast.Call):
            yield from ((role, loop.of(ast.unparse(value))), ("ahead", ast.unparse(value)))
    shape = _EACH.fullmatch(ast.unparse(call))
    if shape and shape["given"] == loop.each:
        yield "function", shape["delayed"] or shape["remote"] or shape["submitted"]
        yield "client", shape["client"] or "client"
        yield "values", values if is_plain or values.startswith("range(") else f"list({values})"


def _stored(trees: Iterable[ast.AST]) -> set[str]:
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
