"""What a value that was sent is mostly made of: fresh ones around it are not the same each time."""

import functools
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jupyter_serprof.probes.ray.values import note_serialized

TABLE = np.ones(50_000)


class Model:
    """One whose methods take it along."""

    def __init__(self) -> None:
        """Hold what is large."""
        self.weights, self.bias = TABLE, TABLE[:10]

    def predict(self, at: int) -> float:
        """Use it."""
        return float(self.weights[at])


class Asked(Model):
    """One that says itself how it is pickled, which nobody may ask."""

    def __reduce__(self) -> Any:
        """Fail."""
        raise AssertionError


MODEL, ASKED = Model(), Asked()


def _closing(table: object) -> Callable[[], object]:
    return lambda: table


def _by_default(table: object = TABLE) -> object:
    return table


_by_default.__module__ = _closing.__module__ = "__main__"


def _sent(value: object, size: int = TABLE.nbytes + 900) -> object:
    identity = note_serialized(None, (None, value), {}, SimpleNamespace(total_bytes=size))[2]
    return identity() if isinstance(identity, weakref.ref) else None


MADE: dict[str, tuple[Callable[[], object], object]] = {
    "a list": (lambda: [1, TABLE], TABLE),
    "a partial": (lambda: functools.partial(max, TABLE), TABLE),
    "a keyword of a partial": (lambda: functools.partial(max, key=TABLE), TABLE),
    "a bound method": (lambda: MODEL.predict, MODEL),
    "a bound method in a list": (lambda: [MODEL.predict], MODEL),
    "an object in a partial": (lambda: functools.partial(max, MODEL), MODEL),
    "a closure": (lambda: _closing(TABLE), TABLE),
    "a default": (lambda: _by_default, TABLE),
    "a function in a partial": (lambda: functools.partial(_closing(TABLE)), TABLE),
}


@pytest.mark.parametrize(("made", "bulk"), MADE.values(), ids=MADE)
def test_what_a_value_is_made_of_is_known_again(made: Callable[[], object], bulk: object) -> None:
    """By the array or object that has most of its bytes; of a small part nothing is claimed."""
    assert _sent(made()) is bulk
    assert _sent(made(), 3 * TABLE.nbytes) is not bulk


def test_an_object_that_pickles_itself_is_not_asked_how_large_it_is() -> None:
    """Its attributes may be left out: what travels is unknown."""
    assert _sent([ASKED]) is None
