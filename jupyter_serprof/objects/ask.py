"""Questions to objects of users that run none of their code: their type, parts and bytes.

``isinstance`` asks ``__class__``, ``len`` asks ``__len__``, a metaclass can hide a name: classes
of users answer with anything, and raise. What the type itself says needs none of them.

``sys.getsizeof`` is not a size: it says 112 for a view of an 8 MB array and 80 for a list of three.
What was written is the better size; this one is for values that were not written yet.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
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


def is_of(value: object, library: str, *names: str) -> bool:
    """Tell whether a value is of classes of a library, which is not imported for that.

    >>> is_of([], "builtins", "list", "tuple"), is_of([], "numpy_that_is_not_there", "ndarray")
    (True, False)
    """
    module = sys.modules.get(library)
    kinds = (getattr(module, name, None) for name in names)
    return any(isinstance(kind, type) and is_a(value, kind) for kind in kinds)


def is_array(value: object) -> bool:
    """Tell an array of NumPy."""
    return is_of(value, "numpy", "ndarray")


def name_in(namespace: Mapping[str, object], value: object) -> str:
    """Return the name that a namespace has for a very value, "" if it has none."""
    names = (name for name, known in list(namespace.items()) if known is value)
    return next((name for name in names if not name.startswith("_")), "")


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
    """Yield what an exact container (of a dict the values) or a partial holds, at most ``most``.

    >>> list(items_of({"a": 1, "b": [2]}, 9)), list(items_of(functools.partial(max, 3, key=len), 2))
    ([1, [2]], [<built-in function max>, 3])
    """
    if is_exactly(value, _SIZED):
        yield from islice(value.values() if type(value) is dict else value, most)
    elif is_a(value, functools.partial):
        yield from islice((value.func, *value.args, *value.keywords.values()), most)


_NODES = 10_000
_ENCODED_AT_MOST = 2**20
_LARGEST = 2**63 - 1
_SHARED_FROM = 100


def size_bytes(value: object) -> int | None:
    """Return the bytes of the payload of a value, or None where unknown.

    Arrays, frames, tables and buffers give their exact payload (of Python objects in arrays and
    frames the references only); a text its UTF-8; a list, tuple or dict the sum of its items, when
    all of them are known, none is itself a container, and there are at most 10,000.
    It never raises.
    """
    try:
        size = _sum(value) if isinstance(value, list | tuple | dict) else _leaf(value)
    except Exception:  # noqa: BLE001  (a property of the user's class may raise anything)
        return None
    return size if size is not None and 0 <= size <= _LARGEST else None


def _sum(value: list[object] | tuple[object, ...] | dict[object, object]) -> int | None:
    parts = list(value.values()) if isinstance(value, dict) else value
    if not 0 < len(parts) <= _NODES:
        return None
    known: dict[object, int] = {}
    for at, part in enumerate(parts):
        size = _leaf(part)
        if size is None or size < 0:
            return None
        # What is held many times is written once; short texts are one object by chance.
        known[id(part) if size > _SHARED_FROM else -1 - at] = size
    return sum(known.values())


def _leaf(value: object) -> int | None:  # noqa: PLR0911  (a kind each)
    if isinstance(value, bytes | bytearray):
        return len(value)
    if isinstance(value, memoryview):
        return value.nbytes
    if isinstance(value, str):
        is_told = value.isascii() or len(value) < _ENCODED_AT_MOST
        return len(value.encode("utf-8", "surrogatepass")) if is_told else None
    if is_of(value, "pandas", "DataFrame"):
        return int(value.memory_usage(index=True, deep=False).sum())  # type: ignore[attr-defined]
    # Asked of the type first: a proxy or a mock would invent the attribute on the instance.
    estimated = getattr(type(value), "estimated_size", None)
    if callable(estimated):  # polars
        return int(estimated(value))
    if hasattr(type(value), "nbytes"):
        nbytes = getattr(value, "nbytes", None)
        return nbytes if isinstance(nbytes, int) and not isinstance(nbytes, bool) else None
    try:  # the buffer protocol: array.array, mmap, PickleBuffer, pyarrow.Buffer
        with memoryview(value) as view:  # type: ignore[arg-type]  # asking is the test
            return view.nbytes
    except TypeError:
        return None
