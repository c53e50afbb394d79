"""A script or a module, run as Python runs it: it does not notice that it is recorded."""

from __future__ import annotations

import builtins
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import open_code
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from zipfile import is_zipfile

from jupyter_serprof.model import SerprofError, Sweep, Trace, UsageError, load

#: What the interpreter's own end of a program by Ctrl-C is to a shell.
_INTERRUPTED = 130
SCRIPTS = (".py", ".pyw")
_MACHINERY = ("<frozen runpy>", __file__)


class ProgramError(SerprofError):
    """A program that was to be measured several times ended with another status than 0."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"{name} ended with exit status {status}: that run is left out")
        self.status = status


@dataclass(slots=True)
class RecordedProgram:
    """A program that is recorded in a process of its own; the first run is heard, others not.

    ``words``: The script or module, and its arguments.
    ``options``: Of ours, for each run.
    """

    words: Sequence[str]
    is_module: bool
    options: Sequence[str] = ()
    _out: int | None = None

    def __post_init__(self) -> None:
        """Refuse a script that is not there, before anything runs."""
        check_script(self.words[0], is_module=self.is_module)

    def __call__(self) -> Trace | Sweep:
        """Run it and return what was recorded."""
        ours = [sys.executable, "-m", "jupyter_serprof", "-q", *self.options]
        with TemporaryDirectory(prefix="serprof") as folder:
            file = Path(folder, "run.serprof.json")
            command = [*ours, "--save", str(file), *["-m"] * self.is_module, *self.words]
            status = subprocess.run(command, stdout=self._out, check=False).returncode  # noqa: S603  (what was typed)
            self._out = subprocess.DEVNULL
            if status:
                raise ProgramError(self.words[0], status)
            return load(file)


def check_script(word: str, *, is_module: bool) -> None:
    """Refuse a script that is not there."""
    if not is_module and not os.path.isfile(_code_path(word)):  # noqa: PTH113
        message = f"there is no script {word}. Write the path of one, or -m and a module"
        raise UsageError(message)


def is_program(word: str) -> bool:
    """Tell the name of a script from a statement."""
    return word.endswith(SCRIPTS) or os.path.isfile(_code_path(word))  # noqa: PTH113  (no name at all)


def _code_path(word: str) -> str:
    """Return the file of a script; of a folder that is one, what Python runs of it."""
    return os.path.join(word, "__main__.py") if os.path.isdir(word) else word  # noqa: PTH112, PTH118


def _run_script(path: str) -> None:
    """Run a script as ``__main__``; runpy would make its name in ``sys.argv`` another one."""
    if is_zipfile(path):
        runpy.run_path(path, run_name="__main__")
        return
    with open_code(path) as file:
        code = compile(file.read(), path, "exec")
    module, before = ModuleType("__main__"), sys.modules["__main__"]
    vars(module).update(__file__=path, __cached__=None, __builtins__=builtins)
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))  # noqa: S102  (what was typed)
    finally:
        sys.modules["__main__"] = before


def run_program(
    words: Sequence[str], recording: AbstractContextManager[object], *, is_module: bool
) -> int:
    """Run a program, as which words[1:] are the arguments, and return its exit status."""
    check_script(words[0], is_module=is_module)
    sys.argv = list(words)
    # As Python does: a script finds what lies beside it, a module what lies here.
    sys.path[0] = str(Path.cwd() if is_module else Path(_code_path(words[0])).resolve().parent)
    try:
        with recording:
            try:
                if is_module:
                    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
                else:
                    _run_script(os.path.abspath(_code_path(words[0])))  # noqa: PTH100  (links stay)
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
