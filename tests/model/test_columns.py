"""Columns: what is written comes back, and damaged or hostile bytes are named."""

import base64
import json
import tracemalloc
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import LARGEST

from jupyter_serprof.model.codec import PLAIN_LIMIT, pack, unpack
from jupyter_serprof.model.errors import DocumentError

values = st.none() | st.integers(-LARGEST, LARGEST)


def packed(numbers: bytes, count: object) -> dict[str, object]:
    """Return a packed column of raw bytes that announces a count."""
    data = base64.b64encode(zlib.compress(numbers)).decode("ascii")
    return {"enc": "deflate+b64", "dtype": "int64", "n": count, "data": data}


@given(st.lists(values, max_size=20), st.booleans())
@example([1] * (PLAIN_LIMIT - 2), False)  # noqa: FBT003  (as drawn)
@example([np.int64(7)], False)  # noqa: FBT003  (as drawn)
def test_a_column_comes_back_as_it_was_whether_plain_or_packed(
    column: list[int | None], long: bool
) -> None:
    """Every int64 but the smallest, and unknown, survive; 0 and unknown stay apart."""
    column = [0, None, *column]
    column = (column * PLAIN_LIMIT)[: PLAIN_LIMIT + 1] if long else column

    written = pack(column)

    assert isinstance(written, dict if long else list)
    assert unpack(json.loads(json.dumps(written))) == column


def test_packed_bytes_are_little_endian_int64_in_zlib_in_base64() -> None:
    """Readers in other languages may rely on this layout for ever."""
    column: list[int | None] = [1, None] * PLAIN_LIMIT

    written = pack(column)

    assert isinstance(written, dict)
    raw = zlib.decompress(base64.b64decode(written["data"]))
    assert raw[:16] == bytes([1, 0, 0, 0, 0, 0, 0, 0]) + bytes([0, 0, 0, 0, 0, 0, 0, 0x80])
    assert {key: written[key] for key in ("enc", "dtype", "n")} == {
        "enc": "deflate+b64",
        "dtype": "int64",
        "n": 2 * PLAIN_LIMIT,
    }


@pytest.mark.parametrize("length", [1, PLAIN_LIMIT + 1])
def test_a_number_beyond_int64_is_refused_when_written(length: int) -> None:
    """A document never holds a number that another reader would round."""
    column = [2**63] * length

    with pytest.raises(DocumentError, match="int64"):
        pack(column)


def padded(data: str) -> str:
    return base64.b64encode(base64.b64decode(data) + bytes(30)).decode()


def damage_data(change: Callable[[str], str]) -> dict[str, object]:
    """Return a good packed column of three values whose text was changed."""
    column = packed(bytes(24), 3)
    return {**column, "data": change(str(column["data"]))}


@pytest.mark.parametrize(
    ("column", "words"),
    [
        pytest.param(packed(bytes(24), 4), "the 4 values", id="one-too-few"),
        pytest.param(packed(bytes(24), 2), "the 2 values", id="one-too-many"),
        pytest.param(packed(bytes(24), 0), "the 0 values", id="announces-none"),
        pytest.param(packed(bytes(23), 3), "", id="part-of-a-value"),
        pytest.param(packed(bytes(8), 2**62), "4611686018427387904", id="announces-exabytes"),
        pytest.param(packed(bytes(8), -1), "-1", id="announces-less-than-none"),
        pytest.param(packed(bytes(8), None), "None", id="announces-nothing"),
        pytest.param(damage_data(lambda data: data[:-3]), "", id="base64-cut-off"),
        pytest.param(damage_data(lambda data: data[:8]), "", id="deflate-cut-off"),
        pytest.param(damage_data(lambda data: "!" + data[1:]), "", id="not-base64"),
        pytest.param(damage_data(lambda _: "é"), "ASCII", id="not-ascii"),
        pytest.param(damage_data(lambda _: "AAAA"), "", id="not-deflate"),
        pytest.param(damage_data(lambda _: ""), "", id="empty"),
        pytest.param(damage_data(padded), "", id="padded"),
        pytest.param({"n": 1}, "", id="no-data"),
        pytest.param("text", "'text'", id="a-text"),
        pytest.param(None, "None", id="nothing"),
        pytest.param([1, 10**30], "int64", id="no-span-has-it"),
    ],
)
def test_a_damaged_packed_column_is_named(column: object, words: str) -> None:
    """Whatever is wrong inside the packed bytes, the error says so and what to do."""
    with pytest.raises(DocumentError) as caught:
        unpack(column)

    assert "column" in str(caught.value)
    assert words in str(caught.value)
    assert "Take an undamaged copy" in str(caught.value)


def test_a_zip_bomb_takes_no_more_memory_than_its_announced_length() -> None:
    """Opening a file from a stranger cannot fill the memory: 64 MB of zeros announce 8 values."""
    bomb = packed(bytes(64_000_000), 8)

    tracemalloc.start()
    with pytest.raises(DocumentError, match="the 8 values"):
        unpack(bomb)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak_bytes < 2_000_000
