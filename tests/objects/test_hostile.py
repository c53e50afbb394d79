"""Blame opens objects that answer every question with an error or with nonsense."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from jupyter_serprof.api import blame
from jupyter_serprof.experiments.blame.passes import depth_note, memory_note
from jupyter_serprof.experiments.blame.recording import Blame, BlameRun, name_of
from jupyter_serprof.objects.culprits import culprits_text, error_text, find_culprits
from jupyter_serprof.objects.labels import key_label, kind_label
from jupyter_serprof.views.blame.text import anatomy_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_METHODS = (
    *("__len__", "__repr__", "__str__", "__format__", "__getattr__", "__getattribute__"),
    *("__eq__", "__ne__", "__lt__", "__hash__", "__bool__", "__iter__", "__next__", "__contains__"),
    *("__getitem__", "__call__", "__index__", "__int__", "__float__", "__dir__", "__sizeof__"),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs_ex__", "__getnewargs__"),
    *("items", "keys", "values", "__array__", "__get__", "__setstate__", "__length_hint__"),
)
_PROPERTIES = (
    *("__class__", "__dict__", "__module__", "__name__", "__qualname__", "__slots__", "__doc__"),
    *("shape", "dtype", "nbytes", "flags", "base", "_function", "__ray_metadata__", "__wrapped__"),
)
_ON_METACLASS = (
    *("__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__dict__"),
    *("__getattribute__", "__instancecheck__", "__subclasscheck__"),
    *("__eq__", "__hash__", "__repr__", "__bool__", "__len__", "__iter__"),
)
_BASES: tuple[tuple[type, object], ...] = (
    (object, None),
    (list, [1, [2, "x" * 2000]]),
    (dict, {"k": [1], 2: {}}),
    (tuple, (1, [2])),
    (set, {1, 2}),
    (frozenset, {3}),
    (str, "text"),
    (bytes, b"b"),
    (int, 5),
    (float, 2.5),
    (Exception, "said"),
    (np.ndarray, 3),
)
_NONSENSE = (-1, "x", object())


class HostileError(Exception):
    """What hostile classes raise; it does not even say why."""

    def __str__(self) -> str:
        raise ValueError


def _raising(*_: object, **__: object) -> Any:
    raise HostileError


def _answering(answer: object) -> Any:
    return lambda *_, **__: answer


def _hostile(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield each name with a function that raises, and with one that returns nonsense."""
    for at, name in enumerate(names):
        yield name, _raising
        yield name, _answering(_NONSENSE[at % len(_NONSENSE)])


def _made(base: type, given: object, members: dict[str, Any], meta: type = type) -> Any:
    """Return an object of a class with these members; None if Python itself refuses it."""
    try:
        kind = meta("Hostile", (base,), {"__module__": "__main__", **members})
        return kind() if given is None else kind(given)
    except Exception:  # noqa: BLE001  (what it raises itself)
        return None


def _placed(value: object) -> list[object]:
    """Return it where the pickler meets it: as an item, attribute, key and capture."""

    class Holder:
        pass

    holder = Holder()
    holder.it = value  # type: ignore[attr-defined]  # an attribute
    places: list[object] = [value, [value] * 40, holder, lambda: value]
    with suppress(Exception):  # not hashable
        places.append({value: [1] * 100})
    return places


def _look(value: object) -> None:
    """Open it, print it, and ask all that is asked of values."""
    for place in (value, _placed(value)):
        anatomy = Blame(place, "it").run()
        assert anatomy.parts
        assert anatomy_lines(anatomy, 100)
    assert name_of(value)
    assert blame(value).parts
    culprits_text(find_culprits(value, "it"))
    assert kind_label(value)
    assert key_label(value)
    memory_note(value, 20_000)
    depth_note(value)


@pytest.mark.parametrize("base", _BASES, ids=lambda base: base[0].__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_method_that_raises_or_lies_is_no_matter(base: tuple[type, object]) -> None:
    """Whatever a class answers, there is an anatomy of it, and no error of ours."""
    for name, answer in _hostile(_METHODS):
        value = _made(*base, {name: answer})
        if value is not None:
            _look(value)


@pytest.mark.parametrize("base", _BASES[::3], ids=lambda base: base[0].__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_property_that_raises_or_lies_is_no_matter(base: tuple[type, object]) -> None:
    """Also those that ``isinstance`` and ``vars`` ask."""
    for name, answer in _hostile(_PROPERTIES):
        value = _made(*base, {name: property(answer)})
        if value is not None:
            _look(value)


@pytest.mark.parametrize("base", _BASES[:4], ids=lambda base: base[0].__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_metaclass_that_raises_or_lies_is_no_matter(base: tuple[type, object]) -> None:
    """A class can hide its own name."""
    for name, answer in _hostile(_ON_METACLASS):
        for member in (answer, property(answer)):
            value = None
            with suppress(TypeError):  # Python itself refuses the metaclass
                value = _made(*base, {}, type("Meta", (type,), {name: member}))
            if value is not None:
                _look(value)


def test_a_list_that_lies_about_its_length_is_told_with_its_real_one() -> None:
    """``__len__`` of -1 was a ValueError of ours."""
    lies = type("LyingLen", (list,), {"__len__": lambda _: -1, "__module__": "__main__"})

    trace = BlameRun(lies([1, 2, 3]), "ll").run()

    assert trace.anatomies[0].parts[0].kind == "LyingLen (3)"


def test_an_error_without_words_is_told_by_its_type() -> None:
    """Its ``__str__`` raises."""
    assert error_text(HostileError()) == "HostileError"
