"""Columns of integers as JSON: plain lists while small, deflate + base64 when large."""

from __future__ import annotations

import base64
import binascii
import sys
import zlib
from array import array
from collections.abc import Sequence

from jupyter_serprof.model.errors import DocumentError

#: Up to this length a column stays a plain list, which people and diffs can read.
PLAIN_LIMIT = 2_000
#: int64 has no room for "unknown", so a packed column spends its smallest value on it.
_UNKNOWN = -(2**63)
_LONGEST = 50_000_000


def pack(values: Sequence[int | None]) -> object:
    """Return a column as a list, or packed when it is longer than ``PLAIN_LIMIT``."""
    if len(values) <= PLAIN_LIMIT:
        return list(values)
    numbers = array("q", (_UNKNOWN if value is None else value for value in values))
    if sys.byteorder == "big":
        numbers.byteswap()
    packed = base64.b64encode(zlib.compress(numbers.tobytes(), 1)).decode("ascii")
    return {"enc": "deflate+b64", "dtype": "int64", "n": len(values), "data": packed}


def unpack(column: object) -> list[int | None]:
    """Return the values of a column.

    Raises
    ------
    DocumentError
        If the packed bytes are damaged or do not hold the announced number of values.
    """
    if isinstance(column, list):
        return column
    if not isinstance(column, dict):
        message = f"a column is neither a list nor packed: {type(column).__name__}"
        raise DocumentError(message)
    return _unpacked(column)


def _unpacked(column: dict[str, object]) -> list[int | None]:
    count = column.get("n")
    if not isinstance(count, int) or not 0 <= count <= _LONGEST:
        message = f"a packed column announces {count!r} values"
        raise DocumentError(message)
    numbers = array("q")
    try:
        raw = base64.b64decode(str(column.get("data")), validate=True)
        inflater = zlib.decompressobj()
        # The announced length bounds the memory that a hostile file can make us take.
        numbers.frombytes(inflater.decompress(raw, 8 * count + 1))
    except (binascii.Error, zlib.error, ValueError) as error:
        message = f"a packed column is damaged ({error}); save the document again"
        raise DocumentError(message) from error
    if len(numbers) != count or not inflater.eof:
        message = f"a packed column holds {len(numbers)} values instead of {count}"
        raise DocumentError(message)
    if sys.byteorder == "big":
        numbers.byteswap()
    return [None if number == _UNKNOWN else number for number in numbers]
