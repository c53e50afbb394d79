"""``--compare FILE_OR_NAME CODE``: run it now, and set it against a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import compile_code
from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.show import check_limit, measure, subject_of
from jupyter_serprof.magics.together import check
from jupyter_serprof.model import Sweep, Trace, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof import api
    from jupyter_serprof.magics.code import Code
    from jupyter_serprof.magics.options import Range

    Run = Callable[[], Sweep]


def run_compare(
    shell: InteractiveShell, options: Options, code: Code, names: Mapping[str, object]
) -> None:
    """Run the code as often as a comparison needs, show both, and raise if it is too slow."""
    from jupyter_serprof import api
    from jupyter_serprof.api.comparisons import check_question, stopped

    __tracebackhide__ = True
    before = document_named(options.compare or "", names)
    check_question(before.name, options.title)
    first = api.record(options.title, detail=options.detail)
    value, is_value = subject_of(shell, options, code, first, lambda trace: stopped(before, trace))
    if is_value or options.transports is not None:
        runs: api.Experiment[Sweep] = _round_trip(options, before, value)
    else:
        name, cold = options.title, [first.trace]
        runs = api.Repeats(code.call, name, options.detail, cold, options.repeat)
    del value
    document = measure(shell, options, api.Against(before, runs))
    check_limit(options, document)


def _round_trip(options: Options, before: Trace | Sweep, value: object) -> api.RoundTrip:
    from jupyter_serprof import api

    return api.RoundTrip(
        value,
        name=options.title,
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


def swept_code(
    shell: InteractiveShell, options: Options, wanted: Range, local_ns: dict[str, object] | None
) -> Callable[[float], object]:
    """Return code as a function of one variable; a variable of that name stays what it is.

    Raises
    ------
    UsageError
        For a syntax error, and for a statement.
    """

    def compiled(size: float) -> Code:
        # Names of its own: nothing in the user's namespace has to be put back afterwards.
        return compile_code(shell, options.code, {**(local_ns or {}), wanted.name: size})

    check(options, is_statement=not compiled(0).is_expression)
    calls: dict[float, Callable[[], object]] = {}

    def call(size: float) -> object:
        __tracebackhide__ = True
        if size not in calls:
            calls[size] = compiled(size).call
        return calls[size]()

    return call
