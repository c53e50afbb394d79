"""Remedies on real Dask graphs: tried on a cluster, equal, and nothing of it stays."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

from jupyter_serprof.experiments.chunks.look import WorkerBound
from jupyter_serprof.experiments.remedies.cuts import cuts_of
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
    """Do little with much."""
    return float(array[at])


def embedded(count: int = 6, size: int = 250_000) -> object:
    """Return a collection whose tasks hold one array of 2 MB."""
    array = np.arange(float(size))
    return dask.delayed(sum)([dask.delayed(use)(array, at) for at in range(count)])


def keys_on(client: Client) -> set[str]:
    """Return the keys that somebody wants on the cluster."""
    # What other tests left in cycles is given up now, and not in the midst of this test.
    gc.collect()
    # Its loop has done by then what it was asked for before.
    client.nthreads()  # type: ignore[no-untyped-call]  # distributed
    wanted: set[str] = set(client.futures)
    return wanted


def tried(sweep: Sweep) -> list[Variant]:
    """Return what was tried."""
    return [variant for variant in sweep.variants if variant.facts.get("tried")]


def test_an_array_inside_a_function_is_told_and_not_tried(dask_client: Client) -> None:
    """Nothing embedded is not the answer: it travels with the code, and its name is said."""
    table = np.ones(250_000)
    bag = bags.from_sequence(range(4), npartitions=2).map(lambda at: at + len(table))

    sweep = DaskTryout(bag, name="y", budget_s=1).run()

    assert dask_client.status == "running"
    assert tried(sweep) == []
    assert sweep.summary
    assert "table (2.00 MB) sits inside the function <lambda>" in sweep.summary.headline
    assert [f.evidence["name"] for f in sweep.findings] == ["table"]
    assert not any("there is nothing" in note for note in sweep.quality.notes)


def test_an_array_deep_inside_the_tasks_is_tried_too(dask_client: Client) -> None:
    """A bag nests its tasks, and keeps what it is given by name in a dict of Dask."""
    table = np.arange(250_000.0)
    numbers = bags.from_sequence(range(4), npartitions=2)
    before = keys_on(dask_client)

    for bag in (numbers.map(lambda at, t: float(t[at]), table), numbers.map(use, at=table)):
        changed = large_values(materialized(bag))

        assert [count for _, count in changed.values()] == [2]
    sweep = DaskTryout(numbers.map(lambda at, t: float(t[at]), t=table), name="y", budget_s=1).run()
    assert [v.facts["equal"] for v in tried(sweep)] == [True, True]
    assert keys_on(dask_client) == before


def test_an_embedded_array_is_tried_as_a_key_and_scattered(dask_client: Client) -> None:
    """Both give the same sum; the stages add up; nothing stays on the cluster."""
    before = keys_on(dask_client)

    sweep = DaskTryout(embedded(), name="y", budget_s=4).run()

    tried = {v.key: v.facts for v in sweep.variants if v.facts.get("tried")}
    assert set(tried) == {"dask-delayed", "dask-scatter"}
    assert all(facts["equal"] is True for facts in tried.values())
    assert all(facts["pairs"] for facts in tried.values())
    assert all(sum(p.stages.values()) == p.wall_ns for p in sweep.points)
    assert keys_on(dask_client) == before
    assert from_document(to_document(sweep)) == sweep


def test_the_collection_is_as_it_was(dask_client: Client) -> None:
    """Its layers are not materialized: that would travel from then on."""
    da = pytest.importorskip("dask.array")
    lazy = da.ones((40, 40), chunks=10).map_blocks(lambda block: block + 1)
    before = keys_on(dask_client)
    layers = {name: layer.is_materialized() for name, layer in lazy.dask.layers.items()}

    sweep = DaskTryout(lazy, budget_s=1).run()

    assert {n: layer.is_materialized() for n, layer in lazy.dask.layers.items()} == layers
    assert not all(layers.values())
    assert "dask-chunks-2" in {v.key for v in tried(sweep)}
    assert "there is nothing to make a key" in sweep.quality.notes[0]
    assert keys_on(dask_client) == before
    assert len(dask_client.scheduler_info()["workers"]) == 2


def test_no_warning_of_dask_is_heard_while_it_tries(dask_client: Client) -> None:
    """That the graph is large is what is being looked at."""
    value = embedded(2, 2_000_000)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sweep = DaskTryout(value, budget_s=0.5).run()

    assert not [str(one.message) for one in heard if "large graph" in str(one.message)]
    assert isinstance(sweep, Sweep)
    assert dask_client.status == "running"


def test_tasks_that_raise_fail_in_their_rows(dask_client: Client) -> None:
    """Each row has the reason; nothing is raised, nothing stays."""
    array = np.zeros(250_000)
    before = keys_on(dask_client)
    broken = dask.delayed(use)(array, 10**9)

    sweep = DaskTryout(broken, budget_s=1).run()

    assert {v.state for v in sweep.variants if v.facts.get("tried")} == {"failed"}
    assert all("IndexError" in v.reason for v in sweep.variants if v.facts.get("tried"))
    assert keys_on(dask_client) == before


def test_each_object_counts_once_with_its_tasks() -> None:
    """Six tasks hold one array; small arguments do not count."""
    found = large_values(materialized(embedded()))

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


# Fewer, larger chunks


def test_many_small_chunks_are_tried_larger(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of tiny tasks become a few: faster, equal, with the tasks before and after."""
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("jupyter_serprof.experiments.remedies.graph.PAIRS", 7)
    array = (da.ones((160, 160), chunks=10) + 1).sum()
    before = keys_on(dask_client)

    for _ in range(4):  # on a busy machine the pairs may tell nothing, and then no gain is told
        sweep = DaskTryout(array, name="y", budget_s=100).run()

        found = {v.key: v.facts for v in tried(sweep)}
        assert set(found) == {"dask-chunks-2", "dask-chunks-4", "dask-chunks-8"}
        assert all(facts["equal"] is True for facts in found.values())
        if sweep.findings:
            break

    [finding] = sweep.findings
    assert finding.rule == "dask.tiny-tasks"
    assert finding.gain is not None
    assert finding.gain > 1
    counts = finding.evidence["tasks_before"], finding.evidence["tasks_after"]
    assert counts[0] > 256 > 8 * counts[1]  # type: ignore[operator]  # numbers
    assert finding.evidence["chunks_before"] == 256
    assert f"make {counts[0]:,} tasks" in finding.title
    assert finding.remedy.startswith("chunks = (")
    assert keys_on(dask_client) == before
    assert from_document(to_document(sweep)) == sweep


