"""The command line: run a program or statements, show where their serialization time went."""

from __future__ import annotations

import argparse
import ast
import linecache
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jupyter_serprof import __version__, api
from jupyter_serprof.model import RegressionError, SerprofError, Sweep, Trace, UsageError
from jupyter_serprof.model.units import without_literals
from jupyter_serprof.scripts import SCRIPTS, ProgramError, RecordedProgram, is_program, run_program

#: A document, and why it could not be compared.
_Made = tuple[Trace | Sweep, UsageError | None]
_OK, _FAILED, _MISUSED, _INTERRUPTED = 0, 1, 2, 130
_MOST_REPEATS = 1000
_SOURCES = ("<setup>", "<statement>")
#: What needs more than a program, and why.
_REFUSED = {
    "setup": "runs before a statement, and a program has its own beginning",
    "transports": "sends a value, and a program is none",
    "try": "runs the remedies on objects that are at hand: %%serprof --try in a notebook,"
    " sp.try_remedies(value) in the program",
    "sweep": "makes a value of many sizes: sp.sweep(make, sizes) in the program",
}
_HELP = files("jupyter_serprof").joinpath("cli.txt").read_text("utf-8").rstrip()
_DESCRIPTION, _EPILOG = _HELP.split("\n\nOptions\n\n")


@dataclass(frozen=True, slots=True)
class _Program:
    """A statement that is run as often as needed, and whether it is one expression."""

    call: Callable[[], object]
    text: str
    is_expression: bool


def main(arguments: Sequence[str], namespace: dict[str, Any]) -> int:
    """Run the command line in a namespace and return the exit code."""
    try:
        options = understood(arguments)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    options.live = api.Live(began_s=time.monotonic())
    options.tell = None if options.quiet else options.live.tell
    try:
        return _answered(options, namespace)
    except RegressionError as error:
        return _say(error, _FAILED)
    except SerprofError as error:
        return _say(error, _MISUSED)
    except KeyboardInterrupt as error:
        return _say("; ".join(["interrupted", *getattr(error, "__notes__", ())]), _INTERRUPTED)


def _answered(options: argparse.Namespace, namespace: dict[str, Any]) -> int:
    try:
        return _program(options) if options.program else _run(options, namespace)
    finally:  # whatever is said next begins on a line of its own
        options.live.close()


def command() -> int:
    """Run what was typed, in ``__main__``: what it defines can be pickled by its name."""
    return main(sys.argv[1:], vars(sys.modules["__main__"]))


