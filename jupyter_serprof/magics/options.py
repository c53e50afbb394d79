"""The options of the magics: the same words as the keywords of the functions."""

import keyword
import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from io import StringIO
from typing import NamedTuple, TypeVar

from jupyter_serprof.model import Sweep, Trace, UsageError
from jupyter_serprof.model.units import code_text, shortened, without_literals

Made = TypeVar("Made", bound=Trace | Sweep)

_MOST = 200
_FORM = re.compile(
    r"(?:(?P<name>[^=:]*)=)?(?P<low>[^:]*)(?::(?P<high>[^:]*))?(?::(?P<count>[^:]*))?"
)


@dataclass(frozen=True, slots=True)
class Range:
    """A variable, the numbers between which it goes, and how many of them."""

    name: str
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        """Return it as it is typed."""
        return f"{self.name}={self.low:g}:{self.high:g}:{self.count}".replace("e+0", "e")

    @property
    def typed_high(self) -> str:
        """The largest number as code has it: a whole one without a point, as a sweep passes it."""
        return f"{self.high:.0f}" if self.high.is_integer() else f"{self.high:g}"


def parse_range(flag: str, text: str) -> Range:
    """Return the range of ``n=1e3:1e8:12``.

    Raises ``UsageError``: With what is missing or wrong.
    """
    found = _FORM.fullmatch(text)
    problem = _problem(**found.groupdict()) if found else "has too many parts"
    if problem or found is None:
        message = f"{flag} needs n=FROM:TO:COUNT, e.g. {flag} n=1e3:1e8:12; {text!r} {problem}"
        raise UsageError(message)
    return Range(found["name"], float(found["low"]), float(found["high"]), int(found["count"]))


