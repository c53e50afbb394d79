"""The limits of this machine: measured once, in bounded memory, never asserted in seconds."""

import errno
import mmap
import os
from collections.abc import Iterator
from typing import Any, Self
from unittest.mock import Mock

import pytest

from jupyter_serprof.capture import machine as limits
from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.model import Limits

BLOCK_BYTES = 4 * mmap.PAGESIZE


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[mmap.mmap]]:
    """Small blocks, remembered; nothing of them stays in the cache of the process."""
    blocks: list[mmap.mmap] = []

    class Remembered(mmap.mmap):
        def __new__(cls, *args: Any) -> Self:
            made = super().__new__(cls, *args)
            blocks.append(made)
            return made

    monkeypatch.setattr(limits, "_BLOCK_BYTES", BLOCK_BYTES)
    monkeypatch.setattr(mmap, "mmap", Remembered)
    measure_limits.cache_clear()
    yield blocks
    measure_limits.cache_clear()


@pytest.mark.usefixtures("small")
def test_an_interrupt_of_the_measurement_stays_one(
    small: list[mmap.mmap], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C inside a copy, which holds both blocks then: no other error takes its place."""
    monkeypatch.setattr("ctypes.memmove", Mock(side_effect=KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        limits._measured()
    assert [block.closed for block in small] == [True, True]


def test_the_rate_is_bytes_over_time_and_measured_once(
    small: list[mmap.mmap], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With copies of 1 ns a byte cold and 0.125 warm, 1 GB/s and 8 GB/s; nothing stays mapped."""
    copied: list[tuple[int, int]] = []

    def copy_ns(_: object, __: object, size_bytes: int, offset: int = 0) -> int:
        is_new = (offset, size_bytes) not in copied and size_bytes < BLOCK_BYTES
        copied.append((offset, size_bytes))
        return size_bytes if is_new else size_bytes // 8

    monkeypatch.setattr(limits, "copy_ns", copy_ns)

    measured = measure_limits()

    assert (measured.first_touch_bytes_per_s, measured.memcpy_bytes_per_s) == (1e9, 8e9)
    assert measure_limits() is measured
    assert [block.closed for block in small] == [True, True]


@pytest.mark.usefixtures("small")
def test_a_copy_copies() -> None:
    """What is timed really moves the bytes, to the right place and no further."""
    with limits.new_block(BLOCK_BYTES) as source, limits.new_block(BLOCK_BYTES) as target:
        source.write(bytes(range(256)) * (BLOCK_BYTES // 256))

        assert limits.copy_ns(source, target, 512, 256) >= 0
        assert target[:256] == bytes(256)
        assert target[256:768] == bytes(range(256)) * 2
        assert target[768:1024] == bytes(256)


def test_a_kernel_without_huge_pages_is_measured_too(
    small: list[mmap.mmap], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice against huge pages is refused there; it is not needed either."""
    refused = OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    monkeypatch.setattr(mmap.mmap, "madvise", Mock(side_effect=refused))

    assert measure_limits().memcpy_bytes_per_s is not None
    assert all(block.closed for block in small)


@pytest.mark.parametrize("error", [OSError(errno.ENOMEM, "no memory"), MemoryError()])
def test_without_memory_to_spare_the_limits_are_unknown(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full machine loses the comparison with memcpy, not the result of the user."""
    monkeypatch.setattr(limits, "new_block", Mock(side_effect=error))
    measure_limits.cache_clear()

    measured = measure_limits()
    measure_limits.cache_clear()

    assert measured == Limits()
