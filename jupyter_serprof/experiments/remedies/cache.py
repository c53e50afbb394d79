"""The attributes of an object that are caches: its pickle without them, tried on the object.

Neither the object nor its class is touched: a pickler of our own has a reducer for that one class,
which does to the state what a ``__getstate__`` in the class would do.
"""

from __future__ import annotations

import copyreg
import functools
import re
import time
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jupyter_serprof.experiments.roundtrip.trip import pickled_bytes
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.objects.equality import same_value

#: Names that people give to what can be computed again; "memory" is none.
_CACHE = re.compile(r"cache|(^|_)memo(s|ized)?(_|$)|(^|_)lru(_|$)", re.IGNORECASE)
WORTH_BYTES = 10_000
WORTH_SHARE = 0.1
_ATTRIBUTES = 200
#: What a class would begin with; anything else becomes None.
_EMPTY = (dict, list, set, OrderedDict)

Reducer = Callable[[object], tuple[Any, ...]]


class Verdict(NamedTuple):
    """What a check says: equal or not (None: cannot be told), in words, and the time it took."""

    equal: bool | None
    changes: tuple[str, ...]
    again_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Attributes that are left out of the pickles of a class.

    Attributes
    ----------
    kind
        The class.
    names
        Values of a ``cached_property`` are left out, all others become empty.
    size_bytes, total_bytes
        What they take in a pickle of so many bytes.
    """

    kind: type
    names: tuple[str, ...]
    is_property: bool
    size_bytes: int
    total_bytes: int

    @property
    def key(self) -> str:
        """The key of the remedy."""
        return "drop-cached-property" if self.is_property else "drop-cache"

    def reducer(self, protocol: int) -> Reducer:
        """Return what pickles an object of the class without them."""

        def reduce(value: object) -> tuple[Any, ...]:
            made: Any = object.__reduce_ex__(value, protocol)
            function, arguments, state, *more = made
            return (function, arguments, self._without(state), *more)

        return reduce

    def _without(self, state: Any) -> Any:  # noqa: ANN401  (a dict, or one and that of the slots)
        if isinstance(state, tuple):
            return tuple(part if part is None else self._without(part) for part in state)
        if self.is_property:
            return {key: part for key, part in state.items() if key not in self.names}
        return {key: _emptied(p) if key in self.names else p for key, p in state.items()}

    def check(self, value: object, result: object) -> Verdict:
        """Compare all other attributes; those that are computed again also by reading them."""
        if type(result) is not self.kind:
            return Verdict(equal=False, changes=(f"it comes back as {type(result).__name__}",))
        before, after = attributes_of(value), attributes_of(result)
        expected = {key: part for key, part in before.items() if key not in self.names}
        arrived = {key: part for key, part in after.items() if key not in self.names}
        equal = same_value(expected, arrived)
        if not self.is_property:
            empty = f"{_listed(self.names)} comes back empty: right if {self.kind.__name__} can"
            return Verdict(equal, (f"{empty} compute it again, which only its author knows",))
        return self._read(before, result, equal)

    def _read(self, before: Mapping[str, object], result: object, equal: bool | None) -> Verdict:
        """Read each on what came back: its class computes it there."""
        again_ns = 0
        for name in self.names:
            start = time.perf_counter_ns()
            try:
                made = getattr(result, name)
            except Exception as error:  # noqa: BLE001  (the user's own function)
                return Verdict(
                    equal=False, changes=(f"reading {name} on what came back: {error_text(error)}",)
                )
            again_ns += time.perf_counter_ns() - start
            same = same_value(before[name], made)
            if same is False:
                return Verdict(
                    equal=False, changes=(f"{name} is another one when it is computed again",)
                )
            equal = None if same is None else equal
        return Verdict(equal, (), again_ns)

    @property
    def cause(self) -> str:
        """What is the matter."""
        is_one = len(self.names) == 1
        kept = "kept by a cached_property" if is_one else "kept by cached properties"
        named = "a cache by its name" if is_one else "caches by their names"
        return (
            f"{_listed(self.names)} of {self.kind.__name__} {'is' if is_one else 'are'} "
            f"{kept if self.is_property else named} and {'takes' if is_one else 'take'} "
            f"{format_bytes(self.size_bytes)} of the pickle's {format_bytes(self.total_bytes)}"
        )

    def code(self, value: object) -> str:
        """Return the ``__getstate__`` to write, as a line that can be pasted behind the class."""
        name, known = self.kind.__name__, attributes_of(value)
        if self.is_property:
            state = f"{{k: v for k, v in vars(self).items() if k not in {set(self.names)!r}}}"
            return f"{name}.__getstate__ = lambda self: {state}   # or as a method of {name}"
        empty = ", ".join(f"{key!r}: {_emptied(known[key])!r}" for key in self.names)
        end = f"   # if {name} can compute {'it' if len(self.names) == 1 else 'them'} again"
        if not _has_slots(self.kind):
            return f"{name}.__getstate__ = lambda self: {{**vars(self), {empty}}}{end}"
        parts = f"{{k: {{{empty}}}.get(k, v) for k, v in part.items()}}"
        return (
            f"{name}.__getstate__ = lambda self: tuple(part and {parts} "
            f"for part in object.__getstate__(self)){end}"
        )

    def told(self, value: object) -> dict[str, Any]:
        """Return the fields of a trial: the cause, the line to paste, the evidence."""
        evidence = {
            "attribute": ", ".join(self.names),
            "size_bytes": self.size_bytes,
            "total_bytes": self.total_bytes,
        }
        return {"cause": self.cause, "code": self.code(value), "evidence": evidence}


def drops_of(value: object, size_of: Callable[[Mapping[type, Reducer]], int | None]) -> list[Drop]:
    """Return what may be left out of the pickle of an object, and makes it notably smaller.

    Parameters
    ----------
    value
        Only a class that leaves its state to ``object`` is looked at: another one has its say
        already.
    size_of
        Returns the bytes of its pickle with reducers of our own; None where that fails.
    """
    kind = type(value)
    if not leaves_state_to_object(kind) or hasattr(kind, "__setstate__"):
        return []
    total = size_of({})
    if total is None:
        return []
    found = []
    for is_property in (True, False):
        names = tuple(key for key in _caches_of(value) if is_kept(kind, key) is is_property)
        drop = Drop(kind, names, is_property, 0, total)
        left = size_of({kind: drop.reducer(5)}) if names else None
        if left is not None and total - left >= max(WORTH_BYTES, WORTH_SHARE * total):
            found.append(Drop(kind, names, is_property, total - left, total))
    return found


def _caches_of(value: object) -> Iterator[str]:
    """Yield the attributes that are caches and not small."""
    for key, part in list(attributes_of(value).items())[:_ATTRIBUTES]:
        is_cache = is_kept(type(value), key) or looks_like_cache(key)
        if is_cache and (pickled_bytes(part) or WORTH_BYTES) >= WORTH_BYTES:
            yield key


def is_kept(kind: type, key: str) -> bool:
    """Tell whether a ``cached_property`` of the class keeps its value there."""
    return any(isinstance(vars(c).get(key), functools.cached_property) for c in kind.__mro__)


def looks_like_cache(key: str) -> bool:
    """Tell by the name.

    >>> [looks_like_cache(key) for key in ("_cache", "memo", "rowcache", "memory", "lru_rows")]
    [True, True, True, False, True]
    """
    return bool(_CACHE.search(key))


def leaves_state_to_object(kind: type) -> bool:
    """Tell whether neither the class nor one above it says what of an object travels."""
    if issubclass(kind, type | types.FunctionType) or kind in copyreg.dispatch_table:
        return False
    if "__dict__" not in dir(kind) and not _has_slots(kind):
        return False
    names = ("__reduce_ex__", "__reduce__", "__getstate__")
    return all(getattr(kind, name) is getattr(object, name) for name in names)


def attributes_of(value: object) -> dict[str, object]:
    """Return the attributes of an object whose state is left to ``object``, slots included."""
    state: Any = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)
    return {str(key): part for known in parts if known for key, part in known.items()}


def _has_slots(kind: type) -> bool:
    return any(vars(each).get("__slots__") for each in kind.__mro__)


def _emptied(part: object) -> object:
    return type(part)() if type(part) in _EMPTY else None


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names) if len(names) < len("abc") else f"{len(names)} attributes"
