"""``--fail-above``: what it takes, what it lets pass, and what it says when it does not."""

from dataclasses import replace

import pytest

from jupyter_serprof.experiments.compare.limit import check, limit_share
from jupyter_serprof.model import Change, Comparison, RegressionError, SerprofError, UsageError
from jupyter_serprof.model.trace import TIMES_APART

MS = 1_000_000


def change(stage: str = "", low: float | None = 1.2, after_ms: float = 15, **facts: str) -> Change:
    """Return a line that got half as slow again."""
    given = {"title": stage or "Wall time", "verdict": "slower", **facts}
    return Change(
        stage=stage,
        before_ns=10 * MS,
        after_ns=after_ms * MS,
        ratio=1.5,
        low=low,
        high=1.8,
        **given,  # type: ignore[arg-type]  # texts only
    )


def comparison(*changes: Change, noise: float | None = 0.05) -> Comparison:
    return Comparison(before="a", after="b", changes=changes, noise_share=noise)


@pytest.mark.parametrize(
    ("limit", "share"), [("10%", 0.1), ("10", 0.1), (" 2.5 % ", 0.025), ("150%", 1.5), (0.1, 0.1)]
)
def test_a_limit_is_percent_as_text_and_a_share_as_number(limit: str | float, share: float) -> None:
    assert limit_share(limit) == pytest.approx(share)


@pytest.mark.parametrize("limit", ["", "%", "ten", "-5%", "0", "0%", "nan", "inf%", 10, 0, -0.1, 1])
def test_what_is_no_limit_is_refused_with_one_that_is(limit: str | float) -> None:
    """Never a limit that lets everything pass by mistake."""
    with pytest.raises(UsageError, match="10%"):
        limit_share(limit)


def test_a_text_that_may_mean_two_things_is_refused() -> None:
    """0.1 is a tenth of a percent to some and ten percent to others."""
    with pytest.raises(UsageError) as caught:
        limit_share("0.1")

    assert str(caught.value) == ("--fail-above 0.1 may mean 10% or 0.1%. Write --fail-above 10%")
    assert limit_share("0.1%") == pytest.approx(0.001)


def test_what_is_slower_by_more_raises_and_is_listed() -> None:
    """With its interval; stages break no limit, the wall time tells of them."""
    found = comparison(change(), change("pickle.dumps", low=9))

    with pytest.raises(RegressionError) as caught:
        check(found, "10%")

    assert isinstance(caught.value, SerprofError)
    assert str(caught.value) == (
        "slower by more than 10.0 %: "
        "Wall time 1.50 [1.20 to 1.80] times (10.0 ms before, 15.0 ms after)"
    )


@pytest.mark.parametrize(
    "found",
    [
        comparison(change(low=1.09)),  # the interval reaches below the limit
        comparison(change(), noise=0.3),  # the noise reaches above the interval
        comparison(change(verdict="cannot tell")),
    ],
)
def test_what_is_not_sure_or_does_not_matter_passes(found: Comparison) -> None:
    """A build is not stopped by chance, and it is told that nobody knows."""
    assert check(found, "10%").startswith(
        "cannot tell whether it is slower by more than 10.0 %: Wall time 1.50 ["
    )


@pytest.mark.parametrize(("high", "is_told"), [(1.09, True), (1.11, False)])
def test_what_is_surely_within_the_limit_says_nothing(high: float, *, is_told: bool) -> None:
    wall = replace(change(low=0.98, verdict="cannot tell", reason="within chance"), high=high)

    said = check(comparison(wall), "10%")

    assert bool(said) is not is_told
    assert not said or said.endswith("times (10.0 ms before, 15.0 ms after), within chance")


def test_a_limit_against_a_file_without_fixed_work_is_an_error() -> None:
    """It could never fail; of runs in turns it does: whatever drifts, drifts for both."""
    in_turns = comparison(change())
    apart = replace(in_turns, notes=("other versions", TIMES_APART))

    with pytest.raises(RegressionError):
        check(in_turns, "10%")
    with pytest.raises(UsageError) as of_file:
        check(apart, "10%")

    assert f"nothing to judge by: {TIMES_APART}" in str(of_file.value)


@pytest.mark.parametrize("changes", [(), (change(low=None, reason="1 run is too few"),)])
def test_a_limit_without_anything_to_judge_by_is_an_error(changes: tuple[Change, ...]) -> None:
    """A test that can never fail is told, not passed."""
    with pytest.raises(UsageError, match=r"nothing to judge by: (no wall|1 run is too few)"):
        check(comparison(*changes), "10%")
