"""The look at a pickle: bytes by kind are exact, objects are counted roughly, nothing is called."""

import datetime as dt
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.objects.look import LOOK_BYTES, contiguous_bytes, details_of, look_at

ROWS: list[Any] = [{"id": at, "x": at / 7, "name": f"n{at}"} for at in range(50_000)]
BIG = np.arange(2_000_000.0)


class Model:
    """An object with arrays in its attributes."""

    def __init__(self) -> None:
        self.weights = [np.ones((300, 300)) for _ in range(20)]


class Touchy:
    """An object that minds being looked at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)


class Reduced(Model):
    """An object that says itself how it is pickled: its arrays may not be in the pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, ()


def looked(value: object, protocol: int = 5) -> dict[str, Any]:
    look = look_at(pickle.dumps(value, protocol), value)
    return {} if look is None else details_of(look, "pickle.dumps")


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize(
    ("value", "small", "large"),
    [
        *((ROWS, None, 0), (BIG, 0, BIG.nbytes), (BIG[::2], 0, BIG.nbytes // 2)),
        ("x" * 2_000_000, 0, 2_000_000),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}" * 1_000_000, 0, 2_000_000),
        (bytearray(2_000_000), 0, 2_000_000),
        ([bytes([at]) * 100_000 for at in range(50)], 0, 5_000_000),
        ([np.full(20_000, at) for at in range(50)], 0, 8_000_000),
        ({"a": BIG, "rows": ROWS}, None, BIG.nbytes),
        ((1, BIG, 300, 70_000, "b", "x" * 70_000, -1), 0, BIG.nbytes + 70_000),
    ],
)
def test_bytes_in_frames_and_in_payloads_are_told_apart(
    value: object, small: int | None, large: int, protocol: int
) -> None:
    """Payloads are exact; what is not one stands in frames, all of it."""
    found, size = looked(value, protocol), len(pickle.dumps(value, protocol))

    assert found["large_bytes"] == large
    expected = size - large if small is None else small
    assert found["small_bytes"] == pytest.approx(expected, abs=size / 100)


@pytest.mark.parametrize(
    ("value", "objects", "reduced", "first"),
    [
        # A dict, a number, a fraction and a text in each row; the keys are remembered.
        (ROWS, 200_000, 0, 0),
        (list(range(1_000_000)), 1_000_000, 0, 0),
        # Before protocol 3 its bytes are made of a text.
        ([dt.datetime(2020, 1, 1, at % 24) for at in range(60_000)], 180_000, 60_000, 3),  # noqa: DTZ001
        ({"a": BIG, "n": [at / 3 for at in range(200_000)]}, 200_000, 0, 4),
    ],
)
def test_objects_are_counted_from_samples(
    value: object, objects: int, reduced: int, first: int
) -> None:
    """To a tenth, from a protocol on: four samples of 512 bytes tell how many there are in all."""
    for found in [looked(value, protocol) for protocol in range(first, 6)]:
        assert found["objects"] == pytest.approx(objects, rel=0.1)
        assert found["reduced_objects"] == pytest.approx(reduced, rel=0.1, abs=objects / 50)


def test_few_texts_in_frames_are_not_many_objects() -> None:
    """Texts of 60 kB stand in frames; the samples hold none whole, so nothing is counted."""
    found = looked([f"{at}" * 30_000 for at in range(60)])

    assert found["small_bytes"] > LOOK_BYTES
    assert "objects" not in found
    assert looked([np.ones(1_000) for _ in range(31)])["arrays"] == 31


@pytest.mark.parametrize("value", [BIG, "the quick brown fox " * 10_000, b"x" * 200_000])
@pytest.mark.parametrize("protocol", range(4))
def test_a_payload_of_a_stream_is_no_object(value: object, protocol: int) -> None:
    """Protocols before 4 write one stream; what cannot be read as opcodes is a payload."""
    found = looked(value, protocol)

    assert (found["small_bytes"], found["objects"]) == (0, 0)
    assert looked(b"x" * (LOOK_BYTES - 100), protocol) == {}


def test_a_chain_of_many_payloads_is_not_walked_to_its_end() -> None:
    """The look is bounded: a hook must not take longer than what it watches."""
    assert "large_bytes" not in looked([bytes([at % 250]) * 70_000 for at in range(300)])


@pytest.mark.parametrize("seed", range(20))
def test_damaged_pickles_do_no_harm(seed: int) -> None:
    """Whatever the bytes are, the look ends; lengths that lead outside tell nothing."""
    data = bytearray(pickle.dumps(ROWS, 5 - seed % 6))
    noise = random.Random(seed)  # noqa: S311  (no secret)
    for _ in range(2_000):
        data[noise.randrange(2, len(data))] = noise.randrange(256)

    look = look_at(memoryview(data), None)

    assert look is not None
    assert details_of(look, "pickle.dumps").get("small_bytes", 0) <= len(data)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (BIG, BIG.nbytes),
        (BIG[::2], 0),
        (BIG.reshape(1_000, 2_000).T, BIG.nbytes),
        (BIG.astype(object), 0),
        ({"a": BIG, "b": [BIG[:10], BIG[::2]]}, BIG.nbytes + 80),
        (Model(), 20 * 720_000),
        (Reduced(), 0),
        (pd.DataFrame(np.ones((1_000, 20))), 160_000),
        (ROWS, 0),
        (b"x", 0),
        (None, 0),
    ],
)
def test_arrays_that_protocol_5_would_not_gather(value: object, size: int) -> None:
    """Strided arrays and those of objects are gathered by each protocol."""
    assert contiguous_bytes(value) == size


def test_only_an_array_with_gaps_is_gathered() -> None:
    """Not one whose axes are in another order: its memory is pickled as it is."""
    arrays = (BIG[::2], BIG[::-1], BIG.reshape(100, 200, 100).transpose(1, 0, 2), ROWS)

    sizes = [looked(one).get("gathered_bytes") for one in arrays]

    assert sizes == [BIG.nbytes // 2, BIG.nbytes, None, None]


def test_nothing_of_the_user_is_called() -> None:
    """An object that minds each attribute is looked at without being asked for one."""
    touchy = Touchy()

    assert contiguous_bytes([touchy, {"a": touchy}]) == 0


def test_a_slice_of_an_arrow_table_is_its_own_rows() -> None:
    table = pytest.importorskip("pyarrow").table({"x": np.arange(200_000.0)})
    part = table.slice(0, 1_000)

    assert looked(part, 5)["arrow_bytes"] == 8_000
    assert "arrow_bytes" not in looked(BIG, 5)
