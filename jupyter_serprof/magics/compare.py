"""``--compare FILE_OR_NAME CODE``: run it now, and set it against a document."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from jupyter_serprof.magics.show import finish, finish_failed
from jupyter_serprof.model import Sweep, Trace, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof import api
    from jupyter_serprof.magics.code import Code
    from jupyter_serprof.magics.options import Options

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
        trip = _round_trip(options, before, value)
        _show(shell, options, before, trip.run, trip)
        return
    del value
    repeats = api.Repeats(code.call, _name(options), options.detail, [first.trace])
    count = options.repeat or api.runs_within_budget(first.trace.wall_ns)
    _show(shell, options, before, partial(repeats.run_again, count), repeats)


def _round_trip(options: Options, before: Trace | Sweep, value: object) -> api.RoundTrip:
    from jupyter_serprof import api

    return api.RoundTrip(
        value,
        name=_name(options),
        transports=options.transports or api.transports_of(before),
        repeat=options.repeat or api.runs_within_budget(0),
        detail=options.detail,
    )


def _show(
    shell: InteractiveShell,
    options: Options,
    before: Trace | Sweep,
    run: Run,
    measured: api.Repeats | api.RoundTrip,
) -> None:
    """Show what was measured, with the comparison if there can be one."""
    from jupyter_serprof import api
    from jupyter_serprof.api.comparisons import stopped

    __tracebackhide__ = True
    try:
        document = run()
    except BaseException as error:
        sweep = measured.sweep
        if sweep.points or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, stopped(before, sweep))
        raise
    try:
        document = api.compared(before, document)
    except UsageError:  # what was measured is shown all the same
        finish_failed(shell, options, document)
        raise
    finish(shell, options, document)
    if options.fail_above is not None:
        api.check_limit(document.comparison, options.fail_above, document)


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
