"""Options that exclude or need each other: each pair is refused with the line to write instead."""

from __future__ import annotations

import pytest

from jupyter_serprof.magics.options import SYNTAXES, parse
from jupyter_serprof.magics.together import RULES, check
from jupyter_serprof.model import UsageError

SWEEP = "--sweep n=1e3:1e6:4"
#: magic, what is typed, whether the code is a statement, a part of the sentence.
CASES = [
    ("serprof", "--sweep n=1e3:1e5:5", False, "%serprof --sweep n=1000:100000:5 bytes(int(n))"),
    ("serprof", f"{SWEEP} --compare x.json f(n)", False, "--sweep does not go with --compare. Sto"),
    ("serprof", f"{SWEEP} --repeat 2 --split f(n)", False, "--split, which is about one size"),
    ("serprof", f"{SWEEP} --split f(n)", False, "n = 1000000, then: %serprof --split f(n)"),
    ("serprof", f"{SWEEP} --blame f(n)", False, "n = 1000000, then: %serprof --blame f(n)"),
    ("serprof", f"{SWEEP} --link 1e6 f(n)", False, "then: %serprof --try --link 1e6 f(n)"),
    ("serprof", f"{SWEEP} --try f(n)", False, "n = 1000000, then: %serprof --try f(n)"),
    ("serprof", f"{SWEEP} --fail-above 5% f(n)", False, "--sweep does not go with --fail-above, w"),
    (
        "serprof",
        "--fail-above 5% f()",
        False,
        "%serprof --compare before.serprof.json --fail-above",
    ),
    ("serprof", "--blame --repeat 3 f()", False, "--blame opens one value, --repeat runs it many"),
    ("serprof", "--blame --transports ray f()", False, "times. Write %serprof --blame f()"),
    ("serprof", "--blame --compare x f()", False, "--blame opens one value, --compare runs it"),
    ("serprof", "--split --compare x f()", False, "--split takes one value apart, --compare runs"),
    (
        "serprof",
        "--compare x",
        False,
        "--compare needs code that is run against it: %serprof --com",
    ),
    ("serprof", "--try --repeat 3 f()", False, "--try runs each remedy in pairs, --repeat runs"),
    ("serprof", "--try --transports ray f()", False, "something else. Write %serprof --try f()"),
    ("serprof", "--try --compare x f()", False, "--try runs each remedy in pairs, --compare runs"),
    ("serprof", "--try --blame f()", False, "--try and --blame are two runs. Write %serprof --try"),
    ("serprof", "--try --split f()", False, "--try and --split are two runs. Write %serprof --try"),
    ("serprof", "--link 1e6 f()", False, "--link goes with --try: %serprof --try --link 1e6 NAME"),
    ("serprof", f"{SWEEP} y = n", True, "%serprof --sweep n=FROM:TO:COUNT f(n)"),
    ("serprof", "--split y = 1", True, "Run the statement first, then: %serprof --split NAME"),
    ("serprof", "--transports ray y = 1", True, "then: %serprof --transports LIST NAME"),
    ("graphstages", f"{SWEEP} --blame f(n)", False, "--blame opens the graph of one run. Sweep"),
    ("graphstages", f"{SWEEP} --try f(n)", False, "--try runs one computation in pairs. Sweep"),
    ("graphstages", f"{SWEEP} --compare a f(n)", False, "--sweep does not go with --compare. Sto"),
    ("graphstages", f"{SWEEP} --fail-above 5% f(n)", False, "does not go with --fail-above, which"),
    (
        "graphstages",
        "--fail-above 5% x",
        False,
        "%graphstages --compare before.serprof.json --fail",
    ),
    ("graphstages", SWEEP, False, "%graphstages --sweep n=1000:1e6:4 make(n)"),
    ("graphstages", "--compare a", False, "%graphstages --compare FILE_OR_NAME x.sum()"),
    ("graphstages", "--repeat 3", False, "--repeat needs code: %graphstages --repeat N x.sum()"),
    ("graphstages", "--blame --compare a x", False, "--blame looks into one run, and --compare ma"),
    ("graphstages", "--try --compare a x", False, "many. Write %graphstages --try x"),
    ("graphstages", "--blame --repeat 3 x", False, "--blame looks into one run, and --repeat mak"),
    ("graphstages", "--try --repeat 3 x", False, "--try looks into one run, and --repeat makes"),
    ("graphstages", f"{SWEEP} y = n", True, "f of n that returns the collection, then: %graph"),
    ("graphstages", "--compute y = x", True, "Assign first, then: %graphstages --compute NAME"),
    ("graphstages", "--timeout 5 y = x", True, "--timeout runs a collection, and the code is a st"),
    ("graphstages", "--try y = x", True, "Assign first, then: %graphstages --try NAME"),
]


@pytest.mark.parametrize(("magic", "line", "is_statement", "said"), CASES)
def test_what_does_not_go_together_is_refused(
    magic: str, line: str, is_statement: bool, said: str
) -> None:
    """In one line, with all names filled in."""
    options = parse(line, SYNTAXES[magic])

    with pytest.raises(UsageError) as caught:
        check(options, SYNTAXES[magic], is_statement=is_statement)

    assert said in str(caught.value)
    assert not set("{}\n") & set(str(caught.value))


def test_every_rule_has_its_case() -> None:
    """As many as there are in the table, one of them with two: a value, and the line to write."""
    counts = [sum(magic == name for name, *_ in CASES) for magic in RULES]

    assert counts == [len(RULES["serprof"]) + 1, len(RULES["graphstages"])]


@pytest.mark.parametrize(
    ("magic", "line"),
    [
        ("serprof", "--repeat 3 --transports ray --compare x --fail-above 5% f()"),
        ("serprof", "--try --link 1e6 --detail f()"),
        ("serprof", f"{SWEEP} --repeat 3 --transports ray --detail f(n)"),
        ("graphstages", f"{SWEEP} --repeat 3 --compute --timeout 5 f(n)"),
        ("graphstages", "--compare x --fail-above 5% --repeat 3 --compute x"),
        ("graphstages", "--blame --compute --timeout 5 x"),
    ],
)
def test_what_goes_together_is_left_alone(magic: str, line: str) -> None:
    """Nothing is refused."""
    check(parse(line, SYNTAXES[magic]), SYNTAXES[magic])
