"""``%serprof CODE``: run it and show it; a value that serializes nothing makes the round trip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import Code, compile_code
from jupyter_serprof.magics.options import Options, help_text, parse
from jupyter_serprof.magics.show import (
    check_limit,
    finish,
    finish_failed,
    measure,
    subject_of,
    tried,
    usage_errors,
)
from jupyter_serprof.magics.together import check, link_rate
from jupyter_serprof.model import Sweep, Trace, UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof import api
    from jupyter_serprof.magics.options import Range

    Run = Callable[[], Sweep]
    Tell = Callable[[Sweep], None] | None


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
        runs: api.Experiment[Sweep] = _compared_trip(options, before, value)
    else:
        name, cold = options.title, [first.trace]
        runs = api.Repeats(code.call, name, options.detail, cold, options.repeat)
    del value
    document = measure(shell, options, api.Against(before, runs))
    check_limit(options, document)


def _compared_trip(options: Options, before: Trace | Sweep, value: object) -> api.RoundTrip:
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


#: What is done with the document; all else is chosen in the panel.
_TAKEN = ("out", "save")


def takes_panel(options: Options) -> bool:
    """Tell whether a panel is shown: nothing else was asked for, and somebody can see it."""
    from jupyter_serprof import api

    plain = Options()
    given = [
        entry.name
        for entry in fields(Options)
        if getattr(options, entry.name) != getattr(plain, entry.name)
    ]
    return set(given) <= set(_TAKEN) and api.Live().is_seen


def show_size_panel(
    shell: InteractiveShell, options: Options, local_ns: dict[str, object] | None
) -> None:
    """Show the panel of sweeps over sizes."""
    from jupyter_serprof.panel import sizes as panels

    panels.show_size_panel(namespace_of(shell, local_ns), keeper(shell, options))


def show_graph_panel(
    shell: InteractiveShell, options: Options, local_ns: dict[str, object] | None
) -> None:
    """Show the panel of sweeps over chunk sizes."""
    from jupyter_serprof.panel import sizes as panel_graphs

    panel_graphs.show_graph_panel(namespace_of(shell, local_ns), keeper(shell, options))


def namespace_of(
    shell: InteractiveShell, local_ns: dict[str, object] | None
) -> Callable[[], dict[str, object]]:
    """Return what gives the variables of the user, without those of IPython."""

    def namespace() -> dict[str, object]:
        hidden = shell.user_ns_hidden
        mine = {name: value for name, value in shell.user_ns.items() if name not in hidden}
        return {**mine, **(local_ns if local_ns and local_ns is not shell.user_ns else {})}

    return namespace


def keeper(
    shell: InteractiveShell, options: Options
) -> Callable[[Sweep | Trace, Callable[[Sweep | Trace], None]], None]:
    """Return what stores, shows and saves the document of a panel, as of any other magic."""

    def keep(document: Sweep | Trace, show: Callable[[Sweep | Trace], None]) -> None:
        def place(shown: Sweep | Trace) -> bool:
            show(shown)
            return True

        finish(shell, options, document, place)

    return keep


def run_once(shell: InteractiveShell, options: Options, experiment: api.Experiment[Trace]) -> None:
    """Run an experiment of one run and finish its document; after Ctrl-C with what there is."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    try:
        document = api.run(experiment)
    except UsageError:
        raise
    except BaseException:
        finish_failed(shell, options, experiment.document)
        raise
    finish(shell, options, document)


