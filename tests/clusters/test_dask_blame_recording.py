"""What a recording sends to a cluster for itself is not taken for what the user sends."""

from __future__ import annotations

import pickle
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

import jupyter_serprof as sp
from jupyter_serprof.probes.dask.cluster import load_agent

if TYPE_CHECKING:
    from distributed import Client


def test_only_what_the_user_pickled_is_opened(dask_client: Any) -> None:
    """With a client connected, agents are shipped when a recording starts: they are not blamed."""
    value, line = list(range(9_000)), dask_client.scheduler.run_function

    with sp.record(blame=True) as recording:
        dask_client.sync(load_agent().ask, line, "ping")  # as it renews its lease
        assert dask_client.run_on_scheduler(deque, range(19_000))  # what it answers
        pickle.dumps(value)
        dask_client.run(len, value[:6_000])

    kinds = [anatomy.parts[0].kind for anatomy in recording.trace.anatomies]
    assert kinds == ["list (9000)", "tuple (1)"]


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
    kinds = first.parts[0].kind, second.parts[0].kind
    assert kinds == ("ndarray float64 (60000,)", "list (20000)")
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
