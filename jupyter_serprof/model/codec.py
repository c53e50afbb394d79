"""Frozen dataclasses, and columns of integers, as plain JSON values and back."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import math
import operator
import sys
import types
import zlib
from array import array
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import TypeGuard, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from jupyter_serprof.model.errors import DocumentError, damaged, refuse, shown

Made = TypeVar("Made")
#: Bounds every whole number, because columns pack int64 (its smallest value is "unknown").
_LARGEST = 2**63 - 1
#: No detail of ours is deeper; a document without bottom would take the stack of its readers.
_DEEPEST = 32
_JSON_NAMES = {int: "integer", str: "string"}


def encode(value: object, depth: int = 0) -> object:
    """Return dataclasses as dicts, tuples as lists and mappings as dicts, all the way down.

    What JSON cannot hold (NaN, an integer beyond int64, an object of some library, endless nesting)
    becomes None, which is unknown: one odd detail must not cost the whole document.
    """
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Real):  # numpy's numbers too
        return _number(value)
    return _encode_inside(value, depth + 1) if depth < _DEEPEST else None


def _number(value: Real) -> int | float | None:
    if isinstance(value, Integral):
        whole = int(value)
        return whole if -_LARGEST <= whole <= _LARGEST else None
    number = float(value)
    return number if math.isfinite(number) else None


def _encode_inside(value: object, depth: int) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            entry.name: encode(getattr(value, entry.name), depth)
            for entry in dataclasses.fields(value)
            if not _is_absent(entry, getattr(value, entry.name))
        }
    if isinstance(value, Mapping):
        return {str(key): encode(item, depth) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item, depth) for item in value]
    return None


def _is_absent(entry: dataclasses.Field[object], value: object) -> bool:
    """Tell whether a reader assumes this value anyway: an empty one or 0 that is the default."""
    made = entry.default_factory
    default = entry.default if made is dataclasses.MISSING else made()
    # Not ``value in (...)``: a number of numpy compares with () element by element.
    is_empty = value is None or (isinstance(value, str | tuple | Mapping | int) and not value)
    return is_empty and value == default


def unfit(value: object, depth: int = 0) -> str | None:
    """Return what no document of ours holds, as ``.path is it``; None if all of it is plain."""
    if isinstance(value, dict | list):
        return _unfit_inside(value, depth + 1)
    if isinstance(value, int):
        return None if -_LARGEST <= value <= _LARGEST else f" is {shown(value)}, beyond int64"
    if isinstance(value, float):
        return None if math.isfinite(value) else f" is {value}, which is no number"
    known = value is None or isinstance(value, str)
    return None if known else f" is {shown(value)}, which JSON does not know"


def _unfit_inside(value: dict[object, object] | list[object], depth: int) -> str | None:
    if depth > 2 * _DEEPEST:  # room for the levels around what encode wrote
        return f" is deeper than {2 * _DEEPEST} levels"
    if isinstance(value, list) and are_whole(value) and max(map(abs, value)) <= _LARGEST:
        return None
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(value, dict) and not isinstance(key, str):
            return f" has the key {shown(key)}, which is no text"
        problem = None if type(item) is str else unfit(item, depth)
        if problem:
            return f"{f'.{key}' if isinstance(value, dict) else f'[{key}]'}{problem}"
    return None


def are_whole(values: Sequence[object]) -> TypeGuard[Sequence[int]]:
    """Tell whether there are values and all of them are whole numbers: then one look is enough."""
    return set(map(type, values)) == {int}


def decode(made: type[Made], data: Mapping[str, object]) -> Made:
    """Build a dataclass from a validated dict; keys that it does not know are ignored."""
    hints = _hints(cast("Hashable", made))
    names = field_names(cast("Hashable", made))
    known = {name: _build(hints[name], data[name], name) for name in names if name in data}
    return made(**known)


@cache
def field_names(made: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(entry.name for entry in dataclasses.fields(made))


_hints = cache(get_type_hints)


def _build(hint: object, value: object, path: str) -> object:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _build_optional(get_args(hint), value, path)
    if origin is tuple and isinstance(value, list):
        return _build_tuple(get_args(hint), value, path)
    if origin is Mapping and isinstance(value, Mapping):
        inner = get_args(hint)[1]
        return {key: _build(inner, item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return decode(hint, value)
    return _build_leaf(hint, value, path)


def _build_leaf(hint: object, value: object, path: str) -> object:
    if hint is int and isinstance(value, float) and value.is_integer():
        if abs(value) > _LARGEST:
            refuse(f"{path} is {shown(value)}, beyond int64")
        return int(value)  # JSON has one kind of number
    if isinstance(hint, type) and hint in _JSON_NAMES and not isinstance(value, hint):
        refuse(f"{path} should be {_JSON_NAMES[hint]}, it is {shown(value)}")
    return value


def _build_optional(choices: tuple[object, ...], value: object, path: str) -> object:
    """Build the one thing that the value can be; of several scalars it stays what it is."""
    made = [choice for choice in choices if choice is not types.NoneType]
    return _build(made[0], value, path) if value is not None and len(made) == 1 else value


_ATOMS = ({int}, {str})


def _build_tuple(items: tuple[object, ...], value: list[object], path: str) -> tuple[object, ...]:
    hints = [items[0]] * len(value) if items[-1] is Ellipsis else items
    if len(hints) == len(value) and set(map(type, value)) == set(items) - {Ellipsis} in _ATOMS:
        return tuple(value)
    pairs = enumerate(zip(hints, value, strict=True))
    return tuple(_build(hint, item, f"{path}[{i}]") for i, (hint, item) in pairs)


#: Up to this length a column stays a plain list, which people and diffs can read. A notebook file
#: gives each number a line of its own, so longer ones are packed.
PLAIN_LIMIT = 64
#: int64 has no room for "unknown", so a packed column spends its smallest value on it.
_UNKNOWN = -(2**63)
_LONGEST = 50_000_000


def pack(values: Sequence[int | None]) -> object:
    """Return a column as a list, or packed when it is longer than ``PLAIN_LIMIT``.

    Raises ``DocumentError``: If a value is no int64; what counted it is wrong.
    """
    try:
        numbers = array("q", (_UNKNOWN if value is None else value for value in values))
    except (OverflowError, TypeError) as error:
        message = f"a column holds what is no int64 ({error}); record it again without that span"
        raise DocumentError(message) from error
    if len(numbers) <= PLAIN_LIMIT:
        return _known(numbers)
    if sys.byteorder == "big":
        numbers.byteswap()
    packed = base64.b64encode(zlib.compress(numbers.tobytes(), 1)).decode("ascii")
    return {"enc": "deflate+b64", "dtype": "int64", "n": len(numbers), "data": packed}


def unpack(column: object) -> list[int | None]:
    """Return the values of a column.

    Raises ``DocumentError``: If the packed bytes are damaged or do not hold the announced number of
        values, or a plain value is no int64.
    """
    if isinstance(column, dict):
        return _unpacked(column)
    if not isinstance(column, list):
        refuse(f"a column is neither a list nor packed, it is {shown(column)}")
    try:
        return _known(array("q", column if are_whole(column) else map(_whole, column)))
    except (OverflowError, TypeError, ValueError) as error:
        problem = f"a column holds what is no int64 ({error})"
        raise damaged(problem) from error


def unpack_columns(
    data: Mapping[str, object], names: Sequence[str], what: str
) -> tuple[dict[str, list[int | None]], int]:
    """Return columns that stand beside each other, and their length; refuse several lengths."""
    columns = {name: unpack(data[name]) for name in names}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        refuse(f"its {what} columns have lengths {sorted(lengths)}")
    return columns, lengths.pop()


def at(table: Sequence[str], index: object) -> str:
    """Return an entry of a table that a document points at by index; refuse any other index."""
    if not isinstance(index, int) or not 0 <= index < len(table):
        refuse(f"index {shown(index)} points outside a table of {len(table)}")
    return table[index]


def _whole(value: object) -> int:
    """Return a plain value as it is packed; JSON has one kind of number, so 1.0 is 1."""
    if value is None:
        return _UNKNOWN
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return operator.index(cast("int", whole))


def _known(numbers: array[int]) -> list[int | None]:
    return [None if number == _UNKNOWN else number for number in numbers]


def _unpacked(column: dict[str, object]) -> list[int | None]:
    count = column.get("n")
    if not isinstance(count, int) or not 0 <= count <= _LONGEST:
        refuse(f"a packed column announces {shown(count)} values")
    numbers = array("q")
    try:
        raw = base64.b64decode(str(column.get("data")), validate=True)
        inflater = zlib.decompressobj()
        # The announced length bounds the memory that a hostile file can make us take.
        numbers.frombytes(inflater.decompress(raw, 8 * count + 8))
    except (binascii.Error, zlib.error, ValueError) as error:
        problem = f"a packed column cannot be unpacked ({error})"
        raise damaged(problem) from error
    if len(numbers) != count or not inflater.eof or inflater.unused_data:
        refuse(f"a packed column does not hold the {count} values that it announces")
    if sys.byteorder == "big":
        numbers.byteswap()
    return _known(numbers)
