"""What a round trip changed, in words, and the witness of bytes that a result may alias."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.roundtrip.by_pickle import PickleOutOfBand
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS, RoundTrip
from jupyter_serprof.objects.equality import Witness, differences


def read_only(array: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> object:
    copied = array.copy(order="K")
    copied.flags.writeable = False
    return copied


class Odd:
    """Raises whatever is asked of it."""

    def __getattr__(self, name: str) -> object:
        # pytest asks for __name__ when it makes an id.
        if name == "__name__":
            raise AttributeError(name)
        raise RuntimeError(name)


ARRAY = np.arange(6.0).reshape(2, 3)
FRAME = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (ARRAY, ARRAY.copy(), []),
        (ARRAY, read_only(ARRAY), ["comes back read-only"]),
        (read_only(ARRAY), ARRAY, ["comes back writeable"]),
        (ARRAY, ARRAY.astype("f4"), ["float64 comes back as float32"]),
        (ARRAY, ARRAY.ravel(), ["the shape (2, 3) comes back as (6,)"]),
        (np.asfortranarray(ARRAY), ARRAY, ["a Fortran-contiguous array comes back C-contiguous"]),
        (ARRAY[:, ::2], ARRAY[:, ::2].copy(), ["a strided array comes back C-contiguous"]),
        (ARRAY, ARRAY.tolist(), ["a ndarray comes back as list"]),
        ([ARRAY, ARRAY], [ARRAY, read_only(ARRAY)], ["in it: comes back read-only"]),
        ({"a": [ARRAY]}, {"a": [read_only(ARRAY)]}, ["in it: comes back read-only"]),
        (FRAME, FRAME.copy(), []),
        (FRAME, FRAME.astype("f8"), ["column 0: int64 comes back as float64"]),
        (FRAME, FRAME.set_index([["x", "y"]]), ["its RangeIndex comes back as Index"]),
        (Odd(), Odd(), []),
        (1, 1, []),
    ],
)
def test_what_differs_is_said_in_words(before: object, after: object, said: list[str]) -> None:
    """One sentence for each kind of difference, without names of columns, which are private."""
    assert differences(before, after) == said


LARGE = np.zeros(3_000_000)


@pytest.mark.parametrize(
    "value",
    [
        *(np.zeros(1000), np.zeros((100, 100))[:, 3], np.zeros((4, 500_000)).T, LARGE),
        *([np.zeros(10), np.zeros(10)], {"a": np.zeros(10)}, bytearray(1000)),
        pd.DataFrame({"a": np.zeros(100)}, copy=False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_witness_sees_that_bytes_changed(value: object) -> None:
    """Also in strided arrays, columns of frames, and elements of containers."""
    witness = Witness(value)
    assert witness.is_unchanged(value)

    spoil(value)

    assert not witness.is_unchanged(value)


def spoil(value: object) -> None:
    if isinstance(value, list | dict):
        spoil(value[0] if isinstance(value, list) else value["a"])
    elif isinstance(value, pd.DataFrame):
        value.iloc[0, 0] = 7.0
    else:
        value[:1] = b"\x07" if isinstance(value, bytearray) else 7.0  # type: ignore[index]


def test_arrow_data_and_odd_objects_have_a_witness_too() -> None:
    """A table cannot be changed; an object that raises is unchanged for all that is known."""
    for value in (pa.table({"a": [1, 2], "s": ["x", None]}), Odd(), object(), [], 5):
        assert Witness(value).is_unchanged(value)


def test_a_transport_that_spoils_the_value_is_not_called_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The result aliases the value, so both look the same: the bytes before decide."""

    class Spoils(PickleOutOfBand):
        def round_trip(self, value: object) -> object:
            spoil(value)
            return super().round_trip(value)

    monkeypatch.setitem(TRANSPORTS, "pickle-oob", Spoils)

    sweep = run(RoundTrip(np.zeros(100), transports=["pickle-oob"], repeat=1))

    (variant,) = sweep.variants
    assert variant.facts["equal"] is False
    assert "the round trip changed the value itself" in variant.notes
