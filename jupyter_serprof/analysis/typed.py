"""What the typed code calls by name: the places that a remedy leaves open, as ``<values>``.

The code is the name of the recording; what stood between the quotes of a literal is hidden in it.
"""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from jupyter_serprof.analysis.spans import NAME
from jupyter_serprof.model import Finding

_ROLE = re.compile(r"<\w+>")
#: A variable, an attribute or an item of one: to read it again runs next to nothing.
PLACE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[[^()\[\]]+\])*")
_PICKLING = re.compile(r"(?:(?:ray|pickle|cloudpickle)\.)?(?:dumps|put)")
_EACH = re.compile(
    r"(?:(?:dask\.)?delayed\((?P<delayed>\w+)\)\(|(?P<remote>\w+)\.remote\(|"
    r"(?P<client>\w+)\.submit\((?P<submitted>\w+), )(?P<given>.+)\)"
)
_MAP = re.compile(r"(?P<client>\w+)\.map\((?P<function>\w+), (?P<values>\w+|range\([^()]*\))\)")
#: What is no value for a task: it has to be made here.
_LAZY = re.compile(r"delayed\(|\.(?:remote|submit|map|compute|result|persist|get)\(")
_LARGER = {"chunks": "factor * ({})", "npartitions": "max(1, ({}) // factor)"}
_MAPPED = re.compile(r"\.map_(?:blocks|partitions)$")
#: What is given a value that it cuts into parts.
_CUT = re.compile(r"\.(?:from_pandas|from_array|asarray|asanyarray)$")
_GOT = ".compute()."
_REDUCED = re.compile(rf"(.+){re.escape(_GOT)}(?:sum|mean|min|max|std|var)")
_LENGTH = re.compile(r"len\(range\((\w+)\)\)")
_LONGEST_CODE, _BINDS_NAME = 20_000, f"{NAME} = "
#: A name that no variable has: what was hidden, or is no variable.
_HIDDEN = "'...'"
_WAITS = {"ray.get": "tasks", "dask.compute": "computed"}
#: What `submit` of Dask keeps for itself of what it is given by name.
_OF_SUBMIT = {"key", "priority", "pure", "retries", "workers"}
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
    """Return a finding whose remedy has the user's names; without them its words are evidence."""
    # A remedy may have several lines: the first one whose names are all known is shown.
    if not _ROLE.search(finding.remedy):
        return finding
    lines = finding.remedy.split("\n")
    known = (line for line in lines if roles.keys() >= {*_ROLE.findall(line)})
    line, name = next(known, ""), roles.get(NAME, "name")
    if line.startswith(_BINDS_NAME) and not name.isidentifier():  # its place stays as it is
        line = f"to_send{line.removeprefix(NAME)}; pass `to_send`"
    remedy = _LENGTH.sub(r"\1", _ROLE.sub(lambda role: roles[role[0]], line))
    words = "" if remedy or NAME in lines[-1] else lines[-1].partition("   # ")[2]
    return replace(
        finding, remedy=remedy, because="; ".join(filter(None, (finding.because, words)))
    )


def roles_of(code: str) -> dict[str, str]:
    """Return what stands in code for each role that exactly one text tells.

    >>> roles_of("for x in xs: out.append(ray.get(f.remote(x)))")["<tasks>"]
    '[f.remote(x) for x in xs]'
    """
    known = defaultdict[str, list[str]](list)
    try:
        tree = ast.parse(code if len(code) <= _LONGEST_CODE else "")
        for role, text in (*_of_calls(tree), *_of_loops(tree), *_of_sizes(tree)):
            known[f"<{role}>"].append(text)
        lazies, names = known["<lazy>"], known.pop("<result>", [])
        needed = _names(*map(ast.parse, lazies))  # what the one gives the next may need
        if 1 < len(lazies) <= 4 and not needed & {*names}:  # noqa: PLR2004
            known["<lazies>"] = [", ".join(lazies)]
            known["<results>"] = [", ".join(names)] if all(names) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a label, a magic, of a file
        return {}
    single = {role: texts[0] for role, texts in known.items() if len({*texts}) == 1}
    return {role: text for role, text in single.items() if _HIDDEN not in text}


