"""What happens with a document in a shell: stored, saved, displayed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.together import link_rate
from jupyter_serprof.model import SerprofError, UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof import api
    from jupyter_serprof.magics.code import Code
    from jupyter_serprof.model import Anatomy, Comparison, Sweep, Trace

_KINDS = (
    ("jupyter_serprof.model.trace", "Trace"),
    ("jupyter_serprof.model.sweep", "Sweep"),
    ("jupyter_serprof.model.trace", "Comparison"),
    ("jupyter_serprof.model.anatomy", "Anatomy"),
)


Place = Callable[["Trace | Sweep"], bool]


def finish(
    shell: InteractiveShell,
    options: Options,
    document: Trace | Sweep,
    place: Place = lambda _: False,
) -> None:
    """Store, display and save a document, in this order: a failing save loses nothing.

    ``place`` may have a better place for it than below all that was shown.
    """
    from jupyter_serprof import api

    if options.out:
        shell.user_ns[options.out] = document
    if not options.quiet and not place(document):
        api.show(document)
    if options.save:
        with usage_errors():
            api.save(document, options.save)


def finish_failed(
    shell: InteractiveShell,
    options: Options,
    document: Trace | Sweep,
    place: Place = lambda _: False,
) -> Exception | None:
    """Finish the document of code that failed: a file that cannot be written is told, not raised.

    Returns
    -------
    Exception or None
        What was told, if anything; the error of the code stays the one that propagates.
    """
    from IPython.core.error import UsageError as ShellUsageError

    try:
        finish(shell, options, document, place)
    except ShellUsageError as problem:
        shell.show_usage_error(problem)  # type: ignore[no-untyped-call]  # IPython
        return problem
    return None


def subject_of(
    shell: InteractiveShell,
    options: Options,
    code: Code,
    recording: Any,  # noqa: ANN401  (a Recording; magics import no layer below the API)
    explained: Callable[[Trace], Trace] = lambda trace: trace,
) -> tuple[object, bool]:
    """Run code once: its value, and whether that is what is asked about.

    It is where the code is an expression that serializes nothing; else the run itself is. After an
    error what was recorded is shown, as ``explained`` tells it.
    """
    __tracebackhide__ = True
    try:
        with recording:
            value = code.call()
    except BaseException as error:
        # A wait that was given up is an answer, also where nothing was serialized.
        if recording.has_spans or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, explained(recording.trace))
        raise
    return value, code.is_expression and value is not None and not recording.has_spans


def measure(shell: InteractiveShell, options: Options, experiment: api.Experiment[Sweep]) -> Sweep:
    """Run an experiment, live, and finish its document; after an error what there is by then."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    live = api.Live()
    try:
        document = api.run(experiment, live.show if live.is_seen and not options.quiet else None)
    except BaseException as error:
        known = experiment.document
        if known.points or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, known, live.replace)
        raise
    finish(shell, options, document, live.replace)
    return document


def check_limit(options: Options, document: Sweep) -> None:
    """Raise if a comparison breaks the limit that was given; print where nobody can tell.

    Raises
    ------
    RegressionError
        As `jupyter_serprof.compare`.
    """
    from jupyter_serprof import api

    __tracebackhide__ = True
    if options.fail_above is None:
        return
    said = api.check_limit(document.comparison, options.fail_above, document)
    if said:
        print(said, file=sys.stderr)  # noqa: T201  (beside the document, which has its place)


def tried(
    shell: InteractiveShell,
    options: Options,
    recording: Any,  # noqa: ANN401  (a TryingRecording; magics import no layer below the API)
    trace: Trace,
    names: Mapping[str, object] | None = None,
) -> Trace:
    """Return the recording of code with its findings tried; after Ctrl-C with what there is."""
    from jupyter_serprof import api

    try:
        return api.try_code(
            trace,
            recording.sent,
            shell.user_ns if names is None else names,
            link_bytes_per_s=link_rate(options.link),
        )
    except KeyboardInterrupt:
        notes = (*trace.quality.notes, "trying remedies was interrupted before it began")
        return replace(trace, quality=replace(trace.quality, notes=notes))
    finally:
        recording.let_go()


@contextmanager
def usage_errors() -> Iterator[None]:
    """Show our own errors as one line, as IPython does for a wrong use of a magic."""
    try:
        yield
    except SerprofError as error:
        from IPython.core.error import UsageError as ShellUsageError

        is_usage = isinstance(error, UsageError)
        message = str(error) if is_usage else f"{type(error).__name__}: {error}"
        raise ShellUsageError(message) from error


def _bundle(
    document: Trace | Sweep | Comparison | Anatomy,
    include: object = None,  # noqa: ARG001  (IPython passes it)
    exclude: object = None,  # noqa: ARG001  (the same)
) -> object:
    from jupyter_serprof import api

    return api.bundle(document)


def add_formatters(shell: InteractiveShell) -> None:
    """Draw a document that is the last value of a cell."""
    formatter = _formatter(shell)
    for module, name in _KINDS if formatter else ():
        formatter.for_type_by_name(module, name, _bundle)  # type: ignore[attr-defined]


def remove_formatters(shell: InteractiveShell) -> None:
    """Take the formatters away."""
    formatter = _formatter(shell)
    for module, name in _KINDS if formatter else ():
        formatter.pop(f"{module}.{name}", None)  # type: ignore[attr-defined]


def _formatter(shell: InteractiveShell) -> object:
    return getattr(shell.display_formatter, "mimebundle_formatter", None)
