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
#: Beside the flags: that the code is a statement.
_STATEMENT = "a statement"


class Exclusion(NamedTuple):
    """Two options of which one is refused with the other, or (``is_needed``) without it."""

    flag: str
    other: str
    sentence: str
    is_needed: bool = False


_COMPARED = (
    "--sweep does not go with --compare. Store the sweep with -o now, and compare it later: "
    "sp.compare(before, after)"
)
_LIMITED = (
    "--sweep does not go with --fail-above, which is a limit of a comparison. "
    "Store both sweeps with -o, then: sp.compare(before, after)"
)
_LIMIT = Exclusion(
    "--fail-above",
    "--compare",
    "--fail-above needs something to compare with: "
    "%{magic} --compare before.serprof.json --fail-above {fail_above} CODE",
    is_needed=True,
)
_HIDDEN = Exclusion(
    "--private",
    "--save",
    "--private is about a file: %{magic} --private --save run.serprof.json CODE",
    is_needed=True,
)
_ONE_SIZE = (
    "--sweep does not go with {other}, which is about one size. "
    "Choose one: {name} = {high}, then: %serprof {typed} {code}"
)
_MANY = "--blame opens one value, {other} runs it many times. Write %serprof --blame {code}"
_PARTS = "--split takes one value apart, {other} runs it many times. Write %serprof --split {code}"
_PAIRS = "--try runs each remedy in pairs, {other} runs something else. Write %serprof --try {code}"
_TWO_RUNS = "--try and {other} are two runs. Write %serprof --try {code}"
_ONE_RUN = "{flag} looks into one run, and {other} makes many. Write %graphstages {flag} {code}"
_AS_IT_IS = (
    "{flag} runs a collection, and the code is a statement, which runs as it is. "
    "Assign first, then: %graphstages {flag} NAME"
)

#: The first rule that is broken is told.
RULES: dict[str, tuple[Exclusion, ...]] = {
    SERPROF.magic: (
        Exclusion("--sweep", "--compare", _COMPARED),
        *(
            Exclusion("--sweep", other, _ONE_SIZE)
            for other in ("--split", "--blame", "--link", "--try")
        ),
        Exclusion("--sweep", "--fail-above", _LIMITED),
        _LIMIT,
        _HIDDEN,
        *(
            Exclusion("--blame", other, _MANY)
            for other in ("--repeat", "--transports", "--compare")
        ),
        Exclusion("--split", "--compare", _PARTS),
        *(Exclusion("--try", other, _PAIRS) for other in ("--repeat", "--transports", "--compare")),
        *(Exclusion("--try", other, _TWO_RUNS) for other in ("--blame", "--split")),
        Exclusion(
            "--link",
            "--try",
            "--link goes with --try: %serprof --try --link {link} NAME",
            is_needed=True,
        ),
        Exclusion(
            "--sweep",
            _STATEMENT,
            "--sweep measures an expression, and the code is a statement. Put it into a function f "
            "of {name}, then: %serprof --sweep {name}=FROM:TO:COUNT f({name})",
        ),
        Exclusion(
            "--split",
            _STATEMENT,
            "--split takes a value apart, and the code is a statement. "
            "Run the statement first, then: %serprof --split NAME",
        ),
        Exclusion(
            "--transports",
            _STATEMENT,
            "--transports sends a value, and the code is a statement. "
            "Run the statement first, then: %serprof --transports LIST NAME",
        ),
    ),
    GRAPHSTAGES.magic: (
        Exclusion(
            "--sweep",
            "--blame",
            "--blame opens the graph of one run. Sweep first, then: %graphstages --blame CODE with "
            "the chunk size that you want to look into",
        ),
        Exclusion(
            "--sweep",
            "--try",
            "--try runs one computation in pairs. Sweep first, then: %graphstages --try CODE with "
            "the chunk size that you want to improve",
        ),
        Exclusion("--sweep", "--compare", _COMPARED),
        Exclusion("--sweep", "--fail-above", _LIMITED),
        _LIMIT,
        _HIDDEN,
        *(
            Exclusion(flag, other, _ONE_RUN)
            for other in ("--compare", "--repeat")
            for flag in ("--blame", "--try")
        ),
        Exclusion(
            "--sweep",
            _STATEMENT,
            "--sweep runs the collection of an expression, and the code is a statement. Put it "
            "into a function f of {name} that returns the collection, then: "
            "%graphstages --sweep {range} f({name})",
        ),
        *(Exclusion(flag, _STATEMENT, _AS_IT_IS) for flag in ("--compute", "--timeout")),
        Exclusion(
            "--try",
            _STATEMENT,
            "--try takes a collection, and the code is a statement. "
            "Assign first, then: %graphstages --try NAME",
        ),
    ),
}


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
    given |= {_STATEMENT} if is_statement else set()
    for rule in RULES[syntax.magic]:
        if rule.flag in given and (rule.other in given) is not rule.is_needed:
            raise UsageError(rule.sentence.format(**_words(rule, options, syntax)))


def _words(rule: Exclusion, options: Options, syntax: Syntax) -> dict[str, object]:
    """Return what stands for the names in a sentence."""
    swept = options.sweep
    return {
        "magic": syntax.magic,
        "flag": rule.flag,
        "other": rule.other,
        "typed": f"--try --link {options.link}" if rule.other == "--link" else rule.other,
        "code": options.code,
        "link": options.link,
        "fail_above": options.fail_above,
        "range": swept,
        "name": swept and swept.name,
        "high": swept and swept.typed_high,
    }


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