def is_chain(code: str) -> bool:
    """Tell whether code waits for Ray for what the next turn or line needs: it has an order.

    >>> is_chain("for _ in xs: v = ray.get(f.remote(v))"), is_chain("for x in xs: use(ray.get(x))")
    (True, False)
    """
    try:
        tree = ast.parse(code if len(code) <= _LONGEST_CODE else "")
        loops = (node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While))
        return any(map(_hands_on, loops)) or _in_line(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a label, a magic, of a file
        return False


def _in_line(body: Iterable[ast.stmt]) -> bool:
    """Tell whether each statement that gets needs what those before it got, but for the first."""
    made, needs = set[str](), list[bool]()
    for one in body:
        gets = [call for call in _calls([one]) if _is_get(call)]
        if gets and any(_loop(node) or isinstance(node, ast.While) for node in ast.walk(one)):
            return False
        needs += [bool(_names(*gets) & made)] * bool(gets)
        made |= _changed(one) if gets or _read(one) & made else set()
    return len(needs) > 1 and all(needs[1:])


def _hands_on(loop: ast.For | ast.While) -> bool:
    """Tell whether a get of a turn needs what a turn before it got, or decides if there is one."""
    gets = [at for at, one in enumerate(loop.body) if any(map(_is_get, _calls([one])))]
    made, size = set[str](), -1
    while len(made) > size:  # of what was got, and of what was made of that
        size = len(made)
        for at, one in enumerate(loop.body):
            made |= _changed(one) if at in gets or made & _names(one) else set()
    needed = _names(loop.test) if isinstance(loop, ast.While) else set()
    for last in gets:
        asked = _names(*(c for c in _calls([loop.body[last]]) if _is_get(c)))
        for one in reversed(loop.body[:last]):
            if found := _stored([one]) & asked:
                asked = asked - found | _read(one)
        needed |= asked
    again = _stored([loop.target]) if isinstance(loop, ast.For) else set()
    return bool(needed & made - again)


def _changed(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, and what it hands to calls, which may change it."""
    calls = list(_calls([statement]))
    asked = {part for call in calls if _is_get(call) for part in ast.walk(call)}
    given = chain.from_iterable(_given(call) for call in calls if call not in asked)
    parts = {part for one in given for part in ast.walk(one)} - asked
    return _stored([statement]) | {part.id for part in parts if isinstance(part, ast.Name)}


def _given(call: ast.Call) -> list[ast.expr]:
    what = call.func
    of = [what.value] if isinstance(what, ast.Attribute) and what.attr != "remote" else []
    return [*of, *call.args, *(keyword.value for keyword in call.keywords)]


def _read(statement: ast.stmt) -> set[str]:
    added = (node.target for node in ast.walk(statement) if isinstance(node, ast.AugAssign))
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return _names(*added) | {node.id for node in names if isinstance(node.ctx, ast.Load)}


def _of_calls(tree: ast.AST) -> _Roles:
    """Yield what calls tell wherever they stand; what needs its turn of a loop is told by that."""
    loops = [loop for node in ast.walk(tree) if (loop := _loop(node))]
    made, turns = _made([tree]), _stored(loop.target for loop in loops)
    bound, lists = {value: name for name, value in made.items()}, _collected(tree, made)
    for call in sorted(_calls([tree]), key=lambda call: (call.lineno, call.col_offset)):
        yield from _of_arguments(call, made, turns)
        role, value = _waited(call)
        text = _HIDDEN if isinstance(value, ast.Starred) else ast.unparse(value)
        if role == "computed" and not call.args:
            yield "list", lists.get(call, _HIDDEN)
        if turns & _names(value):
            continue
        if role == "tasks" and isinstance(value, ast.Name):
            is_task = ast.unparse(made.get(value.id, value)).endswith(")")
            yield from [] if is_task else [("refs", text)]
        if role == "computed":
            yield "lazy", f"({text})" if isinstance(value, ast.BinOp) else text
            yield "result", "" if call.args else bound.get(call, "")  # it gives a tuple of them
        if role in {"computed", "kept"}:
            yield "x", _variable(value) or _HIDDEN


def _of_arguments(call: ast.Call, made: dict[str, ast.expr], turns: set[str]) -> _Roles:
    """Yield what a call tells by its name and by what it is given; a turn's own value is small."""
    what, first = ast.unparse(call.func), next(iter(call.args), None)
    if _PICKLING.fullmatch(what):
        yield "name", ast.unparse(first) if first and _is_place(first) else _HIDDEN
    sent = call.args[1:] if what.endswith(".submit") else call.args[:1] * bool(_CUT.search(what))
    yield from (("name", ast.unparse(e)) for e in sent if _is_place(e) and not turns & _names(e))
    if what.endswith(".submit") and first and {e.arg for e in call.keywords} <= _OF_SUBMIT:
        held = f"lambda: {ast.unparse(ast.Call(first, call.args[1:], []))}"
        yield "held", ast.unparse(ast.Call(call.func, [ast.Name(held)], call.keywords))
    if what.endswith(".submit") and isinstance(first, ast.Attribute) and _variable(first):
        yield from (("bound", ast.unparse(first.value)), ("method", first.attr))
    if what.endswith(".remote"):
        yield from _passed(call, made)
    if what.endswith(".set_index"):
        yield "indexed", ast.unparse(call)
    if what.endswith(".merge") and isinstance(first, ast.Name):
        yield "merged", first.id
    if isinstance(first, ast.Lambda) and _MAPPED.search(what):
        yield from _as_argument(call, first)
    if found := _REDUCED.fullmatch(what):
        yield "reduced", f"{found[1]}.{ast.unparse(call)[len(found[1] + _GOT) :]}.compute()"
    if found := _MAP.fullmatch(ast.unparse(call)):
        yield from (*found.groupdict().items(), ("call", found["function"]))


def _as_argument(call: ast.Call, function: ast.Lambda) -> _Roles:
    """Yield the call with what its function captures as one more argument, if that is one thing."""
    own = [parameter.arg for parameter in function.args.args]
    free = sorted(_names(function.body) - {*own, *_LIBRARIES, *dir(builtins)})
    if len(free) == 1:
        given = ast.parse(f"dask.delayed({free[0]})", mode="eval").body
        lambda_ = ast.parse(f"lambda {', '.join([*own, free[0]])}: 0", mode="eval").body
        lambda_.body = function.body  # type: ignore[attr-defined]  # it is one
        rest = [lambda_, *call.args[1:], given]
        yield "captured", ast.unparse(ast.Call(call.func, rest, call.keywords))


def _of_sizes(tree: ast.AST) -> _Roles:
    """Yield statements whose chunks are ``factor`` times as long, or partitions so much fewer."""
    for statement in ast.walk(tree):
        trees = [statement] if isinstance(statement, ast.Assign | ast.Expr) else []
        for call, keyword in [(one, word) for one in _calls(trees) for word in one.keywords]:
            value, first = keyword.value, next(iter(call.args), None)
            each = value.elts if isinstance(value, ast.Tuple) else [value]
            shape = value if isinstance(value, ast.Tuple) else first
            if keyword.arg not in _LARGER or not all(map(_is_count, each)):
                continue
            larger = [_LARGER[keyword.arg].format(ast.unparse(size)) for size in each]
            made = f"({', '.join(larger)},)" if isinstance(value, ast.Tuple) else larger[0]
            keyword.value = ast.parse(made, mode="eval").body
            axes = len(shape.elts) if isinstance(shape, ast.Tuple) else int(_is_count(shape))
            role = f"{keyword.arg}{axes * (keyword.arg == 'chunks') or ''}"
            yield role, ast.unparse(statement)
            keyword.value = value


def _is_place(value: ast.AST) -> bool:
    """Tell whether code is a variable, an attribute or an item of one: it can be assigned."""
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name)


def _is_count(value: ast.AST | None) -> bool:
    """Tell whether code is a number of things: a literal, or computed where it stands."""
    is_literal = isinstance(value, ast.Constant) and type(value.value) is int and value.value > 0
    return is_literal or isinstance(value, ast.BinOp)


def _calls(trees: Iterable[ast.AST]) -> Iterator[ast.Call]:
    return (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))


