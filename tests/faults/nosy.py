"""An object that notes whatever is asked of it: a stand-in for a proxy whose answers cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

#: What was asked, and how often.
ASKED: Counter[str] = Counter()


class _Kind(type):
    """A metaclass that notes what its classes are asked."""

    def __getattribute__(cls, name: str) -> Any:
        ASKED[f"class.{name}"] += 1
        return type.__getattribute__(cls, name)

    def __instancecheck__(cls, value: object) -> bool:
        ASKED["class.__instancecheck__"] += 1
        return type.__instancecheck__(cls, value)

    def __eq__(cls, other: object) -> bool:
        ASKED["class.__eq__"] += 1
        return cls is other

    def __hash__(cls) -> int:
        ASKED["class.__hash__"] += 1
        return 5


def _noting(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        ASKED[name] += 1
        return answer(*args, **kwargs)

    return method


def _missing(_: object, name: str) -> Any:
    raise AttributeError(name)


_ANSWERS: dict[str, Callable[..., Any]] = {
    "__len__": lambda _: 3,
    "__iter__": lambda _: iter((1, 2, 3)),
    "__contains__": lambda *_: False,
    "__getitem__": lambda _, at: (1, 2, 3)[at],
    "__bool__": lambda _: True,
    "__eq__": lambda one, other: one is other,
    "__hash__": lambda _: 7,
    "__repr__": lambda _: "nosy",
    "__str__": lambda _: "nosy",
    "__format__": lambda *_: "nosy",
    "__sizeof__": lambda _: 10**6,
    "__dir__": lambda _: ["secret"],
    "__call__": lambda *_: 5,
    "__reduce_ex__": lambda *_: (int, (5,)),
    "__int__": lambda _: 1,
    "__index__": lambda _: 1,
    "__float__": lambda _: 1.0,
    "__add__": lambda *_: 6,
    "__getattribute__": object.__getattribute__,
    "__getattr__": _missing,
}
_PROPERTIES = ("__class__", "nbytes", "shape", "dtype", "ndim", "size", "key", "name", "func")
Nosy: type = _Kind(
    "Nosy",
    (),
    {name: _noting(name, answer) for name, answer in _ANSWERS.items()}
    | {name: property(_noting(name, type)) for name in _PROPERTIES}
    | {"__module__": __name__},
)
