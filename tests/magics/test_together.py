"""Options that exclude or need each other: each pair is refused with the line to write instead."""

import pytest
from goldens import check

from jupyter_serprof.magics import together
from jupyter_serprof.magics.options import SYNTAXES, parse
from jupyter_serprof.magics.together import EXPRESSION_ONLY, RULES
from jupyter_serprof.model import UsageError

SWEEP = "--sweep n=1e3:1e6:4"
#: What is refused, with and without a statement as its code; the file has what is said to each.
REFUSED = {
    "serprof": (
        *("--fail-above 5% f()", "--private f()"),
        *(f"{SWEEP} --{one} f(n)" for one in ("repeat 2 --blame", "blame")),
        *(f"{SWEEP} --{one} f(n)" for one in ("try", "compare x.json", "fail-above 5%")),
        *(f"--blame --{one} f()" for one in ("repeat 3", "transports ray", "compare x")),
        *(f"--try --{one} f()" for one in ("repeat 3", "transports ray", "compare x")),
        "--try --blame f()",
        *(f"--objects --{one} refs" for one in ("repeat 3", "detail", "blame", "try")),
        *(f"{SWEEP} y = 1", "--transports ray y = 1", "--objects y = 1"),
    ),
    "graphstages": (
        *("--fail-above 5% x", "--private x"),
        *(f"{SWEEP} --{one} f(n)" for one in ("blame", "try", "compare a", "fail-above 5%")),
        *(
            f"--{one} --{other} x"
            for one in ("blame", "try")
            for other in ("compare a", "repeat 3")
        ),
        *(f"{SWEEP} y = 1", "--compute y = 1", "--timeout 5 y = 1", "--try y = 1"),
    ),
}


def refused(magic: str, line: str) -> str:
    """Return a line as it is typed, and the one sentence with which it is refused."""
    options = parse(line, SYNTAXES[magic])

    with pytest.raises(UsageError) as caught:
        together.check(options, SYNTAXES[magic], is_statement=line.endswith("y = 1"))

    assert not set("{}\n") & set(str(caught.value))
    return f"{line}\n  {caught.value}"


def test_what_does_not_go_together_is_refused() -> None:
    """With all names filled in, and the line to write instead."""
    said = {
        magic: "\n".join(refused(magic, line) for line in lines) for magic, lines in REFUSED.items()
    }

    check("refused-together", said)


def test_every_rule_has_its_case() -> None:
    """Every flag that a rule names is in a line that is refused."""
    named = {flag for rule in RULES for flag in rule.flags}
    named.update(*(rule.others for rule in RULES if not rule.is_needed))
    named.update(*EXPRESSION_ONLY.values())

    assert named <= {word for lines in REFUSED.values() for line in lines for word in line.split()}


@pytest.mark.parametrize(
    ("magic", "line"),
    [
        ("serprof", "--repeat 3 --transports ray --compare x --fail-above 5% f()"),
        ("serprof", "--try --detail f()"),
        ("serprof", f"{SWEEP} --repeat 3 --transports ray --detail f(n)"),
        ("graphstages", f"{SWEEP} --repeat 3 --compute --timeout 5 f(n)"),
        ("graphstages", "--compare x --fail-above 5% --repeat 3 --compute x"),
        ("graphstages", "--blame --compute --timeout 5 x"),
    ],
)
def test_what_goes_together_is_left_alone(magic: str, line: str) -> None:
    together.check(parse(line, SYNTAXES[magic]), SYNTAXES[magic])
