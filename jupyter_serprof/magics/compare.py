"""``--compare FILE_OR_NAME CODE``: run it now, and set it against a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import compile_code
from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.show import check_limit, finish_failed, measure
from jupyter_serprof.model import Sweep, Trace, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof import api
    from jupyter_serprof.magics.code import Code
    from jupyter_serprof.magics.options import Range

    Run = Callable[[], Sweep]


def check_options(options: Options, magic: str = "serprof") -> None:
    """Refuse a limit without anything to compare with, or one that is no percentage.

    ``magic`` is the one that was typed, for messages.

    Raises
    ------
    UsageError
        With what to write instead.
    """
    from jupyter_serprof import api

    if options.fail_above is None:
        return
    api.limit_share(options.fail_above)
    if options.compare is None:
        message = (
            "--fail-above needs something to compare with: "
            f"%{magic} --compare before.serprof.json --fail-above {options.fail_above} CODE"
        )
        raise UsageError(message)


def run_compare(
    shell: InteractiveShell, options: Options, code: Code, names: Mapping[str, object]
) -> None:
    """Run the code as often as a comparison needs, show both, and raise if it is too slow."""
    from jupyter_serprof import api
    from jupyter_serprof.api.comparisons import check_question, stopped

    __tracebackhide__ = True
    before = document_named(options.compare or "", names)
    check_question(before.name, _name(options))
    first = api.record(_name(options), detail=options.detail)
    try:
        with first:
            value = code.call()
    except BaseException as error:
        if first.has_spans or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, stopped(before, first.trace))
        raise
    is_value = code.is_expression and value is not None and not first.has_spans
    if is_value or options.transports is not None:
        runs: api.Experiment[Sweep] = _round_trip(options, before, value)
    else:
        name, cold = _name(options), [first.trace]
        runs = api.Repeats(code.call, name, options.detail, cold, options.repeat)
    del value
    document = measure(shell, options, api.Against(before, runs))
    check_limit(options, document)


def _round_trip(options: Options, before: Trace | Sweep, value: object) -> api.RoundTrip:
    from jupyter_serprof import api

    return api.RoundTrip(
        value,
        name=_name(options),
        transports=options.transports or api.transports_of(before),
        repeat=options.repeat or api.runs_within_budget(0),
        detail=options.detail,
    )


def document_named(
    given: str, names: Mapping[str, object], magic: str = "serprof"
) -> Trace | Sweep:
    """Return the document in a variable, or else in a file.

    ``magic`` is the one that was typed, for messages.

    Raises
    ------
    UsageError
        If the variable holds something else and there is no such file.
    DocumentError
        If the file cannot be read.
    """
    from jupyter_serprof import api

    known = names.get(given)
    if isinstance(known, Trace | Sweep):
        return known if known.name else replace(known, name=given)
    try:
        return api.document_of(given)
    except Exception:
        if known is None:
            raise
        message = (
            f"{given} is a {type(known).__name__} and no document, and there is no file of that "
            f"name. Make one first: %{magic} --repeat 15 -o {given} CODE"
        )
        raise UsageError(message) from None


def _name(options: Options) -> str:
    return options.name if options.name is not None else options.code


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
