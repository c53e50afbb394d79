"""Questions to objects of users that run none of their code: their type, parts and bytes.

``isinstance`` asks ``__class__``, ``len`` asks ``__len__``, a metaclass can hide a name: classes
of users answer with anything, and raise. What the type itself says needs none of them.

``sys.getsizeof`` is not a size: it says 112 for a view of an 8 MB array and 80 for a list of three.
What was written is the better size; this one is for values that were not written yet.
"""

import dataclasses
import functools
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, TypeGuard, TypeVar, overload

T = TypeVar("T")
_NAME, _MODULE = type.__dict__["__name__"], type.__dict__["__module__"]
_QUALIFIED, _ORDER = type.__dict__["__qualname__"], type.__dict__["__mro__"]
_SPACE = type.__dict__["__dict__"]
#: What objects of these own classes say of themselves is no code of the user.
_KNOWN = {
    *("builtins", "array", "mmap", "pickle", "_pickle", "numpy", "scipy", "pandas"),
    *("geopandas", "pyarrow", "polars", "torch", "cupy", "xarray"),
}
_OF_SLOTS = getattr(dataclasses, "_dataclass_getstate", None)  # what a frozen one is given
_WAYS: dict[str, tuple[Any, ...]] = {
    way: (vars(object)[way],) for way in ("__reduce__", "__reduce_ex__")
}
_WAYS |= {"__getstate__": (vars(object)["__getstate__"], _OF_SLOTS)}
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


def is_exactly_of(value: object, library: str, *names: str) -> bool:
    """Tell whether a value is of exactly such a class of a library, which is not imported."""
    module = sys.modules.get(library)
    return any(type(value) is getattr(module, name, None) for name in names)


def is_array(value: object) -> bool:
    """Tell an array of NumPy."""
    return is_of(value, "numpy", "ndarray")


def holds_objects(value: Any) -> bool:  # noqa: ANN401  (anything)
    """Tell whether an array, or a column of a frame of pandas, is made of Python objects."""
    known = value if is_known(value) else None
    blocks = getattr(getattr(known, "_mgr", None), "blocks", ())
    parts = [known] if is_array(known) else [block.values for block in blocks]
    return any(getattr(getattr(part, "dtype", None), "hasobject", False) for part in parts)


def name_in(namespace: Mapping[str, object], value: object) -> str:
    """Return the name that a namespace has for a very value, "" if it has none."""
    names = (name for name, known in list(namespace.items()) if known is value)
    return next((name for name in names if not name.startswith("_")), "")


def notebook_name(value: object) -> str:
    """Return the name that the notebook has for a value, "" if it has none."""
    main = sys.modules.get("__main__")
    return name_in(vars(main), value) if main else ""


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


def own_names(kind: type) -> Mapping[str, Any]:
    """Return what a class itself holds, whatever its metaclass says."""
    found: Mapping[str, Any] = _SPACE.__get__(kind, type(kind))
    return found


def of_class(kind: type, name: str) -> Any:  # noqa: ANN401  (anything)
    """Return what a class has under a name, itself or by a base, not bound; None for nothing."""
    spaces = map(own_names, bases_of(kind))
    return next((space[name] for space in spaces if name in space), None)


def is_plain(kind: type) -> bool:
    """Tell whether objects of a class are pickled by their attributes: no method says how."""
    is_known = (any(of_class(kind, way) is one for one in known) for way, known in _WAYS.items())
    return all(is_known) and not issubclass(kind, types.ModuleType)


def is_only_attributes(kind: type) -> bool:
    """Tell a class whose objects Python itself makes, and which hold nothing but attributes."""
    has_slots = any(own_names(base).get("__slots__") for base in bases_of(kind))
    return is_plain(kind) and not has_slots and of_class(kind, "__new__") is object.__new__


def state_of(value: object) -> dict[str, object]:
    """Return the attributes of an instance; a property of that name is not asked.

    Of errors, partials and their like there are none: asking makes a dict, which they pickle.

    >>> class Point:
    ...     def __init__(self): self.x = 1
    >>> state_of(Point()), state_of(5)
    ({'x': 1}, {})
    """
    slot = of_class(type(value), "__dict__")
    if type(slot) is not types.GetSetDescriptorType:
        return {}
    if kind_module(slot.__objclass__).partition(".")[0] in sys.stdlib_module_names:
        return {}
    found = slot.__get__(value, type(value))
    return found if type(found) is dict else {}


def slots_of(value: object) -> dict[str, object]:
    """Return what the slots of an instance hold, by name; those of its class come first."""
    found = dict[str, object]()
    for own in map(own_names, bases_of(type(value))):
        for name, slot in own.items() if "__slots__" in own else ():
            if type(slot) is types.MemberDescriptorType:
                with suppress(AttributeError):  # not filled
                    found.setdefault(name, slot.__get__(value, type(value)))
    return found


def is_known(value: object) -> bool:
    """Tell an object of a class of a known library itself, not of one that the user derived."""
    return kind_module(type(value)).partition(".")[0] in _KNOWN


def attribute(value: object, name: str) -> Any:  # noqa: ANN401  (anything)
    """Return an attribute; None if there is none, or if asking for it raises."""
    try:
        return getattr(value, name, None)
    except (Exception, SystemExit):  # noqa: BLE001  (properties of users raise anything)
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


_NODES, _SHARED_FROM = 10_000, 100
_ENCODED_AT_MOST, _LARGEST = 2**20, 2**63 - 1


def size_bytes(value: object) -> int | None:
    """Return the bytes of the payload of a value, or None where unknown."""
    # Arrays, frames, tables and buffers give their exact payload (of Python objects in arrays and
    # frames the references only); a text its UTF-8; a list, tuple or dict the sum of its items,
    # when all of them are known, none is itself a container, and there are at most 10,000. Of
    # classes of the user nothing is asked. It never raises.
    try:
        size = _sum(value) if is_exactly(value, (list, tuple, dict)) else _leaf(value)
    except Exception:  # noqa: BLE001  (a library may refuse: a file that is closed)
        return None
    return size if size is not None and 0 <= size <= _LARGEST else None


def _sum(value: object) -> int | None:
    parts = list(items_of(value, _NODES + 1))
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


def _leaf(value: Any) -> int | None:  # noqa: ANN401, PLR0911  (a kind each)
    if is_a(value, str):
        is_told = str.isascii(value) or str.__len__(value) < _ENCODED_AT_MOST
        return len(str.encode(value, "utf-8", "surrogatepass")) if is_told else None
    if is_a(value, bytes | bytearray):
        return (bytes if is_a(value, bytes) else bytearray).__len__(value)
    if is_array(value):  # also of a class of the user
        return int(sys.modules["numpy"].ndarray.nbytes.__get__(value, type(value)))
    if not is_known(value):
        return None
    if is_of(value, "pandas", "DataFrame"):
        return int(value.memory_usage(index=True, deep=False).sum())
    if hasattr(value, "estimated_size"):  # polars
        return int(value.estimated_size())
    if hasattr(value, "nbytes"):
        nbytes = value.nbytes
        return nbytes if type(nbytes) is int else None
    try:  # the buffer protocol: array.array, mmap, PickleBuffer, pyarrow.Buffer
        with memoryview(value) as view:
            return view.nbytes
    except TypeError:
        return None
