"""Ray's transports on a real Ray: a serializer that leaves no trace, and pieces joined again."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ray

from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.roundtrip.by_ray import CHUNK_BYTES, RayChunked, RaySerializer
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.objects.equality import differences, same_value

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


class Model:
    """A class of the user's own."""

    def __init__(self) -> None:
        self.weights = np.arange(200_000.0)


def registered() -> Mapping[type, object]:
    """Return what Ray's pickler looks up, as it is now."""
    return dict(ray.cloudpickle.CloudPickler.dispatch)


@pytest.mark.parametrize("value", [np.arange(200_000.0), Model()], ids=["array", "object"])
def test_a_serializer_is_used_and_leaves_no_trace(value: object) -> None:
    """After the round trip Ray knows what it knew; the arrays lie in its store, read-only."""
    before = registered()
    transport = RaySerializer()

    refusal = transport.refuses(value)
    back: Any = transport.round_trip(value)

    assert refusal == ""
    assert registered() == before
    array = getattr(back, "weights", back)
    assert np.array_equal(array, np.arange(200_000.0))
    assert not array.flags.writeable


def test_a_value_that_cannot_be_pickled_leaves_no_trace_either() -> None:
    """The serializer goes away also when it raises."""
    before = registered()
    value = Model()
    value.weights = (i for i in range(3))  # type: ignore[assignment]

    with pytest.raises(Exception, match="generator"):
        RaySerializer().round_trip(value)

    assert registered() == before


def test_a_serializer_of_the_user_is_left_alone() -> None:
    """It is neither replaced nor removed; the row says so."""
    ray.util.register_serializer(Model, serializer=lambda _: 7, deserializer=lambda seven: seven)
    try:
        theirs = registered()[Model]

        sweep = run(RoundTrip(Model(), transports=["ray-serializer"], repeat=1))
        RaySerializer().round_trip(Model())

        assert registered()[Model] is theirs
        assert sweep.variants[0].state == "skipped"
        assert "is registered already and is left alone" in sweep.variants[0].reason
    finally:
        ray.util.deregister_serializer(Model)


@pytest.mark.parametrize("value", [[1], {"a": 1}, "x", b"x", pa.table({"a": [1]})], ids=str)
def test_what_asks_no_serializer_is_refused(value: object) -> None:
    """Built-in types are written without asking; tables have a serializer of Ray's."""
    assert RaySerializer().refuses(value)


@pytest.mark.parametrize(
    "value",
    [
        np.random.default_rng(1).random(5_000_000),
        np.asfortranarray(np.random.default_rng(1).random((3000, 2000))),
        np.random.default_rng(1).random((1000, 4))[:, ::2],
        np.random.default_rng(1).random((10, 20, 30)).transpose(2, 0, 1),
        np.zeros((0, 3)),
        np.array(["a", "bc"]),
        bytes(range(256)) * 100_000,
        bytearray(range(256)) * 100_000,
        b"",
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'shape', len(value))}",
)
def test_pieces_are_joined_to_what_they_were(value: Any) -> None:
    """The same type, dtype, shape and order, writeable, whatever the number of pieces."""
    transport = RayChunked()
    size = value.nbytes if isinstance(value, np.ndarray) else len(value)

    refusal = transport.refuses(value)
    back: Any = transport.round_trip(value)

    assert refusal == ""
    assert type(back) is type(value)
    assert same_value(value, back) is True
    assert [s for s in differences(value, back) if "strided" not in s] == []
    assert transport.facts()["chunks"] == max(1, -(-size // CHUNK_BYTES))


def test_what_has_no_bytes_to_cut_is_refused() -> None:
    """A list, a frame or an array of objects is not cut into something else."""
    values = [[1], np.array([{}], dtype=object), np.ma.masked_array([1]), object()]

    refusals = [RayChunked().refuses(value) for value in values]

    assert all(refusals)
