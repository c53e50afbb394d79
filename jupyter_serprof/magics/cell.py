"""``%%serprof``: the cell runs as it always does, with a recording around it.

The first line becomes a comment, so that top-level await, magics, the last value and the line
numbers of tracebacks stay what they are; events around the cell start and stop the recording.
Running the body inside a cell magic instead would break top-level await in a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.options import Options, help_text, parse
from jupyter_serprof.magics.show import finish, usage_errors
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_MAGIC = "%%serprof"


def _options(source: str) -> Options | None:
    """Return the options of a cell that is ours to record, else None."""
    first, _, body = source.lstrip("\n").partition("\n")
    word, _, line = first.rstrip().partition(" ")
    if word != _MAGIC or not body.strip():
        return None
    try:
        options = parse(line)
    except UsageError:
        return None
    return None if options.help or options.code else options


class CellRecorder:
    """Starts a recording before a cell that begins with the magic, and shows it after the cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        #: One entry for each cell that runs (cells can run cells); None for those without the
        #: magic.
        self._open: list[tuple[Options, Any] | None] = []

    def as_comment(self, lines: list[str]) -> list[str]:
        """Turn a first line of ``%%serprof`` with good options into a comment.

        With bad options or ``-h`` the line stays, and the registered cell magic says what is wrong;
        so it does inside a running cell (below ``%%time``, in ``run_cell``), where no event will
        follow. Cheap and without effects: IPython also calls it to see whether an input is
        complete.
        """
        if self._open or not lines or _options("".join(lines)) is None:
            return lines
        return ["# " + lines[0], *lines[1:]]

    def before(self, info: Any) -> None:  # noqa: ANN401  (IPython's ExecutionInfo)
        """Start a recording if the cell asks for one."""
        options = _options(str(info.raw_cell or ""))
        if options is None:
            self._open.append(None)
            return
        from jupyter_serprof import api

        recording = api.record(options.name or "cell", detail=options.detail)
        self._open.append((options, recording))
        recording.start()

    def after(self, result: Any) -> None:  # noqa: ANN401  (IPython's ExecutionResult)
        """Stop the recording and show it; a cell that never ran shows nothing."""
        entry = self._open.pop() if self._open else None
        if entry is None:
            return
        options, recording = entry
        error = result.error_in_exec
        recording.stop(type(error) if error is not None else None)
        if result.error_before_exec is None:
            finish(self._shell, options, recording.trace)

    def abandon(self) -> None:
        """Stop what still runs (the extension is unloaded inside a recorded cell)."""
        for entry in self._open:
            if entry is not None:
                entry[1].stop()
        self._open = [None for _ in self._open]


def run_cell_magic(shell: InteractiveShell, line: str, cell: str) -> None:
    """Serve what the transformer left: help, wrong options, and cells below another cell magic."""
    with usage_errors():
        options = parse(line)
        if options.help or not cell.strip():
            print(help_text())  # noqa: T201  (what was asked for)
            return
        if options.code:
            message = f"code stands behind the options of {_MAGIC}: {options.code}. Move it below"
            raise UsageError(message)
        _run_inside(shell, options, cell)


def _run_inside(shell: InteractiveShell, options: Options, cell: str) -> None:
    from jupyter_serprof import api

    recording = api.record(options.name or "cell", detail=options.detail)
    with recording:
        result = shell.run_cell(cell)  # type: ignore[no-untyped-call]  # IPython
        failure = result.error_in_exec
        recording.stop(type(failure) if failure is not None else None)
    if result.error_before_exec is None:
        finish(shell, options, recording.trace)
    result.raise_error()
