"""Equality: whether a value survived, without false alarms and without copies of large arrays."""

import math
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jupyter_serprof.objects import equality
from jupyter_serprof.objects.equality import same_value

NAN = math.nan
STRUCTURED = np.array([(1, NAN), (2, 3.0)], dtype=[("n", "i4"), ("x", "f8")])


class Unknown:
    """A class without equality."""


class Point:
    """A class with equality."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.x == other.x

    __hash__ = None  # type: ignore[assignment]  # as Python does for a class with equality


class Raises:
    """A class whose equality raises."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


class Elementwise:
    """A class whose equality answers with an array."""

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Record:
    """A dataclass with an array, whose own equality raises, and a field that does not count."""

    data: Any
    weight: float = NAN
    cache: object = field(default=None, compare=False)


def circle() -> list[object]:
    made: list[object] = [1]
    made.append(made)
    return made


@pytest.mark.parametrize(
    "value",
    [
        *(1, "text", b"bytes", None, NAN, complex(NAN, 1), [1, (2, {"a": NAN})], {1, 2}),
        *(np.arange(5.0), np.array([1.0, NAN]), np.array(NAN)),
        np.array(["2026-11-21", "NaT"], dtype="datetime64[s]"),
        np.array([1, NAN, "x", None], dtype=object),
        *(np.array([np.ones(2), {"a": NAN}], dtype=object), STRUCTURED, np.zeros((0, 3))),
        *(np.zeros((3, 0)), pd.DataFrame({"a": [1.0, NAN], "b": ["x", None]}), pd.Series([NAN, 1])),
        *(pl.DataFrame({"a": [1.0, None]}), pa.table({"a": [1, 2]}), Point(3), {"p": [Point(3)]}),
        *(Record(np.array([1.0, NAN])), Record([Record(1)])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_comes_back_as_it_was_is_equal(value: object) -> None:
    """Missing values are equal to themselves, in every container and library."""
    after = pickle.loads(pickle.dumps(value))

    assert same_value(value, after) is True


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *((1, 2), ([1, 2], [1]), ([1, [2, [3]]], [1, [2, [4]]]), ({"a": 1}, {"a": 1, "b": 2})),
        ({"a": 1}, {"b": 1}),
        ({"a": np.ones(2)}, {"a": np.zeros(2)}),
        (np.arange(3), np.arange(4)),
        (np.arange(3, dtype="i4"), np.arange(3, dtype="i8")),
        (np.array([1.0, NAN]), np.array([NAN, 1.0])),
        (np.array([1, "x"], dtype=object), np.array([1, "y"], dtype=object)),
        (STRUCTURED, STRUCTURED[::-1]),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
        (pa.table({"a": [1]}), pa.table({"a": [1, 2]})),
        (Point(1), Point(2)),
        (Record(np.ones(2), 1.0), Record(np.zeros(2), 1.0)),
        ({1, 2}, {1}),
        ([Raises(), 1], [Raises(), 2]),
    ],
)
def test_a_difference_is_told(before: object, after: object) -> None:
    """Lost state is reported, also behind a part that cannot be compared."""
    assert same_value(before, after) is False


def test_what_is_no_lost_state_is_equal() -> None:
    """Another type of the same value is told apart; a cache that is rebuilt does not count."""
    assert same_value(bytearray(b"ab"), b"ab") is True
    assert same_value((1, 2), [1, 2]) is True
    assert same_value(Record(1, 1.0, cache="full"), Record(1, 1.0)) is True


@pytest.mark.parametrize(
    "value",
    [
        *(Unknown(), [1, Unknown()], {Unknown(): 1}, {Unknown()}, Raises(), Elementwise()),
        *({"a": Raises()}, Record(Unknown()), pa.table({"a": [1.0, NAN]}), circle()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_told_is_not_called_a_difference(value: object) -> None:
    """No equality, one that raises or answers with an array, a circle: None, and no error."""
    after = pickle.loads(pickle.dumps(value))

    assert same_value(value, after) is None


class Counts:
    """Notes each question in ``asked``, and is equal to those of its own number."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, asked: list[int], number: int = 0) -> None:
        self.asked, self.number = asked, number

    def __eq__(self, other: object) -> bool:
        self.asked.append(1)
        return isinstance(other, Counts) and self.number == other.number


def test_containers_are_compared_in_bounded_steps() -> None:
    """A list of lists of lists costs 100,000 comparisons at most, not their product."""
    asked: list[int] = []
    inner = [Counts(asked) for _ in range(1000)]
    before, after = [inner] * 1000, [list(inner) for _ in range(1000)]
    for row in after:
        row[:] = [Counts(asked)] * 1000

    verdict = same_value(before, after)

    assert verdict is True
    assert len(asked) <= 100_000


def test_a_first_difference_ends_the_comparison() -> None:
    """What is known to differ is not compared to the end."""
    asked: list[int] = []

    verdict = same_value(*([Counts(asked, side) for _ in range(50)] for side in (0, 1)))

    assert verdict is False
    assert len(asked) <= 3


@pytest.mark.parametrize("shape", [(4_000_000,), (1, 4_000_000), (2000, 2000), (4, 2, 500_000)])
def test_large_arrays_are_compared_in_parts(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    """Whatever the shape, no more than a million elements are compared at once."""
    sizes: list[int] = []
    real = equality._same_part

    def noted(before: Any, after: Any) -> bool:
        sizes.append(before.size)
        return real(before, after)

    monkeypatch.setattr(equality, "_same_part", noted)
    before = np.zeros(shape, dtype="u1")
    after = before.copy()
    after.flat[-1] = 1

    verdicts = same_value(before, before.copy()), same_value(before, after)

    assert verdicts == (True, False)
    assert max(sizes) <= 1_000_000
    assert sum(sizes) == 2 * before.size
