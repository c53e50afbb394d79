"""Did the value survive its round trip? Compared by parts, without copies of large arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

_PART = 1_000_000
_ELEMENTS = 100_000


def same_value(before: object, after: object, depth: int = 8) -> bool | None:
    """Tell whether two values are equal; None if that cannot be told.

    Arrays are compared in parts of a million elements, NaN equal to NaN; of containers the first
    100,000 elements. An object whose class does not define equality cannot be told.
    """
    try:
        return _same(before, after, depth)
    except Exception:  # noqa: BLE001  (comparing runs the user's own __eq__)
        return None


def _same(before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401, PLR0911  (by kind)
    if _is_array(before) and _is_array(after):
        return _same_array(before, after)
    if hasattr(type(before), "equals") and type(before) is type(after):
        return bool(before.equals(after))
    if isinstance(before, bytes | bytearray | memoryview | str):
        return bool(before == after)
    if depth > 0 and isinstance(before, Mapping) and isinstance(after, Mapping):
        return _same_mapping(before, after, depth)
    if depth > 0 and isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return _same_sequence(before, after, depth)
    defined: object = type(before).__eq__
    if defined is object.__eq__:
        return None if before is not after else True
    return bool(before == after) or (before != before and after != after)  # noqa: PLR0124  (NaN)


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _same_array(before: Any, after: Any) -> bool:  # noqa: ANN401
    if before.shape != after.shape or before.dtype != after.dtype:
        return False
    if before.ndim == 0 or before.size <= _PART:
        return _same_part(before, after)
    rows = max(1, _PART // max(1, before.size // before.shape[0]))
    starts = range(0, before.shape[0], rows)
    return all(_same_part(before[i : i + rows], after[i : i + rows]) for i in starts)


def _same_part(before: Any, after: Any) -> bool:  # noqa: ANN401
    import numpy as np

    if before.dtype.kind in "fc":
        return bool(np.array_equal(before, after, equal_nan=True))
    return bool(np.array_equal(before, after))


def _same_mapping(before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
    if before.keys() != after.keys():
        return False
    keys = islice(before, _ELEMENTS)
    return _all_same(((before[key], after[key]) for key in keys), depth - 1)


def _same_sequence(before: Any, after: Any, depth: int) -> bool | None:  # noqa: ANN401
    if len(before) != len(after):
        return False
    return _all_same(islice(zip(before, after, strict=True), _ELEMENTS), depth - 1)


def _all_same(pairs: Any, depth: int) -> bool | None:  # noqa: ANN401
    verdicts = {_same(before, after, depth) for before, after in pairs}
    if False in verdicts:
        return False
    return None if None in verdicts else True
