"""``%serprof CODE``: run it and show it; a value that serializes nothing makes the round trip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.code import Code, compile_code
from jupyter_serprof.magics.compare import (
    check_options,
    check_sweep,
    run_compare,
    sizes_of,
    swept_code,
)
from jupyter_serprof.magics.options import Options, help_text, parse
from jupyter_serprof.magics.show import (
    finish,
    finish_failed,
    measure,
    usage_errors,
)
from jupyter_serprof.magics.together import check_try, run_try
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.magics.options import Range
    from jupyter_serprof.model import Sweep, Trace

    Tell = Callable[[Sweep], None] | None

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
    from jupyter_serprof.panel import graphs as panel_graphs

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


_ALONE = ("repeat", "transports", "sweep", "compare")


def check_blame(options: Options) -> None:
    """Refuse what does not go together, before the code runs.

    Raises
    ------
    UsageError
        With the line to write instead.
    """
    for name in _ALONE:
        if options.blame and getattr(options, name) is not None:
            message = (
                f"--blame opens one value, --{name} runs it many times. "
                f"Write %serprof --blame {options.code}"
            )
            raise UsageError(message)


def run_blame(shell: InteractiveShell, options: Options, code: Code) -> None:
    """Open the largest values that crossed; of an expression that serializes nothing, its value."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    recording = api.record(_name(options), detail=options.detail, blame=True)
    try:
        with recording:
            value = code.call()
    except BaseException as error:
        is_told = recording.has_spans or isinstance(error, KeyboardInterrupt)
        if is_told or not code.is_expression:
            finish_failed(shell, options, recording.trace)
        raise
    if code.is_expression and value is not None and not recording.has_spans:
        _open_value(shell, options, value)
    else:
        del value
        finish(shell, options, recording.trace)


def _open_value(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    run = api.BlameRun(value, _name(options), detail=options.detail)
    try:
        trace = run.run()
    except BaseException:
        finish_failed(shell, options, run.trace)
        raise
    finish(shell, options, trace)


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
        check_sweep(options)
        check_options(options)
        check_blame(options)
        check_try(options)
        if options.sweep is not None:
            _sweep(shell, options, options.sweep, local_ns)
            return
        code = compile_code(shell, options.code, local_ns)
        _run_as_asked(shell, options, code, {**shell.user_ns, **(local_ns or {})})


def _run_as_asked(
    shell: InteractiveShell, options: Options, code: Code, names: dict[str, object]
) -> None:
    __tracebackhide__ = True
    if options.blame:
        run_blame(shell, options, code)
    elif options.split:
        run_split(shell, options, code)
    elif options.try_:
        run_try(shell, options, code, names)
    elif options.compare is None:
        _run(shell, options, code)
    else:
        if options.transports is not None:
            _refuse_transports(options, code)
        run_compare(shell, options, code, names)


def _run(shell: InteractiveShell, options: Options, code: Code) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    if options.transports is not None:
        _refuse_transports(options, code)
        _round_trip(shell, options, code.call())
    elif options.repeat is not None:
        _repeat(shell, options, code)
    else:
        recording = api.record(_name(options), detail=options.detail)
        value = _recorded(shell, options, recording, code.call)
        if code.is_expression and value is not None and not recording.has_spans:
            _round_trip(shell, options, value)
        else:
            finish(shell, options, recording.trace)


def _refuse_transports(options: Options, code: Code) -> None:
    """Refuse what cannot work before the code runs, which may take long or work only once."""
    from jupyter_serprof import api

    if not code.is_expression:
        message = (
            "--transports sends a value, and the code is a statement. "
            "Run the statement first, then: %serprof --transports LIST NAME"
        )
        raise UsageError(message)
    api.RoundTrip(None, transports=options.transports)


def _recorded(
    shell: InteractiveShell,
    options: Options,
    recording: Any,  # noqa: ANN401  (a Recording; magics import no layer below the API)
    call: Callable[[], object],
) -> object:
    __tracebackhide__ = True
    try:
        with recording:
            return call()
    except BaseException as error:
        # A wait that was given up is an answer, also where nothing was serialized.
        if recording.has_spans or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, recording.trace)
        raise


def _repeat(shell: InteractiveShell, options: Options, code: Code) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    first = api.record(_name(options), detail=options.detail)
    value = _recorded(shell, options, first, code.call)
    if code.is_expression and value is not None and not first.has_spans:
        _round_trip(shell, options, value)
        return
    del value
    repeats = api.Repeats(code.call, _name(options), options.detail, [first.trace], options.repeat)
    measure(shell, options, repeats)


def _round_trip(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    trip = api.RoundTrip(
        value,
        name=_name(options),
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
        swept_code(shell, options.code, wanted.name, local_ns),
        sizes_of(wanted),
        options.transports,
        options.repeat,
        name=_name(options),
        parameter=wanted.name,
        detail=options.detail,
    )
    measure(shell, options, sweep)


def _name(options: Options) -> str:
    return options.name if options.name is not None else options.code
