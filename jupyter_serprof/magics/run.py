"""``%serprof CODE``: run it and show it; a value that serializes nothing makes the round trip.

The first line that is run loads this file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from jupyter_serprof import api
from jupyter_serprof.magics.options import SERPROF, Options, Range, Syntax, parse
from jupyter_serprof.magics.together import check
from jupyter_serprof.magics.typed import Code, Typed, tried, usage_errors
from jupyter_serprof.model import Sweep, Trace, UsageError
from jupyter_serprof.model.units import without_literals

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def run_line(shell: InteractiveShell, line: str, local_ns: dict[str, object] | None) -> None:
    """Run what stands behind the magic in the user's namespace."""
    __tracebackhide__ = True
    with usage_errors():
        typed = typed_line(shell, line, local_ns)
        if typed is not None and typed.options.objects:
            _objects(typed)
        elif typed is None or not (typed.options.code or typed.live.is_seen):
            print(SERPROF.help)  # noqa: T201  (what was asked for, or where no panel is seen)
        elif not typed.options.code:
            show_panel(typed)
        elif typed.options.sweep is not None:
            _sweep(typed, typed.options.sweep)
        else:
            _run_as_asked(typed, typed.compiled())


def typed_line(
    shell: InteractiveShell, line: str, local_ns: dict[str, object] | None, syntax: Syntax = SERPROF
) -> Typed | None:
    """Return what was typed, checked; None where it asks for help.

    Raises ``UsageError``: If it is wrong, or has options and no code. Only ``-o`` can stand alone:
        a panel stores there what it measures.
    """
    options = parse(line, syntax)
    if options.help:
        return None
    check(options, syntax)
    alone = replace(options, out=None)
    if not (options.code or options.objects) and alone != Options():
        wanted = f"f({options.sweep.name})" if options.sweep else "CODE"
        message = f"the code to run is missing: %{syntax.magic} {line.strip()} {wanted}"
        raise UsageError(message)
    return Typed(shell, options, syntax, local_ns)


def _run_as_asked(typed: Typed, code: Code) -> None:
    __tracebackhide__ = True
    options = typed.options
    if options.blame:
        _blame(typed, code)
    elif options.try_:
        _try(typed, code)
    else:
        if options.transports is not None:
            # What cannot work is refused before the code runs, which may take long.
            api.RoundTrip(None, transports=options.transports)
        _run(typed, code)


def _run(typed: Typed, code: Code) -> None:
    """Run code, repeated and against a document if that was asked for, or send its value."""
    __tracebackhide__ = True
    options, before = typed.options, document_before(typed)
    if before is None and options.transports is not None:
        with typed.told():
            runs: api.Experiment[Sweep] = _trip(options, code.call())
        measure(typed, runs)
        return
    is_first = before is not None or options.repeat is not None or options.transports is not None
    tell = typed.tell and (typed.live.tell_first if is_first else typed.tell)
    first = api.record(options.title, detail=options.detail, live=tell)
    first.code = without_literals(options.code)
    value, is_value = subject_of(
        typed, code, first, lambda trace: trace if before is None else api.stopped(before, trace)
    )
    if is_value or options.transports is not None:
        with typed.told():
            runs = _trip(options, value, before)
    elif before is None and options.repeat is None:
        del value
        with api.kept(lambda: options.named(first.trace)):
            typed.finish(first.trace)
        return
    else:
        name, cold = options.title, [first.trace]
        runs = api.Repeats(code.call, name, options.detail, cold, options.repeat)
    del value
    measure(typed, runs, before)


def _trip(options: Options, value: object, before: Trace | Sweep | None = None) -> api.RoundTrip:
    title, asked, repeat = options.title, options.transports, options.repeat
    return api.trip_like(before, value, title, asked, repeat, detail=options.detail)


def document_before(typed: Typed) -> Trace | Sweep | None:
    """Return the document that ``--compare`` names: in a variable, or else in a file.

    Raises ``UsageError``: If the variable holds something else and there is no such file, or it is
        of other code.
    Raises ``DocumentError``: If the file cannot be read.
    """
    given, title = typed.options.compare, (typed.options.name or "").strip() or typed.options.title
    if given is None:
        return None
    known = typed.names.get(given)
    if isinstance(known, Trace | Sweep):
        before = known if known.name else replace(known, name=given)
    else:
        try:
            before = api.document_of(given)
        except Exception:
            if known is None:
                raise
            message = (
                f"{given} is a {type(known).__name__} and no document, and there is no file of "
                f"that name. Make one first: %{typed.syntax.magic} --repeat 15 -o {given} CODE"
            )
            raise UsageError(message) from None
    api.check_question(before.name, title)
    return before


