"""What happens with a document in a shell: stored, saved, displayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.code import Code, compile_code
from jupyter_serprof.magics.options import SERPROF, Options, Syntax
from jupyter_serprof.magics.together import check
from jupyter_serprof.model import SerprofError, UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.model import Sweep, Trace

Place = Callable[["Trace | Sweep"], bool]


@dataclass(frozen=True, slots=True)
class Typed:
    """A magic as it was typed: its options, the shell, and the variables around it in a function.

    What is done with its document: stored, displayed and saved, in this order, so that a failing
    save loses nothing. A ``place`` may have a better place for it than below all that was shown.
    """

    shell: InteractiveShell
    options: Options
    syntax: Syntax = SERPROF
    local_ns: dict[str, object] | None = None

    @property
    def names(self) -> Mapping[str, object]:
        """The variables that the code sees."""
        return {**self.shell.user_ns, **(self.local_ns or {})}

    def compiled(self) -> Code:
        """Compile the code behind the options; a statement cannot have all of them."""
        code, magic = self.options.code, self.syntax.magic
        compiled = compile_code(self.shell, code, self.local_ns, magic=magic)
        check(self.options, self.syntax, is_statement=not compiled.is_expression)
        return compiled

    def finish(self, document: Trace | Sweep, place: Place = lambda _: False) -> None:
        """Store, display and save a document."""
        from jupyter_serprof import api

        options = self.options
        with api.kept(lambda: document):
            if options.out:
                self.shell.user_ns[options.out] = document
            with api.held():
                is_shown = options.quiet or place(document)
            if not is_shown:
                api.show(document)
        if options.save:
            with usage_errors():
                api.save(document, options.save, private=options.private or None)

    def finish_failed(
        self, document: Trace | Sweep, place: Place = lambda _: False
    ) -> Exception | None:
        """Finish the document of code that failed: a file not written is told, not raised.

        Returns
        -------
        Exception or None
            What was told, if anything; the error of the code stays the one that propagates.
        """
        from IPython.core.error import UsageError as ShellUsageError

        try:
            self.finish(document, place)
        except ShellUsageError as problem:
            self.shell.show_usage_error(problem)  # type: ignore[no-untyped-call]  # IPython
            return problem
        return None

    @contextmanager
    def telling(
        self,
        document: Callable[[BaseException], Trace | Sweep],
        recording: Any = None,  # noqa: ANN401  (a Recording; magics import no layer below the API)
    ) -> Iterator[None]:
        """After an error finish what there is; of a recording only if it has anything.

        A wait that was given up is an answer, also where nothing was serialized.
        """
        try:
            yield
        except BaseException as error:
            if recording is not None:
                recording.stop(type(error))  # Ctrl-C may have come where its block ended
            is_worth = recording is None or recording.has_spans
            if is_worth or isinstance(error, KeyboardInterrupt):
                self.finish_failed(document(error))
            raise


def tried(
    typed: Typed,
    recording: Any,  # noqa: ANN401  (a TryingRecording)
    trace: Trace,
) -> Trace:
    """Return the recording of code with its findings tried; after Ctrl-C with what there is."""
    from jupyter_serprof import api

    try:
        return api.try_code(trace, recording.sent, typed.names)
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
