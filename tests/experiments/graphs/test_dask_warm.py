"""What a panel prepares while nobody waits: nothing is computed, and nothing can go wrong."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dasks import ARRIVED, GATE, gated, mapped, scheduler_tasks, small_array, started

from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.graphs import warm as dask_warm
from jupyter_serprof.experiments.graphs.warm import ask_to_import, modules_of, warm_graphs
from jupyter_serprof.panel import graphs as panel_graphs

#: Typed in part only.
dask: Any = import_module("dask")
db: Any = import_module("dask.bag")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A cluster in this process."""
    with started() as made:
        yield made


def asked(**given: object) -> Any:
    """Return a client that notes what its workers are asked."""
    calls: list[tuple[object, ...]] = []

    def run(*args: object, **_: object) -> None:
        calls.append(args)

    return SimpleNamespace(
        **{"asynchronous": False, "status": "running", "run": run} | given
    ), calls


def refuse(*_: object, **__: object) -> None:
    """Raise what a cluster raises that admits nothing."""
    message = "blocked"
    raise ValueError(message)


def test_nothing_is_computed_and_nothing_stays_armed(client: Client) -> None:
    """Tasks of the user have effects; they run when somebody presses the button."""
    GATE.set()
    ARRIVED.clear()
    array = mapped(gated)

    warm_graphs([array, 7, "no collection", array.sum()])

    assert not ARRIVED.is_set()
    assert not scheduler_tasks(client)
    assert armed_places() == []


def test_workers_are_asked_for_what_the_collections_are_made_of() -> None:
    """The package of the collection, and that of its chunks."""
    array, bag, delayed = small_array(), db.range(3, npartitions=1), dask.delayed(len)([])

    names = modules_of([array, bag, array, delayed])

    assert names == ("dask.array.core", "dask.bag.core", "dask.delayed", "numpy")


def test_the_client_of_the_collections_is_asked_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local scheduler has no workers to ask."""
    calls: list[object] = []
    monkeypatch.setattr(dask_warm, "ask_to_import", lambda one, names: calls.append((one, names)))

    warm_graphs([small_array(), small_array().sum()])
    with dask.config.set(scheduler="sync"):
        warm_graphs([small_array()])

    assert calls == [(client, ("dask.array.core", "numpy"))]


@pytest.mark.parametrize("given", [{"asynchronous": True}, {"status": "closed"}])
def test_a_client_that_cannot_be_waited_for_is_left_alone(given: dict[str, object]) -> None:
    """An asynchronous one gives a coroutine that nobody would await."""
    made, calls = asked(**given)

    ask_to_import(made, ["numpy"])

    assert calls == []


def test_a_cluster_that_admits_nothing_is_no_error() -> None:
    """The first run pays, as it would have."""
    made, _ = asked(run=refuse)

    ask_to_import(made, ["numpy"])

    assert made.status == "running"


def test_the_panel_prepares_the_collections_that_have_tasks_left(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on the cluster already needs no import."""
    shown: list[Any] = []
    warmed: list[object] = []
    kept = small_array().persist()
    known = {"x": small_array(), "kept": kept, "n": 7}
    monkeypatch.setattr(panel_graphs, "Panel", lambda *_, warm, **__: shown.append(warm))
    monkeypatch.setattr(panel_graphs, "warm_graphs", warmed.extend)

    panel_graphs.show_graph_panel(lambda: known, lambda doc, show: show(doc))
    shown[0]()

    assert warmed == [known["x"]]
    assert client.status == "running"
