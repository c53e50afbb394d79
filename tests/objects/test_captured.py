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


def closing(big: Any) -> Callable[[int], float]:
    def inner(at: int) -> float:
        return float(big[at])

    return inner


def calling(inner: Callable[[int], float]) -> Callable[[int], float]:
    def outer(at: int) -> float:
        return 2 * inner(at)

    return outer


class Pipeline:
    """What makes functions out of itself."""

    def __init__(self) -> None:
        """Hold what is large."""
        self.data = BIG

    def step(self) -> Callable[[int], float]:
        """Return what takes self along."""
        return lambda at: float(self.data[at])


class Light(Pipeline):
    """One that travels without its data."""

    def __getstate__(self) -> object:
        """Leave it out."""
        return {}


def added(at: int, offset: int = 0, table: object = BIG) -> int:
    """Have a default that is large, behind one that is not."""
    return at + offset + (table is None)


CASES: dict[str, tuple[Callable[[], Callable[..., Any]], str, str]] = {
    "a global": (lambda: use, "BIG", "global"),
    "a global of code inside": (lambda: use_inside, "BIG", "global"),
    "a closure": (lambda: closing(BIG), "big", "closure"),
    "a default": (lambda: by_value(added), "table", "default"),
    "a default of a lambda": (lambda: lambda at, t=BIG: at + len(t), "t", "default"),
    "an attribute of self": (lambda: Pipeline().step(), "self.data", "closure"),
    "a nested dict": (lambda: closing({"a": {"b": BIG}, "n": [BIG, 1]}), "big", "closure"),
    "a function in a function": (lambda: calling(closing(BIG)), "big", "closure"),
}


@pytest.mark.parametrize(("made", "name", "kind"), CASES.values(), ids=CASES)
def test_what_a_function_drags_along_is_named(
    made: Callable[[], Callable[..., Any]], name: str, kind: str
) -> None:
    """With its size, also where a helper that it calls holds it."""
    [found] = captured_variables(made())

    known = {"variable": "BIG"} if kind == "default" else {}
    assert found.pop("type") in {"ndarray", "dict"}
    assert found == {"name": name, "kind": kind, "size_bytes": BIG.nbytes, **known}


def test_what_does_not_travel_is_not_named() -> None:
    """An attribute is no global of that name; a class that says how it is pickled is not asked."""

    class Holder:
        BIG = 1

    assert captured_variables(by_value(lambda: Holder().BIG)) == []
    assert captured_variables(Light().step()) == []


def test_a_default_without_a_variable_has_no_name_outside() -> None:
    """The name of the parameter is no variable to be put; of many things no size is known."""
    [found] = captured_variables(lambda at, t=b"abc": at + len(t))

    assert (found["name"], found["variable"]) == ("t", "")
    assert captured_variables(closing([1] * 2_000))[0]["size_bytes"] is None
