"""Options that exclude each other, or need each other: one table, with the line to write instead.

What an option itself may be (a name, a number, a range) is said where it is parsed.
"""

import re
from importlib.resources import files
from typing import NamedTuple

from jupyter_serprof.magics.options import GRAPHSTAGES, SERPROF, Options, Syntax
from jupyter_serprof.model import UsageError


class Exclusion(NamedTuple):
    """Options of which each is refused with any of the others, or (``is_needed``) without them."""

    flags: list[str]
    others: list[str]
    sentence: str
    is_needed: bool = False


_TABLE = files("jupyter_serprof.magics").joinpath("together.txt").read_text("utf-8")


def _rule(told: str) -> Exclusion:
    head, *sentence = told.splitlines()
    flags, word, others = re.split(" (with|without) ", head)
    return Exclusion(flags.split(), others.split(), " ".join(sentence), word == "without")


#: The first rule that is broken is told.
RULES = [*map(_rule, _TABLE.split("\n\n"))]
#: What a statement cannot have.
EXPRESSION_ONLY = {
    SERPROF.magic: ("--sweep", "--transports", "--objects"),
    GRAPHSTAGES.magic: ("--sweep", "--compute", "--timeout", "--try"),
}
_STATEMENT = "{flag} needs an expression, and the code is a statement. "
_SWEPT = "Put it into a function f of {name}, then: %{magic} {flag} {range} f({name})"
_ASSIGNED = "Run it first, then: %{magic} {with_value} NAME"


def check(options: Options, syntax: Syntax = SERPROF, *, is_statement: bool = False) -> None:
    """Refuse what does not go together, before any code runs.

    ``is_statement``: Whether the code is known to be no expression.
    Raises ``UsageError``: With the line to write instead.
    """
    from jupyter_serprof import api

    if options.fail_above is not None:
        api.limit_share(options.fail_above)
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
    swept = options.sweep
    said = sentence.format(
        magic=syntax.magic,
        flag=flag,
        with_value=f"{flag} {syntax.flags[flag][1]}".rstrip(),
        other=other,
        code=options.code,
        fail_above=options.fail_above,
        range=swept,
        name=swept and swept.name,
        high=swept and swept.typed_high,
    )
    return UsageError(said)
