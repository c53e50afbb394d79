"""The zoo: objects that raise, lie, hold themselves or nothing, against every walker."""

import pickle
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.api import blame, run
from jupyter_serprof.experiments.blame.passes import depth_note, memory_note
from jupyter_serprof.experiments.blame.recording import BlameRun, name_of
from jupyter_serprof.objects.ask import size_bytes
from jupyter_serprof.objects.captured import captured_variables
from jupyter_serprof.objects.culprits import culprits_text, error_text, find_culprits
from jupyter_serprof.objects.equality import differences, same_value
from jupyter_serprof.objects.labels import is_by_value, is_closed, key_label, kind_label
from jupyter_serprof.objects.look import contiguous_bytes
from jupyter_serprof.objects.picklers import held_by_both
from jupyter_serprof.objects.walk import parts_of, payloads
from jupyter_serprof.probes.dask.graph.look import graph_bytes, graph_objects, label
from jupyter_serprof.probes.dask.graph.picklers import find_unpicklable
from jupyter_serprof.views.blame import anatomy_lines

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


def _holding(value: object) -> Any:
    return lambda more=value: (value, more)


def _blamed(value: object) -> None:
    anatomy = blame(value)
    assert anatomy.parts
    assert anatomy_lines(anatomy, 100)
    memory_note(value, 20_000)
    depth_note(value)


def _graph_of(value: object) -> dict[str, object]:
    return {"x": (_holding(value), value, [value])}


def _large_of(value: object) -> None:
    with suppress(Exception):  # what cannot be pickled is told by the run itself
        graph_objects(_graph_of(value), time.monotonic() + 1)


#: Everything that looks into objects of users; each takes any value, and raises nothing.
WALKERS: dict[str, Callable[[Any], object]] = {
    "blame": _blamed,
    "names": lambda value: (name_of(value), kind_label(value), key_label(value), label(value)),
    "kinds": lambda value: (is_by_value(value), is_closed(value)),
    "bytes": lambda value: (size_bytes(value), contiguous_bytes(value)),
    "parts": lambda value: list(islice(parts_of(value, takes_functions=True), 2_000)),
    "culprits": lambda value: culprits_text(find_culprits(value, "it")),
    "culprits of pickle": lambda value: find_culprits(value, "it", takes_functions=False),
    "captured": lambda value: captured_variables(_holding(value)),
    "payloads": lambda value: payloads(value, 1_000_000),
    "payloads of a task": lambda value: payloads((len, value, [value]), 1_000_000),
    "large objects": _large_of,
    "objects of a graph": lambda value: graph_bytes(_graph_of(value), 9).objects,
    "culprit of a graph": lambda value: find_unpicklable(_graph_of(value)),
    "memory": lambda value: held_by_both(value, [value]),
    "equality": lambda value: (same_value(value, value), same_value([value], [value])),
    "differences": lambda value: differences(value, [value]),
}


class _Endless(Mapping[str, int]):
    """A mapping without an end."""

    def __getitem__(self, key: str) -> int:
        return len(key)

    def __iter__(self) -> Iterator[str]:
        return (str(number) for number in count())

    def __len__(self) -> int:
        return sys.maxsize


