"""The command line: run statements, show where their serialization time went, compare, fail."""

from __future__ import annotations

import argparse
import ast
import linecache
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_serprof import api
from jupyter_serprof.model import RegressionError, SerprofError, Sweep, Trace, UsageError
from jupyter_serprof.model.units import without_literals

#: A document, and why it could not be compared.
_Made = tuple[Trace | Sweep, UsageError | None]
_OK, _FAILED, _MISUSED, _INTERRUPTED = 0, 1, 2, 130
_MOST_REPEATS = 1000
_SOURCES = ("<setup>", "<statement>")
_DESCRIPTION = """\
See where the serialization time of a statement goes, without a notebook.

    python -m jupyter_serprof -s "import pickle" "pickle.dumps(list(range(10**6)))"
    python -m jupyter_serprof -s "import numpy as np; a = np.ones(10**7)" a
    python -m jupyter_serprof -n 15 --save before.serprof.json -s SETUP STATEMENT
    python -m jupyter_serprof --compare before.serprof.json --fail-above 10% -s SETUP STATEMENT

An expression that serializes nothing makes the round trip through every transport."""
_EPILOG = """\
Several statements are lines of one program, as with timeit. The exit code is 0; 1 if the statement
raised, or got slower by more than --fail-above; 2 if the command cannot be understood, or there is
nothing to compare with; 130 after Ctrl-C. Where it is unknown whether it got slower by more than
--fail-above, the exit code is 0, and a line on stderr says so: "cannot tell ...".

Slower is the wall time; or a stage of a tenth of it or more, if what it lost at least is half of
what --fail-above allows the wall time. Against a file it also
has to exceed what the machine itself lost, in fixed work that --repeat puts between the runs."""


@dataclass(frozen=True, slots=True)
class _Program:
    """A statement that is run as often as needed, and whether it is one expression."""

    call: Callable[[], object]
    text: str
    is_expression: bool


def main(arguments: Sequence[str], namespace: dict[str, Any]) -> int:
    """Run the command line in a namespace and return the exit code."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    try:
        return _run(options, namespace)
    except RegressionError as error:
        return _say(error, _FAILED)
    except SerprofError as error:
        return _say(error, _MISUSED)
    except KeyboardInterrupt as error:
        return _say("; ".join(["interrupted", *getattr(error, "__notes__", ())]), _INTERRUPTED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jupyter_serprof",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("-s", "--setup", action="append", default=[], help="run first, once; may be given again")
    add("-n", "--repeat", type=_count, metavar="N", help="run once cold and N times warm")
    add("--transports", metavar="LIST", help="send the value through these, e.g. pickle,ray")
    add("--detail", action="store_true", help="tell wait, pull and map of ray.get apart")
    add("--name", metavar="TEXT", help="what the document calls the run")
    add("--save", metavar="FILE", help="write x.serprof.json, .html, .png, .md, .csv, .trace.json")
    add("--private", action="store_true", help="with --save: leave all names out of the file")
    add("--compare", metavar="FILE", help="compare with this document; runs 15 times by default")
    add("--fail-above", metavar="PERCENT", help="with --compare: exit 1 if slower by more")
    add("-q", "--quiet", action="store_true", help="show nothing")
    add("statement", nargs="+", metavar="STATEMENT", help="what is measured")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_REPEATS:
        message = f"a number of warm runs from 1 to {_MOST_REPEATS}, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _run(options: argparse.Namespace, namespace: dict[str, Any]) -> int:
    limit, before = _checked_limit(options), None
    if options.save is not None:
        api.checked_path(options.save)
    elif options.private:
        message = "--private is about a file: --private --save run.serprof.json"
        raise UsageError(message)
    if options.compare is not None:
        before = api.document_of(options.compare)
    setup = _compiled("\n".join(options.setup), "<setup>", namespace)
    code = _compiled("\n".join(options.statement), "<statement>", namespace)
    try:
        setup.call()
        made = _measured(options, code, before)
    except SerprofError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever the user's program raises is shown)
        return _say(_traceback(error), _FAILED)
    return _finish(options, made, limit)


def _checked_limit(options: argparse.Namespace) -> float | None:
    if options.fail_above is None:
        return None
    if options.compare is None:
        message = "--fail-above needs something to compare with: --compare before.serprof.json"
        raise UsageError(message)
    return api.limit_share(str(options.fail_above))


def _measured(options: argparse.Namespace, code: _Program, before: Trace | Sweep | None) -> _Made:
    name = (options.name or "").strip() or without_literals(code.text)
    if before is not None:
        api.check_question(before.name, name)
    if options.transports and not code.is_expression:
        message = "--transports sends a value, and the statement is none. Move it to -s"
        raise UsageError(message)
    first = api.record(name, detail=options.detail)
    with first:
        value = code.call()
    is_value = code.is_expression and value is not None and not first.has_spans
    if is_value or options.transports:
        asked = options.transports.split(",") if options.transports else None
        trip = api.trip_like(before, value, name, asked, options.repeat, detail=options.detail)
        return _made(trip, before)
    if options.repeat is None and before is None:
        return first.trace, None
    repeats = api.Repeats(code.call, name, options.detail, [first.trace], options.repeat)
    return _made(repeats, before)


def _made(runs: api.Experiment[Sweep], before: Trace | Sweep | None) -> _Made:
    """Make all runs; a process that ends has nothing to resume."""
    experiment = runs if before is None else api.Against(before, runs)
    try:
        api.complete(experiment)
    except UsageError as error:
        if not experiment.is_done:
            raise
        return experiment.document, error
    return experiment.document, None


def _finish(options: argparse.Namespace, made: _Made, limit: float | None) -> int:
    """Show and save what was measured, whatever the comparison says."""
    document, problem = made
    if not options.quiet:
        api.show(document)
    if options.save:
        api.save(document, options.save, private=options.private or None)
    if problem is not None:
        raise problem
    if limit is not None and isinstance(document, Sweep):
        _say(api.check_limit(document.comparison, limit, document), _OK)
    return _OK


def _compiled(text: str, name: str, namespace: dict[str, Any]) -> _Program:
    """Compile a program; calling it returns the value of the last line if that is an expression.

    Raises
    ------
    UsageError
        For a syntax error.
    """
    try:
        body = ast.parse(text, name).body
        expression = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        statements = compile(ast.Module(body, []), name, "exec")
        last = ast.Expression(expression.value) if isinstance(expression, ast.Expr) else None
        value = compile(last, name, "eval") if last else None
    except (SyntaxError, ValueError) as error:  # ValueError: a null character
        said = "".join(traceback.format_exception_only(error)).strip()
        raise UsageError(said) from None
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)

    def call() -> object:
        exec(statements, namespace)  # noqa: S102  (running the user's code is the task)
        return eval(value, namespace) if value is not None else None  # noqa: S307  (the same)

    return _Program(call, text, last is not None and not body)


def _traceback(error: Exception) -> str:
    """Return a traceback that begins in the user's code."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename not in _SOURCES:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _say(what: object, code: int) -> int:
    name = "RegressionError: " if isinstance(what, RegressionError) else ""
    if said := f"{name}{what}":
        print(said, file=sys.stderr)  # noqa: T201  (the command line speaks so)
    return code