def _made(trees: Iterable[ast.AST]) -> dict[str, ast.expr]:
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assign))
    made = {ast.unparse(node.targets[0]): node.value for node in nodes}
    return {name: value for name, value in made.items() if name not in _names(value)}


def _names(*trees: ast.AST) -> set[str]:
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _collected(tree: ast.AST, made: dict[str, ast.expr]) -> dict[ast.expr, str]:
    empty = {name for name, value in made.items() if ast.unparse(value) == "[]"}
    added = ((ast.unparse(call.func), call.args) for call in _calls([tree]) if call.args)
    lists = {given[0]: what.removesuffix(".append") for what, given in added}
    made_of = {value.elt: name for name, value in made.items() if isinstance(value, ast.ListComp)}
    return made_of | {value: name for value, name in lists.items() if name in empty}


def _waited(call: ast.Call) -> tuple[str, ast.expr]:
    """Return the role of what is waited for by a call that waits for one thing, and that."""
    if (role := _WAITS.get(ast.unparse(call.func))) and len(call.args) == 1:
        return role, call.args[0]
    if isinstance(call.func, ast.Attribute) and not call.args:
        return _METHODS.get(call.func.attr, ""), call.func.value
    return "", call


def _variable(value: ast.AST) -> str:
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call):
            value = value.func if isinstance(value.func, ast.Attribute) else ast.Constant(None)
        value = next(ast.iter_child_nodes(value), ast.Name(""))
    return "" if value.id in _LIBRARIES else value.id


