"""The road of a graph: what left is matched with what came in, and with whose it is."""

import sys
from types import ModuleType
from typing import Any

import pytest

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft, Page
from jupyter_serprof.experiments.remedies import graph as dask_remedies
from jupyter_serprof.model import UsageError
from jupyter_serprof.probes.dask.client import add_communication, client_places
from jupyter_serprof.probes.dask.cluster import Cluster, Station
from jupyter_serprof.probes.dask.computations import SentGraph
from jupyter_serprof.probes.dask.local import probe as dask_local

STAGES = ("dask.serialize", "dask.optimize")
OTHERS_BYTES, OUR_BYTES = 111, 222


def leaving(at: int, size: int) -> list[Any]:
    return ["update-graph", "out", at, at, at + 10, size, 1, None]


def arriving(at: int, size: int) -> list[Any]:
    return ["update-graph", "in", at, at + 10, at + 20, size, 1, None]


def road(run_messages: list[list[Any]], scheduler_messages: list[list[Any]]) -> list[Draft]:
    """Return the steps of our only graph, which is handed over at 1,000 ns."""
    run = Page(0, 5_000, 0, [], {})
    entry = SentGraph(Draft("dask.submit", "submit", MAIN_LANE, 900, 1_000), handed_ns=1_000)
    cluster = Cluster(())
    cluster.scheduler = Station(report={"messages": scheduler_messages, "spans": []})
    cluster.outgoing = run_messages
    cluster.drained = [message[4] + 5 for message in run_messages]
    add_communication(run, cluster, [entry])
    return run.drafts


def test_a_graph_of_another_recording_is_not_taken_for_ours() -> None:
    """Two threads record: the other one's graph was on its way when the agents came."""
    out = [leaving(500, OTHERS_BYTES), leaving(1_200, OUR_BYTES)]

    steps = road(out, [arriving(1_300, OUR_BYTES)])

    spans = {step.name: (step.start, step.end) for step in steps}
    assert spans == {
        "batch": (1_000, 1_200),
        "frames": (1_200, 1_210),
        "write": (1_210, 1_215),
        "wire": (1_210, 1_300),
    }


@pytest.mark.parametrize("size", [OTHERS_BYTES, OUR_BYTES])
def test_what_came_in_before_is_not_taken_for_the_end_of_our_road(size: int) -> None:
    """A graph from before the recording may still come in; its size or time tells it apart."""
    steps = road([leaving(1_200, OUR_BYTES)], [arriving(1_150, size), arriving(1_300, OUR_BYTES)])

    (wire,) = (step for step in steps if step.name == "wire")
    assert (wire.start, wire.end) == (1_210, 1_300)


@pytest.mark.parametrize(
    ("there", "stages"),
    [
        ("dsk", {"dask.optimize"}),
        ("dsk expr", {"dask.optimize", "dask.prepare"}),
        ("expr", {"dask.prepare"}),
        ("", {"dask.prepare"}),
    ],
)
def test_what_compute_optimizes_is_no_preparation(
    monkeypatch: pytest.MonkeyPatch, there: str, stages: set[str]
) -> None:
    """Until Dask 2025.3 its own module optimized the graph; before 2025.1 nothing else is there."""
    base, client = (pytest.importorskip(name) for name in ("dask.base", "distributed.client"))
    for module in (base, client):
        for name in ("dsk", "expr"):
            monkeypatch.delattr(module, f"collections_to_{name}", raising=False)
        for name in there.split():
            monkeypatch.setattr(module, f"collections_to_{name}", dict, raising=False)

    places = dask_local.client_places()

    assert {p.stage for p in places if ":collections_to" in p.path} == stages


@pytest.mark.parametrize(
    ("is_early", "pickled", "optimized"),
    [
        (False, "distributed.client:serialize", []),
        (True, "distributed.protocol:serialize", ["distributed.client:collections_to_dsk"]),
    ],
)
def test_a_graph_is_watched_where_its_version_optimizes_and_pickles_it(
    monkeypatch: pytest.MonkeyPatch, is_early: bool, pickled: str, optimized: list[str]
) -> None:
    """Until Dask 2025.1 its client imported ``serialize`` when it was called."""
    client = pytest.importorskip("distributed.client")
    if is_early:
        monkeypatch.setattr(client, "collections_to_dsk", dict, raising=False)

    places = client_places(lambda *_: None)

    stages = {stage: [p.path for p in places if p.stage == stage] for stage in STAGES}
    assert stages == {"dask.serialize": [pickled], "dask.optimize": optimized}
    assert all(callable(getattr(*place.owner())) for place in places)


@pytest.mark.parametrize("module", [None, ModuleType("dask._task_spec")])
def test_an_older_dask_is_told_that_its_graphs_cannot_be_tried(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | None
) -> None:
    """Tasks of Dask 2024.8 are tuples; 2024.9 to 2024.11 know no nested arguments."""
    pytest.importorskip("dask")
    monkeypatch.setitem(sys.modules, "dask._task_spec", module)

    with pytest.raises(UsageError, match=r"needs dask>=2025\.1.*pip install -U dask"):
        dask_remedies.DaskTryout(None)