class _Mirror:
    """An object that has every attribute: itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class _Slotted:
    __slots__ = ("empty", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()


class _Ambiguous:
    """An object that is neither equal to anything nor true nor false."""

    __hash__ = None  # type: ignore[assignment]  # as arrays have none

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    def __bool__(self) -> bool:
        raise HostileError


def _circle(kind: str) -> Any:
    made: Any = {"list": [], "dict": {}, "deque": deque(), "array": np.empty(1, object)}.get(kind)
    if kind == "object":
        made = types.SimpleNamespace()
        made.me = made
    elif kind in ("dict", "array"):
        made["me" if kind == "dict" else 0] = made
    else:
        made.append(made)
    return made


def _self_capturing(*, is_filled: bool) -> Any:
    def function() -> object:
        return function if is_filled else missing

    if not is_filled:
        missing = None
        del missing
    return function


def _deep(levels: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


def _lying_function() -> Any:
    function = _holding(1)
    function.__module__, function.__qualname__ = 5, "a.<locals>.b"
    function.__kwdefaults__ = {"x": threading.Lock()}
    return function


def _released() -> memoryview:
    view = memoryview(b"abc")
    view.release()
    return view


#: What is met in notebooks or was made to break a walker, new each time.
ZOO: dict[str, Callable[[], Any]] = {
    **{f"{kind} in itself": partial(_circle, kind) for kind in ("list", "dict", "deque", "object")},
    "array in itself": partial(_circle, "array"),
    "function in itself": partial(_self_capturing, is_filled=True),
    "empty cell": partial(_self_capturing, is_filled=False),
    "lying function": _lying_function,
    "deep list": partial(_deep, 5_000),
    "endless mapping": _Endless,
    "mirror": _Mirror,
    "mock": MagicMock,
    "slots": _Slotted,
    "ambiguous": _Ambiguous,
    "generator": lambda: (number for number in range(3)),
    "module": lambda: types,
    "frame": sys._getframe,
    "lock": threading.Lock,
    "thread-local": threading.local,
    "released view": _released,
    "view": lambda: memoryview(bytes(100_000))[::2],
    "strided buffer": lambda: pickle.PickleBuffer(np.ones(9)[::2]),  # type: ignore[arg-type]  # it has a buffer
    "records": lambda: np.zeros(3, [("a", "i4"), ("b", object)]),
    "same column twice": lambda: pd.DataFrame([[1, threading.Lock()]], columns=["a", "a"]),
    "text of half a pair": lambda: ["\ud800" * 2_000, {"\ud800": 1}],
    "partial of a method": lambda: partial(list[Any]().append, threading.Lock()),
    "mapping proxy": lambda: types.MappingProxyType({"a": [1] * 2_000}),
    "wide list": lambda: [[number] for number in range(5_000)],
    "type": lambda: type("Local", (), {"lock": threading.Lock(), "__slots__": ("a",)}),
    "gone": lambda: __import__("weakref").proxy(_Mirror()),
    "nan": lambda: [float("nan"), {float("nan"): float("nan")}],
    "huge number": lambda: 10**5_000,
}


def _look(value: object) -> None:
    for walk in WALKERS.values():
        walk(value)
    _blamed(_placed(value))


@pytest.mark.parametrize("walker", WALKERS)
@pytest.mark.parametrize("animal", ZOO)
@pytest.mark.filterwarnings("ignore")
def test_a_walker_comes_out_of_the_zoo(animal: str, walker: str) -> None:
    """It ends, and raises nothing, whatever it is given."""
    WALKERS[walker](ZOO[animal]())


@pytest.mark.parametrize("base", _BASES, ids=lambda base: base[0].__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_method_or_property_that_raises_or_lies_is_no_matter(base: tuple[type, object]) -> None:
    """Whatever a class answers, also to ``isinstance`` and ``vars``: an anatomy, and no error."""
    members = list(_hostile(_METHODS))
    if base in _BASES[::3]:
        members += [(name, property(answer)) for name, answer in _hostile(_PROPERTIES)]
    for name, member in members:
        value = _made(*base, {name: member})
        if value is not None:
            _look(value)


@pytest.mark.parametrize("base", _BASES[:4], ids=lambda base: base[0].__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_metaclass_that_raises_or_lies_is_no_matter(base: tuple[type, object]) -> None:
    for name, answer in _hostile(_ON_METACLASS):
        for member in (answer, property(answer)):
            value = None
            with suppress(TypeError):  # Python itself refuses the metaclass
                value = _made(*base, {}, type("Meta", (type,), {name: member}))
            if value is not None:
                _look(value)


def test_a_list_that_lies_about_its_length_is_told_with_its_real_one() -> None:
    lies = type("LyingLen", (list,), {"__len__": lambda _: -1, "__module__": "__main__"})

    trace = run(BlameRun(lies([1, 2, 3]), "ll"))

    assert trace.anatomies[0].parts[0].kind == "LyingLen (3)"


def test_an_error_without_words_is_told_by_its_type() -> None:
    assert error_text(HostileError()) == "HostileError"
