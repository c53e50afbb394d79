"""``%graphstages --sweep chunk=100:4000:8 make(chunk)``: the same with many chunk sizes."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import compile_code
from jupyter_serprof.magics.options import GRAPHSTAGES, Options
from jupyter_serprof.magics.run import shown_even_if_stopped
from jupyter_serprof.magics.sweep import COMPARED, LIMITED, sizes_of, swept_code
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.magics.ranges import Range

_NOTHING = (
    "--sweep needs code that makes a collection, or the name of one: "
    "%graphstages --sweep {0}={1:g}:{2:g}:{3} make({0})"
)
_STATEMENT = (
    "--sweep runs the collection of an expression, and the code is a statement. Put it into a "
    "function f of {0} that returns the collection, then: "
    "%graphstages --sweep {0}={1:g}:{2:g}:{3} f({0})"
)
_UNUSED = (
    "the code does not use {0}, and its value is of type {4}, no Dask collection that could be cut "
    "anew. Write code that makes one: %graphstages --sweep {0}={1:g}:{2:g}:{3} make({0})"
)
_BLAME = (
    "--blame opens the graph of one run. Sweep first, then: %graphstages --blame CODE with the "
    "chunk size that you want to look into"
)
_TRY = (
    "--try runs one computation in pairs. Sweep first, then: %graphstages --try CODE with the "
    "chunk size that you want to improve"
)


def check_chunk_sweep(options: Options) -> None:
    """Refuse options that do not go together with a sweep.

    Raises
    ------
    UsageError
        With what to write instead.
    """
    if options.sweep is None:
        return
    for is_given, message in (
        (options.blame, _BLAME),
        (options.try_, _TRY),
        (options.compare is not None, COMPARED),
        (options.fail_above is not None, LIMITED),
    ):
        if is_given:
            raise UsageError(message)


def run_chunk_sweep(
    shell: InteractiveShell, options: Options, wanted: Range, local_ns: dict[str, object] | None
) -> None:
    """Sweep over chunk sizes; what was measured until an error or Ctrl-C is shown, too."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    sweep = api.ChunkSweep(
        _subject(shell, options.code, wanted, local_ns),
        sizes_of(wanted),
        name=options.code if options.name is None else options.name,
        parameter=wanted.name,
        code=options.code,
        repeat=options.repeat,
        compute=options.compute,
        timeout_s=options.timeout,
        detail=options.detail,
    )
    shown_even_if_stopped(shell, options, partial(api.resumable, sweep), sweep)


def _subject(
    shell: InteractiveShell, typed: str, wanted: Range, local_ns: dict[str, object] | None
) -> object:
    """Return the code as a function of the variable; without it in the code, the collection."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    example = (wanted.name, wanted.low, wanted.high, wanted.count)
    if not typed:
        raise UsageError(_NOTHING.format(*example))
    code = compile_code(shell, typed, local_ns, magic=GRAPHSTAGES.magic)
    if not code.is_expression:
        raise UsageError(_STATEMENT.format(*example))
    if _uses(typed, wanted.name):
        return swept_code(shell, typed, wanted.name, local_ns)
    value = code.call()
    if not api.is_collection(value):
        raise UsageError(_UNUSED.format(*example, type(value).__name__))
    return value


def _uses(typed: str, name: str) -> bool:
    """Tell whether code uses a name; what only IPython can read is taken to."""
    try:
        tree = ast.parse(typed)
    except SyntaxError:
        return True
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
