"""``%serprof --sweep n=1e3:1e8:12 CODE``: the same for many sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import compile_code
from jupyter_serprof.magics.options import Options
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.magics.ranges import Range

#: The examples of the help, for what cannot be swept.
_STATEMENT = (
    "--sweep measures an expression, and the code is a statement. "
    "Put it into a function f of {0}, then: %serprof --sweep {0}=FROM:TO:COUNT f({0})"
)
COMPARED = (
    "--sweep does not go with --compare. Store the sweep with -o now, and compare it later: "
    "sp.compare(before, after)"
)
LIMITED = (
    "--sweep does not go with --fail-above, which is a limit of a comparison. "
    "Store both sweeps with -o, then: sp.compare(before, after)"
)
#: What is done with a value or a run, not with many sizes of it: flag -> field of the options.
_OF_ONE_SIZE = {"--split": "split", "--blame": "blame", "--link": "link", "--try": "try_"}
_BEFORE = {"--link": "--try "}


def swept_code(
    shell: InteractiveShell, code: str, name: str, local_ns: dict[str, object] | None
) -> Callable[[float], object]:
    """Return code as a function of one variable; a variable of that name stays what it is.

    Raises
    ------
    UsageError
        For a syntax error, and for a statement.
    """
    if not compile_code(shell, code, {**(local_ns or {}), name: 0}).is_expression:
        raise UsageError(_STATEMENT.format(name))
    calls: dict[float, Callable[[], object]] = {}

    def call(size: float) -> object:
        __tracebackhide__ = True
        if size not in calls:
            # Names of its own: nothing in the user's namespace has to be put back afterwards.
            calls[size] = compile_code(shell, code, {**(local_ns or {}), name: size}).call
        return calls[size]()

    return call


def check_sweep(options: Options) -> None:
    """Refuse options that do not go together with a sweep, and one of nothing.

    Raises
    ------
    UsageError
        With the line to write instead.
    """
    wanted = options.sweep
    if wanted is None:
        return
    if not options.code:
        typed = f"{wanted.name}={wanted.low:g}:{wanted.high:g}:{wanted.count}".replace("e+0", "e")
        message = (
            "what should be swept is missing behind --sweep. "
            f"Write an expression: %serprof --sweep {typed} bytes(int({wanted.name}))"
        )
        raise UsageError(message)
    if options.compare is not None:
        raise UsageError(COMPARED)
    for flag, field in _OF_ONE_SIZE.items():
        if getattr(options, field):
            value = f" {options.link}" if flag == "--link" else ""
            message = (
                f"--sweep does not go with {flag}, which is about one size. "
                f"Choose one: {wanted.name} = {_typed(wanted.high)}, then: "
                f"%serprof {_BEFORE.get(flag, '')}{flag}{value} {options.code}"
            )
            raise UsageError(message)
    if options.fail_above is not None:
        raise UsageError(LIMITED)


def _typed(number: float) -> str:
    """Return a number as code has it: whole ones without a point, as a sweep passes them."""
    return f"{number:.0f}" if number.is_integer() else f"{number:g}"


def sizes_of(wanted: Range) -> tuple[float, ...]:
    """Return the sizes of a range, equally far apart in their logarithm."""
    from jupyter_serprof import api

    return api.log_spaced(wanted.low, wanted.high, wanted.count)