def run_blame(shell: InteractiveShell, options: Options, code: Code) -> None:
    """Open the largest values that crossed; of an expression that serializes nothing, its value."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    recording = api.record(options.title, detail=options.detail, blame=True)
    try:
        with recording:
            value = code.call()
    except BaseException as error:
        is_told = recording.has_spans or isinstance(error, KeyboardInterrupt)
        if is_told or not code.is_expression:
            finish_failed(shell, options, recording.trace)
        raise
    if code.is_expression and value is not None and not recording.has_spans:
        run_once(shell, options, api.BlameRun(value, options.title, detail=options.detail))
    else:
        del value
        finish(shell, options, recording.trace)


def run_try(
    shell: InteractiveShell, options: Options, code: Code, names: Mapping[str, object]
) -> None:
    """Try remedies on the value of an expression; of code that serializes, on what it sent."""
    from jupyter_serprof.api.objects import TryingRecording

    __tracebackhide__ = True
    recording = TryingRecording(options.title, detail=options.detail)
    value, is_value = subject_of(shell, options, code, recording)
    if is_value:
        recording.let_go()
        _try_value(shell, options, value)
        return
    del value
    finish(shell, options, tried(shell, options, recording, recording.trace, names))


def _try_value(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api
    from jupyter_serprof.api.objects import is_collection

    __tracebackhide__ = True
    if is_collection(value):
        message = f"{options.title} is a Dask collection. Write %graphstages --try {options.code}"
        raise UsageError(message)
    tryout = api.Tryout(value, name=options.title, link_bytes_per_s=link_rate(options.link))
    measure(shell, options, tryout)


def run_try_graph(shell: InteractiveShell, options: Options, code: Code) -> None:
    """Try remedies on the graph of a Dask collection."""
    from jupyter_serprof.api.objects import DaskTryout

    __tracebackhide__ = True
    tryout = DaskTryout(code.call(), name=options.title)
    measure(shell, options, tryout)


def run_line(shell: InteractiveShell, line: str, local_ns: dict[str, object] | None) -> None:
    """Run what stands behind the magic in the user's namespace."""
    __tracebackhide__ = True
    with usage_errors():
        options = parse(line)
        if not options.code and takes_panel(options):
            show_size_panel(shell, options, local_ns)
            return
        if options.help or (not options.code and options.sweep is None):
            print(help_text())  # noqa: T201  (what was asked for)
            return
        check(options)
        if options.sweep is not None:
            _sweep(shell, options, options.sweep, local_ns)
            return
        code = compile_code(shell, options.code, local_ns)
        _run_as_asked(shell, options, code, {**shell.user_ns, **(local_ns or {})})


def _run_as_asked(
    shell: InteractiveShell, options: Options, code: Code, names: dict[str, object]
) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    if not options.blame:
        check(options, is_statement=not code.is_expression)
    if options.blame:
        run_blame(shell, options, code)
    elif options.split:
        run_once(shell, options, api.Split(code.call(), options.title))
    elif options.try_:
        run_try(shell, options, code, names)
    else:
        if options.transports is not None:
            # What cannot work is refused before the code runs, which may take long.
            api.RoundTrip(None, transports=options.transports)
        _run(shell, options, code, names)


def _run(shell: InteractiveShell, options: Options, code: Code, names: dict[str, object]) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    if options.compare is not None:
        run_compare(shell, options, code, names)
        return
    if options.transports is not None:
        _round_trip(shell, options, code.call())
        return
    first = api.record(options.title, detail=options.detail)
    value, is_value = subject_of(shell, options, code, first)
    if is_value:
        _round_trip(shell, options, value)
        return
    del value
    if options.repeat is None:
        finish(shell, options, first.trace)
        return
    cold, title = [first.trace], options.title
    measure(shell, options, api.Repeats(code.call, title, options.detail, cold, options.repeat))


def _round_trip(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    trip = api.RoundTrip(
        value,
        name=options.title,
        transports=options.transports,
        repeat=options.repeat,
        detail=options.detail,
    )
    measure(shell, options, trip)


def _sweep(
    shell: InteractiveShell, options: Options, wanted: Range, local_ns: dict[str, object] | None
) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    sweep = api.size_sweep(
        swept_code(shell, options, wanted, local_ns),
        api.log_spaced(wanted.low, wanted.high, wanted.count),
        options.transports,
        options.repeat,
        name=options.title,
        parameter=wanted.name,
        detail=options.detail,
    )
    measure(shell, options, sweep)