def _passed(call: ast.Call, made: dict[str, ast.expr]) -> _Roles:
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
            made, sometimes = _made(loop.body), _conditional(loop.body)
            for call in _calls(loop.body):
                yield from _in_loop(loop, call, made) if call not in sometimes else ()


def _conditional(trees: Iterable[ast.AST]) -> set[ast.AST]:
    """Return what not every turn does: in a branch, or all of it where a turn or the loop ends."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    if any(isinstance(node, ast.Break | ast.Continue | ast.Return) for node in nodes):
        return set(nodes)
    return {under for node in nodes for part in _branches(node) for under in ast.walk(part)}


def _branches(node: ast.AST) -> Iterable[ast.AST]:
    if isinstance(node, ast.If):
        return (*node.body, *node.orelse)
    if isinstance(node, ast.IfExp):
        return node.body, node.orelse
    return node.values[1:] if isinstance(node, ast.BoolOp) else ()


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
        is_again = is_plain or values.startswith("range(")  # what is gone through twice
        if role == "tasks" and is_again and isinstance(value, ast.Call):
            yield "calls", f"({ast.unparse(value)} for {loop.each} in {values})"
        if _names(loop.target) & _names(value):
            yield role, loop.of(ast.unparse(value))
        elif isinstance(value, ast.Call):
            yield from ((role, loop.of(ast.unparse(value))), ("ahead", ast.unparse(value)))
    shape = _EACH.fullmatch(ast.unparse(call))
    if shape and (function := _called(loop, call, shape)):
        yield from [("function", function)] if function.isidentifier() else []
        yield "call", function
        yield "client", shape["client"] or "client"
        yield "values", values if is_plain or values.startswith("range(") else f"list({values})"


def _called(loop: _Loop, call: ast.Call, shape: re.Match[str]) -> str:
    """Return what a turn calls with its value alone: a function, or one made of its arguments."""
    function: str = shape["delayed"] or shape["remote"] or shape["submitted"]
    given = call.args[bool(shape["submitted"]) :]
    told = ", ".join(map(ast.unparse, given))
    if told == loop.each and not call.keywords:
        return function
    is_graph = shape["remote"] or call.keywords or _LAZY.search(told)
    is_of_turn = loop.each in _names(*given) and not _stored(loop.body) & _names(*given)
    return "" if is_graph or not is_of_turn else f"(lambda {loop.each}: {function}({told}))"


def _stored(trees: Iterable[ast.AST]) -> set[str]:
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
