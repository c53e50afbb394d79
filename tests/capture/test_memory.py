"""Where buffers lie: addresses decide whether a result is zero-copy, flags do not."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_serprof.capture import machine as memory
from jupyter_serprof.capture.machine import buffers_of, lies_inside, overlaps, store_ranges

MAPS = """\
7f00000000-7f00001000 r--p 00000000 00:01 12     /usr/lib/libc.so
7f10000000-7f20000000 rw-s 00000000 00:0f 13     /dev/shm/plasmaX5y0Z1 (deleted)
7f30000000-7f30001000 rw-p 00000000 00:00 0
7f40000000-7f50000000 rw-s 00000000 08:01 14     /tmp/ray session/plasmaAbCdEf (deleted)
7f60000000-7f70000000 r--s 00000000 08:01 15     /data/plasma-physics/shots.npy
"""


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_an_array_is_one_buffer() -> None:
    """Address and size are those of its data, also of a read-only view."""
    # The interface of an array with negative strides points to its last byte, not its first.
    array = np.arange(10)
    view = array[2:]
    view.flags.writeable = False

    assert buffers_of(array) == buffers_of(array[::-1]) == [(address(array), 80)]
    assert buffers_of(view) == [(address(array) + 16, 64)]


@pytest.mark.parametrize("wrap", [list, tuple, lambda arrays: dict(enumerate(arrays))])
def test_containers_give_the_buffers_of_their_parts(wrap: Any) -> None:
    """The first parts of lists, tuples and dicts are looked at, one level deep, up to a limit."""
    arrays = [np.zeros(4) for _ in range(50)]

    found = buffers_of(wrap(arrays), limit=5)

    assert found == [(address(array), 32) for array in arrays[:5]]


@pytest.mark.parametrize("value", [None, 1, "text", b"bytes", object(), [], {}, [None], int, np])
def test_what_has_no_buffers_gives_none(value: object) -> None:
    """Values without buffers, modules and types included, give nothing and raise nothing."""
    assert buffers_of(value) == []


def test_frames_give_the_buffers_of_their_blocks() -> None:
    frame = pd.DataFrame(np.zeros((10, 3)))

    found = buffers_of(frame)

    assert sum(size for _, size in found) == 240
    assert overlaps(found, buffers_of(frame.to_numpy()))


def test_tables_give_the_buffers_of_their_columns() -> None:
    """Arrow tables, arrays and frames with Arrow columns lie where Arrow's buffers lie."""
    table = pa.table({"a": list(range(100))})
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)

    found = buffers_of(table)

    assert sum(size for _, size in found) >= 800
    assert overlaps(found, buffers_of(table["a"]))
    assert overlaps(found, buffers_of(table["a"].chunk(0)))
    assert overlaps(found, buffers_of(frame))


@pytest.fixture
def maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A map of memory that has two mappings of an object store."""
    path = tmp_path / "maps"
    path.write_text(MAPS)
    monkeypatch.setattr(memory, "Path", lambda _: path)
    return path


@pytest.mark.usefixtures("maps")
def test_the_ranges_are_those_of_the_object_store() -> None:
    """Shared memory and its fallback on disk count; libraries and mapped files do not."""
    assert store_ranges() == [(0x7F10000000, 0x7F20000000), (0x7F40000000, 0x7F50000000)]


def test_where_there_are_no_maps_nobody_knows(maps: Path) -> None:
    """Other systems have no such file: unknown, which is not the same as "nowhere"."""
    maps.unlink()

    assert store_ranges() is None


def test_the_maps_of_this_process_can_be_read() -> None:
    """The ranges of a real process are ordered pairs, where there are maps at all."""
    ranges = store_ranges()

    # A Ray may live in the process of the tests; then its store is among them.
    assert ranges is None or all(low < high for low, high in ranges)


@pytest.mark.parametrize(
    ("buffers", "is_inside"),
    [
        *(([(0x7F10000000, 8)], True), ([(0x7F1FFFFFF8, 8)], True), ([(0x7F1FFFFFF9, 8)], False)),
        ([(0x7F0FFFFFFF, 8)], False),
        ([(0x7F10000000, 8), (0x7F40000000, 8)], True),
        *(([(0x7F10000000, 8), (5, 8)], False), ([(0x7F10000000, 8), (5, 0)], True)),
        *(([(5, 0)], False), ([], False)),
    ],
)
@pytest.mark.usefixtures("maps")
def test_all_bytes_must_lie_in_the_store(buffers: list[tuple[int, int]], is_inside: bool) -> None:
    """Zero-copy means all bytes of all buffers; an empty buffer lies nowhere and does not count."""
    ranges = store_ranges()

    assert ranges is not None
    assert lies_inside(buffers, ranges) is is_inside


bytes_at = st.tuples(st.integers(0, 20), st.integers(0, 6))


@given(st.lists(bytes_at, max_size=4), st.lists(bytes_at, max_size=4))
def test_buffers_overlap_if_they_share_a_byte(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    """Property: the same as to compare byte by byte."""
    one, other = (
        {at + i for at, size in buffers for i in range(size)} for buffers in (left, right)
    )

    assert overlaps(left, right) is bool(one & other)
