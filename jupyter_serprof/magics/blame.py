"""``--blame``: which part of a value, or of the values that cross, makes the pickle large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import Code
from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.show import finish, finish_failed
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_ALONE = ("repeat", "transports", "sweep", "compare")


def check_blame(options: Options) -> None:
    """Refuse what does not go together, before the code runs.

    Raises
    ------
    UsageError
        With the line to write instead.
    """
    for name in _ALONE:
        if options.blame and getattr(options, name) is not None:
            message = (
                f"--blame opens one value, --{name} runs it many times. "
                f"Write %serprof --blame {options.code}"
            )
            raise UsageError(message)


def run_blame(shell: InteractiveShell, options: Options, code: Code) -> None:
    """Open the value of an expression; of statements, the largest values that crossed."""
    __tracebackhide__ = True
    if code.is_expression:
        _open_value(shell, options, code.call())
    else:
        _open_crossed(shell, options, code)


def _open_value(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    run = api.BlameRun(value, _name(options), detail=options.detail)
    try:
        trace = run.run()
    except BaseException:
        finish_failed(shell, options, run.trace)
        raise
    finish(shell, options, trace)


def _open_crossed(shell: InteractiveShell, options: Options, code: Code) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    recording = api.record(_name(options), detail=options.detail, blame=True)
    try:
        with recording:
            code.call()
    except BaseException:
        finish_failed(shell, options, recording.trace)
        raise
    finish(shell, options, recording.trace)


def _name(options: Options) -> str:
    return options.name if options.name is not None else options.code
