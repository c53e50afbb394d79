"""Compiling what was typed, as IPython would: its syntax, the user's names, no frames of ours."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_AWAIT = (
    "top-level await runs only in a cell whose first line is %%{0}. "
    "Write %%{0} on the first line and the code below it"
)
_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Code(NamedTuple):
    """Compiled code, to be called as often as needed, and whether it is one expression."""

    call: Callable[[], object]
    is_expression: bool


def compile_code(
    shell: InteractiveShell,
    code: str,
    local_ns: dict[str, object] | None = None,
    *,
    magic: str = "serprof",
) -> Code:
    """Compile statements; the call returns the value of the last one if it is an expression.

    Parameters
    ----------
    local_ns
        The variables around the magic, where it stands inside a function.

    Raises
    ------
    UsageError
        For a syntax error (in one message, without frames of ours), and for top-level await, which
        needs the event loop that is busy running the magic.
    """
    try:
        source = str(shell.transform_cell(code))  # type: ignore[no-untyped-call]  # IPython
        file_name = shell.compile.cache(source)
        parse: Any = shell.compile.ast_parse
        body = list(shell.transform_ast(parse(source, file_name)).body)  # type: ignore[no-untyped-call]
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        statements = _compiled(shell, ast.Module(body, []), file_name, "exec")
        value = _compiled(shell, ast.Expression(last.value), file_name, "eval") if last else None
    except SyntaxError as error:
        raise UsageError(_told(error)) from None
    if any(one is not None and one.co_flags & _COROUTINE for one in (statements, value)):
        raise UsageError(_AWAIT.format(magic))
    return Code(_caller(shell, local_ns, statements, value), last is not None and not body)


def _compiled(shell: InteractiveShell, tree: ast.AST, file_name: str, mode: str) -> Any:  # noqa: ANN401
    compiler: Any = shell.compile  # it takes trees and flags, its annotation says str
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        return compiler(tree, file_name, mode)


def _told(error: SyntaxError) -> str:
    """Say what is wrong as Python does, with the line and a mark below it."""
    # Python 3.13 has a private kind of it for what is incomplete.
    kind = type(error) if isinstance(error, IndentationError) else SyntaxError
    said = f"{kind.__name__}: {error.msg}"
    if error.text is None:
        return said
    line = error.text.rstrip("\n")
    mark = " " * ((error.offset or 1) - 1) + "^"
    return f"{said}\n    {line}\n    {mark}"


def _caller(
    shell: InteractiveShell,
    local_ns: dict[str, object] | None,
    statements: Any,  # noqa: ANN401  (code objects)
    value: Any,  # noqa: ANN401
) -> Callable[[], object]:
    is_inside = local_ns is not None and local_ns is not shell.user_ns
    # A comprehension or a lambda in the code finds the function's variables only as globals.
    names = {**shell.user_ns, **local_ns} if is_inside and local_ns else shell.user_ns

    def call() -> object:
        __tracebackhide__ = True
        exec(statements, names, local_ns)  # noqa: S102  (running the user's code is the task)
        return eval(value, names, local_ns) if value is not None else None  # noqa: S307  (the same)

    return call
