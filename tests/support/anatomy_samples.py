"""Objects of many kinds, small: for each the exact bytes are known from its stream."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import pathlib
import random
import time
import types
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import attrs
import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.experiments.blame import descent as anatomy_descent
from jupyter_serprof.experiments.blame import recording as blame
from jupyter_serprof.objects import picklers as anatomy_pickler

BUFFER = np.arange(2_500.0)
TABLE = {f"key {i}": i for i in range(500)}


class Model:
    """An object with attributes, a cache, and children."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


class Slotted:
    """An object without a dict."""

    __slots__ = ("left", "right")

    def __init__(self, left: object, right: object) -> None:
        self.left, self.right = left, right


class Estimator:
    """An estimator in the manner of scikit-learn: parameters, and fitted attributes."""

    def __init__(self, depth: int = 3) -> None:
        self.depth = depth

    def fit(self) -> Self:
        self.coef_ = np.arange(300.0)
        self.trees_ = [Model(threshold=float(i), left=None, right=[i] * 5) for i in range(50)]
        self.classes_ = np.array(["a", "b"], dtype=object)
        return self

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_version": "1.0"}


class Rebuilt:
    """An object with all that a reducer can return."""

    def __init__(self, name: str) -> None:
        self.name, self.items, self.pairs = name, list[object](), dict[object, object]()

    def append(self, item: object) -> None:
        self.items.append(item)

    def extend(self, items: list[object]) -> None:
        self.items.extend(items)

    def __setitem__(self, key: object, value: object) -> None:
        self.pairs[key] = value

    def __reduce__(self) -> tuple[object, ...]:
        items, pairs = iter(self.items), iter(self.pairs.items())
        return Rebuilt, (self.name,), {"note": [1, 2, [3]]}, items, pairs


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: float
    tags: list[str] = dataclasses.field(default_factory=list)


@attrs.define
class Attrs:
    """A class of attrs, with slots."""

    x: list[int]
    y: str = "y"


class Row(NamedTuple):
    """A named tuple."""

    number: int
    text: str


class Colour(enum.Enum):
    """An enumeration."""

    RED = "red"


