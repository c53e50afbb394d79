"""Remedies on real Dask graphs: tried on a cluster, equal, and nothing of it stays."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from clusters.seen import wanted
from jupyter_serprof.api import record, run
from jupyter_serprof.experiments.remedies.graph import (
    DaskTryout,
    large_values,
    materialized,
    nearly_same,
)
from jupyter_serprof.model import Sweep, UsageError, Variant, from_document, to_document

if TYPE_CHECKING:
    from distributed import Client

pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
bags = pytest.importorskip("dask.bag")


def use(array: np.ndarray[tuple[int], np.dtype[np.float64]], at: int) -> float:
    return float(array[at])


def embedded(count: int = 6, size: int = 250_000) -> object:
    """Return a collection whose tasks hold one array of 2 MB."""
    array = np.arange(float(size))
    return dask.delayed(sum)([dask.delayed(use)(array, at) for at in range(count)])


def tried(sweep: Sweep) -> list[Variant]:
    return [variant for variant in sweep.variants if variant.facts.get("tried")]


def test_an_array_inside_a_function_is_told_and_not_tried(dask_client: Client) -> None:
    """It travels with the code: what names it is said, and nothing is claimed."""
    table = np.ones(250_000)
    bag = bags.from_sequence(range(4), npartitions=2).map(lambda at: at + len(table))

    sweep = run(DaskTryout(bag, name="y", budget_s=1))

    assert dask_client.status == "running"
    assert tried(sweep) == []
    assert sweep.summary
    assert sweep.summary.headline == "nothing to try: no task of `y` takes a large object"
    assert "%graphstages --blame y;" in sweep.summary.facts[0]


def test_an_array_deep_inside_the_tasks_is_tried_too(dask_client: Client) -> None:
    """A bag nests its tasks, and keeps what it is given by name in a dict of Dask."""
    table = np.arange(250_000.0)
    numbers = bags.from_sequence(range(4), npartitions=2)
    before = wanted(dask_client)

    for bag in (numbers.map(lambda at, t: float(t[at]), table), numbers.map(use, at=table)):
        changed = large_values(materialized(bag))

        assert [count for _, count in changed.values()] == [2]

    def listen(at: int, t: Any) -> float:
        import builtins
        import signal

        known: set[str] = getattr(builtins, "heard", set())
        builtins.heard = known | {repr(signal.getsignal(signal.SIGINT))}  # type: ignore[attr-defined]
        return float(t[at])

    sweep = run(DaskTryout(numbers.map(listen, t=table), name="y", budget_s=1))
    assert [v.facts["equal"] for v in tried(sweep)] == [True, True]
    assert wanted(dask_client) == before
    # The stop button reaches the workers, too: as in a recording they let it pass.
    heard = set().union(
        *dask_client.run(lambda: vars(__import__("builtins")).pop("heard", ())).values()
    )
    assert {"_Shield" in handler for handler in heard} == {True}


@pytest.mark.parametrize("count", [1, 2])
def test_an_embedded_array_is_tried_as_a_key_and_scattered(dask_client: Client, count: int) -> None:
    """Both give the same sums, of a list too; the stages add up; nothing stays on the cluster."""
    before, values = wanted(dask_client), [embedded() for _ in range(count)]

    sweep = run(DaskTryout(values if count > 1 else values[0], name="y", budget_s=4))

    tried = {v.key: v.facts for v in sweep.variants if v.facts.get("tried")}
    assert set(tried) == {"dask-delayed", "dask-scatter"}
    assert all(facts["equal"] is True for facts in tried.values())
    assert all(facts["pairs"] for facts in tried.values())
    assert sweep.quality.notes[0].startswith(f"{count} embedded object")
    assert not any(one.remedy for one in sweep.findings)  # of what has no name nothing can be typed
    assert all(sum(p.stages.values()) == p.wall_ns for p in sweep.points)
    assert wanted(dask_client) == before
    assert from_document(to_document(sweep)) == sweep


def test_what_is_a_key_of_its_own_is_scattered_by_the_names_of_the_notebook(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask makes large arguments of an array's tasks keys: the remedy of the stages is tried."""
    da = pytest.importorskip("dask.array")
    table, before = np.arange(250_000.0), wanted(dask_client)
    value = da.ones((40, 4), chunks=(10, 4)).map_blocks(lambda block, t: block + t[0], table)
    for name, known in (("klient", dask_client), ("table", table)):
        monkeypatch.setattr(sys.modules["__main__"], name, known, raising=False)

    tryout = DaskTryout(value, name="y", budget_s=1)
    lines = [trial.code for trial, _ in tryout._look()]
    sweep = run(tryout)
    with record("y") as recording:
        value.compute()

    assert "(klient.scatter([table], " in str(lines)
    assert "klient" in {(span.details or {}).get("client") for span in recording.trace.spans}
    assert [v.key for v in sweep.variants if v.facts.get("equal")] == ["dask-scatter"]
    assert "used by 4 tasks" in sweep.quality.notes[0]
    assert wanted(dask_client) == before


def test_the_collection_is_as_it_was(dask_client: Client) -> None:
    """Its layers are not materialized: that would travel from then on."""
    da = pytest.importorskip("dask.array")
    lazy = da.ones((40, 40), chunks=10).map_blocks(lambda block: block + 1)
    before = wanted(dask_client)
    layers = {name: layer.is_materialized() for name, layer in lazy.dask.layers.items()}

    sweep = run(DaskTryout(lazy, budget_s=1))

    assert {n: layer.is_materialized() for n, layer in lazy.dask.layers.items()} == layers
    assert not all(layers.values())
    assert not tried(sweep)
    assert sweep.summary
    assert sweep.summary.headline.startswith("nothing to try")
    assert wanted(dask_client) == before
    assert len(dask_client.scheduler_info()["workers"]) == 2


def test_no_warning_of_dask_is_heard_while_it_tries(dask_client: Client) -> None:
    """That the graph is large is what is being looked at."""
    value = embedded(2, 2_000_000)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sweep = run(DaskTryout(value, budget_s=0.5))

    assert not [str(one.message) for one in heard if "large graph" in str(one.message)]
    assert isinstance(sweep, Sweep)
    assert dask_client.status == "running"


def test_tasks_that_raise_fail_in_their_rows(dask_client: Client) -> None:
    """Each row has the reason; nothing is raised, nothing stays."""
    array = np.zeros(250_000)
    before = wanted(dask_client)
    broken = dask.delayed(use)(array, 10**9)

    sweep = run(DaskTryout(broken, budget_s=1))

    assert {v.state for v in sweep.variants if v.facts.get("tried")} == {"failed"}
    assert all("IndexError" in v.reason for v in sweep.variants if v.facts.get("tried"))
    assert wanted(dask_client) == before


def test_each_object_counts_once_with_its_tasks() -> None:
    """Six tasks hold one array; small arguments do not count."""
    found = large_values(materialized(embedded()))

    [(value, count)] = found.values()
    assert (value.nbytes, count) == (2_000_000, 6)
    assert large_values(materialized(embedded(6, 10))) == {}
    many = {at: str(at) for at in range(9_000)}
    found = large_values(materialized(dask.delayed(sum)([dask.delayed(use)(many, 1)] * 2)))
    assert [value is many for value, _ in found.values()] == [True]


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
