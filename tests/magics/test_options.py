"""Options: what is typed behind a magic becomes options and code, or one clear sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.magics.options import (
    FLAGS,
    GRAPHSTAGES,
    LINE_ONLY,
    SYNTAXES,
    Options,
    Syntax,
    help_text,
    parse,
    parse_cell,
)
from jupyter_serprof.model import UsageError


def complaint(line: str, syntax: Syntax = SYNTAXES["serprof"]) -> str:
    """Return the message with which a line is refused."""
    with pytest.raises(UsageError) as caught:
        parse(line, syntax)
    return str(caught.value)


def test_every_option_has_its_field() -> None:
    """All options may stand together, in any order, before the code."""
    line = (
        "-o trace --name 'two words' --repeat 5 --transports pickle,ray --detail "
        "--save x.png -q f(a, b='c')"
    )

    options = parse(line)

    assert options == Options(
        out="trace",
        name="two words",
        repeat=5,
        transports=("pickle", "ray"),
        detail=True,
        save="x.png",
        quiet=True,
        code="f(a, b='c')",
    )


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
        "a",
        "f('--name x', \"it's\")",
        "a; b",
        "x = {'a': 1}",
        "-1 * a",
        "-(a + b)",
        "- a",
        "-.5",
        "a --b",
        "d['-o']",
        "f(  1,   2  )",
        "s.split('\\n')",
        "# nothing",
    ],
)
def test_code_stays_as_typed(code: str) -> None:
    """Quotes, semicolons, dashes and spaces of the code are not touched by the options."""
    plain, after_options = parse(code), parse(f"  --detail --name 'a b'   {code}  ")

    assert plain == Options(code=code)
    assert after_options == Options(code=code, detail=True, name="a b")


def test_two_dashes_end_the_options() -> None:
    """Code that begins with a minus and a name can be typed behind --."""
    options = parse("-q -- -x")

    assert options == Options(quiet=True, code="-x")


def test_a_minus_and_a_name_is_refused_with_two_ways_out() -> None:
    """It could be an option or code: the message says how to say which."""
    message = complaint("-x + 1")

    assert "unknown option -x" in message
    assert "parentheses" in message


@pytest.mark.parametrize(
    ("line", "meant"),
    [("--tansports ray a", "--transports"), ("--repeats 3 a", "--repeat"), ("--nmae x", "--name")],
)
def test_an_unknown_option_names_the_closest(line: str, meant: str) -> None:
    """A slip of the keyboard is answered with the option that was meant."""
    message = complaint(line)

    assert f"did you mean {meant}?" in message
    assert "%serprof -h" in message


@pytest.mark.parametrize(
    "line",
    [
        "-o",
        "-o -q",
        "--name",
        "--name ''",
        "--repeat",
        "--repeat --detail a",
        "--save",
        "--repeat=",
    ],
)
def test_a_missing_value_is_named(line: str) -> None:
    """An option that lacks its value says so, with its form."""
    message = complaint(line)

    flag = line.split(maxsplit=1)[0].rstrip("=")
    assert message == f"{flag} needs a value: {flag} {FLAGS[flag][1]}"


@pytest.mark.parametrize("value", ["0", "1001", "x", "1.5", "9" * 5000, "1e3"])
def test_repeat_takes_1_to_1000(value: str) -> None:
    """A number of runs out of bounds is refused before anything runs, however long it is."""
    message = complaint(f"--repeat {value} a")

    assert "from 1 to 1000" in message
    assert "--repeat 5" in message


@pytest.mark.parametrize("name", ["1x", "a.b", "class", "None", "a-b"])
def test_o_takes_a_name_that_can_be_read_back(name: str) -> None:
    """A document is never stored where no code can reach it."""
    message = complaint(f"-o {name} a")

    assert repr(name) in message


@pytest.mark.parametrize("line", ["--detail=no a", "-q=1 a", "-h=x"])
def test_a_switch_takes_no_value(line: str) -> None:
    """--detail=no does not switch detail on."""
    message = complaint(line)

    assert "takes no value" in message


def test_an_open_quote_is_named() -> None:
    """An apostrophe in a name is answered with what is wrong."""
    message = complaint("--name it's f()")

    assert "a quote is not closed" in message


@given(st.text(max_size=40), st.sampled_from(list(SYNTAXES.values())))
def test_any_line_gives_options_or_a_usage_error(line: str, syntax: Syntax) -> None:
    """Whatever is typed, no other error comes out."""
    try:
        code = parse(line, syntax).code
    except UsageError:
        code = ""

    assert code in line


@pytest.mark.parametrize("magic", SYNTAXES)
def test_help_names_every_option_once(magic: str) -> None:
    """What -h prints is complete, and fits a page of 100 columns."""
    syntax = SYNTAXES[magic]

    text = help_text(syntax)

    assert f"    %%{magic} " in text
    assert max(map(len, text.splitlines())) <= 100
    for flag in syntax.flags:
        if flag != "--help":
            assert text.count(f"    {flag} ") == 1


def test_a_cell_takes_the_options_of_a_line() -> None:
    """The same words mean the same above a cell."""
    options = parse_cell("-o t --name n --detail --save x.png -q")

    assert options == Options(out="t", name="n", detail=True, save="x.png", quiet=True)


@pytest.mark.parametrize("line", ["--repeat 3", "--transports ray"])
def test_a_cell_refuses_what_it_cannot_do(line: str) -> None:
    """An option is obeyed or refused with the way to go, never ignored."""
    with pytest.raises(UsageError) as caught:
        parse_cell(line)

    flag = line.split(maxsplit=1)[0]
    assert flag in LINE_ONLY
    assert f"{flag} does not go with a whole cell" in str(caught.value)
    assert f"%serprof {flag}" in str(caught.value)


def test_code_on_the_first_line_of_a_cell_is_refused() -> None:
    """It would be lost: the message says to move it below."""
    with pytest.raises(UsageError) as caught:
        parse_cell("-q x = 1")

    assert "x = 1. Move it below" in str(caught.value)


# The other magic


def test_graphstages_has_its_own_options() -> None:
    """All options may stand together, in any order, before the code."""
    line = (
        "--timeout 1.5 --compute -o t --name 'two words' --detail --save x.png -q (x + x.T).sum()"
    )

    options = parse(line, GRAPHSTAGES)

    assert options == Options(
        out="t",
        name="two words",
        compute=True,
        timeout=1.5,
        detail=True,
        save="x.png",
        quiet=True,
        code="(x + x.T).sum()",
    )


@pytest.mark.parametrize("value", ["0", "x", "nan", "inf", "1e999", "1,5", "5s", "1_", "''x"])
def test_timeout_takes_seconds_above_0(value: str) -> None:
    """Anything else is refused before anything runs."""
    message = complaint(f"--timeout {value} x", GRAPHSTAGES)

    assert "seconds above 0" in message
    assert "--timeout 60" in message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--transports ray x", "unknown option --transports; %graphstages -h lists them"),
        ("--computes x", "did you mean --compute?"),
        ("--compute=1 x", "--compute takes no value"),
        ("--timeout", "--timeout needs a value: --timeout SECONDS"),
        ("--timeout -1 x", "--timeout needs a value"),
    ],
)
def test_graphstages_refuses_what_it_does_not_have(line: str, said: str) -> None:
    """The message names the magic that was typed."""
    message = complaint(line, GRAPHSTAGES)

    assert said in message


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("--compute", "--compute"),
        ("--timeout 3", "--timeout"),
        ("--sweep chunk=1:9:3", "--sweep"),
        ("--repeat 3", "--repeat"),
    ],
)
def test_a_cell_of_graphstages_runs_as_it_is(line: str, flag: str) -> None:
    """A cell waits for what it waits for; the message says what to write instead."""
    with pytest.raises(UsageError) as caught:
        parse_cell(line, GRAPHSTAGES)

    assert f"{flag} does not go with a whole cell. " in str(caught.value)
    assert parse_cell("-q --detail", GRAPHSTAGES) == Options(quiet=True, detail=True)


def test_code_behind_the_cell_magic_of_graphstages_is_refused() -> None:
    """The message names the magic that was typed."""
    with pytest.raises(UsageError) as caught:
        parse_cell("x.sum()", GRAPHSTAGES)

    assert "the options of %%graphstages: x.sum(). Move it below" in str(caught.value)
