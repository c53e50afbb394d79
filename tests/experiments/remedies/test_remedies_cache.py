"""A cache that travels is told, with the line that leaves it out; nothing of it is touched."""

import functools
import pickle
from typing import Any

import pytest

from jupyter_serprof.api import run
from jupyter_serprof.experiments.remedies.table import hints_of
from jupyter_serprof.experiments.remedies.value import Tryout

NUMBERS = {at: str(at) for at in range(20_000)}
FLOATS = [at / 7 for at in range(20_000)]


class Named:
    """An object with a cache by its name."""

    def __init__(self, cache: dict[int, str] = NUMBERS) -> None:
        self.weights, self._row_cache = [0.5] * 10, cache


class Kept:
    """An object with a cached property that can be computed again."""

    @functools.cached_property
    def table(self) -> list[float]:
        """Return much of little."""
        return FLOATS


class Slotted:
    """A class with slots and no dict."""

    __slots__ = ("_memo", "left")

    def __init__(self) -> None:
        self._memo, self.left = NUMBERS, 3


class Polite(Named):
    """One whose class has its say in what travels."""

    def __getstate__(self) -> dict[str, Any]:
        return {"weights": self.weights}


class Reduced(Named):
    """Another one that has its say."""

    def __reduce__(self) -> Any:
        return Reduced, ()


class Restored(Named):
    """One that may need its cache when it comes back."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def read() -> Kept:
    """Return an object whose property somebody has read."""
    value = Kept()
    assert value.table
    return value


def shared() -> object:
    """Return an object whose cache holds nothing but what travels anyway."""
    value: Any = Named()
    value.rows = value._row_cache
    return value


@pytest.mark.parametrize(
    ("value", "key", "why"),
    [
        (Named(), "_row_cache", "only the author of Named knows whether it can compute it again"),
        (Restored(), "_row_cache", "Restored.__setstate__ may need it"),
        (Slotted(), "_memo", "only the author of Slotted knows whether it can compute it again"),
        (read(), "table", "whoever reads it there computes it again"),
    ],
    ids=["by its name", "setstate", "slots", "cached property"],
)
def test_a_cache_is_told_with_the_line_that_leaves_it_out(value: Any, key: str, why: str) -> None:
    """The line makes the pickle as much shorter as the finding says; no other attribute goes."""
    plain = len(pickle.dumps(value, 5))
    kind = type(value)

    [hint] = hints_of(value, "m", plain)

    copy: Any = type("Copy", (kind,), {"__module__": __name__, "__slots__": ()})
    exec(hint.remedy.replace(f"{kind.__name__}.", "Copy.", 1), {"Copy": copy})  # noqa: S102  (the line that is shown)
    state = copy.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)
    left = {name: part for known in parts if known for name, part in known.items()}
    size = hint.evidence["size_bytes"]
    assert (hint.rule, hint.gain, hint.evidence["attribute"]) == ("pickle.cache-travels", None, key)
    assert hint.title.startswith(f"m.{key} looks like a cache and takes")
    assert hint.title.endswith(f"Not tried: {why}")
    assert isinstance(size, int)
    assert plain - size == pytest.approx(len(pickle.dumps(left, 5)), abs=200)
    assert not left.get(key)
    assert len(pickle.dumps(value, 5)) == plain


@pytest.mark.parametrize(
    "value",
    [Named({1: "one"}), Polite(), Reduced(), Kept(), shared(), Named, {1: "one"}],
    ids=["small", "getstate", "reduce", "not read yet", "shared", "class", "dict"],
)
def test_what_gains_nothing_or_has_its_say_is_not_told(value: object) -> None:
    """A small cache, a class that decides itself, a property that nobody has read."""
    assert list(hints_of(value, "m", 10_000)) == []


def test_a_cache_stands_in_the_document_of_its_object() -> None:
    """Nothing is tried with it: its class would have to be another one."""
    sweep = run(Tryout(Named(), name="m", pairs=1))

    assert [found.rule for found in sweep.findings] == ["pickle.cache-travels"]
    assert not any("cache" in variant.key for variant in sweep.variants)