def test_one_run_of_the_present_chunks_belongs_to_all_sizes(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round has each once; its runs are in the document once, and alternate."""
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("jupyter_serprof.experiments.remedies.graph.PAIRS", 2)
    array = da.ones((80, 80), chunks=10).sum()
    assert dask_client.status == "running"

    sweep = DaskTryout(array, budget_s=60).run()

    runs: dict[str, int] = {}
    for point in sweep.points:
        runs[point.variant] = runs.get(point.variant, 0) + (not point.cold)
    pairs = [v.facts["pairs"] for v in tried(sweep)]
    assert pairs == [2, 2, 2]
    assert runs[sweep.variants[0].key] == 2


def test_larger_partitions_are_tried_where_a_frame_begins_in_memory(dask_client: Client) -> None:
    """From pandas it can be made with fewer partitions; the result is the same."""
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"k": np.arange(4_000) % 7, "x": np.arange(4_000.0)})
    total = dd.from_pandas(frame, npartitions=40).x.sum()
    before = keys_on(dask_client)

    sweep = DaskTryout(total, name="total", budget_s=6).run()

    found = {v.key: v.facts["equal"] for v in tried(sweep)}
    assert found["dask-partitions-2"] is True
    assert set(found) <= {"dask-partitions-2", "dask-partitions-4", "dask-partitions-8"}
    assert keys_on(dask_client) == before


def test_an_operation_that_depends_on_its_chunk_is_not_recommended(dask_client: Client) -> None:
    """It gives another result: told after the first run, no pairs."""
    da = pytest.importorskip("dask.array")
    array = da.arange(400.0, chunks=10).map_blocks(lambda block: block - block.mean())
    assert dask_client.status == "running"

    sweep = DaskTryout(array, budget_s=2).run()

    [variant] = tried(sweep)
    assert (variant.facts["equal"], variant.facts["pairs"]) == (False, 0)
    assert any(note.startswith("NOT equal to what it gives now") for note in variant.notes)
    assert sweep.summary
    assert "gives another result" in sweep.summary.headline
    assert not sweep.findings


def test_few_chunks_are_left_alone(dask_client: Client) -> None:
    """With no more chunks than threads, fewer would leave threads without work."""
    da = pytest.importorskip("dask.array")

    sweep = DaskTryout(da.ones((20, 20), chunks=(10, 20)).sum(), budget_s=1).run()

    assert len(dask_client.nthreads()) == 2  # type: ignore[no-untyped-call]  # distributed
    assert not tried(sweep)
    assert not sweep.findings


def test_what_cannot_be_made_again_is_suggested_with_the_reason(dask_client: Client) -> None:
    """A slice; and what was persisted, whose chunks are on the cluster already."""
    da = pytest.importorskip("dask.array")
    sliced = da.ones((80, 80), chunks=10)[5:].sum()
    persisted = da.ones((80, 80), chunks=10).persist()

    sweeps = [DaskTryout(a, name="y", budget_s=1).run() for a in (sliced, persisted.sum())]

    for sweep, reason in zip(
        sweeps, ("its step getitem", "are on the cluster already"), strict=True
    ):
        assert not tried(sweep)
        [hint] = sweep.findings
        assert hint.gain is None
        assert "Not tried: its" in hint.title
        assert reason in hint.title
    assert dask_client.status == "running"


def test_a_bag_is_not_made_again(dask_client: Client) -> None:
    """Its partitions are lists already, or tasks of the user: this is said, in its own words."""
    bag = pytest.importorskip("dask.bag").from_sequence(range(100), npartitions=50).map(str)

    cuts = cuts_of(bag, dask_client, "y")

    assert cuts.found == ()
    assert cuts.notes == ("fewer partitions were not tried: a Bag does not tell how it was cut",)


def test_chunks_that_a_worker_cannot_hold_are_left_out(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a sweep over chunk sizes: before anything of that size runs."""
    da = pytest.importorskip("dask.array")
    bound = WorkerBound(10_000, 1, is_cluster=True)
    monkeypatch.setattr("jupyter_serprof.experiments.remedies.cuts.worker_bound", lambda _: bound)
    array = da.ones((80, 80), chunks=10).sum()

    cuts = cuts_of(array, dask_client, "y")

    assert [cut.key for cut in cuts.found] == ["dask-chunks-2"]
    assert "left out: the largest chunk has 12.8 kB" in cuts.notes[0]
