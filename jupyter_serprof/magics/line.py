"""``%serprof CODE``: run it and show it; a value that serializes nothing makes the round trip."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.options import Options, help_text, parse
from jupyter_serprof.magics.show import finish, usage_errors

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.api import Recording
    from jupyter_serprof.model import Sweep, Trace


def run_line(shell: InteractiveShell, line: str, local_ns: dict[str, object] | None) -> None:
    """Run what stands behind the magic in the user's namespace."""
    with usage_errors():
        __tracebackhide__ = True
        options = parse(line)
        if options.help or not options.code:
            print(help_text())  # noqa: T201  (what was asked for)
            return
        _run(shell, options, local_ns)


def _run(shell: InteractiveShell, options: Options, local_ns: dict[str, object] | None) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    call, is_expression = _compiled(shell, options.code, local_ns)
    if options.transports is not None and is_expression:
        _round_trip(shell, options, call())
    elif options.repeat is not None:
        _repeat(shell, options, call, is_expression=is_expression)
    else:
        recording = api.record(_name(options), detail=options.detail)
        value = _recorded(shell, options, recording, call)
        if is_expression and value is not None and not recording.has_spans:
            _round_trip(shell, options, value)
        else:
            finish(shell, options, recording.trace)


def _recorded(
    shell: InteractiveShell,
    options: Options,
    recording: Recording,
    call: Callable[[], object],
) -> object:
    __tracebackhide__ = True
    try:
        with recording:
            return call()
    except BaseException:
        if recording.has_spans:
            finish(shell, options, recording.trace)
        raise


def _repeat(
    shell: InteractiveShell, options: Options, call: Callable[[], object], *, is_expression: bool
) -> None:
    from jupyter_serprof import api

    first = api.record(_name(options), detail=options.detail)
    value = _recorded(shell, options, first, call)
    if is_expression and value is not None and not first.has_spans:
        _round_trip(shell, options, value)
        return
    del value
    repeats = api.Repeats(call, _name(options), options.detail, [first.trace])
    _shown_even_if_stopped(shell, options, lambda: repeats.run_again(options.repeat or 1), repeats)


def _round_trip(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api

    trip = api.RoundTrip(
        value,
        name=_name(options),
        transports=options.transports,
        repeat=options.repeat,
        detail=options.detail,
    )
    _shown_even_if_stopped(shell, options, trip.run, trip)


def _shown_even_if_stopped(
    shell: InteractiveShell,
    options: Options,
    run: Callable[[], Sweep],
    partial: Any,  # noqa: ANN401
) -> None:
    try:
        document: Sweep | Trace = run()
    except (Exception, KeyboardInterrupt):
        if partial.sweep.points:
            finish(shell, options, partial.sweep)
        raise
    finish(shell, options, document)


def _name(options: Options) -> str:
    return options.name if options.name is not None else options.code


def _compiled(
    shell: InteractiveShell, code: str, local_ns: dict[str, object] | None
) -> tuple[Callable[[], object], bool]:
    """Compile as IPython would; return a callable and whether it gives a value."""
    source = str(shell.transform_cell(code)).rstrip("\n")  # type: ignore[no-untyped-call]  # IPython
    file_name = shell.compile.cache(source)
    tree = ast.parse(source, file_name)
    only = tree.body[0] if len(tree.body) == 1 else None
    compiler: Any = shell.compile  # it takes trees, its annotation says str
    if isinstance(only, ast.Expr):
        compiled = compiler(ast.Expression(only.value), file_name, "eval")
        return _caller(eval, compiled, shell, local_ns), True
    return _caller(exec, compiler(tree, file_name, "exec"), shell, local_ns), False


def _caller(
    run: Any,  # noqa: ANN401  (eval or exec)
    compiled: object,
    shell: InteractiveShell,
    local_ns: dict[str, object] | None,
) -> Callable[[], object]:
    def call() -> object:
        __tracebackhide__ = True
        return run(compiled, shell.user_ns, local_ns)

    return call
