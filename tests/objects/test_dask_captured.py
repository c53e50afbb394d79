"""Large objects inside functions of Dask tasks: named, told where, and never tried."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jupyter_serprof.experiments.remedies.graph import LARGE_BYTES, large_values, materialized
from jupyter_serprof.objects.captured import captured_findings, captured_in

bags = pytest.importorskip("dask.bag")
BIG = np.ones(150_000)
SMALL = np.ones(10)


def by_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function be of the notebook."""
    function.__module__ = "__main__"
    return function


@by_value
def use(at: int) -> float:
    """Read a global."""
    return float(BIG[at])


@by_value
def use_small(at: int) -> float:
    """Read a small global."""
    return float(SMALL[at])


def closing(big: np.ndarray[Any, Any]) -> Callable[[int], float]:
    """Return a function that holds an array."""

    def inner(at: int) -> float:
        return float(big[at])

    return inner


def calling(inner: Callable[[int], float]) -> Callable[[int], float]:
    """Return a function that holds a function."""

    def outer(at: int) -> float:
        return 2 * inner(at)

    return outer


def added(at: int, offset: int = 0, table: object = BIG) -> int:
    """Have a default that is large, behind one that is not."""
    return at + offset + (table is None)


CASES: dict[str, tuple[Callable[[], Callable[..., Any]], tuple[str, str, str]]] = {
    "a global": (lambda: use, ("use", "BIG", "global")),
    "a closure": (lambda: closing(BIG), ("inner", "big", "closure")),
    "a default": (lambda: by_value(added), ("added", "table", "default")),
    "a default of a lambda": (lambda: lambda at, t=BIG: at + len(t), ("<lambda>", "t", "default")),
    "a partial": (lambda: functools.partial(use), ("use", "BIG", "global")),
    "a function in a function": (lambda: calling(closing(BIG)), ("outer", "big", "closure")),
}


@pytest.mark.parametrize(("made", "expected"), CASES.values(), ids=CASES)
def test_what_a_function_drags_along_is_found_in_the_tasks(
    made: Callable[[], Callable[..., Any]], expected: tuple[str, str, str]
) -> None:
    """With its function, what that calls it, its size, and the number of tasks."""
    graph = materialized(bags.from_sequence(range(20), npartitions=10).map(made()))

    [found] = captured_in(graph, LARGE_BYTES)

    assert (found.function, found.name, found.kind) == expected
    assert (found.size_bytes, found.tasks) == (BIG.nbytes, 10)
    assert large_values(graph) == {}


def test_what_travels_by_name_or_is_small_is_not_told() -> None:
    """A function of a module is not sent with its globals."""
    for function in (np.sum, use_small, len):
        graph = materialized(bags.from_sequence(range(4), npartitions=2).map(function))
        assert captured_in(graph, LARGE_BYTES) == []


def test_the_suggestion_names_the_variable_and_why_it_was_not_tried() -> None:
    """It can be pasted, and there is no gain in it."""
    graph = materialized(bags.from_sequence(range(4), npartitions=2).map(use))

    [found] = captured_findings(captured_in(graph, LARGE_BYTES), "y")

    assert found.gain is None
    assert "BIG (1.20 MB) sits inside the function use of 2 tasks, as its global" in found.title
    assert "Not tried" in found.title
    assert found.remedy.startswith("value = dask.delayed(BIG)")
    compile(found.remedy, "pasted", "exec")
