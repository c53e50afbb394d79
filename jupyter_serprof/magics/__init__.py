"""IPython's side: parse, call the API, display; what loading gives, unloading takes away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.cell import CellRecorder, run_cell_magic
from jupyter_serprof.magics.complete import complete_options
from jupyter_serprof.magics.line import run_line
from jupyter_serprof.magics.show import add_formatters, remove_formatters

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_LOADED = "_jupyter_serprof_loaded"


class _Loaded:
    """Everything that one shell was given, so that it can be taken away again."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.cell = CellRecorder(shell)
        self.events = {"pre_run_cell": self.cell.before, "post_run_cell": self.cell.after}

    def add(self, shell: InteractiveShell) -> None:
        """Give the shell its magics, transformer, events, completions and formatters."""
        shell.register_magic_function(_line_magic(shell), "line", "serprof")
        shell.register_magic_function(_cell_magic(shell), "cell", "serprof")
        shell.input_transformers_cleanup.append(self.cell.as_comment)
        for name, callback in self.events.items():
            shell.events.register(name, callback)
        if _matchers(shell) is not None:
            _matchers(shell).append(complete_options)
        add_formatters(shell)

    def remove(self, shell: InteractiveShell) -> None:
        """Take them away."""
        self.cell.abandon()
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("serprof", None)
        if self.cell.as_comment in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.remove(self.cell.as_comment)
        for name, callback in self.events.items():
            if callback in shell.events.callbacks[name]:
                shell.events.unregister(name, callback)
        if _matchers(shell) is not None and complete_options in _matchers(shell):
            _matchers(shell).remove(complete_options)
        remove_formatters(shell)


def load(shell: InteractiveShell) -> None:
    """Load the extension into a shell; loading it again does nothing."""
    if getattr(shell, _LOADED, None) is None:
        loaded = _Loaded(shell)
        loaded.add(shell)
        setattr(shell, _LOADED, loaded)


def unload(shell: InteractiveShell) -> None:
    """Take everything away that `load` gave."""
    loaded = getattr(shell, _LOADED, None)
    if loaded is not None:
        loaded.remove(shell)
        delattr(shell, _LOADED)


def _matchers(shell: InteractiveShell) -> Any:  # noqa: ANN401  (a list, or None without a completer)
    return getattr(shell.Completer, "custom_matchers", None)


def _line_magic(shell: InteractiveShell) -> Any:  # noqa: ANN401
    from IPython.core.magic import needs_local_scope, no_var_expand

    @no_var_expand
    @needs_local_scope
    def serprof(line: str, local_ns: dict[str, object] | None = None) -> None:
        __tracebackhide__ = True
        run_line(shell, line, local_ns)

    serprof.__doc__ = _doc()
    return serprof


def _cell_magic(shell: InteractiveShell) -> Any:  # noqa: ANN401
    from IPython.core.magic import no_var_expand

    @no_var_expand
    def serprof(line: str, cell: str) -> object:
        __tracebackhide__ = True
        return run_cell_magic(shell, line, cell)

    serprof.__doc__ = _doc()
    return serprof


def _doc() -> str:
    from jupyter_serprof.magics.options import help_text

    return help_text()
