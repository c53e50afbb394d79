"""A cache that travels is tried: left out by a pickler of our own, with the object untouched."""

from __future__ import annotations

import ast
import copyreg
import functools
import pickle
import time
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_serprof.api import try_remedies
from jupyter_serprof.experiments.remedies import value as tried_values
from jupyter_serprof.experiments.remedies import ways as remedies_ways
from jupyter_serprof.experiments.remedies.gain import Trial, finding_of, notes_of
from jupyter_serprof.experiments.remedies.hints import hints_of
from jupyter_serprof.model import Sweep, Variant

#: Time for every pair on the slowest machine.
AMPLE_S = 1e6
SMALL = {1: "one"}


@pytest.fixture(autouse=True)
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the Ray of other tests of the session: with it there is one more remedy."""
    monkeypatch.setattr(tried_values, "is_running", lambda: False)


@pytest.fixture(autouse=True)
def _own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the work of this thread: a machine that is busy with others makes no remedy slow."""
    clock = SimpleNamespace(perf_counter_ns=time.thread_time_ns)
    monkeypatch.setattr(remedies_ways, "time", clock)


class Named:
    """An object with a cache by its name."""

    def __init__(self, size: int = 20_000) -> None:
        self.weights = [0.5] * 10
        self._row_cache = {at: str(at) for at in range(size)}


class Kept:
    """An object with a cached property that can be computed again."""

    def __init__(self, size: int = 20_000) -> None:
        self.size = size

    @functools.cached_property
    def table(self) -> list[float]:
        """Return much of little."""
        return [at / 7 for at in range(self.size)]


class Drawn(Kept):
    """One whose property is another one each time."""

    @functools.cached_property
    def table(self) -> Any:
        """Return what nobody can compute again."""
        return [next(COUNT) / 7 for _ in range(self.size)]


COUNT = iter(range(10**9))


