"""Options: what is typed behind a magic becomes options and code, or one clear sentence."""

from dataclasses import fields
from typing import Any

import pytest
from goldens import check
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.magics.options import (
    GRAPHSTAGES,
    SERPROF,
    SYNTAXES,
    Options,
    Syntax,
    parse,
    parse_cell,
)
from jupyter_serprof.model import UsageError

COMMON = "-o t --name 'two words' --detail --save x.png"


@pytest.mark.parametrize(
    ("line", "syntax", "fields"),
    [
        (
            f"{COMMON} --repeat 5 --transports pickle,ray -q f(a, b='c')",
            SERPROF,
            {"repeat": 5, "transports": ("pickle", "ray"), "code": "f(a, b='c')"},
        ),
        (
            f"--timeout 1.5 --compute {COMMON} -q (x + x.T).sum()",
            GRAPHSTAGES,
            {"timeout": 1.5, "compute": True, "code": "(x + x.T).sum()"},
        ),
    ],
    ids=["serprof", "graphstages"],
)
def test_every_option_has_its_field(line: str, syntax: Syntax, fields: dict[str, Any]) -> None:
    """All options may stand together, in any order, before the code."""
    options = parse(line, syntax)

    known: dict[str, Any] = {"out": "t", "name": "two words", "detail": True}
    known |= {"save": ("x.png",), "quiet": True}
    assert options == Options(**known, **fields)


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--repeat=5 f()", "repeat", 5),
        ('--name="two words" f()', "name", "two words"),
        ("--transports=pickle, f()", "transports", ("pickle",)),
        ("-o=t f()", "out", "t"),
        ("--name -x f()", "name", "-x"),
    ],
)
def test_a_value_may_follow_an_equals_sign(line: str, field: str, value: object) -> None:
    """--repeat=5 and --repeat 5 say the same; quotes hold a value together."""
    options = parse(line)

    assert getattr(options, field) == value
    assert options.code == "f()"


@pytest.mark.parametrize(
    "code",
    [
        *(
            "a",
            "f('--name x', \"it's\")",
            "a; b",
            "x = {'a': 1}",
            "-1 * a",
            "-(a + b)",
            "- a",
            "-.5",
        ),
        *("a --b", "d['-o']", "f(  1,   2  )", "s.split('\\n')", "# nothing"),
    ],
)
def test_code_stays_as_typed(code: str) -> None:
    """Quotes, semicolons, dashes and spaces of the code are not touched by the options."""
    plain, after_options = parse(code), parse(f"  --detail --name 'a b'   {code}  ")

    assert plain == Options(code=code)
    assert after_options == Options(code=code, detail=True, name="a b")


def test_two_dashes_end_the_options() -> None:
    """Code that begins with a minus and a name can be typed behind --."""
    assert parse("-q -- -x") == Options(quiet=True, code="-x")


def refused(magic: str, line: str) -> str:
    """Return a line as it is typed, and the message with which it is refused."""
    parses = parse_cell if magic.startswith("%%") else parse
    with pytest.raises(UsageError) as caught:
        parses(line, SYNTAXES[magic.lstrip("%")])
    return f"{line}\n  {caught.value}".replace(MANY, "9…9")


#: More digits than Python makes a number of.
MANY = "9" * 5000
#: What is refused before anything runs; the file has what is said to each.
REFUSED = {
    "%serprof": (
        *("-x + 1", "--tansports ray a", "--repeats 3 a", "--nmae x", "--name it's f()"),
        *("-o", "-o -q", "--name", "--name ''", "--repeat", "--repeat --detail a", "--save"),
        *("--sweep", "--swep n=1:2:3 f(n)"),
        *("--repeat=", "--detail=no a", "-q=1 a", "-h=x"),
        *(f"--repeat {count} a" for count in ("0", "1001", "x", "1.5", MANY, "1e3")),
        *(f"-o {name} a" for name in ("1x", "a.b", "class", "None", "a-b")),
        *(f"--sweep {typed} f(n)" for typed in ("n=1e3:1e8", "1e3:1e8:12", "n=1e8:1e3:5")),
        *(f"--sweep {typed} f(n)" for typed in ("n=1e3:1e8:1", "n=0:1e8:5", "n=a:1e8:5")),
        *(f"--sweep {typed} f(n)" for typed in ("2n=1e3:1e8:5", "n=1:2:3:4", "n=5:5:3")),
    ),
    "%%serprof": ("--repeat 3", "--transports ray", "-q x = 1"),
    "%graphstages": (
        *("--transports ray x", "--computes x", "--compute=1 x", "--timeout", "--timeout -1 x"),
        *(f"--timeout {time} x" for time in ("0", "x", "nan", "inf", "1e999", "1,5", "5s", "1_")),
        "--timeout ''x x",
    ),
    "%%graphstages": (
        *("--compute", "--timeout 3", "--sweep chunk=1:9:3", "--repeat 3", "x.sum()"),
    ),
}


def test_a_refused_line_is_answered_with_what_would_be_right() -> None:
    """The value, the option that was meant, and the magic that was typed."""
    said = {
        magic: "\n".join(refused(magic, line) for line in lines) for magic, lines in REFUSED.items()
    }

    check("refused-lines", said)


@given(st.text(max_size=40), st.sampled_from(list(SYNTAXES.values())))
def test_any_line_gives_options_or_a_usage_error(line: str, syntax: Syntax) -> None:
    try:
        code = parse(line, syntax).code
    except UsageError:
        code = ""

    assert code in line


@pytest.mark.parametrize("magic", SYNTAXES)
def test_help_names_every_option_once(magic: str) -> None:
    """What -h prints is complete, and fits a page of 100 columns."""
    syntax = SYNTAXES[magic]

    text = syntax.help

    assert f"    %%{magic} " in text
    assert max(map(len, text.splitlines())) <= 100
    for flag in syntax.flags:
        if flag != "--help":
            assert text.count(f"    {flag} ") == 1


def test_every_option_can_be_typed() -> None:
    typed = {field for syntax in SYNTAXES.values() for field, *_ in syntax.flags.values()}

    assert typed == {field.name for field in fields(Options)} - {"code"}


def test_a_cell_takes_the_options_of_a_line() -> None:
    options = parse_cell("-o t --name n --detail --save x.png -q")

    assert options == Options(out="t", name="n", detail=True, save=("x.png",), quiet=True)
