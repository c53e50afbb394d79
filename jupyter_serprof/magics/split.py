"""``--split``: where the time inside one dumps and one loads of a value goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import Code
from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.show import finish, finish_failed
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def run_split(shell: InteractiveShell, options: Options, code: Code) -> None:
    """Split the dumps and loads of the value of an expression; after Ctrl-C show what there is."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    if not code.is_expression:
        message = (
            "--split takes a value apart, and the code is a statement. "
            "Run the statement first, then: %serprof --split NAME"
        )
        raise UsageError(message)
    name = options.name if options.name is not None else options.code
    split = api.Split(code.call(), name)
    try:
        document = split.run()
    except KeyboardInterrupt:
        finish_failed(shell, options, split.trace)
        raise
    finish(shell, options, document)
