"""The pairs of versions that are run: every two values meet, but for those that have no wheels."""

from itertools import combinations, product
from pathlib import Path

import matrix
import pytest
from matrix import AXES, IMPOSSIBLE, LOWEST, Pair, Result, pairs


def test_every_two_values_meet_or_are_named_as_impossible() -> None:
    """Nobody has to remember which combination was forgotten."""
    named = {
        frozenset({("python", python), (axis, value)})
        for pythons, axis, values, _ in IMPOSSIBLE
        for python, value in product(pythons, values)
    }
    wanted = {
        frozenset({(one, left), (other, right)})
        for one, other in combinations(AXES, 2)
        for left, right in product(AXES[one], AXES[other])
    }

    met = {frozenset(two) for pair in pairs() for two in matrix.meetings(pair)}

    assert wanted - met == named
    assert len(pairs()) == len(set(pairs())) <= 24


def test_a_python_that_is_missing_takes_no_other_pair_with_it() -> None:
    """Without 3.14 all other values meet all the same."""
    newest = AXES["python"][-1]

    met = {two for pair in pairs() if pair.python != newest for two in matrix.meetings(pair)}

    every = {two for pair in pairs() for two in matrix.meetings(pair)}
    assert {two for two in every - met if ("python", newest) not in two} == set()


def test_a_python_that_is_missing_is_named_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table says what was not run, and why."""
    monkeypatch.setattr(matrix, "interpreter", lambda _: None)

    code = matrix.main(["--lowest"])

    assert code == 0
    assert "no Python 3.12 on this machine" in capsys.readouterr().out


def test_a_red_flow_is_named_and_a_coverage_is_read(tmp_path: Path) -> None:
    """What pytest has written about a kernel that died, a skip and a share."""
    report = tmp_path / "report.xml"
    report.write_text(
        "<testsuite><testcase name='test_flow[ray: coverage of tasks]'><properties>"
        "<property name='ray: coverage of tasks' value='98.6%'/></properties></testcase>"
        "<testcase name='test_flow[pickle: --blame]'>"
        "<failure message='RuntimeError: the kernel died, exit code -11'/></testcase>"
        "<testcase name='test_picture_is_drawn[lab]'><skipped message='no Chromium'/></testcase>"
        "</testsuite>"
    )
    result = Result(LOWEST)

    matrix.read(report, result)

    assert (result.ok_count, result.count) == (1, 3)
    assert "98.6%" in result.row
    assert len(result.red) == 1
    assert "pickle: --blame failure: RuntimeError: the kernel died, exit code -11" in result.row[-1]
    assert "picture_is_drawn[lab] skipped: no Chromium" in result.row[-1]


@pytest.mark.parametrize(
    ("pair", "wanted"),
    [
        (LOWEST, "numpy==1.* pandas==2.* jupyterlab==4.4.* notebook==7.4.* pyarrow<26"),
        (Pair("3.11", *["newest"] * 5), "ray dask distributed numpy pandas jupyterlab notebook"),
    ],
)
def test_a_value_is_a_requirement(pair: Pair, wanted: str) -> None:
    """A release with all its patches; the newest is bound by nothing."""
    assert " ".join(pair.requirements).endswith(wanted)
