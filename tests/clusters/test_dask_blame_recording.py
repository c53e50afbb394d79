"""What a recording sends to a cluster for itself is not taken for what the user sends."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

import jupyter_serprof as sp

if TYPE_CHECKING:
    from distributed import Client


@pytest.mark.usefixtures("dask_client")
def test_only_what_the_user_pickled_is_opened(dask_client: Client) -> None:
    """With a client connected, agents are shipped when a recording starts: they are not blamed."""
    assert dask_client.status == "running"
    value = list(range(5_000))

    with sp.record(blame=True) as recording:
        pickle.dumps(value)

    assert [anatomy.parts[0].kind for anatomy in recording.trace.anatomies] == ["list (5000)"]


def test_what_many_tasks_embed_is_opened_once(dask_client: Client) -> None:
    """Each submit wraps it in a graph of its own; the next largest things are opened, too."""
    large, small = np.arange(60_000.0), [f"word {i}" for i in range(20_000)]

    def length(values: object, index: int) -> int:
        return len(values) + index  # type: ignore[arg-type]  # sized

    with sp.record(blame=True) as recording:
        futures = [dask_client.submit(length, large, index) for index in range(5)]
        futures += dask_client.map(length, [large] * 3, range(5, 8))
        futures += [dask_client.submit(length, small, index) for index in range(5)]
        results = [future.result() for future in futures]

    assert results[5:8] == [60_005, 60_006, 60_007]
    first, second = recording.trace.anatomies
    assert (first.parts[0].kind, second.parts[0].kind) == (
        "ndarray float64 (60000,)",
        "list (20000)",
    )
    assert " was pickled " in first.notes[0]
    assert first.notes[0].endswith(" in all")


def test_functions_of_a_loop_that_capture_the_same_are_one(dask_client: Client) -> None:
    """A lambda in each turn of a loop: the path leads to what all of them capture."""
    table = np.arange(60_000.0)

    with sp.record(blame=True) as recording:
        futures = [dask_client.submit(lambda at=at: float(table[at])) for at in range(4)]
        results = [future.result() for future in futures]

    assert results == [0.0, 1.0, 2.0, 3.0]
    [anatomy] = recording.trace.anatomies
    assert anatomy.parts[0].kind == "function <lambda>"
    assert any(part.label == "<closure table>" for part in anatomy.parts)