class Failing(Kept):
    """One whose property works once."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["table"] = [at / 7 for at in range(20_000)]

    @functools.cached_property
    def table(self) -> Any:
        """Raise."""
        message = "the file is gone"
        raise OSError(message)


class Endless(Kept):
    """One whose user gives up."""

    @functools.cached_property
    def table(self) -> Any:
        """Be interrupted."""
        raise KeyboardInterrupt


class Slotted:
    """A class with slots and no dict."""

    __slots__ = ("_memo", "left")

    def __init__(self) -> None:
        self._memo = {at: str(at) for at in range(20_000)}
        self.left = 3


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
        self.found = len(state["_row_cache"])


class Locked(Named):
    """One with an attribute whose class defines no equality."""

    def __init__(self) -> None:
        super().__init__()
        self.other = Plain()


class Plain:
    """Nothing is equal to it but itself."""


def tried(sweep: Sweep) -> dict[str, Variant]:
    """Return the variants that leave a cache out."""
    return {v.key: v for v in sweep.variants if v.key.startswith("drop-")}


def known_of(value: object) -> dict[str, int]:
    """Return the attributes of an object by identity."""
    return {name: id(part) for name, part in vars(value).items()}


def test_a_cache_by_its_name_is_tried_and_said_under_what_condition() -> None:
    """Its pickle is smaller and faster; only the author knows whether the class can do without."""
    value = Named()

    sweep = try_remedies(value, budget_s=AMPLE_S, name="model")

    [variant] = tried(sweep).values()
    assert variant.facts["equal"] is True
    whole = len(pickle.dumps(value, 5))
    assert variant.facts["total_bytes"] < whole / 10  # type: ignore[operator]  # a number
    [found] = sweep.findings
    assert found.rule == "pickle.cache-travels"
    assert found.gain is not None
    assert found.title.startswith("model: _row_cache of Named is a cache by its name and takes")
    assert found.evidence["attribute"] == "_row_cache"
    assert any("which only its author knows" in note for note in variant.notes)


def test_the_line_to_paste_does_what_was_tried() -> None:
    """The `__getstate__` of the finding gives the pickle that was measured."""
    for value, names in ((Named(), {"Named": Named}), (Slotted(), {"Slotted": Slotted})):
        sweep = try_remedies(value, budget_s=AMPLE_S)
        [found] = sweep.findings
        copy: Any = type("Copy", (type(value),), {"__module__": __name__, "__slots__": ()})
        line = found.remedy.replace(f"{next(iter(names))}.__getstate__", "Copy.__getstate__")
        ast.parse(line)

        exec(line, {"Copy": copy})  # noqa: S102  (the line that is shown)
        state = copy.__getstate__(value)

        parts = state if isinstance(state, tuple) else (state,)
        kept = {key: part for known in parts if known for key, part in known.items()}
        dropped = {key for key in kept if key in ("_row_cache", "_memo")}
        assert [kept[key] for key in dropped] == [{}]
        assert len(kept) == 2
        size = len(pickle.dumps(kept, 5))
        assert abs(tried(sweep)["drop-cache"].facts["total_bytes"] - size) < 200  # type: ignore[operator]  # a number


def test_a_cached_property_is_read_again_on_what_came_back() -> None:
    """Equal, and what reading it costs is said apart: each copy pays it."""
    value = Kept()
    assert value.table

    sweep = try_remedies(value, budget_s=AMPLE_S, name="m")

    variant = tried(sweep)["drop-cached-property"]
    assert variant.facts["equal"] is True
    assert variant.facts["total_bytes"] < 1_000  # type: ignore[operator]  # a number
    assert any(note.startswith("computed again where it is read, in") for note in variant.notes)
    [found] = sweep.findings
    assert "'table'" in found.remedy
    assert found.measured
    assert isinstance(found.measured["again_ns"], int)


def test_a_property_that_is_another_one_each_time_is_not_equal() -> None:
    """It is told, and never recommended."""
    value = Drawn()
    assert value.table

    sweep = try_remedies(value, budget_s=AMPLE_S)

    variant = tried(sweep)["drop-cached-property"]
    assert variant.facts["equal"] is False
    assert "table is another one when it is computed again" in variant.notes
    assert not sweep.findings


def test_a_property_that_cannot_be_computed_again_is_not_equal() -> None:
    """The reason is told."""
    sweep = try_remedies(Failing(), budget_s=AMPLE_S)

    variant = tried(sweep)["drop-cached-property"]
    assert variant.facts["equal"] is False
    assert any("the file is gone" in note for note in variant.notes)
    assert not sweep.findings


def test_slots_are_looked_at_too() -> None:
    """State is a pair there."""
    sweep = try_remedies(Slotted(), budget_s=AMPLE_S, pairs=1)

    assert tried(sweep)["drop-cache"].facts["equal"] is True


def test_an_attribute_without_equality_cannot_be_told() -> None:
    """Unknown is not equal, and not unequal."""
    assert (
        tried(try_remedies(Locked(), budget_s=AMPLE_S, pairs=1))["drop-cache"].facts["equal"]
        is None
    )


@pytest.mark.parametrize("now", ["pickle", "pickle4", "cloudpickle"])
def test_neither_the_object_nor_its_class_is_touched(now: str) -> None:
    """The same attributes, the same pickle, no reducer left behind, whichever way it goes."""
    value: Any = Kept()
    assert value.table
    value.cache = {at: str(at) for at in range(5_000)}
    before, attributes, pickled = known_of(value), set(dir(Kept)), pickle.dumps(value)
    reducers = dict(copyreg.dispatch_table)

    sweep = try_remedies(value, now=now, budget_s=AMPLE_S, pairs=2)

    assert set(tried(sweep)) == {"drop-cache", "drop-cached-property"}
    assert all(v.facts["equal"] is True for v in tried(sweep).values())
    assert known_of(value) == before
    assert set(dir(Kept)) == attributes
    assert pickle.dumps(value) == pickled
    assert copyreg.dispatch_table == reducers


def shared() -> object:
    """Return an object whose cache holds nothing but what travels anyway."""
    value: Any = Named(1)
    value.rows = {at: str(at) for at in range(20_000)}
    value._row_cache = value.rows
    return value


@pytest.mark.parametrize(
    "value",
    [Named(5), Polite(), Reduced(), Restored(), Kept(), shared(), Named, SMALL],
    ids=["small", "getstate", "reduce", "setstate", "not read yet", "shared", "class", "dict"],
)
def test_what_gains_nothing_or_has_its_say_is_not_tried(value: object) -> None:
    """A small cache, a class that decides itself, a property that nobody has read."""
    assert not tried(try_remedies(value, budget_s=AMPLE_S, pairs=1))


def test_a_class_that_may_need_its_cache_gets_a_suggestion() -> None:
    """Its `__setstate__` runs with what travels; nobody else knows what it can do without."""
    [hint] = hints_of(Restored(), "m", 100_000)

    assert "Not tried: Restored.__setstate__ may need it" in hint.title
    assert hint.gain is None
    ast.parse(hint.remedy)
    assert list(hints_of(Polite(), "m", 100_000)) == []
    assert list(hints_of(Named(), "m", 100_000)) == []


def test_what_is_computed_again_is_weighed_against_what_a_trip_saves() -> None:
    """40 ms saved, 10 or 90 ms to compute: all copies gain, or only those that do not read it."""
    times: dict[str, Any] = {"before_ns": [50_000_000] * 9, "after_ns": [10_000_000] * 9}
    cheap, dear = (
        Trial("drop-cached-property", equal=True, again_ns=ns, **times)
        for ns in (10_000_000, 90_000_000)
    )

    assert any("less than the 40.0 ms" in n and "all copies gain" in n for n in notes_of(cheap))
    assert any("only copies that do not read it gain" in note for note in notes_of(dear))
    severities = [found.severity for t in (cheap, dear) if (found := finding_of(t, "m"))]
    assert severities == ["warn", "info"]


def test_an_interrupt_while_it_is_computed_again_keeps_the_others() -> None:
    """Reading the property is the user's code: it may take as long as it likes."""
    value = Endless()
    value.__dict__["table"] = [0.1] * 20_000
    tryout = tried_values.Tryout(value, budget_s=AMPLE_S)

    with pytest.raises(KeyboardInterrupt):
        tryout.run()

    assert tried(tryout.sweep)["drop-cached-property"].facts["pairs"] == 0
