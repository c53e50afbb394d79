"""Dask's transports with the real library: families, frames, bytes, equality, and errors."""

import json
import logging
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pythons import python

from clusters.seen import wanted
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.roundtrip.by_dask import DaskProtocol, DaskScatter, _frame_facts
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.model import Sweep, Variant, from_document, to_document

ARRAY = np.arange(100_000, dtype=np.float64)


def moved(value: object, *keys: str) -> Sweep:
    """Run a round trip, warm once; the document must be valid."""
    sweep = run(RoundTrip(value, transports=keys, repeat=1))
    assert from_document(json.loads(json.dumps(to_document(sweep)))).name == sweep.name
    return sweep


def row(value: object, key: str) -> Variant:
    return moved(value, key).variants[0]


@pytest.mark.parametrize(
    ("value", "family", "frames", "in_band", "out_of_band"),
    [
        (ARRAY, "dask", 1, 0, 800_000),
        ([ARRAY, ARRAY[:10].copy()], "dask", 2, 0, 800_080),
        ({"a": ARRAY, "b": "text"}, "dask, pickle", 2, None, 800_000),
        ({"b": "text", "a": ARRAY}, "pickle", 2, None, 800_000),
        ("text", "pickle", 1, None, 0),
        (b"x" * 1000, "dask", 1, 0, 1000),
        (lambda: 7, "pickle", 1, None, 0),
    ],
    ids=["array", "list", "dict, array first", "dict, text first", "text", "bytes", "function"],
)
def test_the_row_names_families_frames_and_bytes(
    value: object, family: str, frames: int, in_band: int | None, out_of_band: int
) -> None:
    """Which serializer took the value, and what travels inside a pickle and beside it."""
    found = row(value, "dask")

    assert (found.state, found.reason) == ("ok", "")
    facts = found.facts
    assert (facts["family"], facts["frames"], facts["compression"]) == (family, frames, "none")
    assert facts["out_of_band_bytes"] == out_of_band
    assert in_band is None or facts["in_band_bytes"] == in_band
    inside: Any = facts["in_band_bytes"]
    assert inside < 1000
    assert facts["total_bytes"] == inside + out_of_band
    assert facts["equal"] is (None if callable(value) else True)


def test_the_protocol_alone_copies_nothing() -> None:
    """In one process the frames are the memory of the value; the row says so."""
    found = row(ARRAY, "dask")

    assert found.result == "zero-copy, aliases the original"
    assert found.buffers == ((800_000, "out-of-band"),)


def test_points_tell_what_was_moved() -> None:
    """Rates are of the frames, not of the tiny pickle of the type beside them."""
    sweep = moved(ARRAY, "dask")

    assert [point.moved_bytes for point in sweep.points] == [800_000, 800_000]
    stages = [set(point.stages) for point in sweep.points]
    assert all({"user:frames from value", "user:value from frames"} <= each for each in stages)


def test_a_compressed_header_is_told() -> None:
    """Serializers may compress; the header says which frames are."""
    header = {"serializer": "dask", "compression": ("lz4", None)}
    nested = {"is-collection": True, "sub-headers": [header], "frame-lengths": [2]}

    facts = _frame_facts(nested, [b"abc", b"de"])

    assert facts["compression"] == "lz4"
    assert (facts["in_band_bytes"], facts["out_of_band_bytes"]) == (0, 5)


@pytest.mark.parametrize("key", ["dask", "dask-scatter"])
@pytest.mark.usefixtures("dask_client")
def test_what_cannot_be_sent_is_named_by_path_and_not_logged(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The row names the culprit; distributed alone would log the whole value."""
    value = {"secret": "hunter2", "lock": threading.Lock()}

    with caplog.at_level(logging.DEBUG):
        found = row(value, key)

    assert found.state == "failed"
    assert "value['lock'] (lock)" in found.reason
    assert "hunter2" not in found.reason + caplog.text
    assert not logging.getLogger("distributed.protocol.pickle").disabled


def test_an_error_names_the_type_only() -> None:
    """Not the value, which the error of distributed quotes."""
    with pytest.raises(TypeError) as caught:
        DaskProtocol().round_trip({"secret": "hunter2", "lock": threading.Lock()})

    assert str(caught.value) == "no family of Dask can serialize a dict (TypeError)"


@pytest.mark.usefixtures("dask_client")
@pytest.mark.parametrize(
    "value",
    [ARRAY, [1, 2, "x"], {"a": 1}, pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), b"abc", None],
    ids=["array", "list", "dict", "frame", "bytes", "None"],
)
def test_scatter_and_gather_give_the_value_back(value: object) -> None:
    """As one value, also a list or a dict, whose elements Dask would scatter one by one."""
    found = row(value, "dask-scatter")

    assert (found.state, found.reason) == ("ok", "")
    assert found.facts["equal"] is True
    assert found.facts["type"] == type(value).__name__
    assert "aliases" not in found.result


@pytest.mark.usefixtures("dask_client")
def test_scatter_is_a_copy_and_has_its_stages() -> None:
    """Through two sockets: the client's wall time is in Scatter and Gather."""
    sweep = moved(ARRAY, "dask-scatter")

    assert sweep.variants[0].result == "a copy, writeable"
    assert sweep.variants[0].facts["family"] == "dask"
    assert [point.moved_bytes for point in sweep.points] == [800_000, 800_000]
    assert all({"dask.scatter", "dask.gather"} <= set(point.stages) for point in sweep.points)


def test_scatter_leaves_nothing_on_the_cluster(
    dask_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Released after each run, and never under the key of what the user has scattered."""
    before = wanted(dask_client)  # of other tests, until they are collected
    mine = dask_client.scatter(ARRAY)
    keys: list[str] = []
    gather = dask_client.gather

    def noting(futures: list[Any]) -> Any:
        keys.extend(future.key for future in futures)
        return gather(futures)

    monkeypatch.setattr(dask_client, "gather", noting)

    found = row(ARRAY, "dask-scatter")

    assert found.state == "ok"
    assert len({mine.key, *keys}) == 3  # the user's, the cold run's, the warm run's
    assert np.array_equal(mine.result(), ARRAY)
    assert wanted(dask_client) - before == {mine.key}
    mine.release()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("asynchronous", True, "asynchronous"),  # its calls give coroutines
        ("status", "closed", "client"),  # a row with the reason, not a wait of half a minute
    ],
)
def test_a_client_that_cannot_be_used_is_named(
    dask_client: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: object, said: str
) -> None:
    """A round trip can neither await nor wait for what is gone."""
    monkeypatch.setattr(dask_client if name == "status" else type(dask_client), name, value)

    state, reason = DaskScatter().state()

    assert state == "not running"
    assert said in reason
    assert name == "asynchronous" or reason.startswith(
        ("The Dask client is closed. Run:", "There is no Dask client. Run:")
    )


_IMPORTED = """
import sys
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
unasked = [variant.key for variant in run(RoundTrip([1], repeat=1)).variants]
before = "distributed" in sys.modules
asked = run(RoundTrip([1], repeat=1, transports=["dask"])).variants[0].state
print(unasked, before, asked, "distributed" in sys.modules)
print([variant.key for variant in run(RoundTrip([1], repeat=1)).variants])
"""


def test_dask_is_imported_only_for_those_who_name_it() -> None:
    """Users without Dask see no row of it and wait for no import; afterwards it takes part."""
    said = python(_IMPORTED).splitlines()

    local = "['pickle', 'pickle-oob', 'cloudpickle', 'ray'"
    assert said == [f"{local}] False ok True", f"{local}, 'dask']"]