def frame() -> pd.DataFrame:
    """Return a frame of object, Arrow string, categorical, number and date columns."""
    n = 300
    return pd.DataFrame(
        {
            "number": np.arange(float(n)),
            "more": np.arange(float(n)),
            "text": [f"text {i}" for i in range(n)],
            "any": np.array([("x", i) for i in range(n)] + [None], dtype=object)[:-1],
            "kind": pd.Categorical(["u", "v", "w"] * (n // 3)),
            "when": pd.date_range("2026-01-01", periods=n),
        }
    )


def by_value_class() -> type:
    """Return a class that travels whole."""

    class Local:
        """A class of a notebook."""

        table: ClassVar = list(range(50))

        def use(self) -> int:
            return len(TABLE)

    return Local


def function() -> Callable[[], object]:
    """Return a function with closure, globals and defaults, that travels whole."""
    buf = [1.5] * 400
    helper = types.FunctionType((lambda: len(TABLE)).__code__, globals(), "helper")
    helper.__module__ = "__main__"

    def step(x: object = BUFFER[:50], *, y: object = "keyword") -> object:
        return x, y, buf, helper, BUFFER

    step.__module__ = "__main__"
    return step


def shared() -> list[object]:
    one = [f"part {i}" for i in range(40)]
    return [one, {"again": one}, (one, [one, one]), Model(one=one)]


def cyclic() -> list[Any]:
    """Return lists, dicts, tuples and objects that hold themselves."""
    ring: list[Any] = [1, {"k": [2]}]
    model = Model(name="me")
    model.me = model  # type: ignore[attr-defined]  # of its dict
    ring[1]["up"] = ring
    ring += [model, {"model": model, "ring": ring}]
    return ring


def many_memo_entries() -> list[Any]:
    """Return what has its first and last reference below, at, and beyond 256 entries."""
    texts = [f"text number {i}" for i in range(300)]
    return [
        *[[text] for text in texts[:20]],
        texts,
        {"t": texts[::-1]},
        [texts[:5], texts[250:260]],
    ]


_RANDOM = random.Random(1)  # noqa: S311  (data for tests)
KINDS: dict[str, Callable[[], object]] = {
    "number": lambda: 5,
    "text": lambda: "text" * 100,
    "long text": lambda: "text" * 50_000,
    "bytes": lambda: b"x" * 200_000,
    "empty list": list,
    "list of one": lambda: [[5, [6]]],
    "floats": lambda: [_RANDOM.random() for _ in range(3000)],
    "numbers": lambda: list(range(70_000)),
    "thousands": lambda: [[i] for i in range(1000)],
    "dicts": lambda: [{"a": i, "b": str(i), "c": [i]} for i in range(2500)],
    "dict of numbers": lambda: {i: str(i) for i in range(1000)},
    "dict of lists": lambda: {str(i): [i] * 3 for i in range(2001)},
    "tuple keys": lambda: {(i, str(i)): {i} for i in range(30)},
    "tuples": lambda: [(i,) * (i % 6) for i in range(500)],
    "sets": lambda: [{str(i) for i in range(n)} for n in (0, 1, 2, 999, 1000, 1001)],
    "frozensets": lambda: [frozenset(map(str, range(n))) for n in (0, 1, 5, 200)],
    "nested": lambda: {"a": {"b": [{"c": ({1: [2, (3,)]},)}]}, "d": [[[[]]]]},
    "model": lambda: Model(
        layers=[Model(w=np.arange(50.0), b=[i]) for i in range(5)], cache=dict(TABLE)
    ),
    "slots": lambda: [Slotted([i], str(i)) for i in range(40)],
    "dataclasses": lambda: [Point(i, [str(i)]) for i in range(400)],
    "attrs": lambda: [Attrs([i]) for i in range(10)],
    "named tuples": lambda: [Row(i, str(i)) for i in range(100)],
    "enumeration": lambda: [Colour.RED, {"c": Colour.RED}],
    "estimator": lambda: Estimator().fit(),
    "ordered": lambda: collections.OrderedDict((i, [i]) for i in range(1001)),
    "default": lambda: collections.defaultdict(list, {str(i): [i] for i in range(50)}),
    "counter": lambda: collections.Counter("a long text with letters"),
    "deque": lambda: collections.deque([[i] for i in range(1001)], maxlen=2000),
    "dates": lambda: [dt.date(2026, 1, 1 + i % 28) for i in range(300)],
    "exact numbers": lambda: (
        [decimal.Decimal(i) / 7 for i in range(100)]
        + [fractions.Fraction(i, 7) for i in range(100)]
    ),
    "odds": lambda: [
        *(pathlib.PurePosixPath("a/b"), uuid.UUID(int=5), range(5), slice(1, 2), 1j, ...),
        *(functools.partial(max, [1, 2], key=len), ValueError("no", [1]), bytearray(b"abc")),
        types.SimpleNamespace(a=[1]),
    ],
    "array": lambda: BUFFER,
    "small arrays": lambda: {f"w{i}": np.arange(float(i)) for i in range(60)},
    "views": lambda: [BUFFER[:128], BUFFER[::2], BUFFER.reshape(50, 50).T, np.float64(5)],
    "object array": lambda: np.array([[i, str(i)] for i in range(200)], dtype=object),
    "frame": frame,
    "series": lambda: frame()["any"],
    "text series": lambda: frame()["text"],
    "index": lambda: pd.MultiIndex.from_product([["a", "b"], range(20)]),
    "class": by_value_class,
    "instances": lambda: [type_() for type_ in [by_value_class()] * 3],
    "function": function,
    "lambdas": lambda: [lambda: TABLE, lambda: TABLE, lambda x: x],
    "method": lambda: Estimator().fit().fit,
    "rebuilt": lambda: _rebuilt(1001),
    "rebuilt of one": lambda: _rebuilt(1),
    "shared": shared,
    "cyclic": cyclic,
    "memo": many_memo_entries,
    "one fat item": lambda: [[i] if i % 900 else list(range(5 * i)) for i in range(2000)],
    "deep": lambda: functools.reduce(lambda inner, _: [inner], range(150), list[Any]([1])),
}


def _rebuilt(count: int) -> Rebuilt:
    made = Rebuilt("name")
    made.items = [[i] for i in range(count)]
    made.pairs = {(i, "k"): [i] for i in range(count)}
    return made


def give_clock(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    """Let a test say what time it is, s, where an anatomy looks: others live in this process."""
    now = SimpleNamespace(monotonic=lambda: clock[0], perf_counter_ns=time.perf_counter_ns)
    for module in (anatomy_descent, anatomy_pickler, blame):
        monkeypatch.setattr(module, "time", now)


class Slow:
    """An object whose reducer moves the clock of the test by so many seconds."""

    def __init__(self, clock: list[float], took_s: float) -> None:
        self.clock, self.took_s = clock, took_s

    def __reduce__(self) -> Any:
        self.clock[0] += self.took_s
        return list, ()
