"""Options that exclude each other, or need each other: one table, with the line to write instead.

What an option itself may be (a name, a number, a range) is said where it is parsed.
"""

from typing import NamedTuple

from jupyter_serprof.magics.options import GRAPHSTAGES, SERPROF, Options, Syntax
from jupyter_serprof.model import UsageError


class Exclusion(NamedTuple):
    """Options of which each is refused with any of the others, or (``is_needed``) without them."""

    flags: tuple[str, ...]
    others: tuple[str, ...]
    sentence: str
    is_needed: bool = False


#: The first rule that is broken is told.
RULES = (
    Exclusion(
        ("--objects",),
        ("--repeat", "--transports", "--sweep", "--detail", "--blame", "--try", "--compare"),
        "{flag} looks at what is there, nothing runs that {other} could be about. "
        "Write %{magic} {flag} {code}",
    ),
    Exclusion(
        ("--sweep",),
        ("--compare", "--fail-above"),
        "{flag} does not go with {other}. Store the sweep with -o now, and compare it later: "
        "sp.compare(before, after)",
    ),
    Exclusion(
        ("--sweep",),
        ("--blame", "--try"),
        "{flag} does not go with {other}, which is about one size. "
        "Choose one: {name} = {high}, then: %{magic} {other} {code}",
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
        ("--blame", "--try"),
        ("--repeat", "--transports", "--compare"),
        "{flag} looks into one run, and {other} makes many. Write %{magic} {flag} {code}",
    ),
    Exclusion(
        ("--try",), ("--blame",), "{flag} and {other} are two runs. Write %{magic} {flag} {code}"
    ),
)
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
