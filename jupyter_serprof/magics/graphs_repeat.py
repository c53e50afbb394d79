"""``%graphstages --repeat N y``, ``--compare FILE_OR_NAME y``: many runs, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import Code
from jupyter_serprof.magics.compare import document_named
from jupyter_serprof.magics.options import GRAPHSTAGES, Options
from jupyter_serprof.magics.run import shown_even_if_stopped
from jupyter_serprof.magics.show import finish_failed
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.model import Sweep

    Tell = Callable[[Sweep], None] | None


def is_repeated(options: Options) -> bool:
    """Tell whether many runs were asked for."""
    return options.repeat is not None or options.compare is not None


def check_repeats(options: Options) -> None:
    """Refuse what does not go together with many runs, before the code runs.

    Raises
    ------
    UsageError
        With the line to write instead.
    """
    if options.sweep is not None or not is_repeated(options):
        return
    flag = "--repeat" if options.compare is None else "--compare"
    if not options.code:
        message = f"{flag} needs code: %graphstages {flag} {GRAPHSTAGES.flags[flag][1]} x.sum()"
        raise UsageError(message)
    for other, is_given in (("--blame", options.blame), ("--try", options.try_)):
        if is_given:
            message = (
                f"{other} looks into one run, and {flag} makes many. "
                f"Write %graphstages {other} {options.code}"
            )
            raise UsageError(message)


def run_repeats(
    shell: InteractiveShell, options: Options, code: Code, names: Mapping[str, object]
) -> None:
    """Run the code many times and show the runs; against a document, raise if it is too slow."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    before = None
    if options.compare is not None:
        before = document_named(options.compare, names, GRAPHSTAGES.magic)
        api.checked_before(before)
    runs = api.GraphRepeats(
        code.call,
        options.code if options.name is None else options.name,
        options.compute,
        options.timeout,
        options.detail,
        not code.is_expression,
        options.code,
        before,
    )
    try:
        runs.begin()
    except BaseException:
        if runs.partial is not None:
            finish_failed(shell, options, runs.partial)
        raise
    made: list[Sweep] = []

    def run(tell: Tell) -> Sweep:
        __tracebackhide__ = True
        made.append(runs.run(options.repeat, tell))
        return made[0]

    shown_even_if_stopped(shell, options, run, runs)
    if options.fail_above is not None:
        api.check_limit(made[0].comparison, options.fail_above, made[0])
