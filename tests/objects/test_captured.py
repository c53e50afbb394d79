"""The variables that travel with a function: each named, with its kind and its size."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jupyter_serprof.objects.captured import captured_variables

BIG = np.ones(150_000)


def by_value(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__module__ = "__main__"
    return function


@by_value
def use(at: int) -> float:
    return float(BIG[at])


@by_value
def use_inside() -> float:
    return sum(float(part) for part in (BIG[at] for at in range(3)))


def closing(big: np.ndarray[Any, Any]) -> Callable[[int], float]:
    def inner(at: int) -> float:
        return float(big[at])

    return inner


def calling(inner: Callable[[int], float]) -> Callable[[int], float]:
    def outer(at: int) -> float:
        return 2 * inner(at)

    return outer


def added(at: int, offset: int = 0, table: object = BIG) -> int:
    """Have a default that is large, behind one that is not."""
    return at + offset + (table is None)


CASES: dict[str, tuple[Callable[[], Callable[..., Any]], str, str]] = {
    "a global": (lambda: use, "BIG", "global"),
    "a global of code inside": (lambda: use_inside, "BIG", "global"),
    "a closure": (lambda: closing(BIG), "big", "closure"),
    "a default": (lambda: by_value(added), "table", "default"),
    "a default of a lambda": (lambda: lambda at, t=BIG: at + len(t), "t", "default"),
    "a function in a function": (lambda: calling(closing(BIG)), "big", "closure"),
}


@pytest.mark.parametrize(("made", "name", "kind"), CASES.values(), ids=CASES)
def test_what_a_function_drags_along_is_named(
    made: Callable[[], Callable[..., Any]], name: str, kind: str
) -> None:
    """With its size, also where a helper that it calls holds it."""
    [found] = captured_variables(made())

    assert found == {"name": name, "kind": kind, "type": "ndarray", "size_bytes": BIG.nbytes}


def test_an_attribute_that_is_called_like_a_global_is_not_captured() -> None:
    """``array.BIG`` does not take the global BIG along."""

    class Holder:
        BIG = 1

    assert captured_variables(by_value(lambda: Holder().BIG)) == []