def _problem(name: str | None, low: str | None, high: str | None, count: str | None) -> str:
    """Say what is missing or wrong; "" for a good range."""
    if not name or not _is_name(name):
        return f"{name!r} is no name of a variable" if name else "does not name the variable"
    first, last = _positive(low), _positive(high)
    if first is None or last is None:
        return "needs two numbers above 0, FROM and TO"
    if first >= last:
        return "goes from the larger number to the smaller" if first > last else "goes nowhere"
    if not count:
        return "does not say how many sizes"
    is_count = count.isdecimal() and len(count) < 4 and 1 < int(count) <= _MOST  # noqa: PLR2004
    return "" if is_count else f"needs a COUNT of sizes from 2 to {_MOST}, not {count!r}"


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _positive(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None


@dataclass(frozen=True, slots=True)
class Options:
    """What was typed after the name of the magic."""

    out: str | None = None
    name: str | None = None
    repeat: int | None = None
    transports: tuple[str, ...] | None = None
    sweep: Range | None = None
    compute: bool = False
    timeout: float | None = None
    detail: bool = False
    blame: bool = False
    try_: bool = False
    objects: bool = False
    save: tuple[str, ...] | None = None
    private: bool = False
    compare: str | None = None
    fail_above: str | None = None
    quiet: bool = False
    help: bool = False
    code: str = ""

    @property
    def title(self) -> str:
        """What it is called while it runs: its code. Remedies and paths have the names in it."""
        return without_literals(self.code)

    def named(self, document: Made) -> Made:
        """Return a document under the name that was given, also in its headline."""
        name, code = (self.name or "").strip(), self.title
        if not name or document.name in ("", name):
            return document
        summary = document.summary
        if summary is not None and code:
            said = summary.headline.replace(code_text(code), code_text(name), 1)
            summary = replace(summary, headline=shortened(said))
        return replace(document, name=name, summary=summary)


class Syntax(NamedTuple):
    """What can be typed after one magic.

    ``help``: What ``-h`` shows.
    ``flags``: flag -> (field of `Options`, name of the value or "", what it does), as told there.
    ``line_only``: Flags that a whole cell cannot have, each with what to do instead.
    """

    magic: str
    help: str
    flags: Mapping[str, tuple[str, str, str]]
    line_only: Mapping[str, str]


_MOST_REPEATS = 1000
_FIRST = """\
    -o NAME            store the document in the variable NAME
    --name TEXT        what the document calls the run, instead of its code"""
_LAST = """\
    --save FILE        write x.serprof.json (also as: x), x.html, x.png, x.svg, x.md, x.csv
                       or x.trace.json (opens in Perfetto and speedscope); again: each
    --private          with --save: leave all names out (SERPROF_PRIVATE=1: always)
    --compare FILE_OR_NAME run it now, 15 times, and compare it with a document
    --fail-above PERCENT with --compare: raise if it got slower by more
    -q                 show nothing (for use with -o or --save)
    -h                 show this"""
_FLAG = re.compile(r"(?m)^    (-\S+) ?(\S*) +(.*(?:\n {23}.*)*)")
#: A minus that is followed by a digit, a bracket or a space is code.
_OPTION = re.compile(r"-($|-|[^\W\d_])")
_FIELDS = {"-o": "out", "-q": "quiet", "-h": "help", "--try": "try_"}


def _help(file: str) -> str:
    text = files("jupyter_serprof.magics").joinpath(file).read_text("utf-8")
    return text.rstrip().format(first=_FIRST, last=_LAST)


def _flags(text: str) -> dict[str, tuple[str, str, str]]:
    known = {flag: rest for flag, *rest in _FLAG.findall(text)}
    field = {flag: _FIELDS.get(flag, flag.strip("-").replace("-", "_")) for flag in known}
    told = {flag: (field[flag], value, said) for flag, (value, said) in known.items()}
    return {**told, "--help": told["-h"]}


_INTO = "Put the code into a function f, then: "
_SERPROF, _GRAPHSTAGES = _help("serprof.txt"), _help("graphstages.txt")
SERPROF = Syntax(
    "serprof",
    _SERPROF,
    _flags(_SERPROF),
    {
        "--repeat": f"{_INTO}%serprof --repeat N f()",
        "--transports": f"{_INTO}%serprof --transports LIST f()",
        "--sweep": f"{_INTO}%serprof --sweep n=FROM:TO:COUNT f()",
        "--objects": "Write it in a line of its own: %serprof --objects",
        "--compare": f"{_INTO}%serprof --compare FILE_OR_NAME f()",
        "--fail-above": f"{_INTO}%serprof --fail-above PERCENT f()",
    },
)
GRAPHSTAGES = Syntax(
    "graphstages",
    _GRAPHSTAGES,
    _flags(_GRAPHSTAGES),
    {
        "--compute": "Write .compute() in the cell: it runs as it is",
        "--timeout": "Interrupt the cell, or: %graphstages --timeout SECONDS x",
        "--sweep": "Put the code into a function of the chunk size that returns the collection, "
        "then: %graphstages --sweep chunk=FROM:TO:COUNT f(chunk)",
        "--repeat": f"{_INTO}%graphstages --repeat N f()",
        "--try": "Assign the collection to y, then: %graphstages --try y",
        "--compare": f"{_INTO}%graphstages --compare FILE_OR_NAME f()",
        "--fail-above": f"{_INTO}%graphstages --compare FILE_OR_NAME --fail-above PERCENT f()",
    },
)
SYNTAXES = {syntax.magic: syntax for syntax in (SERPROF, GRAPHSTAGES)}


def parse(line: str, syntax: Syntax = SERPROF) -> Options:
    """Split what was typed into options and code.

    Options come first; the rest of the line, as typed, is the code. ``--`` ends the options.

    Raises ``UsageError``: For an unknown option (with the closest known one), a missing or a bad
        value.
    """
    given: dict[str, object] = {}
    files: list[str] = []
    rest = line.strip()
    while _OPTION.match(rest):
        word, rest = _word(rest)
        if word == "--":
            break
        flag, joined, value = word.partition("=")
        field, wants, _ = _known(flag, syntax)
        if wants and not joined:
            value, rest = _word(rest)
        if joined and not wants:
            message = f"{flag} takes no value: write {flag}"
            raise UsageError(message)
        given[field] = _converted(flag, wants, value) if wants else True
        if field == "save":
            from jupyter_serprof import api

            api.checked_path(value)  # before anything is measured
            files.append(value)
            given[field] = tuple(files)
    return Options(**given, code=rest)  # type: ignore[arg-type]  # _converted made the types fit


def parse_cell(line: str, syntax: Syntax = SERPROF) -> Options:
    """Split what stands behind a cell magic: a cell runs once, as it is.

    Raises ``UsageError``: As `parse`, and for code on the first line or an option that only a line
        can have.
    """
    options = parse(line, syntax)
    if options.code:
        message = (
            f"code stands behind the options of %%{syntax.magic}: {options.code}. Move it below"
        )
        raise UsageError(message)
    for flag, remedy in syntax.line_only.items():
        if getattr(options, syntax.flags[flag][0]) not in (None, False):
            message = f"{flag} does not go with a whole cell. {remedy}"
            raise UsageError(message)
    return options


def _known(flag: str, syntax: Syntax) -> tuple[str, str, str]:
    if flag in syntax.flags:
        return syntax.flags[flag]
    from jupyter_serprof.model.errors import closest

    hint = closest(flag, syntax.flags)
    message = (
        f"unknown option {flag}; {hint}%{syntax.magic} -h lists them. "
        "To run code that begins with a minus, put it in parentheses"
    )
    raise UsageError(message)


def _word(text: str) -> tuple[str, str]:
    """Cut the first word off; quotes hold a word with spaces together."""
    stream = StringIO(text)
    lexer = shlex.shlex(stream, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token() or ""
    except ValueError as error:
        message = f"a quote is not closed: {text}"
        raise UsageError(message) from error
    return word, text[stream.tell() :].strip()


def _converted(flag: str, wants: str, value: str) -> object:
    if not value or (value.startswith("-") and wants != "TEXT"):
        message = f"{flag} needs a value: {flag} {wants}"
        raise UsageError(message)
    readers = {"N": _number, "SECONDS": _seconds, "n=FROM:TO:COUNT": parse_range}
    if wants in readers:
        return readers[wants](flag, value)
    if wants == "LIST":
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if wants == "NAME" and not _is_name(value):
        message = f"{flag} needs the name of a variable, not {value!r}: {flag} trace"
        raise UsageError(message)
    return value


def _number(flag: str, value: str) -> int:
    digits = len(str(_MOST_REPEATS))
    if not value.isdecimal() or len(value) > digits or not 1 <= int(value) <= _MOST_REPEATS:
        message = f"{flag} needs a number of warm runs from 1 to 1000, not {value!r}: {flag} 5"
        raise UsageError(message)
    return int(value)


def _seconds(flag: str, value: str) -> float:
    if (seconds := _positive(value)) is None:
        message = f"{flag} needs a number of seconds above 0, not {value!r}: {flag} 60"
        raise UsageError(message)
    return seconds