def understood(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; ``program`` has what runs as one, with its own arguments, or nothing."""
    options = _parser(argparse.REMAINDER).parse_args(arguments)
    if options.system:
        facts = (f"{name:<16} {fact}" for name, fact in api.system_facts().items())
        with suppress(BrokenPipeError):  # who reads may have seen enough
            print("\n".join(facts), flush=True)  # noqa: T201  (the command line speaks so)
        raise SystemExit
    is_script = any(map(is_program, options.statement[:1]))
    if program := options.module or options.statement * is_script:
        return argparse.Namespace(**vars(options) | {"program": program})
    # What stands behind a statement may be an option, too.
    return _parser("+").parse_args(arguments, argparse.Namespace(program=[]))


def _parser(many: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="serprof",
        usage="serprof [options] {script.py | -m MODULE | STATEMENT ...} [arguments]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module")
    add("-s", "--setup", action="append", default=[], help="run first, once; may be given again")
    add("--repeat", "-n", type=_count, metavar="N", help="run once cold and N times warm")
    add("--transports", metavar="LIST", help="send the value through these, e.g. pickle,ray")
    add("--detail", action="store_true", help="tell wait, pull and map of ray.get apart")
    add("--blame", action="store_true", help="open the largest values that crossed")
    add("--name", metavar="TEXT", help="what the document calls the run")
    about = "write x.serprof.json, .html, .png, .md, .csv, .trace.json; may be given again"
    add("--save", action="append", default=[], metavar="FILE", help=about)
    page = lambda name: name if name.endswith(".html") else f"{name}.html"  # noqa: E731
    add("--html", type=page, metavar="FILE", help="write the picture as a page that opens offline")
    add("--private", action="store_true", help="with --save: leave all names out of the file")
    about = "compare with this document, or a program with this script; runs 15 times by default"
    add("--compare", metavar="FILE", help=about)
    add("--fail-above", metavar="PERCENT", help="with --compare: exit 1 if slower by more")
    add("-q", "--quiet", action="store_true", help="show nothing")
    add("--try", action="store_true", help=argparse.SUPPRESS)
    add("--sweep", help=argparse.SUPPRESS)
    add("--version", action="version", version=f"jupyter_serprof {__version__}")
    add("--system", action="store_true", help="tell the versions that a report of a bug needs")
    add("statement", nargs=many, metavar="script.py or STATEMENT", help="what runs")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_REPEATS:
        message = f"a number of warm runs from 1 to {_MOST_REPEATS}, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _run(options: argparse.Namespace, namespace: dict[str, Any]) -> int:
    limit, before = _checked_limit(options, ("try", "sweep")), None
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
        options.live.close()
        return _say(_traceback(error), _FAILED)
    return _finish(options, made, limit)


def _checked_limit(options: argparse.Namespace, refused: Iterable[str]) -> float | None:
    """Refuse before anything is measured: options, and names that nothing can be written to."""
    if options.fail_above is not None and options.compare is None:
        message = "--fail-above needs something to compare with: --compare before.serprof.json"
        raise UsageError(message)
    limit = None if options.fail_above is None else api.limit_share(str(options.fail_above))
    for flag in (flag for flag in refused if getattr(options, flag)):
        message = f"--{flag} {_REFUSED[flag]}"
        raise UsageError(message)
    for file in (files := [file for file in (*options.save, options.html) if file is not None]):
        api.checked_path(file)
    if options.private and not files:
        message = "--private is about a file: --private --save run.serprof.json"
        raise UsageError(message)
    return limit


def _program(options: argparse.Namespace) -> int:
    """Run a program, then show what was measured on stderr: stdout is its own."""
    limit = _checked_limit(options, _REFUSED)
    name = (options.name or "").strip() or Path(options.program[0]).name
    if options.repeat is not None or options.compare is not None:
        return _programs(options, name, limit)
    recording = api.stage_recording(name, detail=options.detail, blame=options.blame)
    recording.live = options.tell
    watched = _cleared(options, recording)
    status = run_program(options.program, watched, is_module=bool(options.module))
    with redirect_stdout(sys.stderr):
        _finish(options, (recording.trace, None), None)
    return status


@contextmanager
def _cleared(
    options: argparse.Namespace, recording: AbstractContextManager[object]
) -> Iterator[None]:
    """Record, and clear the line where the program fails: its traceback begins on a new one."""
    try:
        with recording:
            yield
    except BaseException:
        options.live.close()
        raise


def _programs(options: argparse.Namespace, name: str, limit: float | None) -> int:
    if options.blame:
        message = "--blame opens what one run sent. Leave out --repeat and --compare"
        raise UsageError(message)
    ours, before = ["--name", name, *["--detail"] * options.detail], None
    call = RecordedProgram(options.program, bool(options.module), ours)
    runs: Any = api.RepeatsApart(call, name, options.detail, repeat=options.repeat)
    if options.compare is not None and options.compare.endswith(SCRIPTS):
        other = RecordedProgram(
            [options.compare, *options.program[1:]], is_module=False, options=ours
        )
        names = [Path(each.words[0]).name for each in (other, call)]
        runs = api.Pairs([other, call], names, name, options.repeat, options.detail, type(runs))
    elif options.compare is not None:
        before = api.document_of(options.compare)
        api.check_question(before.name, name)
    with redirect_stdout(sys.stderr):
        try:
            made = _made(runs, before, options.tell)
        except ProgramError as error:
            if runs.progress.done:
                _finish(options, (runs.document, None), None)
            return _say(error, error.status)
        return _finish(options, made, limit)


def _measured(options: argparse.Namespace, code: _Program, before: Trace | Sweep | None) -> _Made:
    name = (options.name or "").strip() or without_literals(code.text)
    if before is not None:
        api.check_question(before.name, name)
    if options.transports and not code.is_expression:
        message = "--transports sends a value, and the statement is none. Move it to -s"
        raise UsageError(message)
    first = api.record(name, detail=options.detail, blame=options.blame, live=options.tell)
    with first:
        value = code.call()
    is_value = code.is_expression and value is not None and not first.has_spans | options.blame
    if is_value or options.transports:
        asked = options.transports.split(",") if options.transports else None
        trip = api.trip_like(before, value, name, asked, options.repeat, detail=options.detail)
        return _made(trip, before, options.tell)
    if options.blame or (options.repeat is None and before is None):
        return first.trace, None
    repeats = api.Repeats(code.call, name, options.detail, [first.trace], options.repeat)
    return _made(repeats, before, options.tell)


def _made(runs: api.Experiment[Sweep], before: Trace | Sweep | None, tell: Any) -> _Made:  # noqa: ANN401
    """Make all runs; a process that ends has nothing to resume."""
    experiment = runs if before is None else api.Against(before, runs)
    try:
        api.complete(experiment, live=tell)
    except UsageError as error:
        if not experiment.is_done:
            raise
        return experiment.document, error
    return experiment.document, None


def _finish(options: argparse.Namespace, made: _Made, limit: float | None) -> int:
    document, problem = made
    if not (options.quiet or options.live.replace(document)):
        api.show(document)
    for file in filter(None, (*options.save, options.html)):
        api.save(document, file, private=options.private or None)
    if problem is not None:
        raise problem
    if limit is not None and isinstance(document, Sweep):
        _say(api.check_limit(document.comparison, limit, document), _OK)
    return _OK


def _compiled(text: str, name: str, namespace: dict[str, Any]) -> _Program:
    """Compile a program; calling it returns the value of its last line, if that has one."""
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
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename not in _SOURCES:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _say(what: object, code: int) -> int:
    name = "RegressionError: " if isinstance(what, RegressionError) else ""
    if said := f"{name}{what}":
        print(said, file=sys.stderr)  # noqa: T201  (the command line speaks so)
    return code
