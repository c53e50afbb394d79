"""Questions to objects of users that run none of their code, or take no harm if it raises.

``isinstance`` asks ``__class__``, ``len`` asks ``__len__``, a metaclass can hide a name: classes
of users answer with anything, and raise. What the type itself says needs none of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeGuard, TypeVar, overload

T = TypeVar("T")
_NAME, _MODULE = type.__dict__["__name__"], type.__dict__["__module__"]
_QUALIFIED, _ORDER = type.__dict__["__qualname__"], type.__dict__["__mro__"]
_SIZED = (list, tuple, dict, set, frozenset)


@overload
def is_a(value: object, kinds: type[T]) -> TypeGuard[T]: ...
@overload
def is_a(value: object, kinds: Any) -> bool: ...  # noqa: ANN401  (a tuple of types, or a union)
def is_a(value: object, kinds: Any) -> bool:
    """Tell whether the type of an object is one of these, or derived from one.

    >>> is_a([], list), is_a(True, (int, str))
    (True, True)
    """
    return issubclass(type(value), kinds)


def is_exactly(value: object, kinds: tuple[type, ...]) -> bool:
    """Tell whether the type of an object is one of these; a metaclass is not asked if it is equal.

    >>> is_exactly([], (list, dict)), is_exactly(type("Derived", (list,), {})(), (list, dict))
    (True, False)
    """
    kind = type(value)
    return type(kind) is type and kind in kinds


def kind_name(kind: type) -> str:
    """Return the name of a class, whatever its metaclass says."""
    return str(_NAME.__get__(kind, type(kind)))


def kind_module(kind: type) -> str:
    """Return the module of a class; "" if that is no text."""
    try:
        found = _MODULE.__get__(kind, type(kind))
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def qualified_name(kind: type) -> str:
    """Return the qualified name of a class, whatever its metaclass says."""
    return str(_QUALIFIED.__get__(kind, type(kind)))


def bases_of(kind: type) -> tuple[type, ...]:
    """Return a class and all that it is derived from, in order."""
    found: tuple[type, ...] = _ORDER.__get__(kind, type(kind))
    return found


def attribute(value: object, name: str) -> Any:  # noqa: ANN401  (anything)
    """Return an attribute; None if there is none, or if asking for it raises."""
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001  (__getattr__ and properties of users raise anything)
        return None


def length(value: object) -> int | None:
    """Return how many items a container of Python holds, whatever its ``__len__`` says.

    >>> length({1, 2}), length(type("Lies", (list,), {"__len__": lambda _: -1})("abc")), length("a")
    (2, 3, None)
    """
    kind = next((kind for kind in _SIZED if is_a(value, kind)), None)
    return None if kind is None else kind.__len__(value)  # type: ignore[arg-type]  # it is one


def items_of(value: Any, most: int) -> Iterator[object]:  # noqa: ANN401  (anything)
    """Yield what an exact container (of a dict the values) or a partial holds, at most so many.

    >>> list(items_of({"a": 1, "b": [2]}, 9)), list(items_of(functools.partial(max, 3, key=len), 2))
    ([1, [2]], [<built-in function max>, 3])
    """
    if is_exactly(value, _SIZED):
        yield from islice(value.values() if type(value) is dict else value, most)
    elif is_a(value, functools.partial):
        yield from islice((value.func, *value.args, *value.keywords.values()), most)
