"""Payload: which buffers travel inside the pickle and which beside it."""

import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.objects import picklers
from jupyter_serprof.objects.picklers import buffer_places

MB = 1_000_000


@pytest.mark.parametrize(
    ("value", "hands_over", "places"),
    [
        (np.zeros(MB, "u1"), True, ((MB, "out-of-band"),)),
        (np.zeros(MB, "u1"), False, ((MB, "in-band"),)),
        (b"x" * MB, True, ((MB, "in-band"),)),
        ("x" * MB, True, ((MB, "in-band"),)),
        ([np.zeros(MB, "u1"), b"x" * 2 * MB], True, ((2 * MB, "in-band"), (MB, "out-of-band"))),
        (np.zeros((1000, 2000), "u1")[:, ::2], True, ((MB, "in-band"),)),
        (np.zeros((1000, 1000), "u1", order="F"), True, ((MB, "out-of-band"),)),
        (np.zeros(10, "u1"), True, ((10, "out-of-band"),)),
        (np.zeros(10, "u1"), False, ()),
        (list(range(200_000)), True, ()),
        ({}, True, ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_buffer_has_its_place(
    value: object, hands_over: bool, places: tuple[tuple[int, str], ...]
) -> None:
    """Contiguous arrays go beside the pickle if the transport takes them; the rest goes inside."""
    assert buffer_places(value, hands_over=hands_over) == places


def test_the_largest_come_first_and_fifty_are_listed() -> None:
    """A frame of a thousand columns does not fill the output."""
    value = [np.zeros(n, "u1") for n in range(1, 101)]

    found = buffer_places(value, hands_over=True)

    assert [size for size, _ in found] == list(range(100, 50, -1))


def test_a_frame_lists_its_blocks() -> None:
    """A frame travels as one buffer for each block of columns of the same type."""
    frame = pd.DataFrame({"a": np.zeros(MB), "b": np.ones(MB), "c": np.zeros(MB, "i4")})

    found = buffer_places(frame, hands_over=True)

    assert found[:2] == ((16 * MB, "out-of-band"), (4 * MB, "out-of-band"))


@pytest.mark.parametrize("hands_over", [True, False])
def test_listing_copies_no_buffer(hands_over: bool) -> None:
    """Looking costs no memory: the array is not copied, whichever way it goes."""
    value = np.zeros(50 * MB, "u1")
    buffer_places(value[:MB], hands_over=hands_over)
    tracemalloc.start()

    buffer_places(value, hands_over=hands_over)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < MB


@pytest.mark.parametrize(("value", "seconds"), [(threading.Lock(), 9.0), ([b"x" * MB], -1.0)])
def test_what_cannot_be_listed_is_left_out(
    value: object, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is extra: a document that was measured is not lost for it."""
    monkeypatch.setattr(picklers, "_LOOK_S", seconds)

    assert buffer_places(value, hands_over=True) == ()
