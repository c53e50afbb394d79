"""The pairs of versions that are run: every two values meet, but for those that have no wheels."""

from itertools import combinations, product

import matrix
from matrix import AXES, IMPOSSIBLE, pairs


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
