"""Cell magics: the cell runs as it always does, with a recording around it.

The first line becomes a comment, so that top-level await, magics, the last value and the line
numbers of tracebacks stay what they are; events around the cell start and stop the recording.
Running the body inside a cell magic instead would break top-level await in a kernel.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.options import GRAPHSTAGES, SYNTAXES, Syntax, parse_cell
from jupyter_serprof.magics.together import check
from jupyter_serprof.magics.typed import Typed, tried, usage_errors
from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import without_literals

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.model import Trace


def _asked(shell: InteractiveShell, source: str) -> Typed | None:
    first, _, body = source.partition("\n")
    word, *rest = first.split(maxsplit=1)[:2] or [""]
    syntax = SYNTAXES.get(word.removeprefix("%%")) if word.startswith("%%") else None
    if syntax is None or not body.strip():
        return None
    if syntax is GRAPHSTAGES and find_spec("dask") is None:
        return None
    try:
        options = parse_cell("".join(rest), syntax)
        check(options, syntax)
    except UsageError:
        return None
    return None if options.help else Typed(shell, options, syntax)


def _recording(typed: Typed) -> Any:  # noqa: ANN401  (a Recording)
    from jupyter_serprof import api

    options, is_graph = typed.options, typed.syntax is GRAPHSTAGES
    name, detail = options.name or "cell", options.detail
    if options.try_ and not is_graph:
        recording: Any = api.TryingRecording(name, detail=detail)
    else:
        record = api.stage_recording if is_graph else api.record
        recording = record(name, detail=detail, blame=options.blame)
    recording.live = typed.tell
    return recording


def _trace(typed: Typed, recording: Any, error: BaseException | None = None) -> Trace:  # noqa: ANN401
    from jupyter_serprof import api

    trace: Trace = recording.trace
    return api.explained(trace, "%%serprof", error) if typed.syntax is GRAPHSTAGES else trace


@dataclass(eq=False, slots=True)
class _OpenCell:
    """A cell that runs, and its recording if it has one."""

    info: Any
    typed: Typed | None = None
    recording: Any = None


@dataclass(frozen=True, slots=True)
class _Interrupted:
    """Raises, where the code of the next cell is looked at, what came before that cell began."""

    error: KeyboardInterrupt

    def visit(self, _: object) -> object:
        raise self.error


class CellRecorder:
    """Starts a recording before a cell that begins with the magic, and shows it after the cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        #: One entry for each cell that runs: cells can run cells.
        self._open: list[_OpenCell] = []

    def as_comment(self, lines: list[str]) -> list[str]:
        """Turn a first line that is a magic of ours with good options into a comment.

        Above another cell magic, which has to be on top, it goes.
        With bad options or ``-h`` the line stays, and the registered cell magic says what is wrong.
        Inside a running cell (below ``%%time``, in ``run_cell``) the magic runs the body.
        """
        if self._open or not lines or _asked(self._shell, "".join(lines)) is None:
            return lines
        is_above = "".join(lines[1:2]).startswith("%%")
        return lines[1:] if is_above else ["# " + lines[0], *lines[1:]]

    # A terminal asks the transformers whether the input is complete. It must see the magic: a cell
    # magic goes on until an empty line, a comment and one statement do not.
    as_comment.has_side_effects = True  # type: ignore[attr-defined]

    def before(self, info: Any) -> None:  # noqa: ANN401  (IPython's ExecutionInfo)
        """Start a recording if the cell asks for one; after Ctrl-C meanwhile the cell ends."""
        entry = _OpenCell(info)
        try:
            self._begin(entry, info)
        except KeyboardInterrupt as error:
            if entry.recording is not None:
                entry.recording.stop()
            entry.typed = None
            # From here IPython would tell it as a fault of ours, and run the cell.
            self._shell.ast_transformers.append(_Interrupted(error))  # type: ignore[arg-type]  # a visitor

    def _begin(self, entry: _OpenCell, info: Any) -> None:  # noqa: ANN401  (the same)
        source = self._cleaned(str(info.raw_cell or ""))
        typed = None if self._open else _asked(self._shell, source)
        self._open.append(entry)
        if typed is None:
            return
        entry.recording, entry.typed = _recording(typed), typed
        entry.recording.code = without_literals(source.partition("\n")[2])
        entry.recording.stop_at_traceback(lambda: self._open[-1:] == [entry])
        entry.recording.start()

    def _cleaned(self, source: str) -> str:
        """Return a cell as `as_comment` saw it: without leading empty lines, indent, prompts."""
        lines = source.splitlines(keepends=True)
        for transform in self._shell.input_transformers_cleanup:
            if transform == self.as_comment:
                break
            lines = transform(lines)
        return "".join(lines)

    def after(self, result: Any) -> None:  # noqa: ANN401  (IPython's ExecutionResult, or None)
        """Stop the recording and show it; a cell that never ran shows nothing."""
        entry = self._closed(None if result is None else result.info)
        if entry is None or entry.typed is None:
            return
        try:
            self._finish(entry.typed, entry.recording, result)
        except KeyboardInterrupt as late:
            # What was measured is kept; IPython would tell it as a fault of ours.
            entry.recording.stop()
            if result is not None and result.error_in_exec is None:
                result.error_in_exec = late
                self._shell.showtraceback(exception_only=True)

    def _finish(self, typed: Typed, recording: Any, result: Any) -> None:  # noqa: ANN401
        from jupyter_serprof import api

        error = KeyboardInterrupt() if result is None else result.error_in_exec
        with closing(typed.live), api.kept(lambda: _trace(typed, recording, error)):
            with api.held():
                recording.stop(error)
            if result is not None and result.error_before_exec is not None:
                return
            document = _trace(typed, recording, error)
            if typed.options.try_ and error is None:
                document = tried(typed, recording, document)
            problem = typed.finish_failed(document)
        if problem is not None and result is not None and error is None:
            result.error_in_exec = problem  # the front end stops "Run All" at a file not written

    def _closed(self, info: Any) -> _OpenCell | None:  # noqa: ANN401
        """Take out the entry of a cell; an empty cell ends without ever having begun."""
        transformers = self._shell.ast_transformers
        transformers[:] = [one for one in transformers if not isinstance(one, _Interrupted)]
        if info is None:
            return self._open.pop() if self._open else None
        # IPython makes another info of the same cell for what was raised outside of its code.
        same = [entry for entry in self._open if entry.info.raw_cell == info.raw_cell]
        for entry in [one for one in same if one.info is info] or same[-1:]:
            del self._open[self._open.index(entry) :]
            return entry
        return None

    def abandon(self) -> None:
        """Stop and show what still runs (the extension is unloaded inside a recorded cell)."""
        entries, self._open = self._open, []
        for entry in entries:
            if entry.typed is not None:
                entry.recording.stop()
                entry.typed.finish_failed(_trace(entry.typed, entry.recording))


def run_cell_magic(shell: InteractiveShell, line: str, cell: str, syntax: Syntax) -> object:
    """Serve what the transformer left: help, wrong options, and cells inside another cell."""
    __tracebackhide__ = True
    with usage_errors():
        options = parse_cell(line, syntax)
        check(options, syntax)
        if options.help or not cell.strip():
            print(syntax.help)  # noqa: T201  (what was asked for)
            return None
        return _run_inside(Typed(shell, replace(options, code=cell), syntax))


def _run_inside(typed: Typed) -> object:
    """Run the cell here, as ``%%time`` does, and return its last value."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    if typed.syntax is GRAPHSTAGES:
        api.require_dask()
    code, recording = typed.compiled(), _recording(typed)
    recording.code = without_literals(typed.options.code)
    with typed.telling(lambda error: _trace(typed, recording, error)), recording:
        value = code.call()
    with api.kept(lambda: _trace(typed, recording)):
        trace = _trace(typed, recording)
        typed.finish(tried(typed, recording, trace) if typed.options.try_ else trace)
    return value
