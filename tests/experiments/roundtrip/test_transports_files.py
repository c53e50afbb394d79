"""Formats of files and compression as transports: the type that went in, bytes, and refusals."""

import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS, RoundTrip
from jupyter_serprof.model import ProbeUnavailable
from jupyter_serprof.objects.equality import differences, same_value

RANDOM = np.random.default_rng(1)
FRAME = pd.DataFrame({"x": RANDOM.random(50), "s": [f"text {i}" for i in range(50)]})
VALUES = {
    "array": RANDOM.random(1000),
    "fortran": np.asfortranarray(RANDOM.random((20, 30))),
    "strided": RANDOM.random((100, 2))[:, 0],
    "integers": np.arange(6, dtype="i2").reshape(2, 3),
    "empty": np.zeros((0, 3)),
    "frame": FRAME,
    "indexed": FRAME.set_index("s"),
    "table": pa.table({"x": RANDOM.random(10), "s": list("abcdefghij")}),
    "list": [1.5, None, "x"],
}
TAKES = {
    **{key: set(VALUES) for key in ("pickle", "pickle-oob", "cloudpickle")},
    "pickle4": set(VALUES),
    "arrow": set(VALUES) - {"list"},
    "lz4": set(VALUES),
    "zstd": set(VALUES),
}
LIBRARIES = {"arrow": "pyarrow", "lz4": "lz4", "zstd": "zstandard"}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("key", TAKES)
def test_the_type_that_went_in_comes_back_or_the_value_is_refused(key: str, kind: str) -> None:
    """Each does the same work: no table is left where a frame was sent."""
    transport, value = TRANSPORTS[key](), VALUES[kind]

    refusal = transport.refuses(value)
    back: Any = None if refusal else transport.round_trip(value)

    assert bool(refusal) is (kind not in TAKES[key])
    if not refusal:
        assert type(back) is type(value)
        assert same_value(value, back) is True
        assert getattr(back, "dtype", None) == getattr(value, "dtype", None)


def test_order_in_memory_survives_where_it_can() -> None:
    """Fortran order comes back as a tensor of Arrow."""
    back: Any = TRANSPORTS["arrow"]().round_trip(VALUES["fortran"])

    assert back.flags.f_contiguous
    assert not back.flags.c_contiguous


@pytest.mark.parametrize(
    "value",
    [
        *(np.array([1, "a"], dtype=object), np.ones(3, dtype=bool), np.ones(3, dtype=">f8")),
        *(np.ones((2, 2, 2)), np.array(1.0), np.array(["2020"], dtype="M8[Y]"), {"a": np.ones(3)}),
        FRAME["x"],
    ],
    ids=repr,
)
def test_arrow_refuses_what_it_has_no_message_for(value: object) -> None:
    """Among them arrays of foreign byte order, which pyarrow would read as other numbers."""
    refusal = TRANSPORTS["arrow"]().refuses(value)

    assert refusal.startswith(("Arrow", "arrays of 1 or 2 dimensions"))


@pytest.mark.parametrize("key", ["lz4", "zstd"])
def test_compression_says_its_bytes(key: str) -> None:
    """What would be sent is the compressed size; the ratio is to the plain pickle."""
    value = [f"{i % 7} and some text" for i in range(5_000)]
    transport = TRANSPORTS[key]()

    transport.round_trip(value)

    facts: dict[str, Any] = dict(transport.latest)
    assert facts["raw_bytes"] == len(pickle.dumps(value, protocol=5))
    assert facts["moved_bytes"] == facts["total_bytes"] == facts["compressed_bytes"]
    assert facts["ratio"] == facts["raw_bytes"] / facts["compressed_bytes"] > 2


def test_a_round_trip_says_below_which_bandwidth_compression_wins() -> None:
    """From the warm medians of both; the fact is what a slider compares with."""
    value = RANDOM.integers(0, 50, 200_000).tolist()

    sweep = run(RoundTrip(value, transports=["pickle", "zstd"], repeat=2))

    zstd = next(variant for variant in sweep.variants if variant.key == "zstd")
    assert "wins_below_bytes_per_s" in zstd.facts
    assert any(note.startswith(("wins over", "cannot tell over")) for note in zstd.notes)
    moved = {p.moved_bytes for p in sweep.points if p.variant == "zstd"}
    assert moved == {zstd.facts["compressed_bytes"]}


@pytest.mark.parametrize(("key", "library"), [*LIBRARIES.items(), ("ray", "ray")])
def test_a_missing_library_gives_the_line_to_type(
    key: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a row of "all", and loud when asked for by name."""
    monkeypatch.setitem(sys.modules, library, None)
    transport = TRANSPORTS[key]()

    state, reason = transport.state()
    with pytest.raises(ProbeUnavailable) as caught:
        transport.start()

    assert state == "not installed"
    assert f"{library} is not installed. run: pip install " in reason.lower()
    assert reason in str(caught.value)


def test_all_takes_every_transport_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot run keeps a row that says why; one that refuses the value is skipped."""
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "distributed", None)

    sweep = run(RoundTrip([1, 2], transports="all", repeat=1))

    states = {variant.key: variant.state for variant in sweep.variants}
    assert list(states) == list(TRANSPORTS)
    assert states["ray"] == states["dask"] == "not installed"
    assert states["arrow"] == "skipped"
    assert states["zstd"] == states["pickle4"] == "ok"


def test_a_skipped_transport_says_why_and_has_no_points() -> None:
    sweep = run(RoundTrip([1, 2], transports=["arrow"], repeat=1))

    (variant,) = sweep.variants
    assert (variant.state, sweep.points) == ("skipped", ())
    assert variant.reason.endswith("not for the type list")


def test_notes_say_what_comes_back_otherwise() -> None:
    """An array from Arrow is read-only, a strided one is closed up."""
    value = VALUES["strided"]

    back = TRANSPORTS["arrow"]().round_trip(value)

    assert differences(value, back) == [
        "a strided array comes back C-contiguous",
        "comes back read-only",
    ]
