"""Columns of integers as JSON: plain lists while small, deflate + base64 when large."""

from __future__ import annotations

import base64
import binascii
import operator
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, cast

from jupyter_serprof.model.errors import DocumentError, damaged, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Up to this length a column stays a plain list, which people and diffs can read. A notebook file
#: gives each number a line of its own, so longer ones are packed.
PLAIN_LIMIT = 64
#: int64 has no room for "unknown", so a packed column spends its smallest value on it.
_UNKNOWN = -(2**63)
_LONGEST = 50_000_000


def pack(values: Sequence[int | None]) -> object:
    """Return a column as a list, or packed when it is longer than ``PLAIN_LIMIT``.

    Raises
    ------
    DocumentError
        If a value is no int64; what counted it is wrong.
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

    Raises
    ------
    DocumentError
        If the packed bytes are damaged or do not hold the announced number of values, or a plain
        value is no int64.
    """
    if isinstance(column, dict):
        return _unpacked(column)
    if not isinstance(column, list):
        problem = f"a column is neither a list nor packed, it is {shown(column)}"
        raise damaged(problem)
    try:
        return _known(array("q", (_whole(value) for value in column)))
    except (OverflowError, TypeError, ValueError) as error:
        problem = f"a column holds what is no int64 ({error})"
        raise damaged(problem) from error


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
        problem = f"a packed column announces {shown(count)} values"
        raise damaged(problem)
    numbers = array("q")
    try:
        raw = base64.b64decode(str(column.get("data")), validate=True)
        inflater = zlib.decompressobj()
        # The announced length bounds the memory that a hostile file can make us take.
        numbers.frombytes(inflater.decompress(raw, 8 * count + 8))
    except (binascii.Error, zlib.error, ValueError) as error:
        problem = f"a packed column cannot be unpacked ({error})"
        raise damaged(problem) from error
    if len(numbers) != count or not inflater.eof:
        problem = f"a packed column does not hold the {count} values that it announces"
        raise damaged(problem)
    if sys.byteorder == "big":
        numbers.byteswap()
    return _known(numbers)
