"""A script or a module, run as Python runs it: it does not notice that it is recorded."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from jupyter_serprof.model import UsageError

#: What the interpreter's own end of a program by Ctrl-C is to a shell.
_INTERRUPTED = 130
_MACHINERY = ("<frozen runpy>", __file__)


def is_program(word: str) -> bool:
    """Tell the name of a script from a statement."""
    return word.endswith((".py", ".pyw")) or os.path.isfile(word)  # noqa: PTH113  (no name at all)


def run_program(
    words: Sequence[str], recording: AbstractContextManager[object], *, is_module: bool
) -> int:
    """Run a program, as which words[1:] are the arguments, and return its exit status."""
    if not is_module and not Path(words[0]).is_file():
        message = f"there is no script {words[0]}. Write the path of one, or -m and a module"
        raise UsageError(message)
    sys.argv = list(words)
    # As Python does: a script finds what lies beside it, a module what lies here.
    sys.path[0] = str(Path.cwd() if is_module else Path(words[0]).resolve().parent)
    try:
        with recording:
            try:
                if is_module:
                    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(words[0], run_name="__main__")
            except SystemExit as end:  # an end like others
                if isinstance(end.code, str):
                    print(end.code, file=sys.stderr)  # noqa: T201  (so does the interpreter)
                return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:  # noqa: BLE001  (as the interpreter ends a program)
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in _MACHINERY:
            frames = frames.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0
