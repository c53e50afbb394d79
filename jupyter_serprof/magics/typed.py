"""What was typed: compiled as IPython would, and its document stored, displayed and saved."""

from __future__ import annotations

import ast
import inspect
import time
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

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
    save loses nothing. A ``place`` may have a better place for it than where the line or picture
    was that was shown before the end, or else below all that was shown.
    """

    shell: InteractiveShell
    options: Options
    syntax: Syntax = SERPROF
    local_ns: dict[str, object] | None = None
    #: When it was: what is imported first, once in a process, is waited for too.
    began_s: float = field(default_factory=time.monotonic)
    _lives: list[Any] = field(default_factory=list)

    @property
    def live(self) -> Any:  # noqa: ANN401  (a Live)
        """What is shown while the code runs, one for all that it does."""
        from jupyter_serprof import api

        self._lives[:] = self._lives or [api.Live(began_s=self.began_s)]
        return self._lives[0]

    @property
    def tell(self) -> Any:  # noqa: ANN401  (a method of it)
        """What is told meanwhile; None where nobody wants to hear."""
        return None if self.options.quiet else self.live.tell

    @property
    def names(self) -> Mapping[str, object]:
        """The variables that the code sees; not a copy, which an error would keep alive."""
        return ChainMap(self.local_ns or {}, self.shell.user_ns)

    def compiled(self) -> Code:
        """Compile the code behind the options; a statement cannot have all of them."""
        compiled = compile_code(self)
        check(self.options, self.syntax, is_statement=not compiled.is_expression)
        return compiled

    def finish(self, document: Trace | Sweep, place: Place | None = None) -> None:
        """Store, display and save a document."""
        from jupyter_serprof import api

        options = self.options
        with api.kept(lambda: document):
            document = api.offered(options.named(document), self.names)
            if options.out:
                self.shell.user_ns[options.out] = document
            with api.held():
                is_shown = options.quiet or (place or self.live.replace)(document)
            if not is_shown:
                api.show(document)
        for file in options.save or ():
            with usage_errors():
                api.save(document, file, private=options.private or None)

    def finish_failed(self, document: Trace | Sweep) -> Exception | None:
        """Finish the document of code that failed: a file not written is told, not raised.

        Gives what was told, if anything; the error of the code stays the one that propagates.
        """
        from IPython.core.error import UsageError as ShellUsageError

        try:
            self.finish(document)
        except ShellUsageError as problem:
            self.shell.show_usage_error(problem)  # type: ignore[no-untyped-call]  # IPython
            return problem
        return None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Show that something runs before what will be measured; after an error nothing is left."""
        from jupyter_serprof import api

        try:
            with api.told(self.tell and self.live.tell_first):
                yield
        except BaseException:
            self.live.close()
            raise

    @contextmanager
    def telling(
        self,
        document: Callable[[BaseException], Trace | Sweep | None],
        recording: Any = None,  # noqa: ANN401  (a Recording; magics import no layer below the API)
        is_worth: Callable[[BaseException], bool] = lambda _: True,
    ) -> Iterator[None]:
        """After an error finish what there is, if it is worth it; a recording if it has any.

        A wait that was given up is an answer, also where nothing was serialized.
        """
        try:
            yield
        except BaseException as error:
            if recording is not None:
                recording.stop(type(error))  # Ctrl-C may have come where its block ended
            has_any = is_worth(error) if recording is None else recording.has_spans
            if has_any or isinstance(error, KeyboardInterrupt):
                made = None
                with suppress(SerprofError):  # it was stopped before it began
                    made = document(error)
                if made is not None:
                    self.finish_failed(made)
            self.live.close()
            raise


def tried(typed: Typed, recording: Any, trace: Trace) -> Trace:  # noqa: ANN401  (a TryingRecording)
    """Return the recording of code with its findings tried; after Ctrl-C with what there is."""
    from jupyter_serprof import api

    try:
        return api.try_code(trace, recording.sent, typed.names, typed.tell)
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


_AWAIT = (
    "top-level await runs only in a cell whose first line is %%{0}. "
    "Write %%{0} on the first line and the code below it"
)
_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Code(NamedTuple):
    """Compiled code, to be called as often as needed, and whether it is one expression."""

    call: Callable[[], object]
    is_expression: bool


def compile_code(typed: Typed) -> Code:
    """Compile statements; the call returns the value of the last one if it is an expression.

    Raises ``UsageError``: For a syntax error, an option behind the code (``a --blame`` subtracts
        a name), and top-level await, which needs the event loop that is busy running the magic.
    """
    shell, code = typed.shell, typed.options.code
    flag = next((word for word in code.split() if word in typed.syntax.flags), None)
    hint = f"{flag} stands behind the code; options go before it" if flag else ""
    try:
        source = str(shell.transform_cell(code))  # type: ignore[no-untyped-call]  # IPython
        file_name = shell.compile.cache(source)
        parse: Any = shell.compile.ast_parse
        body = list(shell.transform_ast(parse(source, file_name)).body)  # type: ignore[no-untyped-call]
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        statements = _compiled(shell, ast.Module(body, []), file_name, "exec")
        value = _compiled(shell, ast.Expression(last.value), file_name, "eval") if last else None
    except SyntaxError as error:
        raise UsageError("\n".join(filter(None, (_told(error), hint)))) from None
    if flag and last and isinstance(last.value, ast.BinOp) and flag.strip("-") not in typed.names:
        raise UsageError(hint)
    if any(one is not None and one.co_flags & _COROUTINE for one in (statements, value)):
        raise UsageError(_AWAIT.format(typed.syntax.magic))
    return Code(_caller(typed, statements, value), last is not None and not body)


def _compiled(shell: InteractiveShell, tree: ast.AST, file_name: str, mode: str) -> Any:  # noqa: ANN401
    compiler: Any = shell.compile  # it takes trees and flags, its annotation says str
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        return compiler(tree, file_name, mode)


def _told(error: SyntaxError) -> str:
    # Python 3.13 has a private kind of it for what is incomplete.
    kind = type(error) if isinstance(error, IndentationError) else SyntaxError
    mark = " " * ((error.offset or 1) - 1) + "^"
    line = "" if error.text is None else f"\n    {error.text.rstrip(chr(10))}\n    {mark}"
    return f"{kind.__name__}: {error.msg}{line}"


def _caller(typed: Typed, statements: Any, value: Any) -> Callable[[], object]:  # noqa: ANN401  (code)
    shell, local_ns = typed.shell, typed.local_ns
    is_inside = local_ns is not None and local_ns is not shell.user_ns
    # A comprehension or a lambda in the code finds the function's variables only as globals.
    names = {**shell.user_ns, **local_ns} if is_inside and local_ns else shell.user_ns

    def call() -> object:
        __tracebackhide__ = True
        exec(statements, names, local_ns)  # noqa: S102  (running the user's code is the task)
        return eval(value, names, local_ns) if value is not None else None  # noqa: S307  (the same)

    return call