def subject_of(
    typed: Typed,
    code: Code,
    recording: Any,  # noqa: ANN401  (a Recording; magics import no layer below the API)
    explained: Callable[[Trace], Trace] = lambda trace: trace,
) -> tuple[object, bool]:
    """Run code once: its value, and whether that is what is asked about.

    It is where the code is an expression that serializes nothing; else the run itself is. After an
    error what was recorded is shown, as ``explained`` tells it.
    """
    __tracebackhide__ = True
    with typed.telling(lambda _: explained(recording.trace), recording), recording:
        value = code.call()
    return value, code.is_expression and value is not None and not recording.has_spans


def measure(
    typed: Typed, experiment: api.Experiment[Sweep], before: Trace | Sweep | None = None
) -> None:
    """Run an experiment, live, and finish its document; after an error what there is by then.

    Raises ``RegressionError``: If it is slower than the document before by more than
        ``--fail-above`` allows.
    """
    __tracebackhide__ = True
    live, options = typed.live, typed.options
    if before is not None:
        experiment = api.Against(before, experiment, options.named)
    has_any = lambda _: bool(experiment.document.points)  # noqa: E731
    with typed.telling(lambda _: experiment.document, is_worth=has_any):
        show = live.show if live.is_seen and not options.quiet else None
        document = api.run(experiment, show, live=typed.tell)
    typed.finish(document)
    limit = options.fail_above
    if limit is not None and (said := api.check_limit(document.comparison, limit, document)):
        print(said, file=sys.stderr)  # noqa: T201  (beside the document, which has its place)


def swept_code(typed: Typed, wanted: Range) -> Callable[[float], object]:
    """Return code as a function of one variable; a variable of that name stays what it is.

    Raises ``UsageError``: For a syntax error, and for a statement.
    """

    @cache
    def compiled(size: float) -> Code:
        # Names of its own: nothing in the user's namespace has to be put back afterwards.
        return replace(typed, local_ns={**(typed.local_ns or {}), wanted.name: size}).compiled()

    compiled(0)  # what is wrong with it is said before anything runs

    def call(size: float) -> object:
        __tracebackhide__ = True
        return compiled(size).call()

    return call


def show_panel(typed: Typed) -> None:
    """Show the panel of a magic; its documents are stored and shown as of any line."""
    from jupyter_serprof.panel.sizes import show_panel as show

    shell, local_ns = typed.shell, typed.local_ns

    def namespace() -> dict[str, object]:
        hidden = shell.user_ns_hidden
        mine = {name: value for name, value in shell.user_ns.items() if name not in hidden}
        return {**mine, **(local_ns if local_ns and local_ns is not shell.user_ns else {})}

    show(namespace, typed.finish, is_graph=typed.syntax is not SERPROF)


def run_once(
    typed: Typed, experiment: api.Experiment[Trace], is_worth: Callable[[], bool] = lambda: True
) -> Trace:
    """Run an experiment of one run; after an error finish what there is, if it is worth it."""
    __tracebackhide__ = True
    has_any = lambda error: is_worth() and not isinstance(error, UsageError)  # noqa: E731
    with typed.telling(lambda _: experiment.document, is_worth=has_any):
        return api.run(experiment, live=typed.tell)


def _blame(typed: Typed, code: Code) -> None:
    """Open the largest values that crossed; of an expression that serializes nothing, its value."""
    __tracebackhide__ = True
    title, detail = typed.options.title, typed.options.detail
    with typed.told():  # what it imports takes long
        recording = api.record(title, detail=detail, blame=True, live=typed.tell)
    value, is_value = subject_of(typed, code, recording)
    if is_value:
        typed.finish(run_once(typed, api.BlameRun(value, title, detail=detail)))
    else:
        del value
        typed.finish(recording.trace)


def _objects(typed: Typed) -> None:
    """Tell who holds the objects in Ray's stores, or those that the value of the code refers to."""
    of = [typed.compiled().call()] if typed.options.code else None
    typed.finish(api.objects(of, names=typed.names))


def _try(typed: Typed, code: Code) -> None:
    """Try remedies on the value of an expression; of code that serializes, on what it sent."""
    __tracebackhide__ = True
    options = typed.options
    recording = api.TryingRecording(options.title, detail=options.detail)
    recording.live = typed.tell
    value, is_value = subject_of(typed, code, recording)
    if not is_value:
        del value
        typed.finish(tried(typed, recording, recording.trace))
        return
    recording.let_go()
    if api.is_collection(value):
        message = f"{options.title} is a Dask collection. Write %graphstages --try {options.code}"
        raise UsageError(message)
    measure(typed, api.Tryout(value, name=options.title))


def _sweep(typed: Typed, wanted: Range) -> None:
    __tracebackhide__ = True
    options = typed.options
    with typed.told():
        sweep = api.size_sweep(
            swept_code(typed, wanted),
            api.log_spaced(wanted.low, wanted.high, wanted.count),
            options.transports,
            options.repeat,
            name=options.title,
            parameter=wanted.name,
            detail=options.detail,
        )
    measure(typed, sweep)
