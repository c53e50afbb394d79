"""IPython's side: parse, call the API, display; what loading gives, unloading takes away.

In: a line that was typed. Out: one call of `jupyter_serprof.api`, and its document in the cell.

>>> from jupyter_serprof.magics.options import SERPROF, parse
>>> options = parse("--repeat 3 table[:10]", SERPROF)
>>> options.repeat, options.code
(3, 'table[:10]')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.cell import CellRecorder, run_cell_magic
from jupyter_serprof.magics.options import SERPROF, SYNTAXES, Syntax, parse
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_LOADED = "_jupyter_serprof_loaded"


class _Loaded:
    """Gives a shell magics, transformer, events and completions, and takes them away again."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.cell = CellRecorder(shell)
        self.events = {"pre_run_cell": self.cell.before, "post_run_cell": self.cell.after}
        for syntax in SYNTAXES.values():
            for kind in ("line", "cell"):
                magic = _magic(shell, syntax, is_cell=kind == "cell")
                shell.register_magic_function(magic, kind, syntax.magic)
        shell.input_transformers_cleanup.append(self.cell.as_comment)
        for name, callback in self.events.items():
            shell.events.register(name, callback)
        if _matchers(shell) is not None:
            _matchers(shell).append(complete_options)

    def remove(self, shell: InteractiveShell) -> None:
        self.cell.abandon()
        for kind in ("line", "cell"):
            for name in SYNTAXES:
                shell.magics_manager.magics[kind].pop(name, None)
        if self.cell.as_comment in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.remove(self.cell.as_comment)
        for name, callback in self.events.items():
            if callback in shell.events.callbacks[name]:
                shell.events.unregister(name, callback)
        if _matchers(shell) is not None and complete_options in _matchers(shell):
            _matchers(shell).remove(complete_options)


def load(shell: InteractiveShell) -> None:
    """Load the extension into a shell; loading it again does nothing."""
    if getattr(shell, _LOADED, None) is None:
        setattr(shell, _LOADED, _Loaded(shell))


def unload(shell: InteractiveShell) -> None:
    """Take everything away that `load` gave."""
    if (loaded := getattr(shell, _LOADED, None)) is not None:
        loaded.remove(shell)
        delattr(shell, _LOADED)


def _matchers(shell: InteractiveShell) -> Any:  # noqa: ANN401  (a list, or None without a completer)
    return getattr(shell.Completer, "custom_matchers", None)


def _magic(shell: InteractiveShell, syntax: Syntax, *, is_cell: bool) -> Any:  # noqa: ANN401
    from IPython.core.magic import needs_local_scope, no_var_expand

    def cell_magic(line: str, cell: str) -> object:
        __tracebackhide__ = True
        return run_cell_magic(shell, line, cell, syntax)

    @needs_local_scope
    def line_magic(line: str, local_ns: dict[str, object] | None = None) -> None:
        __tracebackhide__ = True
        # What a line needs is imported when the first one is run.
        from jupyter_serprof.magics.graphs import run_graphstages
        from jupyter_serprof.magics.run import run_line

        (run_line if syntax is SERPROF else run_graphstages)(shell, line, local_ns)

    magic: Any = no_var_expand(cell_magic if is_cell else line_magic)
    magic.__name__, magic.__doc__ = syntax.magic, syntax.help
    return magic


def complete_options(context: Any) -> dict[str, Any]:  # noqa: ANN401  (IPython's CompletionContext)
    """Return the options that fit, while the cursor is on one; nothing elsewhere."""
    from IPython.core.completer import SimpleCompletion

    token, flags = _place(context.line_with_cursor[: context.cursor_position])
    fitting = [SimpleCompletion(flag, type="option") for flag in flags if flag.startswith(token)]
    if not fitting:
        return {"completions": [], "suppress": False, "ordered": True}
    return {"completions": fitting, "matched_fragment": token, "suppress": True, "ordered": True}


def _place(line: str) -> tuple[str, list[str]]:
    """Return what of an option stands before the cursor, and the options that can stand there."""
    magic, _, typed = line.lstrip().partition(" ")
    head, _, token = f" {typed}".rpartition(" ")
    is_cell = magic.startswith("%%")
    syntax = SYNTAXES.get(magic.removeprefix("%%" if is_cell else "%"))
    if syntax is None or not magic.startswith("%") or not token.startswith("-"):
        return "", []
    try:
        is_code = bool(parse(head, syntax).code)
    except UsageError:  # the value of an option stands here
        is_code = True
    flags = [flag for flag in syntax.flags if not (is_cell and flag in syntax.line_only)]
    return token, [] if is_code else flags


# IPython 8.6 and later pass a context to matchers that say so.
complete_options.matcher_api_version = 2  # type: ignore[attr-defined]
complete_options.matcher_identifier = "jupyter_serprof.options"  # type: ignore[attr-defined]
complete_options.matcher_priority = 100  # type: ignore[attr-defined]
