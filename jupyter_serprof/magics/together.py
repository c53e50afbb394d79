"""Options that exclude each other, or need each other: one table, with the line to write instead.

What an option itself may be (a name, a number, a range) is said where it is parsed.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from jupyter_serprof.magics.options import GRAPHSTAGES, SERPROF
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from jupyter_serprof.magics.options import Options, Syntax

_RATE = re.compile(r"([0-9.]+(?:e[0-9]+)?)\s*([kMGT]?)(B|bit|b)?(?:/s|ps)?")
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class Exclusion(NamedTuple):
    """Options of which each is refused with any of the others, or (``is_needed``) without them."""

    flags: tuple[str, ...]
    others: tuple[str, ...]
    sentence: str
    is_needed: bool = False


#: The first rule that is broken is told.
RULES = (
    Exclusion(
        ("--sweep",),
        ("--compare", "--fail-above"),
        "{flag} does not go with {other}. Store the sweep with -o now, and compare it later: "
        "sp.compare(before, after)",
    ),
    Exclusion(
        ("--sweep",),
        ("--split", "--blame", "--link", "--try"),
        "{flag} does not go with {other}, which is about one size. "
        "Choose one: {name} = {high}, then: %{magic} {typed} {code}",
    ),
    Exclusion(
        ("--fail-above",),
        ("--compare",),
        "{flag} needs something to compare with: "
        "%{magic} --compare before.serprof.json {flag} {fail_above} CODE",
        is_needed=True,
    ),
    Exclusion(
        ("--private",),
        ("--save",),
        "{flag} is about a file: %{magic} {flag} --save run.serprof.json CODE",
        is_needed=True,
    ),
    Exclusion(
        ("--blame", "--try", "--split"),
        ("--repeat", "--transports", "--compare"),
        "{flag} looks into one run, and {other} makes many. Write %{magic} {flag} {code}",
    ),
    Exclusion(
        ("--try",),
        ("--blame", "--split"),
        "{flag} and {other} are two runs. Write %{magic} {flag} {code}",
    ),
    Exclusion(
        ("--link",),
        ("--try",),
        "{flag} goes with {other}: %{magic} {other} {flag} {link} NAME",
        is_needed=True,
    ),
)
#: What a statement cannot have.
EXPRESSION_ONLY = {
    SERPROF.magic: ("--sweep", "--split", "--transports"),
    GRAPHSTAGES.magic: ("--sweep", "--compute", "--timeout", "--try"),
}
_STATEMENT = "{flag} needs an expression, and the code is a statement. "
_SWEPT = "Put it into a function f of {name}, then: %{magic} {flag} {range} f({name})"
_ASSIGNED = "Run it first, then: %{magic} {with_value} NAME"


def check(options: Options, syntax: Syntax = SERPROF, *, is_statement: bool = False) -> None:
    """Refuse what does not go together, before any code runs.

    Parameters
    ----------
    is_statement
        Whether the code is known to be no expression.

    Raises
    ------
    UsageError
        With the line to write instead.
    """
    from jupyter_serprof import api

    if options.fail_above is not None:
        api.limit_share(options.fail_above)
    link_rate(options.link)
    flags = ((flag, getattr(options, field)) for flag, (field, *_) in syntax.flags.items())
    given = {flag for flag, value in flags if value not in (None, False)}
    for rule in RULES:
        for flag in filter(given.__contains__, rule.flags):
            met = [other for other in rule.others if other in given]
            if bool(met) is not rule.is_needed:
                raise _refused(rule.sentence, options, syntax, flag, (met or rule.others)[0])
    for flag in EXPRESSION_ONLY[syntax.magic] if is_statement else ():
        if flag in given:
            remedy = _SWEPT if flag == "--sweep" else _ASSIGNED
            raise _refused(_STATEMENT + remedy, options, syntax, flag)


def _refused(
    sentence: str, options: Options, syntax: Syntax, flag: str, other: str = ""
) -> UsageError:
    """Return a sentence with all that stands for the names in it."""
    swept = options.sweep
    said = sentence.format(
        magic=syntax.magic,
        flag=flag,
        with_value=f"{flag} {syntax.flags[flag][1]}".rstrip(),
        other=other,
        typed=f"--try --link {options.link}" if other == "--link" else other,
        code=options.code,
        link=options.link,
        fail_above=options.fail_above,
        range=swept,
        name=swept and swept.name,
        high=swept and swept.typed_high,
    )
    return UsageError(said)


def link_rate(text: str | None) -> float | None:
    """Return bytes per second of ``100e6``, ``125MB/s`` or ``1Gbit/s``; None of None.

    Raises
    ------
    UsageError
        If it is no rate above 0.

    Examples
    --------
    >>> link_rate("125MB/s"), link_rate("1Gbit/s"), link_rate("100e6")
    (125000000.0, 125000000.0, 100000000.0)
    """
    if text is None:
        return None
    found = _RATE.fullmatch(text.strip())
    try:
        rate = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        rate = 0.0
    rate = rate / 8 if found and found[3] in ("bit", "b") else rate
    if not (math.isfinite(rate) and rate > 0):
        message = (
            f"--link needs bytes per second, not {text!r}: --link 100e6, --link 125MB/s or "
            "--link 1Gbit/s"
        )
        raise UsageError(message)
    return rate
