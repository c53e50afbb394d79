"""Remedies on real Dask graphs: tried on a cluster, equal, and nothing of it stays."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

from jupyter_serprof.experiments.dask_remedies import (
    DaskTryout,
    large_values,
    materialized,
    nearly_same,
)
from jupyter_serprof.model import Sweep, UsageError, from_document, to_document

if TYPE_CHECKING:
    from distributed import Client

pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


def use(array: np.ndarray[tuple[int], np.dtype[np.float64]], at: int) -> float:
    """Do little with much."""
    return float(array[at])


def embedded(count: int = 6, size: int = 250_000) -> object:
    """Return a collection whose tasks hold one array of 2 MB."""
    array = np.arange(float(size))
    return dask.delayed(sum)([dask.delayed(use)(array, at) for at in range(count)])


def keys_on(client: Client) -> set[str]:
    """Return the keys that somebody wants on the cluster."""
    # Its loop has done by then what it was asked for before.
    client.nthreads()  # type: ignore[no-untyped-call]  # distributed
    wanted: set[str] = set(client.futures)
    return wanted


def test_an_embedded_array_is_tried_as_a_key_and_scattered(dask_client: Client) -> None:
    """Both give the same sum; the stages add up; nothing stays on the cluster."""
    # given
    before = keys_on(dask_client)

    # when
    sweep = DaskTryout(embedded(), name="y", budget_s=4).run()

    # then
    tried = {v.key: v.facts for v in sweep.variants if v.facts.get("tried")}
    assert set(tried) == {"dask-delayed", "dask-scatter"}
    assert all(facts["equal"] is True for facts in tried.values())
    assert all(facts["pairs"] for facts in tried.values())
    assert all(sum(p.stages.values()) == p.wall_ns for p in sweep.points)
    assert keys_on(dask_client) == before
    assert from_document(to_document(sweep)) == sweep


def test_the_collection_is_as_it_was(dask_client: Client) -> None:
    """Its layers are not materialized: that would travel from then on."""
    # given
    da = pytest.importorskip("dask.array")
    lazy = da.ones((40, 40), chunks=10).map_blocks(lambda block: block + 1)
    layers = {name: layer.is_materialized() for name, layer in lazy.dask.layers.items()}

    # when
    sweep = DaskTryout(lazy, budget_s=1).run()

    # then
    assert {n: layer.is_materialized() for n, layer in lazy.dask.layers.items()} == layers
    assert not all(layers.values())
    assert not [v for v in sweep.variants if v.facts.get("tried")]
    assert "there is nothing to try" in sweep.quality.notes[0]
    assert len(dask_client.scheduler_info()["workers"]) == 2


def test_no_warning_of_dask_is_heard_while_it_tries(dask_client: Client) -> None:
    """That the graph is large is what is being looked at."""
    # given
    value = embedded(2, 2_000_000)

    # when
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sweep = DaskTryout(value, budget_s=0.5).run()

    # then
    assert not [str(one.message) for one in heard if "large graph" in str(one.message)]
    assert isinstance(sweep, Sweep)
    assert dask_client.status == "running"


def test_tasks_that_raise_fail_in_their_rows(dask_client: Client) -> None:
    """Each row has the reason; nothing is raised, nothing stays."""
    # given
    array = np.zeros(250_000)
    before = keys_on(dask_client)
    broken = dask.delayed(use)(array, 10**9)

    # when
    sweep = DaskTryout(broken, budget_s=1).run()

    # then
    assert {v.state for v in sweep.variants if v.facts.get("tried")} == {"failed"}
    assert all("IndexError" in v.reason for v in sweep.variants if v.facts.get("tried"))
    assert keys_on(dask_client) == before


def test_each_object_counts_once_with_its_tasks() -> None:
    """Six tasks hold one array; small arguments do not count."""
    # when
    found = large_values(materialized(embedded()))

    # then
    [(value, count)] = found.values()
    assert (value.nbytes, count) == (2_000_000, 6)
    assert large_values(materialized(embedded(6, 10))) == {}


def test_without_a_cluster_nothing_travels() -> None:
    """Threads share memory: the message says what to start."""
    with dask.config.set(scheduler="threads"), pytest.raises(UsageError, match="no cluster"):
        DaskTryout(embedded(), name="y")


def test_floats_may_differ_in_their_last_digits_only() -> None:
    """The alignment of an array changes the order of a sum; a wrong result is another matter."""
    assert nearly_same([1.0, np.ones(3)], [1.0 + 1e-15, np.ones(3)])
    assert not nearly_same([1.0], [1.0 + 1e-6])
    assert not nearly_same([1.0], [1.0, 2.0])
    assert not nearly_same("a", "b")
