"""Did the value survive its round trip? Compared by parts, without copies of large arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

from jupyter_serprof.objects.ask import kind_module

_PART = 1_000_000
_ELEMENTS = 100_000
_DEPTH = 8
#: Floats, complex numbers, dates and spans of time: their "not a number" is not equal to itself.
_WITH_NAN = "fcmM"
#: Their ``equals`` takes missing values for equal.
_FRAMES = ("pandas", "polars")


def same_value(before: object, after: object) -> bool | None:
    """Tell whether two values are equal; None if that cannot be told.

    Arrays are compared in parts of a million elements, NaN equal to NaN; of containers and arrays
    of objects 100,000 elements in all. An object whose class does not define equality cannot be
    told, nor can one whose ``__eq__`` raises.
    """
    try:
        return _SameValue().same(before, after, _DEPTH)
    except Exception:  # noqa: BLE001  (comparing runs the user's own __eq__)
        return None


class _SameValue:
    """One comparison, with the number of elements that it may still look at."""

    def __init__(self) -> None:
        self.left = _ELEMENTS

    def same(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401, PLR0911  (a kind each)
        library = kind_module(type(before)).partition(".")[0] if type(before) is type(after) else ""
        if _is_array(before) and _is_array(after):
            return self._same_array(before, after, depth)
        if library == "pyarrow" and hasattr(before, "equals"):
            return _same_arrow(before, after)
        if library in _FRAMES and hasattr(before, "equals"):
            return bool(before.equals(after))
        if isinstance(before, Mapping) and isinstance(after, Mapping) and depth > 0:
            return self._same_mapping(before, after, depth)
        if isinstance(before, list | tuple) and isinstance(after, list | tuple) and depth > 0:
            return len(before) == len(after) and self._all_same(zip(before, after), depth)  # noqa: B905
        if is_dataclass(before) and type(before) is type(after) and depth > 0:
            return self._same_fields(before, after, depth)
        return _equal(before, after)

    def _all_same(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> bool | None:
        """Compare parts until one differs or enough were seen."""
        verdict: bool | None = True
        for before, after in pairs:
            if self.left <= 0:
                return verdict
            self.left -= 1
            same = self.same(before, after, depth - 1)
            if same is False:
                return False
            verdict = None if same is None else verdict
        return verdict

    def _same_mapping(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
        if len(before) != len(after):
            return False
        if len(before) <= self.left and before.keys() == after.keys():
            return self._all_same(((before[key], after[key]) for key in before), depth)
        # Pickle keeps the order; keys like NaN or plain objects are not found by value.
        return self._all_same(zip(before.items(), after.items()), depth)  # noqa: B905

    def _same_fields(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
        if _equal(before, after):
            return True
        # Its generated __eq__ raises for arrays and takes NaN for a difference.
        names = [field.name for field in fields(before) if field.compare]
        return self._all_same(
            ((getattr(before, name), getattr(after, name)) for name in names), depth
        )

    def _same_array(self, before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        if before.dtype.hasobject and not before.dtype.names:
            return self._all_same(zip(before.flat, after.flat), depth)  # noqa: B905
        if before.dtype.names:
            columns = ((before[name], after[name]) for name in before.dtype.names)
            return self._all_same(columns, depth)
        return _same_numbers(before, after)


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _equal(before: Any, after: Any) -> bool | None:  # noqa: ANN401
    """Ask the values; one without equality, or whose ``__eq__`` raises, cannot tell."""
    if before is after:
        return True
    defined: object = type(before).__eq__
    if defined is object.__eq__:
        return None
    try:
        if bool(before == after) or bool(before != before and after != after):  # noqa: PLR0124  (NaN)
            return True
    except Exception:  # noqa: BLE001  (the user's own __eq__)
        return None
    is_container = isinstance(before, Mapping | list | tuple | AbstractSet)
    return None if is_container and len(before) == len(after) else False


def _same_arrow(before: Any, after: Any) -> bool | None:  # noqa: ANN401
    """Compare Arrow data, for which NaN differs from itself: what differs may be only that."""
    if before.equals(after):
        return True
    shapes = [
        (getattr(x, "schema", None) or getattr(x, "type", None), len(x)) for x in (before, after)
    ]
    return None if shapes[0] == shapes[1] else False


def _same_numbers(before: Any, after: Any) -> bool:  # noqa: ANN401
    if before.ndim == 0 or before.size <= _PART:
        return _same_part(before, after)
    rows = max(1, _PART // max(1, before.size // before.shape[0]))
    starts = range(0, before.shape[0], rows)
    if rows == 1:
        return all(_same_numbers(before[i], after[i]) for i in starts)
    return all(_same_part(before[i : i + rows], after[i : i + rows]) for i in starts)


def _same_part(before: Any, after: Any) -> bool:  # noqa: ANN401
    import numpy as np

    return bool(np.array_equal(before, after, equal_nan=before.dtype.kind in _WITH_NAN))
